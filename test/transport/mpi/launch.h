/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A test that starts itself as a job of several processes, so that it runs like any other.
 */
#ifndef TEST_TRANSPORT_MPI_LAUNCH_H
#define TEST_TRANSPORT_MPI_LAUNCH_H

#include <stdbool.h>

/* Whether this process is one of a job. */
bool launch_is_job(void);

/* A process of a job has passed. Call it last, behind MPI_Finalize. */
void launch_passed(void);

/*
 * Run a program as a job of so many processes with one argument; NULL: none. 0 if all of them have passed. Exits with
 * status 77 if there is no mpiexec.
 */
int launch(const char *program, const char *processes, const char *argument);

#endif
