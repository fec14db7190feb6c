/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pools and the device driver: it registers first and unregisters last; if it refuses, slabs stay ordinary memory;
 * memory of a lost context stays mapped. With the application's registrars in every order of refusals.
 */
#include "config.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "process.h"
#include "registrar.h"
#include "support/fixture.h"
#include "support/gpu.h"

static struct {
	struct diary diary;
	struct registrar registrars[REGISTRARS];
	struct dtconv_registrar given[REGISTRARS];
} it;

static struct dtconv_pool_params pinned_pool(void)
{
	memset(&it, 0, sizeof(it));
	registrars_of(&it.diary, it.registrars, it.given);
	return (struct dtconv_pool_params){ .struct_size =
						    sizeof(struct dtconv_pool_params),
					    .fragment_bytes = 2048,
					    .slab_bytes = 4096,
					    .registrars = it.given,
					    .registrar_count = REGISTRARS };
}

static struct dtconv_pool_attr attr_of(struct dtconv_pool *pool)
{
	struct dtconv_pool_attr attr = { .struct_size = sizeof(attr) };

	fixture_ok(dtconv_pool_query(pool, &attr));
	ck_assert_uint_eq(attr.free + attr.out + attr.abandoned, attr.fragments);
	return attr;
}

static enum dtconv_memory_kind kind_at(const void *address)
{
	struct dtconv_memory_attr attr = { .struct_size = sizeof(attr) };

	fixture_ok(dtconv_memory_query(fixture_context, address, &attr));
	return attr.kind;
}

/* The worker unregisters; ends with the case's time limit if it does not. */
static void await_releases(struct dtconv_pool *pool)
{
	while (attr_of(pool).releasing_bytes)
		sched_yield();
}

/* Registered with the driver and with all registrars, or neither. */
static size_t registrations(void)
{
	return gpu.standin ? gpu.standin->calls("cuMemHostRegister") -
				     gpu.standin->calls("cuMemHostUnregister")
			   : 0;
}

static void await_registrations(size_t expected)
{
	while (registrations() != expected)
		sched_yield();
}

START_TEST(slabs_are_pinned_memory)
{
	const struct dtconv_pool_params params = pinned_pool();
	struct dtconv_fragment *fragment;
	struct dtconv_pool *pool;

	fixture_ok(dtconv_pool_create(fixture_context, &params, &pool));
	ck_assert_uint_eq(attr_of(pool).pinned_slabs, 1);
	fixture_ok(dtconv_pool_get(pool, &fragment));
	struct dtconv_fragment_attr attr = { .struct_size = sizeof(attr) };
	fixture_ok(dtconv_fragment_query(fragment, &attr));
	ck_assert_int_eq(attr.kind, DTCONV_MEMORY_PINNED);
	ck_assert_int_eq(kind_at(attr.address), DTCONV_MEMORY_PINNED);
	dtconv_fragment_put(fragment);
	fixture_ok(dtconv_pool_grow(pool, 1));
	ck_assert_uint_eq(attr_of(pool).pinned_slabs, 2);
	fixture_ok(dtconv_pool_shrink(pool, 4096));
	fixture_ok(dtconv_pool_destroy(pool));
	dtconv_context_destroy(fixture_context);
	ck_assert(!process_has_mapped(attr.address));
	gpu_must_be_clean("a pinned pool");
	fixture_ok(dtconv_context_create(NULL, &fixture_context));
}
END_TEST

/* The driver is the lowest bit, then the registrars; each subset refuses in create, and then in grow. */
START_TEST(every_set_of_refusals_leaves_nothing_behind)
{
	const bool driver = _i & 1;
	const unsigned refused = (unsigned)_i >> 1;
	struct dtconv_pool_params params = pinned_pool();
	struct dtconv_pool *pool = NULL;

	if (gpu.standin == NULL)
		return;
	/* Opens the device context, whose own memory is registered too. */
	fixture_ok(dtconv_pool_create(fixture_context, &params, &pool));
	const size_t before = registrations() - 1;
	fixture_ok(dtconv_pool_destroy(pool));
	await_registrations(before);

	it.diary.refused = refused;
	if (driver)
		gpu.standin->inject("cuMemHostRegister", 1, CUDA_ERROR_OUT_OF_MEMORY);
	int status = dtconv_pool_create(fixture_context, &params, &pool);
	ck_assert_int_eq(status, refused ? DTCONV_ERR_LIMIT : 0);
	if (!status) {
		ck_assert_uint_eq(attr_of(pool).pinned_slabs, driver ? 0 : 1);
		fixture_ok(dtconv_pool_destroy(pool));
	}
	gpu.standin->inject_clear();
	ck_assert_uint_eq(atomic_load(&it.diary.live), 0);
	await_registrations(before + driver);

	it.diary.refused = 0;
	fixture_ok(dtconv_pool_create(fixture_context, &params, &pool));
	it.diary.refused = refused;
	if (driver)
		gpu.standin->inject("cuMemHostRegister", 1, CUDA_ERROR_OUT_OF_MEMORY);
	status = dtconv_pool_grow(pool, 4096);
	ck_assert_int_eq(status, refused ? DTCONV_ERR_LIMIT : 0);
	gpu.standin->inject_clear();
	ck_assert_uint_eq(attr_of(pool).slabs, status ? 1 : 2);
	ck_assert_uint_eq(attr_of(pool).pinned_slabs, status || driver ? 1 : 2);
	fixture_ok(dtconv_pool_shrink(pool, status ? 0 : 4096));
	fixture_ok(dtconv_pool_destroy(pool));
	ck_assert_uint_eq(atomic_load(&it.diary.live), 0);
	await_registrations(before + 2 * (size_t)driver);
}
END_TEST

static int warnings;

static void count_warnings(void *arg, enum dtconv_log_level level, const char *file,
			   int line, const char *text)
{
	(void)arg;
	(void)file;
	(void)line;
	warnings += level == DTCONV_LOG_WARN &&
		    strstr(text, "refuses to register") != NULL;
}

START_TEST(a_refusal_is_said_once)
{
	const struct dtconv_context_params loud = { .struct_size = sizeof(loud),
						    .log = count_warnings,
						    .log_level = DTCONV_LOG_WARN };
	const struct dtconv_pool_params params = pinned_pool();
	struct dtconv_context *context;
	struct dtconv_pool *pool;

	if (gpu.standin == NULL)
		return;
	fixture_ok(dtconv_context_create(&loud, &context));
	/* The device context is opened by the first one. */
	fixture_ok(dtconv_pool_create(context, &params, &pool));
	for (unsigned i = 1; i <= 3; i++)
		gpu.standin->inject("cuMemHostRegister", i, CUDA_ERROR_OUT_OF_MEMORY);
	warnings = 0;
	fixture_ok(dtconv_pool_grow(pool, 3 * 4096));
	ck_assert_int_eq(warnings, 1);
	ck_assert_uint_eq(attr_of(pool).pinned_slabs, 1);
	ck_assert_uint_eq(attr_of(pool).slabs, 4);
	gpu.standin->inject("cuMemHostRegister", 1, CUDA_ERROR_OUT_OF_MEMORY);
	fixture_status(dtconv_pool_prepare(pool, 0), DTCONV_ERR_NOMEM);
	fixture_ok(dtconv_pool_prepare(pool, 0));
	ck_assert_uint_eq(attr_of(pool).pinned_slabs, 4);
	fixture_ok(dtconv_pool_destroy(pool));
	dtconv_context_destroy(context);
}
END_TEST

START_TEST(a_pool_may_be_older_than_the_device_context)
{
	struct dtconv_pool_params params = pinned_pool();
	struct dtconv_fragment *fragment;
	struct dtconv_pool *pool;

	fixture_ok(dtconv_pool_create(fixture_context, &params, &pool));
	ck_assert_uint_eq(attr_of(pool).pinned_slabs, 0);
	fixture_status(dtconv_pool_prepare(pool, 0), DTCONV_ERR_UNSUPPORTED);
	fixture_ok(dtconv_pool_get(pool, &fragment));
	char *bytes = dtconv_fragment_address(fragment);
	strcpy(bytes, "stays");
	gpu_open();
	fixture_status(dtconv_pool_prepare(pool, 77), DTCONV_ERR_UNSUPPORTED);
	fixture_ok(dtconv_pool_prepare(pool, 0));
	ck_assert_str_eq(bytes, "stays");
	ck_assert_int_eq(kind_at(bytes), DTCONV_MEMORY_PINNED);
	dtconv_fragment_put(fragment);
	fixture_ok(dtconv_pool_destroy(pool));
	gpu_close();
}
END_TEST

START_TEST(device_pools_are_device_memory)
{
	struct dtconv_pool_params params = pinned_pool();
	struct dtconv_fragment *fragment;
	struct dtconv_pool *pool = NULL;

	params.kind = DTCONV_MEMORY_DEVICE;
	fixture_ok(dtconv_pool_create(fixture_context, &params, &pool));
	fixture_ok(dtconv_pool_get(pool, &fragment));
	struct dtconv_fragment_attr attr = { .struct_size = sizeof(attr) };
	fixture_ok(dtconv_fragment_query(fragment, &attr));
	ck_assert_int_eq(attr.kind, DTCONV_MEMORY_DEVICE);
	ck_assert_int_eq(kind_at(attr.address), DTCONV_MEMORY_DEVICE);
	dtconv_fragment_put(fragment);
	fixture_ok(dtconv_pool_destroy(pool));
	ck_assert_uint_eq(atomic_load(&it.diary.live), 0);
	if (gpu.standin) {
		gpu.standin->inject("cuMemAlloc", 1, CUDA_ERROR_OUT_OF_MEMORY);
		fixture_status(dtconv_pool_create(fixture_context, &params, &pool),
			       DTCONV_ERR_NOMEM);
	}
}
END_TEST

/* By their descriptor, other processes map them; they show nothing of what was there before. */
START_TEST(device_pools_may_be_shared)
{
	struct dtconv_pool_params params = pinned_pool();
	struct dtconv_fragment *fragment;
	struct dtconv_pool *pool = NULL;
	unsigned char byte = 1;

	params.kind = DTCONV_MEMORY_DEVICE;
	params.flags = DTCONV_POOL_SHARED;
	const size_t files = process_files();
	fixture_ok(dtconv_pool_create(fixture_context, &params, &pool));
	fixture_ok(dtconv_pool_get(pool, &fragment));
	struct dtconv_fragment_attr attr = { .struct_size = sizeof(attr) };
	fixture_ok(dtconv_fragment_query(fragment, &attr));
	ck_assert_int_eq(attr.kind, DTCONV_MEMORY_DEVICE);
	ck_assert_int_eq(kind_at(attr.address), DTCONV_MEMORY_DEVICE);
	ck_assert_int_ge(attr.slab_fd, 0);
	MUST(Memcpy((CUdeviceptr)(uintptr_t)&byte,
		    (CUdeviceptr)(uintptr_t)attr.address + 4095, 1));
	ck_assert_int_eq(byte, 0);
	fixture_ok(dtconv_pool_grow(pool, 1));
	ck_assert_uint_eq(attr_of(pool).slabs, 2);
	dtconv_fragment_put(fragment);
	fixture_ok(dtconv_pool_shrink(pool, 4 << 20));
	await_releases(pool);
	ck_assert_uint_eq(attr_of(pool).abandoned_bytes, 0);
	fixture_ok(dtconv_pool_destroy(pool));
	ck_assert_uint_eq(atomic_load(&it.diary.live), 0);
	if (gpu.standin)
		ck_assert_uint_eq(process_files(), files);
	params.flags |= DTCONV_POOL_CLEAN;
	fixture_status(dtconv_pool_create(fixture_context, &params, &pool),
		       DTCONV_ERR_INVAL);
}
END_TEST

/* What exporting a slab has answered. */
static int exported;

/* Drivers of some devices export nothing: that is said, and the slab is good all the same. */
static int export_slab(void *arg, const struct dtconv_slab *slab, void **handle)
{
	int fd = -1;

	(void)arg, (void)handle;
	exported = dtconv_slab_dma_buf(fixture_context, slab, &fd);
	if (exported)
		return 0;
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	return 0;
}

static void keep_slab(void *arg, const struct dtconv_slab *slab, void *handle)
{
	(void)arg, (void)slab, (void)handle;
}

START_TEST(registrars_get_slabs_of_devices_as_dma_bufs)
{
	const struct dtconv_registrar registrar = { .name = "an adapter",
						    .reg = export_slab,
						    .dereg = keep_slab };
	const struct dtconv_pool_params params = { .struct_size = sizeof(params),
						   .kind = DTCONV_MEMORY_DEVICE,
						   .flags = DTCONV_POOL_SHARED,
						   .fragment_bytes = 2048,
						   .slab_bytes = 4096,
						   .registrars = &registrar,
						   .registrar_count = 1 };
	const bool refuses = gpu.standin && _i;
	struct dtconv_pool *pool;

	if (refuses)
		gpu.standin->set(STANDIN_DMA_BUF, 0);
	fixture_ok(dtconv_pool_create(fixture_context, &params, &pool));
	if (gpu.standin)
		ck_assert_int_eq(exported, refuses ? DTCONV_ERR_BACKEND : 0);
	printf("slabs of a device as DMA-BUFs: %s\n",
	       exported ? fixture_error() : "exported");
	fixture_ok(dtconv_pool_destroy(pool));
	if (refuses)
		gpu.standin->set(STANDIN_DMA_BUF, 1);
}
END_TEST

/* Case: the call that the driver refuses. */
START_TEST(a_shared_slab_that_fails_leaves_nothing)
{
	static const char *const entries[] = {
		"cuMemGetAllocationGranularity",
		"cuMemAddressReserve",
		"cuMemCreate",
		"cuMemMap",
		"cuMemSetAccess",
		"cuStreamCreateWithPriority",
		"cuMemsetD8Async",
		"cuMemExportToShareableHandle",
	};
	struct dtconv_pool_params params = pinned_pool();
	struct dtconv_pool *pool = NULL;

	if (!gpu.standin)
		return;
	params.kind = DTCONV_MEMORY_DEVICE;
	params.flags = DTCONV_POOL_SHARED;
	fixture_ok(dtconv_pool_create(fixture_context, &params, &pool));
	fixture_ok(dtconv_pool_destroy(pool));
	const unsigned fired = gpu.standin->fired();
	gpu.standin->inject(entries[_i], 1, CUDA_ERROR_OUT_OF_MEMORY);
	const int status = dtconv_pool_create(fixture_context, &params, &pool);
	ck_assert_msg(gpu.standin->fired() == fired + 1, "%s was not called", entries[_i]);
	fixture_status(status, DTCONV_ERR_NOMEM);
	dtconv_context_destroy(fixture_context);
	gpu_must_be_clean(entries[_i]);
	gpu_open();
	fixture_ok(dtconv_context_create(NULL, &fixture_context));
}
END_TEST

/* Memory that could not be unregistered may still be written. */
START_TEST(memory_that_the_driver_keeps_stays_mapped)
{
	const struct dtconv_pool_params params = pinned_pool();
	struct dtconv_fragment *fragment;
	struct dtconv_pool *pool;

	if (gpu.standin == NULL)
		return;
	fixture_ok(dtconv_pool_create(fixture_context, &params, &pool));
	fixture_ok(dtconv_pool_get(pool, &fragment));
	void *address = dtconv_fragment_address(fragment);
	dtconv_fragment_put(fragment);
	fixture_ok(dtconv_pool_grow(pool, 1));
	if (_i)
		gpu.standin->inject("cuMemHostUnregister", 1, CUDA_ERROR_UNKNOWN);
	else
		MUST(DevicePrimaryCtxReset(0));
	fixture_ok(dtconv_pool_shrink(pool, 2 * 4096));
	await_releases(pool);
	ck_assert_uint_eq(attr_of(pool).abandoned_bytes, _i ? 4096 : 2 * 4096);
	ck_assert_uint_eq(attr_of(pool).slabs, 0);
	ck_assert_uint_eq(atomic_load(&it.diary.live), 0);
	ck_assert(_i || process_has_mapped(address));
	fixture_ok(dtconv_pool_destroy(pool));
}
END_TEST

/* Drivers unregister memory when the device is idle. Nobody waits for that but the worker. */
START_TEST(shrinking_and_destroying_do_not_wait_for_the_device)
{
	const struct dtconv_pool_params params = pinned_pool();
	struct dtconv_fragment_attr attr = { .struct_size = sizeof(attr) };
	struct dtconv_fragment *fragments[4];
	CUstream stream = gpu_stream();
	struct dtconv_pool *pool, *other;
	struct spin spin;

	fixture_ok(dtconv_pool_create(fixture_context, &params, &pool));
	fixture_ok(dtconv_pool_create(fixture_context, &params, &other));
	fixture_ok(dtconv_pool_grow(pool, 1));
	for (int i = 0; i < 4; i++)
		fixture_ok(dtconv_pool_get(pool, &fragments[i]));
	for (int i = 0; i < 4; i++) {
		struct dtconv_fragment_attr each = { .struct_size = sizeof(each) };

		fixture_ok(dtconv_fragment_query(fragments[i], &each));
		attr = each.slab ? each : attr;
		dtconv_fragment_put(fragments[i]);
	}
	spin_begin(&spin, stream);
	fixture_ok(dtconv_pool_shrink(pool, 4096));
	fixture_ok(dtconv_pool_destroy(other));
	/* The registrars have unregistered; the driver has not. */
	ck_assert_uint_eq(atomic_load(&it.diary.live), REGISTRARS);
	ck_assert_uint_eq(attr_of(pool).slabs, 1);
	ck_assert_uint_eq(attr_of(pool).releasing_bytes, 4096);
	ck_assert(process_has_mapped(attr.address));
	spin_release(&spin);
	await_releases(pool);
	ck_assert(!process_has_mapped(attr.address));
	ck_assert_uint_eq(attr_of(pool).abandoned_bytes, 0);
	spin_end(&spin);
	MUST(StreamDestroy(stream));
	fixture_ok(dtconv_pool_destroy(pool));
}
END_TEST

int main(void)
{
	/* Cases give the driver back. */
	setenv("CK_FORK", "yes", 1);
	Suite *suite = suite_create("pool_device");
	TCase *tcase = fixture_case(suite, "before the driver", 20);

	gpu_find();
	tcase_add_test(tcase, a_pool_may_be_older_than_the_device_context);
	tcase = gpu_case(suite, "pools", 20);
	tcase_add_test(tcase, slabs_are_pinned_memory);
	tcase_add_loop_test(tcase, every_set_of_refusals_leaves_nothing_behind, 0,
			    2 << REGISTRARS);
	tcase_add_test(tcase, a_refusal_is_said_once);
	tcase_add_test(tcase, device_pools_are_device_memory);
	tcase_add_test(tcase, device_pools_may_be_shared);
	tcase_add_loop_test(tcase, registrars_get_slabs_of_devices_as_dma_bufs, 0, 2);
	tcase_add_loop_test(tcase, a_shared_slab_that_fails_leaves_nothing, 0, 8);
	tcase_add_test(tcase, shrinking_and_destroying_do_not_wait_for_the_device);
	tcase_add_loop_test(tcase, memory_that_the_driver_keeps_stays_mapped, 0, 2);
	return fixture_run(suite);
}
