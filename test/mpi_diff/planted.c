/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults on purpose, linked into mpi_diff by check_planted: PLANT in the environment says
 * which. MPI's profiling interface puts them into the MPI, the linker's --wrap into ours.
 */
#include "config.h"

#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <dtconv/dtconv.h>

int __real_dtconv_pack(struct dtconv_type *type, size_t count, const void *buffer,
		       void *packed, size_t capacity, size_t *moved);
int __wrap_dtconv_pack(struct dtconv_type *type, size_t count, const void *buffer,
		       void *packed, size_t capacity, size_t *moved);

static bool planted(const char *name)
{
	const char *chosen = getenv("PLANT");

	return chosen && strcmp(chosen, name) == 0;
}

/* "ours": the last of more than 16 bytes is wrong. */
int __wrap_dtconv_pack(struct dtconv_type *type, size_t count, const void *buffer,
		       void *packed, size_t capacity, size_t *moved)
{
	int status = __real_dtconv_pack(type, count, buffer, packed, capacity, moved);

	if (planted("ours") && !status && *moved > 16)
		((unsigned char *)packed)[*moved - 1] ^= 1;
	return status;
}

/* "theirs": the same in the MPI. */
int MPI_Pack(const void *buffer, int count, MPI_Datatype type, void *packed, int bytes,
	     int *position, MPI_Comm communicator)
{
	int error = PMPI_Pack(buffer, count, type, packed, bytes, position, communicator);

	if (planted("theirs") && !error && *position > 16)
		((unsigned char *)packed)[*position - 1] ^= 1;
	return error;
}

/* "crash": it ends the process for more than 16 bytes. */
int MPI_Unpack(const void *packed, int bytes, int *position, void *buffer, int count,
	       MPI_Datatype type, MPI_Comm communicator)
{
	if (planted("crash") && bytes > 16)
		raise(SIGSEGV);
	return PMPI_Unpack(packed, bytes, position, buffer, count, type, communicator);
}

/* "gone": a fault that is on the list does not show. */
int MPI_Type_get_true_extent(MPI_Datatype type, MPI_Aint *true_lb, MPI_Aint *true_extent)
{
	int bytes = 0;
	int error = PMPI_Type_get_true_extent(type, true_lb, true_extent);

	if (planted("gone") && !error && !PMPI_Type_size(type, &bytes) && bytes == 0) {
		*true_lb = 0;
		*true_extent = 0;
	}
	return error;
}
