/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtconv show: reads the command line, asks the library everything about one layout and
 * has the parts printed.
 */
#include "config.h"

#include "show.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A text form longer than this is cut in the overview; --json has all of it. */
#define MAX_TEXT 1000

struct settings {
	const char *expression;
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
	     "\n"
	     "Shows everything about the layout EXPR: its size and bounds, its\n"
	     "signature, what can be done with its elements, the tree of constructors,\n"
	     "the normalised program that moves it, and a picture with one row for\n"
	     "each instance, in which colours (and numbers) tell the packed order.\n"
	     "\n"
	     "  --count N         instances to draw, one row each (default 1; 16 at most)\n"
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
	     "  dtconv show --serialise box.dtc 'subarray([8,8], [3,4], [1,2], c, double)'\n"
	     "      the same box as a file of bytes; 'dtconv show @box.dtc' reads it\n"
	     "  echo 'struct([1,1], [0,8], [char,double])' | dtconv show --json -");
}

/* ---- the command line -------------------------------------------------------------- */

static int read_count(const char *text, size_t *count)
{
	if (tool_read_size(text, count) && *count > 0)
		return TOOL_OK;
	return tool_usage("show", "--count is '%.40s', but must be a number from 1 on",
			  text);
}

static int read_options(int argc, char **argv, struct settings *settings)
{
	static const struct option options[] = {
		{ "count", required_argument, NULL, 'c' },
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
	       (option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		if (option == 'c')
			exit_status = read_count(optarg, &settings->count);
		else if (option == 's')
			settings->svg_path = optarg;
		else if (option == 'b')
			settings->stream_path = optarg;
		else if (option == 'n')
			settings->no_colour = true;
		else if (option == 'j')
			settings->json = true;
		else if (option == 'h')
			settings->help = true;
		else
			exit_status = tool_bad_option("show", option, argv, options);
	}
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
			return tool_usage("show", "%s and %s both want standard output",
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
	if (optind == argc)
		return tool_usage("show", "EXPR is missing");
	if (optind + 1 < argc)
		return tool_usage("show",
				  "there is more than one EXPR; put it in quotes");
	settings->expression = argv[optind];
	return check_outputs(settings);
}

/* ---- asking ------------------------------------------------------------------------ */

static void release_subject(struct subject *subject)
{
	free(subject->text);
	free(subject->signature);
	free(subject->program);
	picture_release(&subject->picture);
	dtconv_type_unref(subject->type);
	dtconv_context_destroy(subject->context);
}

static int query_subject(struct subject *subject, const struct settings *settings)
{
	struct dtconv_representation external32;
	int status;

	subject->text = tool_type_text("show", subject->context, subject->type,
				       dtconv_type_format);
	if (!subject->text)
		return TOOL_FAILED;
	subject->signature = tool_type_text("show", subject->context, subject->type,
					    dtconv_type_format_signature);
	if (!subject->signature)
		return TOOL_FAILED;
	subject->program = tool_type_text("show", subject->context, subject->type,
					  dtconv_type_format_program);
	if (!subject->program)
		return TOOL_FAILED;
	if (dtconv_representation_find("external32", &external32) == 0)
		dtconv_packed_size(subject->type, 1, &external32,
				   &subject->external32_size);
	status = picture_prepare(&subject->picture, subject->type, settings->count);
	return status ? tool_library_failed("show", subject->context, status) : TOOL_OK;
}

/* Whatever happens, release_subject frees what is there. */
static int make_subject(struct subject *subject, const struct settings *settings)
{
	int exit_status = tool_create_context("show", &subject->context);

	if (exit_status == TOOL_OK)
		exit_status = tool_read_type("show", subject->context,
					     settings->expression, &subject->type);
	return exit_status ? exit_status : query_subject(subject, settings);
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

static int print_all(const struct subject *subject, const struct settings *settings)
{
	struct tool_terminal terminal = tool_query_terminal();
	int status;

	if (settings->no_colour)
		terminal.colour = TOOL_NO_COLOUR;
	print_numbers(subject);
	puts("\ntree");
	status = show_tree(subject, stdout);
	if (status)
		return tool_library_failed("show", subject->context, status);
	puts("\nprogram");
	tool_print_indented(stdout, subject->program, "  ");
	puts("\npicture");
	status = show_blocks(subject, &terminal, stdout);
	return status ? tool_library_failed("show", subject->context, status) : TOOL_OK;
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

static int write_svg(const struct subject *subject, const char *path)
{
	FILE *out = open_output("--svg", path);
	int status, exit_status;

	if (!out)
		return TOOL_USAGE;
	status = show_svg(subject, out);
	exit_status = close_output(out, "--svg", path);
	if (exit_status)
		return exit_status;
	return status ? tool_library_failed("show", subject->context, status) : TOOL_OK;
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

static int write_stream(const struct subject *subject, const char *path)
{
	size_t length = 0;
	int status = dtconv_type_serialise(subject->type, NULL, 0, &length);
	unsigned char *bytes = calloc(1, length);
	int exit_status;

	if (status == DTCONV_ERR_TRUNCATE && bytes)
		status = dtconv_type_serialise(subject->type, bytes, length, &length);
	if (status && bytes)
		exit_status = tool_library_failed("show", subject->context, status);
	else if (!bytes)
		exit_status =
			tool_fail("show", TOOL_FAILED, "no memory for %zu bytes", length);
	else
		exit_status = write_bytes(bytes, length, path);
	free(bytes);
	return exit_status;
}

static int show(const struct subject *subject, const struct settings *settings)
{
	int exit_status = TOOL_OK;

	if (settings->svg_path)
		exit_status = write_svg(subject, settings->svg_path);
	if (!exit_status && settings->stream_path)
		exit_status = write_stream(subject, settings->stream_path);
	if (exit_status || is_stdout(settings->svg_path) ||
	    is_stdout(settings->stream_path))
		return exit_status;
	if (!settings->json)
		return print_all(subject, settings);
	show_json(subject, stdout);
	return TOOL_OK;
}

int cmd_show(int argc, char **argv)
{
	struct settings settings = { .count = 1 };
	struct subject subject = { .context = NULL };
	int exit_status = read_settings(argc, argv, &settings);

	if (exit_status)
		return exit_status;
	if (settings.help) {
		print_help();
		return TOOL_OK;
	}
	exit_status = make_subject(&subject, &settings);
	if (exit_status == TOOL_OK)
		exit_status = show(&subject, &settings);
	release_subject(&subject);
	return exit_status;
}
