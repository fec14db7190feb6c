/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtconv show: reads the command line, asks the library everything about one layout or
 * several and has the parts printed.
 */
#include "config.h"

#include "show.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A text form longer than this is cut in the overview; --json has all of it. */
#define MAX_TEXT 1000

#define MAX_LABEL 40

/* An EXPR, with what --label and --at said before it. */
struct argument {
	const char *expression;
	const char *label;
	ptrdiff_t at;
};

struct settings {
	struct argument arguments[SHOW_MAX_SUBJECTS];
	size_t argument_count;
	struct argument next; /* the label and displacement of the one to come */
	struct row_settings rows;
	const char *svg_path;
	const char *stream_path;
	size_t count;
	bool no_colour;
	bool json;
	bool help;
};

static void print_help(void)
{
	puts("Usage: dtconv show [OPTION...] EXPR\n"
	     "       dtconv show [OPTION...] [--label NAME] [--at N] EXPR ...\n"
	     "\n"
	     "Shows everything about the layout EXPR: its size and bounds, its\n"
	     "signature, what can be done with its elements, the tree of constructors,\n"
	     "the normalised program that moves it, and a picture, in which colours (and\n"
	     "numbers) tell the packed order. A layout that has rows (the sizes of an\n"
	     "array, the stride of a vector) is drawn as rows and planes; others as one\n"
	     "line for each instance. Several layouts share one picture, with a colour\n"
	     "and a letter for each.\n"
	     "\n"
	     "  --count N         instances to draw (default 1; 16 at most)\n"
	     "  --row N           draw rows of N elements, or of N bytes (--row 512B);\n"
	     "                    '--row none' draws one line\n"
	     "  --plane N         draw planes of N rows\n"
	     "  --label NAME      name of the next EXPR in the picture\n"
	     "  --at N            displacement in bytes of the next EXPR in the picture\n"
	     "  --svg FILE        also write the picture as SVG; '-' is standard output,\n"
	     "                    with nothing else on it\n"
	     "  --serialise FILE  also write the layout as bytes, which '@FILE' reads; '-'\n"
	     "                    is standard output, with nothing else on it, and in\n"
	     "                    hexadecimal if that is a terminal\n"
	     "  --no-color        no colours on the terminal (NO_COLOR is obeyed too)\n"
	     "  --json            print one JSON object instead\n"
	     "  --help            this text\n"
	     "\n"
	     "EXPR is a layout in text form, '-' for standard input, or '@FILE'; both may\n"
	     "also be a serialised layout (see 'dtconv --help').\n"
	     "\n"
	     "Examples:\n"
	     "  dtconv show 'vector(4, 2, 5, double)'\n"
	     "      four blocks of two doubles, five doubles from start to start\n"
	     "  dtconv show --count 3 'resized(vector(4, 1, 4, int), 0, 4)'\n"
	     "      columns of a matrix: the extent of one int makes them interleave\n"
	     "  dtconv show --svg box.svg 'subarray([8,8], [3,4], [1,2], c, double)'\n"
	     "      a box out of a matrix, as a picture\n"
	     "  dtconv show --label W 'vector(6, 1, 8, int)' --label N 'contiguous(8, int)'\n"
	     "      two borders of a matrix, and the corner that they share\n"
	     "  dtconv show --serialise box.dtc 'subarray([8,8], [3,4], [1,2], c, double)'\n"
	     "      the same box as a file of bytes; 'dtconv show @box.dtc' reads it\n"
	     "  echo 'struct([1,1], [0,8], [char,double])' | dtconv show --json -");
}

/* ---- the command line -------------------------------------------------------------- */

static int read_count(const char *text, size_t *count)
{
	if (tool_read_size(text, count) && *count > 0)
		return TOOL_OK;
	return tool_usage("show", "--count is '%.40s', but must be an integer, 1 or more",
			  text);
}

/* `--row N`, `--row NB` in bytes, `--row none`. */
static int read_row(const char *text, struct row_settings *rows)
{
	size_t length = strlen(text);
	char digits[32];

	*rows = (struct row_settings){ .plane_rows = rows->plane_rows };
	rows->none = strcmp(text, "none") == 0;
	rows->in_bytes = length > 1 && length < sizeof(digits) && text[length - 1] == 'B';
	if (rows->none)
		return TOOL_OK;
	if (rows->in_bytes) {
		memcpy(digits, text, length - 1);
		digits[length - 1] = '\0';
	}
	if (tool_read_size(rows->in_bytes ? digits : text, &rows->row) && rows->row > 0)
		return TOOL_OK;
	return tool_usage("show",
			  "--row is '%.40s', but must be a number of elements, a number "
			  "of bytes followed by B, or 'none'",
			  text);
}

static int read_plane(const char *text, struct row_settings *rows)
{
	if (tool_read_size(text, &rows->plane_rows) && rows->plane_rows > 0)
		return TOOL_OK;
	return tool_usage("show",
			  "--plane is '%.40s', but must be a number of rows, 1 or "
			  "more",
			  text);
}

/* A label goes into the picture as it is. */
static int read_label(const char *text, struct settings *settings)
{
	size_t length = strlen(text);

	settings->next.label = text;
	for (size_t i = 0; i < length; i++) {
		if (text[i] < ' ' || text[i] > '~')
			length = MAX_LABEL + 1;
	}
	if (length > 0 && length <= MAX_LABEL)
		return TOOL_OK;
	return tool_usage(
		"show",
		"--label is '%.40s', but must be 1 to %d printable ASCII characters",
		text, MAX_LABEL);
}

static int read_displacement(const char *text, ptrdiff_t *displacement)
{
	size_t number;
	bool negative = text[0] == '-';

	if (!tool_read_size(text + negative, &number) || number > PTRDIFF_MAX)
		return tool_usage("show",
				  "--at is '%.40s', but must be a number of bytes from "
				  "-%td to %td",
				  text, PTRDIFF_MAX, PTRDIFF_MAX);
	*displacement = negative ? -(ptrdiff_t)number : (ptrdiff_t)number;
	return TOOL_OK;
}

static int add_argument(struct settings *settings, const char *expression)
{
	struct argument *argument = &settings->arguments[settings->argument_count];

	if (settings->argument_count == SHOW_MAX_SUBJECTS)
		return tool_usage(
			"show", "more than %d layouts, which is the limit of one picture",
			SHOW_MAX_SUBJECTS);
	*argument = settings->next;
	argument->expression = expression;
	settings->next = (struct argument){ .label = NULL };
	settings->argument_count++;
	return TOOL_OK;
}

/* An option that has a value, or an EXPR. */
static int take_value(struct settings *settings, int option, const char *value)
{
	switch (option) {
	case 'c':
		return read_count(value, &settings->count);
	case 'r':
		return read_row(value, &settings->rows);
	case 'p':
		return read_plane(value, &settings->rows);
	case 'l':
		return read_label(value, settings);
	case 'a':
		return read_displacement(value, &settings->next.at);
	case 's':
		settings->svg_path = value;
		return TOOL_OK;
	case 'b':
		settings->stream_path = value;
		return TOOL_OK;
	default:
		return add_argument(settings, value);
	}
}

/* The option string's hyphen has every EXPR returned, as 1, in its place. */
static int read_options(int argc, char **argv, struct settings *settings)
{
	static const struct option options[] = {
		{ "count", required_argument, NULL, 'c' },
		{ "row", required_argument, NULL, 'r' },
		{ "plane", required_argument, NULL, 'p' },
		{ "label", required_argument, NULL, 'l' },
		{ "at", required_argument, NULL, 'a' },
		{ "svg", required_argument, NULL, 's' },
		{ "serialise", required_argument, NULL, 'b' },
		{ "no-color", no_argument, NULL, 'n' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	int exit_status = TOOL_OK;
	int option;

	opterr = 0;
	while (!exit_status &&
	       (option = getopt_long(argc, argv, "-:h", options, NULL)) != -1) {
		if (option == 'n')
			settings->no_colour = true;
		else if (option == 'j')
			settings->json = true;
		else if (option == 'h')
			settings->help = true;
		else if (option == ':' || option == '?')
			exit_status = tool_bad_option("show", option, argv, options);
		else
			exit_status = take_value(settings, option, optarg);
	}
	/* behind `--` */
	while (!exit_status && optind < argc)
		exit_status = add_argument(settings, argv[optind++]);
	return exit_status;
}

static bool is_stdout(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

/* Only one of them may go to standard output. */
static int check_outputs(const struct settings *settings)
{
	const char *const wishes[] = {
		settings->json ? "--json" : NULL,
		is_stdout(settings->svg_path) ? "--svg -" : NULL,
		is_stdout(settings->stream_path) ? "--serialise -" : NULL,
	};
	const char *first = NULL;

	for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
		if (first && wishes[i])
			return tool_usage(
				"show", "%s and %s cannot both write to standard output",
				first, wishes[i]);
		first = first ? first : wishes[i];
	}
	return TOOL_OK;
}

static int read_settings(int argc, char **argv, struct settings *settings)
{
	int exit_status = read_options(argc, argv, settings);

	if (exit_status || settings->help)
		return exit_status;
	if (settings->argument_count == 0)
		return tool_usage("show", "EXPR is missing");
	if (settings->next.label)
		return tool_usage("show", "no EXPR follows '--label %.40s'",
				  settings->next.label);
	if (settings->next.at)
		return tool_usage("show", "no EXPR follows '--at %td'",
				  settings->next.at);
	if (settings->stream_path && settings->argument_count > 1)
		return tool_usage("show", "--serialise takes one EXPR, but there are %zu",
				  settings->argument_count);
	return check_outputs(settings);
}

/* ---- asking ------------------------------------------------------------------------ */

static void release_scene(struct scene *scene)
{
	scene_release_frame(scene);
	for (size_t i = 0; i < scene->count; i++) {
		struct subject *subject = &scene->subjects[i];

		free(subject->text);
		free(subject->signature);
		free(subject->program);
		picture_release(&subject->picture);
		dtconv_type_unref(subject->type);
	}
	free(scene->subjects);
	dtconv_context_destroy(scene->context);
}

static int query_subject(struct dtconv_context *context, struct subject *subject,
			 size_t count)
{
	struct dtconv_representation external32;
	int status;

	subject->text =
		tool_type_text("show", context, subject->type, dtconv_type_format);
	if (!subject->text)
		return TOOL_FAILED;
	subject->signature = tool_type_text("show", context, subject->type,
					    dtconv_type_format_signature);
	if (!subject->signature)
		return TOOL_FAILED;
	subject->program = tool_type_text("show", context, subject->type,
					  dtconv_type_format_program);
	if (!subject->program)
		return TOOL_FAILED;
	if (dtconv_representation_find("external32", &external32) == 0)
		dtconv_packed_size(subject->type, 1, &external32,
				   &subject->external32_size);
	status = picture_prepare(&subject->picture, subject->type, count);
	return status ? tool_library_failed("show", context, status) : TOOL_OK;
}

/* Read the layouts. scene->count is the number that release_scene has to free. */
static int make_subjects(struct scene *scene, const struct settings *settings)
{
	int exit_status = TOOL_OK;

	scene->subjects = calloc(settings->argument_count, sizeof(scene->subjects[0]));
	if (!scene->subjects)
		return tool_fail("show", TOOL_FAILED, "cannot allocate %zu layouts",
				 settings->argument_count);
	for (size_t i = 0; i < settings->argument_count && !exit_status; i++) {
		const struct argument *argument = &settings->arguments[i];
		struct subject *subject = &scene->subjects[scene->count++];

		subject->label = argument->label;
		subject->at = argument->at;
		exit_status = tool_read_type("show", scene->context, argument->expression,
					     &subject->type);
		if (exit_status == TOOL_OK)
			exit_status =
				query_subject(scene->context, subject, settings->count);
	}
	return exit_status;
}

/* Call release_scene in any case. */
static int make_scene(struct scene *scene, const struct settings *settings)
{
	int exit_status = tool_create_context("show", &scene->context);

	if (exit_status == TOOL_OK)
		exit_status = make_subjects(scene, settings);
	return exit_status ? exit_status : scene_find_frame(scene, &settings->rows);
}

/* ---- showing ----------------------------------------------------------------------- */

static void print_numbers(const struct subject *subject)
{
	const struct picture *picture = &subject->picture;
	const struct dtconv_type_attr *attr = &picture->attr;

	printf("%.*s%s\n\n", MAX_TEXT, subject->text,
	       strlen(subject->text) > MAX_TEXT ? "..." : "");
	printf("  size         %zu bytes in %zu basic elements\n", attr->size,
	       attr->element_count);
	printf("  bounds       lb %td, ub %td, extent %td\n", attr->lb,
	       picture_ub(picture), attr->extent);
	printf("  true bounds  true lb %td, true ub %td, true extent %td\n",
	       attr->true_lb, picture_true_ub(picture), attr->true_extent);
	printf("  alignment    %zu\n", attr->alignment);
	printf("  runs         %s%zu%s\n", picture->runs_are_counted ? "" : "more than ",
	       picture->run_count,
	       attr->contiguous && attr->size > 0 ? ", and instances join into one" : "");
	printf("  signature    %.*s%s\n", MAX_TEXT, subject->signature,
	       strlen(subject->signature) > MAX_TEXT ? "..." : "");
	printf("  hash         %016" PRIx64 "\n", attr->signature_hash);
	if (subject->external32_size)
		printf("  external32   %zu bytes\n", subject->external32_size);
	fputs("  operations   ", stdout);
	tool_print_operations(stdout, subject->type, "", " ");
	putchar('\n');
}

static int print_picture(const struct scene *scene, const struct settings *settings)
{
	struct tool_terminal terminal = tool_query_terminal();
	int status;

	if (settings->no_colour)
		terminal.colour = TOOL_NO_COLOUR;
	if (scene->count > 1)
		show_layouts(scene, &terminal, stdout);
	puts("\npicture");
	status = scene->framed ? show_grid(scene, &terminal, stdout)
			       : show_blocks(&scene->subjects[0], &terminal, stdout);
	if (scene->too_many_runs)
		printf("       more than %zu runs are not drawn in rows\n",
		       FRAME_MAX_RUNS);
	return status ? tool_library_failed("show", scene->context, status) : TOOL_OK;
}

static int print_all(const struct scene *scene, const struct settings *settings)
{
	const struct subject *subject = &scene->subjects[0];
	int status;

	if (scene->count > 1)
		return print_picture(scene, settings);
	print_numbers(subject);
	puts("\ntree");
	status = show_tree(subject, stdout);
	if (status)
		return tool_library_failed("show", scene->context, status);
	puts("\nprogram");
	tool_print_indented(stdout, subject->program, "  ");
	return print_picture(scene, settings);
}

/* A file that an option names; NULL after saying why not. */
static FILE *open_output(const char *option, const char *path)
{
	FILE *out = is_stdout(path) ? stdout : fopen(path, "wb");

	if (!out)
		tool_fail("show", TOOL_USAGE, "cannot write %s file '%s': %s", option,
			  path, strerror(errno));
	return out;
}

static int close_output(FILE *out, const char *option, const char *path)
{
	if (out != stdout && (ferror(out) | fclose(out)) != 0)
		return tool_fail("show", TOOL_FAILED, "cannot write %s file '%s': %s",
				 option, path, strerror(errno));
	return TOOL_OK;
}

static int write_svg(const struct scene *scene, const char *path)
{
	FILE *out = open_output("--svg", path);
	int status, exit_status;

	if (!out)
		return TOOL_USAGE;
	status = scene->framed ? show_grid_svg(scene, out)
			       : show_svg(&scene->subjects[0], out);
	exit_status = close_output(out, "--svg", path);
	if (exit_status)
		return exit_status;
	return status ? tool_library_failed("show", scene->context, status) : TOOL_OK;
}

/* Bytes for people: sixteen a line, after their offset. */
static void print_hexadecimal(FILE *out, const unsigned char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (i % 16 == 0)
			fprintf(out, "%s%08zx ", i ? "\n" : "", i);
		fprintf(out, " %02x", bytes[i]);
	}
	fputc('\n', out);
}

static int write_bytes(const unsigned char *bytes, size_t length, const char *path)
{
	FILE *out = open_output("--serialise", path);

	if (!out)
		return TOOL_USAGE;
	if (isatty(fileno(out)))
		print_hexadecimal(out, bytes, length);
	else
		fwrite(bytes, 1, length, out);
	return close_output(out, "--serialise", path);
}

static int write_stream(const struct scene *scene, const char *path)
{
	const struct subject *subject = &scene->subjects[0];
	size_t length = 0;
	int status = dtconv_type_serialise(subject->type, NULL, 0, &length);
	unsigned char *bytes = calloc(1, length);
	int exit_status;

	if (status == DTCONV_ERR_TRUNCATE && bytes)
		status = dtconv_type_serialise(subject->type, bytes, length, &length);
	if (status && bytes)
		exit_status = tool_library_failed("show", scene->context, status);
	else if (!bytes)
		exit_status = tool_fail("show", TOOL_FAILED, "cannot allocate %zu bytes",
					length);
	else
		exit_status = write_bytes(bytes, length, path);
	free(bytes);
	return exit_status;
}

static int show(const struct scene *scene, const struct settings *settings)
{
	int exit_status = TOOL_OK;

	if (settings->svg_path)
		exit_status = write_svg(scene, settings->svg_path);
	if (!exit_status && settings->stream_path)
		exit_status = write_stream(scene, settings->stream_path);
	if (exit_status || is_stdout(settings->svg_path) ||
	    is_stdout(settings->stream_path))
		return exit_status;
	if (!settings->json)
		return print_all(scene, settings);
	show_json(scene, stdout);
	return TOOL_OK;
}

int cmd_show(int argc, char **argv)
{
	struct settings settings = { .count = 1 };
	struct scene scene = { .context = NULL };
	int exit_status = read_settings(argc, argv, &settings);

	if (exit_status)
		return exit_status;
	if (settings.help) {
		print_help();
		return TOOL_OK;
	}
	exit_status = make_scene(&scene, &settings);
	if (exit_status == TOOL_OK)
		exit_status = show(&scene, &settings);
	release_scene(&scene);
	return exit_status;
}
