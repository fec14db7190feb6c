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

/* Everything about one layout but the braces around it. */
static void put_subject(const struct subject *subject, FILE *out)
{
	fputs("\"layout\": ", out);
	tool_print_json(out, subject->text);
	put_numbers(subject, out);
	put_string(out, "signature", subject->signature);
	fprintf(out, ",\n \"external32_size\": %zu,\n \"operations\": [",
		subject->external32_size);
	tool_print_operations(out, subject->type, "\"", ", ");
	fputc(']', out);
	put_string(out, "program", subject->program);
	put_runs(&subject->picture, out);
}

/* How memory is cut in the picture. */
static void put_frame(const struct scene *scene, FILE *out)
{
	const struct frame *frame = &scene->frame;

	fprintf(out, "{\"rows\": %s", scene->framed ? "true" : "false");
	if (scene->framed) {
		fprintf(out,
			", \"origin\": %td, \"cell_bytes\": %zu, \"row_bytes\": %zu, "
			"\"plane_bytes\": ",
			frame->origin, frame->cell_bytes, frame->row_bytes);
		fprintf(out, frame->rows.levels > 1 ? "%zu" : "null", frame->plane_bytes);
		fprintf(out,
			",\n  \"cells_in_row\": %zu, \"rows_in_plane\": %zu, "
			"\"planes\": %zu",
			frame->count[FRAME_COLUMNS], frame->count[FRAME_ROWS],
			frame->count[FRAME_PLANES]);
	}
	fputc('}', out);
}

/* One of several layouts, and which cells it lies within: [first, end) along each axis. */
static void put_member(const struct scene *scene, size_t index, FILE *out)
{
	static const char *const keys[] = { "cells", "rows", "planes" };
	const struct subject *subject = &scene->subjects[index];
	const struct frame_layout *layout = &scene->layouts[index];

	fprintf(out, "%s{\"letter\": \"%c\", \"label\": ", index ? ",\n" : "",
		subject_letter(index));
	if (subject->label)
		tool_print_json(out, subject->label);
	else
		fputs("null", out);
	fprintf(out, ", \"at\": %td", subject->at);
	for (enum frame_axis axis = 0; axis < FRAME_AXES; axis++)
		fprintf(out, ", \"%s\": [%zu, %zu]", keys[axis], layout->first[axis],
			layout->end[axis]);
	fputs(",\n ", out);
	put_subject(subject, out);
	fputc('}', out);
}

void show_json(const struct scene *scene, FILE *out)
{
	fputc('{', out);
	if (scene->count == 1) {
		put_subject(&scene->subjects[0], out);
		fputs(",\n ", out);
	} else {
		fputs("\"layouts\": [\n", out);
		for (size_t i = 0; i < scene->count; i++)
			put_member(scene, i, out);
		fputs("],\n", out);
	}
	fputs("\"picture\": ", out);
	put_frame(scene, out);
	fputs("}\n", out);
}
