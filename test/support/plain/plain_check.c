/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs tests as Check does: each in a process of its own, so that the others run whatever
 * happens to it, and with a time limit. Understands CK_FORK, CK_RUN_CASE and
 * CK_TIMEOUT_MULTIPLIER of Check's environment.
 */
#include "config.h"

#include "check.h"

#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_CASES    32
#define MOST_FIXTURES 4
#define MOST_TESTS    128

struct entry {
	const struct plain_test *test;
	int start, end;
};

struct fixture {
	void (*setup)(void);
	void (*teardown)(void);
};

struct plain_case {
	const char *name;
	struct fixture once; /* before the first test and after the last, in the program itself */
	struct fixture fixtures[MOST_FIXTURES];
	size_t fixture_count;
	double seconds;
	struct entry entries[MOST_TESTS];
	size_t count;
};

struct plain_suite {
	const char *name;
	TCase *cases[MOST_CASES];
	size_t count;
};

struct plain_runner {
	Suite *suite;
	int run, failed;
};

static void *zeroed(size_t bytes)
{
	void *memory = calloc(1, bytes);

	if (!memory)
		plain_fail(__FILE__, __LINE__, "no memory for the tests");
	return memory;
}

Suite *suite_create(const char *name)
{
	Suite *suite = zeroed(sizeof(*suite));

	suite->name = name;
	return suite;
}

TCase *tcase_create(const char *name)
{
	TCase *tcase = zeroed(sizeof(*tcase));

	tcase->name = name;
	tcase->seconds = 4;
	return tcase;
}

void suite_add_tcase(Suite *suite, TCase *tcase)
{
	if (suite->count == MOST_CASES)
		plain_fail(__FILE__, __LINE__, "more than %d cases", MOST_CASES);
	suite->cases[suite->count++] = tcase;
}

void tcase_add_checked_fixture(TCase *tcase, void (*setup)(void), void (*teardown)(void))
{
	if (tcase->fixture_count == MOST_FIXTURES)
		plain_fail(__FILE__, __LINE__, "more than %d fixtures", MOST_FIXTURES);
	tcase->fixtures[tcase->fixture_count++] = (struct fixture){ setup, teardown };
}

void tcase_add_unchecked_fixture(TCase *tcase, void (*setup)(void), void (*teardown)(void))
{
	if (tcase->once.setup || tcase->once.teardown)
		plain_fail(__FILE__, __LINE__, "more than one unchecked fixture");
	tcase->once = (struct fixture){ setup, teardown };
}

void tcase_set_timeout(TCase *tcase, double seconds)
{
	tcase->seconds = seconds;
}

void plain_add(TCase *tcase, const struct plain_test *test, int start, int end)
{
	if (tcase->count == MOST_TESTS)
		plain_fail(__FILE__, __LINE__, "more than %d tests", MOST_TESTS);
	tcase->entries[tcase->count++] = (struct entry){ test, start, end };
}

SRunner *srunner_create(Suite *suite)
{
	SRunner *runner = zeroed(sizeof(*runner));

	runner->suite = suite;
	return runner;
}

/* Without a process of its own a failure ends the program, as with Check. */
void plain_fail(const char *file, int line, const char *format, ...)
{
	va_list arguments;

	printf("%s:%d: ", file, line);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("\n");
	exit(EXIT_FAILURE);
}

static void run_here(const TCase *tcase, const struct entry *entry, int i)
{
	for (size_t f = 0; f < tcase->fixture_count; f++)
		if (tcase->fixtures[f].setup)
			tcase->fixtures[f].setup();
	entry->test->function(i);
	for (size_t f = tcase->fixture_count; f-- > 0;)
		if (tcase->fixtures[f].teardown)
			tcase->fixtures[f].teardown();
}

static double time_limit(const TCase *tcase)
{
	const char *multiplier = getenv("CK_TIMEOUT_MULTIPLIER");

	return tcase->seconds * (multiplier ? strtod(multiplier, NULL) : 1);
}

/* In a process of its own; answers whether it passed. */
static bool run_apart(const TCase *tcase, const struct entry *entry, int i)
{
	pid_t child;
	int status;

	fflush(NULL);
	child = fork();
	if (child < 0)
		plain_fail(__FILE__, __LINE__, "no process for a test");
	if (child == 0) {
		alarm((unsigned)time_limit(tcase) + 1);
		run_here(tcase, entry, i);
		exit(EXIT_SUCCESS);
	}
	if (waitpid(child, &status, 0) != child)
		plain_fail(__FILE__, __LINE__, "a test's process was lost");
	if (WIFSIGNALED(status))
		printf("signal %d (%s)\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
	return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
}

static void run_entry(SRunner *runner, const TCase *tcase, const struct entry *entry)
{
	const char *fork_wanted = getenv("CK_FORK");
	bool apart = !fork_wanted || strcmp(fork_wanted, "no") != 0;

	for (int i = entry->start; i < entry->end; i++) {
		bool passed = true;

		if (apart)
			passed = run_apart(tcase, entry, i);
		else
			run_here(tcase, entry, i);
		if (!passed)
			printf("FAILED: %s, %s, %s, %d\n", runner->suite->name,
			       tcase->name, entry->test->name, i);
		runner->run++;
		runner->failed += !passed;
	}
}

static void run_case(SRunner *runner, const TCase *tcase)
{
	if (tcase->once.setup)
		tcase->once.setup();
	for (size_t i = 0; i < tcase->count; i++)
		run_entry(runner, tcase, &tcase->entries[i]);
	if (tcase->once.teardown)
		tcase->once.teardown();
}

void srunner_run_all(SRunner *runner, enum print_output output)
{
	const char *wanted = getenv("CK_RUN_CASE");

	(void)output;
	for (size_t c = 0; c < runner->suite->count; c++) {
		const TCase *tcase = runner->suite->cases[c];

		if (!wanted || strcmp(wanted, tcase->name) == 0)
			run_case(runner, tcase);
	}
	printf("%s: %d tests, %d failed\n", runner->suite->name, runner->run,
	       runner->failed);
}

int srunner_ntests_run(SRunner *runner)
{
	return runner->run;
}

int srunner_ntests_failed(SRunner *runner)
{
	return runner->failed;
}

void srunner_free(SRunner *runner)
{
	for (size_t i = 0; i < runner->suite->count; i++)
		free(runner->suite->cases[i]);
	free(runner->suite);
	free(runner);
}
