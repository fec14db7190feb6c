/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as the text form of a type: refused with a sentence, or made into a type that
 * commits, prints, and whose printed form is the same type again.
 */
#include "config.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <dtconv/dtconv.h>

#include "fuzz/fuzz.h"

/* Longer texts cost time and find nothing that shorter ones do not. */
#define MAX_TEXT 4096

typedef int (*format_fn)(const struct dtconv_type *type, char *text, size_t capacity,
			 size_t *length);

/* Formats into memory of exactly the length announced; the caller frees. */
static char *formatted(format_fn format, const struct dtconv_type *type, const char *what)
{
	size_t length = 0, again = 0;
	int status = format(type, NULL, 0, &length);
	char *text = malloc(length + 1);

	if (status != DTCONV_ERR_TRUNCATE)
		fuzz_fail("%s without room answered %d", what, status);
	if (!text)
		fuzz_fail("%s says it needs %zu bytes", what, length);
	status = format(type, text, length + 1, &again);
	if (status || again != length || strlen(text) != length)
		fuzz_fail("%s: status %d, length %zu, announced %zu", what, status, again,
			  length);
	return text;
}

static void check_refusal(int status, const struct dtconv_type *type)
{
	char text[8] = "";

	if (type)
		fuzz_fail("a refused text wrote its output");
	if (status != DTCONV_ERR_FORMAT && status != DTCONV_ERR_INVAL &&
	    status != DTCONV_ERR_OVERFLOW && status != DTCONV_ERR_LIMIT &&
	    status != DTCONV_ERR_UNSUPPORTED)
		fuzz_fail("parse answered %d", status);
	if (!dtconv_context_error(fuzz_context(), text, sizeof(text)))
		fuzz_fail("status %d came without a sentence", status);
}

/* Two types that must be one: the same numbers, the same signature. */
static void check_same(const struct dtconv_type *a, const struct dtconv_type *b)
{
	struct dtconv_type_attr attr_a = { .struct_size = sizeof(attr_a) };
	struct dtconv_type_attr attr_b = { .struct_size = sizeof(attr_b) };
	enum dtconv_signature_relation relation;

	dtconv_type_query(a, &attr_a);
	dtconv_type_query(b, &attr_b);
	if (attr_a.size != attr_b.size || attr_a.lb != attr_b.lb ||
	    attr_a.extent != attr_b.extent || attr_a.true_lb != attr_b.true_lb ||
	    attr_a.true_extent != attr_b.true_extent ||
	    attr_a.element_count != attr_b.element_count ||
	    attr_a.signature_hash != attr_b.signature_hash)
		fuzz_fail("the printed form is another type");
	if (dtconv_type_compare_signature(a, 1, b, 1, &relation) ||
	    relation != DTCONV_SIGNATURE_EQUAL)
		fuzz_fail("the printed form has another signature");
}

/* Prints, parses what was printed, prints again: both texts and programs are the same. */
static void check_round_trip(struct dtconv_type *type)
{
	char *text = formatted(dtconv_type_format, type, "format"), *text_again;
	char *program = formatted(dtconv_type_format_program, type, "format_program");
	char *program_again;
	struct dtconv_type *again = NULL;

	if (dtconv_type_parse(fuzz_context(), text, strlen(text), &again) ||
	    dtconv_type_commit(again))
		fuzz_fail("the printed form is refused: %s", text);
	text_again = formatted(dtconv_type_format, again, "format");
	program_again = formatted(dtconv_type_format_program, again, "format_program");
	if (strcmp(text, text_again))
		fuzz_fail("printed %s, then %s", text, text_again);
	if (strcmp(program, program_again))
		fuzz_fail("%s has two programs:\n%s\n%s", text, program, program_again);
	check_same(type, again);
	dtconv_type_unref(again);
	free(text);
	free(program);
	free(text_again);
	free(program_again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dtconv_type *type = NULL;
	int status;

	if (size > MAX_TEXT)
		return 0;
	status = dtconv_type_parse(fuzz_context(), (const char *)data, size, &type);
	if (status) {
		check_refusal(status, type);
	} else {
		if (dtconv_type_commit(type))
			fuzz_fail("a parsed type does not commit");
		check_round_trip(type);
		free(formatted(dtconv_type_format_signature, type, "format_signature"));
		dtconv_type_unref(type);
	}
	fuzz_expect_no_types();
	return 0;
}
