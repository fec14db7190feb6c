/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decisions from measurements: which kind of store is faster beyond the spread, and from which
 * size on.
 */
#include "config.h"

#include "tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b)
{
	double one = *(const double *)a, other = *(const double *)b;

	return (one > other) - (one < other);
}

/* The number that a part of all are no larger than. */
static double quantile(const double *numbers, size_t count, double part)
{
	double sorted[TUNE_MAX_ROUNDS];

	memcpy(sorted, numbers, count * sizeof(sorted[0]));
	qsort(sorted, count, sizeof(sorted[0]), ascending);
	return sorted[(size_t)(part * (double)(count - 1) + 0.5)];
}

double tune_median(const double *numbers, size_t count)
{
	return quantile(numbers, count, 0.5);
}

/* Geometric mean over the sizes of messages, so that both count alike. */
static double message_ns(const struct tune_contest *contest, size_t value, size_t round)
{
	double product = 1;

	for (size_t i = 0; i < TUNE_MESSAGES; i++)
		product *= contest->ns[value][i][round];
	return sqrt(product);
}

/* Of the default's time over the value's, the value that a part of the rounds do not exceed. */
static double gain_of(const struct tune_contest *contest, size_t value, double part)
{
	double quotients[TUNE_MAX_ROUNDS];

	for (size_t i = 0; i < contest->rounds; i++)
		quotients[i] = message_ns(contest, contest->normal, i) /
			       message_ns(contest, value, i);
	return quantile(quotients, contest->rounds, part);
}

double tune_flow_gain(const struct tune_contest *contest, size_t value)
{
	return gain_of(contest, value, 0.5);
}

/* Less than this part is no reason for more memory. */
#define AS_FAST 0.98

size_t tune_choose(const struct tune_contest *contest)
{
	double best = 1;

	for (size_t i = 0; i < contest->count; i++)
		if (gain_of(contest, i, 0.25) > 1 && tune_flow_gain(contest, i) > best)
			best = tune_flow_gain(contest, i);
	for (size_t i = 0; i < contest->count && best > 1; i++)
		if (gain_of(contest, i, 0.25) > 1 &&
		    tune_flow_gain(contest, i) >= AS_FAST * best)
			return i;
	return contest->normal;
}

double tune_rate(const double *times, const struct tune_measurements *measurements,
		 size_t size)
{
	return (double)measurements->bytes[size] /
	       tune_median(times, measurements->rounds);
}

const char *tune_verdict_name(enum tune_verdict verdict)
{
	static const char *const names[] = {
		[TUNE_EVEN] = "even", [TUNE_FASTER] = "faster", [TUNE_SLOWER] = "slower"
	};

	return names[verdict];
}

/*
 * Compare times of the same round, because a machine that is busy for a while slows both
 * variants. A variant is faster if it is so in three of four rounds.
 */
struct tune_gain tune_compare(const struct tune_measurements *measurements, size_t size)
{
	const struct tune_samples *pack = &measurements->samples[size][TUNE_PACK];
	const struct tune_samples *unpack = &measurements->samples[size][TUNE_UNPACK];
	size_t rounds = measurements->rounds;
	double quotients[TUNE_MAX_ROUNDS];
	struct tune_gain result = { .verdict = TUNE_EVEN };

	for (size_t i = 0; i < rounds; i++)
		quotients[i] = (pack->through[i] + unpack->through[i]) /
			       (pack->past[i] + unpack->past[i]);
	result.median = quantile(quotients, rounds, 0.5);
	result.low = quantile(quotients, rounds, 0.25);
	result.high = quantile(quotients, rounds, 0.75);
	if (result.low > 1)
		result.verdict = TUNE_FASTER;
	else if (result.high < 1)
		result.verdict = TUNE_SLOWER;
	return result;
}

/* The smallest size that gains, so that none is slower from there on. */
struct tune_decision tune_decide(const struct tune_measurements *measurements)
{
	struct tune_decision decision = { .kind = TUNE_UNDECIDED };

	for (size_t i = TUNE_SIZES; i-- > 0;) {
		switch (tune_compare(measurements, i).verdict) {
		case TUNE_SLOWER:
			if (i == TUNE_SIZES - 1)
				decision.kind = TUNE_NEVER;
			return decision;
		case TUNE_FASTER:
			decision.kind = TUNE_FROM;
			decision.bytes = measurements->bytes[i];
			break;
		default:
			break;
		}
	}
	return decision;
}
