/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The version that the headers state, the one that the loaded library states, and the one that the
 * build was configured with are the same, as text and as numbers.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include <dtconv/version.h>

#include "support/marks.h"
#include "support/suite.h"

START_TEST(library_matches_headers)
{
	ck_assert_str_eq(dtconv_version(), DTCONV_VERSION_STRING);
	ck_assert_str_eq(dtconv_version(), PACKAGE_VERSION);
}
END_TEST

START_TEST(numbers_match_text)
{
	char text[64];

	snprintf(text, sizeof(text), "%d.%d.%d", DTCONV_VERSION_MAJOR,
		 DTCONV_VERSION_MINOR, DTCONV_VERSION_PATCH);
	ck_assert_str_eq(text, DTCONV_VERSION_STRING);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("version");
	TCase *tcase = tcase_create("version");

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, library_matches_headers);
	tcase_add_test(tcase, numbers_match_text);
	return suite_run(suite);
}
