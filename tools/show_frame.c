/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides whether a picture has rows, and which: those that --row names, else those that
 * the first layout with rows in its description implies.
 */
#include "config.h"

#include "show.h"

#include <stdint.h>
#include <stdlib.h>

/* Instances behind each other are planes of their own, if they are whole ones. */
static void add_instances(struct rows *rows, const struct picture *picture)
{
	ptrdiff_t extent = picture->attr.extent;
	size_t last = rows->levels ? rows->strides[rows->levels - 1] : 0;

	if (picture->rows < 2 || last == 0 || rows->levels == ROWS_MAX_LEVELS)
		return;
	if (extent > 0 && (size_t)extent % last == 0 && (size_t)extent / last > 1)
		rows->strides[rows->levels++] = (size_t)extent;
}

/* Take the rows of the first layout that has any; cells suit the elements of all. */
static int ask_subjects(const struct scene *scene, struct rows *rows, bool *same_elements)
{
	size_t cell_bytes = 0;

	*same_elements = true;
	for (size_t i = 0; i < scene->count; i++) {
		const struct subject *subject = &scene->subjects[i];
		struct rows found;
		int status = rows_find(subject->type, &found);
		size_t element = found.element_bytes;

		if (status)
			return status;
		*same_elements = *same_elements && element > 0 &&
				 (cell_bytes == 0 || cell_bytes == element);
		cell_bytes = frame_common_divisor(
			element ? element : subject->picture.attr.alignment, cell_bytes);
		add_instances(&found, &subject->picture);
		found.origin = (ptrdiff_t)((size_t)found.origin + (size_t)subject->at);
		if (rows->levels == 0)
			*rows = found;
	}
	rows->element_bytes = cell_bytes ? cell_bytes : 1;
	return 0;
}

/* What --row and --plane say instead; rows begin at the first layout's displacement 0. */
static int set_rows(struct rows *rows, const struct row_settings *settings,
		    bool same_elements, ptrdiff_t first_at)
{
	size_t unit = settings->in_bytes ? 1 : rows->element_bytes;

	if (settings->none || settings->row > 0)
		rows->levels = 0;
	if (settings->row > 0) {
		if (!settings->in_bytes && !same_elements)
			return tool_fail("show", TOOL_USAGE,
					 "--row is %zu elements, but the elements have "
					 "several sizes; give bytes, as in --row %zuB",
					 settings->row, settings->row);
		if (__builtin_mul_overflow(settings->row, unit, &rows->strides[0]))
			return tool_fail("show", TOOL_USAGE,
					 "--row is %zu elements of %zu bytes, which is "
					 "more than %zu bytes",
					 settings->row, unit, SIZE_MAX);
		rows->levels = 1;
		rows->origin = first_at;
	}
	if (settings->plane_rows == 0)
		return TOOL_OK;
	if (rows->levels == 0)
		return tool_fail("show", TOOL_USAGE,
				 "--plane needs rows, and this layout has none; give "
				 "their length with --row");
	if (__builtin_mul_overflow(rows->strides[0], settings->plane_rows,
				   &rows->strides[1]))
		return tool_fail("show", TOOL_USAGE,
				 "--plane is %zu rows of %zu bytes, which is more than "
				 "%zu bytes",
				 settings->plane_rows, rows->strides[0], SIZE_MAX);
	rows->levels = 2;
	return TOOL_OK;
}

static int make_layouts(struct scene *scene)
{
	scene->layouts = calloc(scene->count, sizeof(scene->layouts[0]));
	if (!scene->layouts)
		return tool_fail("show", TOOL_FAILED, "cannot allocate %zu layouts",
				 scene->count);
	for (size_t i = 0; i < scene->count; i++)
		scene->layouts[i] =
			(struct frame_layout){ .picture = &scene->subjects[i].picture,
					       .at = scene->subjects[i].at };
	scene->frame =
		(struct frame){ .layouts = scene->layouts, .layout_count = scene->count };
	return TOOL_OK;
}

/* Only what must be drawn in a frame fails without one. */
static int no_frame(struct scene *scene, const struct row_settings *settings)
{
	if (scene->count > 1 || settings->row > 0 || settings->plane_rows > 0)
		return tool_fail("show", TOOL_USAGE,
				 "the layouts have more than %zu runs, or are too far "
				 "apart, to be drawn in rows",
				 FRAME_MAX_RUNS);
	scene->too_many_runs = true;
	return TOOL_OK;
}

int scene_find_frame(struct scene *scene, const struct row_settings *settings)
{
	struct rows rows = { .levels = 0 };
	bool same_elements;
	int status = ask_subjects(scene, &rows, &same_elements);
	int exit_status;

	if (status)
		return tool_library_failed("show", scene->context, status);
	exit_status = set_rows(&rows, settings, same_elements, scene->subjects[0].at);
	if (exit_status == TOOL_OK && (rows.levels > 0 || scene->count > 1))
		exit_status = make_layouts(scene);
	if (!scene->layouts)
		return exit_status;
	status = frame_prepare(&scene->frame, &rows);
	scene->framed = status == 0;
	if (status == DTCONV_ERR_LIMIT)
		return no_frame(scene, settings);
	return status ? tool_library_failed("show", scene->context, status) : TOOL_OK;
}

void scene_release_frame(struct scene *scene)
{
	frame_release(&scene->frame);
	free(scene->layouts);
}
