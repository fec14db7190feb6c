/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opening memory of another process while the driver or the allocator refuses calls, contexts get lost, and mappings are
 * open when the library's context ends. On the stand-in driver only: a real one does not fail on demand.
 */
#include "config.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory_owner.h"
#include "support/allocators.h"
#include "support/fixture.h"
#include "support/gpu.h"

#define BYTES ((size_t)100000)

static struct owner owner;

/* The owner forks, then this process gets its driver. */
static void open_both(void)
{
	owner_start(&owner, 0);
	gpu_open();
	owner_allocate(&owner, 0, BYTES);
	owner_allocate(&owner, 1, BYTES);
}

static struct dtconv_ipc_handle handle_of(int slot)
{
	owner_fill(&owner, slot, (unsigned char)(slot + 1));
	return owner_export(&owner, slot, 0, BYTES).handle;
}

static struct dtconv_context *make_context(struct dtconv_allocator allocator)
{
	const struct dtconv_context_params params = { .struct_size = sizeof(params),
						      .allocator = allocator };
	struct dtconv_context *context;

	fixture_ok(dtconv_context_create(&params, &context));
	return context;
}

static struct dtconv_ipc_attr numbers_of(struct dtconv_context *context)
{
	struct dtconv_ipc_attr attr = { .struct_size = sizeof(attr) };

	fixture_ok(dtconv_ipc_query(context, &attr));
	return attr;
}

static int first_byte(const void *address)
{
	unsigned char byte = 0;

	MUST(Memcpy((CUdeviceptr)(uintptr_t)&byte, (CUdeviceptr)(uintptr_t)address, 1));
	return byte;
}

/* Nothing of the driver's is left, this process's memory and context excepted. */
static void must_have_closed(const char *when)
{
	gpu_must_be_clean(when);
	gpu_open();
}

/* ---- refused calls ----------------------------------------------------------------------- */

/*
 * All that the cache does, in a context of its own; answers the first failure. Whatever is refused, an address that is handed
 * out has the right bytes.
 */
static int use_all(struct dtconv_context *context, CUdeviceptr own,
		   const struct dtconv_ipc_handle handles[2])
{
	struct dtconv_ipc_handle mine;
	int first = dtconv_ipc_export(context, (void *)(uintptr_t)own, 100, &mine);

	for (int i = 0; i < 4; i++) {
		const int slot = i % 2;
		void *address;
		int status = dtconv_ipc_open(context, &handles[slot], i < 2 ? 0 : -1,
					     &address);

		ck_assert_int_le(status, 0);
		first = first ? first : status;
		if (status)
			continue;
		gpu.standin->inject_clear();
		ck_assert_int_eq(first_byte(address), slot + 1);
		fixture_ok(dtconv_ipc_close(context, address));
	}
	fixture_ok(dtconv_ipc_trim(context, 0));
	ck_assert_uint_eq(numbers_of(context).open, 0);
	ck_assert_uint_eq(numbers_of(context).idle, 0);
	return first;
}

static const struct dtconv_allocator standard;

/* Case: the entry point. */
START_TEST(a_refused_call_fails_one_open)
{
	struct dtconv_ipc_handle handles[2];
	CUdeviceptr own;

	open_both();
	handles[0] = handle_of(0);
	handles[1] = handle_of(1);
	for (unsigned nth = 1; nth <= 4; nth++) {
		struct dtconv_context *context = make_context(standard);

		MUST(MemAlloc(&own, 4096));
		gpu.standin->inject(gpu_entries[_i], nth, CUDA_ERROR_INVALID_VALUE);
		use_all(context, own, handles);
		gpu.standin->inject_clear();
		ck_assert_msg(!use_all(context, own, handles), "after %s, call %u: %s",
			      gpu_entries[_i], nth, "the next ones fail too");
		MUST(MemFree(own));
		dtconv_context_destroy(context);
		if (strcmp(gpu_entries[_i], "cuIpcCloseMemHandle") != 0)
			must_have_closed(gpu_entries[_i]);
	}
	owner_end(&owner);
}
END_TEST

/* The one that matters, exactly: its failure and its sentence. */
static const struct {
	const char *entry;
	bool exports;
	const char *words;
} refusals[] = {
	{ "cuIpcGetMemHandle", true, "cuIpcGetMemHandle failed on device 0" },
	{ "cuDeviceGetUuid", true, "cuDeviceGetUuid failed on device 0" },
	{ "cuIpcOpenMemHandle", false, "cuIpcOpenMemHandle failed on device 0" },
	{ "cuCtxPushCurrent", false, "cuCtxPushCurrent failed on device 0" },
};

START_TEST(a_refusal_has_its_sentence)
{
	CUdeviceptr own;
	struct dtconv_ipc_handle mine;
	void *address;

	open_both();
	struct dtconv_ipc_handle handle = handle_of(0);
	MUST(MemAlloc(&own, 4096));
	/* The device's context is open, so that the first call is ours. */
	fixture_ok(dtconv_prepare(fixture_context, 0, NULL, 0, NULL));
	gpu.standin->inject(refusals[_i].entry, 1, CUDA_ERROR_NOT_SUPPORTED);
	fixture_status(refusals[_i].exports
			       ? dtconv_ipc_export(fixture_context,
						   (void *)(uintptr_t)own, 1, &mine)
			       : dtconv_ipc_open(fixture_context, &handle, 0, &address),
		       DTCONV_ERR_BACKEND);
	ck_assert_msg(strstr(fixture_error(), refusals[_i].words), "%s", fixture_error());
	MUST(MemFree(own));
	owner_end(&owner);
}
END_TEST

/* Results that mean that something is in the way. */
static const CUresult full[] = { CUDA_ERROR_ALREADY_MAPPED, CUDA_ERROR_MAP_FAILED,
				 CUDA_ERROR_OUT_OF_MEMORY };

START_TEST(idle_mappings_make_room)
{
	struct dtconv_context *context;
	void *first, *second;

	open_both();
	struct dtconv_ipc_handle a = handle_of(0), b = handle_of(1);
	context = make_context(standard);
	fixture_ok(dtconv_ipc_open(context, &a, 0, &first));
	fixture_ok(dtconv_ipc_close(context, first));
	gpu.standin->inject("cuIpcOpenMemHandle", 1, (int)full[_i]);
	fixture_ok(dtconv_ipc_open(context, &b, 0, &second));
	ck_assert_int_eq(first_byte(second), 2);
	ck_assert_uint_eq(numbers_of(context).idle, 0);
	ck_assert_uint_eq(numbers_of(context).evicted, 1);
	ck_assert_uint_eq(numbers_of(context).driver_opens, 2);
	/* Twice: no more than one try. What is open stays. */
	gpu.standin->inject("cuIpcOpenMemHandle", 1, (int)full[_i]);
	gpu.standin->inject("cuIpcOpenMemHandle", 2, (int)full[_i]);
	fixture_status(dtconv_ipc_open(context, &a, 0, &first), DTCONV_ERR_BACKEND);
	ck_assert_int_eq(first_byte(second), 2);
	fixture_ok(dtconv_ipc_open(context, &a, 0, &first));
	dtconv_context_destroy(context);
	must_have_closed("what made room");
	owner_end(&owner);
}
END_TEST

START_TEST(a_mapping_that_cannot_be_closed_is_forgotten)
{
	struct dtconv_context *context;
	void *first;

	open_both();
	struct dtconv_ipc_handle a = handle_of(0);
	context = make_context(standard);
	fixture_ok(dtconv_ipc_open(context, &a, 0, &first));
	fixture_ok(dtconv_ipc_close(context, first));
	gpu.standin->inject("cuIpcCloseMemHandle", 1, CUDA_ERROR_INVALID_VALUE);
	fixture_ok(dtconv_ipc_trim(context, 0));
	ck_assert_uint_eq(numbers_of(context).dropped, 1);
	ck_assert_uint_eq(numbers_of(context).evicted, 0);
	ck_assert_uint_eq(numbers_of(context).idle, 0);
	fixture_ok(dtconv_ipc_open(context, &a, 0, &first));
	ck_assert_int_eq(first_byte(first), 1);
	dtconv_context_destroy(context);
	owner_end(&owner);
}
END_TEST

/* ---- the allocator ----------------------------------------------------------------------- */

START_TEST(no_memory_is_a_failure)
{
	struct dtconv_ipc_handle handles[2];
	CUdeviceptr own;

	open_both();
	handles[0] = handle_of(0);
	handles[1] = handle_of(1);
	for (long left = 0; left < 200; left++) {
		struct ration ration = { .left = -1 };
		struct dtconv_context *context =
			make_context(allocator_of_rations(&ration));

		MUST(MemAlloc(&own, 4096));
		atomic_store(&ration.left, left);
		int status = use_all(context, own, handles);
		const bool was_refused = atomic_load(&ration.refused);
		atomic_store(&ration.left, -1);
		ck_assert_msg(!status || was_refused, "%ld: %d", left, status);
		fixture_ok(use_all(context, own, handles));
		MUST(MemFree(own));
		dtconv_context_destroy(context);
		ck_assert_uint_eq(atomic_load(&ration.live), 0);
		if (!was_refused)
			break;
		ck_assert_int_lt(left, 199);
	}
	owner_end(&owner);
}
END_TEST

/* ---- ends -------------------------------------------------------------------------------- */

START_TEST(a_context_ends_with_mappings)
{
	struct dtconv_context *context;
	void *address;

	open_both();
	struct dtconv_ipc_handle a = handle_of(0), b = handle_of(1);
	context = make_context(standard);
	fixture_ok(dtconv_ipc_open(context, &a, 0, &address));
	fixture_ok(dtconv_ipc_open(context, &b, 0, &address));
	fixture_ok(dtconv_ipc_close(context, address));
	dtconv_context_destroy(context);
	ck_assert_uint_eq(gpu.standin->calls("cuIpcCloseMemHandle"), 2);
	must_have_closed("the context that has ended");
	owner_end(&owner);
}
END_TEST

START_TEST(mappings_of_a_lost_context_are_dropped)
{
	struct dtconv_ipc_handle a, b;
	void *used, *idle, *anew;
	CUcontext current;

	open_both();
	a = handle_of(0);
	b = handle_of(1);
	struct dtconv_context *context = make_context(standard);
	fixture_ok(dtconv_ipc_open(context, &a, 0, &used));
	fixture_ok(dtconv_ipc_open(context, &b, 0, &idle));
	fixture_ok(dtconv_ipc_close(context, idle));
	MUST(DevicePrimaryCtxReset(0));
	MUST(DevicePrimaryCtxRetain(&current, 0)); /* active again, under another ID */
	MUST(CtxSetCurrent(current));
	fixture_ok(dtconv_ipc_open(context, &a, 0, &anew));
	ck_assert_int_eq(first_byte(anew), 1);
	ck_assert_uint_eq(numbers_of(context).driver_opens, 3);
	ck_assert_uint_eq(numbers_of(context).dropped, 1);
	ck_assert_uint_eq(numbers_of(context).open, 2);
	fixture_ok(dtconv_ipc_open(context, &b, 0, &idle));
	ck_assert_int_eq(first_byte(idle), 2);
	ck_assert_uint_eq(numbers_of(context).dropped, 2);
	fixture_ok(dtconv_ipc_close(context, used));
	fixture_ok(dtconv_ipc_close(context, anew));
	fixture_ok(dtconv_ipc_close(context, idle));
	fixture_status(dtconv_ipc_close(context, anew), DTCONV_ERR_INVAL);
	ck_assert_uint_eq(numbers_of(context).open, 0);
	ck_assert_uint_eq(numbers_of(context).idle, 2);
	ck_assert_uint_eq(gpu.standin->calls("cuIpcCloseMemHandle"), 0);
	dtconv_context_destroy(context);
	ck_assert_uint_eq(gpu.standin->calls("cuIpcCloseMemHandle"), 2);
	owner_end(&owner);
}
END_TEST

/* An error that stays ends the context; so do calls that answer it. */
START_TEST(a_broken_context_is_not_called_again)
{
	struct dtconv_ipc_handle a;
	CUcontext current;
	void *address;

	open_both();
	a = handle_of(0);
	struct dtconv_context *context = make_context(standard);
	fixture_ok(dtconv_ipc_open(context, &a, 0, &address));
	MUST(CtxGetCurrent(&current));
	gpu.standin->inject("cuIpcOpenMemHandle", 1, CUDA_ERROR_ILLEGAL_ADDRESS);
	struct dtconv_ipc_handle b = handle_of(1);
	fixture_status(dtconv_ipc_open(context, &b, 0, &address), DTCONV_ERR_BACKEND);
	fixture_ok(dtconv_ipc_close(context, address));
	fixture_ok(dtconv_ipc_trim(context, 0));
	ck_assert_uint_eq(gpu.standin->calls("cuIpcCloseMemHandle"), 0);
	ck_assert_uint_eq(numbers_of(context).dropped, 1);
	dtconv_context_destroy(context);
	owner_end(&owner);
}
END_TEST

/* ---- what blocks ------------------------------------------------------------------------- */

/* A close never waits for the device; the vendor's thread does. */
START_TEST(closing_does_not_wait_for_the_device)
{
	static struct dtconv_ipc_handle handles[DTCONV_IPC_IDLE_MAX + 2];
	_Atomic uint64_t *word;
	void *addresses[DTCONV_IPC_IDLE_MAX + 2], *memory;

	open_both();
	for (int i = 0; i < DTCONV_IPC_IDLE_MAX + 2; i++) {
		if (i > 1)
			owner_allocate(&owner, i, BYTES);
		handles[i] = handle_of(i);
		fixture_ok(
			dtconv_ipc_open(fixture_context, &handles[i], 0, &addresses[i]));
	}
	MUST(MemHostAlloc(&memory, 8, CU_MEMHOSTALLOC_DEVICEMAP));
	word = memory;
	atomic_store(word, 0);
	CUstream stream = gpu_stream();
	MUST(StreamWaitValue64(stream, (CUdeviceptr)(uintptr_t)memory, 1,
			       CU_STREAM_WAIT_VALUE_GEQ));
	for (int i = 0; i < DTCONV_IPC_IDLE_MAX + 2; i++)
		fixture_ok(dtconv_ipc_close(fixture_context, addresses[i]));
	/* What the thread has not begun to close is opened again, and does not wait either. */
	fixture_ok(dtconv_ipc_open(fixture_context, &handles[20], 0, &addresses[20]));
	fixture_ok(dtconv_ipc_close(fixture_context, addresses[20]));
	gpu_nap(20);
	ck_assert_uint_eq(numbers_of(fixture_context).evicted, 0);
	atomic_store(word, 1);
	for (int i = 0; numbers_of(fixture_context).evicted < 2; i++) {
		ck_assert_int_lt(i, 5000);
		gpu_nap(1);
	}
	ck_assert_uint_eq(numbers_of(fixture_context).idle, DTCONV_IPC_IDLE_MAX);
	MUST(StreamDestroy(stream));
	MUST(MemFreeHost(memory));
	owner_end(&owner);
}
END_TEST

int main(void)
{
	setenv("CK_FORK", "yes", 1);
	gpu_find();
	if (gpu_is_real()) {
		puts("a real driver does not fail on demand");
		return 77;
	}
	Suite *suite = suite_create("ipc faults");
	TCase *faults = fixture_case(suite, "faults", 60);
	TCase *ends = fixture_case(suite, "ends", 60);

	tcase_add_loop_test(faults, a_refused_call_fails_one_open, 0, gpu_refusals());
	tcase_add_loop_test(faults, a_refusal_has_its_sentence, 0,
			    (int)(sizeof(refusals) / sizeof(refusals[0])));
	tcase_add_loop_test(faults, idle_mappings_make_room, 0,
			    (int)(sizeof(full) / sizeof(full[0])));
	tcase_add_test(faults, a_mapping_that_cannot_be_closed_is_forgotten);
	tcase_add_test(faults, no_memory_is_a_failure);
	tcase_add_test(ends, a_context_ends_with_mappings);
	tcase_add_test(ends, mappings_of_a_lost_context_are_dropped);
	tcase_add_test(ends, a_broken_context_is_not_called_again);
	tcase_add_test(ends, closing_does_not_wait_for_the_device);
	return fixture_run(suite);
}
