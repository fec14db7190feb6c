/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the parts of `dtconv show`.
 */
#ifndef DTCONV_TOOLS_SHOW_H
#define DTCONV_TOOLS_SHOW_H

#include "grid.h"
#include "tools.h"

/* Layouts in one picture, so that each has a letter. */
#define SHOW_MAX_SUBJECTS 52

/* Everything there is to show about one layout. */
struct subject {
	struct dtconv_type *type; /* committed */
	struct picture picture;
	char *text; /* its text form, signature and program */
	char *signature;
	char *program;
	size_t external32_size; /* of one instance */
	const char *label;      /* its name in the picture, or NULL */
	ptrdiff_t at;           /* displacement of its first instance in the picture */
};

/* How to divide memory into rows; zeros are replaced by what the type descriptions imply. */
struct row_settings {
	bool none;         /* no rows: one line */
	bool in_bytes;     /* the row's length; else in elements */
	size_t row;        /* length of a row */
	size_t plane_rows; /* rows in a plane */
};

/* Some layouts in one memory. */
struct scene {
	struct dtconv_context *context;
	struct subject *subjects;
	size_t count;

	bool framed;        /* there are rows; else one line for each instance */
	bool too_many_runs; /* there would be, but for this */
	struct frame frame;
	struct frame_layout *layouts; /* one for each subject, if framed */
};

/* The letter of a layout in a picture of several: A to Z, then a to z. */
char subject_letter(size_t index);

/*
 * Divide memory into rows if the settings or the type descriptions imply it; several layouts
 * always get a frame. On failure print an error and return an exit status.
 */
int scene_find_frame(struct scene *scene, const struct row_settings *settings);
void scene_release_frame(struct scene *scene);

/* How the layout was made, one constructor or predefined type a line. */
int show_tree(const struct subject *subject, FILE *out);

/* The picture in characters, as wide as the terminal: one line an instance. */
int show_blocks(const struct subject *subject, const struct tool_terminal *terminal,
		FILE *out);

/* The same, of a scene that has a frame: its rows. */
int show_grid(const struct scene *scene, const struct tool_terminal *terminal, FILE *out);

/* The picture as SVG: one line an instance. */
int show_svg(const struct subject *subject, FILE *out);

/* Title and numbers of a layout at the top of its picture. */
void show_svg_header(const struct subject *subject, FILE *out);

/* The same, of a scene that has a frame: its rows. */
int show_grid_svg(const struct scene *scene, FILE *out);

/* The layouts of a picture of several, one a line, as wide as the terminal. */
void show_layouts(const struct scene *scene, const struct tool_terminal *terminal,
		  FILE *out);

/* Everything as one JSON object. */
void show_json(const struct scene *scene, FILE *out);

#endif
