/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Round trips of serialised types. A deserialised type has to equal the original in all
 * queries, and has to give the same bytes again.
 */
#include "config.h"

#include "support/serialised.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dtconv/dtconv.h>

/* Stands behind every stream, and in front of it. */
#define GUARD 0xa5

static int fail(char failure[SERIALISED_FAILURE], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int fail(char failure[SERIALISED_FAILURE], const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(failure, SERIALISED_FAILURE, format, arguments);
	va_end(arguments);
	return -1;
}

/* ---- bytes --------------------------------------------------------------------------- */

/* With one byte too little room nothing may be written, with enough nothing else. */
static int write_guarded(const struct dtconv_type *type, struct serialised *stream,
			 char failure[SERIALISED_FAILURE])
{
	size_t length = 0;
	int status =
		dtconv_type_serialise(type, stream->bytes, stream->length - 1, &length);

	if (status != DTCONV_ERR_TRUNCATE || length != stream->length)
		return fail(failure,
			    "serialise into too little room: status %d, length %zu",
			    status, length);
	for (size_t i = 0; i < stream->length; i++)
		if (stream->bytes[i] != GUARD)
			return fail(failure,
				    "serialise wrote although there was no room");
	status = dtconv_type_serialise(type, stream->bytes, stream->length, &length);
	if (status || length != stream->length)
		return fail(failure, "serialise: status %d, length %zu, announced %zu",
			    status, length, stream->length);
	if (stream->bytes[-1] != GUARD || stream->bytes[length] != GUARD)
		return fail(failure, "serialise wrote beside its stream");
	return 0;
}

int serialised_make(const struct dtconv_type *type, struct serialised *stream,
		    char failure[SERIALISED_FAILURE])
{
	int status = dtconv_type_serialise(type, NULL, 0, &stream->length);

	if (status != DTCONV_ERR_TRUNCATE || !stream->length)
		return fail(failure, "serialise without room: status %d, length %zu",
			    status, stream->length);
	stream->memory = malloc(stream->length + 2);
	if (!stream->memory)
		return fail(failure, "no memory for a stream of %zu bytes",
			    stream->length);
	memset(stream->memory, GUARD, stream->length + 2);
	stream->bytes = stream->memory + 1;
	if (!write_guarded(type, stream, failure))
		return 0;
	free(stream->memory);
	return -1;
}

/* ---- comparison ---------------------------------------------------------------------- */

static int compare_numbers(const struct dtconv_type *a, const struct dtconv_type *b,
			   char failure[SERIALISED_FAILURE])
{
	struct dtconv_type_attr x = { .struct_size = sizeof(x) };
	struct dtconv_type_attr y = { .struct_size = sizeof(y) };

	if (dtconv_type_query(a, &x) || dtconv_type_query(b, &y))
		return fail(failure, "the types cannot be queried");
	y.committed = x.committed;
	if (x.size != y.size || x.lb != y.lb || x.extent != y.extent ||
	    x.true_lb != y.true_lb || x.true_extent != y.true_extent ||
	    x.element_count != y.element_count || x.alignment != y.alignment ||
	    x.signature_hash != y.signature_hash || x.combiner != y.combiner ||
	    x.predefined != y.predefined || x.contiguous != y.contiguous)
		return fail(failure,
			    "numbers differ: size %zu and %zu, extent %td and %td",
			    x.size, y.size, x.extent, y.extent);
	return 0;
}

/* The text form has the whole tree of envelopes and contents. NULL if it is too long. */
static char *text_of(const struct dtconv_type *type)
{
	size_t length = 0;
	char *text = NULL;

	if (dtconv_type_format(type, NULL, 0, &length) == DTCONV_ERR_TRUNCATE)
		text = malloc(length + 1);
	if (text && dtconv_type_format(type, text, length + 1, &length)) {
		free(text);
		text = NULL;
	}
	return text;
}

static int compare_texts(const struct dtconv_type *a, const struct dtconv_type *b,
			 char failure[SERIALISED_FAILURE])
{
	char *x = text_of(a), *y = text_of(b);
	int result = 0;

	if (!x != !y)
		result = fail(failure, "one has a text form, the other has not");
	else if (x && strcmp(x, y))
		result = fail(failure, "text forms differ: %.100s and %.100s", x, y);
	free(x);
	free(y);
	return result;
}

int serialised_compare(const struct dtconv_type *a, const struct dtconv_type *b,
		       char failure[SERIALISED_FAILURE])
{
	enum dtconv_signature_relation relation;
	int failed = compare_numbers(a, b, failure);

	if (!failed)
		failed = compare_texts(a, b, failure);
	if (!failed && (dtconv_type_compare_signature(a, 1, b, 1, &relation) ||
			relation != DTCONV_SIGNATURE_EQUAL))
		return fail(failure, "signatures differ");
	return failed;
}

/* ---- round trips --------------------------------------------------------------------- */

static int compare_again(const struct serialised *stream, const struct dtconv_type *copy,
			 char failure[SERIALISED_FAILURE])
{
	struct serialised again = { 0 };
	int failed = serialised_make(copy, &again, failure);

	if (failed)
		return failed;
	if (again.length != stream->length ||
	    memcmp(again.bytes, stream->bytes, stream->length))
		failed = fail(failure,
			      "serialised again it is another stream (%zu bytes, %zu)",
			      again.length, stream->length);
	free(again.memory);
	return failed;
}

int serialised_check(struct dtconv_context *context, const struct dtconv_type *type,
		     char failure[SERIALISED_FAILURE])
{
	struct serialised stream = { 0 };
	struct dtconv_type *copy = NULL;
	int failed = serialised_make(type, &stream, failure);

	if (failed)
		return failed;
	if (dtconv_type_deserialise(context, stream.bytes, stream.length, &copy)) {
		char sentence[200] = "";

		dtconv_context_error(context, sentence, sizeof(sentence));
		failed = fail(failure, "the stream is refused: %s", sentence);
	} else {
		failed = serialised_compare(type, copy, failure);
	}
	if (!failed)
		failed = compare_again(&stream, copy, failure);
	dtconv_type_unref(copy);
	free(stream.memory);
	return failed;
}
