/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpi_diff: the same random types in libdtconv and in an MPI, every difference named as ours
 * or theirs. Compiled once with each MPI; runs as one process without a launcher.
 */
#include "config.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi_diff/known.h"
#include "mpi_diff/trials.h"

struct run {
	struct dtconv_context *context;
	char version[64];
	bool listed; /* somebody has looked at this version */
	bool everything_shown;
	uint64_t *explained; /* findings, one number a row of known */
	uint64_t ours, unknown;
	unsigned failures; /* that end the run with 1 */
	uint64_t most_reductions;
};

struct settings {
	const char *type; /* NULL: known cases, the fixed list and random types */
	size_t instances;
	uint64_t seed, count, reductions;
	double seconds;
	bool verbose;
};

static void print_help(void)
{
	puts("Usage: mpi_diff [--count N] [--seconds N] [--seed S] [--type T [--instances N]]\n"
	     "\n"
	     "Makes the same types in libdtconv and in this MPI and compares sizes, bounds,\n"
	     "envelopes, packed and unpacked bytes and partial messages. An oracle decides who is\n"
	     "right. Differences that are understood are counted; any other fails the run (or\n"
	     "skips it, with status 77, if nobody has looked at this version of the MPI).\n"
	     "\n"
	     "  --count N      random types (default 2000)\n"
	     "  --seconds N    time limit for them (default: none)\n"
	     "  --seed S       number of the first one (default 1)\n"
	     "  --type T       this type alone, in text form, every check shown\n"
	     "  --instances N  of it (default 2)\n"
	     "  --reductions N unexplained disagreements to reduce and print (default 12)\n"
	     "  --verbose      let the MPI speak, and show every known case");
}

/* ---- findings ------------------------------------------------------------------------ */

static void print_finding(const struct trial *trial, const struct finding *finding)
{
	char text[TYPE_ROOM];
	size_t length;

	dtconv_type_format(trial->type, text, sizeof(text), &length);
	printf("    type   %s\n    count  %zu, seed 0x%llx\n    check  %s\n    said   %s\n",
	       text, trial->count, (unsigned long long)trial->seed,
	       checks[finding->check].name, finding->said);
}

/*
 * What nobody has explained: reduced and printed. If a row explains the reduced case, that is a
 * hint and no more: the reduction may have come from one fault to another.
 */
static void examine(struct run *run, const struct trial *trial,
		    const struct finding *finding)
{
	struct finding smaller = *finding;
	struct trial part = *trial, reduced;
	const struct known *row;

	if (!finding->part[0] ||
	    trial_parse(run->context, finding->part, trial->count, trial->seed, &part))
		dtconv_type_ref(part.type);
	reduced = trial_reduce(run->context, &part, finding->check, &smaller);
	row = known_find(run->context, run->version, &reduced, &smaller);
	puts(finding->verdict == VERDICT_OURS
		     ? "OURS: libdtconv contradicts the oracle:"
		     : "NEW: this MPI contradicts the oracle, for no known reason:");
	print_finding(&reduced, &smaller);
	if (row) {
		printf("    hint   now it is what is known (%s); it came from\n",
		       row->words);
		print_finding(&part, finding);
	}
	dtconv_type_unref(reduced.type);
	dtconv_type_unref(part.type);
}

static void take_finding(const struct trial *trial, const struct finding *finding,
			 void *arg)
{
	struct run *run = arg;
	const struct known *row = NULL;

	if (finding->verdict == VERDICT_THEIRS)
		row = known_find(run->context, run->version, trial, finding);
	else
		run->ours++;
	if (row) {
		run->explained[row - known]++;
	} else {
		if (run->unknown < run->most_reductions)
			examine(run, trial, finding);
		run->unknown++;
	}
}

/* ---- known cases --------------------------------------------------------------------- */

/* Shows a row's case; one that was seen in this very version has to show again. */
static void replay_known(struct run *run, const struct known *row)
{
	struct finding finding = { .said = "" };
	struct trial trial;
	bool shows;

	if (trial_parse(run->context, row->type, row->count, row->seed, &trial)) {
		printf("the list of known faults has a type that cannot be made: %s\n",
		       row->type);
		run->failures++;
		return;
	}
	shows = worker_probe(run->context, &trial, row->check, &finding) ==
		VERDICT_THEIRS;
	if (shows && run->everything_shown) {
		printf("  %s: %s\n", row->choice ? "choice" : "fault", row->words);
		print_finding(&trial, &finding);
	} else if (!shows) {
		printf("%s does not show what was seen in %s%s: %s\n"
		       "    type   %s, count %zu\n    check  %s\n",
		       run->version, row->mpi, row->versions, row->words, row->type,
		       row->count, checks[row->check].name);
		run->failures += run->listed;
	}
	dtconv_type_unref(trial.type);
}

static void replay_all_known(struct run *run)
{
	for (size_t i = 0; i < known_count; i++)
		if (known_concerns(&known[i], run->version))
			replay_known(run, &known[i]);
}

/* ---- summary ------------------------------------------------------------------------- */

static void print_tally(const struct tally *tally)
{
	printf("%llu cases, %llu of types that this MPI has not\n"
	       "%-10s %10s %10s %10s %10s\n",
	       (unsigned long long)tally->cases, (unsigned long long)tally->absent,
	       "check", "agreed", "theirs", "ours", "not asked");
	for (enum check c = CHECK_BUILD; c < CHECK_COUNT; c++) {
		const uint64_t *v = tally->verdicts[c];

		printf("%-10s %10llu %10llu %10llu %10llu\n", checks[c].name,
		       (unsigned long long)v[VERDICT_AGREED],
		       (unsigned long long)v[VERDICT_THEIRS],
		       (unsigned long long)v[VERDICT_OURS],
		       (unsigned long long)v[VERDICT_UNASKED]);
	}
}

static void print_causes(const struct run *run)
{
	puts("disagreements by cause");
	for (size_t i = 0; i < known_count; i++)
		if (run->explained[i])
			printf("%10llu  %s, %s: %s\n",
			       (unsigned long long)run->explained[i],
			       known[i].choice ? "left open" : "theirs",
			       checks[known[i].check].name, known[i].words);
	printf("%10llu  ours\n%10llu  not explained\n", (unsigned long long)run->ours,
	       (unsigned long long)run->unknown);
}

static void add_tally(struct tally *sum, const struct tally *more)
{
	sum->cases += more->cases;
	sum->absent += more->absent;
	for (enum check c = CHECK_BUILD; c < CHECK_COUNT; c++)
		for (size_t v = 0; v < VERDICT_COUNT; v++)
			sum->verdicts[c][v] += more->verdicts[c][v];
}

/* ---- runs ---------------------------------------------------------------------------- */

/* Every check of one type; 1 if one of them disagrees. */
static int show_type(struct run *run, const struct settings *settings)
{
	struct trial trial;
	int disagreements = 0;

	if (trial_parse(run->context, settings->type, settings->instances, settings->seed,
			&trial)) {
		char reason[256];

		dtconv_context_error(run->context, reason, sizeof(reason));
		fprintf(stderr, "mpi_diff: %s\n", reason);
		return 2;
	}
	for (enum check c = CHECK_BOUNDS; c < CHECK_COUNT; c++) {
		static const char *const words[] = { "agreed", "not asked", "OURS",
						     "theirs" };
		struct finding finding = { .said = "" };
		enum verdict verdict = worker_probe(run->context, &trial, c, &finding);

		printf("%-10s %-10s %s\n", checks[c].name, words[verdict],
		       verdict > VERDICT_UNASKED ? finding.said : "");
		disagreements += verdict > VERDICT_UNASKED;
	}
	dtconv_type_unref(trial.type);
	return disagreements > 0;
}

/*
 * 0: all is explained; 1: it is not; 77: it is not, but nobody has looked at this version of
 * the MPI yet, and it is the MPI that contradicts the oracle.
 */
static int conclude(const struct run *run)
{
	if (run->ours || run->failures || (run->unknown && run->listed)) {
		puts("FAILED");
		return 1;
	}
	if (run->unknown) {
		printf("SKIP: %s is not on the list of known faults, and %llu disagreements "
		       "of its own are not explained\n",
		       run->version, (unsigned long long)run->unknown);
		return 77;
	}
	puts("passed: every disagreement is explained");
	return 0;
}

static int run_all(struct run *run, const struct settings *settings)
{
	struct work fixed = { .context = run->context,
			      .trial_of = trial_fixed,
			      .count = UINT64_MAX,
			      .found = take_finding,
			      .arg = run };
	struct work chance = fixed;
	struct tally tally, more;

	chance.trial_of = trial_random;
	chance.first = settings->seed;
	chance.count = settings->count;
	chance.seconds = settings->seconds;
	replay_all_known(run);
	if (worker_run(&fixed, &tally) || worker_run(&chance, &more)) {
		fputs("mpi_diff: cannot start another process\n", stderr);
		return 2;
	}
	add_tally(&tally, &more);
	print_tally(&tally);
	print_causes(run);
	return conclude(run);
}

static int start(struct run *run)
{
	static const struct dtconv_context_params quiet = {
		.struct_size = sizeof(quiet),
		.log_level = DTCONV_LOG_NONE,
		.padding = THEIR_PADDING,
	};

	mpi_types_avoid_network();
	if (MPI_Init(NULL, NULL)) {
		fputs("mpi_diff: MPI_Init failed\n", stderr);
		return -1;
	}
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	mpi_types_version(run->version, sizeof(run->version));
	run->explained = calloc(known_count + 1, sizeof(*run->explained));
	return run->explained ? dtconv_context_create(&quiet, &run->context) : -1;
}

static int read_settings(int argc, char **argv, struct settings *s)
{
	static const struct option options[] = {
		{ "count", required_argument, NULL, 'n' },
		{ "seconds", required_argument, NULL, 's' },
		{ "seed", required_argument, NULL, 'r' },
		{ "type", required_argument, NULL, 't' },
		{ "instances", required_argument, NULL, 'i' },
		{ "reductions", required_argument, NULL, 'd' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'n')
			s->count = strtoull(optarg, NULL, 0);
		else if (option == 's')
			s->seconds = strtod(optarg, NULL);
		else if (option == 'r')
			s->seed = strtoull(optarg, NULL, 0);
		else if (option == 'd')
			s->reductions = strtoull(optarg, NULL, 0);
		else if (option == 't')
			s->type = optarg;
		else if (option == 'i')
			s->instances = strtoull(optarg, NULL, 0);
		else if (option == 'v')
			s->verbose = true;
		else
			return -1;
	}
	return optind < argc ? -1 : 0;
}

int main(int argc, char **argv)
{
	struct settings settings = {
		.instances = 2, .seed = 1, .count = 2000, .reductions = 12
	};
	struct run run = { .context = NULL };
	int result;

	if (read_settings(argc, argv, &settings)) {
		print_help();
		return 2;
	}
	if (start(&run))
		return 2;
	printf("%s\n", run.version);
	run.listed = known_version(run.version);
	run.most_reductions = settings.reductions;
	run.everything_shown = settings.verbose;
	worker_set_verbose(settings.verbose);
	result = settings.type ? show_type(&run, &settings) : run_all(&run, &settings);
	dtconv_context_destroy(run.context);
	free(run.explained);
	MPI_Finalize();
	return result;
}
