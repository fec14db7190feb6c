/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of Check's interface that the tests use, for machines without Check: other
 * processors, other C libraries. ./configure --with-check=plain puts this folder before
 * Check's. A test knows nothing of it.
 */
#ifndef TEST_SUPPORT_PLAIN_CHECK_H
#define TEST_SUPPORT_PLAIN_CHECK_H

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct plain_suite Suite;
typedef struct plain_case TCase;
typedef struct plain_runner SRunner;

struct plain_test {
	const char *name;
	void (*function)(int _i);
};

enum print_output { CK_SILENT, CK_MINIMAL, CK_NORMAL, CK_VERBOSE, CK_ENV };

Suite *suite_create(const char *name);
TCase *tcase_create(const char *name);
void suite_add_tcase(Suite *suite, TCase *tcase);
void tcase_add_checked_fixture(TCase *tcase, void (*setup)(void), void (*teardown)(void));
void tcase_add_unchecked_fixture(TCase *tcase, void (*setup)(void), void (*teardown)(void));
void tcase_set_timeout(TCase *tcase, double seconds);
SRunner *srunner_create(Suite *suite);
void srunner_run_all(SRunner *runner, enum print_output output);
int srunner_ntests_run(SRunner *runner);
int srunner_ntests_failed(SRunner *runner);
void srunner_free(SRunner *runner);

#define tcase_add_test(tcase, test)                  plain_add(tcase, &(test), 0, 1)
#define tcase_add_loop_test(tcase, test, start, end) plain_add(tcase, &(test), start, end)
void plain_add(TCase *tcase, const struct plain_test *test, int start, int end);

#define START_TEST(test)                                                  \
	static void test##_function(int _i);                              \
	static const struct plain_test test = { #test, test##_function }; \
	static void test##_function(int _i __attribute__((unused)))
#define END_TEST

_Noreturn void plain_fail(const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#define ck_abort_msg(...)         plain_fail(__FILE__, __LINE__, __VA_ARGS__)
#define ck_assert_msg(truth, ...) ((truth) ? (void)0 : ck_abort_msg(__VA_ARGS__))
#define ck_assert(truth)          ck_assert_msg(truth, "%s", #truth)

#define PLAIN_COMPARE(type, format, a, relation, b)                                     \
	do {                                                                            \
		type a_ = (a);                                                          \
		type b_ = (b);                                                          \
		ck_assert_msg(a_ relation b_, "%s %s %s: %" format " and %" format, #a, \
			      #relation, #b, a_, b_);                                   \
	} while (0)

#define ck_assert_int_eq(a, b)    PLAIN_COMPARE(intmax_t, PRIdMAX, a, ==, b)
#define ck_assert_int_ne(a, b)    PLAIN_COMPARE(intmax_t, PRIdMAX, a, !=, b)
#define ck_assert_int_lt(a, b)    PLAIN_COMPARE(intmax_t, PRIdMAX, a, <, b)
#define ck_assert_int_le(a, b)    PLAIN_COMPARE(intmax_t, PRIdMAX, a, <=, b)
#define ck_assert_int_gt(a, b)    PLAIN_COMPARE(intmax_t, PRIdMAX, a, >, b)
#define ck_assert_int_ge(a, b)    PLAIN_COMPARE(intmax_t, PRIdMAX, a, >=, b)
#define ck_assert_uint_eq(a, b)   PLAIN_COMPARE(uintmax_t, PRIuMAX, a, ==, b)
#define ck_assert_uint_ne(a, b)   PLAIN_COMPARE(uintmax_t, PRIuMAX, a, !=, b)
#define ck_assert_uint_lt(a, b)   PLAIN_COMPARE(uintmax_t, PRIuMAX, a, <, b)
#define ck_assert_uint_le(a, b)   PLAIN_COMPARE(uintmax_t, PRIuMAX, a, <=, b)
#define ck_assert_uint_gt(a, b)   PLAIN_COMPARE(uintmax_t, PRIuMAX, a, >, b)
#define ck_assert_uint_ge(a, b)   PLAIN_COMPARE(uintmax_t, PRIuMAX, a, >=, b)
#define ck_assert_double_eq(a, b) PLAIN_COMPARE(double, "g", a, ==, b)
#define ck_assert_double_lt(a, b) PLAIN_COMPARE(double, "g", a, <, b)
#define ck_assert_ptr_eq(a, b)    PLAIN_COMPARE(const void *, "p", a, ==, b)
#define ck_assert_ptr_ne(a, b)    PLAIN_COMPARE(const void *, "p", a, !=, b)
#define ck_assert_ptr_null(a)     PLAIN_COMPARE(const void *, "p", a, ==, NULL)
#define ck_assert_ptr_nonnull(a)  PLAIN_COMPARE(const void *, "p", a, !=, NULL)

#define PLAIN_COMPARE_STRINGS(a, relation, b)                                           \
	do {                                                                            \
		const char *a_ = (a);                                                   \
		const char *b_ = (b);                                                   \
		ck_assert_msg(strcmp(a_, b_) relation 0, "%s %s %s: \"%s\" and \"%s\"", \
			      #a, #relation, #b, a_, b_);                               \
	} while (0)

#define ck_assert_str_eq(a, b) PLAIN_COMPARE_STRINGS(a, ==, b)
#define ck_assert_str_ne(a, b) PLAIN_COMPARE_STRINGS(a, !=, b)
#define ck_assert_mem_eq(a, b, bytes) \
	ck_assert_msg(memcmp(a, b, bytes) == 0, "%s and %s differ", #a, #b)

#endif
