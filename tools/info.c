/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtconv info: the versions, the library's build and this machine.
 */
#include "config.h"

#include "info.h"

#include <getopt.h>
#include <stdlib.h>

#include "tools.h"

#include "bench/gpu/start.h"

static void print_help(void)
{
	puts("Usage: dtconv info [--json]\n"
	     "\n"
	     "Prints the versions of the program and the library, how the library was\n"
	     "built, the CPU it found, the thresholds in force and the file they come\n"
	     "from, every copy backend, and every device with what it supports, or why\n"
	     "there is none: no driver, no device, or a build without CUDA. Initialises the\n"
	     "CUDA driver. Please include this output in bug reports.\n"
	     "\n"
	     "  --json  print one JSON object instead\n"
	     "  --help  this text\n"
	     "\n"
	     "Examples:\n"
	     "  dtconv info\n"
	     "  dtconv info --json               for programs\n"
	     "  DTCONV_LOG=info dtconv info      with the messages of context creation\n"
	     "  DTCONV_CPU=generic dtconv info   with the portable CPU kernels");
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

static int tell(bool as_json)
{
	struct dtconv_context *context;
	char why[200];
	int exit_status = tool_create_context("info", &context);

	if (exit_status)
		return exit_status;
	const char *no_devices = gpu_start(why, sizeof(why)) ? why : NULL;
	if (as_json) {
		int status = info_print_json(context, no_devices);

		exit_status = status ? tool_library_failed("info", context, status)
				     : TOOL_OK;
	} else {
		exit_status = print_info(context, no_devices);
	}
	dtconv_context_destroy(context);
	return exit_status;
}

int cmd_info(int argc, char **argv)
{
	static const struct option options[] = { { "json", no_argument, NULL, 'j' },
						 { "help", no_argument, NULL, 'h' },
						 { NULL, 0, NULL, 0 } };
	bool as_json = false;
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		if (option == 'h') {
			print_help();
			return TOOL_OK;
		}
		if (option != 'j')
			return tool_bad_option("info", option, argv, options);
		as_json = true;
	}
	if (optind < argc)
		return tool_usage("info", "takes no argument, but got '%.40s'",
				  argv[optind]);
	return tell(as_json);
}
