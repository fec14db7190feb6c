/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The measurements of dtconv tune: two contexts, one that writes every target with non-temporal
 * stores and one that writes none, move the same bytes in turn. tune_decide.c decides.
 */
#include "config.h"

#include "tools.h"
#include "tune.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/harness/engine.h"

#define SMALLEST_BYTES ((size_t)1 << 20)
#define LARGEST_BYTES  (SMALLEST_BYTES << (TUNE_SIZES - 1))

/* Blocks of eight cache lines, every second one: kernels of both kinds take them. */
#define BLOCK_BYTES  512
#define STRIDE_BYTES 1024

/* Bytes that a sample moves at least, so that a reading of the clock does not matter. */
#define SAMPLE_BYTES ((size_t)16 << 20)

/* Calls of each direction that do not count. */
#define SETTLING_CALLS 4

/* Both ways to write. */
enum way { THROUGH, PAST, WAYS };

struct bench {
	struct dtconv_context *context[WAYS];
	struct dtconv_type *type[WAYS][TUNE_SIZES];
	char *user, *packed;
};

/* ---- a context with the threshold at one end --------------------------------------------- */

/* A file that only this process can read; NULL after printing an error. */
static char *write_temporary(const char *text)
{
	const char *folder = getenv("TMPDIR");
	char *path = NULL;
	int file = -1;

	if (asprintf(&path, "%s/dtconv-tune.XXXXXX",
		     folder && *folder ? folder : "/tmp") < 0)
		path = NULL;
	if (path)
		file = mkstemp(path);
	if (file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text) &&
	    close(file) == 0)
		return path;
	tool_fail("tune", TOOL_FAILED, "cannot write a temporary file '%s': %s",
		  path ? path : "", strerror(errno));
	if (file >= 0)
		unlink(path);
	free(path);
	return NULL;
}

/* The library has to have taken the value, or both ways would be the same. */
static int check_threshold(struct dtconv_context *context, uint64_t value)
{
	struct dtconv_threshold threshold = { .struct_size = sizeof(threshold) };

	for (size_t i = 0; !dtconv_context_query_threshold(context, i, NULL, &threshold);
	     i++) {
		if (strcmp(threshold.name, "stream_bytes") != 0)
			continue;
		if (threshold.value == value)
			return TOOL_OK;
		break;
	}
	return tool_fail("tune", TOOL_FAILED,
			 "the library rejects stream_bytes %" PRIu64
			 " from a file (it reports %" PRIu64 ")",
			 value, threshold.value);
}

/* Created with a file for DTCONV_TUNING that sets the threshold; then the environment is as before. */
static int create_context(uint64_t value, struct dtconv_context **context)
{
	/* other threads would disturb the comparison */
	const struct dtconv_context_params params = { .struct_size = sizeof(params),
						      .threads = 1 };
	const char *set = getenv("DTCONV_TUNING");
	char *before = set ? strdup(set) : NULL;
	char text[64];

	snprintf(text, sizeof(text), "stream_bytes %" PRIu64 "\n", value);
	char *path = write_temporary(text);
	if (!path) {
		free(before);
		return TOOL_FAILED;
	}
	setenv("DTCONV_TUNING", path, 1);
	int status = dtconv_context_create(&params, context);
	if (before)
		setenv("DTCONV_TUNING", before, 1);
	else
		unsetenv("DTCONV_TUNING");
	unlink(path);
	free(path);
	free(before);
	if (status)
		return tool_fail("tune", TOOL_FAILED, "cannot create a context: %s",
				 dtconv_strerror(status));
	return check_threshold(*context, value);
}

/* ---- the bench --------------------------------------------------------------------------- */

static int create_type(struct dtconv_context *context, size_t bytes,
		       struct dtconv_type **type)
{
	struct dtconv_type *byte = dtconv_type_predefined(context, DTCONV_BYTE);
	int status = dtconv_type_create_vector(bytes / BLOCK_BYTES, BLOCK_BYTES,
					       STRIDE_BYTES, byte, type);

	if (!status)
		status = dtconv_type_commit(*type);
	return status ? tool_library_failed("tune", context, status) : TOOL_OK;
}

/* Every page is there before anything is timed. */
static char *create_memory(size_t bytes)
{
	char *memory = aligned_alloc(4096, bytes);

	if (memory)
		memset(memory, 1, bytes);
	else
		tool_fail("tune", TOOL_FAILED, "cannot allocate a buffer of %zu bytes",
			  bytes);
	return memory;
}

/* Check the result of what is timed. */
static int try_moves(const struct bench *bench)
{
	for (size_t way = 0; way < WAYS; way++) {
		struct dtconv_type *type = bench->type[way][0];
		int status = dtconv_pack(type, 1, bench->user, bench->packed,
					 SMALLEST_BYTES, NULL);

		if (!status)
			status = dtconv_unpack(type, 1, bench->user, bench->packed,
					       SMALLEST_BYTES, NULL);
		if (status)
			return tool_library_failed("tune", bench->context[way], status);
	}
	return TOOL_OK;
}

static int open_bench(struct bench *bench, const size_t *bytes)
{
	static const uint64_t ends[] = { [THROUGH] = INT64_MAX, [PAST] = 0 };
	int status = TOOL_OK;

	for (size_t way = 0; way < WAYS && !status; way++) {
		status = create_context(ends[way], &bench->context[way]);
		for (size_t i = 0; i < TUNE_SIZES && !status; i++)
			status = create_type(bench->context[way], bytes[i],
					     &bench->type[way][i]);
	}
	if (status)
		return status;
	bench->user = create_memory(LARGEST_BYTES / BLOCK_BYTES * STRIDE_BYTES);
	bench->packed = bench->user ? create_memory(LARGEST_BYTES) : NULL;
	return bench->packed ? try_moves(bench) : TOOL_FAILED;
}

static void close_bench(struct bench *bench)
{
	free(bench->user);
	free(bench->packed);
	for (size_t way = 0; way < WAYS; way++) {
		for (size_t i = 0; i < TUNE_SIZES; i++)
			dtconv_type_unref(bench->type[way][i]);
		dtconv_context_destroy(bench->context[way]);
	}
}

/* ---- the clock --------------------------------------------------------------------------- */

static double time_call(const struct bench *bench, struct dtconv_type *type, size_t bytes,
			enum tune_direction direction)
{
	double start = bench_now();

	if (direction == TUNE_PACK)
		dtconv_pack(type, 1, bench->user, bench->packed, bytes, NULL);
	else
		dtconv_unpack(type, 1, bench->user, bench->packed, bytes, NULL);
	return bench_now() - start;
}

/*
 * Nanoseconds a call of either direction. They take turns, so that what one has written is read by the
 * other: a way that leaves it where it is slow to read pays for that. The caches need a few turns to settle
 * after the other way.
 */
static void time_calls(const struct bench *bench, struct dtconv_type *type, size_t bytes,
		       double ns[TUNE_DIRECTIONS])
{
	size_t calls = bytes < SAMPLE_BYTES ? SAMPLE_BYTES / bytes : 1;

	memset(ns, 0, TUNE_DIRECTIONS * sizeof(*ns));
	for (size_t i = 0; i < calls + SETTLING_CALLS; i++) {
		for (int direction = 0; direction < TUNE_DIRECTIONS; direction++) {
			double passed = time_call(bench, type, bytes,
						  (enum tune_direction)direction);

			if (i >= SETTLING_CALLS)
				ns[direction] += passed / (double)calls;
		}
	}
}

/* The order alternates from round to round. */
static void measure_round(const struct bench *bench, struct tune_measurements *m)
{
	size_t round = m->rounds;

	for (size_t i = 0; i < TUNE_SIZES; i++) {
		for (size_t turn = 0; turn < WAYS; turn++) {
			enum way way = (turn + round) % WAYS ? PAST : THROUGH;
			double ns[TUNE_DIRECTIONS];

			time_calls(bench, bench->type[way][i], m->bytes[i], ns);
			for (int direction = 0; direction < TUNE_DIRECTIONS;
			     direction++) {
				struct tune_samples *samples = &m->samples[i][direction];

				(way == PAST ? samples->past : samples->through)[round] =
					ns[direction];
			}
		}
	}
	m->rounds++;
}

static void show_progress(double part)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\rmeasuring: %.0f %% ", 100 * (part < 1 ? part : 1));
}

static void clear_progress(void)
{
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

int tune_measure(double seconds, struct tune_measurements *measurements)
{
	struct bench bench = { .user = NULL };

	measurements->rounds = 0;
	for (size_t i = 0; i < TUNE_SIZES; i++)
		measurements->bytes[i] = SMALLEST_BYTES << i;
	int status = open_bench(&bench, measurements->bytes);
	double start = bench_now(), passed = 0;
	while (!status && measurements->rounds < TUNE_MAX_ROUNDS &&
	       (measurements->rounds < TUNE_MIN_ROUNDS || passed < seconds)) {
		show_progress(passed / seconds);
		measure_round(&bench, measurements);
		passed = (bench_now() - start) / 1e9;
	}
	clear_progress();
	close_bench(&bench);
	return status;
}
