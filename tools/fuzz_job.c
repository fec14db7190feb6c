/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many cases in a child process, so that a crash or an endless loop ends the child and not the
 * report about it. Parent and child share one page.
 */
#include "config.h"

#include "fuzz.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define POLL_SECONDS 0.02

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void pause_for(double seconds)
{
	struct timespec time = { .tv_nsec = (long)(1e9 * seconds) };

	nanosleep(&time, NULL);
}

/* In the child: case after case until one fails or the job is done. */
static int run_cases(const struct fuzz_job *job, struct fuzz_report *report)
{
	double start = now();

	for (;;) {
		if (job->count && report->cases == job->count)
			return 0;
		if (job->seconds > 0 && now() - start >= job->seconds)
			return 0;
		report->current.seed = job->seed + report->cases;
		if (fuzz_case_run(job->context, job->type, &report->current))
			return 1;
		__atomic_store_n(&report->cases, report->cases + 1, __ATOMIC_RELAXED);
	}
}

/* Waits for the child; ends it if one case takes longer than the job's patience. */
static int watch(const struct fuzz_job *job, struct fuzz_report *report, pid_t child)
{
	double start = now(), moved = start;
	uint64_t cases = 0;
	int status;

	while (!waitpid(child, &status, WNOHANG)) {
		uint64_t latest = __atomic_load_n(&report->cases, __ATOMIC_RELAXED);

		if (latest != cases)
			moved = now();
		cases = latest;
		if (now() - moved > job->patience) {
			kill(child, SIGKILL);
			waitpid(child, &status, 0);
			snprintf(report->current.reason, sizeof(report->current.reason),
				 "the case did not end within %.0f s", job->patience);
			return 1;
		}
		if (job->progress)
			job->progress(report, now() - start);
		pause_for(POLL_SECONDS);
	}
	if (WIFSIGNALED(status)) {
		snprintf(report->current.reason, sizeof(report->current.reason),
			 "the case killed the process with signal %d (%s)",
			 WTERMSIG(status), strsignal(WTERMSIG(status)));
		return 1;
	}
	return WEXITSTATUS(status);
}

int fuzz_job_run(const struct fuzz_job *job, struct fuzz_report *report)
{
	struct fuzz_report *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child;
	int result = -1;

	if (shared == MAP_FAILED)
		return -1;
	fflush(NULL);
	child = fork();
	if (child == 0)
		_exit(run_cases(job, shared));
	if (child > 0)
		result = watch(job, shared, child);
	*report = *shared;
	munmap(shared, sizeof(*shared));
	return result;
}
