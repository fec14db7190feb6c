/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Our types in an MPI library: made from flattened types (tree.h) by its constructors. Shared
 * by the bench's MPI peers and the differential test.
 */
#ifndef BENCH_MPI_TYPES_H
#define BENCH_MPI_TYPES_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/peers/tree.h"

/* The datatypes of one tree, by node, the root last; predefined ones are not freed. */
struct mpi_types {
	MPI_Datatype *types;
	char *derived;
	size_t count;
	int mpi_refused; /* MPI returned an error; otherwise this adapter did */
	char *text;      /* set by the caller: buffer for error texts */
	size_t room;
};

/* Builds all nodes and commits the root; 0, or -1 with the reason in text. Release always. */
int mpi_types_build(struct mpi_types *b, const uint64_t *words, size_t word_count);
void mpi_types_release(struct mpi_types *b);

/* MPI_DATATYPE_NULL if this MPI has no such type. */
MPI_Datatype mpi_types_predefined(enum dtconv_predefined which);

/* Write a sentence, or MPI's text for an error, to text; both return -1. */
int mpi_types_refuse(struct mpi_types *b, const char *text);
int mpi_types_complain(struct mpi_types *b, const char *what, int error);

/*
 * Call before MPI_Init: configures a single process without communication. The user's own
 * settings take precedence.
 */
void mpi_types_avoid_network(void);

/* "Open MPI v4.1.4", "MPICH 4.0.2". */
void mpi_types_version(char *text, size_t room);

#endif
