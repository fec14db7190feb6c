/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One run from its options to its exit status.
 */
#include "config.h"

#include "bench/harness/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dtconv/dtconv.h>

#include "bench/gpu/session.h"
#include "bench/harness/columns.h"
#include "bench/harness/machine.h"
#include "bench/harness/modes.h"
#include "bench/harness/output.h"
#include "bench/harness/selftest.h"
#include "bench/harness/session.h"
#include "bench/harness/table.h"
#include "bench/pipeline/pipeline.h"

/* ---- setting up ---------------------------------------------------------------------- */

/* The results of an interrupted run, and the file to append to. */
static int open_json(struct session *s)
{
	const struct bench_options *o = s->options;
	long length = 0;

	if (!o->json)
		return 0;
	if (o->resume && results_read(&s->results, o->json, &length) && errno != ENOENT)
		goto failed;
	/* drop an incomplete last line */
	if (o->resume && !access(o->json, F_OK) && truncate(o->json, length))
		goto failed;
	s->json = output_open(o, "--json", o->json, o->resume ? "a" : "w");
	if (!s->json)
		return -1;
	machine_write(s->json, s);
	return 0;
failed:
	fprintf(stderr, "dtconv bench: --json %s: %s\n", o->json, strerror(errno));
	return -1;
}

static struct session *new_session(const struct bench_options *options)
{
	struct session *s = calloc(1, sizeof(*s));

	if (s)
		*s = (struct session){ .options = options, .layouts = options->layouts };
	else
		fprintf(stderr, "dtconv bench: no memory\n");
	return s;
}

/*
 * Create the threads before this thread is pinned to its CPU, because they inherit its
 * affinity. In mode threads the rows use a context with threads of its own.
 */
static int create_contexts(struct session *s)
{
	const struct bench_options *options = s->options;
	struct dtconv_context_params params = {
		.struct_size = sizeof(params),
		.flags = options->gpu ? 0 : DTCONV_CONTEXT_HOST_MEMORY,
		.threads = options->threads
	};
	bool compares = options->mode == BENCH_MODE_THREADS;
	int status = dtconv_context_create(&params,
					   compares ? &s->threads_context : &s->context);

	params.threads = 1;
	if (!status && compares)
		status = dtconv_context_create(&params, &s->context);
	return status;
}

static int open_session(struct session *s)
{
	const struct bench_options *options = s->options;
	int status;

	s->progress = isatty(STDERR_FILENO);
	s->deadline = bench_now() + options->seconds * 1e9;
	s->memory_limit = machine_memory() / 2;
	status = create_contexts(s);
	if (status) {
		fprintf(stderr, "dtconv bench: %s\n", dtconv_strerror(status));
		return -1;
	}
	if (arena_create(&s->arena, s->memory_limit)) {
		fprintf(stderr, "dtconv bench: mapping %zu bytes of shared memory: %s\n",
			s->memory_limit, strerror(errno));
		return -1;
	}
	s->arena.behind = options->behind;
	return 0;
}

static void close_session(struct session *s)
{
	for (size_t i = 0; i < s->engine_count; i++)
		engine_destroy(&s->engines[i]);
	if (s->json && output_close(s->options, "--json", s->options->json, s->json))
		s->unwritten = true;
	results_free(&s->results);
	free(s->rows);
	arena_destroy(&s->arena);
	dtconv_context_destroy(s->threads_context);
	dtconv_context_destroy(s->context);
	gpu_session_close(s);
}

/* The last lines on the screen: wrong bytes if there are any, otherwise the speeds. */
static void print_verdict(const struct session *s)
{
	bool failed = summary_failures(&s->results) > 0;

	if (!failed)
		summary_checks(stdout, &s->results);
	summary_verdict(stdout, &s->results, s->engines, s->engine_count,
			s->options->columns);
	if (failed)
		summary_checks(stdout, &s->results);
}

static void run_layouts(struct session *s)
{
	size_t columns = s->options->columns;
	char machine[512];

	machine_text(machine, sizeof(machine));
	session_self_test(s);
	session_do_rows(s);
	/* peers report their versions at start, so start them now */
	session_print_engines(s);
	printf("\n");
	table_print(stdout, &s->results, columns);
	if (s->options->plot && output_plot(s->options, &s->results, machine, plot_draw))
		s->unwritten = true;
	summary_print(stdout, &s->results, columns);
	print_verdict(s);
}

static void run_mode(struct session *s)
{
	switch (s->options->mode) {
	case BENCH_MODE_LAYOUTS:
		run_layouts(s);
		break;
	case BENCH_MODE_SMALL:
		mode_small(s);
		break;
	case BENCH_MODE_COMMIT:
		mode_commit(s);
		break;
	case BENCH_MODE_FRAG:
		mode_frag(s);
		break;
	case BENCH_MODE_SEEK:
		mode_seek(s);
		break;
	case BENCH_MODE_TYPED:
		mode_typed(s);
		break;
	case BENCH_MODE_THREADS:
		mode_threads(s);
		break;
	}
}

/* Only the main table needs rows; the modes have their own. */
static int choose_rows(struct session *s)
{
	if (s->options->mode != BENCH_MODE_LAYOUTS)
		return 0;
	if (session_add_rows(s)) {
		fprintf(stderr, "dtconv bench: cannot allocate the list of rows\n");
		return 1;
	}
	if (!s->row_count) {
		fprintf(stderr,
			"dtconv bench: --layouts %s: no layout matches at these sizes; "
			"--list shows all\n",
			s->options->layouts ? s->options->layouts : "(all)");
		return 2;
	}
	return 0;
}

/* Modes that only compare parts of dtconv choose the engines themselves. */
static int choose_engines(struct session *s)
{
	enum bench_mode mode = s->options->mode;

	if (mode != BENCH_MODE_LAYOUTS && mode != BENCH_MODE_SMALL)
		return 0;
	session_add_engines(s);
	if (s->engine_count)
		return 0;
	fprintf(stderr,
		"dtconv bench: --engines %s: no engine matches (dtconv, memcpy, hand, "
		"openmpi, mpich)\n",
		s->options->engines);
	return 2;
}

/* Open the plot's file before the run, so that an error is reported at once. */
static int check_plot(const struct session *s)
{
	const struct bench_options *o = s->options;
	FILE *file;

	if (!o->plot)
		return 0;
	file = output_open(o, "--plot", o->plot, "a");
	return file ? output_close(o, "--plot", o->plot, file) : -1;
}

/*
 * A device has other rows and engines, and threads of the driver must not be pinned to one CPU.
 */
static int run_gpu(struct session *s)
{
	char machine[512];
	int status;

	if (open_json(s) || check_plot(s))
		return 2;
	machine_text(machine, sizeof(machine));
	columns_print_text(stdout, machine, s->options->columns);
	status = gpu_session_run(s);
	return status ? status : summary_failures(&s->results) ? 1 : 0;
}

static int run_pipeline(struct session *s)
{
	bench_time_processor(s->options->processor_time);
	int status = pipeline_check(s->options) || open_json(s) ? 2 : pipeline_run(s);

	return status ? status : summary_failures(&s->results) ? 1 : 0;
}

static int run(struct session *s)
{
	char machine[512];
	int status;

	if (open_session(s))
		return 1;
	if (s->options->pipeline)
		return run_pipeline(s);
	if (s->options->gpu)
		return run_gpu(s);
	status = choose_rows(s);
	if (status)
		return status;
	bench_time_processor(s->options->processor_time);
	status = choose_engines(s);
	if (status)
		return status;
	if (open_json(s) || check_plot(s))
		return 2;
	machine_pin();
	machine_text(machine, sizeof(machine));
	columns_print_text(stdout, machine, s->options->columns);
	run_mode(s);
	return summary_failures(&s->results) ? 1 : 0;
}

int bench_session_run(const struct bench_options *options)
{
	struct session *s = new_session(options);
	int status = s ? run(s) : 1;

	if (s)
		close_session(s);
	if (s && s->unwritten && !status)
		status = 1;
	free(s);
	return status;
}

/* Group rows whose sizes are about equal. */
static bool is_of_sizes(const struct result *r, unsigned sizes)
{
	for (unsigned bit = 1; bit && bit <= sizes; bit <<= 1) {
		size_t bytes = sizes & bit ? bench_size_bytes((enum bench_size)bit) : 0;

		if (bytes && r->bytes > bytes / 4 * 3 && r->bytes < bytes / 2 * 3)
			return true;
	}
	return !sizes;
}

/* Drop the results that the options do not choose, but no self-test; returns how many are left. */
static size_t keep_chosen(struct results *rs, const struct bench_options *options)
{
	size_t kept = 0, chosen = 0;

	for (size_t i = 0; i < rs->count; i++) {
		struct result *r = &rs->list[i];
		bool is_test = !strcmp(r->layout, SELFTEST_LAYOUT);
		bool is_chosen = !is_test && bench_matches(options->layouts, r->layout) &&
				 is_of_sizes(r, options->sizes);

		chosen += is_chosen;
		if (is_test || is_chosen)
			rs->list[kept++] = *r;
		else
			free(r->expr);
	}
	rs->count = kept;
	return chosen;
}

int bench_session_draw(const struct bench_options *options)
{
	struct results results = { 0 };
	char whose[512];
	long length;
	int failed = results_read(&results, options->from, &length);

	if (!failed && !keep_chosen(&results, options)) {
		results_free(&results);
		fprintf(stderr,
			"dtconv bench: --from %s: the file has no results to plot\n",
			options->from);
		return 2;
	}
	if (failed) {
		fprintf(stderr, "dtconv bench: --from %s: %s\n", options->from,
			strerror(errno));
		return 2;
	}
	results_read_head(options->from, options->gpu ? "device" : "machine", whose,
			  sizeof(whose));
	failed = output_plot(options, &results, whose,
			     options->gpu ? gpu_plot_draw : plot_draw);
	results_free(&results);
	return failed ? 2 : 0;
}

int bench_session_list(const struct bench_options *options)
{
	struct session *s = new_session(options);
	int status;

	if (s && (options->gpu || options->pipeline)) {
		status = options->gpu ? gpu_session_list(s) : pipeline_list(s);
		free(s);
		return status;
	}
	status = s ? choose_rows(s) : 1;
	for (size_t i = 0; !status && i < s->row_count; i++) {
		size_t bytes = s->rows[i].layout ? bench_size_bytes(s->rows[i].size) : 0;

		if (bytes)
			printf("%-18s about %zu bytes\n", s->rows[i].name, bytes);
		else
			printf("%s\n", s->rows[i].name);
	}
	if (s)
		free(s->rows);
	free(s);
	return status;
}
