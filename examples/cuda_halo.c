/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The halo of a box in device memory: 26 neighbours, and what goes to all of them packed by one batch, what
 * comes from them unpacked by another, both in the order of a stream. Here the box is its own
 * neighbour on all sides, so that one process shows it; else a transport would move the packed bytes.
 *
 * The stream is given because calls without one are not ordered behind the application's CUDA work, not even behind the
 * default stream. An application of the default stream gives DTCONV_STREAM_LEGACY, or creates its context with
 * DTCONV_CONTEXT_DEFAULT_STREAM.
 */
#include <stdio.h>
#include <stdlib.h>

#include <cuda_runtime_api.h>
#include <dtconv/dtconv.h>

enum { N = 34, RIM = 1, INSIDE = N - 2 * RIM, NEIGHBOURS = 26, SKIPPED = 77 };

struct exchange {
	struct dtconv_context *context;
	cudaStream_t stream;
	double *box;                   /* device: N x N x N */
	char *packed;                  /* device: all messages, one after the other */
	struct dtconv_batch *out, *in; /* packing, unpacking */
};

static void check(struct dtconv_context *context, int status)
{
	char sentence[256];

	if (status == 0)
		return;
	dtconv_context_error(context, sentence, sizeof(sentence));
	fprintf(stderr, "%s\n", sentence);
	exit(EXIT_FAILURE);
}

static void must(cudaError_t error)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "%s\n", cudaGetErrorString(error));
	exit(EXIT_FAILURE);
}

/* What goes to a neighbour, -1, 0 or 1 away on each axis, or what comes from it into our rim. */
static struct dtconv_type *make_piece(struct dtconv_context *context, const int to[3],
				      int comes)
{
	size_t whole[3] = { N, N, N }, part[3], start[3];
	struct dtconv_type *type;

	for (int axis = 0; axis < 3; axis++) {
		part[axis] = to[axis] == 0 ? INSIDE : RIM;
		start[axis] = to[axis] <= 0 ? RIM : INSIDE;
		if (comes && to[axis] != 0)
			start[axis] = to[axis] < 0 ? 0 : N - RIM;
	}
	check(context, dtconv_type_create_subarray(
			       3, whole, part, start, DTCONV_ORDER_C,
			       dtconv_type_predefined(context, DTCONV_DOUBLE), &type));
	check(context, dtconv_type_commit(type));
	return type;
}

/* The batch of one direction. What we send to one side comes back to us from the other. */
static struct dtconv_batch *make_batch(const struct exchange *e, int comes)
{
	const struct dtconv_batch_params params = { .struct_size = sizeof(params),
						    .flags = DTCONV_BATCH_STREAM,
						    .stream = e->stream };
	struct dtconv_batch_entry entries[NEIGHBOURS];
	struct dtconv_batch *batch;
	char *packed = e->packed;

	for (int i = 0; i < NEIGHBOURS; i++) {
		int place = i < NEIGHBOURS / 2 ? i : i + 1, side = comes ? -1 : 1;
		int to[3] = { side * (place / 9 - 1), side * (place / 3 % 3 - 1),
			      side * (place % 3 - 1) };
		struct dtconv_type_attr attr = { .struct_size = sizeof(attr) };
		struct dtconv_type *type = make_piece(e->context, to, comes);

		check(e->context, dtconv_type_query(type, &attr));
		entries[i] = (struct dtconv_batch_entry){
			.type = type,
			.count = 1,
			.buffer = e->box,
			.packed = packed,
			.bytes = attr.size,
			.direction = comes ? DTCONV_BATCH_UNPACK : DTCONV_BATCH_PACK,
			.user_memory = DTCONV_MEMORY_DEVICE,
			.packed_memory = DTCONV_MEMORY_DEVICE,
		};
		packed += attr.size;
	}
	check(e->context,
	      dtconv_batch_create(e->context, entries, NEIGHBOURS, &params, &batch));
	for (int i = 0; i < NEIGHBOURS; i++)
		dtconv_type_unref(entries[i].type);
	return batch;
}

/* Both are queued; the host waits once, at the end. */
static void exchange(const struct exchange *e)
{
	check(e->context, dtconv_batch_start(e->out, NULL, NULL));
	check(e->context, dtconv_batch_start(e->in, NULL, NULL));
	check(e->context, dtconv_batch_wait(e->out, NULL));
	check(e->context, dtconv_batch_wait(e->in, NULL));
}

/* The inside, numbered; the rim, which is to become the other side's inside, is -1. */
static double value_at(int x, int y, int z)
{
	return (x * N + y) * N + z;
}

static int is_rim(int i)
{
	return i < RIM || i >= N - RIM;
}

static int wrapped(int i)
{
	return i < RIM ? i + INSIDE : i >= N - RIM ? i - INSIDE : i;
}

static void fill(double *box)
{
	for (int i = 0; i < N * N * N; i++) {
		int x = i / N / N, y = i / N % N, z = i % N;

		box[i] = is_rim(x) || is_rim(y) || is_rim(z) ? -1 : value_at(x, y, z);
	}
}

static int count_wrong(const double *box)
{
	int wrong = 0;

	for (int i = 0; i < N * N * N; i++)
		wrong += box[i] !=
			 value_at(wrapped(i / N / N), wrapped(i / N % N), wrapped(i % N));
	return wrong;
}

int main(void)
{
	static double box[N * N * N];
	struct exchange e;
	int devices = 0, wrong;

	if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
		puts("there is no CUDA device");
		return SKIPPED;
	}
	if (dtconv_context_create(NULL, &e.context) != 0)
		return EXIT_FAILURE;
	must(cudaStreamCreate(&e.stream));
	must(cudaMalloc((void **)&e.box, sizeof(box)));
	must(cudaMalloc((void **)&e.packed, sizeof(box)));
	e.out = make_batch(&e, 0);
	e.in = make_batch(&e, 1);
	fill(box);
	must(cudaMemcpyAsync(e.box, box, sizeof(box), cudaMemcpyDefault, e.stream));
	exchange(&e);
	must(cudaMemcpyAsync(box, e.box, sizeof(box), cudaMemcpyDefault, e.stream));
	must(cudaStreamSynchronize(e.stream));
	wrong = count_wrong(box);
	printf("26 neighbours in two launches: %d elements wrong\n", wrong);
	dtconv_batch_destroy(e.in);
	dtconv_batch_destroy(e.out);
	dtconv_context_destroy(e.context);
	must(cudaFree(e.packed));
	must(cudaFree(e.box));
	must(cudaStreamDestroy(e.stream));
	return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
