/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where else a buffer can lie than test_conformance's arenas: on the stack, in a file that may only be
 * read, inside an allocation and up to its last byte, nowhere, at two addresses at once; and rows at the
 * limits of the driver's two-dimensional copies.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/fixture.h"
#include "support/gpu.h"

/* Whole layouts begin at the user's address; the last one's data end at the end of its span. */
static const char *const layouts[] = { "contiguous(5000, byte)", "vector(500, 3, 7, byte)",
				       "vector(100, 8, 16, int)",
				       "hindexed([1,2,3], [4000,0,1001], double)" };

#define LAYOUTS (int)(sizeof(layouts) / sizeof(layouts[0]))

static void pack(const struct stage *stage, const void *user, void *packed)
{
	size_t moved;

	fixture_ok(dtconv_pack(stage->type, stage->count, user, packed, stage->bytes,
			       &moved));
	ck_assert_uint_eq(moved, stage->bytes);
}

static void unpack(const struct stage *stage, void *user, const void *packed)
{
	size_t moved;

	fixture_ok(dtconv_unpack(stage->type, stage->count, user, packed, stage->bytes,
				 &moved));
	ck_assert_uint_eq(moved, stage->bytes);
}

/* The packed memory holds the stage's stream. */
static void holds_stream(const struct stage *stage, const struct arena *packed)
{
	unsigned char *got = malloc(stage->bytes);

	arena_read(packed, 0, got, stage->bytes);
	ck_assert(got && !memcmp(got, stage->stream, stage->bytes));
	free(got);
}

static void put_stream(const struct stage *stage, const struct arena *packed)
{
	arena_write(packed, 0, stage->stream, stage->bytes);
}

/* ---- memory of the host's own ---------------------------------------------------------- */

#define SPAN 7168

START_TEST(the_stack_is_packed_and_unpacked)
{
	unsigned char user[SPAN];
	struct arena packed;
	struct stage stage;

	fixture_open(&stage, layouts[_i], 1);
	ck_assert_uint_le(stage.span, SPAN);
	arena_open(&packed, ARENA_DEVICE, stage.bytes);
	memcpy(user, stage.source, stage.span);
	pack(&stage, user, packed.memory);
	holds_stream(&stage, &packed);
	memcpy(user, stage.target, stage.span);
	unpack(&stage, user, packed.memory);
	memcpy(stage.target, user, stage.span);
	stage_deliver(&stage, 0, stage.bytes);
	fixture_arrived(&stage);
	arena_close(&packed);
	fixture_close(&stage);
}
END_TEST

/* A file of the bytes, mapped to be read. */
static const unsigned char *map_file(const void *bytes, size_t length)
{
	FILE *file = tmpfile();

	ck_assert(file && fwrite(bytes, 1, length, file) == length && !fflush(file));
	void *map = mmap(NULL, length, PROT_READ, MAP_PRIVATE, fileno(file), 0);
	ck_assert(map != MAP_FAILED);
	fclose(file);
	return map;
}

START_TEST(a_file_that_may_only_be_read_is_packed_and_unpacked_from)
{
	struct arena other;
	struct stage stage;

	fixture_open(&stage, layouts[_i], 1);
	const unsigned char *user = map_file(stage.source, stage.span);
	arena_open(&other, ARENA_DEVICE, stage.bytes);
	pack(&stage, user, other.memory);
	holds_stream(&stage, &other);
	munmap((void *)(uintptr_t)user, stage.span);
	arena_close(&other);

	const unsigned char *packed = map_file(stage.stream, stage.bytes);
	arena_open(&other, ARENA_DEVICE, stage.span);
	arena_write(&other, 0, stage.target, stage.span);
	unpack(&stage, other.memory, packed);
	arena_read(&other, 0, stage.target, stage.span);
	stage_deliver(&stage, 0, stage.bytes);
	fixture_arrived(&stage);
	munmap((void *)(uintptr_t)packed, stage.bytes);
	arena_close(&other);
	fixture_close(&stage);
}
END_TEST

/* ---- inside and at the end of an allocation -------------------------------------------- */

/* Both sides begin @shift bytes into allocations and end with them. */
static void move_to_the_last_byte(struct stage *stage, enum arena_kind kind, size_t shift)
{
	struct arena user, packed;

	arena_open(&user, kind, shift + stage->span);
	arena_open(&packed, ARENA_DEVICE, shift + stage->bytes);
	arena_write(&user, shift, stage->source, stage->span);
	pack(stage, user.memory + shift, packed.memory + shift);
	const struct arena inside = { .memory = packed.memory + shift };
	holds_stream(stage, &inside);
	stage_blank(stage);
	arena_write(&user, shift, stage->target, stage->span);
	unpack(stage, user.memory + shift, packed.memory + shift);
	arena_read(&user, shift, stage->target, stage->span);
	stage_deliver(stage, 0, stage->bytes);
	fixture_arrived(stage);
	arena_close(&user);
	arena_close(&packed);
}

START_TEST(buffers_lie_anywhere_in_their_memory_and_up_to_its_end)
{
	static const size_t shifts[] = { 0, 1, 4, 24, 255, 4096 };
	enum arena_kind kind = (enum arena_kind)(_i / LAYOUTS);
	struct stage stage;

	fixture_open(&stage, layouts[_i % LAYOUTS], 1);
	for (size_t i = 0; i < sizeof(shifts) / sizeof(shifts[0]); i++)
		move_to_the_last_byte(&stage, kind, shifts[i]);
	fixture_close(&stage);
}
END_TEST

START_TEST(nothing_needs_no_memory)
{
	struct dtconv_type *type = fixture_type("vector(10, 1, 2, int)");
	struct dtconv_type *empty = fixture_type("contiguous(0, int)");
	struct arena arena;
	size_t moved = 1;

	arena_open(&arena, ARENA_DEVICE, 64);
	fixture_ok(dtconv_pack(type, 0, NULL, arena.memory, 64, &moved));
	ck_assert_uint_eq(moved, 0);
	fixture_ok(dtconv_unpack(type, 0, arena.memory, NULL, 0, &moved));
	fixture_ok(dtconv_pack(empty, 7, arena.memory + 64, arena.memory, 0, &moved));
	fixture_ok(dtconv_unpack(empty, 7, NULL, arena.memory + 64, 0, &moved));
	ck_assert_uint_eq(moved, 0);
	arena_close(&arena);
	dtconv_type_unref(type);
	dtconv_type_unref(empty);
}
END_TEST

/* ---- one memory at two addresses ------------------------------------------------------- */

#define ALIAS_BYTES 4096

/* One handle, mapped twice. */
struct alias {
	CUdeviceptr base[2];
	size_t granule;
};

static void alias_open(struct alias *alias)
{
	const CUmemAllocationProp properties = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 }
	};
	const CUmemAccessDesc access = { .location = properties.location,
					 .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUmemGenericAllocationHandle handle;

	MUST(MemGetAllocationGranularity(&alias->granule, &properties,
					 CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	MUST(MemCreate(&handle, alias->granule, &properties, 0));
	for (int i = 0; i < 2; i++) {
		MUST(MemAddressReserve(&alias->base[i], alias->granule, 0, 0, 0));
		MUST(MemMap(alias->base[i], alias->granule, 0, handle, 0));
		MUST(MemSetAccess(alias->base[i], alias->granule, &access, 1));
	}
	MUST(MemRelease(handle));
}

static void alias_close(const struct alias *alias)
{
	for (int i = 0; i < 2; i++) {
		MUST(MemUnmap(alias->base[i], alias->granule));
		MUST(MemAddressFree(alias->base[i], alias->granule));
	}
}

START_TEST(memory_mapped_twice_is_packed_from_one_address_to_the_other)
{
	struct stage stage;
	struct alias alias;

	fixture_open(&stage, layouts[_i], 1);
	alias_open(&alias);
	ck_assert_uint_le(stage.span + stage.bytes + ALIAS_BYTES, alias.granule);
	unsigned char *user = (unsigned char *)(uintptr_t)alias.base[0];
	const struct arena first = { .memory = user };
	/* Behind the user's data, by the other address: packed there, then unpacked over the user's. */
	size_t behind = (stage.span + ALIAS_BYTES - 1) / ALIAS_BYTES * ALIAS_BYTES;
	unsigned char *packed = (unsigned char *)(uintptr_t)alias.base[1] + behind;
	const struct arena same = { .memory = user + behind };
	arena_write(&first, 0, stage.source, stage.span);
	pack(&stage, user, packed);
	holds_stream(&stage, &same);
	arena_write(&first, 0, stage.target, stage.span);
	put_stream(&stage, &same);
	unpack(&stage, user, packed);
	arena_read(&first, 0, stage.target, stage.span);
	stage_deliver(&stage, 0, stage.bytes);
	fixture_arrived(&stage);
	alias_close(&alias);
	fixture_close(&stage);
}
END_TEST

/* ---- rows at the limits of two-dimensional copies -------------------------------------- */

/* Rows of one byte and more, at pitches that no copy engine likes; the last is beyond its longest pitch. */
static const struct row_case {
	uint64_t rows, width, pitch;
} row_cases[] = { { 1, 1, 1 },	       { 1000, 1, 2 },	  { 1000, 1, 3 },  { 70000, 1, 5 },
		  { 300, 3, 4099 },    { 2, 4097, 65537 }, { 3, 5, 1048583 }, { 70000, 2, 3 },
		  { 2, 7, ((uint64_t)1 << 31) + 4 } };

#define ROW_CASES (int)(sizeof(row_cases) / sizeof(row_cases[0]))

static void fill(unsigned char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		bytes[i] = (unsigned char)(i * 7 + i / 251);
}

/* Only the rows are written and read: what lies between is too much. */
static void check_rows(const struct row_case *rows, enum arena_kind kind, const char *backends)
{
	const struct dtconv_convertor_params params = fixture_by(backends);
	size_t bytes = rows->rows * rows->width;
	unsigned char *sent = malloc(bytes), *got = malloc(bytes);
	struct arena user, packed;
	char text[100];
	size_t moved;

	snprintf(text, sizeof(text), "hvector(%llu, %llu, %llu, byte)",
		 (unsigned long long)rows->rows, (unsigned long long)rows->width,
		 (unsigned long long)rows->pitch);
	struct dtconv_type *type = fixture_type(text);
	arena_open(&user, ARENA_DEVICE, (rows->rows - 1) * rows->pitch + rows->width);
	arena_open(&packed, kind, bytes);
	ck_assert(sent && got);
	fill(sent, bytes);
	arena_write(&packed, 0, sent, bytes);
	ck_assert_msg(!dtconv_unpack_with(type, 1, user.memory, packed.memory, bytes, &params, &moved),
		      "%s: %s", text, fixture_error());
	memset(got, 0, bytes);
	arena_write(&packed, 0, got, bytes);
	ck_assert_msg(!dtconv_pack_with(type, 1, user.memory, packed.memory, bytes, &params, &moved),
		      "%s: %s", text, fixture_error());
	arena_read(&packed, 0, got, bytes);
	ck_assert_msg(!memcmp(got, sent, bytes), "%s by %s", text, backends ? backends : "any");
	arena_close(&user);
	arena_close(&packed);
	dtconv_type_unref(type);
	free(sent);
	free(got);
}

START_TEST(rows_of_any_width_and_pitch_are_copied)
{
	static const char *const ways[] = { NULL, "cuda_copy", "cuda_kernel" };
	static const enum arena_kind kinds[] = { ARENA_DEVICE, ARENA_PINNED };

	for (size_t i = 0; i < 3; i++)
		for (size_t j = 0; j < 2; j++)
			check_rows(&row_cases[_i], kinds[j], ways[i]);
}
END_TEST

int main(void)
{
	gpu_find();
	Suite *suite = suite_create("places");
	TCase *host = fixture_case(suite, "host", 60);
	TCase *inside = fixture_case(suite, "inside", 60);
	TCase *rows = fixture_case(suite, "rows", 60);

	tcase_add_checked_fixture(host, gpu_open, gpu_close);
	tcase_add_loop_test(host, the_stack_is_packed_and_unpacked, 0, LAYOUTS);
	tcase_add_loop_test(host, a_file_that_may_only_be_read_is_packed_and_unpacked_from, 0,
			    LAYOUTS);
	tcase_add_checked_fixture(inside, gpu_open, gpu_close);
	tcase_add_loop_test(inside, buffers_lie_anywhere_in_their_memory_and_up_to_its_end, 0,
			    LAYOUTS * ARENA_KINDS);
	tcase_add_test(inside, nothing_needs_no_memory);
	tcase_add_loop_test(inside, memory_mapped_twice_is_packed_from_one_address_to_the_other, 0,
			    LAYOUTS);
	tcase_add_checked_fixture(rows, gpu_open, gpu_close);
	tcase_add_loop_test(rows, rows_of_any_width_and_pitch_are_copied, 0, ROW_CASES);
	return fixture_run(suite);
}
