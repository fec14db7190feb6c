/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tool that listens to NVTX hears a range for each job, closed again also where the job fails.
 */
#include "config.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fixture.h"
#include "support/gpu.h"

static char *heard;

static int pack(struct dtconv_type *type, const struct arena *user,
		const struct arena *packed)
{
	return dtconv_pack(type, 1, user->memory, packed->memory, 1600, NULL);
}

START_TEST(every_job_is_a_range)
{
	struct dtconv_type *type = fixture_type("vector(200, 1, 2, double)");
	struct arena user, packed;

	arena_open(&user, ARENA_DEVICE, 10000);
	arena_open(&packed, ARENA_DEVICE, 10000);
	heard[0] = '\0';
	ck_assert_int_eq(pack(type, &user, &packed), 0);
	ck_assert_int_eq(pack(type, &user, &packed), 0);
	ck_assert_str_eq(heard, "dtconv;dtconv_pack 1600;pop;dtconv_pack 1600;pop;");
	if (gpu.standin) {
		heard[0] = '\0';
		gpu.standin->inject("cuLaunchKernel", 1, CUDA_ERROR_OUT_OF_MEMORY);
		ck_assert_int_eq(pack(type, &user, &packed), DTCONV_ERR_BACKEND);
		gpu.standin->inject_clear();
		ck_assert_str_eq(heard, "dtconv_pack 1600;pop;");
	}
	arena_close(&user);
	arena_close(&packed);
	dtconv_type_unref(type);
}
END_TEST

/* ---- every kind of call ---------------------------------------------------------------- */

struct place {
	struct dtconv_type *type;
	struct arena user, packed;
	struct dtconv_batch *batch;
	struct dtconv_convertor *convertor;
};

static int unpack(struct place *place)
{
	return dtconv_unpack(place->type, 1, place->user.memory, place->packed.memory,
			     1600, NULL);
}

static int copy(struct place *place)
{
	return dtconv_copy(place->type, 1, place->user.memory, place->type, 1,
			   place->user.memory + 4096, NULL);
}

static int run_batch(struct place *place)
{
	return dtconv_batch_run(place->batch, NULL);
}

static int start(struct place *place)
{
	fixture_ok(dtconv_convertor_seek(place->convertor, 0));
	int status = dtconv_convertor_start(place->convertor, place->packed.memory, 1600,
					    NULL, NULL);

	return status ? status : dtconv_convertor_wait(place->convertor, NULL);
}

static int add(struct place *place)
{
	const struct dtconv_convertor_params params = { .struct_size = sizeof(params),
							.op = DTCONV_OP_SUM };

	return dtconv_unpack_with(place->type, 1, place->user.memory,
				  place->packed.memory, 1600, &params, NULL);
}

static const struct {
	int (*call)(struct place *place);
	const char *name;
	int jobs; /* of one call */
} calls[] = {
	{ unpack, "dtconv_unpack", 1 },       { copy, "dtconv_copy", 1 },
	{ run_batch, "dtconv_batch_run", 1 }, { start, "dtconv_convertor_start", 1 },
	{ add, "dtconv_unpack_with", 1 },
};

#define CALLS (int)(sizeof(calls) / sizeof(calls[0]))

static void open_place(struct place *place)
{
	struct dtconv_batch_entry entries[2];

	place->type = fixture_type("vector(200, 1, 2, double)");
	arena_open(&place->user, ARENA_DEVICE, 10000);
	arena_open(&place->packed, ARENA_DEVICE, 10000);
	for (int i = 0; i < 2; i++)
		entries[i] = (struct dtconv_batch_entry){
			.type = place->type,
			.count = 1,
			.buffer = place->user.memory,
			.packed = place->packed.memory + 1600 * i,
			.bytes = 1600,
			.direction = DTCONV_BATCH_PACK,
		};
	fixture_ok(dtconv_batch_create(fixture_context, entries, 2, NULL, &place->batch));
	fixture_ok(dtconv_convertor_create_pack(place->type, 1, place->user.memory,
						&place->convertor));
}

static void close_place(struct place *place)
{
	dtconv_batch_destroy(place->batch);
	dtconv_convertor_destroy(place->convertor);
	arena_close(&place->user);
	arena_close(&place->packed);
	dtconv_type_unref(place->type);
}

/* What was heard since the last call is so many ranges of that name, and nothing else. */
static void must_be_heard(const char *name, int jobs)
{
	const char *at = heard;

	for (int i = 0; i < jobs; i++) {
		char range[100];
		int length = 0, bytes = -1;

		snprintf(range, sizeof(range), "%s %%d;pop;%%n", name);
		(void)sscanf(at, range, &bytes, &length);
		/* A batch's are all its entries'. */
		if (bytes != (strcmp(name, "dtconv_batch_run") ? 1600 : 3200))
			length = 0;
		ck_assert_msg(length, "range %d of %d by %s is not in: %s", i + 1, jobs,
			      name, heard);
		at += length;
	}
	ck_assert_msg(!*at, "more than %d ranges by %s: %s", jobs, name, heard);
	heard[0] = '\0';
}

START_TEST(every_call_is_a_range_by_its_name)
{
	struct place place;

	open_place(&place);
	ck_assert_int_eq(calls[_i].call(&place), 0);
	heard[0] = '\0';
	ck_assert_int_eq(calls[_i].call(&place), 0);
	ck_assert_int_eq(calls[_i].call(&place), 0);
	must_be_heard(calls[_i].name, 2 * calls[_i].jobs);
	if (gpu.standin) {
		gpu.standin->inject("cuLaunchKernel", 1, CUDA_ERROR_OUT_OF_MEMORY);
		ck_assert_int_eq(calls[_i].call(&place), DTCONV_ERR_BACKEND);
		gpu.standin->inject_clear();
		must_be_heard(calls[_i].name, 1);
	}
	close_place(&place);
}
END_TEST

int main(void)
{
	setenv("CK_FORK", "no", 1);
	gpu_find();
#ifdef HAVE_NVTX
	void *listener = dlopen(LISTENER, RTLD_NOW);
	heard = listener ? dlsym(listener, "nvtx_heard") : NULL;
	if (!heard) {
		puts(dlerror());
		return 1;
	}
	setenv("NVTX_INJECTION64_PATH", LISTENER, 1);
#else
	puts("configure found no header of NVTX");
	return 77;
#endif
	gpu_open();
	Suite *suite = suite_create("ranges");
	TCase *ranges = fixture_case(suite, "ranges", 30);

	tcase_add_test(ranges, every_job_is_a_range);
	tcase_add_loop_test(ranges, every_call_is_a_range_by_its_name, 0, CALLS);
	return fixture_run(suite);
}
