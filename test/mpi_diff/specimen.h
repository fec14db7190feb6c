/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A specimen is one type and a count, made in the library and in the MPI, with memory for both
 * and what the oracle says of it. Decides nothing about who is right.
 */
#ifndef MPI_DIFF_SPECIMEN_H
#define MPI_DIFF_SPECIMEN_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include <dtconv/dtconv.h>

#include "bench/peers/mpi_types.h"
#include "bench/peers/tree.h"
#include "support/ref_typemap.h"
#include "support/stage.h"

/* MPI leaves to the library which extents are rounded up; ours follows the MPI at hand. */
#ifdef OPEN_MPI
#define THEIR_PADDING DTCONV_PADDING_ALWAYS
#else
#define THEIR_PADDING DTCONV_PADDING_STRUCT
#endif

/* Room for what an MPI says when it refuses a type. */
#define REFUSAL_ROOM 192

struct specimen {
	struct dtconv_context *context;
	struct dtconv_type *type; /* committed, borrowed */
	size_t count;
	uint64_t seed;          /* of the bytes and cuts */
	struct tree tree;       /* the type flattened */
	struct mpi_types built; /* its nodes in the MPI */
	MPI_Datatype mpi;       /* its root there */
	struct ref_typemap map; /* the oracle's */
	struct stage stage;     /* its memory, once specimen_stage was asked for it */
	char *padding; /* with the stage: 1 for each byte of the stream that means nothing */
	char refusal[REFUSAL_ROOM];
};

/* How making one can end. */
enum making {
	MAKING_DONE,
	MAKING_REFUSED, /* the MPI said no: see refusal */
	MAKING_ABSENT,  /* this MPI has no such type */
	MAKING_FAILED   /* memory, or the type is beyond the oracle */
};

/* Makes a specimen of a type of the context; close it in any case. */
enum making specimen_open(struct specimen *specimen, struct dtconv_context *context,
			  struct dtconv_type *type, size_t count, uint64_t seed);
void specimen_close(struct specimen *specimen);

/* Gives it memory; 0, or -1 if it is too large for that. Asked again, blanks the target. */
int specimen_stage(struct specimen *specimen);

/*
 * The last bytes of an x87 long double are padding, and an MPI that moves values need not move
 * them: they are put right in the target, for the first bytes of the stream.
 */
void specimen_settle_padding(struct specimen *specimen, size_t bytes);

#endif
