/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtconv tune: measures the thresholds of this machine, and keeps them in the file that the
 * library reads when a context is created.
 */
#include "config.h"

#include "tools.h"
#include "tune.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_SECONDS 10
#define QUICK_SECONDS   2
#define MOST_SECONDS    3600

struct settings {
	const char *output; /* NULL: where the library looks */
	size_t seconds;     /* 0: not said */
	bool quick, print, reset, json, help;
};

static void print_help(void)
{
	puts("Usage: dtconv tune [--seconds N | --quick] [--print | --output FILE] [--json]\n"
	     "       dtconv tune --reset [--output FILE]\n"
	     "\n"
	     "Measures the target size from which non-temporal stores are faster on this\n"
	     "machine, the best size and number of fragments of messages and, if there is a\n"
	     "CUDA driver, the costs of launches and copies of its devices. Writes the\n"
	     "results to a file that the library reads when a context is created. Where a\n"
	     "difference is within the spread, the default stays. Run nothing else meanwhile,\n"
	     "neither on the host nor on the devices.\n"
	     "\n"
	     "  --seconds N    seconds to measure the host (default 10); messages take a fifth of\n"
	     "                 that more, and each kind of device one or two seconds\n"
	     "  --quick        measure the host for two seconds\n"
	     "  --print        print the file's contents, write nothing\n"
	     "  --output FILE  write FILE instead of the file that the library reads\n"
	     "  --reset        delete the file; the defaults apply again\n"
	     "  --json         print one JSON object with the measurements and decisions\n"
	     "  --help         this text\n"
	     "\n"
	     "The file is the one that DTCONV_TUNING names, or else dtconv/host.tuning in\n"
	     "XDG_CACHE_HOME, or else in ~/.cache. 'dtconv info' says which one that is, and\n"
	     "the thresholds in force. DTCONV_TUNING=none switches it off.\n"
	     "\n"
	     "Exit status: 0 on success, also if the defaults stay; 1 if memory, disk space or\n"
	     "time runs out; 2 for a wrong command line, or a file that cannot\n"
	     "be written.\n"
	     "\n"
	     "Examples:\n"
	     "  dtconv tune                  measure and keep\n"
	     "  dtconv tune --quick --print  a first look\n"
	     "  dtconv tune --reset          return to the defaults");
}

/* ---- the command line -------------------------------------------------------------------- */

static int read_seconds(struct settings *settings, const char *text)
{
	if (tool_read_size(text, &settings->seconds) && settings->seconds > 0 &&
	    settings->seconds <= MOST_SECONDS)
		return TOOL_OK;
	return tool_usage("tune",
			  "--seconds is '%.40s', but must be a number from 1 to %d", text,
			  MOST_SECONDS);
}

static const struct option options[] = { { "seconds", required_argument, NULL, 's' },
					 { "quick", no_argument, NULL, 'q' },
					 { "print", no_argument, NULL, 'p' },
					 { "output", required_argument, NULL, 'o' },
					 { "reset", no_argument, NULL, 'r' },
					 { "json", no_argument, NULL, 'j' },
					 { "help", no_argument, NULL, 'h' },
					 { NULL, 0, NULL, 0 } };

static int take_option(struct settings *settings, int option, char **argv)
{
	switch (option) {
	case 's':
		return read_seconds(settings, optarg);
	case 'q':
		settings->quick = true;
		return TOOL_OK;
	case 'p':
		settings->print = true;
		return TOOL_OK;
	case 'o':
		settings->output = optarg;
		return TOOL_OK;
	case 'r':
		settings->reset = true;
		return TOOL_OK;
	case 'j':
		settings->json = true;
		return TOOL_OK;
	case 'h':
		settings->help = true;
		return TOOL_OK;
	default:
		return tool_bad_option("tune", option, argv, options);
	}
}

/* Options that mean nothing together. */
static int check_settings(const struct settings *settings)
{
	if (settings->quick && settings->seconds)
		return tool_usage("tune", "--quick and --seconds cannot be combined");
	if (settings->print && settings->output)
		return tool_usage(
			"tune",
			"--print writes no file and cannot be combined with --output");
	if (settings->reset &&
	    (settings->print || settings->quick || settings->seconds || settings->json))
		return tool_usage("tune", "--reset can only be combined with --output");
	if (settings->output && !*settings->output)
		return tool_usage("tune", "--output is '', but must name a file");
	return TOOL_OK;
}

static int read_settings(int argc, char **argv, struct settings *settings)
{
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		int status = take_option(settings, option, argv);

		if (status || settings->help)
			return status;
	}
	if (optind < argc)
		return tool_usage("tune", "takes no argument, but got '%.40s'",
				  argv[optind]);
	return check_settings(settings);
}

/* ---- what the library says --------------------------------------------------------------- */

/* This machine and the file, in the library's words. */
struct place {
	char machine[256];
	char path[TUNE_PATH_MAX];
};

static int ask_library(struct place *place)
{
	struct dtconv_context_attr attr = { .struct_size = sizeof(attr) };
	struct dtconv_context *context;
	int exit_status = tool_create_context("tune", &context);

	if (exit_status)
		return exit_status;
	int status = dtconv_context_query(context, &attr);
	snprintf(place->machine, sizeof(place->machine), "%s", attr.machine);
	snprintf(place->path, sizeof(place->path), "%s",
		 attr.tuning_path ? attr.tuning_path : "");
	if (status)
		exit_status = tool_library_failed("tune", context, status);
	dtconv_context_destroy(context);
	return exit_status;
}

/* The file to write or to delete. */
static int choose_path(const struct settings *settings, struct place *place)
{
	if (settings->output && strlen(settings->output) >= sizeof(place->path))
		return tool_usage("tune",
				  "--output has %zu characters, but at most %zu fit",
				  strlen(settings->output), sizeof(place->path) - 1);
	if (settings->output)
		snprintf(place->path, sizeof(place->path), "%s", settings->output);
	else if (!place->path[0])
		return tool_usage("tune",
				  "DTCONV_TUNING, XDG_CACHE_HOME and HOME name no file; "
				  "use --output FILE");
	return TOOL_OK;
}

/* ---- results ----------------------------------------------------------------------------- */

static void print_row(FILE *out, const struct tune_measurements *m, size_t size)
{
	const struct tune_samples *pack = &m->samples[size][TUNE_PACK];
	const struct tune_samples *unpack = &m->samples[size][TUNE_UNPACK];
	struct tune_gain gain = tune_compare(m, size);

	fprintf(out, "%3zu %10.2f %7.2f %11.2f %7.2f %7.2f (%.2f to %.2f) %s\n",
		m->bytes[size] >> 20, tune_rate(pack->through, m, size),
		tune_rate(pack->past, m, size), tune_rate(unpack->through, m, size),
		tune_rate(unpack->past, m, size), gain.median, gain.low, gain.high,
		tune_verdict_name(gain.verdict));
}

static void print_table(FILE *out, const struct tune_measurements *m)
{
	fprintf(out,
		"cached and non-temporal stores, GB/s, %zu rounds\n"
		"          pack                unpack         together\n"
		"MiB     cached nontemp      cached nontemp    gain (middle half)\n",
		m->rounds);
	for (size_t i = 0; i < TUNE_SIZES; i++)
		print_row(out, m, i);
}

static void print_decision(FILE *out, struct tune_decision decision)
{
	switch (decision.kind) {
	case TUNE_FROM:
		fprintf(out,
			"non-temporal stores are faster from %zu MiB on: stream_bytes %zu\n",
			decision.bytes >> 20, decision.bytes);
		break;
	case TUNE_NEVER:
		fprintf(out, "non-temporal stores are slower at every size: "
			     "stream_bytes is set to its maximum\n");
		break;
	default:
		fprintf(out,
			"non-temporal stores are not faster beyond the spread at any size: "
			"stream_bytes keeps its default\n");
	}
}

/* What the file says. */
static void format_file(struct tune_results *results)
{
	const size_t capacity = sizeof(results->file);
	char line[64] = "# stream_bytes keeps its default";

	if (results->decision.kind == TUNE_FROM)
		snprintf(line, sizeof(line), "stream_bytes %zu", results->decision.bytes);
	else if (results->decision.kind == TUNE_NEVER)
		snprintf(line, sizeof(line), "stream_bytes %lld", (long long)INT64_MAX);
	snprintf(results->file, capacity,
		 "# Thresholds of this machine, measured by dtconv tune (library %s).\n"
		 "machine %s\n"
		 "%s\n",
		 dtconv_version(), results->machine, line);
	size_t length = strlen(results->file);
	tune_format_flow(&results->flow, results->file + length, capacity - length);
	length = strlen(results->file);
	tune_format_devices(&results->devices, results->file + length, capacity - length);
}

/* ---- the command ------------------------------------------------------------------------- */

static int reset(const struct place *place)
{
	int status = tune_delete_file(place->path);

	if (!status)
		printf("%s does not exist any more; the defaults apply\n", place->path);
	return status;
}

static double seconds_of(const struct settings *settings)
{
	if (settings->quick)
		return QUICK_SECONDS;
	return (double)(settings->seconds ? settings->seconds : DEFAULT_SECONDS);
}

static int measure(const struct settings *settings, const struct place *place,
		   struct tune_results *results)
{
	FILE *report = settings->print ? stderr : stdout;
	int status = tune_measure(seconds_of(settings), &results->host);

	if (status)
		return status;
	results->decision = tune_decide(&results->host);
	if (!settings->json) {
		print_table(report, &results->host);
		print_decision(report, results->decision);
	}
	status = tune_measure_flow(seconds_of(settings) / 5, &results->flow);
	if (status)
		return status;
	if (!settings->json)
		tune_print_flow(report, &results->flow);
	tune_measure_devices(&results->devices);
	if (!settings->json)
		tune_print_devices(report, &results->devices);
	snprintf(results->machine, sizeof(results->machine), "%s", place->machine);
	format_file(results);
	return TOOL_OK;
}

static int keep(const struct settings *settings, const struct place *place,
		const struct tune_results *results)
{
	int status = TOOL_OK;

	if (!settings->print)
		status = tune_replace_file(place->path, results->file);
	if (status)
		return status;
	if (settings->json)
		tune_print_json(results, settings->print ? NULL : place->path);
	else if (settings->print)
		fputs(results->file, stdout);
	else
		printf("written to %s\n", place->path);
	return TOOL_OK;
}

/* The results are too large for the stack. */
static int measure_and_keep(const struct settings *settings, const struct place *place)
{
	struct tune_results *results = malloc(sizeof(*results));

	if (!results)
		return tool_fail("tune", TOOL_FAILED, "cannot allocate %zu bytes",
				 sizeof(*results));
	int status = measure(settings, place, results);
	if (!status)
		status = keep(settings, place, results);
	free(results);
	return status;
}

static int tune(const struct settings *settings)
{
	struct place place;
	int status = ask_library(&place);

	if (!status && !settings->print)
		status = choose_path(settings, &place);
	if (status)
		return status;
	if (settings->reset)
		return reset(&place);
	if (!settings->print)
		status = tune_check_place(place.path, !settings->output);
	return status ? status : measure_and_keep(settings, &place);
}

int cmd_tune(int argc, char **argv)
{
	struct settings settings = { .output = NULL };
	int status = read_settings(argc, argv, &settings);

	if (status)
		return status;
	if (!settings.help)
		return tune(&settings);
	print_help();
	return TOOL_OK;
}
