/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Figures of devices by their names: each device's jobs are planned with its own, and a device that the
 * file does not know with those of all devices. On the stand-in, whose devices have different names.
 */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/fixture.h"
#include "support/gpu.h"

#define BYTES 100000

/* The first device's launches are dear, and the second one's copies; of the third nothing is said. */
static const char figures[] = "device Stand-in 0\n"
			      "device_launch_ns 10000000\n"
			      "device Stand-in 1\n"
			      "device_copy_ns 10000000\n";

static struct dtconv_context *create_tuned(const char *text)
{
	const struct dtconv_context_params params = { .struct_size = sizeof(params),
						      .flags = DTCONV_CONTEXT_COUNTERS };
	struct dtconv_context *context;
	char path[] = "/tmp/test_tuned.XXXXXX";
	int file = mkstemp(path);

	ck_assert_int_ge(file, 0);
	ck_assert_int_eq(write(file, text, strlen(text)), (ssize_t)strlen(text));
	close(file);
	setenv("DTCONV_TUNING", path, 1);
	fixture_ok(dtconv_context_create(&params, &context));
	setenv("DTCONV_TUNING", "none", 1);
	unlink(path);
	return context;
}

static uint64_t jobs_of(struct dtconv_context *context, const char *name)
{
	struct dtconv_backend_counters now = { .struct_size = sizeof(now) };

	fixture_ok(dtconv_context_query_backend(context, name, &now));
	return now.jobs;
}

/* Packs rows of 8 bytes of a device, in its own context; answers whether a kernel did. */
static bool is_kernels(struct dtconv_context *context, int ordinal)
{
	static const char text[] = "vector(4000, 8, 16, byte)";
	CUcontext before, its;
	CUdevice device;
	struct arena user, packed;
	uint64_t kernels = jobs_of(context, "cuda_kernel"),
		 copies = jobs_of(context, "cuda_copy");

	MUST(CtxGetCurrent(&before));
	MUST(DeviceGet(&device, ordinal));
	MUST(DevicePrimaryCtxRetain(&its, device));
	MUST(CtxSetCurrent(its));
	arena_open(&user, ARENA_DEVICE, BYTES);
	arena_open(&packed, ARENA_PINNED, BYTES);
	struct dtconv_type *type = fixture_type_in(context, text);
	fixture_ok(dtconv_pack(type, 1, user.memory, packed.memory, BYTES, NULL));
	dtconv_type_unref(type);
	arena_close(&user);
	arena_close(&packed);
	MUST(CtxSetCurrent(before));
	kernels = jobs_of(context, "cuda_kernel") - kernels;
	copies = jobs_of(context, "cuda_copy") - copies;
	ck_assert_uint_eq(kernels + copies, 1);
	return kernels;
}

START_TEST(jobs_are_planned_with_their_devices_figures)
{
	if (!gpu.standin)
		return;
	struct dtconv_context *context = create_tuned(figures);
	for (int round = 0; round < 2; round++) {
		ck_assert(!is_kernels(context, 0));
		ck_assert(is_kernels(context, 1));
		ck_assert(is_kernels(context, 2));
	}
	dtconv_context_destroy(context);
}
END_TEST

/* What stands before the first device is all devices'. */
START_TEST(a_device_that_is_not_in_the_file_has_the_others_figures)
{
	if (!gpu.standin)
		return;
	struct dtconv_context *context =
		create_tuned("device_launch_ns 10000000\ndevice Stand-in 1\n"
			     "device_launch_ns 1\ndevice No such\ndevice_launch_ns 2\n");
	ck_assert(!is_kernels(context, 0));
	ck_assert(is_kernels(context, 1));
	ck_assert(!is_kernels(context, 2));
	dtconv_context_destroy(context);
}
END_TEST

/* Without a figure of any device no name is asked for; with one, each once. */
START_TEST(names_are_asked_for_once)
{
	if (!gpu.standin)
		return;
	struct dtconv_context *context = create_tuned(_i ? figures : "");
	size_t before = gpu.standin->calls("cuDeviceGetName");
	for (int round = 0; round < 3; round++)
		is_kernels(context, 1);
	ck_assert_uint_eq(gpu.standin->calls("cuDeviceGetName") - before, (size_t)_i);
	dtconv_context_destroy(context);
}
END_TEST

/* A driver that does not say a name is asked again. */
START_TEST(a_device_without_a_name_has_the_others_figures)
{
	if (!gpu.standin)
		return;
	struct dtconv_context *context = create_tuned(figures);
	gpu.standin->inject("cuDeviceGetName", 1, CUDA_ERROR_NOT_INITIALIZED);
	gpu.standin->inject("cuDeviceGetName", 2, CUDA_ERROR_NOT_INITIALIZED);
	gpu.standin->inject("cuDeviceGetName", 3, CUDA_ERROR_NOT_INITIALIZED);
	is_kernels(context, 0);
	gpu.standin->inject_clear();
	ck_assert(!is_kernels(context, 0));
	dtconv_context_destroy(context);
}
END_TEST

/* ---- what there is ----------------------------------------------------------------------- */

START_TEST(devices_are_described)
{
	if (!gpu.standin)
		return;
	struct dtconv_context_attr context = { .struct_size = sizeof(context) };
	struct dtconv_device_attr attr = { .struct_size = sizeof(attr) };

	fixture_ok(dtconv_context_query(fixture_context, &context));
	ck_assert_uint_eq(context.devices, 3);
	ck_assert_ptr_null(context.no_devices);
	fixture_ok(dtconv_context_query_device(fixture_context, 1, &attr));
	ck_assert_str_eq(attr.name, "Stand-in 1");
	ck_assert_int_eq(attr.driver_version, 13000);
	ck_assert_int_eq(10 * attr.compute_major + attr.compute_minor, 90);
	ck_assert_uint_eq(attr.bytes, (size_t)8192 << 20);
	ck_assert_int_eq(attr.vmm, 1);
	ck_assert_int_eq(attr.dma_buf, 1);
	ck_assert_int_eq(attr.multicast, 0);
	fixture_status(dtconv_context_query_device(fixture_context, 3, &attr),
		       DTCONV_ERR_INVAL);
	ck_assert_str_eq(
		fixture_error(),
		"dtconv_context_query_device: ordinal (argument 2) is 3, there are "
		"3 devices");
}
END_TEST

START_TEST(what_the_driver_does_not_say_is_no_answer)
{
	if (!gpu.standin)
		return;
	struct dtconv_device_attr attr = { .struct_size = sizeof(attr) };

	/* The first two calls ask for the compute capability. */
	gpu.standin->inject("cuDeviceGetAttribute", 3, CUDA_ERROR_INVALID_VALUE);
	fixture_ok(dtconv_context_query_device(fixture_context, 0, &attr));
	gpu.standin->inject_clear();
	ck_assert_int_eq(attr.unified_addressing, -1);
	ck_assert_int_eq(attr.vmm, 1);
	gpu.standin->inject("cuDeviceGetName", 1, CUDA_ERROR_INVALID_DEVICE);
	fixture_status(dtconv_context_query_device(fixture_context, 0, &attr),
		       DTCONV_ERR_BACKEND);
	gpu.standin->inject_clear();
	ck_assert_str_eq(
		fixture_error(),
		"dtconv_context_query_device: the driver returns no attributes of device 0");
}
END_TEST

int main(void)
{
	setenv("CUDA_STANDIN_DEVICES", "3", 1);
	gpu_open_in_program();
	Suite *suite = suite_create("tuned");
	TCase *tcase = fixture_case(suite, "devices", 30);

	tcase_add_test(tcase, jobs_are_planned_with_their_devices_figures);
	tcase_add_test(tcase, a_device_that_is_not_in_the_file_has_the_others_figures);
	tcase_add_loop_test(tcase, names_are_asked_for_once, 0, 2);
	tcase_add_test(tcase, a_device_without_a_name_has_the_others_figures);
	tcase_add_test(tcase, devices_are_described);
	tcase_add_test(tcase, what_the_driver_does_not_say_is_no_answer);
	return fixture_run(suite);
}
