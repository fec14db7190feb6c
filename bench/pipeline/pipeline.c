/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The run: contexts, memory, one row after the other, their results and their traces.
 */
#include "config.h"

#include "bench/pipeline/pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "bench/gpu/session.h"
#include "bench/harness/columns.h"
#include "bench/harness/machine.h"
#include "bench/harness/output.h"
#include "bench/harness/rounds.h"
#include "bench/harness/session.h"
#include "bench/harness/table.h"
#include "bench/pipeline/contest.h"
#include "bench/pipeline/lists.h"
#include "bench/pipeline/report.h"
#include "bench/pipeline/rows.h"
#include "bench/pipeline/trace.h"

/* A row takes this much time at most. */
#define MOST_BUDGET 2e9

#define MOST_CONTESTANTS 8

/* The memory of one side: context, places, and whether there is one. */
struct side {
	struct dtconv_context *context;
	struct end_memory memory;
	bool is_there;
};

/* The contestants of the row in work. */
struct field {
	struct engine engines[MOST_CONTESTANTS];
	struct contest_turns turns[MOST_CONTESTANTS];
	struct timing timings[MOST_CONTESTANTS];
	size_t count;
};

struct run {
	struct session *s;
	struct field field;
	struct side sides[2]; /* of the host, of the device */
	struct end_host host;
	size_t allocations; /* of the host's context */
	FILE *trace;        /* NULL: none is asked for */
	unsigned traced;    /* rows */
	double start_ns;
};

/* ---- contexts ---------------------------------------------------------------------------- */

static void *count_alloc(void *arg, size_t bytes)
{
	__atomic_add_fetch((size_t *)arg, 1, __ATOMIC_RELAXED);
	return malloc(bytes);
}

static void count_free(void *arg, void *memory)
{
	(void)arg;
	free(memory);
}

static struct dtconv_context_params params_of(struct run *run, bool on_device)
{
	struct dtconv_context_params params = {
		.struct_size = sizeof(params),
		.flags = on_device ? 0 : DTCONV_CONTEXT_HOST_MEMORY,
		.threads = on_device ? 0 : 1
	};

	if (!on_device)
		params.allocator = (struct dtconv_allocator){ count_alloc, count_free,
							      &run->allocations };
	return params;
}

/* A thread that waits for a device takes time of its CPU that says nothing. */
static bool find_device(struct run *run, struct end_memory *memory, char *why,
			size_t room)
{
	if (!run->s->options->processor_time)
		return gpu_session_find_memory(run->s, memory, why, room);
	snprintf(why, room, "--clock cpu does not count a device's time");
	return false;
}

static int open_sides(struct run *run)
{
	struct side *host = &run->sides[0], *device = &run->sides[1];
	struct dtconv_context_params params = params_of(run, false);
	char why[200];

	host->memory = end_host_memory(&run->host);
	host->is_there = true;
	int status = dtconv_context_create(&params, &host->context);
	device->is_there = find_device(run, &device->memory, why, sizeof(why));
	if (!device->is_there) {
		printf("the rows of a device are left out: %s\n", why);
		machine_pin();
	} else if (!status) {
		params = params_of(run, true);
		status = dtconv_context_create(&params, &device->context);
	}
	if (status)
		fprintf(stderr, "dtconv bench: %s\n", dtconv_strerror(status));
	return status;
}

static void close_sides(struct run *run)
{
	dtconv_context_destroy(run->sides[0].context);
	dtconv_context_destroy(run->sides[1].context);
	end_host_close(&run->host);
}

/* ---- results ----------------------------------------------------------------------------- */

static void record(struct run *run, const struct pipeline_row *row, size_t bytes,
		   size_t fragment, char *expr, const char *engine, const char *check,
		   const struct timing *t)
{
	struct result r = { .bytes = bytes,
			    .count = 1,
			    .expr = expr,
			    .fragment = fragment,
			    .planned = !row->fragment };
	const char *place = row->on_device ? "device" : "host";

	snprintf(r.layout, sizeof(r.layout), "%s", row->name);
	snprintf(r.op, sizeof(r.op), "%s", report_op(row->kind));
	snprintf(r.engine, sizeof(r.engine), "%s", engine);
	snprintf(r.check, sizeof(r.check), "%.*s", ENGINE_PROBLEM_ROOM - 1,
		 check[0] ? check : "ok");
	snprintf(r.src, sizeof(r.src), "%s", place);
	snprintf(r.dst, sizeof(r.dst), "%s", place);
	if (t) {
		r.ns = t->ns;
		r.ns_p10 = t->ns_p10;
		r.ns_p90 = t->ns_p90;
		r.rounds = t->rounds;
	}
	session_record(run->s, &r);
}

/* Of one of the contestants. */
static void record_engine(struct run *run, const struct pipeline_row *row, size_t bytes,
			  size_t fragment, char *expr, size_t index)
{
	const struct engine *e = &run->field.engines[index];

	record(run, row, bytes, fragment, expr, e->name, e->problem,
	       e->problem[0] ? NULL : &run->field.timings[index]);
}

static void record_failure(struct run *run, const struct pipeline_row *row,
			   struct dtconv_context *context, int status)
{
	char text[ENGINE_PROBLEM_ROOM];

	if (!context || !dtconv_context_error(context, text, sizeof(text)))
		snprintf(text, sizeof(text), "%s", dtconv_strerror(status));
	record(run, row, row->bytes, row->fragment, strdup(""), "flow", text, NULL);
}

/* The rest of a row's share goes into filling its memory and verifying. */
static double budget_of(const struct session *s)
{
	double share = session_share(s) / 2;

	return share < MOST_BUDGET ? share : MOST_BUDGET;
}

/* Verify engines, then time those that passed. */
static void compete(struct run *run, int (*verify)(struct engine *))
{
	struct field *field = &run->field;
	struct engine *good[MOST_CONTESTANTS];
	struct timing times[MOST_CONTESTANTS];
	size_t passed = 0;

	for (size_t i = 0; i < field->count; i++)
		if (!verify(&field->engines[i]))
			good[passed++] = &field->engines[i];
	if (passed)
		rounds_time(good, passed, BENCH_PACK, budget_of(run->s),
			    run->s->options->seed, times);
	for (size_t i = 0; i < passed; i++)
		field->timings[good[i] - field->engines] = times[i];
}

/* ---- a row of messages ------------------------------------------------------------------- */

static void choose(struct run *run, struct contest *contest)
{
	struct field *field = &run->field;

	for (const struct contestant *c = contest_field(contest); c->name; c++) {
		struct contest_turns *turns = &field->turns[field->count];

		if (!bench_matches(run->s->options->engines, c->name))
			continue;
		*turns = (struct contest_turns){
			.contest = contest,
			.contestant = c,
			.allocations = contest->on_device ? NULL : &run->allocations
		};
		contest_engine(&field->engines[field->count++], turns);
	}
}

/* What was timed must not have allocated anything. */
static void check_allocations(struct field *field)
{
	for (size_t i = 0; i < field->count; i++)
		if (field->turns[i].allocated && !field->engines[i].problem[0])
			engine_problem(&field->engines[i],
				       "%zu allocations in messages that were timed",
				       field->turns[i].allocated);
}

static void measure_messages(struct run *run, const struct pipeline_row *row,
			     struct contest *contest)
{
	struct field *field = &run->field;

	memset(field, 0, sizeof(*field));
	choose(run, contest);
	compete(run, contest_verify);
	if (row->kind == CONTEST_SMALL)
		check_allocations(field);
	for (size_t i = 0; i < field->count; i++)
		record_engine(run, row, contest->c->bytes, contest->fragment,
			      session_expr(contest->c->type), i);
}

static int make_case(struct run *run, struct dtconv_context *context,
		     const struct pipeline_row *row, struct bench_case *c)
{
	char why[WHY_ROOM];

	if (bench_case_make_bytes(context, run->s->options->seed, row->layout, row->bytes,
				  c, why, sizeof(why)))
		return DTCONV_ERR_NOMEM;
	return 0;
}

static void do_messages(struct run *run, const struct pipeline_row *row)
{
	struct side *side = &run->sides[row->on_device];
	struct contest contest = { .context = NULL };
	struct bench_case c;
	int status = make_case(run, side->context, row, &c);

	if (!status) {
		status = contest_open(&contest, side->context, &c, row->kind,
				      &side->memory, row->fragment,
				      run->s->options->seed);
		if (!status)
			measure_messages(run, row, &contest);
		int closed = contest_close(&contest);
		status = status ? status : closed;
	}
	if (status)
		record_failure(run, row, side->context, status);
	bench_case_release(&c);
}

/* ---- a row of lists ---------------------------------------------------------------------- */

static void measure_lists(struct run *run, const struct pipeline_row *row,
			  struct lists *lists)
{
	static void (*const makers[])(struct engine *, struct lists *) = {
		lists_engine_flow, lists_engine_alone, lists_engine_beside
	};
	struct field *field = &run->field;
	char expr[80];

	memset(field, 0, sizeof(*field));
	for (size_t i = 0; i < 3; i++) {
		struct engine *e = &field->engines[field->count];

		makers[i](e, lists);
		field->count += bench_matches(run->s->options->engines, e->name);
	}
	compete(run, lists_verify);
	snprintf(expr, sizeof(expr), "hindexed_block(%zu, [%d new ones], byte)",
		 lists->block, LISTS_BLOCKS);
	for (size_t i = 0; i < field->count; i++)
		record_engine(run, row, row->bytes,
			      exchange_planned(lists->context, row->fragment),
			      strdup(expr), i);
}

static void do_lists(struct run *run, const struct pipeline_row *row)
{
	struct side *side = &run->sides[row->on_device];
	struct lists lists;
	int status = lists_open(&lists, side->context, &side->memory, row->block,
				run->s->options->seed);

	if (!status)
		measure_lists(run, row, &lists);
	int closed = lists_close(&lists);
	if (status || closed)
		record_failure(run, row, side->context, status ? status : closed);
}

/* ---- a trace ----------------------------------------------------------------------------- */

static int trace_message(struct contest *contest, struct trace *trace)
{
	struct exchange *x = &contest->exchange;

	if (trace_open(trace, contest->ends.bytes, contest->fragment))
		return DTCONV_ERR_NOMEM;
	/* The first message finds fragments untouched and kernels to be loaded. */
	int status = ends_fill(&contest->ends) ? DTCONV_ERR_BACKEND : exchange_run(x);
	trace_clear(trace);
	x->trace = trace;
	if (!status)
		status = exchange_run(x);
	x->trace = NULL;
	return status;
}

static void write_trace(struct run *run, const struct pipeline_row *row,
			const struct trace *trace)
{
	char name[120];

	snprintf(name, sizeof(name), "%s, %zu bytes, %s to %s, fragments of %zu",
		 row->name, trace->bytes, row->on_device ? "device" : "host",
		 row->on_device ? "device" : "host", trace->fragment);
	trace_write(trace, run->trace, run->traced + 1, name, run->start_ns,
		    !run->traced);
	run->traced++;
}

/* In a context that logs the start of each copy, which is slower: not a message that is timed. */
static int trace_row(struct run *run, const struct pipeline_row *row)
{
	struct dtconv_context_params params = params_of(run, row->on_device);
	struct contest contest = { .context = NULL };
	struct dtconv_context *context = NULL;
	struct trace trace = { .packets = NULL };
	struct bench_case c = { .type = NULL };

	params.log = trace_log;
	params.log_arg = &trace;
	params.log_level = DTCONV_LOG_TRACE;
	int status = dtconv_context_create(&params, &context);
	if (!status)
		status = make_case(run, context, row, &c);
	if (!status) {
		status = contest_open(&contest, context, &c, row->kind,
				      &run->sides[row->on_device].memory, row->fragment,
				      run->s->options->seed);
		if (!status)
			status = trace_message(&contest, &trace);
		if (!status && !trace_is_whole(&trace))
			status = DTCONV_ERR_STATE;
		if (!status)
			write_trace(run, row, &trace);
		int closed = contest_close(&contest);
		status = status ? status : closed;
	}
	bench_case_release(&c);
	dtconv_context_destroy(context);
	trace_close(&trace);
	return status;
}

static void do_trace(struct run *run, const struct pipeline_row *row)
{
	int status;

	if (!run->trace || row->kind != CONTEST_MESSAGE)
		return;
	status = trace_row(run, row);
	if (!status)
		return;
	fprintf(stderr, "dtconv bench: --trace: %s, %zu bytes: %s\n", row->name,
		row->bytes, dtconv_strerror(status));
	run->s->unwritten = true;
}

static int open_trace(struct run *run)
{
	const struct bench_options *o = run->s->options;

	if (!o->trace)
		return 0;
	run->trace = output_open(o, "--trace", o->trace, "w");
	if (!run->trace)
		return -1;
	fputs("[\n", run->trace);
	return 0;
}

static void close_trace(struct run *run)
{
	const struct bench_options *o = run->s->options;

	if (!run->trace)
		return;
	fputs("\n]\n", run->trace);
	if (output_close(o, "--trace", o->trace, run->trace))
		run->s->unwritten = true;
}

/* ---- the run ----------------------------------------------------------------------------- */

/* Whether some contestant of some row is chosen. */
static bool has_engine(const struct bench_options *options)
{
	static const char *const names[] = { "flow",         "copies", "memcpy",
					     "stages",       "pack",   "unpack",
					     "stages-first", "turns",  "duplex",
					     "pack-first",   "alone",  "beside",
					     "unpack-first" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (bench_matches(options->engines, names[i]))
			return true;
	fprintf(stderr,
		"dtconv bench: --engines %s: no engine of --pipeline matches (flow, copies, "
		"memcpy, stages, turns, duplex, alone, beside)\n",
		options->engines);
	return false;
}

static bool has_row(const struct bench_options *options, size_t count)
{
	if (!count && options->layouts)
		fprintf(stderr,
			"dtconv bench: --layouts %s: no layout of --pipeline matches at "
			"these sizes; --list shows all\n",
			options->layouts);
	return count;
}

static void do_rows(struct run *run, const struct pipeline_row *rows, size_t count)
{
	const struct pipeline_row *before = NULL;
	struct session *s = run->s;

	s->row_count = count;
	for (size_t i = 0; i < count; i++) {
		const size_t from = s->results.count;

		s->rows_left = count - i;
		if (!run->sides[rows[i].on_device].is_there)
			continue;
		if (bench_now() > s->deadline) {
			s->left_out++;
			continue;
		}
		session_progress(s, rows[i].name);
		if (rows[i].kind == CONTEST_LISTS)
			do_lists(run, &rows[i]);
		else
			do_messages(run, &rows[i]);
		do_trace(run, &rows[i]);
		session_progress_end(s);
		report_row(&rows[i], before, &s->results, from);
		before = &rows[i];
	}
	report_end(before);
}

static void print_machine(const struct session *s)
{
	char machine[512];

	machine_text(machine, sizeof(machine));
	columns_print_text(stdout, machine, s->options->columns);
}

static struct pipeline_row *make_rows(const struct bench_options *options, size_t *count)
{
	struct pipeline_row *rows = calloc(PIPELINE_MOST_ROWS, sizeof(*rows));

	*count = rows ? pipeline_rows(options, rows) : 0;
	return rows;
}

int pipeline_check(const struct bench_options *options)
{
	size_t count;

	free(make_rows(options, &count));
	return has_row(options, count) && has_engine(options) ? 0 : 2;
}

static int run_all(struct run *run)
{
	size_t count;
	struct pipeline_row *rows = make_rows(run->s->options, &count);
	int status = 2;

	if (!open_trace(run)) {
		print_machine(run->s);
		status = open_sides(run) ? 1 : 0;
		if (!status)
			do_rows(run, rows, count);
		close_trace(run);
	}
	close_sides(run);
	free(rows);
	return status;
}

int pipeline_run(struct session *s)
{
	struct run *run = calloc(1, sizeof(*run));
	int status = 1;

	if (run) {
		run->s = s;
		run->start_ns = bench_now();
		status = run_all(run);
	} else {
		fprintf(stderr, "dtconv bench: no memory\n");
	}
	free(run);
	if (status)
		return status;
	if (s->left_out)
		printf("%zu rows omitted: the time limit has passed (--seconds)\n",
		       s->left_out);
	summary_checks(stdout, &s->results);
	return 0;
}

int pipeline_list(const struct session *s)
{
	size_t count;
	struct pipeline_row *rows = make_rows(s->options, &count);

	for (size_t i = 0; i < count; i++) {
		const struct pipeline_row *row = &rows[i];

		printf("%-11s %7s, %s, %zu bytes", row->name, report_op(row->kind),
		       row->on_device ? "device" : "host", row->bytes);
		if (row->fragment)
			printf(", fragments of %zu", row->fragment);
		putchar('\n');
	}
	free(rows);
	return has_row(s->options, count) ? 0 : 2;
}
