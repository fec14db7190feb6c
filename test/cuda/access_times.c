/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What it costs to open memory to another device: allocations of the driver, without and with peer access between two
 * devices, which opens all of them, beside segments, which are opened one by one. By the host's clock, medians.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include <dtconv/dtconv.h>

#include "support/gpu.h"
#include "support/times.h"

#define ROUNDS 51
#define BYTES  ((size_t)64 << 20)

static struct dtconv_context *context;
static struct dtconv_segment *segment;
static double times[ROUNDS];

static void must(int status, const char *what)
{
	if (!status)
		return;
	fprintf(stderr, "access_times: %s answered %d\n", what, status);
	exit(EXIT_FAILURE);
}

static void print_median(const char *what, void (*run)(void))
{
	for (int i = 0; i < ROUNDS; i++) {
		const double begun = times_now_us();

		run();
		times[i] = times_now_us() - begun;
	}
	printf("%-60s %9.1f\n", what, times_median(times, ROUNDS));
}

/* ---- what is measured -------------------------------------------------------------------- */

static void allocate(void)
{
	CUdeviceptr memory;

	must((int)gpu.MemAlloc(&memory, BYTES), "cuMemAlloc");
	must((int)gpu.MemFree(memory), "cuMemFree");
}

static void grow(void)
{
	must(dtconv_segment_grow(segment, BYTES), "dtconv_segment_grow");
	must(dtconv_segment_shrink(segment, BYTES), "dtconv_segment_shrink");
}

static void set_access(void)
{
	must(dtconv_segment_set_access(segment, 1, DTCONV_SEGMENT_READ_WRITE),
	     "dtconv_segment_set_access");
	must(dtconv_segment_set_access(segment, 1, DTCONV_SEGMENT_NONE),
	     "dtconv_segment_set_access");
}

static void create(void)
{
	const struct dtconv_segment_params params = { .struct_size = sizeof(params),
						      .start_bytes = BYTES };
	struct dtconv_segment *made;

	must(dtconv_segment_create(context, &params, &made), "dtconv_segment_create");
	must(dtconv_segment_destroy(made), "dtconv_segment_destroy");
}

/* ---- two devices ------------------------------------------------------------------------- */

static bool has_peer(void)
{
	int devices = 0, reaches = 0;

	must((int)gpu.DeviceGetCount(&devices), "cuDeviceGetCount");
	if (devices > 1)
		must((int)gpu.DeviceCanAccessPeer(&reaches, 0, 1),
		     "cuDeviceCanAccessPeer");
	return reaches;
}

/* Device 1's context may access all memory of device 0's. */
static void open_to_peer(CUcontext own, CUcontext peer)
{
	must((int)gpu.CtxSetCurrent(peer), "cuCtxSetCurrent");
	must((int)gpu.CtxEnablePeerAccess(own, 0), "cuCtxEnablePeerAccess");
	must((int)gpu.CtxSetCurrent(own), "cuCtxSetCurrent");
}

static void measure_peer(void)
{
	CUcontext own, peer;

	must((int)gpu.CtxGetCurrent(&own), "cuCtxGetCurrent");
	must((int)gpu.DevicePrimaryCtxRetain(&peer, 1), "cuDevicePrimaryCtxRetain");
	must(dtconv_segment_set_access(segment, 1, DTCONV_SEGMENT_READ_WRITE),
	     "dtconv_segment_set_access");
	print_median("grow and shrink a segment that device 1 has access to", grow);
	print_median("set and take back the access of device 1 to 2 MiB", set_access);
	open_to_peer(own, peer);
	print_median("cuMemAlloc, cuMemFree, device 1 with peer access", allocate);
	must((int)gpu.DevicePrimaryCtxRelease(1), "cuDevicePrimaryCtxRelease");
}

int main(void)
{
	gpu_open_in_program();
	must(dtconv_context_create(NULL, &context), "dtconv_context_create");
	const struct dtconv_segment_params params = { .struct_size = sizeof(params) };
	must(dtconv_segment_create(context, &params, &segment), "dtconv_segment_create");
	printf("%-60s %9s\n", "64 MiB of device 0", "us");
	print_median("cuMemAlloc, cuMemFree", allocate);
	print_median("create and destroy a segment", create);
	print_median("grow and shrink a segment", grow);
	if (has_peer())
		measure_peer();
	must(dtconv_segment_destroy(segment), "dtconv_segment_destroy");
	dtconv_context_destroy(context);
	return 0;
}
