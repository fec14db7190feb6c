/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtconv explain: for each pair of memory kinds, which path would move a layout and why.
 * The library does the explaining.
 */
#include "config.h"

#include "tools.h"

#include <getopt.h>
#include <stdlib.h>

#include "bench/gpu/start.h"

struct settings {
	const char *expression;
	size_t count;
	bool help;
};

static void print_help(void)
{
	puts("Usage: dtconv explain [--count N] EXPR\n"
	     "\n"
	     "Says, for each pair of memory kinds, which path would move the layout\n"
	     "EXPR between the user's buffer and packed memory: the candidates, their\n"
	     "estimated costs, the choice, and why others cannot run on this machine.\n"
	     "Without a device, that of those which need one is what they would cost.\n"
	     "The driver is started to see.\n"
	     "Then how long the packed stream is as other machines write it, and which\n"
	     "operations unpacking may apply.\n"
	     "\n"
	     "  --count N  instances of the layout (default 1): costs depend on it\n"
	     "  --help     this text\n"
	     "\n"
	     "EXPR is a layout in text form, '-' for standard input, or '@FILE'\n"
	     "(see 'dtconv --help').\n"
	     "\n"
	     "Examples:\n"
	     "  dtconv explain 'vector(1000, 2, 5, double)'\n"
	     "      a strided layout\n"
	     "  dtconv explain 'contiguous(1000, double)'\n"
	     "      one that needs no packing\n"
	     "  dtconv explain --count 4096 'struct([1,1], [0,8], [int,double])'\n"
	     "      an array of structs");
}

static const enum dtconv_memory_kind kinds[] = { DTCONV_MEMORY_HOST, DTCONV_MEMORY_PINNED,
						 DTCONV_MEMORY_DEVICE };

#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

static int explain_pair(struct dtconv_context *context, const struct dtconv_type *type,
			size_t count, enum dtconv_memory_kind user_kind,
			enum dtconv_memory_kind packed_kind)
{
	size_t length = 0;
	int status;
	char *text;

	/* Truncated to nothing, it says how long it is. */
	(void)dtconv_explain(type, count, user_kind, packed_kind, NULL, 0, &length);
	text = malloc(length + 1);
	if (!text)
		return tool_fail("explain", TOOL_FAILED,
				 "no memory for a text of %zu bytes", length);
	status = dtconv_explain(type, count, user_kind, packed_kind, text, length + 1,
				&length);
	if (status == 0)
		tool_print_indented(stdout, text, "");
	free(text);
	return status ? tool_library_failed("explain", context, status) : TOOL_OK;
}

static int explain_all(struct dtconv_context *context, const struct dtconv_type *type,
		       size_t count)
{
	int exit_status = TOOL_OK;

	for (size_t pair = 0; pair < KIND_COUNT * KIND_COUNT && !exit_status; pair++)
		exit_status = explain_pair(context, type, count, kinds[pair / KIND_COUNT],
					   kinds[pair % KIND_COUNT]);
	return exit_status;
}

/* Sizes differ only where the integers or long double do. */
static void explain_representations(const struct dtconv_type *type, size_t count)
{
	struct dtconv_representation representation;
	const char *name;
	size_t bytes;

	puts("packed as other machines write it:");
	for (size_t i = 1; (name = dtconv_representation_name(i)); i++)
		if (!dtconv_representation_find(name, &representation) &&
		    !dtconv_packed_size(type, count, &representation, &bytes))
			printf("  %-10s  %zu bytes\n", name, bytes);
}

static void explain_operations(const struct dtconv_type *type)
{
	fputs("unpacking may apply: ", stdout);
	tool_print_operations(stdout, type, "", " ");
	putchar('\n');
}

/* The library looks for devices only where the process has started their driver. */
static void start_devices(void)
{
	char why[200];

	if (gpu_start(why, sizeof(why)))
		printf("devices: none: %s\n", why);
}

static int read_settings(int argc, char **argv, struct settings *settings)
{
	static const struct option options[] = { { "count", required_argument, NULL,
						   'c' },
						 { "help", no_argument, NULL, 'h' },
						 { NULL, 0, NULL, 0 } };
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		if (option == 'h')
			settings->help = true;
		else if (option != 'c')
			return tool_bad_option("explain", option, argv, options);
		else if (!tool_read_size(optarg, &settings->count))
			return tool_usage(
				"explain",
				"--count is '%.40s', but must be a whole number", optarg);
	}
	if (settings->help)
		return TOOL_OK;
	if (optind + 1 != argc)
		return tool_usage("explain", optind == argc
						     ? "EXPR is missing"
						     : "there is more than one EXPR; "
						       "put it in quotes");
	settings->expression = argv[optind];
	return TOOL_OK;
}

int cmd_explain(int argc, char **argv)
{
	struct settings settings = { .count = 1 };
	struct dtconv_context *context;
	struct dtconv_type *type;
	int exit_status = read_settings(argc, argv, &settings);

	if (exit_status)
		return exit_status;
	if (settings.help) {
		print_help();
		return TOOL_OK;
	}
	exit_status = tool_create_context("explain", &context);
	if (exit_status)
		return exit_status;
	exit_status = tool_read_type("explain", context, settings.expression, &type);
	if (exit_status == TOOL_OK) {
		start_devices();
		exit_status = explain_all(context, type, settings.count);
		if (exit_status == TOOL_OK) {
			explain_representations(type, settings.count);
			explain_operations(type);
		}
		dtconv_type_unref(type);
	}
	dtconv_context_destroy(context);
	return exit_status;
}
