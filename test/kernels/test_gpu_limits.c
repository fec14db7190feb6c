/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where GPU kernels could go wrong and small examples do not show it: streams beyond 4 GiB and 2^31
 * blocks, types that end at an unmapped page, many parts in one launch, plans that are refused.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/base.h"
#include "kernels/gpu_moves.h"
#include "kernels/launch/magic.h"
#include "support/layouts.h"
#include "support/ref_buffer.h"

/* ---- division ---------------------------------------------------------------------------------- */

START_TEST(indices_are_divided_as_the_processor_does)
{
	struct choices choices = fixture_choices(1);

	for (int i = 0; i < 200000; i++) {
		uint32_t divisor = 1 + (uint32_t)choose(&choices, INT32_MAX) %
					       (UINT32_C(1) << (1 + i % 31));
		uint32_t near = INT32_MAX / divisor * divisor;
		const uint32_t tried[] = { (uint32_t)choose(&choices, INT32_MAX), near,
					   near ? near - 1 : 0, INT32_MAX, divisor - 1 };
		uint8_t shift;
		uint32_t magic;

		if (divisor > INT32_MAX)
			continue;
		magic = dtc_gpu_magic(divisor, &shift);
		for (size_t k = 0; k < DTC_ARRAY_LENGTH(tried); k++)
			if (((uint64_t)tried[k] * magic) >> shift != tried[k] / divisor)
				ck_abort_msg("%u / %u", tried[k], divisor);
	}
}
END_TEST

/* The device's words for it. */
static uint64_t quotient(uint64_t x, uint64_t divisor)
{
	struct dtc_gpu_divisor by = dtc_gpu_divisor(divisor);
	uint64_t t = (uint64_t)(((unsigned __int128)x * by.magic) >> 64);

	return by.one ? x : (t + ((x - t) >> 1)) >> by.shift;
}

START_TEST(positions_are_divided_as_the_processor_does)
{
	struct choices choices = fixture_choices(2);

	for (int i = 0; i < 200000; i++) {
		uint64_t divisor = 1 + (choices_mix(choose(&choices, 1 << 30)) >> (i % 64));
		uint64_t x = choices_mix(choose(&choices, 1 << 30)) >> (i / 64 % 64);
		uint64_t near = UINT64_MAX / divisor * divisor;

		if (!divisor)
			continue;
		ck_assert(quotient(x, divisor) == x / divisor);
		ck_assert(quotient(near, divisor) == near / divisor);
		ck_assert(quotient(near - 1, divisor) == (near - 1) / divisor);
	}
}
END_TEST

/* ---- far positions ----------------------------------------------------------------------------- */

#define FAR_BYTES 20000

/*
 * Types whose stream is long and whose memory is small, because they go over it again and again: the
 * oracle is the position modulo the period.
 */
struct far {
	const char *text;
	size_t count;
	size_t period; /* packed bytes after which the memory repeats; @pitch bytes of memory each block */
	size_t block, pitch;
};

static const struct far fars[] = {
	{ "hvector(3000000000, 1, 0, vector(100, 1, 2, double))", 1, 800, 8, 16 },
	{ "hvector(3000000000, 1, 0, vector(100, 3, 5, int))", 1, 1200, 12, 20 },
	{ "hvector(3000000000, 1, 0, vector(100, 2, 4, double))", 1, 1600, 16, 32 },
	{ "hvector(3000000000, 1, 0, hvector(100, 7, 9, byte))", 1, 700, 7, 9 },
	{ "hvector(3000000000, 1, 0, hvector(100, 39, 47, byte))", 1, 3900, 39, 47 },
	{ "resized(vector(100, 1, 2, double), 0, 0)", 5000000000, 800, 8, 16 },
	{ "hvector(70000, 1, 0, hvector(70000, 1, 0, vector(100, 1, 2, int)))", 1, 400, 4, 8 },
};

static unsigned char far_byte(const struct far *far, const unsigned char *memory, uint64_t at)
{
	uint64_t inside = at % far->period;

	return memory[inside / far->block * far->pitch + inside % far->block];
}

static void pack_far(const struct far *far, const struct gpu_type *gpu, unsigned char *memory,
		     uint64_t begin, size_t bytes, size_t shift)
{
	static unsigned char packed[FAR_BYTES + 128] __attribute__((aligned(64)));
	const struct dtc_gpu_job job = gpu_job(gpu, far->count, memory, packed + 64 + shift, begin,
					       begin + bytes, DTC_PACK);

	stage_guard(packed, sizeof(packed));
	gpu_move(&job);
	for (size_t i = 0; i < bytes; i++) {
		if (packed[64 + shift + i] != far_byte(far, memory, begin + i))
			ck_abort_msg("byte %zu from %llu on", i, (unsigned long long)begin);
		packed[64 + shift + i] = stage_guard_byte(64 + shift + i);
	}
	ck_assert_uint_eq(stage_guard_first_wrong(packed, sizeof(packed)), STAGE_RIGHT);
}

START_TEST(far_positions_are_packed)
{
	const struct far *far = &fars[_i];
	static unsigned char memory[8192];
	struct choices choices = fixture_choices((uint64_t)_i);
	struct dtconv_type *type = fixture_type(far->text);
	struct gpu_type gpu;

	for (size_t i = 0; i < sizeof(memory); i++)
		memory[i] = ref_pattern(3, (ptrdiff_t)i);
	gpu_type_open(&gpu, type);
	uint64_t size = gpu.layout->size * far->count;
	for (int i = 0; i < 60; i++) {
		uint64_t begin = (size - FAR_BYTES) / 59 * (uint64_t)i + choose(&choices, 999);
		size_t bytes = 1 + choose(&choices, FAR_BYTES - 1000);

		pack_far(far, &gpu, memory, begin, bytes, choose(&choices, 32));
	}
	gpu_type_close(&gpu);
	dtconv_type_unref(type);
}
END_TEST

/* The same, where what is unpacked is no longer than a period, so that nothing is stored twice. */
static const char *const far_targets[] = {
	"hvector(3000000000, 1, 0, vector(100, 1, 2, double))",
	"hvector(3000000000, 1, 0, hvector(100, 39, 47, byte))",
	"hvector(3000000000, 1, 0, contiguous(100, resized(struct([3, 5], [1, 6], [char, char]), 0, 16)))",
};

/* What was unpacked is packed by other kernels' ways, and is there again. */
static void unpack_far(const struct gpu_type *gpu, uint64_t begin, size_t bytes)
{
	static unsigned char memory[8192], packed[4096], again[4096];
	struct dtc_gpu_job job =
		gpu_job(gpu, 1, memory, packed, begin, begin + bytes, DTC_UNPACK);
	size_t changed = 0;

	memset(memory, 0, sizeof(memory));
	for (size_t i = 0; i < bytes; i++)
		packed[i] = (unsigned char)(1 + i % 255);
	gpu_move(&job);
	for (size_t i = 0; i < sizeof(memory); i++)
		changed += memory[i] != 0;
	ck_assert_uint_eq(changed, bytes);
	job.direction = DTC_PACK;
	job.packed = (uintptr_t)again;
	gpu_move(&job);
	ck_assert(!memcmp(packed, again, bytes));
}

START_TEST(far_positions_are_unpacked)
{
	struct choices choices = fixture_choices((uint64_t)_i);
	struct dtconv_type *type = fixture_type(far_targets[_i]);
	struct gpu_type gpu;

	gpu_type_open(&gpu, type);
	for (uint64_t i = 0; i < 60; i++) {
		size_t bytes = 1 + choose(&choices, gpu.layout->size / UINT64_C(3000000000));
		uint64_t begin = (gpu.layout->size - bytes) / 59 * i;

		unpack_far(&gpu, begin, bytes);
	}
	gpu_type_close(&gpu);
	dtconv_type_unref(type);
}
END_TEST

/* ---- pages ------------------------------------------------------------------------------------- */

/* So many bytes that end where a page does, or begin there, with nothing mapped beyond. */
static unsigned char *between_pages(size_t bytes, bool ends, void **mapping, size_t *mapped)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t inner = (bytes + page - 1) / page * page;
	unsigned char *all;

	*mapped = inner + 2 * page;
	*mapping = mmap(NULL, *mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert(*mapping != MAP_FAILED);
	all = *mapping;
	ck_assert_int_eq(mprotect(all + page, inner, PROT_READ | PROT_WRITE), 0);
	return all + page + (ends ? inner - bytes : 0);
}

static void move_between_pages(struct stage *stage, const struct gpu_type *gpu, bool ends)
{
	void *user_mapping, *packed_mapping;
	size_t user_mapped, packed_mapped;
	unsigned char *user = between_pages(stage->span, ends, &user_mapping, &user_mapped);
	unsigned char *packed =
		between_pages(stage->bytes, ends, &packed_mapping, &packed_mapped);
	struct dtc_gpu_job job = gpu_job(gpu, stage->count, user - stage->low, packed, 0,
					 stage->bytes, DTC_PACK);

	memcpy(user, stage->source + stage->low, stage->span);
	gpu_move(&job);
	ck_assert(!memcmp(packed, stage->stream, stage->bytes));
	job.direction = DTC_UNPACK;
	memset(user, 0, stage->span);
	gpu_move(&job);
	for (size_t i = 0; i < stage->bytes; i++)
		ck_assert(user[stage->map[i] - stage->low] == stage->stream[i]);
	munmap(user_mapping, user_mapped);
	munmap(packed_mapping, packed_mapped);
}

START_TEST(types_may_end_at_an_unmapped_page)
{
	struct gpu_type gpu;
	struct stage stage;

	fixture_open(&stage, layouts[_i].text, 3);
	gpu_type_open(&gpu, stage.type);
	if (stage.bytes && !layouts[_i].overlaps) {
		move_between_pages(&stage, &gpu, false);
		move_between_pages(&stage, &gpu, true);
	}
	gpu_type_close(&gpu);
	fixture_close(&stage);
}
END_TEST

/* ---- many -------------------------------------------------------------------------------------- */

#define JOBS 60

/* Every layout @from on in one launch, each with packed memory of its own. */
static void move_together(int from, enum dtc_direction direction)
{
	struct choices choices = fixture_choices((uint64_t)from);
	static struct stage stages[JOBS];
	struct gpu_type gpus[JOBS];
	static struct dtc_gpu_job jobs[JOBS];
	unsigned char *packed[JOBS];
	size_t count = 0;

	for (int i = from; i < layout_count && count < JOBS; i++, count++) {
		struct stage *stage = &stages[count];

		fixture_open(stage, layouts[i].text, 1 + choose(&choices, 3));
		stage_blank(stage);
		gpu_type_open(&gpus[count], stage->type);
		size_t shift = choose(&choices, 16);
		size_t begin = choose(&choices, stage->bytes + 1);
		packed[count] = calloc(stage->bytes + 64, 1);
		memcpy(packed[count] + shift, stage->stream + begin, stage->bytes - begin);
		if (direction == DTC_PACK)
			memset(packed[count], 0, stage->bytes + 64);
		jobs[count] = gpu_job(&gpus[count], stage->count,
				      direction == DTC_PACK ? stage->source : stage->target,
				      packed[count] + shift, begin, stage->bytes, direction);
	}
	gpu_move_many(jobs, count);
	for (size_t i = 0; i < count; i++) {
		size_t begin = jobs[i].begin, bytes = stages[i].bytes - begin;

		if (direction == DTC_UNPACK)
			stage_deliver(&stages[i], begin, bytes);
		fixture_arrived(&stages[i]);
		ck_assert(!memcmp((void *)(uintptr_t)jobs[i].packed, stages[i].stream + begin,
				  bytes));
		free(packed[i]);
		gpu_type_close(&gpus[i]);
		fixture_close(&stages[i]);
	}
}

START_TEST(unlike_jobs_move_in_one_launch)
{
	for (int from = 0; from < layout_count; from += 7) {
		move_together(from, DTC_PACK);
		move_together(from, DTC_UNPACK);
	}
}
END_TEST

START_TEST(parts_that_do_not_fit_are_counted)
{
	struct dtconv_type *type = fixture_type("vector(5, 1, 2, int)");
	static struct dtc_gpu_job jobs[DTC_GPU_INLINE_PARTS + 1];
	struct dtc_gpu_launch launch;
	struct gpu_type gpu;
	uint32_t needed;

	gpu_type_open(&gpu, type);
	for (size_t i = 0; i < DTC_ARRAY_LENGTH(jobs); i++)
		jobs[i] = (struct dtc_gpu_job){ .layout = gpu.layout,
						.count = 1,
						.user = 4096,
						.packed = 8192,
						.end = 20,
						.direction = DTC_PACK };
	ck_assert_int_eq(dtc_gpu_plan_many(jobs, DTC_GPU_INLINE_PARTS, NULL, &launch, &needed), 0);
	ck_assert_uint_eq(needed, 0);
	ck_assert_int_eq(dtc_gpu_plan_many(jobs, DTC_GPU_INLINE_PARTS + 1, NULL, &launch, &needed),
			 DTCONV_ERR_LIMIT);
	ck_assert_uint_eq(needed, DTC_GPU_INLINE_PARTS + 1);
	gpu_type_close(&gpu);
	dtconv_type_unref(type);
}
END_TEST

#define MEMBERS 120

/* A struct of many unlike members, one of them a table. */
static struct dtconv_type *long_struct(void)
{
	struct dtconv_type *members[MEMBERS], *type;
	size_t lengths[MEMBERS];
	ptrdiff_t disps[MEMBERS];

	for (int i = 0; i < MEMBERS; i++) {
		char text[100];

		snprintf(text, sizeof(text), "hvector(%d, %d, %d, byte)", 9 + i % 5,
			 1 + i * 7 % 31, 32 + i % 13);
		members[i] = fixture_type(i % 40 == 7
						  ? "indexed([1,2,1,3,1,2,1,2,1,5],"
						    "[0,9,20,30,40,50,60,70,80,90],short)"
						  : text);
		lengths[i] = 1;
		disps[i] = 700 * i;
	}
	ck_assert_int_eq(dtconv_type_create_struct(fixture_context, MEMBERS, lengths,
						   disps, members, &type),
			 0);
	for (int i = 0; i < MEMBERS; i++)
		dtconv_type_unref(members[i]);
	ck_assert_int_eq(dtconv_type_commit(type), 0);
	return type;
}

static void move_by_sequence(const struct dtc_gpu_job *job)
{
	struct dtc_gpu_job model = dtc_gpu_sequence_job(job);
	struct dtc_gpu_launch launch;
	struct dtc_gpu_parts room = { NULL, 0, 0 };
	uint32_t needed;

	ck_assert_int_eq(dtc_gpu_plan_many(&model, 1, NULL, &launch, &needed),
			 DTCONV_ERR_LIMIT);
	room = (struct dtc_gpu_parts){ calloc(needed, sizeof(room.host[0])), needed, 0 };
	room.device = (uintptr_t)room.host;
	ck_assert_int_eq(dtc_gpu_plan_many(&model, 1, &room, &launch, &needed), 0);
	const struct dtc_gpu_sequence sequence = { room.host, needed, launch.grid,
						   room.device };
	/* Any job that lies alike. */
	dtc_gpu_plan_sequence(job, &sequence, &launch);
	ck_assert_uint_eq(launch.class, DTC_GPU_CLASS_MANY);
	gpu_launch(&launch);
	free(room.host);
}

START_TEST(kept_parts_serve_any_place_and_cut)
{
	struct choices choices = fixture_choices(0x736571 + (uint64_t)_i);
	struct dtconv_type *type = long_struct();
	struct gpu_type gpu;
	struct stage stage;

	ck_assert_int_eq(stage_open(&stage, type, 1, choose(&choices, 64),
				    choose(&choices, 64), (uint64_t)_i),
			 0);
	gpu_type_open(&gpu, type);
	unsigned char *packed = aligned_alloc(64, stage.bytes / 64 * 64 + 256);
	size_t longest = 1 + choose(&choices, _i % 2 ? 3000 : (uint32_t)stage.bytes);
	stage_blank(&stage);
	for (size_t at = 0, bytes; at < stage.bytes; at += bytes) {
		size_t shift = 64 + choose(&choices, 32);

		bytes = 1 + choose(&choices, (uint32_t)longest);
		bytes = bytes < stage.bytes - at ? bytes : stage.bytes - at;
		stage_guard(packed, bytes + 160);
		struct dtc_gpu_job job = gpu_job(&gpu, 1, stage.source, packed + shift,
						 at, at + bytes, DTC_PACK);
		move_by_sequence(&job);
		ck_assert(!memcmp(packed + shift, stage.stream + at, bytes));
		job.direction = DTC_UNPACK;
		job.user = (uintptr_t)stage.target;
		move_by_sequence(&job);
		stage_deliver(&stage, at, bytes);
		for (size_t i = 0; i < bytes; i++)
			packed[shift + i] = stage_guard_byte(shift + i);
		ck_assert_uint_eq(stage_guard_first_wrong(packed, bytes + 160),
				  STAGE_RIGHT);
	}
	fixture_arrived(&stage);
	free(packed);
	gpu_type_close(&gpu);
	stage_close(&stage);
	dtconv_type_unref(type);
}
END_TEST

START_TEST(nothing_is_no_launch)
{
	struct dtconv_type *type = fixture_type("vector(5, 1, 2, int)");
	struct dtc_gpu_launch launch;
	struct gpu_type gpu;
	uint32_t needed;

	gpu_type_open(&gpu, type);
	struct dtc_gpu_job job = { .layout = gpu.layout,
				   .count = 1,
				   .user = 4096,
				   .packed = 8192,
				   .begin = 7,
				   .end = 7,
				   .direction = DTC_PACK };
	ck_assert_int_eq(dtc_gpu_plan(&job, NULL, &launch, &needed), 0);
	ck_assert_uint_eq(launch.grid, 0);
	ck_assert_int_eq(dtc_gpu_plan_many(&job, 1, NULL, &launch, &needed), 0);
	ck_assert_uint_eq(launch.grid, 0);
	gpu_type_close(&gpu);
	dtconv_type_unref(type);
}
END_TEST

START_TEST(tables_need_their_image)
{
	struct dtconv_type *type =
		fixture_type("indexed_block(1, [3, 1, 4, 15, 9, 2, 6, 5, 35], double)");
	struct dtc_gpu_launch launch;
	struct gpu_type gpu;
	uint32_t needed;

	gpu_type_open(&gpu, type);
	struct dtc_gpu_job job = { .layout = gpu.layout,
				   .count = 1,
				   .user = 4096,
				   .packed = 8192,
				   .end = 72,
				   .direction = DTC_PACK };
	int status = dtc_gpu_plan(&job, NULL, &launch, &needed);
	ck_assert(status == 0 || status == DTCONV_ERR_UNSUPPORTED);
	/* A short list of runs travels with the launch. */
	ck_assert(status != 0 || launch.class == DTC_GPU_CLASS_PERIODIC);
	gpu_type_close(&gpu);
	dtconv_type_unref(type);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("gpu limits");
	TCase *division = fixture_case(suite, "division", 60);
	TCase *far = fixture_case(suite, "far", 60);
	TCase *pages = fixture_case(suite, "pages", 60);
	TCase *many = fixture_case(suite, "many", 60);

	tcase_add_test(division, indices_are_divided_as_the_processor_does);
	tcase_add_test(division, positions_are_divided_as_the_processor_does);
	tcase_add_loop_test(far, far_positions_are_packed, 0, (int)DTC_ARRAY_LENGTH(fars));
	tcase_add_loop_test(far, far_positions_are_unpacked, 0,
			    (int)DTC_ARRAY_LENGTH(far_targets));
	tcase_add_loop_test(pages, types_may_end_at_an_unmapped_page, 0, layout_count);
	tcase_add_test(many, unlike_jobs_move_in_one_launch);
	tcase_add_test(many, parts_that_do_not_fit_are_counted);
	tcase_add_loop_test(many, kept_parts_serve_any_place_and_cut, 0, 40);
	tcase_add_test(many, nothing_is_no_launch);
	tcase_add_test(many, tables_need_their_image);
	return fixture_run(suite);
}
