/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The flow's part of dtconv tune: messages by every fragment size, and then by every depth, in turn. On a device if
 * there is one, because that is where fragments matter most; else on the host.
 */
#include "config.h"

#include "tools.h"
#include "tune.h"

#include <string.h>

#include "bench/gpu/ends.h"
#include "bench/harness/engine.h"
#include "bench/pipeline/ends.h"
#include "bench/pipeline/exchange.h"

#define BLOCK_BYTES  512
#define STRIDE_BYTES 1024

static const size_t message_bytes[TUNE_MESSAGES] = { (size_t)1 << 20, (size_t)16 << 20 };
#define MOST_BYTES ((size_t)16 << 20)

/* Three of four of them have to agree. */
#define FEWEST_ROUNDS 8

static const size_t fragment_values[] = { 64 << 10,   128 << 10,  256 << 10, 512 << 10,
					  1024 << 10, 2048 << 10, 4096 << 10 };
static const size_t depth_values[] = { 2, 4, 8, 16 };

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))

_Static_assert(LENGTH(fragment_values) <= TUNE_FLOW_CHOICES &&
		       LENGTH(depth_values) <= TUNE_FLOW_CHOICES,
	       "a contest has room for all values");

struct bench {
	struct dtconv_context *context;
	struct gpu *gpu; /* NULL: on the host */
	struct end_host host;
	struct end_memory memory;
	struct dtconv_type *types[TUNE_MESSAGES];
	struct dtconv_convertor *packs[TUNE_MESSAGES], *unpacks[TUNE_MESSAGES];
	struct exchange exchanges[TUNE_FLOW_CHOICES][TUNE_MESSAGES];
	size_t count; /* of exchanges that were opened */
};

/* ---- messages ---------------------------------------------------------------------------- */

static int library_failed(const struct bench *bench, int status)
{
	return status ? tool_library_failed("tune", bench->context, status) : TOOL_OK;
}

static int create_convertors(struct bench *bench, size_t message, unsigned char *from,
			     unsigned char *to)
{
	const struct dtconv_convertor_params params = {
		.struct_size = sizeof(params),
		.user_memory = bench->gpu ? DTCONV_MEMORY_DEVICE : DTCONV_MEMORY_HOST,
		.packed_memory = bench->gpu ? DTCONV_MEMORY_PINNED : DTCONV_MEMORY_HOST
	};
	struct dtconv_type **type = &bench->types[message];
	int status = dtconv_type_create_vector(
		message_bytes[message] / BLOCK_BYTES, BLOCK_BYTES, STRIDE_BYTES,
		dtconv_type_predefined(bench->context, DTCONV_BYTE), type);

	if (!status)
		status = dtconv_type_commit(*type);
	if (!status)
		status = dtconv_convertor_create_pack(*type, 1, from,
						      &bench->packs[message]);
	if (!status)
		status = dtconv_convertor_configure(bench->packs[message], &params);
	if (!status)
		status = dtconv_convertor_create_unpack(*type, 1, to,
							&bench->unpacks[message]);
	if (!status)
		status = dtconv_convertor_configure(bench->unpacks[message], &params);
	return library_failed(bench, status);
}

static unsigned char *create_memory(const struct bench *bench, enum end_role role)
{
	const size_t bytes = MOST_BYTES / BLOCK_BYTES * STRIDE_BYTES;
	unsigned char *memory = bench->memory.get(bench->memory.arg, role, bytes);

	/* Every page of the host is there before anything is timed. */
	if (memory && !bench->gpu)
		memset(memory, 1, bytes);
	return memory;
}

static int open_bench(struct bench *bench, struct tune_flow *flow)
{
	struct dtconv_context_params params = { .struct_size = sizeof(params),
						.threads = 1 };

	*bench = (struct bench){ .context = NULL };
	bench->gpu = gpu_ends_open(&bench->memory, flow->why, sizeof(flow->why));
	flow->where = bench->gpu ? "device" : "host";
	if (!bench->gpu) {
		bench->memory = end_host_memory(&bench->host);
		params.flags = DTCONV_CONTEXT_HOST_MEMORY;
	}
	int status = dtconv_context_create(&params, &bench->context);
	if (status)
		return tool_fail("tune", TOOL_FAILED, "cannot create a context: %s",
				 dtconv_strerror(status));
	unsigned char *from = create_memory(bench, END_FROM);
	unsigned char *to = create_memory(bench, END_TO);
	if (!from || !to)
		return tool_fail("tune", TOOL_FAILED,
				 "cannot allocate buffers for messages");
	for (size_t i = 0; i < TUNE_MESSAGES && !status; i++)
		status = create_convertors(bench, i, from, to);
	return status;
}

static int close_exchanges(struct bench *bench)
{
	int status = 0;

	for (size_t i = 0; i < bench->count; i++)
		for (size_t k = 0; k < TUNE_MESSAGES && !status; k++)
			status = exchange_close(&bench->exchanges[i][k]);
	bench->count = 0;
	return library_failed(bench, status);
}

/* Threshold fragment_bytes is @fragment. */
static int open_exchanges(struct bench *bench, size_t value, size_t fragment,
			  unsigned depth)
{
	int status = 0;

	bench->count++;
	for (size_t k = 0; k < TUNE_MESSAGES; k++)
		bench->exchanges[value][k] = (struct exchange){ .context = NULL };
	for (size_t k = 0; k < TUNE_MESSAGES && !status; k++) {
		const struct exchange_params params = {
			.context = bench->context,
			.packs = bench->packs[k],
			.unpacks = bench->unpacks[k],
			.bytes = message_bytes[k],
			.fragment = bench->gpu ? exchange_planned_for_device(
							 fragment, message_bytes[k])
					       : fragment,
			.depth = depth,
			.pool_kind = bench->gpu ? DTCONV_MEMORY_PINNED
						: DTCONV_MEMORY_HOST
		};

		status = exchange_open(&bench->exchanges[value][k], &params);
	}
	return library_failed(bench, status);
}

static void close_bench(struct bench *bench)
{
	for (size_t k = 0; k < TUNE_MESSAGES; k++) {
		dtconv_convertor_destroy(bench->packs[k]);
		dtconv_convertor_destroy(bench->unpacks[k]);
		dtconv_type_unref(bench->types[k]);
	}
	dtconv_context_destroy(bench->context);
	end_host_close(&bench->host);
	gpu_ends_close(bench->gpu);
}

/* ---- the clock --------------------------------------------------------------------------- */

/* The second of two: the first one finds the caches as the one before has left them. */
static int time_message(struct exchange *exchange, double *ns)
{
	int status = exchange_run(exchange);
	double start = bench_now();

	if (!status)
		status = exchange_run(exchange);
	*ns = bench_now() - start;
	return status;
}

/* The order alternates from round to round. */
static int measure_round(struct bench *bench, struct tune_contest *contest)
{
	const size_t round = contest->rounds;
	int status = 0;

	for (size_t i = 0; i < contest->count && !status; i++) {
		size_t value = round % 2 ? contest->count - 1 - i : i;

		for (size_t k = 0; k < TUNE_MESSAGES && !status; k++)
			status = time_message(&bench->exchanges[value][k],
					      &contest->ns[value][k][round]);
	}
	contest->rounds++;
	return library_failed(bench, status);
}

static int measure(struct bench *bench, double seconds, struct tune_contest *contest)
{
	const double end = bench_now() + seconds * 1e9;
	int status = TOOL_OK;

	contest->rounds = 0;
	while (!status && contest->rounds < TUNE_MAX_ROUNDS &&
	       (contest->rounds < FEWEST_ROUNDS || bench_now() < end))
		status = measure_round(bench, contest);
	return status;
}

/* ---- thresholds -------------------------------------------------------------------------- */

/* The values, and which of them is the library's default. */
static int set_values(struct bench *bench, const char *name, const size_t *values,
		      size_t count, struct tune_contest *contest)
{
	struct dtconv_threshold threshold = { .struct_size = sizeof(threshold) };
	size_t index = 0;

	while (!dtconv_context_query_threshold(bench->context, index, NULL, &threshold) &&
	       strcmp(threshold.name, name) != 0)
		index++;
	contest->count = count;
	contest->normal = count;
	memcpy(contest->values, values, count * sizeof(*values));
	for (size_t i = 0; i < count; i++)
		if (values[i] == threshold.default_value)
			contest->normal = i;
	if (contest->normal < count)
		return TOOL_OK;
	return tool_fail("tune", TOOL_FAILED,
			 "the library's default of %s is none of those that are measured",
			 name);
}

static int measure_fragments(struct bench *bench, double seconds, struct tune_flow *flow,
			     size_t depth)
{
	struct tune_contest *contest = &flow->fragments;
	int status = TOOL_OK;

	for (size_t i = 0; i < contest->count && !status; i++)
		status = open_exchanges(bench, i, contest->values[i], (unsigned)depth);
	if (!status)
		status = measure(bench, seconds, contest);
	int closed = close_exchanges(bench);
	if (status || closed)
		return status ? status : closed;
	flow->fragment = tune_choose(contest);
	return TOOL_OK;
}

static int measure_depths(struct bench *bench, double seconds, struct tune_flow *flow)
{
	struct tune_contest *contest = &flow->depths;
	const size_t fragment = flow->fragments.values[flow->fragment];
	int status = TOOL_OK;

	for (size_t i = 0; i < contest->count && !status; i++)
		status = open_exchanges(bench, i, fragment, (unsigned)contest->values[i]);
	if (!status)
		status = measure(bench, seconds, contest);
	int closed = close_exchanges(bench);
	if (status || closed)
		return status ? status : closed;
	flow->depth = tune_choose(contest);
	return TOOL_OK;
}

int tune_measure_flow(double seconds, struct tune_flow *flow)
{
	struct bench bench;

	flow->why[0] = '\0';
	int status = open_bench(&bench, flow);
	if (!status)
		status = set_values(&bench, "fragment_bytes", fragment_values,
				    LENGTH(fragment_values), &flow->fragments);
	if (!status)
		status = set_values(&bench, "fragment_depth", depth_values,
				    LENGTH(depth_values), &flow->depths);
	if (!status)
		status = measure_fragments(&bench, seconds / 2, flow,
					   flow->depths.values[flow->depths.normal]);
	if (!status)
		status = measure_depths(&bench, seconds / 2, flow);
	close_bench(&bench);
	return status;
}

/* ---- telling ----------------------------------------------------------------------------- */

static void print_contest(FILE *out, const char *head, const struct tune_contest *contest,
			  size_t chosen)
{
	fprintf(out, "%-14s   1 MiB  16 MiB    gain\n", head);
	for (size_t i = 0; i < contest->count; i++) {
		fprintf(out, "%14zu", contest->values[i]);
		for (size_t k = 0; k < TUNE_MESSAGES; k++)
			fprintf(out, " %7.2f",
				(double)message_bytes[k] /
					tune_median(contest->ns[i][k], contest->rounds));
		fprintf(out, " %7.2f%s%s\n", tune_flow_gain(contest, i),
			i == contest->normal ? " (default)" : "",
			i == chosen && i != contest->normal ? " chosen" : "");
	}
}

static void print_decision(FILE *out, const char *name,
			   const struct tune_contest *contest, size_t chosen)
{
	if (chosen == contest->normal)
		fprintf(out,
			"%s keeps its default: no other is faster beyond the spread\n",
			name);
	else
		fprintf(out, "%s %zu\n", name, contest->values[chosen]);
}

void tune_print_flow(FILE *out, const struct tune_flow *flow)
{
	fprintf(out, "messages through fragments on the %s, GB/s, %zu rounds\n",
		flow->where, flow->fragments.rounds);
	print_contest(out, "fragment bytes", &flow->fragments, flow->fragment);
	print_contest(out, "depth", &flow->depths, flow->depth);
	print_decision(out, "fragment_bytes", &flow->fragments, flow->fragment);
	print_decision(out, "fragment_depth", &flow->depths, flow->depth);
}

static int format_line(const char *name, const struct tune_contest *contest,
		       size_t chosen, char *text, size_t capacity)
{
	if (chosen == contest->normal)
		return snprintf(text, capacity, "# %s keeps its default\n", name);
	return snprintf(text, capacity, "%s %zu\n", name, contest->values[chosen]);
}

void tune_format_flow(const struct tune_flow *flow, char *text, size_t capacity)
{
	int length = format_line("fragment_bytes", &flow->fragments, flow->fragment, text,
				 capacity);

	if (length > 0 && (size_t)length < capacity)
		format_line("fragment_depth", &flow->depths, flow->depth, text + length,
			    capacity - (size_t)length);
}
