/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where trials come from: numbers that become random types, a fixed list of the types that
 * need no chance, and text forms; and how a trial that fails becomes a small one.
 */
#ifndef MPI_DIFF_TRIALS_H
#define MPI_DIFF_TRIALS_H

#include "mpi_diff/worker.h"

/* A random type, a count and a seed from any number. */
bool trial_random(struct dtconv_context *context, uint64_t number, struct trial *trial);

/* Every predefined type and Fortran kinds, numbered from 0. */
bool trial_fixed(struct dtconv_context *context, uint64_t number, struct trial *trial);

/* From a text form; 0 or a status. */
int trial_parse(struct dtconv_context *context, const char *text, size_t count,
		uint64_t seed, struct trial *trial);

/*
 * Reduces a trial as long as the check still ends with the verdict, and fills in what is said
 * of the smallest one. The result is to be released like any trial.
 */
struct trial trial_reduce(struct dtconv_context *context, const struct trial *trial,
			  enum check check, struct finding *finding);

#endif
