/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two processes share device memory by file descriptors, as those of NVIDIA's sample memMapIPCDrv do. The child packs
 * columns of a matrix in its device memory straight into a segment of the parent. Then the parent grows the segment
 * in place, and the child packs the other columns into the new part. doc/sharing-device-memory.md explains it.
 *
 * The driver is opened at run time, so that the program starts on a machine without one. An application links with
 * libcuda, or calls cudaSetDevice(); the library needs no more than a device context.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda.h>
#include <dtconv/dtconv.h>

enum { ROWS = 4096, COLUMNS = 128, HALF = COLUMNS / 2, SKIPPED = 77 };

#define HALF_BYTES (ROWS * HALF * sizeof(double))

static struct dtconv_context *context;
static struct dtconv_type *half; /* HALF neighbouring columns */
static double matrix[ROWS * COLUMNS];

static void check(int status)
{
	char sentence[256] = "";

	if (status == 0)
		return;
	dtconv_context_error(context, sentence, sizeof(sentence));
	fprintf(stderr, "%s: %s\n", dtconv_strerror(status), sentence);
	exit(EXIT_FAILURE);
}

static void expect(int holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "%s\n", what);
	exit(EXIT_FAILURE);
}

/* Makes the primary context of device 0 current, as the CUDA runtime does. */
static int open_device(void)
{
	CUresult (*init)(unsigned);
	CUresult (*retain)(CUcontext *, CUdevice);
	CUresult (*set_current)(CUcontext);
	CUcontext primary;
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);

	if (!driver)
		return 0;
	*(void **)&init = dlsym(driver, "cuInit");
	*(void **)&retain = dlsym(driver, "cuDevicePrimaryCtxRetain");
	*(void **)&set_current = dlsym(driver, "cuCtxSetCurrent");
	return !init(0) && !retain(&primary, 0) && !set_current(primary);
}

static struct dtconv_segment *create_segment(size_t bytes)
{
	const struct dtconv_segment_params params = { .struct_size = sizeof(params),
						      .device = -1,
						      .start_bytes = bytes };
	struct dtconv_segment *segment;

	check(dtconv_segment_create(context, &params, &segment));
	return segment;
}

static struct dtconv_segment_attr query(struct dtconv_segment *segment)
{
	struct dtconv_segment_attr attr = { .struct_size = sizeof(attr) };

	check(dtconv_segment_query(segment, &attr));
	return attr;
}

/* Columns that have not arrived yet are 0. */
static double value_at(int i, int columns)
{
	return i % COLUMNS < columns ? i + 1 : 0;
}

static void run_parent(int socket)
{
	struct dtconv_segment *segment = create_segment(HALF_BYTES);
	char *const base = query(segment).base, *place = base;
	char packed;

	for (int columns = HALF; columns <= COLUMNS; columns += HALF) {
		check(dtconv_segment_send(segment, socket));
		expect(recv(socket, &packed, 1, 0) == 1, "the child has ended");
		check(dtconv_unpack(half, 1, matrix + columns - HALF, place, HALF_BYTES,
				    NULL));
		for (int i = 0; i < ROWS * COLUMNS; i++)
			expect(matrix[i] == value_at(i, columns), "a wrong number");
		place = base + query(segment).bytes;
		if (columns < COLUMNS)
			check(dtconv_segment_grow(segment, HALF_BYTES));
	}
	check(dtconv_segment_destroy(segment));
}

/* Its matrix is in a segment of its own; memory of cudaMalloc would do as well. */
static void run_child(int socket)
{
	struct dtconv_segment *own = create_segment(sizeof(matrix)), *shared = NULL;
	double *const from = query(own).base;
	char *base = NULL, *place;
	size_t used = 0;

	for (int i = 0; i < ROWS * COLUMNS; i++)
		matrix[i] = value_at(i, COLUMNS);
	check(dtconv_unpack(dtconv_type_predefined(context, DTCONV_DOUBLE),
			    ROWS * COLUMNS, from, matrix, sizeof(matrix), NULL));
	for (int column = 0; column < COLUMNS; column += HALF) {
		check(dtconv_segment_receive(context, socket, NULL, &shared));
		place = query(shared).base;
		expect(!base || place == base, "the segment has moved");
		base = place;
		/* The device has written all of it when dtconv_pack() returns. */
		check(dtconv_pack(half, 1, from + column, base + used, HALF_BYTES, NULL));
		used = query(shared).bytes;
		expect(send(socket, "", 1, MSG_NOSIGNAL) == 1, "the parent has ended");
	}
	check(dtconv_segment_destroy(shared));
	check(dtconv_segment_destroy(own));
}

/* Returns 0 if there is no device. */
static int prepare(void)
{
	if (!open_device())
		return 0;
	check(dtconv_context_create(NULL, &context));
	check(dtconv_type_create_vector(ROWS, HALF, COLUMNS,
					dtconv_type_predefined(context, DTCONV_DOUBLE),
					&half));
	check(dtconv_type_commit(half));
	return 1;
}

int main(void)
{
	int sockets[2], status = 0;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return EXIT_FAILURE;
	/* Before anything uses CUDA. */
	const pid_t child = fork();
	close(sockets[child != 0]);
	if (!prepare()) {
		if (child != 0)
			puts("there is no CUDA device");
		return SKIPPED;
	}
	if (child == 0)
		run_child(sockets[1]);
	else
		run_parent(sockets[0]);
	dtconv_type_unref(half);
	dtconv_context_destroy(context);
	if (child == 0)
		return EXIT_SUCCESS;
	if (waitpid(child, &status, 0) != child || status)
		return EXIT_FAILURE;
	puts("8192 blocks packed into another process's segment, which grew in place");
	return EXIT_SUCCESS;
}
