/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every small type there is, against the oracle. The grammar of the types stands in
 * grammar.c and is printed with the number of trees; what is checked of each is in
 * exhaustive_check.c. This file walks the trees and deals them out.
 *
 * test_exhaustive [--jobs N] [--slice I/N | all] [--tree K]
 *
 * Without --slice the environment's DTCONV_TEST_SLICE decides, else a fixed slice is run.
 */
#include "config.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exhaustive_check.h"
#include "grammar.h"
#include "support/random_type.h"
#include "support/rebuild.h"

enum {
	SIDE_2 = 300, /* choices of each constructor at depth 2 */
	SIDE_3 = 7,   /* at depth 3 */
	COPIES_2 = 6, /* most copies a constructor makes of its inner tree there */
	COPIES_3 = 4,
	MAX_REPORTS = 20,    /* failures told in full */
	DEFAULT_SLICES = 97, /* `make check` runs the first of so many slices */
	MAX_JOBS = 64,
	MAX_LEVELS = 3
};

/* What one job has found, in memory shared with the one who started it. */
struct tally {
	uint64_t trees;   /* walked past */
	uint64_t checked; /* of those, the job's share */
	uint64_t checks;
	uint64_t failures;
	uint64_t by_depth[MAX_LEVELS + 1];
	uint64_t current; /* the tree at hand, for when the job dies */
};

/* Which trees are ours. */
struct share {
	uint64_t first;
	uint64_t step;
	bool one; /* only tree number `first` */
};

/* A constructor call somewhere in a tree, and what it made, once somebody needs it. */
struct level {
	const struct grammar_choice *choice;
	struct level *inner; /* NULL: the leaf */
	struct dtconv_type *type;
	struct ref_typemap map;
	bool built;
};

struct walk {
	struct dtconv_context *context;
	struct checker *checker;
	struct share share;
	struct tally *tally;
	struct level leaves[GRAMMAR_LEAVES];
	struct level *leaf;
	unsigned depth;
};

/* ---- building ------------------------------------------------------------------------ */

static void forget(struct level *level)
{
	if (level->built)
		dtconv_type_unref(level->type);
	level->built = false;
}

static const struct level *member(const struct walk *walk, const struct level *level,
				  size_t i)
{
	size_t which = level->choice->members[i];

	if (which > 0)
		return &walk->leaves[which - 1];
	return level->inner ? level->inner : walk->leaf;
}

/* Call the constructor and let the oracle do the same. */
static const char *construct(const struct walk *walk, struct level *level)
{
	struct grammar_choice call = *level->choice;
	struct dtconv_type *types[GRAMMAR_MAX_BLOCKS] = { 0 };
	const struct ref_typemap *maps[GRAMMAR_MAX_BLOCKS] = { 0 };

	for (size_t i = 0; i < call.type_count; i++) {
		types[i] = member(walk, level, i)->type;
		maps[i] = &member(walk, level, i)->map;
	}
	for (size_t i = 0; i < call.displacement_count; i++)
		if (call.scaled[i])
			call.displacements[i] *=
				ref_typemap_extent(maps[call.type_count > 1 ? i : 0]);
	struct rebuild_parts parts = { call.combiner, call.counts, call.displacements,
				       types };
	struct ref_constructor reference = { .combiner = call.combiner,
					     .counts = call.counts,
					     .displacements = call.displacements,
					     .oldtypes = maps };
	if (ref_typemap_apply(&reference, REF_DEFAULT_LIMIT, &level->map))
		return "the oracle refused the type";
	if (rebuild_from_parts(walk->context, &parts, &level->type))
		return "the constructor failed";
	level->built = true;
	return NULL;
}

static const char *build(const struct walk *walk, struct level *level)
{
	const char *failure = NULL;

	if (level->built)
		return NULL;
	if (level->inner)
		failure = build(walk, level->inner);
	return failure ? failure : construct(walk, level);
}

/* ---- one tree ------------------------------------------------------------------------ */

static void report(const struct walk *walk, const struct level *level,
		   const char *failure)
{
	if (++walk->tally->failures > MAX_REPORTS)
		return;
	char *text = level->built ? random_type_text(level->type) : NULL;
	printf("FAIL tree %" PRIu64 ": %s: %s\n", walk->tally->current,
	       text ? text : "(not built)", failure);
	fflush(stdout);
	free(text);
}

static bool ours(const struct share *share, uint64_t tree)
{
	return share->one ? tree == share->first : tree % share->step == share->first;
}

static void check_tree(struct walk *walk, struct level *level)
{
	uint64_t tree = walk->tally->trees++;

	walk->tally->by_depth[walk->depth]++;
	if (!ours(&walk->share, tree))
		return;
	walk->tally->current = tree;
	walk->tally->checked++;
	const char *failure = build(walk, level);
	if (!failure && walk->share.one) {
		char *text = random_type_text(level->type);
		printf("tree %" PRIu64 ": %s\n", tree, text);
		fflush(stdout);
		free(text);
	}
	if (!failure && dtconv_type_commit(level->type))
		failure = "dtconv_type_commit failed";
	if (!failure)
		failure = checker_run(walk->checker, level->type, &level->map,
				      (size_t)tree);
	if (failure)
		report(walk, level, failure);
	forget(level);
}

/* ---- all trees ----------------------------------------------------------------------- */

/* A list of choices, by depth. */
struct side {
	struct grammar_choice *choices;
	size_t count;
};

static struct side make_side(size_t most, size_t copies)
{
	struct side side = { .choices = calloc(GRAMMAR_CONSTRUCTORS * most,
					       sizeof(*side.choices)) };

	if (!side.choices)
		abort();
	for (size_t k = 0; k < GRAMMAR_CONSTRUCTORS; k++)
		side.count += grammar_sample(grammar_constructor(k), copies, most,
					     side.choices + side.count);
	return side;
}

struct depth_1 {
	struct walk *walk;
	struct level level;
};

static void visit_depth_1(const struct grammar_choice *choice, void *arg)
{
	struct depth_1 *d = arg;

	d->level.choice = choice;
	check_tree(d->walk, &d->level);
}

static void walk_depth_1(struct walk *walk)
{
	struct depth_1 d = { .walk = walk };

	walk->depth = 1;
	for (size_t l = 0; l < GRAMMAR_LEAVES; l++) {
		walk->leaf = &walk->leaves[l];
		for (size_t k = 0; k < GRAMMAR_CONSTRUCTORS; k++) {
			enum dtconv_combiner combiner = grammar_constructor(k);

			/* The members of structs are leaves of all kinds already. */
			if (combiner != DTCONV_COMBINER_STRUCT || l == 0)
				grammar_visit(combiner, visit_depth_1, &d);
		}
	}
	ref_typemap_free(&d.level.map);
}

static void walk_depth_2(struct walk *walk, const struct side *side)
{
	struct level inner = { 0 }, outer = { .inner = &inner };

	walk->depth = 2;
	for (size_t i = 0; i < side->count; i++) {
		inner.choice = &side->choices[i];
		for (size_t o = 0; o < side->count; o++) {
			outer.choice = &side->choices[o];
			check_tree(walk, &outer);
		}
		forget(&inner);
	}
	ref_typemap_free(&inner.map);
	ref_typemap_free(&outer.map);
}

static void walk_depth_3(struct walk *walk, const struct side *side)
{
	struct level bottom = { 0 }, middle = { .inner = &bottom },
		     top = { .inner = &middle };

	walk->depth = 3;
	for (size_t i = 0; i < side->count; i++) {
		bottom.choice = &side->choices[i];
		for (size_t j = 0; j < side->count; j++) {
			middle.choice = &side->choices[j];
			for (size_t k = 0; k < side->count; k++) {
				top.choice = &side->choices[k];
				check_tree(walk, &top);
			}
			forget(&middle);
		}
		forget(&bottom);
	}
	ref_typemap_free(&bottom.map);
	ref_typemap_free(&middle.map);
	ref_typemap_free(&top.map);
}

static void walk_all(struct walk *walk)
{
	struct side side_2 = make_side(SIDE_2, COPIES_2),
		    side_3 = make_side(SIDE_3, COPIES_3);

	walk_depth_1(walk);
	for (size_t l = 0; l < GRAMMAR_LEAVES; l++) {
		walk->leaf = &walk->leaves[l];
		walk_depth_2(walk, &side_2);
		walk_depth_3(walk, &side_3);
	}
	free(side_2.choices);
	free(side_3.choices);
}

/* ---- one job ------------------------------------------------------------------------- */

static int make_leaf(struct walk *walk, size_t l)
{
	static const enum dtconv_predefined which[GRAMMAR_LEAVES] = {
		DTCONV_INT8, DTCONV_INT16, DTCONV_DOUBLE, DTCONV_DOUBLE_INT
	};
	static const ptrdiff_t odd[] = { 1 };
	struct level *leaf = &walk->leaves[l];

	leaf->type = dtconv_type_predefined(walk->context, which[l]);
	if (which[l] == DTCONV_INT16 &&
	    dtconv_type_create_hindexed_block(1, 1, odd, leaf->type, &leaf->type))
		return -1;
	leaf->built = true;
	return ref_typemap_build(leaf->type, DTCONV_PADDING_STRUCT, 0, &leaf->map);
}

static int run_job(struct share share, struct tally *tally)
{
	struct walk walk = { .share = share, .tally = tally };

	if (dtconv_context_create(NULL, &walk.context)) {
		printf("FAIL: no context\n");
		return 1;
	}
	for (size_t l = 0; l < GRAMMAR_LEAVES; l++)
		if (make_leaf(&walk, l)) {
			printf("FAIL: leaf %zu could not be made\n", l);
			return 1;
		}
	walk.checker = checker_create(walk.context);
	walk_all(&walk);
	tally->checks = checker_count(walk.checker);
	checker_destroy(walk.checker);
	for (size_t l = 0; l < GRAMMAR_LEAVES; l++) {
		forget(&walk.leaves[l]);
		ref_typemap_free(&walk.leaves[l].map);
	}
	dtconv_context_destroy(walk.context);
	return tally->failures > 0;
}

/* ---- all jobs ------------------------------------------------------------------------ */

struct options {
	uint64_t slice;
	uint64_t slices;
	unsigned jobs;
	bool one;
	uint64_t tree;
};

static struct share share_of(const struct options *options, unsigned job)
{
	if (options->one)
		return (struct share){ .first = options->tree, .one = true };
	return (struct share){ .first = options->slice + options->slices * job,
			       .step = options->slices * options->jobs };
}

static bool finish_job(pid_t pid, const struct tally *tally)
{
	int status = 0;

	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status))
		printf("FAIL: signal %d at tree %" PRIu64
		       "; replay with: test_exhaustive --tree %" PRIu64 "\n",
		       WTERMSIG(status), tally->current, tally->current);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool run_jobs(const struct options *options, struct tally *tallies)
{
	pid_t pids[MAX_JOBS];
	bool good = true;

	if (options->one)
		return run_job(share_of(options, 0), tallies) == 0;
	for (unsigned j = 0; j < options->jobs; j++) {
		fflush(stdout);
		pids[j] = fork();
		if (pids[j] < 0)
			abort();
		if (pids[j] == 0)
			exit(run_job(share_of(options, j), &tallies[j]));
	}
	for (unsigned j = 0; j < options->jobs; j++)
		good = finish_job(pids[j], &tallies[j]) && good;
	return good;
}

static void print_summary(const struct options *options, const struct tally *tallies)
{
	uint64_t checked = 0, checks = 0, failures = 0;

	for (unsigned j = 0; j < options->jobs; j++) {
		checked += tallies[j].checked;
		checks += tallies[j].checks;
		failures += tallies[j].failures;
	}
	printf("trees: %" PRIu64 " at depth 1, %" PRIu64 " at depth 2, %" PRIu64
	       " at depth 3, %" PRIu64 " in all\n",
	       tallies->by_depth[1], tallies->by_depth[2], tallies->by_depth[3],
	       tallies->trees);
	if (!options->one)
		printf("slice %" PRIu64 "/%" PRIu64 ": ", options->slice,
		       options->slices);
	printf("%" PRIu64 " trees, %" PRIu64 " checks, %" PRIu64 " failures\n", checked,
	       checks, failures);
}

static bool read_slice(const char *text, struct options *options)
{
	if (strcmp(text, "all") == 0) {
		options->slice = 0;
		options->slices = 1;
		return true;
	}
	return sscanf(text, "%" SCNu64 "/%" SCNu64, &options->slice, &options->slices) ==
		       2 &&
	       options->slices > 0 && options->slice < options->slices;
}

static bool read_option(const char *name, const char *value, struct options *options)
{
	if (strcmp(name, "--slice") == 0)
		return read_slice(value, options);
	if (strcmp(name, "--jobs") == 0)
		return sscanf(value, "%u", &options->jobs) == 1 && options->jobs > 0 &&
		       options->jobs <= MAX_JOBS;
	if (strcmp(name, "--tree") == 0) {
		options->one = true;
		return sscanf(value, "%" SCNu64, &options->tree) == 1;
	}
	return false;
}

static bool read_options(int argc, char **argv, struct options *options)
{
	const char *slice = getenv("DTCONV_TEST_SLICE");

	*options = (struct options){ .slices = DEFAULT_SLICES, .jobs = 1 };
	if (slice && *slice && !read_slice(slice, options))
		return false;
	if (options->slices == 1) {
		long cpus = sysconf(_SC_NPROCESSORS_ONLN);
		options->jobs = cpus < 1          ? 1
				: cpus > MAX_JOBS ? MAX_JOBS
						  : (unsigned)cpus;
	}
	for (int i = 1; i < argc; i += 2)
		if (i + 1 == argc || !read_option(argv[i], argv[i + 1], options))
			return false;
	return true;
}

int main(int argc, char **argv)
{
	struct options options;

	if (!read_options(argc, argv, &options)) {
		fprintf(stderr, "usage: test_exhaustive [--jobs N] [--slice I/N | all] "
				"[--tree K]; DTCONV_TEST_SLICE is I/N or all\n");
		return 2;
	}
	struct tally *tallies = mmap(NULL, MAX_JOBS * sizeof(*tallies),
				     PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
				     -1, 0);
	if (tallies == MAP_FAILED)
		return 1;
	printf("%s", grammar_text);
	bool good = run_jobs(&options, tallies);
	print_summary(&options, tallies);
	if (options.one && tallies->checked == 0) {
		printf("FAIL: there is no tree %" PRIu64 "\n", options.tree);
		good = false;
	}
	return good ? 0 : 1;
}
