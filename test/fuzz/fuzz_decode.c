/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a serialised type: refused with a sentence, or made into a type that is
 * serialised to the same bytes again, commits and prints. Inputs that do not begin like a
 * stream decide a type instead, and what is wrong with its stream. No input takes more memory
 * than the interface promises.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <dtconv/dtconv.h>

#include "fuzz/fuzz.h"
#include "support/allocators.h"
#include "support/choices.h"
#include "support/type_choices.h"

/* Longer streams cost time and find nothing that shorter ones do not. */
#define MAX_STREAM 1024

/* Promised by dtconv_type_deserialise: bytes of memory for each byte of the stream. */
#define PROMISED_MEMORY 256

static struct byte_count memory; /* of the context */

static void ignore_log(void *arg, enum dtconv_log_level level, const char *file, int line,
		       const char *text)
{
	(void)arg, (void)level, (void)file, (void)line, (void)text;
}

static struct dtconv_context *metered_context(void)
{
	static struct dtconv_context *context;
	const struct dtconv_context_params params = {
		.struct_size = sizeof(params),
		.allocator = allocator_of_bytes(&memory),
		.log = ignore_log,
	};

	if (!context && dtconv_context_create(&params, &context))
		fuzz_fail("no context");
	return context;
}

static void check_refusal(int status, const struct dtconv_type *type)
{
	char text[8] = "";

	if (type)
		fuzz_fail("a refused stream wrote its output");
	if (status != DTCONV_ERR_FORMAT && status != DTCONV_ERR_OVERFLOW &&
	    status != DTCONV_ERR_LIMIT)
		fuzz_fail("deserialise answered %d", status);
	if (!dtconv_context_error(metered_context(), text, sizeof(text)))
		fuzz_fail("status %d came without a sentence", status);
}

/* A type's stream, in memory of exactly its length; the caller frees. */
static uint8_t *stream_of(const struct dtconv_type *type, size_t *length)
{
	size_t again = 0;
	int status = dtconv_type_serialise(type, NULL, 0, length);
	uint8_t *bytes = malloc(*length);

	if (status != DTCONV_ERR_TRUNCATE || !bytes)
		fuzz_fail("serialise without room: status %d, length %zu", status,
			  *length);
	status = dtconv_type_serialise(type, bytes, *length, &again);
	if (status || again != *length)
		fuzz_fail("serialise: status %d, length %zu, announced %zu", status,
			  again, *length);
	return bytes;
}

/* The stream that was accepted is the one that the type has. */
static void check_type(struct dtconv_type *type, const uint8_t *bytes, size_t length)
{
	struct dtconv_type_attr attr = { .struct_size = sizeof(attr) };
	size_t again_length = 0, text_length = 0;
	uint8_t *again = stream_of(type, &again_length);

	if (again_length != length || memcmp(again, bytes, length))
		fuzz_fail("the type has another stream than the one it came from");
	free(again);
	if (dtconv_type_query(type, &attr) ||
	    dtconv_type_format(type, NULL, 0, &text_length) != DTCONV_ERR_TRUNCATE)
		fuzz_fail("a decoded type cannot be described");
	if (dtconv_type_commit(type))
		fuzz_fail("a decoded type does not commit");
}

static int decode(const uint8_t *bytes, size_t length)
{
	size_t before = memory.live;
	struct dtconv_type *type = NULL;
	int status;

	memory.peak = memory.live;
	status = dtconv_type_deserialise(metered_context(), bytes, length, &type);
	if (memory.peak - before > PROMISED_MEMORY * length)
		fuzz_fail("%zu bytes of memory for a stream of %zu", memory.peak - before,
			  length);
	if (status)
		check_refusal(status, type);
	else
		check_type(type, bytes, length);
	dtconv_type_unref(type);
	if (memory.live != before)
		fuzz_fail("%zu bytes of memory are not given back", memory.live - before);
	return status;
}

/* Damage: a bit, a byte, eight of them, or an end that is too early, its length corrected. */
static void damage(struct choices *choices, uint8_t *bytes, size_t *length)
{
	static const uint8_t special[] = { 0, 1, 2, 3, 4, 8, 0x7f, 0x80, 0xff };
	size_t at = choose(choices, *length);

	switch (choose(choices, 6)) {
	case 0:
		bytes[at] ^= (uint8_t)(1u << choose(choices, 8));
		break;
	case 1:
		bytes[at] = (uint8_t)choose(choices, 256);
		break;
	case 2:
		memset(bytes + at, 0xff, *length - at < 8 ? 1 : 8);
		break;
	case 3:
		*length = at > 24 ? at : *length;
		for (size_t i = 0; i < 8; i++)
			bytes[8 + i] = (uint8_t)(*length >> 8 * i);
		break;
	default:
		bytes[at] = special[choose(choices, sizeof(special))];
	}
}

/* A type that the input decides, first as it is, then with up to four damages. */
static void decode_damaged(const uint8_t *data, size_t size)
{
	struct choices choices;
	struct dtconv_type *type;
	uint8_t *bytes;
	size_t length = 0;
	int status;

	choices_from_bytes(&choices, data, size);
	type = type_choose(metered_context(), &choices,
			   chance(&choices, 2) ? &type_bounds_wild : &type_bounds_tiny);
	bytes = stream_of(type, &length);
	dtconv_type_unref(type);
	status = decode(bytes, length);
	/* Sharing may be too much for so short a stream. */
	if (status && status != DTCONV_ERR_LIMIT)
		fuzz_fail("a type's own stream is refused with status %d", status);
	for (size_t i = 0; i < 4 && !choices_spent(&choices); i++) {
		damage(&choices, bytes, &length);
		decode(bytes, length);
	}
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	metered_context();
	if (size > MAX_STREAM)
		return 0;
	if (size == 0 || data[0] == DTCONV_SERIALISED_FIRST_BYTE)
		decode(data, size);
	else
		decode_damaged(data, size);
	return 0;
}
