/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stand-in driver's kernels: modules, libraries, launches, and what is left of a context
 * after an error.
 */
#include <sched.h>
#include <string.h>
#include <time.h>

#include "standin/standin_fixture.h"
#include "support/fat_binary.h"

START_TEST(kernels_compute_on_device_addresses)
{
	CUdeviceptr one = standin_filled(3000, 1), two = standin_filled(3000, 2);
	struct standin_copy_params params = { two, one, 3000 };
	ck_works(standin_launch("standin_copy", &params, standin_stream));
	memset(&params, 0, sizeof params); /* the launch has its own copy */
	ck_works(cuStreamSynchronize(standin_stream));
	ck_assert(standin_holds(two, 3000, 1));
	ck_works(cuMemFree(one));
	ck_works(cuMemFree(two));
}
END_TEST

START_TEST(parameters_come_in_a_buffer_too)
{
	CUdeviceptr one = standin_filled(64, 1), two = standin_filled(64, 2);
	struct standin_copy_params params = { two, one, 64 };
	size_t bytes = sizeof params;
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &params,
			  CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END };
	CUfunction function = standin_function("standin_copy");
	ck_works(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, standin_stream, NULL,
				extra));
	bytes--;
	ck_answers(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, standin_stream, NULL,
				  extra),
		   CUDA_ERROR_INVALID_VALUE);
	ck_works(cuStreamSynchronize(standin_stream));
	ck_assert(standin_holds(two, 64, 1));
	ck_works(cuMemFree(one));
	ck_works(cuMemFree(two));
}
END_TEST

static CUresult launch_shape(unsigned grid, unsigned block, unsigned shared_bytes)
{
	struct standin_spin_params params = { (uint64_t)(uintptr_t)standin_word() };
	void *list[] = { &params };
	standin_release((volatile uint32_t *)(uintptr_t)params.word);
	return cuLaunchKernel(standin_function("standin_spin"), grid, 1, 1, block, 1, 1,
			      shared_bytes, standin_stream, list, NULL);
}

START_TEST(shapes_have_limits)
{
	CUfunction function = standin_function("standin_spin");
	const CUfunction_attribute shared =
		CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
	int blocks;
	ck_works(launch_shape(1, 1024, 49152));
	ck_answers(launch_shape(0, 32, 0), CUDA_ERROR_INVALID_VALUE);
	ck_answers(launch_shape(1, 0, 0), CUDA_ERROR_INVALID_VALUE);
	ck_answers(launch_shape(1, 1025, 0), CUDA_ERROR_INVALID_VALUE);
	ck_answers(launch_shape(1, 32, 49153), CUDA_ERROR_INVALID_VALUE);
	ck_works(cuFuncSetAttribute(function, shared, 100000));
	ck_works(launch_shape(1, 32, 100000));
	ck_answers(cuFuncSetAttribute(function, shared, 232449),
		   CUDA_ERROR_INVALID_VALUE);
	ck_works(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 256, 0));
	ck_assert_int_eq(blocks, 8);
	ck_works(cuStreamSynchronize(standin_stream));
}
END_TEST

START_TEST(unknown_kernels_and_images_are_refused)
{
	CUmodule module;
	CUfunction function;
	ck_works(cuModuleLoadData(&module, "image"));
	ck_answers(cuModuleGetFunction(&function, module, "no_such_kernel"),
		   CUDA_ERROR_NOT_FOUND);
	ck_works(cuModuleUnload(module));
	ck_answers(cuModuleLoadData(&module, "no binary"), CUDA_ERROR_NO_BINARY_FOR_GPU);
}
END_TEST

/* A fat binary of one image, which has no bytes. */
static CUresult load_fat(uint16_t kind, uint32_t arch)
{
	const struct {
		struct fat_head head;
		struct fat_entry entry;
	} image = {
		{ FAT_MAGIC, 1, sizeof(struct fat_head), sizeof(struct fat_entry) },
		{ .kind = kind, .head_bytes = sizeof(struct fat_entry), .arch = arch }
	};
	CUmodule module;
	CUresult result = cuModuleLoadData(&module, &image);
	if (!result)
		ck_works(cuModuleUnload(module));
	return result;
}

START_TEST(fat_binaries_have_to_suit_the_device)
{
	standin->set(STANDIN_COMPUTE, 86);
	ck_works(load_fat(FAT_ELF, 86));
	ck_works(load_fat(FAT_ELF, 80));
	ck_works(load_fat(FAT_PTX, 75));
	ck_answers(load_fat(FAT_ELF, 89), CUDA_ERROR_NO_BINARY_FOR_GPU);
	ck_answers(load_fat(FAT_ELF, 75), CUDA_ERROR_NO_BINARY_FOR_GPU);
	ck_answers(load_fat(FAT_PTX, 90), CUDA_ERROR_NO_BINARY_FOR_GPU);
}
END_TEST

START_TEST(libraries_serve_every_context)
{
	CUlibrary library;
	CUkernel kernel;
	CUfunction function, again;
	CUdeviceptr one = standin_filled(64, 1), two = standin_filled(64, 2);
	struct standin_copy_params params = { two, one, 64 };
	void *list[] = { &params };
	ck_works(cuLibraryLoadData(&library, "image", NULL, NULL, 0, NULL, NULL, 0));
	ck_works(cuLibraryGetKernel(&kernel, library, "standin_copy"));
	ck_works(cuKernelGetFunction(&function, kernel));
	ck_works(cuKernelGetFunction(&again, kernel));
	ck_assert_ptr_eq(function, again);
	ck_works(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, standin_stream,
				list, NULL));
	ck_works(cuStreamSynchronize(standin_stream));
	ck_assert(standin_holds(two, 64, 1));
	ck_works(cuLibraryUnload(library));
	ck_works(cuMemFree(one));
	ck_works(cuMemFree(two));
}
END_TEST

START_TEST(functions_stay_in_their_context)
{
	CUcontext other;
	CUstream stream;
	struct standin_fault_params params = { 0 };
	ck_works(cuDevicePrimaryCtxRetain(&other, 1));
	ck_works(cuCtxPushCurrent(other));
	ck_works(cuStreamCreate(&stream, 0));
	void *list[] = { &params };
	ck_works(cuCtxPopCurrent(NULL));
	CUfunction function = standin_function("standin_fault");
	ck_answers(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, list, NULL),
		   CUDA_ERROR_INVALID_HANDLE);
	ck_works(cuStreamDestroy(stream));
	ck_works(cuDevicePrimaryCtxRelease(1));
}
END_TEST

/* A kernel of device 0 touches device 1's memory only once peer access is enabled. */
START_TEST(peers_need_access)
{
	CUcontext other;
	ck_works(cuDevicePrimaryCtxRetain(&other, 1));
	ck_works(cuCtxPushCurrent(other));
	CUdeviceptr far = standin_filled(64, 5);
	ck_works(cuCtxPopCurrent(NULL));
	CUdeviceptr near = standin_filled(64, 6);
	struct standin_copy_params params = { near, far, 64 };
	if (_i)
		ck_works(cuCtxEnablePeerAccess(other, 0));
	ck_works(standin_launch("standin_copy", &params, standin_stream));
	ck_answers(cuStreamSynchronize(standin_stream),
		   _i ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS);
	if (_i)
		ck_assert(standin_holds(near, 64, 5));
	standin->reset();
}
END_TEST

/* ---- Kernels of a test ---- */

static int write_word(const void *params, uint32_t grid, uint32_t block,
		      size_t shared_bytes)
{
	const struct standin_spin_params *word = params;
	*(volatile uint32_t *)(uintptr_t)word->word =
		grid * 1000 + block + (uint32_t)shared_bytes;
	return 0;
}

/* Blocks inside, as a kernel that stays does; others run meanwhile. */
static int stay(const void *params, uint32_t grid, uint32_t block, size_t shared_bytes)
{
	const struct standin_spin_params *word = params;
	(void)grid;
	(void)block;
	(void)shared_bytes;
	while (!__atomic_load_n((uint32_t *)(uintptr_t)word->word, __ATOMIC_ACQUIRE))
		sched_yield();
	return 0;
}

START_TEST(tests_add_kernels)
{
	static const struct standin_kernel writer = { .name = "write_word",
						      .params_bytes = sizeof(
							      struct standin_spin_params),
						      .run = write_word };
	static const struct standin_kernel stayer = { .name = "stay",
						      .params_bytes = sizeof(
							      struct standin_spin_params),
						      .run = stay,
						      .resident = true };
	standin->add_kernel(&writer);
	standin->add_kernel(&stayer);
	volatile uint32_t *word = standin_word(), *answer = standin_word();
	struct standin_spin_params params = { (uint64_t)(uintptr_t)word };
	struct standin_spin_params second = { (uint64_t)(uintptr_t)answer };
	CUstream other;
	ck_works(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	ck_works(standin_launch("stay", &params, standin_stream));
	ck_works(standin_launch("write_word", &second, other));
	ck_works(cuStreamSynchronize(other));
	ck_assert_uint_eq(*answer, 1032);
	ck_answers(cuStreamQuery(standin_stream), CUDA_ERROR_NOT_READY);
	standin_release(word);
	ck_works(cuStreamSynchronize(standin_stream));
	ck_works(cuStreamDestroy(other));
}
END_TEST

/* ---- Errors that stay ---- */

static void check_lost_context(CUresult error)
{
	volatile uint32_t *word = standin_word();
	CUdeviceptr memory;
	CUevent event;
	ck_answers(cuStreamSynchronize(standin_stream), error);
	ck_answers(cuStreamQuery(standin_stream), error);
	ck_answers(cuStreamWriteValue32(standin_stream, (CUdeviceptr)word, 1, 0), error);
	ck_answers(cuMemAlloc(&memory, 8), error);
	ck_answers(cuEventCreate(&event, 0), error);
	ck_answers(cuCtxSynchronize(), error);
}

START_TEST(an_illegal_address_loses_the_context)
{
	struct standin_fault_params params = { 0 };
	volatile uint32_t *word = standin_word();
	standin->set(STANDIN_DELAY_US, 3000);
	ck_works(standin_launch("standin_fault", &params, standin_stream));
	ck_works(cuStreamWriteValue32(standin_stream, (CUdeviceptr)word, 1, 0));
	check_lost_context(CUDA_ERROR_ILLEGAL_ADDRESS);
	nanosleep(&(struct timespec){ 0, 6000000 }, NULL);
	ck_assert_uint_eq(*word, 0); /* the flag never arrives */
	standin->reset();
}
END_TEST

START_TEST(a_real_fault_loses_the_context)
{
	struct standin_copy_params params = { 4096, 4096 + 64, 8 };
	ck_works(standin_launch("standin_copy", &params, standin_stream));
	check_lost_context(CUDA_ERROR_ILLEGAL_ADDRESS);
	standin->reset();
}
END_TEST

START_TEST(poison_loses_the_context)
{
	volatile uint32_t *word = standin_word();
	standin_spin(word, standin_stream);
	standin->poison(standin_context, CUDA_ERROR_ECC_UNCORRECTABLE);
	check_lost_context(CUDA_ERROR_ECC_UNCORRECTABLE);
	ck_assert_uint_eq(standin->leaks(NULL, 0),
			  0); /* nothing of it can be given back */
	standin->reset();
}
END_TEST

START_TEST(other_contexts_live_on)
{
	CUcontext other;
	CUstream stream;
	ck_works(cuDevicePrimaryCtxRetain(&other, 1));
	standin->poison(standin_context, CUDA_ERROR_LAUNCH_FAILED);
	ck_works(cuCtxSetCurrent(other));
	ck_works(cuStreamCreate(&stream, 0));
	ck_works(cuStreamSynchronize(stream));
	CUdeviceptr memory = standin_filled(100, 1);
	ck_assert(standin_holds(memory, 100, 1));
	standin->reset();
}
END_TEST

/* A primary context that is reset and retained again is whole. */
START_TEST(a_reset_heals)
{
	CUcontext context;
	CUstream stream;
	standin->poison(standin_context, CUDA_ERROR_LAUNCH_FAILED);
	ck_works(cuDevicePrimaryCtxReset(0));
	ck_works(cuDevicePrimaryCtxRetain(&context, 0));
	ck_works(cuStreamCreate(&stream, 0));
	ck_works(cuStreamSynchronize(stream));
	standin->reset();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("standin_work");
	TCase *tcase = standin_tcase(suite, "work");
	tcase_add_test(tcase, kernels_compute_on_device_addresses);
	tcase_add_test(tcase, parameters_come_in_a_buffer_too);
	tcase_add_test(tcase, shapes_have_limits);
	tcase_add_test(tcase, unknown_kernels_and_images_are_refused);
	tcase_add_test(tcase, fat_binaries_have_to_suit_the_device);
	tcase_add_test(tcase, libraries_serve_every_context);
	tcase_add_test(tcase, functions_stay_in_their_context);
	tcase_add_loop_test(tcase, peers_need_access, 0, 2);
	tcase_add_test(tcase, tests_add_kernels);
	tcase_add_test(tcase, an_illegal_address_loses_the_context);
	tcase_add_test(tcase, a_real_fault_loses_the_context);
	tcase_add_test(tcase, poison_loses_the_context);
	tcase_add_test(tcase, other_contexts_live_on);
	tcase_add_test(tcase, a_reset_heals);
	return standin_run(suite);
}
