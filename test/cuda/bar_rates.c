/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What small jobs between a device and the host cost, by the processor's stores and loads and by each
 * other way: a line for every layout and size, by the host's clock, until the bytes have arrived. Then how
 * long a mapping takes, also beside a kernel that does not end. Bytes are test_bar's business.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <dtconv/dtconv.h>

#include "copy_backends/cuda/cuda.h"
#include "copy_backends/cuda/moves/bar_mappings.h"
#include "datatype/type.h"
#include "support/gpu.h"
#include "support/standin_load.h"
#include "support/times.h"

#define ROUNDS 201
#define MEMORY ((size_t)2 << 20)

static const struct dtc_backend_ops *const ways[] = {
	&dtc_cuda_bar_backend,
	&dtc_cuda_copy_backend,
	&dtc_cuda_staged_backend,
};

#define WAYS (sizeof(ways) / sizeof(ways[0]))

static const struct {
	const char *name, *text;
	size_t block;
} layouts[] = {
	{ "a row", "contiguous(%zu, byte)", 1 },
	{ "8 of 16", "vector(%zu, 1, 2, double)", 8 },
	{ "64 of 128", "vector(%zu, 8, 16, double)", 64 },
	{ "512 of 1024", "vector(%zu, 64, 128, double)", 512 },
};

static const size_t sizes[] = { 8, 64, 512, 2048, 8192, 32768, 131072, 524288 };

struct bench {
	struct dtconv_context *context;
	struct arena device;
	char *host;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void give_up(const struct bench *bench, const char *what)
{
	char text[300] = "";

	dtconv_context_error(bench->context, text, sizeof(text));
	fprintf(stderr, "%s: %s\n", what, text);
	exit(1);
}

/* The user's blocks lie on the device, the packed ones on the host. */
static void move(const struct bench *bench, const struct dtc_backend_ops *way,
		 const struct dtconv_type *type, enum dtc_direction direction)
{
	const struct dtc_layout *layout = dtc_type_layout(type);
	struct dtc_cursor cursor;
	struct dtc_event event;
	struct dtc_job job = { .cursor = &cursor,
			       .user = (char *)bench->device.memory,
			       .packed = bench->host,
			       .bytes = layout->size,
			       .row_bytes = layout->size,
			       .direction = direction,
			       .context = bench->context,
			       .user_memory = { .kind = DTCONV_MEMORY_DEVICE },
			       .packed_memory = { .kind = DTCONV_MEMORY_HOST,
						  .device = -1 },
			       .caller = "bar_rates" };

	dtc_memory_query(bench->context, bench->device.memory, &job.user_memory);
	dtc_cursor_init(&cursor, layout, 1);
	if (way->submit(&job, &event))
		give_up(bench, way->name);
	int status = DTCONV_INPROGRESS;
	while (event.backend && status == DTCONV_INPROGRESS)
		status = event.backend->test(&event);
	if (status < 0)
		give_up(bench, way->name);
}

/* ---- mappings ------------------------------------------------------------------------------ */

static bool has_window(const struct bench *bench)
{
	const struct dtc_cuda *cuda = dtc_cuda_of(bench->context);
	struct dtc_cuda_bar_mappings *mappings = dtc_cuda_bar_mappings_of(cuda->contexts);
	uintptr_t address = (uintptr_t)bench->device.memory;
	bool found = false;

	pthread_mutex_lock(&mappings->lock);
	for (size_t i = 0; i < DTC_CUDA_BAR_MAPPINGS; i++)
		found |= mappings->places[i].state == DTC_CUDA_BAR_MAPPING_MAPPED &&
			 address - mappings->places[i].first < mappings->places[i].bytes;
	pthread_mutex_unlock(&mappings->lock);
	return found;
}

#define PATIENCE_NS 2000000000u

/* From the job that asks until there is a window; prints the time. */
static void await_window(const struct bench *bench, const struct dtconv_type *type,
			 const char *name)
{
	uint64_t begin = now_ns();

	for (int i = 0; i < DTC_CUDA_BAR_MAPPING_USES; i++)
		move(bench, &dtc_cuda_bar_backend, type, DTC_UNPACK);
	while (!has_window(bench) && now_ns() - begin < PATIENCE_NS)
		;
	if (has_window(bench))
		printf("%s: a mapping after %.0f us\n", name,
		       (double)(now_ns() - begin) / 1000);
	else
		printf("%s: no mapping after %.0f s\n", name, (double)PATIENCE_NS / 1e9);
}

static void measure_beside_kernel(struct bench *bench, const struct dtconv_type *type)
{
	struct spin spin;

	arena_open(&bench->device, ARENA_DEVICE, MEMORY);
	CUstream stream = gpu_stream();
	spin_begin(&spin, stream);
	await_window(bench, type, "beside a kernel that runs");
	spin_end(&spin);
	MUST(StreamDestroy(stream));
	arena_close(&bench->device);
}

/* ---- times --------------------------------------------------------------------------------- */

static double median_ns(const struct bench *bench, const struct dtc_backend_ops *way,
			const struct dtconv_type *type, enum dtc_direction direction)
{
	double times[ROUNDS];

	for (size_t i = 0; i < ROUNDS; i++) {
		uint64_t begin = now_ns();

		move(bench, way, type, direction);
		times[i] = (double)(now_ns() - begin);
	}
	return times_median(times, ROUNDS);
}

static struct dtconv_type *make_type(const struct bench *bench, size_t layout,
				     size_t bytes)
{
	struct dtconv_type *type;
	char text[100];

	snprintf(text, sizeof(text), layouts[layout].text, bytes / layouts[layout].block);
	if (dtconv_type_parse(bench->context, text, strlen(text), &type) ||
	    dtconv_type_commit(type))
		give_up(bench, text);
	return type;
}

static void measure(const struct bench *bench, size_t layout, size_t bytes,
		    enum dtc_direction direction)
{
	if (bytes < layouts[layout].block)
		return;
	struct dtconv_type *type = make_type(bench, layout, bytes);

	printf("%-12s %7zu bytes %-7s", layouts[layout].name, bytes,
	       direction == DTC_PACK ? "read" : "written");
	for (size_t i = 0; i < WAYS; i++)
		printf("  %s %9.0f ns", ways[i]->name,
		       median_ns(bench, ways[i], type, direction));
	printf("\n");
	dtconv_type_unref(type);
}

static void measure_all(const struct bench *bench)
{
	for (size_t layout = 0; layout < sizeof(layouts) / sizeof(layouts[0]); layout++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			measure(bench, layout, sizes[i], DTC_UNPACK);
			measure(bench, layout, sizes[i], DTC_PACK);
		}
}

/* ------------------------------------------------------------------------------------------ */

/* Why the processor cannot reach device memory here, or NULL. */
static const char *find_reason(const struct bench *bench, const struct dtconv_type *type)
{
	const struct dtc_question question = { .layout = dtc_type_layout(type),
					       .count = 1,
					       .bytes = 8,
					       .user_kind = DTCONV_MEMORY_DEVICE,
					       .packed_kind = DTCONV_MEMORY_HOST,
					       .context = bench->context };
	struct dtc_memory memory;
	const char *reason = NULL;

	dtc_memory_query(bench->context, bench->device.memory, &memory);
	return dtc_cuda_bar_backend.can(&question, &reason) ? NULL : reason;
}

int main(void)
{
	struct bench bench = { .host = calloc(1, MEMORY) };

	gpu_find();
	gpu_open();
	if (gpu.standin)
		standin_load_gdrapi();
	if (!bench.host || dtconv_context_create(NULL, &bench.context))
		return 1;
	arena_open(&bench.device, ARENA_DEVICE, MEMORY);
	struct dtconv_type *type = make_type(&bench, 0, 8);
	const char *reason = find_reason(&bench, type);
	if (reason)
		printf("no BAR mappings: %s\n", reason);
	else {
		await_window(&bench, type, "on an idle device");
		measure_all(&bench);
	}
	arena_close(&bench.device);
	if (!reason)
		measure_beside_kernel(&bench, type);
	dtconv_type_unref(type);
	dtconv_context_destroy(bench.context);
	free(bench.host);
	gpu_close();
	return reason ? 77 : 0;
}
