/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contexts: options, log, error texts, counters, and what a context does about types that
 * outlive it.
 */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dtconv/dtconv.h>

#include "support/allocators.h"
#include "support/fixture.h"
#include "support/marks.h"

/* ---- a log that remembers ---------------------------------------------------------------- */

struct record {
	size_t lines;
	enum dtconv_log_level level;
	int line;
	char file[64];
	char text[400];
};

static void remember(void *arg, enum dtconv_log_level level, const char *file, int line,
		     const char *text)
{
	struct record *record = arg;

	record->lines++;
	record->level = level;
	record->line = line;
	snprintf(record->file, sizeof(record->file), "%s", file);
	snprintf(record->text, sizeof(record->text), "%s", text);
}

static struct dtconv_context *create(struct dtconv_context_params *params)
{
	struct dtconv_context *context = NULL;

	params->struct_size = sizeof(*params);
	fixture_ok(dtconv_context_create(params, &context));
	ck_assert_ptr_nonnull(context);
	return context;
}

static void fail_once(struct dtconv_context *context)
{
	struct dtconv_type *byte = dtconv_type_predefined(context, DTCONV_BYTE), *type;

	fixture_status(dtconv_type_create_resized(byte, PTRDIFF_MAX, 1, &type),
		       DTCONV_ERR_OVERFLOW);
}

/* ---- queries ----------------------------------------------------------------------------- */

START_TEST(a_context_answers_what_its_info_says)
{
	struct dtconv_context_params params = { .threads = 3 };
	struct dtconv_context *context = create(&params);
	struct dtconv_context_attr attr = { .struct_size = sizeof(attr) };
	char line[200];

	fixture_ok(dtconv_context_query(context, &attr));
	ck_assert_uint_eq(attr.struct_size, sizeof(attr));
	ck_assert_uint_eq(attr.threads, 3);
	snprintf(line, sizeof(line), "\ncompiler: %s\narchitecture: %s\nkernels: %s (of ",
		 attr.compiler, attr.processor, attr.kernels);
	ck_assert_msg(strstr(fixture_info(context), line) != NULL, "no '%s' in: %s", line,
		      fixture_info(context));
	ck_assert_msg(strstr(attr.kernel_sets, attr.kernels) != NULL, "%s not in %s",
		      attr.kernels, attr.kernel_sets);
	ck_assert_int_eq(strncmp(attr.kernel_sets, "generic", 7), 0);
	ck_assert_int_eq(attr.devices == 0, attr.no_devices != NULL);
	dtconv_context_destroy(context);
}
END_TEST

START_TEST(a_promise_of_host_memory_leaves_no_device)
{
	struct dtconv_context_params params = { .flags = DTCONV_CONTEXT_HOST_MEMORY };
	struct dtconv_context *context = create(&params);
	struct dtconv_context_attr attr = { .struct_size = sizeof(attr) };

	fixture_ok(dtconv_context_query(context, &attr));
	ck_assert_uint_eq(attr.devices, 0);
	ck_assert_str_eq(attr.no_devices,
			 "not searched for, because DTCONV_CONTEXT_HOST_MEMORY is set");
	dtconv_context_destroy(context);
}
END_TEST

/* ---- options ------------------------------------------------------------------------------- */

START_TEST(everything_has_a_default)
{
	struct dtconv_context *context = NULL;

	fixture_ok(dtconv_context_create(NULL, &context));
	dtconv_context_destroy(context);
	dtconv_context_destroy(NULL);
}
END_TEST

START_TEST(wrong_options_are_refused_with_a_sentence)
{
	static const struct {
		struct dtconv_context_params params;
		const char *sentence;
	} wrong[] = {
		{ { .flags = 1u << 31 }, "params.flags has unknown bits: 0x80000000" },
		{ { .flags = DTCONV_CONTEXT_RESIDENT | DTCONV_CONTEXT_DEFAULT_STREAM },
		  "params.flags has DTCONV_CONTEXT_RESIDENT and "
		  "DTCONV_CONTEXT_DEFAULT_STREAM, but no stream orders resident jobs" },
		{ { .log_level = (enum dtconv_log_level)6 },
		  "params.log_level is 6, not "
		  "a value of enum "
		  "dtconv_log_level" },
		{ { .padding = (enum dtconv_padding)3 },
		  "params.padding is 3, not a "
		  "value of enum dtconv_padding" },
	};
	struct dtconv_context_params params = wrong[_i].params;
	struct dtconv_context *context = NULL;
	struct record record = { 0 };

	params.struct_size = sizeof(params);
	params.log = remember;
	params.log_arg = &record;
	fixture_status(dtconv_context_create(&params, &context), DTCONV_ERR_INVAL);
	ck_assert_ptr_null(context);
	ck_assert_uint_eq(record.lines, 1);
	ck_assert_ptr_nonnull(strstr(record.text, wrong[_i].sentence));
}
END_TEST

static void *no_memory(void *arg, size_t bytes)
{
	size_t *left = arg;

	return (*left)-- > 0 ? malloc(bytes) : NULL;
}

static void give_back(void *arg, void *memory)
{
	(void)arg;
	free(memory);
}

START_TEST(half_an_allocator_is_refused)
{
	struct dtconv_context_params params = { .struct_size = sizeof(params),
						.allocator = { .alloc = no_memory } };
	struct dtconv_context *context = NULL;

	fixture_status(dtconv_context_create(&params, &context), DTCONV_ERR_INVAL);
	params.struct_size = 0;
	fixture_status(dtconv_context_create(&params, &context), DTCONV_ERR_INVAL);
	ck_assert_ptr_null(context);
}
END_TEST

/* Callers compiled against a shorter struct get the defaults for what they do not know. */
START_TEST(a_shorter_struct_leaves_the_rest_at_its_default)
{
	struct dtconv_context_params params = { .struct_size = offsetof(struct dtconv_context_params,
									flags),
						.flags = 1u << 31 };
	struct dtconv_context *context = NULL;

	fixture_ok(dtconv_context_create(&params, &context));
	dtconv_context_destroy(context);
}
END_TEST

START_TEST(memory_may_run_out_at_any_allocation)
{
	size_t needed = 0;
	int status = DTCONV_ERR_NOMEM;

	for (; status; needed++) {
		size_t left = needed;
		struct dtconv_context_params params = {
			.struct_size = sizeof(params),
			.allocator = { no_memory, give_back, &left },
			.threads = 3
		};
		struct dtconv_context *context = NULL;

		status = dtconv_context_create(&params, &context);
		ck_assert(status == 0 || status == DTCONV_ERR_NOMEM);
		ck_assert_int_eq(status == 0, context != NULL);
		dtconv_context_destroy(context);
		ck_assert_uint_lt(needed, 100000);
	}
	ck_assert_uint_gt(needed, 3);
}
END_TEST

/* Runtimes create contexts often: predefined types are one block and share their layouts. */
START_TEST(a_context_takes_few_allocations)
{
	struct block_count count = { 0 };
	struct dtconv_context_params params = { .allocator =
							allocator_of_blocks(&count) };
	struct dtconv_context *context = create(&params);

	ck_assert_uint_le(atomic_load(&count.calls), 16);
	dtconv_context_destroy(context);
	ck_assert_uint_eq(atomic_load(&count.live), 0);
}
END_TEST

/* ---- log ----------------------------------------------------------------------------------- */

START_TEST(errors_are_logged_with_their_source)
{
	struct record record = { 0 };
	struct dtconv_context_params params = { .log = remember,
						.log_arg = &record,
						.log_level = DTCONV_LOG_ERROR };
	struct dtconv_context *context = create(&params);

	fail_once(context);
	ck_assert_uint_eq(record.lines, 1);
	ck_assert_int_eq(record.level, DTCONV_LOG_ERROR);
	ck_assert_str_eq(record.file, "src/datatype/build_regular.c");
	ck_assert_int_gt(record.line, 0);
	ck_assert_ptr_nonnull(strstr(record.text, "dtconv_type_create_resized: lb (argument 2)"));
	dtconv_context_destroy(context);
}
END_TEST

START_TEST(a_silent_context_logs_nothing)
{
	struct record record = { 0 };
	struct dtconv_context_params params = { .log = remember, .log_arg = &record };
	struct dtconv_context *context = create(&params);

	fail_once(context);
	ck_assert_uint_eq(record.lines, 0);
	dtconv_context_destroy(context);
}
END_TEST

START_TEST(the_environment_sets_the_level)
{
	struct record record = { 0 };
	struct dtconv_context_params params = { .log = remember, .log_arg = &record };

	setenv("DTCONV_LOG", "error", 1);
	struct dtconv_context *context = create(&params);
	fail_once(context);
	ck_assert_uint_eq(record.lines, 1);
	dtconv_context_destroy(context);
}
END_TEST

START_TEST(a_level_that_is_none_warns_and_says_where_it_came_from)
{
	struct record record = { 0 };
	struct dtconv_context_params params = { .log = remember, .log_arg = &record };

	setenv("DTCONV_LOG", "loud", 1);
	struct dtconv_context *context = create(&params);
	ck_assert_uint_eq(record.lines, 1);
	ck_assert_int_eq(record.level, DTCONV_LOG_WARN);
	ck_assert_ptr_nonnull(strstr(record.text, "environment variable DTCONV_LOG is 'loud'"));
	dtconv_context_destroy(context);
}
END_TEST

/* What a context says of its kernels: the name in use, and all there are. */
static void format_kernels(struct dtconv_context *context, char line[200])
{
	const char *start = strstr(fixture_info(context), "kernels: ");

	ck_assert_ptr_nonnull(start);
	snprintf(line, 200, "%.*s", (int)strcspn(start, "\n"), start);
}

START_TEST(the_environment_chooses_the_kernels)
{
	struct record record = { 0 };
	struct dtconv_context_params params = { .log = remember,
						.log_arg = &record,
						.log_level = DTCONV_LOG_WARN };
	char line[200];

	setenv("DTCONV_CPU", "generic", 1);
	struct dtconv_context *context = create(&params);
	format_kernels(context, line);
	ck_assert_msg(strncmp(line, "kernels: generic (of generic", 28) == 0, "%s", line);
	ck_assert_uint_eq(record.lines, 0);
	dtconv_context_destroy(context);
}
END_TEST

START_TEST(kernels_that_are_none_warn_and_leave_the_best)
{
	struct record record = { 0 };
	struct dtconv_context_params params = { .log = remember,
						.log_arg = &record,
						.log_level = DTCONV_LOG_WARN };
	char best[200], line[200];

	struct dtconv_context *context = create(&params);
	format_kernels(context, best);
	dtconv_context_destroy(context);
	ck_assert_uint_eq(record.lines, 0);
	setenv("DTCONV_CPU", "mmx", 1);
	context = create(&params);
	format_kernels(context, line);
	ck_assert_str_eq(line, best);
	ck_assert_uint_eq(record.lines, 1);
	ck_assert_int_eq(record.level, DTCONV_LOG_WARN);
	ck_assert_str_eq(record.text,
			 "environment variable DTCONV_CPU is 'mmx', not a kernel set of "
			 "this build that this CPU supports; 'dtconv info' lists them");
	dtconv_context_destroy(context);
}
END_TEST

START_TEST(commits_of_derived_types_are_logged_for_debugging)
{
	struct record record = { 0 };
	struct dtconv_context_params params = { .log = remember,
						.log_arg = &record,
						.log_level = DTCONV_LOG_DEBUG };
	struct dtconv_context *context = create(&params);
	struct dtconv_type *type;

	/* The predefined types are committed with the context, and say nothing. */
	ck_assert_uint_eq(record.lines, 0);
	fixture_ok(dtconv_type_commit(dtconv_type_predefined(context, DTCONV_INT)));
	ck_assert_uint_eq(record.lines, 0);
	fixture_ok(dtconv_type_create_vector(
		3, 1, 2, dtconv_type_predefined(context, DTCONV_INT), &type));
	fixture_ok(dtconv_type_commit(type));
	ck_assert_uint_eq(record.lines, 1);
	ck_assert_ptr_nonnull(strstr(record.text, "committed a type of 12 bytes"));
	dtconv_type_unref(type);
	dtconv_context_destroy(context);
}
END_TEST

/* ---- error texts --------------------------------------------------------------------------- */

START_TEST(the_text_is_cut_to_the_room_given)
{
	struct dtconv_context_params params = { 0 };
	struct dtconv_context *context = create(&params);
	char text[8] = "unasked";

	ck_assert_uint_eq(dtconv_context_error(context, text, sizeof(text)), 0);
	ck_assert_str_eq(text, "");
	fail_once(context);
	size_t length = dtconv_context_error(context, text, sizeof(text));
	ck_assert_uint_gt(length, sizeof(text));
	ck_assert_str_eq(text, "dtconv_");
	ck_assert_uint_eq(dtconv_context_error(context, NULL, 0), length);
	dtconv_context_destroy(context);
}
END_TEST

static void *fail_in_thread(void *context)
{
	fail_once(context);
	return NULL;
}

/* Contexts remember 64 threads: the 65th failing one displaces the oldest, nothing more. */
START_TEST(more_failing_threads_than_slots_displace_the_oldest)
{
	struct dtconv_context_params params = { 0 };
	struct dtconv_context *context = create(&params);
	pthread_t threads[64];

	fail_once(context);
	ck_assert_uint_gt(dtconv_context_error(context, NULL, 0), 0);
	for (size_t i = 0; i < 64; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, fail_in_thread, context), 0);
	for (size_t i = 0; i < 64; i++)
		pthread_join(threads[i], NULL);
	fail_once(context);
	ck_assert_uint_gt(dtconv_context_error(context, NULL, 0), 0);
	dtconv_context_destroy(context);
}
END_TEST

START_TEST(every_status_has_words)
{
	for (int status = DTCONV_ERR_LIMIT; status <= DTCONV_INPROGRESS; status++)
		ck_assert_str_ne(dtconv_strerror(status), "unknown status");
	ck_assert_str_eq(dtconv_strerror(DTCONV_ERR_LIMIT - 1), "unknown status");
	ck_assert_str_eq(dtconv_strerror(2), "unknown status");
}
END_TEST

/* ---- counters and life --------------------------------------------------------------------- */

START_TEST(counters_count_when_asked)
{
	struct dtconv_context_params params = { .flags = DTCONV_CONTEXT_COUNTERS };
	struct dtconv_context *context = create(&params);
	struct dtconv_counters now = { .struct_size = sizeof(now) };
	struct dtconv_type *type;
	char data[8] = "", packed[8];

	dtconv_context_query_counters(context, &now);
	ck_assert_uint_eq(now.types_created + now.types_live + now.types_committed, 0);
	dtconv_type_create_contiguous(2, dtconv_type_predefined(context, DTCONV_INT), &type);
	dtconv_type_commit(type);
	dtconv_pack(type, 1, data, packed, 8, NULL);
	fail_once(context);
	dtconv_context_query_counters(context, &now);
	ck_assert_uint_eq(now.types_created, 1);
	ck_assert_uint_eq(now.types_committed, 1);
	ck_assert_uint_eq(now.types_live, 1);
	ck_assert_uint_eq(now.pack_calls, 1);
	ck_assert_uint_eq(now.pack_bytes, 8);
	ck_assert_uint_eq(now.errors, 1);
	dtconv_type_unref(type);
	dtconv_context_query_counters(context, &now);
	ck_assert_uint_eq(now.types_live, 0);
	dtconv_context_destroy(context);
}
END_TEST

START_TEST(counters_stay_zero_when_not_asked)
{
	struct dtconv_context_params params = { 0 };
	struct dtconv_context *context = create(&params);
	struct dtconv_counters now = { .struct_size = sizeof(now), .errors = 7 };

	fail_once(context);
	fixture_ok(dtconv_context_query_counters(context, &now));
	ck_assert_uint_eq(now.errors, 0);
	now.struct_size = 0;
	fixture_status(dtconv_context_query_counters(context, &now), DTCONV_ERR_INVAL);
	dtconv_context_destroy(context);
}
END_TEST

START_TEST(backends_are_counted_by_name)
{
	struct dtconv_context_params params = { .flags = DTCONV_CONTEXT_COUNTERS };
	struct dtconv_context *context = create(&params);
	struct dtconv_backend_counters now = { .struct_size = sizeof(now) };
	char data[8] = "", packed[8];

	for (int i = 0; i < 3; i++)
		dtconv_pack(dtconv_type_predefined(context, DTCONV_DOUBLE), 1, data, packed, 8,
			    NULL);
	fixture_ok(dtconv_context_query_backend(context, "host", &now));
	ck_assert_uint_eq(now.jobs, 3);
	ck_assert_uint_eq(now.bytes, 24);
	fixture_status(dtconv_context_query_backend(context, "abacus", &now),
		       DTCONV_ERR_UNSUPPORTED);
	fixture_status(dtconv_context_query_backend(context, NULL, &now),
		       DTCONV_ERR_INVAL);
	now.struct_size = 0;
	fixture_status(dtconv_context_query_backend(context, "host", &now),
		       DTCONV_ERR_INVAL);
	dtconv_context_destroy(context);
}
END_TEST

/* Log lines that begin with "stats: ". */
static void count_stats(void *arg, enum dtconv_log_level level, const char *file, int line,
			const char *text)
{
	size_t *lines = arg;

	(void)level, (void)file, (void)line;
	*lines += !strncmp(text, "stats: ", 7);
}

START_TEST(what_was_counted_is_told_at_the_end_when_the_environment_asks)
{
	static const struct {
		const char *value;
		size_t lines; /* calls, bytes, live types none; and the host */
	} cases[] = { { "1", 3 }, { "0", 0 }, { "", 0 }, { "yes", 0 } };
	char data[8] = "", packed[8];
	size_t lines = 0;
	struct dtconv_context_params params = { .log = count_stats, .log_arg = &lines };

	setenv("DTCONV_STATS", cases[_i].value, 1);
	struct dtconv_context *context = create(&params);
	unsetenv("DTCONV_STATS");
	dtconv_pack(dtconv_type_predefined(context, DTCONV_DOUBLE), 1, data, packed, 8, NULL);
	ck_assert_uint_eq(lines, 0);
	dtconv_context_destroy(context);
	ck_assert_uint_eq(lines, cases[_i].lines);
}
END_TEST

START_TEST(a_context_with_live_types_is_reported_and_kept)
{
	struct record record = { 0 };
	struct dtconv_context_params params = { .log = remember,
						.log_arg = &record,
						.log_level = DTCONV_LOG_ERROR };
	struct dtconv_context *context = create(&params);
	struct dtconv_type *type;

	dtconv_type_create_contiguous(2, dtconv_type_predefined(context, DTCONV_INT), &type);
	dtconv_context_destroy(context);
	ck_assert_uint_eq(record.lines, 1);
	ck_assert_ptr_nonnull(strstr(record.text, "1 types of the context are still referenced"));
	dtconv_type_unref(type); /* nothing dangles */
	dtconv_context_destroy(context);
	ck_assert_uint_eq(record.lines, 1);
}
END_TEST

START_TEST(two_contexts_share_nothing)
{
	struct dtconv_context_params params = { 0 };
	struct dtconv_context *one = create(&params), *other = create(&params);

	fail_once(one);
	ck_assert_uint_gt(dtconv_context_error(one, NULL, 0), 0);
	ck_assert_uint_eq(dtconv_context_error(other, NULL, 0), 0);
	ck_assert_ptr_ne(dtconv_type_predefined(one, DTCONV_INT),
			 dtconv_type_predefined(other, DTCONV_INT));
	dtconv_context_destroy(one);
	dtconv_context_destroy(other);
}
END_TEST

/* ---- threads ------------------------------------------------------------------------------- */

static void expect_threads(struct dtconv_context *context, const char *words)
{
	const char *text = fixture_info(context);

	ck_assert_msg(strstr(text, words), "not '%s': %s", words, text);
	dtconv_context_destroy(context);
}

static int refuse_tasks(void *arg, size_t tasks, void (*task)(void *, size_t), void *task_arg)
{
	(void)arg, (void)tasks, (void)task, (void)task_arg;
	return -1;
}

START_TEST(threads_come_from_the_options_then_from_the_environment)
{
	struct dtconv_context_params params = { .threads = 2 };

	expect_threads(create(&params),
		       "threads per call: 2 (the context's thread pool)");
	setenv("DTCONV_THREADS", "3", 1);
	expect_threads(create(&params), "threads per call: 2 (the context's thread pool");
	params.threads = 1;
	expect_threads(create(&params), "threads per call: 1 (single-threaded)");
	params.threads = 0;
	expect_threads(create(&params), "threads per call: 3 (the context's thread pool");
	params.parallel = refuse_tasks;
	expect_threads(create(&params), "threads per call: 3 (through params.parallel)");
	setenv("DTCONV_THREADS", "0", 1);
	expect_threads(create(&params), "threads per call: 1 (single-threaded)");
}
END_TEST

START_TEST(a_number_of_threads_that_is_none_warns)
{
	static const char *const wrong[] = { "", "two", "-1", "2x", " 2", "65",
					     "99999999999999999999999" };
	struct record record = { 0 };
	struct dtconv_context_params params = { .log = remember,
						.log_arg = &record,
						.log_level = DTCONV_LOG_WARN };

	setenv("DTCONV_THREADS", wrong[_i], 1);
	expect_threads(create(&params), "threads per call: 1 ");
	ck_assert_uint_eq(record.lines, 1);
	ck_assert_int_eq(record.level, DTCONV_LOG_WARN);
	ck_assert_ptr_nonnull(strstr(record.text, "environment variable DTCONV_THREADS is '"));
}
END_TEST

START_TEST(more_threads_than_64_are_refused)
{
	struct record record = { 0 };
	struct dtconv_context_params params = { .struct_size = sizeof(params),
						.log = remember,
						.log_arg = &record,
						.log_level = DTCONV_LOG_ERROR,
						.threads = 65 };
	struct dtconv_context *context = NULL;

	fixture_status(dtconv_context_create(&params, &context), DTCONV_ERR_INVAL);
	ck_assert_ptr_null(context);
	ck_assert_str_eq(record.text, "dtconv_context_create: params.threads is 65, but "
				      "must be at most 64");
	params.struct_size = offsetof(struct dtconv_context_params, threads);
	fixture_ok(dtconv_context_create(&params, &context));
	dtconv_context_destroy(context);
}
END_TEST

static void quiet_environment(void)
{
	unsetenv("DTCONV_CPU");
	unsetenv("DTCONV_LOG");
	unsetenv("DTCONV_THREADS");
}

static TCase *add_case(Suite *suite, const char *name)
{
	TCase *tcase = tcase_create(name);

	tcase_add_checked_fixture(tcase, quiet_environment, quiet_environment);
	suite_add_tcase(suite, tcase);
	return tcase;
}

int main(void)
{
	Suite *suite = suite_create("context");
	TCase *options = add_case(suite, "options");
	TCase *log = add_case(suite, "log");
	TCase *texts = add_case(suite, "texts");
	TCase *life = add_case(suite, "life");
	TCase *threads = add_case(suite, "threads");

	tcase_add_test(options, everything_has_a_default);
	tcase_add_loop_test(options, wrong_options_are_refused_with_a_sentence, 0, 4);
	tcase_add_test(options, half_an_allocator_is_refused);
	tcase_add_test(options, a_shorter_struct_leaves_the_rest_at_its_default);
	tcase_add_test(options, memory_may_run_out_at_any_allocation);
	tcase_add_test(options, a_context_takes_few_allocations);
	tcase_add_test(options, a_context_answers_what_its_info_says);
	tcase_add_test(options, a_promise_of_host_memory_leaves_no_device);
	tcase_add_test(log, errors_are_logged_with_their_source);
	tcase_add_test(log, a_silent_context_logs_nothing);
	tcase_add_test(log, the_environment_sets_the_level);
	tcase_add_test(log, a_level_that_is_none_warns_and_says_where_it_came_from);
	tcase_add_test(log, the_environment_chooses_the_kernels);
	tcase_add_test(log, kernels_that_are_none_warn_and_leave_the_best);
	tcase_add_test(log, commits_of_derived_types_are_logged_for_debugging);
	tcase_add_test(texts, the_text_is_cut_to_the_room_given);
	tcase_add_test(texts, more_failing_threads_than_slots_displace_the_oldest);
	tcase_add_test(texts, every_status_has_words);
	tcase_add_test(life, counters_count_when_asked);
	tcase_add_test(life, counters_stay_zero_when_not_asked);
	tcase_add_test(life, backends_are_counted_by_name);
	tcase_add_loop_test(life, what_was_counted_is_told_at_the_end_when_the_environment_asks, 0, 4);
	tcase_add_test(life, a_context_with_live_types_is_reported_and_kept);
	tcase_add_test(life, two_contexts_share_nothing);
	tcase_add_test(threads, threads_come_from_the_options_then_from_the_environment);
	tcase_add_loop_test(threads, a_number_of_threads_that_is_none_warns, 0, 7);
	tcase_add_test(threads, more_threads_than_64_are_refused);
	return fixture_run(suite);
}
