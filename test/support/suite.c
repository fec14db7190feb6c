/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Check ends with 0 where CK_RUN_CASE names no case of the program, and has shown nothing then.
 */
#include "config.h"

#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int suite_run(Suite *suite)
{
	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_ENV);
	int run = srunner_ntests_run(runner);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	if (!run)
		printf("no test was run: CK_RUN_CASE, CK_RUN_SUITE or tags choose none of this program\n");
	return run && !failed ? EXIT_SUCCESS : EXIT_FAILURE;
}

bool suite_has_processes(void)
{
	const char *fork = getenv("CK_FORK");

	return !fork || strcmp(fork, "no") != 0;
}
