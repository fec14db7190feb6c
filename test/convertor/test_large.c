/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts, displacements and positions past 2^31, 2^32 and 2^40, with bytes really moved there:
 * types that stay on the spot (stride or extent 0), and one small piece of memory that is
 * mapped again and again over a large range of addresses.
 */
#include "config.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/fixture.h"

#define GIB ((size_t)1 << 30)
#define TIB ((size_t)(UINT64_C(1) << 40))

/* The edges that matter; a few bytes before and after each are moved. */
static const size_t edges[] = { 2 * GIB, 4 * GIB, 8 * GIB + 5, TIB, TIB + 4 * GIB };

#define EDGES ((int)(sizeof(edges) / sizeof(edges[0])))

/* ---- on the spot --------------------------------------------------------------------- */

/* Byte `position` of the stream of a type that stays on a few bytes of memory. */
typedef unsigned char (*byte_fn)(const unsigned char *memory, size_t position);

/* Packs 41 bytes around a position, in one fragment and byte by byte, and compares. */
static void pack_around(struct dtconv_convertor *packs, size_t middle,
			const unsigned char *memory, byte_fn byte)
{
	unsigned char whole[41], single;
	size_t from = middle - 20, moved = 0;

	fixture_seek(packs, from);
	fixture_ok(dtconv_convertor_pack(packs, whole, sizeof(whole), &moved));
	ck_assert_uint_eq(moved, sizeof(whole));
	ck_assert_uint_eq(fixture_position(packs), from + sizeof(whole));
	for (size_t i = 0; i < sizeof(whole); i++) {
		ck_assert_int_eq(whole[i], byte(memory, from + i));
		fixture_seek(packs, from + i);
		fixture_ok(dtconv_convertor_pack(packs, &single, 1, &moved));
		ck_assert_int_eq(single, whole[i]);
	}
}

static void pack_at_edges(const char *text, size_t count, byte_fn byte)
{
	struct dtconv_type *type = fixture_type(text);
	struct dtconv_convertor *packs = NULL;
	struct dtconv_convertor_attr attr = { .struct_size = sizeof(attr) };
	unsigned char memory[64];

	for (size_t i = 0; i < sizeof(memory); i++)
		memory[i] = (unsigned char)(17 * i + 3);
	fixture_ok(dtconv_convertor_create_pack(type, count, memory, &packs));
	fixture_ok(dtconv_convertor_query(packs, &attr));
	for (int i = 0; i < EDGES; i++)
		if (edges[i] + 64 < attr.size)
			pack_around(packs, edges[i], memory, byte);
	ck_assert_uint_gt(attr.size, TIB + 4 * GIB);
	pack_around(packs, attr.size - 21, memory, byte);
	dtconv_convertor_destroy(packs);
	dtconv_type_unref(type);
}

static unsigned char eight_bytes(const unsigned char *memory, size_t position)
{
	return memory[position % 8];
}

START_TEST(a_vector_of_stride_0_past_2_to_the_40)
{
	pack_at_edges("vector(1099511627779, 1, 0, double)", 1, eight_bytes);
}
END_TEST

START_TEST(a_blocklength_of_extent_0_past_2_to_the_40)
{
	pack_at_edges("vector(3, 1099511627779, 0, resized(double, 0, 0))", 1,
		      eight_bytes);
}
END_TEST

START_TEST(a_count_of_extent_0_past_2_to_the_40)
{
	pack_at_edges("resized(double, 0, 0)", TIB + 7, eight_bytes);
}
END_TEST

/* char at 0, double at 1, then the next instance on the same spot. */
static unsigned char nine_bytes(const unsigned char *memory, size_t position)
{
	return memory[position % 9];
}

START_TEST(elements_cut_at_positions_past_2_to_the_40)
{
	pack_at_edges("resized(struct([1, 1], [0, 1], [char, double]), 0, 0)", TIB / 4,
		      nine_bytes);
}
END_TEST

/* Two levels on the spot: three shorts with gaps, 2^20 x 2^20 times. */
static unsigned char three_shorts(const unsigned char *memory, size_t position)
{
	return memory[position % 6 / 2 * 4 + position % 2];
}

START_TEST(nested_counts_multiply_past_2_to_the_40)
{
	pack_at_edges(
		"hvector(1048579, 1, 0, hvector(1048583, 1, 0, vector(3, 1, 2, short)))",
		1, three_shorts);
}
END_TEST

/* Three blocks of ints on the spot, at 0, 8 and 16, as long as they are in the text below. */
static unsigned char three_blocks(const unsigned char *memory, size_t position)
{
	const size_t first = 4 * (size_t)2147483649,
		     second = first + 4 * (size_t)4294967303;

	return memory[(position < first ? 0 : position < second ? 8 : 16) + position % 4];
}

START_TEST(a_table_of_blocks_past_2_to_the_40)
{
	pack_at_edges("hindexed([2147483649, 4294967303, 1099511627776], [0, 8, 16], "
		      "resized(int, 0, 0))",
		      1, three_blocks);
}
END_TEST

START_TEST(unpack_past_2_to_the_40)
{
	struct dtconv_type *type =
		fixture_type("hvector(1099511627779, 1, 0, vector(2, 1, 2, int))");
	struct dtconv_convertor *unpacks = NULL;
	unsigned char memory[12], fragment[3] = { 1, 2, 3 };
	size_t moved;

	memset(memory, 0x55, sizeof(memory));
	fixture_ok(dtconv_convertor_create_unpack(type, 1, memory, &unpacks));
	/* The last byte of the first int and the first two of the second. */
	fixture_seek(unpacks, TIB + 4 * GIB + 3);
	fixture_ok(dtconv_convertor_unpack(unpacks, fragment, 3, &moved));
	ck_assert_uint_eq(moved, 3);
	for (size_t i = 0; i < sizeof(memory); i++)
		ck_assert_int_eq(memory[i], i == 3 ? 1 : i == 8 ? 2 : i == 9 ? 3 : 0x55);
	dtconv_convertor_destroy(unpacks);
	dtconv_type_unref(type);
}
END_TEST

START_TEST(iov_past_2_to_the_40)
{
	struct dtconv_type *type =
		fixture_type("hvector(1099511627779, 1, 0, vector(2, 1, 2, int))");
	struct dtconv_convertor *packs = NULL;
	unsigned char memory[12] = { 0 };
	struct iovec iov[3];
	size_t moved, iov_count;

	fixture_ok(dtconv_convertor_create_pack(type, 1, memory, &packs));
	fixture_seek(packs, TIB + 2);
	fixture_ok(dtconv_convertor_iov(packs, iov, 3, SIZE_MAX, &iov_count, &moved));
	ck_assert_uint_eq(iov_count, 3);
	ck_assert_uint_eq(moved, 10);
	ck_assert_ptr_eq(iov[0].iov_base, memory + 2);
	ck_assert_ptr_eq(iov[1].iov_base, memory + 8);
	ck_assert_ptr_eq(iov[2].iov_base, memory);
	ck_assert_uint_eq(iov[0].iov_len, 2);
	ck_assert_uint_eq(fixture_position(packs), TIB + 12);
	dtconv_convertor_destroy(packs);
	dtconv_type_unref(type);
}
END_TEST

/* ---- a large range of addresses ------------------------------------------------------ */

/* An odd number of pages, so that 2^32 bytes further the bytes differ. */
#define PIECE ((size_t)(1 << 20) + 4096)

static unsigned char piece_byte(size_t offset)
{
	return (unsigned char)(choices_mix(offset % PIECE) >> 8);
}

static int open_piece(void)
{
	int file = memfd_create("piece", MFD_CLOEXEC);

	ck_assert_int_ge(file, 0);
	ck_assert_int_eq(ftruncate(file, (off_t)PIECE), 0);
	unsigned char *memory =
		mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	ck_assert_ptr_ne(memory, MAP_FAILED);
	for (size_t i = 0; i < PIECE; i++)
		memory[i] = piece_byte(i);
	munmap(memory, PIECE);
	return file;
}

/* So many bytes of address space with nothing behind them. */
static unsigned char *reserve(size_t bytes)
{
	unsigned char *range = mmap(NULL, bytes, PROT_NONE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	ck_assert_ptr_ne(range, MAP_FAILED);
	return range;
}

static void map_piece(unsigned char *at, int file)
{
	ck_assert_ptr_eq(mmap(at, PIECE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			      file, 0),
			 at);
}

/* 9 GiB of addresses that are all the same MiB. */
static unsigned char *open_range(size_t bytes)
{
	unsigned char *range = reserve(bytes + PIECE);
	int file = open_piece();

	for (size_t at = 0; at < bytes; at += PIECE)
		map_piece(range + at, file);
	close(file);
	return range;
}

#define RANGE (9 * GIB)

/* Packs and exports around a position of the stream; `where` tells its displacement. */
static void move_around(struct dtconv_convertor *packs, const unsigned char *range,
			size_t middle, size_t (*where)(size_t position))
{
	unsigned char packed[41];
	struct iovec iov[1];
	size_t from = middle - 20, moved, iov_count;

	fixture_seek(packs, from);
	fixture_ok(dtconv_convertor_pack(packs, packed, sizeof(packed), &moved));
	ck_assert_uint_eq(moved, sizeof(packed));
	for (size_t i = 0; i < sizeof(packed); i++)
		ck_assert_int_eq(packed[i], piece_byte(where(from + i)));
	fixture_seek(packs, from);
	fixture_ok(dtconv_convertor_iov(packs, iov, 1, 7, &iov_count, &moved));
	ck_assert_ptr_eq(iov[0].iov_base, range + where(from));
}

static void move_in_range(const char *text, size_t count,
			  size_t (*where)(size_t position))
{
	struct dtconv_type *type = fixture_type(text);
	struct dtconv_convertor_attr attr = { .struct_size = sizeof(attr) };
	struct dtconv_convertor *packs = NULL;
	unsigned char *range = open_range(RANGE);

	fixture_ok(dtconv_convertor_create_pack(type, count, range, &packs));
	fixture_ok(dtconv_convertor_query(packs, &attr));
	ck_assert_uint_gt(attr.size, 4 * GIB);
	for (int i = 0; i < EDGES; i++)
		if (edges[i] + 64 < attr.size)
			move_around(packs, range, edges[i], where);
	move_around(packs, range, attr.size - 21, where);
	dtconv_convertor_destroy(packs);
	dtconv_type_unref(type);
	munmap(range, RANGE + PIECE);
}

static size_t in_place(size_t position)
{
	return position;
}

START_TEST(a_dense_type_of_8_gib)
{
	move_in_range("contiguous(8589934701, byte)", 1, in_place);
	move_in_range("contiguous(3, byte)", 2863311567, in_place);
}
END_TEST

static size_t every_second_int(size_t position)
{
	return position / 4 * 8 + position % 4;
}

START_TEST(a_strided_type_over_8_gib)
{
	move_in_range("vector(1125899907, 1, 2, int)", 1, every_second_int);
	move_in_range("resized(int, 0, 8)", 1125899907, every_second_int);
}
END_TEST

/* 5 of 6 ints in rows of 2^20 + 1 of them. */
static size_t subarray_byte(size_t position)
{
	size_t element = position / 8, row = element / 1048575;

	return (row * 1048577 + 1 + element % 1048575) * 8 + position % 8;
}

START_TEST(a_subarray_of_8_gib)
{
	move_in_range("subarray([1024, 1048577], [1023, 1048575], [0, 1], c, double)", 1,
		      subarray_byte);
}
END_TEST

START_TEST(whole_fragments_cross_2_to_the_32)
{
	struct dtconv_type *type = fixture_type("vector(1125899907, 1, 2, int)");
	unsigned char *range = open_range(RANGE), *packed = malloc(3 << 20);
	struct dtconv_convertor *packs = NULL;
	size_t from = 4 * GIB - (1 << 20) - 3, moved;

	ck_assert_ptr_nonnull(packed);
	fixture_ok(dtconv_convertor_create_pack(type, 1, range, &packs));
	fixture_seek(packs, from);
	fixture_ok(dtconv_convertor_pack(packs, packed, 3 << 20, &moved));
	ck_assert_uint_eq(moved, 3 << 20);
	for (size_t i = 0; i < moved; i++)
		if (packed[i] != piece_byte(every_second_int(from + i)))
			ck_abort_msg("byte %zu is wrong", i);
	dtconv_convertor_destroy(packs);
	dtconv_type_unref(type);
	free(packed);
	munmap(range, RANGE + PIECE);
}
END_TEST

START_TEST(displacements_past_2_to_the_40)
{
	static const char *const texts[] = {
		"hvector(2, 1, 1099511631872, contiguous(3, double))",
		"hindexed([3, 3], [0, 1099511631872], double)",
		"struct([3, 3], [0, 1099511631872], [double, double])",
		"contiguous(2, resized(contiguous(3, double), 0, 1099511631872))",
		"hindexed_block(3, [0, 1099511631872], double)",
	};
	unsigned char *range = reserve(TIB + 3 * PIECE), packed[48], back[48];
	int file = open_piece();

	map_piece(range, file);
	map_piece(range + TIB + 4096, file);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct dtconv_type *type = fixture_type(texts[i]);

		fixture_ok(dtconv_pack(type, 1, range, packed, 48, NULL));
		for (size_t j = 0; j < 48; j++)
			ck_assert_int_eq(packed[j], piece_byte(j % 24));
		for (size_t j = 0; j < 48; j++)
			packed[j] = (unsigned char)(j % 24 + i);
		fixture_ok(dtconv_unpack(type, 1, range, packed, 48, NULL));
		fixture_ok(dtconv_pack(type, 1, range, back, 48, NULL));
		ck_assert_mem_eq(packed, back, 48);
		for (size_t j = 0; j < 48; j++)
			packed[j] = piece_byte(j % 24);
		fixture_ok(dtconv_unpack(type, 1, range, packed, 48, NULL));
		dtconv_type_unref(type);
	}
	close(file);
	munmap(range, TIB + 3 * PIECE);
}
END_TEST

/* Tables whose displacements need 64 bits: more blocks than a list of runs has, out of order. */
static const struct {
	const char *text;
	size_t bytes;
	size_t offsets[20]; /* in the piece, for each byte of the stream */
} tables[] = {
	{ "hindexed([2,1,3,1,1,2,1,1,1,1], [1099511631873,3,1099511631901,40,1099511631921,"
	  "50,61,1099511631951,72,83], byte)",
	  14,
	  { 1, 2, 3, 29, 30, 31, 40, 49, 50, 51, 61, 79, 72, 83 } },
	{ "hindexed_block(1, [1099511631873,3,1099511631901,40,1099511631921,50,61,"
	  "1099511631951,72,83], byte)",
	  10,
	  { 1, 3, 29, 40, 49, 50, 61, 79, 72, 83 } },
	{ "hindexed_block(2, [1099511631873,3,1099511631901,40,1099511631921,50,61,"
	  "1099511631951,72,83], byte)",
	  20,
	  { 1, 2, 3, 4, 29, 30, 40, 41, 49, 50, 50, 51, 61, 62, 79, 80, 72, 73, 83, 84 } },
};

#define TABLES ((int)(sizeof(tables) / sizeof(tables[0])))

static void expect_table(struct dtconv_type *type)
{
	char text[2000] = "";
	size_t length;

	dtconv_type_format_program(type, text, sizeof(text), &length);
	ck_assert_msg(strstr(text, "table"), "it is no table, but %s", text);
}

START_TEST(a_table_of_displacements_past_2_to_the_40)
{
	struct dtconv_type *type = fixture_type(tables[_i].text);
	unsigned char *range = reserve(TIB + 3 * PIECE), packed[20];
	int file = open_piece();

	expect_table(type);
	map_piece(range, file);
	map_piece(range + TIB + 4096, file);
	fixture_ok(dtconv_pack(type, 1, range, packed, 20, NULL));
	for (size_t i = 0; i < tables[_i].bytes; i++)
		ck_assert_int_eq(packed[i], piece_byte(tables[_i].offsets[i]));
	for (size_t i = 0; i < tables[_i].bytes; i++)
		packed[i] = (unsigned char)tables[_i].offsets[i];
	fixture_ok(dtconv_unpack(type, 1, range, packed, tables[_i].bytes, NULL));
	for (size_t i = 0; i < tables[_i].bytes; i++)
		ck_assert_uint_eq(range[tables[_i].offsets[i]], tables[_i].offsets[i]);
	dtconv_type_unref(type);
	close(file);
	munmap(range, TIB + 3 * PIECE);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("large");
	TCase *spot = fixture_case(suite, "on the spot", 60);
	TCase *range = fixture_case(suite, "addresses", 60);

	if (sizeof(size_t) < 8) {
		puts("skipped: no stream is that long where size_t has 32 bits");
		return 77;
	}
	tcase_add_test(spot, a_vector_of_stride_0_past_2_to_the_40);
	tcase_add_test(spot, a_blocklength_of_extent_0_past_2_to_the_40);
	tcase_add_test(spot, a_count_of_extent_0_past_2_to_the_40);
	tcase_add_test(spot, elements_cut_at_positions_past_2_to_the_40);
	tcase_add_test(spot, nested_counts_multiply_past_2_to_the_40);
	tcase_add_test(spot, a_table_of_blocks_past_2_to_the_40);
	tcase_add_test(spot, unpack_past_2_to_the_40);
	tcase_add_test(spot, iov_past_2_to_the_40);
	tcase_add_test(range, a_dense_type_of_8_gib);
	tcase_add_test(range, a_strided_type_over_8_gib);
	tcase_add_test(range, a_subarray_of_8_gib);
	tcase_add_test(range, whole_fragments_cross_2_to_the_32);
	tcase_add_test(range, displacements_past_2_to_the_40);
	tcase_add_loop_test(range, a_table_of_displacements_past_2_to_the_40, 0, TABLES);
	return fixture_run(suite);
}
