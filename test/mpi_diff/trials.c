/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Trials and their reduction.
 */
#include "config.h"

#include "mpi_diff/trials.h"

#include <stdio.h>
#include <string.h>

#include "support/choices.h"
#include "support/random_tree.h"

/* Most processes that one reduction may start. */
#define MOST_PROBES 1500

int trial_parse(struct dtconv_context *context, const char *text, size_t count,
		uint64_t seed, struct trial *trial)
{
	trial->count = count;
	trial->seed = seed;
	return dtconv_type_parse(context, text, strlen(text), &trial->type);
}

/* ---- random types -------------------------------------------------------------------- */

static size_t count_of(uint64_t bits)
{
	return bits % 16 == 0 ? 0 : 1 + bits / 16 % 3;
}

bool trial_random(struct dtconv_context *context, uint64_t number, struct trial *trial)
{
	const struct random_limits limits = {
		.depth = 1 + (unsigned)(number % 4),
		.max_entries = 1000,
		.distinct = number % 3 != 0, /* the others may overlap: pack only */
		.instances = 3,
		.padding = THEIR_PADDING,
	};
	struct random_tree *tree = random_tree_create(number, &limits);
	uint64_t bits = choices_mix(number);
	int status = random_tree_build(tree, context, &trial->type);

	random_tree_destroy(tree);
	trial->count = count_of(bits);
	trial->seed = bits >> 8;
	return status == 0;
}

/* ---- types that need no chance ------------------------------------------------------- */

/* Decimal digits and exponent ranges of Fortran kinds, and one beyond each border. */
static const size_t real_digits[] = { 1, 6, 7, 15, 16, 33, DTCONV_UNDEFINED };
static const size_t real_ranges[] = { 1, 37, 38, 307, 308, 4931, DTCONV_UNDEFINED };
#define DIGITS   (sizeof(real_digits) / sizeof(real_digits[0]))
#define RANGES   (sizeof(real_ranges) / sizeof(real_ranges[0]))
#define INTEGERS 39

static int fixed_type(struct dtconv_context *context, size_t number,
		      struct dtconv_type **type)
{
	size_t p, r;

	if (number < DTCONV_PREDEFINED_COUNT) {
		*type = dtconv_type_predefined(context, (enum dtconv_predefined)number);
		return *type ? 0 : DTCONV_ERR_INVAL;
	}
	number -= DTCONV_PREDEFINED_COUNT;
	if (number < INTEGERS)
		return dtconv_type_create_f90_integer(context, number, type);
	number -= INTEGERS;
	p = real_digits[number / 2 / RANGES];
	r = real_ranges[number / 2 % RANGES];
	if (p == DTCONV_UNDEFINED && r == DTCONV_UNDEFINED)
		p = 1;
	return number % 2 ? dtconv_type_create_f90_complex(context, p, r, type)
			  : dtconv_type_create_f90_real(context, p, r, type);
}

bool trial_fixed(struct dtconv_context *context, uint64_t number, struct trial *trial)
{
	if (number >= DTCONV_PREDEFINED_COUNT + INTEGERS + 2 * DIGITS * RANGES)
		return false;
	trial->count = 3;
	trial->seed = choices_mix(number);
	return fixed_type(context, number, &trial->type) == 0;
}

/* ---- reduction ----------------------------------------------------------------------- */

struct hunt {
	struct dtconv_context *context;
	struct trial trial; /* its type changes */
	enum check check;
	enum verdict verdict;
	unsigned probes;
};

static bool still_fails(struct dtconv_type *type, void *arg)
{
	struct hunt *hunt = arg;
	struct finding finding;

	if (hunt->probes++ >= MOST_PROBES)
		return false;
	hunt->trial.type = type;
	if (worker_probe(hunt->context, &hunt->trial, hunt->check, &finding) !=
	    hunt->verdict)
		return false;
	/* Other bounds would be a reason of their own to move other bytes. */
	return hunt->check <= CHECK_TRUE ||
	       worker_probe(hunt->context, &hunt->trial, CHECK_BOUNDS, &finding) ==
		       VERDICT_AGREED;
}

/* Fewer instances, if that fails too. */
static void reduce_count(struct hunt *hunt, struct dtconv_type *type)
{
	size_t count = hunt->trial.count;

	for (size_t fewer = 0; fewer < count; fewer++) {
		hunt->trial.count = fewer;
		if (still_fails(type, hunt))
			return;
	}
	hunt->trial.count = count;
}

struct trial trial_reduce(struct dtconv_context *context, const struct trial *trial,
			  enum check check, struct finding *finding)
{
	const struct random_limits limits = { .max_entries = 1 << 16,
					      .max_span = 1 << 20,
					      .instances = 3,
					      .padding = THEIR_PADDING };
	struct hunt hunt = { context, *trial, check, finding->verdict, 0 };
	struct random_tree *tree = random_tree_of_type(trial->type), *reduced;
	struct trial result;

	reduce_count(&hunt, trial->type);
	reduced = random_tree_shrink(tree, context, &limits, still_fails, &hunt);
	result = hunt.trial;
	if (random_tree_build(reduced, context, &result.type)) {
		result = *trial;
		dtconv_type_ref(result.type);
	}
	worker_probe(context, &result, check, finding);
	random_tree_destroy(reduced);
	random_tree_destroy(tree);
	return result;
}
