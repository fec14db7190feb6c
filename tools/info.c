/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtconv info: the versions, and what the library says about its build and this machine.
 */
#include "config.h"

#include "tools.h"

#include <getopt.h>
#include <stdlib.h>

#include "bench/gpu/start.h"

static void print_help(void)
{
	puts("Usage: dtconv info\n"
	     "\n"
	     "Prints the versions of the program and the library, how the library was\n"
	     "built, the processor it found, the thresholds in force and the file they come\n"
	     "from, every copy backend, and every device with what it supports, or why\n"
	     "there is none: no driver, no device, or a build without CUDA. The driver is\n"
	     "started to ask it. Send this along with a report of a problem.\n"
	     "\n"
	     "  --help  this text\n"
	     "\n"
	     "Examples:\n"
	     "  dtconv info\n"
	     "  DTCONV_LOG=info dtconv info      also what the library says at the start\n"
	     "  DTCONV_CPU=generic dtconv info   with the kernels for every processor");
}

/* @why: no device, or NULL. */
static int print_info(struct dtconv_context *context, const char *why)
{
	char *text = tool_info_text("info", context);

	if (!text)
		return TOOL_FAILED;
	printf("dtconv %s, library %s\n", DTCONV_VERSION_STRING, dtconv_version());
	tool_print_indented(stdout, text, "");
	if (why)
		printf("devices: none: %s\n", why);
	free(text);
	return TOOL_OK;
}

int cmd_info(int argc, char **argv)
{
	static const struct option options[] = { { "help", no_argument, NULL, 'h' },
						 { NULL, 0, NULL, 0 } };
	struct dtconv_context *context;
	char why[200];
	int option;
	int exit_status;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		if (option != 'h')
			return tool_bad_option("info", option, argv, options);
		print_help();
		return TOOL_OK;
	}
	if (optind < argc)
		return tool_usage("info", "takes no argument, but got '%.40s'",
				  argv[optind]);
	exit_status = tool_create_context("info", &context);
	if (exit_status)
		return exit_status;
	exit_status = print_info(context, gpu_start(why, sizeof(why)) ? why : NULL);
	dtconv_context_destroy(context);
	return exit_status;
}
