/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Columns by way of NCCL: pack, send, receive and unpack on one stream, captured as a graph and launched
 * again for every step; the host does nothing between them. One device is its own neighbour
 * here; with several, each rank does the same with its neighbours' numbers.
 *
 * Calls without a stream would not be ordered behind NCCL's work, nor behind the default stream's.
 */
#include <stdio.h>
#include <stdlib.h>

#include <cuda_runtime_api.h>
#include <dtconv/dtconv.h>
#include <nccl.h>

enum { ROWS = 512, COLUMNS = 64, STEPS = 3, SKIPPED = 77 };

struct halo {
	struct dtconv_context *context;
	struct dtconv_type *column;
	struct dtconv_convertor *pack, *unpack;
	cudaStream_t stream;
	ncclComm_t comm;
	double *matrix, *out,
		*in; /* device; column 0 receives what column COLUMNS - 2 sends */
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

static void must_nccl(ncclResult_t result)
{
	if (result == ncclSuccess)
		return;
	fprintf(stderr, "%s\n", ncclGetErrorString(result));
	exit(EXIT_FAILURE);
}

static void make_convertors(struct halo *h)
{
	const struct dtconv_convertor_params params = {
		.struct_size = sizeof(params),
		.flags = DTCONV_CONVERTOR_STREAM,
		.user_memory = DTCONV_MEMORY_DEVICE,
		.packed_memory = DTCONV_MEMORY_DEVICE,
		.stream = h->stream
	};

	check(h->context,
	      dtconv_type_create_vector(ROWS, 1, COLUMNS,
					dtconv_type_predefined(h->context, DTCONV_DOUBLE),
					&h->column));
	check(h->context, dtconv_type_commit(h->column));
	check(h->context, dtconv_convertor_create_pack(
				  h->column, 1, h->matrix + COLUMNS - 2, &h->pack));
	check(h->context,
	      dtconv_convertor_create_unpack(h->column, 1, h->matrix, &h->unpack));
	check(h->context, dtconv_convertor_configure(h->pack, &params));
	check(h->context, dtconv_convertor_configure(h->unpack, &params));
}

/* A started job in a captured stream is part of the graph, and done as far as its convertor goes. */
static void start(struct halo *h, struct dtconv_convertor *convertor, double *packed)
{
	check(h->context, dtconv_convertor_seek(convertor, 0));
	check(h->context, dtconv_convertor_start(convertor, packed, ROWS * sizeof(double),
						 NULL, NULL));
}

static void queue_step(struct halo *h)
{
	start(h, h->pack, h->out);
	must_nccl(ncclGroupStart());
	must_nccl(ncclSend(h->out, ROWS, ncclDouble, 0, h->comm, h->stream));
	must_nccl(ncclRecv(h->in, ROWS, ncclDouble, 0, h->comm, h->stream));
	must_nccl(ncclGroupEnd());
	start(h, h->unpack, h->in);
	check(h->context, dtconv_convertor_wait(h->pack, NULL));
	check(h->context, dtconv_convertor_wait(h->unpack, NULL));
}

/* What steps need is made before: the kernels by dtconv_prepare, NCCL's part by a step that is not captured. */
static cudaGraphExec_t record_step(struct halo *h)
{
	const struct dtconv_convertor_params params = { .struct_size = sizeof(params),
							.flags = DTCONV_CONVERTOR_STREAM,
							.stream = h->stream };
	cudaGraphExec_t step;
	cudaGraph_t graph;

	check(h->context, dtconv_prepare(h->context, 0, h->column, 1, &params));
	queue_step(h);
	must(cudaStreamSynchronize(h->stream));
	must(cudaStreamBeginCapture(h->stream, cudaStreamCaptureModeThreadLocal));
	queue_step(h);
	must(cudaStreamEndCapture(h->stream, &graph));
	must(cudaGraphInstantiateWithFlags(&step, graph, 0));
	must(cudaGraphDestroy(graph));
	return step;
}

static int run_step(struct halo *h, cudaGraphExec_t step, double *matrix, int number)
{
	size_t bytes = ROWS * COLUMNS * sizeof(double);
	int wrong = 0;

	for (int i = 0; i < ROWS * COLUMNS; i++)
		matrix[i] = number * ROWS * COLUMNS + i;
	must(cudaMemcpyAsync(h->matrix, matrix, bytes, cudaMemcpyDefault, h->stream));
	must(cudaGraphLaunch(step, h->stream));
	must(cudaMemcpyAsync(matrix, h->matrix, bytes, cudaMemcpyDefault, h->stream));
	must(cudaStreamSynchronize(h->stream));
	for (int row = 0; row < ROWS; row++)
		wrong += matrix[row * COLUMNS] != matrix[row * COLUMNS + COLUMNS - 2];
	return wrong;
}

static void open_halo(struct halo *h)
{
	int device = 0;

	must(cudaStreamCreate(&h->stream));
	must(cudaMalloc((void **)&h->matrix, ROWS * COLUMNS * sizeof(double)));
	must(cudaMalloc((void **)&h->out, ROWS * sizeof(double)));
	must(cudaMalloc((void **)&h->in, ROWS * sizeof(double)));
	must(cudaMemset(h->matrix, 0, ROWS * COLUMNS * sizeof(double)));
	must(cudaDeviceSynchronize());
	must_nccl(ncclCommInitAll(&h->comm, 1, &device));
	make_convertors(h);
}

static void close_halo(struct halo *h)
{
	dtconv_convertor_destroy(h->pack);
	dtconv_convertor_destroy(h->unpack);
	dtconv_type_unref(h->column);
	dtconv_context_destroy(h->context);
	must_nccl(ncclCommDestroy(h->comm));
	must(cudaFree(h->in));
	must(cudaFree(h->out));
	must(cudaFree(h->matrix));
	must(cudaStreamDestroy(h->stream));
}

int main(void)
{
	static double matrix[ROWS * COLUMNS];
	struct halo h;
	cudaGraphExec_t step;
	int devices = 0, wrong = 0;

	if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
		puts("there is no CUDA device");
		return SKIPPED;
	}
	if (dtconv_context_create(NULL, &h.context) != 0)
		return EXIT_FAILURE;
	open_halo(&h);
	step = record_step(&h);
	for (int number = 0; number < STEPS; number++)
		wrong += run_step(&h, step, matrix, number);
	printf("%d steps of one graph: %d elements wrong\n", STEPS, wrong);
	must(cudaGraphExecDestroy(step));
	close_halo(&h);
	return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
