/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How fast layouts in device memory are packed and unpacked, beside the device's own copy of as many
 * bytes: one line a layout and direction, by the device's clock; and a halo of 26 faces by calls and in one batch, by
 * the wall clock until done. Bytes are test_conformance's business.
 * usage: bandwidth [MEBIBYTES]    (packed; default 256)
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <dtconv/dtconv.h>

#include "support/gpu.h"

#define ROUNDS 15

struct bench {
	struct dtconv_context *context;
	CUstream stream;
	CUevent begin, end;
	CUdeviceptr user, packed;
	size_t span, bytes;
	double copy; /* GB/s */
};

static const struct {
	const char *name, *text; /* %zu: how many units */
	size_t unit;             /* packed bytes */
} layouts[] = {
	{ "contiguous", "contiguous(%zu, byte)", 1 },
	{ "4 of 8", "hvector(%zu, 4, 8, byte)", 4 },
	{ "8 of 16", "vector(%zu, 1, 2, double)", 8 },
	{ "12 of 24", "hvector(%zu, 12, 24, byte)", 12 },
	{ "16 of 32", "vector(%zu, 2, 4, double)", 16 },
	{ "40 of 80", "vector(%zu, 5, 10, double)", 40 },
	{ "64 of 128", "vector(%zu, 8, 16, double)", 64 },
	{ "128 of 256", "vector(%zu, 16, 32, double)", 128 },
	{ "264 of 528", "vector(%zu, 33, 66, double)", 264 },
	{ "512 of 1024", "vector(%zu, 64, 128, double)", 512 },
	{ "1 of 2 KiB", "vector(%zu, 128, 256, double)", 1024 },
	{ "4 of 8 KiB", "vector(%zu, 512, 1024, double)", 4096 },
	{ "16 of 32 KiB", "vector(%zu, 2048, 4096, double)", 16384 },
	{ "128 of 257", "hvector(%zu, 128, 257, byte)", 128 },
	{ "128 of 260", "hvector(%zu, 128, 260, byte)", 128 },
	{ "512 of 1032", "hvector(%zu, 512, 1032, byte)", 512 },
	{ "12 + 8 of 48", "contiguous(%zu, resized(struct([12,8], [0,20], [byte,byte]), 0, 48))", 20 },
	{ "4 + 8 + 7 of 24",
	  "contiguous(%zu, resized(struct([1,1,7], [0,8,16], [int,double,byte]), 0, 24))", 19 },
	{ "box of 256 rows", "subarray([%zu,512,512], [%zu,256,256], [0,3,5], c, double)", 524288 },
	{ "transpose", "contiguous(%zu, resized(vector(%zu, 1, %zu, double), 0, 8))", 0 },
};

#define MUST(call) gpu_must(gpu.call, #call)

static int compare(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

static double rate(size_t bytes, float times[ROUNDS])
{
	qsort(times, ROUNDS, sizeof(times[0]), compare);
	return (double)bytes / ((double)times[ROUNDS / 2] * 1e6);
}

static float elapsed(const struct bench *bench)
{
	float milliseconds;

	MUST(EventSynchronize(bench->end));
	MUST(EventElapsedTime(&milliseconds, bench->begin, bench->end));
	return milliseconds;
}

static void open_bench(struct bench *bench)
{
	float times[ROUNDS];

	bench->span = 4 * bench->bytes + ((size_t)64 << 20);
	MUST(StreamCreate(&bench->stream, CU_STREAM_NON_BLOCKING));
	MUST(EventCreate(&bench->begin, CU_EVENT_DEFAULT));
	MUST(EventCreate(&bench->end, CU_EVENT_DEFAULT));
	MUST(MemAlloc(&bench->user, bench->span));
	MUST(MemAlloc(&bench->packed, bench->bytes));
	MUST(MemsetD8(bench->user, 7, bench->span));
	MUST(MemsetD8(bench->packed, 9, bench->bytes));
	for (int i = 0; i < ROUNDS; i++) {
		MUST(EventRecord(bench->begin, bench->stream));
		MUST(MemcpyAsync(bench->packed, bench->user, bench->bytes, bench->stream));
		MUST(EventRecord(bench->end, bench->stream));
		times[i] = elapsed(bench);
	}
	bench->copy = rate(bench->bytes, times);
	printf("device copy of %zu MiB: %.0f GB/s\n", bench->bytes >> 20, bench->copy);
}

static void fail(const struct bench *bench, const char *name)
{
	char text[512];

	dtconv_context_error(bench->context, text, sizeof(text));
	printf("%-16s %s\n", name, text);
}

/* One direction of a layout, in the order of our stream. */
static void measure(const struct bench *bench, const char *name, struct dtconv_type *type,
		    size_t bytes, bool pack)
{
	const struct dtconv_convertor_params params = { .struct_size = sizeof(params),
							.flags = DTCONV_CONVERTOR_STREAM,
							.stream = bench->stream };
	void *user = (void *)(uintptr_t)bench->user, *packed = (void *)(uintptr_t)bench->packed;
	struct dtconv_convertor *convertor;
	float times[ROUNDS];
	size_t moved;

	int status = pack ? dtconv_convertor_create_pack(type, 1, user, &convertor)
			  : dtconv_convertor_create_unpack(type, 1, user, &convertor);
	if (status) {
		fail(bench, name);
		return;
	}
	status = dtconv_convertor_configure(convertor, &params);
	for (int i = 0; i < ROUNDS && !status; i++) {
		dtconv_convertor_seek(convertor, 0);
		MUST(EventRecord(bench->begin, bench->stream));
		status = dtconv_convertor_start(convertor, packed, bytes, NULL, NULL);
		MUST(EventRecord(bench->end, bench->stream));
		if (!status)
			status = dtconv_convertor_wait(convertor, &moved);
		times[i] = elapsed(bench);
	}
	dtconv_convertor_destroy(convertor);
	if (status) {
		fail(bench, name);
		return;
	}
	double gbps = rate(bytes, times);
	printf("%-16s %-6s %7.0f GB/s  %.3f\n", name, pack ? "pack" : "unpack", gbps,
	       gbps / bench->copy);
}

static void measure_type(const struct bench *bench, const char *name, struct dtconv_type *type)
{
	struct dtconv_type_attr attr = { .struct_size = sizeof(attr) };

	if (dtconv_type_commit(type) || dtconv_type_query(type, &attr)) {
		fail(bench, name);
	} else if (attr.size > bench->bytes || (size_t)attr.true_extent > bench->span) {
		printf("%-16s does not fit\n", name);
	} else {
		measure(bench, name, type, attr.size, true);
		measure(bench, name, type, attr.size, false);
	}
	dtconv_type_unref(type);
}

/* The side of the largest square of doubles, in steps of 64. */
static size_t side_of(size_t bytes)
{
	size_t side = 64;

	while ((side + 64) * (side + 64) * 8 <= bytes)
		side += 64;
	return side;
}

static void measure_text(const struct bench *bench, size_t number)
{
	size_t unit = layouts[number].unit;
	size_t count = unit ? bench->bytes / unit : side_of(bench->bytes);
	struct dtconv_type *type;
	char text[256];

	/* Layouts with one number ignore the others. */
	snprintf(text, sizeof(text), layouts[number].text, count, count, count);
	if (dtconv_type_parse(bench->context, text, strlen(text), &type))
		fail(bench, layouts[number].name);
	else
		measure_type(bench, layouts[number].name, type);
}

/* Ascending blocks of 1 to @most doubles, gaps of @gap of them. */
static void measure_indexed(const struct bench *bench, const char *name, size_t most, size_t gap)
{
	size_t count = bench->bytes / 8 / (most + 1) * 2 * 9 / 10, at = 0;
	size_t *lengths = malloc(count * sizeof(*lengths));
	ptrdiff_t *disps = malloc(count * sizeof(*disps));
	struct dtconv_type *type;

	srand(1);
	for (size_t i = 0; lengths && disps && i < count; i++) {
		lengths[i] = 1 + (size_t)rand() % most;
		disps[i] = (ptrdiff_t)at;
		at += lengths[i] + (size_t)rand() % (gap + 1);
	}
	if (!lengths || !disps ||
	    dtconv_type_create_indexed(count, lengths, disps,
				       dtconv_type_predefined(bench->context, DTCONV_DOUBLE), &type))
		fail(bench, name);
	else
		measure_type(bench, name, type);
	free(lengths);
	free(disps);
}

/* ---- halos --------------------------------------------------------------------------------- */

#define FACES 26
#define SIDE  256 /* doubles along a box, of which the outermost are the halo's */
#define TRIES 101

/* The faces, edges and corners of a box, one deep, and where they are packed. */
struct halo {
	struct dtconv_batch_entry entries[FACES];
	size_t bytes;
};

/* Along one axis: the first inner layer, all of them, the last. */
static void write_axis(char *sub, char *start, int at, const char *comma)
{
	static const int first[] = { 1, 1, SIDE - 2 };

	sprintf(sub + strlen(sub), "%d%s", at == 1 ? SIDE - 2 : 1, comma);
	sprintf(start + strlen(start), "%d%s", first[at], comma);
}

static bool open_face(const struct bench *bench, struct halo *halo, int face,
		      size_t index)
{
	struct dtconv_batch_entry *entry = &halo->entries[index];
	struct dtconv_type_attr attr = { .struct_size = sizeof(attr) };
	char sub[64] = "", start[64] = "", text[256];

	write_axis(sub, start, face / 9, ",");
	write_axis(sub, start, face / 3 % 3, ",");
	write_axis(sub, start, face % 3, "");
	snprintf(text, sizeof(text), "subarray([%d,%d,%d], [%s], [%s], c, double)", SIDE,
		 SIDE, SIDE, sub, start);
	if (dtconv_type_parse(bench->context, text, strlen(text), &entry->type) ||
	    dtconv_type_commit(entry->type) || dtconv_type_query(entry->type, &attr))
		return false;
	entry->count = 1;
	entry->buffer = (void *)(uintptr_t)bench->user;
	entry->packed = (void *)(uintptr_t)(bench->packed + halo->bytes);
	entry->bytes = attr.size;
	halo->bytes += (attr.size + 127) / 128 * 128;
	return true;
}

/* The largest faces are in the middle of each direction; the middle of all is no face. */
static bool open_halo(const struct bench *bench, struct halo *halo)
{
	size_t index = 0;

	*halo = (struct halo){ .bytes = 0 };
	for (int face = 0; face < FACES + 1; face++)
		if (face != 13 && !open_face(bench, halo, face, index++))
			return false;
	return true;
}

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Entries one after the other, each by a call. */
static int run_calls(const struct dtconv_batch_entry entries[], size_t count)
{
	int status = 0;

	for (size_t i = 0; !status && i < count; i++)
		status = dtconv_pack(entries[i].type, 1, entries[i].buffer,
				     entries[i].packed, entries[i].bytes, NULL);
	return status;
}

/* Median microseconds until done, by the wall clock: of a batch, or of calls if there is none; 0: failed. */
static double time_halo(const struct dtconv_batch_entry entries[], size_t count,
			struct dtconv_batch *batch)
{
	double times[TRIES];

	for (int i = -5; i < TRIES; i++) {
		double begin = now_us();

		if (batch ? dtconv_batch_run(batch, NULL) : run_calls(entries, count))
			return 0;
		if (i >= 0)
			times[i] = now_us() - begin;
	}
	qsort(times, TRIES, sizeof(times[0]), compare_doubles);
	return times[TRIES / 2];
}

/* 26 packs, one batch of them, and the face that is dearest alone: of columns of single doubles. */
static void measure_halo(const struct bench *bench)
{
	struct dtconv_batch *batch = NULL;
	struct halo halo;

	if (!open_halo(bench, &halo) || halo.bytes > bench->bytes ||
	    (size_t)SIDE * SIDE * SIDE * 8 > bench->span) {
		printf("halo: does not fit\n");
		return;
	}
	if (dtconv_batch_create(bench->context, halo.entries, FACES, NULL, &batch)) {
		fail(bench, "halo");
		return;
	}
	double calls = time_halo(halo.entries, FACES, NULL);
	double together = time_halo(halo.entries, FACES, batch);
	double face = time_halo(&halo.entries[12], 1, NULL);
	printf("halo of %d^3 doubles, 26 faces: %.1f us by calls, %.1f us in a batch (%.1f x faster), "
	       "one face %.1f us (batch: %.2f x)\n",
	       SIDE, calls, together, calls / together, face, together / face);
	dtconv_batch_destroy(batch);
	for (size_t i = 0; i < FACES; i++)
		dtconv_type_unref(halo.entries[i].type);
}

int main(int argc, char **argv)
{
	struct bench bench = { .bytes = (argc > 1 ? strtoul(argv[1], NULL, 10) : 256) << 20 };

	gpu_find();
	gpu_open();
	if (!bench.bytes || dtconv_context_create(NULL, &bench.context))
		return 2;
	open_bench(&bench);
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		measure_text(&bench, i);
	measure_indexed(&bench, "1 to 64 doubles", 64, 64);
	measure_indexed(&bench, "single doubles", 1, 2);
	measure_halo(&bench);
	dtconv_context_destroy(bench.context);
	return 0;
}
