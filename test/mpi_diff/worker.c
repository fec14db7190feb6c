/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Children and the memory they share with the parent. A child that has found something is
 * given up, because an MPI that is wrong may have written anywhere; the next one goes on with
 * the next check.
 */
#include "config.h"

#include "mpi_diff/worker.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A check that takes longer hangs; a child that has done so many trials is replaced. */
#define CHECK_SECONDS    20
#define TRIALS_PER_CHILD 400

/* Shared with the child. */
struct progress {
	uint64_t number;  /* of the trial at hand */
	enum check check; /* at hand; CHECK_COUNT: all done */
	bool found;       /* finding is filled in */
	bool finished;    /* the child has done its share */
	struct tally tally;
	struct finding finding;
};

static bool verbose;

void worker_set_verbose(bool wanted)
{
	verbose = wanted;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static struct progress *share(void)
{
	void *memory = mmap(NULL, sizeof(struct progress), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/* ---- in the child -------------------------------------------------------------------- */

/* MPIs catch signals to print a trace; here the parent reports. */
static void settle(void)
{
	static const int deadly[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM };
	int nowhere;

	for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
		signal(deadly[i], SIG_DFL);
	if (verbose)
		return;
	nowhere = open("/dev/null", O_WRONLY);
	if (nowhere >= 0) {
		dup2(nowhere, STDOUT_FILENO);
		dup2(nowhere, STDERR_FILENO);
	}
}

static enum verdict judge_making(enum making making, const struct specimen *s,
				 struct finding *finding)
{
	if (making == MAKING_REFUSED)
		return blame(finding, VERDICT_THEIRS, "ours makes the type, theirs: %s",
			     s->refusal);
	return making == MAKING_DONE ? VERDICT_AGREED : VERDICT_UNASKED;
}

/* One check; true if the sides agree or were not asked. */
static bool run_check(struct specimen *s, enum check check, struct progress *p)
{
	enum verdict verdict;

	p->check = check;
	p->finding = (struct finding){ .check = check };
	alarm(CHECK_SECONDS);
	verdict = checks[check].run(s, &p->finding);
	p->tally.verdicts[check][verdict]++;
	if (verdict <= VERDICT_UNASKED)
		return true;
	p->finding.verdict = verdict;
	p->found = true;
	return false;
}

/* Makes the specimen; true if it can be checked. */
static bool make(struct specimen *s, struct dtconv_context *context,
		 const struct trial *trial, struct progress *p, bool counted)
{
	enum making making;
	enum verdict verdict;

	p->finding = (struct finding){ .check = CHECK_BUILD };
	alarm(CHECK_SECONDS);
	making = specimen_open(s, context, trial->type, trial->count, trial->seed);
	verdict = judge_making(making, s, &p->finding);
	if (counted) {
		p->tally.cases++;
		p->tally.absent += making == MAKING_ABSENT;
		p->tally.verdicts[CHECK_BUILD][verdict]++;
	}
	if (verdict == VERDICT_THEIRS) {
		p->finding.verdict = verdict;
		p->found = true;
	}
	return making == MAKING_DONE;
}

/* All checks of a trial from p->check on; false if the child is to be given up. */
static bool run_trial(struct dtconv_context *context, const struct trial *trial,
		      struct progress *p)
{
	struct specimen s;
	enum check first = p->check;
	bool good;

	p->check = CHECK_BUILD;
	good = make(&s, context, trial, p, first == CHECK_BUILD);
	for (enum check c = first == CHECK_BUILD ? CHECK_BOUNDS : first;
	     good && c < CHECK_COUNT; c++)
		good = run_check(&s, c, p);
	specimen_close(&s);
	return !p->found;
}

static void run_share(const struct work *work, struct progress *p, double deadline)
{
	for (unsigned done = 0; done < TRIALS_PER_CHILD; done++) {
		struct trial trial;
		bool go_on;

		if (p->number - work->first == work->count ||
		    (deadline > 0 && now() >= deadline) ||
		    !work->trial_of(work->context, p->number, &trial)) {
			p->finished = true;
			return;
		}
		go_on = run_trial(work->context, &trial, p);
		dtconv_type_unref(trial.type);
		if (!go_on)
			return;
		p->number++;
		p->check = CHECK_BUILD;
	}
}

/* ---- in the parent ------------------------------------------------------------------- */

/* What became of a child that did not say so itself; false if it ended well. */
static bool read_death(int status, struct progress *p)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return false;
	p->found = true;
	p->finding = (struct finding){ .check = p->check, .verdict = VERDICT_THEIRS };
	p->tally.verdicts[p->check][VERDICT_THEIRS]++;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		blame(&p->finding, VERDICT_THEIRS, "did not end within %d s",
		      CHECK_SECONDS);
	else if (WIFSIGNALED(status))
		blame(&p->finding, VERDICT_THEIRS, "ended with signal %d (%s)",
		      WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		blame(&p->finding, VERDICT_THEIRS, "ended with exit status %d",
		      WEXITSTATUS(status));
	return true;
}

static int wait_for(pid_t child, struct progress *p)
{
	int status = 0;

	if (child < 0 || waitpid(child, &status, 0) != child)
		return -1;
	if (!p->found)
		read_death(status, p);
	return 0;
}

/* A type that cannot be made, or whose bounds differ, moves other bytes: its case is over. */
static void step_over(struct progress *p)
{
	bool over = p->finding.check <= CHECK_BOUNDS ||
		    (unsigned)p->finding.check + 1 == CHECK_COUNT;

	p->number += over;
	p->check = over ? CHECK_BUILD : p->finding.check + 1;
}

static void report(const struct work *work, const struct progress *p)
{
	struct trial trial;

	if (!work->trial_of(work->context, p->number, &trial))
		return;
	work->found(&trial, &p->finding, work->arg);
	dtconv_type_unref(trial.type);
}

int worker_run(const struct work *work, struct tally *tally)
{
	struct progress *p = share();
	double deadline = work->seconds > 0 ? now() + work->seconds : 0;
	int result = 0;

	if (!p)
		return -1;
	p->number = work->first;
	while (!result && !p->finished) {
		pid_t child;

		fflush(NULL);
		p->found = false;
		child = fork();
		if (child == 0) {
			settle();
			run_share(work, p, deadline);
			_exit(0);
		}
		result = wait_for(child, p);
		if (!result && p->found) {
			report(work, p);
			step_over(p);
		}
	}
	*tally = p->tally;
	munmap(p, sizeof(*p));
	return result;
}

static void probe(struct dtconv_context *context, const struct trial *trial,
		  enum check check, struct progress *p)
{
	struct specimen s;

	p->check = CHECK_BUILD;
	if (make(&s, context, trial, p, false) && check != CHECK_BUILD)
		run_check(&s, check, p);
	specimen_close(&s);
}

enum verdict worker_probe(struct dtconv_context *context, const struct trial *trial,
			  enum check check, struct finding *finding)
{
	struct progress *p = share();
	enum verdict verdict = VERDICT_UNASKED;
	pid_t child;

	if (!p)
		return VERDICT_UNASKED;
	fflush(NULL);
	child = fork();
	if (child == 0) {
		settle();
		probe(context, trial, check, p);
		_exit(0);
	}
	if (!wait_for(child, p))
		verdict = p->found ? p->finding.verdict : VERDICT_AGREED;
	if (p->found && p->finding.check != check)
		verdict = VERDICT_UNASKED;
	*finding = p->finding;
	munmap(p, sizeof(*p));
	return verdict;
}
