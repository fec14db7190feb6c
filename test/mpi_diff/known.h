/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The disagreements that are understood: for each the MPI and version it was seen in, a
 * reduced case that shows it, and which other findings it explains.
 */
#ifndef MPI_DIFF_KNOWN_H
#define MPI_DIFF_KNOWN_H

#include <stdbool.h>
#include <stddef.h>

#include "mpi_diff/worker.h"

struct known {
	const char *mpi;      /* its name, up to the number */
	const char *versions; /* numbers in which it was seen, blanks between them */
	bool choice;          /* the standard leaves it open: nobody's fault */
	enum check check;     /* that shows it */
	unsigned covers;      /* bit 1 << c: it may show in check c */
	const char *type;     /* reduced case */
	size_t count;
	uint64_t seed;
	const char *words; /* what is wrong */
	/* Does it explain a finding? The map is that of the type (or part) in question. */
	bool (*explains)(const struct dtconv_type *type, const struct ref_typemap *map,
			 const struct finding *finding);
};

extern const struct known known[];
extern const size_t known_count;

/* Has anybody looked at this version? If not, what is known of its kin is all there is. */
bool known_version(const char *version);

/* Is a row about this version: seen in it, or in its kin if nobody has looked at it? */
bool known_concerns(const struct known *row, const char *version);

/* The row that explains a finding in this MPI, or NULL. */
const struct known *known_find(struct dtconv_context *context, const char *version,
			       const struct trial *trial, const struct finding *finding);

#endif
