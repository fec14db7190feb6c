/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of results: what is written comes back, whatever stands in it, and a file that ends
 * in the middle of a line is good up to there.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/harness/result.h"
#include "bench/harness/table.h"
#include "support/t.h"

static char path[] = "/tmp/test_results.XXXXXX";

static void set_up(void)
{
	strcpy(path, "/tmp/test_results.XXXXXX");
	int fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	close(fd);
}

static void tear_down(void)
{
	unlink(path);
}

static struct result sample(const char *layout, const char *op, const char *engine,
			    double ns)
{
	struct result r = { .bytes = 4096,
			    .count = 3,
			    .ns = ns,
			    .ns_p10 = ns - 1.5,
			    .ns_p90 = ns + 2.5,
			    .rounds = 7,
			    .check = "ok" };

	snprintf(r.layout, sizeof(r.layout), "%s", layout);
	snprintf(r.op, sizeof(r.op), "%s", op);
	snprintf(r.engine, sizeof(r.engine), "%s", engine);
	r.expr = strdup("vector(3, 1, 2, double)");
	return r;
}

static void append(const struct result *r, const char *raw)
{
	FILE *file = fopen(path, "a");

	ck_assert_ptr_nonnull(file);
	if (r)
		result_write(file, r);
	if (raw)
		fputs(raw, file);
	fclose(file);
}

START_TEST(results_come_back)
{
	struct result r = sample("a \"quoted\" \\ name", "unpack", "mpich", 1234.5);
	struct results rs = { 0 };
	const struct result *back;
	long length;

	snprintf(r.check, sizeof(r.check), "line\nbreak\tand \x01");
	snprintf(r.backend, sizeof(r.backend), "cuda_kernel");
	snprintf(r.kernel, sizeof(r.kernel), "general kernel");
	snprintf(r.reason, sizeof(r.reason), "no single table of blocks");
	append(&r, NULL);
	ck_assert_int_eq(results_read(&rs, path, &length), 0);
	ck_assert_uint_eq(rs.count, 1);
	back = &rs.list[0];
	ck_assert_str_eq(back->layout, r.layout);
	ck_assert_str_eq(back->op, r.op);
	ck_assert_str_eq(back->engine, r.engine);
	ck_assert_str_eq(back->check, r.check);
	ck_assert_str_eq(back->expr, r.expr);
	ck_assert_str_eq(back->backend, r.backend);
	ck_assert_str_eq(back->kernel, r.kernel);
	ck_assert_str_eq(back->reason, r.reason);
	ck_assert(back->ns == r.ns && back->ns_p10 == r.ns_p10 &&
		  back->ns_p90 == r.ns_p90);
	ck_assert(back->bytes == r.bytes && back->count == r.count &&
		  back->rounds == r.rounds);
	results_free(&rs);
	free(r.expr);
}
END_TEST

START_TEST(a_cut_line_is_left_out)
{
	struct result r = sample("whole", "pack", "dtconv", 10);
	struct results rs = { 0 };
	long whole, length;

	append(&r, NULL);
	FILE *file = fopen(path, "r");
	fseek(file, 0, SEEK_END);
	whole = ftell(file);
	fclose(file);
	append(NULL, "{\"layout\":\"cut\",\"op\":\"pack\",\"eng");
	ck_assert_int_eq(results_read(&rs, path, &length), 0);
	ck_assert_uint_eq(rs.count, 1);
	ck_assert_int_eq(length, whole);
	results_free(&rs);
	free(r.expr);
}
END_TEST

START_TEST(other_lines_are_passed_over)
{
	struct result r = sample("mine", "pack", "dtconv", 10);
	struct results rs = { 0 };
	long length;

	append(NULL, "{\"machine\":\"x\",\"engines\":[\"a\",\"b\"],\"absent\":{}}\n");
	append(NULL,
	       "\n[1,2]\n{}\n{\"layout\":\"a\"}\n{\"layout\":\"a\\u00\"}\nnonsense\n");
	append(NULL,
	       "{\"layout\":\"a\",\"op\":\"pack\",\"engine\":\"e\",\"check\":\"ok\"\n");
	append(&r, NULL);
	ck_assert_int_eq(results_read(&rs, path, &length), 0);
	ck_assert_uint_eq(rs.count, 1);
	ck_assert_ptr_nonnull(results_find(&rs, "mine", 4096, "pack", "dtconv"));
	ck_assert_ptr_null(results_find(&rs, "mine", 4096, "unpack", "dtconv"));
	ck_assert_ptr_null(results_find(&rs, "mine", 4097, "pack", "dtconv"));
	results_free(&rs);
	free(r.expr);
}
END_TEST

START_TEST(a_missing_file_is_an_error)
{
	struct results rs = { 0 };
	long length;

	unlink(path);
	ck_assert_int_eq(results_read(&rs, path, &length), -1);
}
END_TEST

static void add(struct results *rs, struct result r)
{
	ck_assert_int_eq(results_add(rs, &r), 0);
}

/* Ratios are of speeds; the best peer is the fastest that is right. */
START_TEST(rows_find_the_best_peer)
{
	struct result wrong = sample("l", "pack", "fast_but_wrong", 1);
	struct results rs = { 0 };

	wrong.check[0] = 'x'; /* any complaint */
	wrong.ns = 0;
	add(&rs, sample("l", "pack", "dtconv", 100));
	add(&rs, sample("l", "pack", "memcpy", 50));
	add(&rs, sample("l", "pack", "hand", 80));
	add(&rs, sample("l", "pack", "openmpi", 300));
	add(&rs, sample("l", "pack", "mpich", 200));
	add(&rs, wrong);
	struct row row = row_collect(&rs, &rs.list[0], "pack");
	ck_assert_str_eq(row.peer->engine, "mpich");
	ck_assert(row_ratio(row.dtconv, row.peer) == 2.0);
	ck_assert(row_ratio(row.dtconv, row.memcpy_) == 0.5);
	/* Not equal: some processors keep more digits of a result than of a constant. */
	ck_assert(fabs(row_ratio(row.dtconv, row.hand) - 0.8) < 1e-12);
	ck_assert(row_ratio(row.dtconv, &rs.list[5]) == 0);
	ck_assert_uint_eq(summary_failures(&rs), 1);
	results_free(&rs);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bench results");
	TCase *tcase = tcase_create("results");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, results_come_back);
	tcase_add_test(tcase, a_cut_line_is_left_out);
	tcase_add_test(tcase, other_lines_are_passed_over);
	tcase_add_test(tcase, a_missing_file_is_an_error);
	tcase_add_test(tcase, rows_find_the_best_peer);
	suite_add_tcase(suite, tcase);
	return t_run(suite);
}
