/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * external32 by the table of MPI 4.1 section 14.5.2, element by element: what the stream of a
 * specimen has to be. Knows nothing of how the library converts.
 */
#ifndef MPI_DIFF_EXTERNAL32_H
#define MPI_DIFF_EXTERNAL32_H

#include "mpi_diff/specimen.h"

/*
 * Puts values into the specimen's source that external32 can hold, reads the native stream off
 * them again, and answers the external one: `bytes` of it, to be freed. NULL if memory is
 * short. The elements must not overlap.
 */
unsigned char *external32_stream(struct specimen *specimen, size_t *bytes);

#endif
