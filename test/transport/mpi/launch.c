/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jobs of the MPI that a test is compiled with; MPIEXEC is its command.
 */
#include "config.h"

#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Names the file of a job, a byte of which stands for each process that has passed. */
#define MARK "DTCONV_TEST_JOB"

bool launch_is_job(void)
{
	return getenv(MARK) != NULL;
}

/* More processes than CPUs, also of root, each of which sleeps rather than spins where MPI has a choice. */
static void set_environment(void)
{
	static const char *const names[] = { "OMPI_ALLOW_RUN_AS_ROOT",
					     "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
					     "OMPI_MCA_rmaps_base_oversubscribe",
					     "OMPI_MCA_mpi_yield_when_idle" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		setenv(names[i], "1", 0);
	/* MPI libraries keep memory until the process ends, which is no leak of ours. */
	setenv("ASAN_OPTIONS", "detect_leaks=0", 0);
}

void launch_passed(void)
{
	const char *path = getenv(MARK);
	const int fd = path ? open(path, O_WRONLY | O_APPEND) : -1;

	if (fd < 0 || write(fd, ".", 1) != 1)
		fprintf(stderr, "cannot note that a process has passed\n");
	if (fd >= 0)
		close(fd);
}

/* Returns the status of mpiexec. */
static int run_job(const char *program, const char *processes, const char *argument)
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
	return status;
}

/*
 * mpiexec of Open MPI 4 sometimes takes a process that has ended well for one that has not called MPI_Finalize
 * (open-mpi/ompi issue 7833), so the processes are asked, not mpiexec.
 */
int launch(const char *program, const char *processes, const char *argument)
{
	char path[] = "/tmp/dtconv-job-XXXXXX";
	const int fd = mkstemp(path);
	struct stat passed;

	if (fd < 0 || setenv(MARK, path, 1)) {
		fprintf(stderr, "cannot create %s\n", path);
		return -1;
	}
	const int status = run_job(program, processes, argument);
	const int failed = fstat(fd, &passed) || passed.st_size != atoi(processes);

	close(fd);
	unlink(path);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		exit(77);
	if (failed)
		fprintf(stderr, "a job of %s processes with '%s' fails (status %d)\n",
			processes, argument ? argument : "", status);
	else if (status)
		fprintf(stderr,
			"all %s processes have passed, in spite of status %d of %s\n",
			processes, status, MPIEXEC);
	return failed;
}
