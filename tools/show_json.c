/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A layout as one JSON object, for programs. The keys are documented in dtconv-show(1).
 */
#include "config.h"

#include "show.h"

#include <inttypes.h>
#include <string.h>

static void put_numbers(const struct subject *subject, FILE *out)
{
	const struct dtconv_type_attr *attr = &subject->picture.attr;

	fprintf(out,
		",\n \"count\": %zu, \"size\": %zu, \"elements\": %zu, "
		"\"alignment\": %zu",
		subject->picture.count, attr->size, attr->element_count, attr->alignment);
	fprintf(out,
		",\n \"lb\": %td, \"ub\": %td, \"extent\": %td, \"true_lb\": %td, "
		"\"true_ub\": %td, \"true_extent\": %td",
		attr->lb, picture_ub(&subject->picture), attr->extent, attr->true_lb,
		picture_true_ub(&subject->picture), attr->true_extent);
	fprintf(out, ",\n \"contiguous\": %s", attr->contiguous ? "true" : "false");
	fprintf(out, ",\n \"signature_hash\": \"%016" PRIx64 "\"", attr->signature_hash);
}

static void put_string(FILE *out, const char *key, const char *value)
{
	fprintf(out, ",\n \"%s\": ", key);
	tool_print_json(out, value);
}

/* The runs of one instance as [displacement, bytes] in packed order; null if too many. */
static void put_runs(const struct picture *picture, FILE *out)
{
	fprintf(out, ",\n \"run_count\": %zu, \"run_count_is_exact\": %s,\n \"runs\": ",
		picture->run_count, picture->runs_are_counted ? "true" : "false");
	if (picture->summarised) {
		fputs("null", out);
		return;
	}
	fputc('[', out);
	for (size_t i = 0; i < picture->run_count; i++)
		fprintf(out, "%s[%td, %zu]", i > 0 ? ", " : "", picture->runs[i].disp,
			picture->runs[i].bytes);
	fputc(']', out);
}

void show_json(const struct subject *subject, FILE *out)
{
	fputs("{\"layout\": ", out);
	tool_print_json(out, subject->text);
	put_numbers(subject, out);
	put_string(out, "signature", subject->signature);
	fprintf(out, ",\n \"external32_size\": %zu,\n \"operations\": [",
		subject->external32_size);
	tool_print_operations(out, subject->type, "\"", ", ");
	fputc(']', out);
	put_string(out, "program", subject->program);
	put_runs(&subject->picture, out);
	fputs("}\n", out);
}
