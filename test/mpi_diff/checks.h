/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is compared of one specimen. Each check asks the library, the MPI and the oracle the
 * same question; the oracle decides who is right.
 */
#ifndef MPI_DIFF_CHECKS_H
#define MPI_DIFF_CHECKS_H

#include <stddef.h>

#include "mpi_diff/specimen.h"

enum check {
	CHECK_BUILD,    /* the MPI makes the type at all */
	CHECK_BOUNDS,   /* size, lb and extent of it and all its parts */
	CHECK_TRUE,     /* true lb and true extent of the same */
	CHECK_ENVELOPE, /* envelope and contents */
	CHECK_MATCH,    /* MPI_Type_match_size, for Fortran kinds */
	CHECK_PACK,     /* MPI_Pack, whole */
	CHECK_UNPACK,   /* MPI_Unpack, whole, gaps and surroundings untouched */
	CHECK_PIECES, /* instance by instance; the MPI's stream through a convertor, cut */
	CHECK_BOTTOM,          /* absolute addresses from MPI_BOTTOM */
	CHECK_RECEIVE,         /* a message that ends early, and what was counted of it */
	CHECK_EXTERNAL_SIZE,   /* MPI_Pack_external_size */
	CHECK_EXTERNAL_PACK,   /* MPI_Pack_external, external32 */
	CHECK_EXTERNAL_UNPACK, /* MPI_Unpack_external */
	CHECK_COUNT
};

enum verdict {
	VERDICT_AGREED,
	VERDICT_UNASKED, /* does not apply here */
	VERDICT_OURS,    /* the library contradicts the oracle */
	VERDICT_THEIRS,  /* the MPI contradicts the oracle */
	VERDICT_COUNT
};

/* Room for what each side said, and for a type's text form. */
#define SAID_ROOM 320
#define TYPE_ROOM 2048

/* A disagreement. */
struct finding {
	enum check check;
	enum verdict verdict;
	char said[SAID_ROOM];
	char part
		[TYPE_ROOM]; /* the part of the type that is at fault; empty: the whole */
};

struct check_info {
	const char *name;
	/*
	 * Fills said (and part) unless the sides agree; finding->check is set before. NULL
	 * for CHECK_BUILD.
	 */
	enum verdict (*run)(struct specimen *specimen, struct finding *finding);
};

/* Indexed by enum check. */
extern const struct check_info checks[CHECK_COUNT];

/* The functions of the table, by file. */
enum verdict check_bounds(struct specimen *specimen, struct finding *finding);
enum verdict check_envelope(struct specimen *specimen, struct finding *finding);
enum verdict check_match(struct specimen *specimen, struct finding *finding);
enum verdict check_pack(struct specimen *specimen, struct finding *finding);
enum verdict check_unpack(struct specimen *specimen, struct finding *finding);
enum verdict check_pieces(struct specimen *specimen, struct finding *finding);
enum verdict check_bottom(struct specimen *specimen, struct finding *finding);
enum verdict check_receive(struct specimen *specimen, struct finding *finding);
enum verdict check_external(struct specimen *specimen, struct finding *finding);

/* Says a sentence in finding->said; for `return blame(...)`. */
enum verdict blame(struct finding *finding, enum verdict verdict, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Blames the MPI for an error code of the function named. */
enum verdict blame_mpi_error(struct finding *finding, const char *function, int error);

/*
 * Compares a packed stream of each side with the stage's: agreed, or a finding about the first
 * other byte.
 */
enum verdict judge_streams(const struct specimen *specimen, struct finding *finding,
			   const unsigned char *ours, const unsigned char *theirs);

#endif
