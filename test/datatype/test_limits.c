/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts, extents and positions past 2^31, 2^32 and 2^40, and fragments really moved there:
 * through types that visit the same bytes again and again, through address space of which
 * only the touched pages exist, and through one page mapped many times.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/random_type.h"
#include "support/t.h"

/*
 * The positions that 32-bit and other narrow arithmetic gets wrong. Where size_t itself has 32
 * bits, nine times the second power is past 2^31, the edge that signed arithmetic has there.
 */
#if SIZE_MAX > UINT32_MAX
static const unsigned shifts[] = { 31, 32, 33, 40 };
#else
static const unsigned shifts[] = { 26, 28 };
#endif

#define SHIFTS ((int)(sizeof(shifts) / sizeof(shifts[0])))

static size_t power(unsigned shift)
{
	return (size_t)1 << shift;
}

static struct dtconv_convertor *packer(struct dtconv_type *type, size_t count,
				       const void *buffer)
{
	struct dtconv_convertor *convertor = NULL;

	t_ok(dtconv_convertor_create_pack(type, count, buffer, &convertor));
	return convertor;
}

static struct dtconv_convertor *unpacker(struct dtconv_type *type, size_t count,
					 void *buffer)
{
	struct dtconv_convertor *convertor = NULL;

	t_ok(dtconv_convertor_create_unpack(type, count, buffer, &convertor));
	return convertor;
}

/* Pack the fragment at a position. */
static void pack_at(struct dtconv_convertor *convertor, size_t position, void *packed,
		    size_t bytes)
{
	struct dtconv_convertor_attr attr = { .struct_size = sizeof(attr) };
	size_t moved = 0;

	t_ok(dtconv_convertor_seek(convertor, position));
	t_ok(dtconv_convertor_pack(convertor, packed, bytes, &moved));
	ck_assert_uint_eq(moved, bytes);
	t_ok(dtconv_convertor_query(convertor, &attr));
	ck_assert_uint_eq(attr.position, position + bytes);
}

static void unpack_at(struct dtconv_convertor *convertor, size_t position,
		      const void *packed, size_t bytes)
{
	size_t moved = 0;

	t_ok(dtconv_convertor_seek(convertor, position));
	t_ok(dtconv_convertor_unpack(convertor, packed, bytes, &moved));
	ck_assert_uint_eq(moved, bytes);
}

/* ---- the same bytes again and again -------------------------------------------------- */

/* Whatever the position, the stream is these bytes round and round. */
static void expect_cycle(struct dtconv_convertor *convertor, const unsigned char *cycle,
			 size_t length, size_t position)
{
	unsigned char packed[61];

	pack_at(convertor, position, packed, sizeof(packed));
	for (size_t i = 0; i < sizeof(packed); i++)
		ck_assert_msg(packed[i] == cycle[(position + i) % length],
			      "byte %zu of the stream is wrong", position + i);
}

static void expect_cycle_near(struct dtconv_type *type, size_t count, size_t length,
			      size_t position)
{
	unsigned char cycle[64];

	for (size_t i = 0; i < sizeof(cycle); i++)
		cycle[i] = (unsigned char)(3 * i + 1);
	struct dtconv_convertor *convertor = packer(type, count, cycle);
	for (size_t i = 0; i < 40; i++)
		expect_cycle(convertor, cycle, length, position - 20 + i);
	dtconv_convertor_destroy(convertor);
}

START_TEST(vector_count)
{
	struct dtconv_type *type = NULL;

	t_ok(dtconv_type_create_vector(power(shifts[_i]) + 30, 3, 0,
				       t_predefined(DTCONV_SHORT), &type));
	t_ok(dtconv_type_commit(type));
	ck_assert_uint_eq(t_attr(type).size, 6 * (power(shifts[_i]) + 30));
	expect_cycle_near(type, 1, 6, power(shifts[_i]));
	expect_cycle_near(type, 1, 6, 6 * power(shifts[_i]));
	dtconv_type_unref(type);
}
END_TEST

START_TEST(contiguous_count)
{
	struct dtconv_type *still =
		t_parse("resized(struct([1,1],[0,1],[char,double]),0,0)");
	struct dtconv_type *type = NULL;

	t_ok(dtconv_type_create_contiguous(power(shifts[_i]) + 9, still, &type));
	dtconv_type_unref(still);
	t_ok(dtconv_type_commit(type));
	expect_cycle_near(type, 1, 9, power(shifts[_i]));
	expect_cycle_near(type, 1, 9, 9 * power(shifts[_i]));
	dtconv_type_unref(type);
}
END_TEST

START_TEST(convertor_count)
{
	struct dtconv_type *type =
		t_parse("resized(struct([1,1],[0,1],[char,double]),0,0)");

	expect_cycle_near(type, power(shifts[_i]) + 9, 9, power(shifts[_i]));
	expect_cycle_near(type, power(shifts[_i]) + 9, 9, 9 * power(shifts[_i]));
	dtconv_type_unref(type);
}
END_TEST

/* Block index x block length past the power, in nested loops of odd sizes. */
START_TEST(nested_counts)
{
	struct dtconv_type *inner = NULL, *still = NULL, *type = NULL;
	size_t outer = power(shifts[_i]) / 1000 + 1;

	t_ok(dtconv_type_create_vector(1000, 1, 0, t_predefined(DTCONV_DOUBLE), &inner));
	t_ok(dtconv_type_create_resized(inner, 0, 8, &still));
	t_ok(dtconv_type_create_hvector(outer, 1, 0, still, &type));
	dtconv_type_unref(inner);
	dtconv_type_unref(still);
	t_ok(dtconv_type_commit(type));
	expect_cycle_near(type, 1, 8, 8 * power(shifts[_i]) - 64);
	dtconv_type_unref(type);
}
END_TEST

/* A table whose blocks lie at 0, with prefixes past the power. */
START_TEST(block_lengths)
{
	size_t lengths[12];
	ptrdiff_t disps[12] = { 0, 1, 0, 2, 0, 3, 0, 1, 0, 2, 0, 1 };
	struct dtconv_type *still = t_parse("resized(char, 0, 0)"), *type = NULL;
	unsigned char bytes[4] = { 11, 22, 33, 44 }, packed[2];

	for (size_t i = 0; i < 12; i++)
		lengths[i] = power(shifts[_i]) / 4 + i;
	t_ok(dtconv_type_create_hindexed(12, lengths, disps, still, &type));
	dtconv_type_unref(still);
	t_ok(dtconv_type_commit(type));
	struct dtconv_convertor *convertor = packer(type, 1, bytes);
	size_t edge = 0;
	for (size_t i = 0; i < 11; i++) {
		edge += lengths[i];
		pack_at(convertor, edge - 1, packed, 2);
		ck_assert_uint_eq(packed[0], bytes[disps[i]]);
		ck_assert_uint_eq(packed[1], bytes[disps[i + 1]]);
	}
	dtconv_convertor_destroy(convertor);
	dtconv_type_unref(type);
}
END_TEST

/* ---- sparse address space ------------------------------------------------------------ */

/* Reserved, not backed: pages come into being when touched. NULL where that is refused. */
static unsigned char *reserve(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		printf("skipped: %zu bytes of address space were refused\n", bytes);
	return memory == MAP_FAILED ? NULL : memory;
}

/* One element at either end and one in the middle, `distance` bytes apart, both ways. */
static void expect_far_elements(struct dtconv_type *type, unsigned char *memory,
				unsigned char *const at[3])
{
	const uint64_t values[3] = { 0x1122334455667788u, 0x99aabbccddeeff00u,
				     0x0123456789abcdefu };
	uint64_t packed[3] = { 0 };
	size_t moved = 0;

	t_ok(dtconv_unpack(type, 1, memory, values, sizeof(values), &moved));
	ck_assert_uint_eq(moved, 24);
	for (size_t i = 0; i < 3; i++)
		ck_assert_mem_eq(at[i], &values[i], 8);
	t_ok(dtconv_pack(type, 1, memory, packed, sizeof(packed), &moved));
	ck_assert_mem_eq(packed, values, 24);
	/* Byte 12 is in the middle of the second element. */
	struct dtconv_convertor *convertor = packer(type, 1, memory);
	memset(packed, 0, sizeof(packed));
	pack_at(convertor, 12, packed, 12);
	ck_assert_mem_eq(packed, (const char *)values + 12, 12);
	dtconv_convertor_destroy(convertor);
}

START_TEST(stride)
{
	size_t distance = power(shifts[_i]) + 8;
	unsigned char *memory = reserve(2 * distance + 8);
	struct dtconv_type *type = NULL;

	if (!memory)
		return;
	t_ok(dtconv_type_create_hvector(3, 1, (ptrdiff_t)distance,
					t_predefined(DTCONV_INT64), &type));
	t_ok(dtconv_type_commit(type));
	ck_assert_int_eq(t_attr(type).extent, (ptrdiff_t)(2 * distance + 8));
	expect_far_elements(type, memory,
			    (unsigned char *[]){ memory, memory + distance,
						 memory + 2 * distance });
	dtconv_type_unref(type);
	munmap(memory, 2 * distance + 8);
}
END_TEST

START_TEST(negative_stride)
{
	size_t distance = power(shifts[_i]) + 8;
	unsigned char *memory = reserve(2 * distance + 8);
	struct dtconv_type *type = NULL;

	if (!memory)
		return;
	unsigned char *top = memory + 2 * distance;
	t_ok(dtconv_type_create_vector(3, 1, -(ptrdiff_t)(distance / 8),
				       t_predefined(DTCONV_INT64), &type));
	t_ok(dtconv_type_commit(type));
	ck_assert_int_eq(t_attr(type).lb, -(ptrdiff_t)(2 * distance));
	expect_far_elements(type, top,
			    (unsigned char *[]){ top, top - distance, memory });
	dtconv_type_unref(type);
	munmap(memory, 2 * distance + 8);
}
END_TEST

START_TEST(displacement)
{
	size_t distance = power(shifts[_i]) + 8;
	const ptrdiff_t disps[] = { (ptrdiff_t)(2 * distance), 0, (ptrdiff_t)distance };
	const ptrdiff_t units[] = { disps[0] / 8, 0, disps[2] / 8 };
	const size_t lengths[] = { 1, 1, 1 };
	unsigned char *memory = reserve(2 * distance + 8);
	struct dtconv_type *old = t_predefined(DTCONV_INT64), *types[4] = { 0 };

	if (!memory)
		return;
	struct dtconv_type *members[] = { old, old, old };
	t_ok(dtconv_type_create_hindexed(3, lengths, disps, old, &types[0]));
	t_ok(dtconv_type_create_indexed(3, lengths, units, old, &types[1]));
	t_ok(dtconv_type_create_indexed_block(3, 1, units, old, &types[2]));
	t_ok(dtconv_type_create_struct(t_context, 3, lengths, disps, members, &types[3]));
	for (size_t i = 0; i < 4; i++) {
		t_ok(dtconv_type_commit(types[i]));
		expect_far_elements(types[i], memory,
				    (unsigned char *[]){ memory + 2 * distance, memory,
							 memory + distance });
		dtconv_type_unref(types[i]);
	}
	munmap(memory, 2 * distance + 8);
}
END_TEST

START_TEST(resized_extent)
{
	size_t distance = power(shifts[_i]) + 8;
	unsigned char *memory = reserve(2 * distance + 8);
	struct dtconv_type *far = NULL, *type = NULL;

	if (!memory)
		return;
	t_ok(dtconv_type_create_resized(t_predefined(DTCONV_INT64), 0,
					(ptrdiff_t)distance, &far));
	t_ok(dtconv_type_create_contiguous(3, far, &type));
	dtconv_type_unref(far);
	t_ok(dtconv_type_commit(type));
	expect_far_elements(type, memory,
			    (unsigned char *[]){ memory, memory + distance,
						 memory + 2 * distance });
	dtconv_type_unref(type);
	munmap(memory, 2 * distance + 8);
}
END_TEST

/* Twelve unlike places: a table whose displacements need 64 bits. */
START_TEST(table_of_far_blocks)
{
	enum { BLOCKS = 12 };
	size_t step = power(shifts[_i]) / 8 + 40;
	unsigned char *memory = reserve(BLOCKS * step + 64);
	size_t lengths[BLOCKS], bytes = 0;
	ptrdiff_t disps[BLOCKS];
	unsigned char stream[256], packed[256];
	struct dtconv_type *type = NULL;
	size_t moved = 0;

	if (!memory)
		return;
	for (size_t i = 0; i < BLOCKS; i++) {
		disps[i] = (ptrdiff_t)(i * step + i * i % 7);
		lengths[i] = 1 + i % 3;
		for (size_t k = 0; k < lengths[i]; k++) {
			stream[bytes] = (unsigned char)(bytes + 1);
			memory[disps[i] + (ptrdiff_t)k] = stream[bytes++];
		}
	}
	t_ok(dtconv_type_create_hindexed(BLOCKS, lengths, disps,
					 t_predefined(DTCONV_CHAR), &type));
	t_ok(dtconv_type_commit(type));
	t_ok(dtconv_pack(type, 1, memory, packed, sizeof(packed), &moved));
	ck_assert_uint_eq(moved, bytes);
	ck_assert_mem_eq(packed, stream, bytes);
	dtconv_type_unref(type);
	munmap(memory, BLOCKS * step + 64);
}
END_TEST

/* An array of more than 2^31 rows; the process far down has the last ones. */
START_TEST(array_dimensions)
{
	size_t rows = power(shifts[_i]) + 4;
	const size_t sizes[] = { rows, 2 }, subsizes[] = { 3, 1 },
		     starts[] = { rows - 3, 1 };
	unsigned char *memory = reserve(2 * rows);
	struct dtconv_type *type = NULL;
	unsigned char packed[3];
	size_t moved = 0;

	if (!memory)
		return;
	for (size_t i = 0; i < 6; i++)
		memory[2 * rows - 6 + i] = (unsigned char)(i + 1);
	t_ok(dtconv_type_create_subarray(2, sizes, subsizes, starts, DTCONV_ORDER_C,
					 t_predefined(DTCONV_CHAR), &type));
	t_ok(dtconv_type_commit(type));
	ck_assert_int_eq(t_attr(type).extent, (ptrdiff_t)(2 * rows));
	t_ok(dtconv_pack(type, 1, memory, packed, 3, &moved));
	ck_assert_mem_eq(packed, ((unsigned char[]){ 2, 4, 6 }), 3);
	dtconv_type_unref(type);
	munmap(memory, 2 * rows);
}
END_TEST

START_TEST(darray_dimensions)
{
	size_t rows = power(shifts[_i]) + 4;
	const size_t gsizes[] = { rows }, psizes[] = { 2 }, dargs[] = { 3 };
	const enum dtconv_distribution cyclic[] = { DTCONV_DISTRIBUTE_CYCLIC };
	unsigned char *memory = reserve(rows);
	struct dtconv_type *type = NULL;
	unsigned char packed[9], want[9];

	if (!memory)
		return;
	t_ok(dtconv_type_create_darray(2, 1, 1, gsizes, cyclic, dargs, psizes,
				       DTCONV_ORDER_C, t_predefined(DTCONV_CHAR), &type));
	t_ok(dtconv_type_commit(type));
	size_t position = t_attr(type).size / 3 * 3 - 9;
	for (size_t i = 0; i < 9; i++) {
		want[i] = (unsigned char)(i + 1);
		memory[(position + i) / 3 * 6 + 3 + i % 3] = want[i];
	}
	struct dtconv_convertor *convertor = packer(type, 1, memory);
	pack_at(convertor, position, packed, 9);
	ck_assert_mem_eq(packed, want, 9);
	dtconv_convertor_destroy(convertor);
	dtconv_type_unref(type);
	munmap(memory, rows);
}
END_TEST

/* Long strips: 2^31 and more runs of which the last ones are moved. */
START_TEST(last_runs_of_a_long_strip)
{
	size_t runs = power(shifts[_i]) + 3;
	unsigned char *memory = reserve(3 * runs);
	struct dtconv_type *type = NULL;
	unsigned char packed[4];

	if (!memory)
		return;
	t_ok(dtconv_type_create_vector(runs, 1, 3, t_predefined(DTCONV_CHAR), &type));
	t_ok(dtconv_type_commit(type));
	struct dtconv_convertor *convertor = unpacker(type, 1, memory);
	unpack_at(convertor, runs - 4, "wxyz", 4);
	dtconv_convertor_destroy(convertor);
	for (size_t i = 0; i < 4; i++) {
		ck_assert_int_eq(memory[3 * (runs - 4 + i)], "wxyz"[i]);
		ck_assert_int_eq(memory[3 * (runs - 4 + i) + 1], 0);
	}
	convertor = packer(type, 1, memory);
	pack_at(convertor, runs - 4, packed, 4);
	ck_assert_mem_eq(packed, "wxyz", 4);
	dtconv_convertor_destroy(convertor);
	dtconv_type_unref(type);
	munmap(memory, 3 * runs);
}
END_TEST

/* ---- one page many times ------------------------------------------------------------- */

enum { WINDOW_SHIFT = 24 };

/* Fill `bytes` of address space with one file of 16 MiB, mapped over and over. */
static unsigned char *map_many_times(size_t bytes)
{
	size_t window = power(WINDOW_SHIFT);
	int file = memfd_create("window", 0);

	ck_assert_int_ge(file, 0);
	ck_assert_int_eq(ftruncate(file, (off_t)window), 0);
	unsigned char *memory = mmap(NULL, bytes, PROT_NONE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ck_assert_ptr_ne(memory, MAP_FAILED);
	for (size_t i = 0; i < bytes; i += window)
		ck_assert_ptr_ne(mmap(memory + i, window, PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_FIXED, file, 0),
				 MAP_FAILED);
	close(file);
	return memory;
}

/* A dense stretch across 2^32, moved in one go of 48 MiB, starting at an odd byte. */
START_TEST(a_real_fragment_across_four_gigabytes)
{
	size_t bytes = power(33), fragment = 3 * power(24) + 5,
	       window = power(WINDOW_SHIFT);
	size_t position = power(32) - fragment / 2;
	unsigned char *memory = map_many_times(bytes), *packed = malloc(fragment);
	struct random_stream stream = { random_seed(77) };
	struct dtconv_type *type = NULL;

	ck_assert_ptr_nonnull(packed);
	for (size_t i = 0; i < window; i += 8) {
		uint64_t value = random_next(&stream);
		memcpy(memory + i, &value, 8);
	}
	t_ok(dtconv_type_create_contiguous(bytes / 8, t_predefined(DTCONV_DOUBLE),
					   &type));
	t_ok(dtconv_type_commit(type));
	struct dtconv_convertor *convertor = packer(type, 1, memory);
	pack_at(convertor, position, packed, fragment);
	ck_assert_msg(memcmp(packed, memory + position, fragment) == 0, "dense fragment");
	dtconv_convertor_destroy(convertor);
	dtconv_type_unref(type);
	t_ok(dtconv_type_create_vector(bytes / 16, 1, 2, t_predefined(DTCONV_DOUBLE),
				       &type));
	t_ok(dtconv_type_commit(type));
	convertor = packer(type, 1, memory);
	position = power(31) - fragment / 2 / 8 * 8;
	pack_at(convertor, position, packed, fragment / 8 * 8);
	for (size_t i = 0; i < fragment / 8; i++)
		ck_assert_msg(memcmp(packed + 8 * i, memory + 2 * (position + 8 * i),
				     8) == 0,
			      "strided fragment, run %zu", i);
	dtconv_convertor_destroy(convertor);
	dtconv_type_unref(type);
	free(packed);
	munmap(memory, bytes);
}
END_TEST

/* ---- numbers alone ------------------------------------------------------------------- */

START_TEST(numbers_past_the_powers)
{
	size_t big = power(SIZE_MAX > UINT32_MAX ? shifts[_i] : 26) + 1;
	struct dtconv_type *type = NULL;

	t_ok(dtconv_type_create_vector(big, 2, 3, t_predefined(DTCONV_2INT), &type));
	ck_assert_uint_eq(t_attr(type).size, 16 * big);
	ck_assert_uint_eq(t_attr(type).element_count, 4 * big);
	t_bounds(type, 0, (ptrdiff_t)(24 * (big - 1) + 16), 0,
		 (ptrdiff_t)(24 * (big - 1) + 16));
	dtconv_type_unref(type);
	t_ok(dtconv_type_create_hvector(2, 1, -(ptrdiff_t)big, t_predefined(DTCONV_CHAR),
					&type));
	t_bounds(type, -(ptrdiff_t)big, (ptrdiff_t)big + 1, -(ptrdiff_t)big,
		 (ptrdiff_t)big + 1);
	dtconv_type_unref(type);
}
END_TEST

/* The largest that there are: everything still fits, if only just. */
START_TEST(the_largest_numbers)
{
	struct dtconv_type *type = NULL;

	t_ok(dtconv_type_create_contiguous(PTRDIFF_MAX, t_predefined(DTCONV_CHAR),
					   &type));
	t_ok(dtconv_type_commit(type));
	ck_assert_uint_eq(t_attr(type).size, PTRDIFF_MAX);
	t_bounds(type, 0, PTRDIFF_MAX, 0, PTRDIFF_MAX);
	dtconv_type_unref(type);
	t_ok(dtconv_type_create_resized(t_predefined(DTCONV_CHAR), 0, PTRDIFF_MAX,
					&type));
	t_bounds(type, 0, PTRDIFF_MAX, 0, 1);
	dtconv_type_unref(type);
	t_ok(dtconv_type_create_resized(t_predefined(DTCONV_CHAR), PTRDIFF_MIN,
					PTRDIFF_MAX, &type));
	ck_assert_int_eq(t_attr(type).lb, PTRDIFF_MIN);
	dtconv_type_unref(type);
}
END_TEST

/* Counts of nothing may be as large as they like. */
START_TEST(any_count_of_nothing)
{
	struct dtconv_type *nothing = t_parse("contiguous(0, double)"), *type = NULL;
	size_t moved = 7;

	t_ok(dtconv_type_create_contiguous(SIZE_MAX, nothing, &type));
	t_ok(dtconv_type_commit(type));
	ck_assert_uint_eq(t_attr(type).size, 0);
	t_ok(dtconv_pack(type, SIZE_MAX, NULL, NULL, 0, &moved));
	ck_assert_uint_eq(moved, 0);
	dtconv_type_unref(type);
	t_ok(dtconv_type_create_vector(SIZE_MAX, SIZE_MAX, 0, nothing, &type));
	t_ok(dtconv_type_commit(type));
	dtconv_type_unref(type);
	dtconv_type_unref(nothing);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("limits");
	TCase *again = t_case(suite, "same_bytes_again");
	TCase *sparse = t_case(suite, "sparse_memory");
	TCase *aliased = t_case(suite, "aliased_memory");
	TCase *numbers = t_case(suite, "numbers");

	tcase_add_loop_test(again, vector_count, 0, SHIFTS);
	tcase_add_loop_test(again, contiguous_count, 0, SHIFTS);
	tcase_add_loop_test(again, convertor_count, 0, SHIFTS);
	tcase_add_loop_test(again, nested_counts, 0, SHIFTS);
	tcase_add_loop_test(again, block_lengths, 0, SHIFTS);
	tcase_add_loop_test(sparse, stride, 0, SHIFTS);
	tcase_add_loop_test(sparse, negative_stride, 0, SHIFTS);
	tcase_add_loop_test(sparse, displacement, 0, SHIFTS);
	tcase_add_loop_test(sparse, resized_extent, 0, SHIFTS);
	tcase_add_loop_test(sparse, table_of_far_blocks, 0, SHIFTS);
	tcase_add_loop_test(sparse, array_dimensions, 0, SHIFTS);
	tcase_add_loop_test(sparse, darray_dimensions, 0, SHIFTS);
	tcase_add_loop_test(sparse, last_runs_of_a_long_strip, 0, SHIFTS);
	if (sizeof(size_t) > 4)
		tcase_add_test(aliased, a_real_fragment_across_four_gigabytes);
	tcase_add_loop_test(numbers, numbers_past_the_powers, 0, SHIFTS);
	tcase_add_test(numbers, the_largest_numbers);
	tcase_add_test(numbers, any_count_of_nothing);
	return t_run(suite);
}
