/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pipeline bench's judgement: messages that err in each way that matters are caught, in words; and its traces.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/pipeline/contest.h"
#include "bench/pipeline/rows.h"
#include "bench/pipeline/trace.h"
#include "support/t.h"

#define BLOCKS   1024
#define BYTES    ((size_t)64 * BLOCKS)
#define FRAGMENT 4096

static struct dtconv_context *context;
static struct bench_case row;
static struct end_host host;
static struct end_memory memory;
static struct contest contest;
static struct trace trace;
static size_t allocations;

static void *count_alloc(void *arg, size_t bytes)
{
	(void)arg;
	allocations++;
	return malloc(bytes);
}

static void count_free(void *arg, void *address)
{
	(void)arg;
	free(address);
}

/* Blocks of 64 bytes at twice the stride, in fragments of 4 KiB, in a context that logs what a trace needs. */
static void set_up(void)
{
	const struct dtconv_context_params params = {
		.struct_size = sizeof(params),
		.allocator = { count_alloc, count_free, NULL },
		.log = trace_log,
		.log_arg = &trace,
		.log_level = DTCONV_LOG_TRACE,
		.flags = DTCONV_CONTEXT_HOST_MEMORY
	};
	char why[256];

	ck_assert_int_eq(dtconv_context_create(&params, &context), 0);
	ck_assert_int_eq(bench_case_parse(context, "vector(1024, 64, 128, byte)", 1, &row,
					  why, sizeof(why)),
			 0);
	memory = end_host_memory(&host);
	ck_assert_int_eq(contest_open(&contest, context, &row, CONTEST_MESSAGE, &memory,
				      FRAGMENT, 7),
			 0);
	ck_assert_int_eq(trace_open(&trace, BYTES, FRAGMENT), 0);
	ck_assert_uint_eq(row.bytes, BYTES);
}

static void tear_down(void)
{
	ck_assert_int_eq(contest_close(&contest), 0);
	bench_case_release(&row);
	dtconv_context_destroy(context);
	end_host_close(&host);
	trace_close(&trace);
}

/* ---- the judge --------------------------------------------------------------------------- */

static unsigned char *user_to(void)
{
	return contest.ends.to + contest.ends.user_at;
}

static void (*spoil)(void);

static int move_and_spoil(struct contest *c)
{
	int status = exchange_run(&c->exchange);

	if (spoil)
		spoil();
	return status;
}

static size_t all(const struct contest *c)
{
	return c->ends.bytes;
}

static size_t nothing(const struct contest *c)
{
	(void)c;
	return 0;
}

/* What the judge says of a message that is spoilt; empty: nothing. */
static const char *judged(void (*how)(void))
{
	static const struct contestant contestant = { "spoilt", move_and_spoil, all,
						      nothing, false };
	static struct engine engine;
	static struct contest_turns turns;

	spoil = how;
	turns = (struct contest_turns){ .contest = &contest, .contestant = &contestant };
	contest_engine(&engine, &turns);
	int failed = contest_verify(&engine);
	ck_assert_int_eq(failed != 0, engine.problem[0] != '\0');
	return engine.problem;
}

static void spoil_target(void)
{
	user_to()[128 * (BLOCKS - 1) + 63] ^= 1;
}

static void spoil_gap(void)
{
	user_to()[64] ^= 1;
}

static void spoil_before(void)
{
	user_to()[-1] ^= 1;
}

static void spoil_behind(void)
{
	user_to()[128 * BLOCKS] ^= 1;
}

static void spoil_source(void)
{
	contest.ends.from[contest.ends.user_at + 3] ^= 1;
}

START_TEST(spoilt_bytes_are_caught)
{
	ck_assert_str_eq(judged(NULL), "");
	ck_assert_str_eq(judged(spoil_target), "wrong byte unpacked from 65535 of 65536");
	ck_assert_str_eq(judged(spoil_gap), "changed a gap byte at displacement 64");
	ck_assert_str_eq(judged(spoil_before), "changed a gap byte at displacement -1");
	ck_assert_str_eq(judged(spoil_behind),
			 "changed a gap byte at displacement 131072");
	ck_assert_ptr_ne(strstr(judged(spoil_source), "memory that it only reads"), NULL);
	ck_assert_str_eq(judged(NULL), "");
}
END_TEST

/* Each part of the stream that a turn does not move has to stay as it was, packed memory apart. */
START_TEST(parts_of_messages_are_judged)
{
	struct engine engine = { .name = "part" };
	struct ends *ends = &contest.ends;

	ck_assert_int_eq(ends_fill(ends), 0);
	ck_assert_int_eq(ends_judge(ends, &engine, 0, 0), 0);
	ck_assert_int_eq(ends_judge(ends, &engine, 1, 0), -1);
	ck_assert_str_eq(engine.problem, "wrong byte unpacked from 0 of 1");
	ck_assert_int_eq(ends_judge(ends, &engine, 0, 1), -1);
	ck_assert_str_eq(engine.problem, "wrong byte at 0 of 1 packed");
	memcpy(ends->packed, ends->expected, FRAGMENT);
	memcpy(user_to(), ends->expected, 64);
	ck_assert_int_eq(ends_judge(ends, &engine, 64, FRAGMENT), 0);
	ck_assert_int_eq(ends_judge(ends, &engine, 64, FRAGMENT + 1), -1);
	ck_assert_int_eq(ends_judge(ends, &engine, 63, FRAGMENT), -1);
	ck_assert_int_eq(memcmp(ends->other_packed, ends->expected, BYTES), 0);
}
END_TEST

START_TEST(contiguous_copies_are_judged)
{
	struct engine engine = { .name = "raw" };
	struct ends *ends = &contest.ends;

	ck_assert_int_eq(ends_fill(ends), 0);
	ck_assert_int_eq(ends_judge_raw(ends, &engine), -1);
	memcpy(ends->to, ends->from, BYTES);
	ck_assert_int_eq(ends_judge_raw(ends, &engine), 0);
	ends->to[BYTES - 1] ^= 1;
	ck_assert_int_eq(ends_judge_raw(ends, &engine), -1);
	ck_assert_str_eq(engine.problem, "the copy differs at byte 65535");
}
END_TEST

START_TEST(wrong_fragments_are_counted)
{
	unsigned char *expected = calloc(1, BYTES);

	ck_assert_int_eq(ends_fill(&contest.ends), 0);
	contest.exchange.expected = contest.ends.expected;
	ck_assert_int_eq(exchange_run(&contest.exchange), 0);
	ck_assert_uint_eq(contest.exchange.wrong, 0);
	memcpy(expected, contest.ends.expected, BYTES);
	expected[FRAGMENT - 1] ^= 1;
	expected[FRAGMENT] ^= 1;
	contest.exchange.expected = expected;
	ck_assert_int_eq(exchange_run(&contest.exchange), 0);
	ck_assert_uint_eq(contest.exchange.wrong, 2);
	contest.exchange.expected = NULL;
	free(expected);
}
END_TEST

/* ---- contestants ------------------------------------------------------------------------- */

START_TEST(contestants_move_the_message)
{
	size_t count = 0;

	for (const struct contestant *c = contest_field(&contest); c->name;
	     c++, count++) {
		struct contest_turns turns = { .contest = &contest,
					       .contestant = c,
					       .allocations = &allocations };
		struct engine engine;
		double ns = 0;

		contest_engine(&engine, &turns);
		ck_assert_msg(!contest_verify(&engine), "%s: %s", c->name,
			      engine.problem);
		ck_assert_int_eq(engine_run(&engine, BENCH_PACK, 1, 10, &ns), 0);
		ck_assert(ns > 0);
		ck_assert_msg(!turns.allocated, "%s: %zu allocations", c->name,
			      turns.allocated);
	}
	ck_assert_uint_eq(count, 3);
}
END_TEST

static int allocate_once(struct contest *c)
{
	(void)c;
	allocations++;
	return 0;
}

START_TEST(allocations_count_in_timed_turns_only)
{
	static const struct contestant contestant = { "greedy", allocate_once, all,
						      nothing, false };
	struct contest_turns turns = { .contest = &contest,
				       .contestant = &contestant,
				       .allocations = &allocations };
	struct engine engine;
	double ns;

	contest_engine(&engine, &turns);
	ck_assert_int_eq(engine_run(&engine, BENCH_PACK, 5, 3, &ns), 0);
	ck_assert_uint_eq(turns.allocated, 3);
}
END_TEST

static int refuse(struct contest *c)
{
	(void)c;
	return DTCONV_ERR_BACKEND;
}

START_TEST(failures_are_told)
{
	static const struct contestant contestant = { "lazy", refuse, all, nothing,
						      false };
	struct contest_turns turns = { .contest = &contest, .contestant = &contestant };
	struct engine engine;
	double ns;

	contest_engine(&engine, &turns);
	ck_assert_int_eq(engine_run(&engine, BENCH_PACK, 0, 1, &ns), -1);
	ck_assert_str_ne(engine.problem, "");
	engine.problem[0] = '\0';
	ck_assert_int_eq(contest_verify(&engine), -1);
	ck_assert_str_ne(engine.problem, "");
}
END_TEST

/* A failure of one half ends both, and the next message is not concerned. */
START_TEST(a_failed_message_ends)
{
	struct exchange *x = &contest.exchange;

	ck_assert_int_eq(ends_fill(&contest.ends), 0);
	exchange_start_recv(x);
	x->status = DTCONV_ERR_PEER;
	ck_assert_int_eq(exchange_finish(x), DTCONV_ERR_PEER);
	ck_assert_uint_eq(x->open, 0);
	ck_assert_int_eq(exchange_run(x), 0);
}
END_TEST

/* ---- traces ------------------------------------------------------------------------------ */

static void make_trace(void)
{
	struct exchange *x = &contest.exchange;

	ck_assert_int_eq(ends_fill(&contest.ends), 0);
	trace_clear(&trace);
	x->trace = &trace;
	ck_assert_int_eq(exchange_run(x), 0);
	x->trace = NULL;
}

START_TEST(a_trace_has_each_event_of_each_fragment)
{
	ck_assert(!trace_is_whole(&trace));
	make_trace();
	ck_assert(trace_is_whole(&trace));
	ck_assert_uint_eq(trace.packet_count, BYTES / FRAGMENT);
	ck_assert_uint_ge(trace.slot_count, 1);
	ck_assert_uint_le(trace.slot_count, 16);
	for (size_t i = 0; i < trace.packet_count; i++) {
		ck_assert_uint_eq(trace.packets[i].offset, i * FRAGMENT);
		ck_assert_uint_lt(trace.packets[i].slot, trace.slot_count);
	}
}
END_TEST

START_TEST(a_missing_event_is_noticed)
{
	for (int event = 0; event < TRACE_EVENTS; event++) {
		make_trace();
		trace.packets[3].ns[event] = 0;
		ck_assert_msg(!trace_is_whole(&trace), "event %d", event);
	}
	make_trace();
	trace.packets[0].fragment = NULL;
	ck_assert(!trace_is_whole(&trace));
}
END_TEST

START_TEST(events_out_of_order_are_noticed)
{
	for (int event = 1; event < TRACE_EVENTS; event++) {
		make_trace();
		trace.packets[5].ns[event] = trace.packets[5].ns[event - 1] - 1000;
		ck_assert_msg(!trace_is_whole(&trace), "event %d", event);
	}
}
END_TEST

static void log_line(const char *text)
{
	trace_log(&trace, DTCONV_LOG_TRACE, "file.c", 1, text);
}

START_TEST(lines_of_the_log_are_understood)
{
	log_line("dtconv_send_start: copies 4096 bytes at offset 8192");
	ck_assert(trace.packets[2].ns[TRACE_COPY] > 0);
	ck_assert(trace.packets[2].ns[TRACE_UNPACK] <= 0);
	log_line("dtconv_recv_deliver: copies 4096 bytes at offset 4096");
	ck_assert(trace.packets[1].ns[TRACE_UNPACK] > 0);
	log_line("dtconv_send_start: something else");
	log_line("dtconv_pack: copies 4096 bytes at offset 0");
	for (int event = 0; event < TRACE_EVENTS; event++)
		ck_assert(trace.packets[0].ns[event] <= 0);
}
END_TEST

START_TEST(spans_are_written)
{
	char *text = NULL;
	size_t length = 0, spans = 0;

	make_trace();
	FILE *file = open_memstream(&text, &length);
	ck_assert_ptr_ne(file, NULL);
	trace_write(&trace, file, 3, "a \"row\"", 0, true);
	trace_write(&trace, file, 4, "another", 0, false);
	fclose(file);
	for (const char *at = text; (at = strstr(at, "\"ph\":\"X\"")); at++)
		spans++;
	ck_assert_uint_eq(spans, 2 * (TRACE_EVENTS - 1) * (BYTES / FRAGMENT));
	ck_assert(text[0] == '{' && text[length - 1] == '}');
	ck_assert_ptr_ne(
		strstr(text,
		       "\"pid\":3,\"tid\":0,\"args\":{\"name\":\"a \\\"row\\\"\"}}"),
		NULL);
	ck_assert_ptr_ne(strstr(text,
				"},\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":4"),
			 NULL);
	free(text);
}
END_TEST

/* ---- rows -------------------------------------------------------------------------------- */

START_TEST(fragments_are_no_longer_than_messages)
{
	struct bench_options options = { .sizes = BENCH_SIZE_64K };
	struct pipeline_row *rows = calloc(PIPELINE_MOST_ROWS, sizeof(*rows));
	size_t count = pipeline_rows(&options, rows), planned = 0;

	for (size_t i = 0; i < count; i++) {
		ck_assert_uint_eq(rows[i].bytes, (size_t)64 << 10);
		ck_assert_uint_le(rows[i].fragment, rows[i].bytes);
		planned += !rows[i].fragment;
	}
	/* Of a device: both layouts as planned and cut in 64 KiB, and both ways at once; of the host: 16 and 64 KiB. */
	ck_assert_uint_eq(count, 10);
	ck_assert_uint_eq(planned, 4);
	options = (struct bench_options){ .layouts = "vec64" };
	count = pipeline_rows(&options, rows);
	for (size_t i = 0; i < count; i++)
		ck_assert_str_eq(rows[i].name, "vec64");
	free(rows);
}
END_TEST

START_TEST(planned_fragments_end_between_words)
{
	ck_assert_uint_eq(exchange_planned(context, 0), (size_t)256 << 10);
	ck_assert_uint_eq(exchange_planned(context, 1000), 896);
	ck_assert_uint_eq(exchange_planned(context, 100), 100);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bench pipeline");
	TCase *judge = tcase_create("judge");
	TCase *traces = tcase_create("traces");

	tcase_add_checked_fixture(judge, set_up, tear_down);
	tcase_add_checked_fixture(traces, set_up, tear_down);
	suite_add_tcase(suite, judge);
	suite_add_tcase(suite, traces);
	tcase_add_test(judge, spoilt_bytes_are_caught);
	tcase_add_test(judge, parts_of_messages_are_judged);
	tcase_add_test(judge, contiguous_copies_are_judged);
	tcase_add_test(judge, wrong_fragments_are_counted);
	tcase_add_test(judge, contestants_move_the_message);
	tcase_add_test(judge, allocations_count_in_timed_turns_only);
	tcase_add_test(judge, failures_are_told);
	tcase_add_test(judge, a_failed_message_ends);
	tcase_add_test(judge, fragments_are_no_longer_than_messages);
	tcase_add_test(judge, planned_fragments_end_between_words);
	tcase_add_test(traces, a_trace_has_each_event_of_each_fragment);
	tcase_add_test(traces, a_missing_event_is_noticed);
	tcase_add_test(traces, events_out_of_order_are_noticed);
	tcase_add_test(traces, lines_of_the_log_are_understood);
	tcase_add_test(traces, spans_are_written);
	return t_run(suite);
}
