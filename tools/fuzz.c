/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtconv fuzz: random layouts, cuts, orders and alignments, checked against an oracle that
 * walks the typemap element by element. A failure is reduced before it is reported.
 */
#include "config.h"

#include "fuzz.h"
#include "tools.h"

#include <getopt.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "support/random_type.h"

#define DEFAULT_SECONDS 10
#define PATIENCE        60.0

/* While reducing, each smaller layout gets so many seeds to fail with, and less time. */
#define REDUCING_SEEDS    24
#define REDUCING_PATIENCE 10.0

struct settings {
	const char *expression; /* NULL: random layouts */
	size_t seconds, count, seed;
	bool help, seeded;
};

static void print_help(void)
{
	puts("Usage: dtconv fuzz [--seconds N] [--count N] [--seed S] [--layouts EXPR]\n"
	     "\n"
	     "Makes random layouts and moves random data through them: whole and in fragments\n"
	     "cut at any byte, in and out of order, at every alignment, with seeks, clones, iov\n"
	     "exports and started operations in between. Then again as typed streams: converted to\n"
	     "and from another representation, and combined with what is in memory. Every result is\n"
	     "compared with an oracle that walks the layout element by element; bytes in gaps must\n"
	     "stay as they were. Every layout is also serialised and read back, and must be the same.\n"
	     "\n"
	     "  --seconds N     how long (default 10, or no limit with --count)\n"
	     "  --count N       number of cases\n"
	     "  --seed S        first seed; the same seed gives the same cases\n"
	     "                  (default: a new one each time; it is printed)\n"
	     "  --layouts EXPR  this layout instead of random ones\n"
	     "  --help          this text\n"
	     "\n"
	     "Exit status: 0 if every case passed; 1 if one failed: then the layout, reduced as far\n"
	     "as it still fails, and the command that replays it are printed; 2 for a wrong\n"
	     "command line.\n"
	     "\n"
	     "Examples:\n"
	     "  dtconv fuzz                                 ten seconds of random layouts\n"
	     "  dtconv fuzz --seconds 3600                  an hour of them\n"
	     "  dtconv fuzz --count 1000 --seed 7           the same thousand cases each time\n"
	     "  dtconv fuzz --layouts 'vector(9, 1, 3, double)'\n"
	     "                                              one layout, cut in every way");
}

/* ---- progress ------------------------------------------------------------------------ */

/* At most a few times a second, and only on a terminal. */
static void show_progress(const struct fuzz_report *report, double seconds)
{
	static double shown;

	if (seconds < shown)
		shown = 0;
	if (seconds - shown < 0.25 || !isatty(STDERR_FILENO))
		return;
	shown = seconds;
	fprintf(stderr, "\r%llu cases in %.0f s, all passed ",
		(unsigned long long)report->cases, seconds);
}

static void clear_progress(void)
{
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

/* ---- failures ------------------------------------------------------------------------ */

/* What the reduction hunts, and the last case found to show it. */
struct hunt {
	struct dtconv_context *context;
	struct fuzz_failure found;
};

/* Does a layout fail, with the seed that the last one failed with or one of the next? */
static bool still_fails(struct dtconv_type *type, void *arg)
{
	struct hunt *hunt = arg;
	const struct fuzz_job job = {
		.context = hunt->context,
		.type = type,
		.seed = hunt->found.seed,
		.count = REDUCING_SEEDS,
		.patience = REDUCING_PATIENCE,
	};
	struct fuzz_report report;

	if (fuzz_job_run(&job, &report) != 1)
		return false;
	hunt->found = report.current;
	return true;
}

/* A single quote cannot occur in a text form, so quoting is enough for a shell. */
static void print_failure(const struct fuzz_failure *failure, const char *layout)
{
	printf("FAILED\n"
	       "  layout  %s\n"
	       "  reason  %s\n"
	       "replay with\n"
	       "  dtconv fuzz --layouts '%s' --seed 0x%llx --count 1\n",
	       layout, failure->reason, layout, (unsigned long long)failure->seed);
}

/* The failing case's layout, reduced; the caller frees. */
static char *reduced_layout(struct hunt *hunt)
{
	struct random_tree *tree = fuzz_case_tree(hunt->found.seed), *reduced;
	const struct random_limits limits = { .max_entries = 1 << 16,
					      .max_span = 1 << 20 };
	struct dtconv_type *type = NULL;
	char *text;

	printf("a case failed: %s\nreducing its layout...\n", hunt->found.reason);
	fflush(stdout);
	reduced = random_tree_shrink(tree, hunt->context, &limits, still_fails, hunt);
	/* The last case tried need not be one of the layout that remained. */
	if (random_tree_build(reduced, hunt->context, &type) == 0 &&
	    dtconv_type_commit(type) == 0)
		still_fails(type, hunt);
	dtconv_type_unref(type);
	text = random_tree_text(reduced, hunt->context);
	random_tree_destroy(reduced);
	random_tree_destroy(tree);
	return text;
}

static int report_failure(struct dtconv_context *context,
			  const struct fuzz_failure *failure,
			  const struct dtconv_type *type)
{
	struct hunt hunt = { .context = context, .found = *failure };
	char *layout = type ? random_type_text(type) : reduced_layout(&hunt);

	if (!layout)
		return tool_fail("fuzz", TOOL_FAILED,
				 "seed 0x%llx fails, but its layout cannot be printed",
				 (unsigned long long)failure->seed);
	print_failure(&hunt.found, layout);
	free(layout);
	return TOOL_FAILED;
}

/* ---- the command --------------------------------------------------------------------- */

static int fuzz(const struct settings *settings, struct dtconv_context *context,
		struct dtconv_type *type)
{
	const struct fuzz_job job = {
		.context = context,
		.type = type,
		.seed = settings->seed,
		.count = settings->count,
		.seconds = (double)settings->seconds,
		.patience = PATIENCE,
		.progress = show_progress,
	};
	struct fuzz_report report;
	int result;

	printf("seed 0x%zx\n", settings->seed);
	result = fuzz_job_run(&job, &report);
	clear_progress();
	if (result < 0)
		return tool_fail("fuzz", TOOL_FAILED, "cannot start a child process");
	if (result > 0)
		return report_failure(context, &report.current, type);
	printf("%llu cases, all passed\n", (unsigned long long)report.cases);
	return TOOL_OK;
}

static bool read_number(int option, struct settings *settings)
{
	switch (option) {
	case 's':
		return tool_read_size(optarg, &settings->seconds);
	case 'n':
		return tool_read_size(optarg, &settings->count);
	default:
		settings->seeded = true;
		return tool_read_size(optarg, &settings->seed);
	}
}

/* Without limits: ten seconds. Without a seed: an unpredictable one. */
static void set_defaults(struct settings *settings)
{
	if (!settings->seconds && !settings->count)
		settings->seconds = DEFAULT_SECONDS;
	if (!settings->seeded &&
	    getrandom(&settings->seed, sizeof(settings->seed), GRND_NONBLOCK) < 0)
		settings->seed = (size_t)getpid();
}

static int read_settings(int argc, char **argv, struct settings *settings)
{
	static const struct option options[] = {
		{ "seconds", required_argument, NULL, 's' },
		{ "count", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 'r' },
		{ "layouts", required_argument, NULL, 'l' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	int option, index = 0;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":h", options, &index)) != -1) {
		if (option == 'h')
			settings->help = true;
		else if (option == 'l')
			settings->expression = optarg;
		else if (option == ':' || option == '?')
			return tool_bad_option("fuzz", option, argv, options);
		else if (!read_number(option, settings))
			return tool_usage("fuzz",
					  "--%s is '%.40s', but must be an integer",
					  options[index].name, optarg);
	}
	if (!settings->help && optind < argc)
		return tool_usage("fuzz",
				  "unexpected argument '%.40s'; pass a layout in quotes "
				  "after --layouts",
				  argv[optind]);
	set_defaults(settings);
	return TOOL_OK;
}

int cmd_fuzz(int argc, char **argv)
{
	struct settings settings = { .expression = NULL };
	struct dtconv_context *context;
	struct dtconv_type *type = NULL;
	int exit_status = read_settings(argc, argv, &settings);

	if (exit_status)
		return exit_status;
	if (settings.help) {
		print_help();
		return TOOL_OK;
	}
	exit_status = tool_create_context("fuzz", &context);
	if (exit_status)
		return exit_status;
	if (settings.expression)
		exit_status = tool_read_type("fuzz", context, settings.expression, &type);
	if (exit_status == TOOL_OK)
		exit_status = fuzz(&settings, context, type);
	dtconv_type_unref(type);
	dtconv_context_destroy(context);
	return exit_status;
}
