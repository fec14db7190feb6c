/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long the driver takes to load the library's kernels, by the host's clock: each image with all its
 * functions, then what a program waits for, the first pack of a new context and the second. An argument
 * is a file with another image of the same kernels, such as one that is compressed in another way.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <dtconv/dtconv.h>

#include "base/base.h"
#include "kernels/images/images.h"
#include "kernels/launch/launch.h"
#include "support/gpu.h"

#define ROUNDS 21

struct times {
	const char *name;
	double us[ROUNDS]; /* the first one is cold */
};

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_times(struct times *times, size_t bytes)
{
	double first = times->us[0];

	qsort(times->us, ROUNDS, sizeof(times->us[0]), compare);
	printf("%-36s %9zu %10.1f %10.1f %10.1f\n", times->name, bytes, first,
	       times->us[0], times->us[ROUNDS / 2]);
}

static void must(int status, const char *what)
{
	if (!status)
		return;
	fprintf(stderr, "load_times: %s answered %d\n", what, status);
	exit(EXIT_FAILURE);
}

/* ---- images ---------------------------------------------------------------------------- */

static void load(const void *data, bool resident)
{
	CUmodule module;
	CUfunction function;

	must((int)gpu.ModuleLoadData(&module, data), "cuModuleLoadData");
	for (unsigned i = 0; !resident && i < DTC_GPU_KERNELS; i++)
		must((int)gpu.ModuleGetFunction(&function, module,
						dtc_gpu_kernel_name(i)),
		     "cuModuleGetFunction");
	if (resident)
		must((int)gpu.ModuleGetFunction(&function, module, "dtc_gpu_resident"),
		     "cuModuleGetFunction");
	must((int)gpu.ModuleUnload(module), "cuModuleUnload");
}

static void time_loads(const char *name, const void *data, size_t bytes, bool resident)
{
	struct times times = { .name = name };

	for (size_t i = 0; i < ROUNDS; i++) {
		double begin = now_us();

		load(data, resident);
		times.us[i] = now_us() - begin;
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
	time_loads(path, data, (size_t)bytes, strstr(path, "resident") != NULL);
	free(data);
}

/* ---- packs ----------------------------------------------------------------------------- */

static double time_pack(struct dtconv_type *type, const struct arena *from,
			const struct arena *to)
{
	double begin = now_us();

	must(dtconv_pack(type, 1, from->memory, to->memory, to->bytes, NULL),
	     "dtconv_pack");
	return now_us() - begin;
}

static void time_packs(void)
{
	const char *text = "vector(65536, 2, 4, double)";
	struct times firsts = { .name = "first pack of a context" };
	struct times seconds = { .name = "second pack" };
	struct arena from, to;

	arena_open(&from, ARENA_DEVICE, (size_t)2 << 20);
	arena_open(&to, ARENA_DEVICE, (size_t)1 << 20);
	for (size_t i = 0; i < ROUNDS; i++) {
		struct dtconv_context *context;
		struct dtconv_type *type;

		must(dtconv_context_create(NULL, &context), "dtconv_context_create");
		must(dtconv_type_parse(context, text, strlen(text), &type),
		     "dtconv_type_parse");
		must(dtconv_type_commit(type), "dtconv_type_commit");
		firsts.us[i] = time_pack(type, &from, &to);
		seconds.us[i] = time_pack(type, &from, &to);
		dtconv_type_unref(type);
		dtconv_context_destroy(context);
	}
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
	const struct dtc_gpu_image *resident = dtc_gpu_resident_for(compute());
	if (!image || !resident) {
		printf("this library has no kernels for the device\n");
		return 77;
	}
	printf("%-36s %9s %10s %10s %10s\n",
	       gpu_is_real() ? "us" : "us (no device: the stand-in)", "bytes", "cold",
	       "least", "median");
	time_loads("general kernels", image->data, image->bytes, false);
	time_loads("resident kernel", resident->data, resident->bytes, true);
	for (int i = 1; i < argc; i++)
		time_file(argv[i]);
	time_packs();
	return EXIT_SUCCESS;
}
