/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jobs of the MPI that a test is compiled with; MPIEXEC is its command.
 */
#include "config.h"

#include "launch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define MARK "DTCONV_TEST_JOB"

bool launch_is_job(void)
{
	return getenv(MARK) != NULL;
}

/* More processes than CPUs, also of root, each of which sleeps rather than spins where MPI has a choice. */
static void set_environment(void)
{
	static const char *const names[] = { MARK, "OMPI_ALLOW_RUN_AS_ROOT",
					     "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
					     "OMPI_MCA_rmaps_base_oversubscribe",
					     "OMPI_MCA_mpi_yield_when_idle" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		setenv(names[i], "1", 0);
	/* MPI libraries keep memory until the process ends, which is no leak of ours. */
	setenv("ASAN_OPTIONS", "detect_leaks=0", 0);
}

int launch(const char *program, const char *processes, const char *argument)
{
	int status = -1;

	fflush(NULL);
	set_environment();
	pid_t child = fork();
	if (!child) {
		execlp(MPIEXEC, MPIEXEC, "-n", processes, program, argument,
		       (char *)NULL);
		printf("SKIP: %s cannot be started, which starts several processes\n",
		       MPIEXEC);
		fflush(stdout);
		_exit(errno == ENOENT ? 77 : 1);
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		exit(77);
	if (status)
		fprintf(stderr, "a job of %s processes with '%s' fails\n", processes,
			argument ? argument : "");
	return status;
}
