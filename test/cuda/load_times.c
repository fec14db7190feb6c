/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long the driver takes to load the library's kernels, by the host's clock: each image alone and with all its
 * functions, then what a program waits for, the first pack of a new context and the second, without dtconv_prepare and
 * after it. An argument is a file with another image of the moving kernels (of the resident kernel, if its name says
 * so), such as one that is compressed in another way.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dtconv/dtconv.h>

#include "base/base.h"
#include "kernels/images/images.h"
#include "kernels/launch/launch.h"
#include "support/gpu.h"
#include "support/times.h"

#define ROUNDS 21

struct times {
	const char *name;
	double us[ROUNDS]; /* the first one is cold */
};

static void print_times(struct times *times, size_t bytes)
{
	double first = times->us[0];

	const double median = times_median(times->us, ROUNDS);
	printf("%-36s %9zu %10.1f %10.1f %10.1f\n", times->name, bytes, first,
	       times->us[0], median);
}

static void must(int status, const char *what)
{
	if (!status)
		return;
	fprintf(stderr, "load_times: %s answered %d\n", what, status);
	exit(EXIT_FAILURE);
}

/* ---- images ---------------------------------------------------------------------------- */

/* What is asked of a module once it is loaded. */
enum functions { NO_FUNCTION, MOVING, TYPED, RESIDENT };

static void get_function(CUmodule module, const char *name)
{
	CUfunction function;

	must((int)gpu.ModuleGetFunction(&function, module, name), "cuModuleGetFunction");
}

static void get_set(CUmodule module, enum dtc_gpu_set set)
{
	for (unsigned i = 0; i < DTC_GPU_KERNELS; i++)
		if (dtc_gpu_kernel_set(i) == set)
			get_function(module, dtc_gpu_kernel_name(i));
}

static void load(const void *data, enum functions functions)
{
	CUmodule module;

	must((int)gpu.ModuleLoadData(&module, data), "cuModuleLoadData");
	if (functions == RESIDENT)
		get_function(module, "dtc_gpu_resident");
	else if (functions != NO_FUNCTION)
		get_set(module,
			functions == MOVING ? DTC_GPU_SET_MOVING : DTC_GPU_SET_TYPED);
	must((int)gpu.ModuleUnload(module), "cuModuleUnload");
}

static void time_loads(const char *name, const void *data, size_t bytes,
		       enum functions functions)
{
	struct times times = { .name = name };

	for (size_t i = 0; i < ROUNDS; i++) {
		double begin = times_now_us();

		load(data, functions);
		times.us[i] = times_now_us() - begin;
	}
	print_times(&times, bytes);
}

static void time_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	long bytes = -1;

	if (file && !fseek(file, 0, SEEK_END))
		bytes = ftell(file);
	char *data = bytes > 0 ? calloc((size_t)bytes + 1, 1) : NULL;
	if (!data || fseek(file, 0, SEEK_SET) ||
	    fread(data, 1, (size_t)bytes, file) != (size_t)bytes) {
		fprintf(stderr, "load_times: cannot read %s\n", path);
		exit(EXIT_FAILURE);
	}
	fclose(file);
	time_loads(path, data, (size_t)bytes,
		   strstr(path, "resident") ? RESIDENT : MOVING);
	free(data);
}

/* ---- packs ----------------------------------------------------------------------------- */

static double time_pack(struct dtconv_type *type, const struct arena *from,
			const struct arena *to)
{
	double begin = times_now_us();

	must(dtconv_pack(type, 1, from->memory, to->memory, to->bytes, NULL),
	     "dtconv_pack");
	return times_now_us() - begin;
}

/* One type needs nothing on the device, the other one its program. */
static void time_packs(const char *text, bool prepared)
{
	struct times preparations = { .name = "dtconv_prepare" };
	struct times firsts = { .name = prepared ? "first pack after it"
						 : "first pack of a context" };
	struct times seconds = { .name = "second pack" };
	struct arena from, to;

	printf("%.60s\n", text);
	arena_open(&from, ARENA_DEVICE, (size_t)2 << 20);
	arena_open(&to, ARENA_DEVICE, (size_t)1 << 20);
	for (size_t i = 0; i < ROUNDS; i++) {
		struct dtconv_context *context;
		struct dtconv_type *type;

		must(dtconv_context_create(NULL, &context), "dtconv_context_create");
		must(dtconv_type_parse(context, text, strlen(text), &type),
		     "dtconv_type_parse");
		must(dtconv_type_commit(type), "dtconv_type_commit");
		double begin = times_now_us();
		if (prepared)
			must(dtconv_prepare(context, 0, type, 1, NULL), "dtconv_prepare");
		preparations.us[i] = times_now_us() - begin;
		firsts.us[i] = time_pack(type, &from, &to);
		seconds.us[i] = time_pack(type, &from, &to);
		dtconv_type_unref(type);
		dtconv_context_destroy(context);
	}
	if (prepared)
		print_times(&preparations, to.bytes);
	print_times(&firsts, to.bytes);
	print_times(&seconds, to.bytes);
	arena_close(&from);
	arena_close(&to);
}

static uint32_t compute(void)
{
	int major = 0, minor = 0;

	must((int)gpu.DeviceGetAttribute(&major,
					 CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0),
	     "cuDeviceGetAttribute");
	must((int)gpu.DeviceGetAttribute(&minor,
					 CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0),
	     "cuDeviceGetAttribute");
	return (uint32_t)(major * 10 + minor);
}

int main(int argc, char **argv)
{
	gpu_find();
	gpu_open();
	const struct dtc_gpu_image *image = dtc_gpu_image_for(compute());
	const struct dtc_gpu_image *typed = dtc_gpu_typed_for(compute());
	const struct dtc_gpu_image *resident = dtc_gpu_resident_for(compute());
	if (!image || !typed || !resident) {
		printf("this library has no kernels for the device\n");
		return 77;
	}
	printf("%-36s %9s %10s %10s %10s\n",
	       gpu_is_real() ? "us" : "us (no device: the stand-in)", "bytes", "cold",
	       "least", "median");
	time_loads("kernels that move, no function", image->data, image->bytes,
		   NO_FUNCTION);
	time_loads("kernels that move", image->data, image->bytes, MOVING);
	time_loads("kernels that compute, no function", typed->data, typed->bytes,
		   NO_FUNCTION);
	time_loads("kernels that compute", typed->data, typed->bytes, TYPED);
	time_loads("resident kernel", resident->data, resident->bytes, RESIDENT);
	for (int i = 1; i < argc; i++)
		time_file(argv[i]);
	for (int prepared = 0; prepared < 2; prepared++) {
		time_packs("vector(65536, 2, 4, double)", prepared);
		time_packs("contiguous(2000, resized(indexed([1,2,1,3,1,2,1,2,1,5],"
			   "[0,9,20,30,40,50,60,70,80,90], double), 0, 800))",
			   prepared);
	}
	return EXIT_SUCCESS;
}
