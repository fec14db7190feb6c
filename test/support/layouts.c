/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The layouts that every property of the convertor is tested on.
 */
#include "config.h"

#include "support/layouts.h"

#include <stdio.h>

#define OVERLAPS true

const struct layout layouts[] = {
	/* Dense. */
	{ "one byte", "byte", false },
	{ "one double", "double", false },
	{ "a row", "contiguous(13, int)", false },
	{ "a row of shorts at an odd place", "hindexed([9], [3], short)", false },
	{ "a row in two halves", "indexed([3, 4], [0, 3], int)", false },

	/* Strided, all block widths the kernels know and odd ones between. */
	{ "1-byte blocks", "hvector(29, 1, 3, byte)", false },
	{ "2-byte blocks", "vector(17, 1, 2, short)", false },
	{ "3-byte blocks", "hvector(11, 3, 5, byte)", false },
	{ "4-byte blocks", "vector(13, 1, 3, float)", false },
	{ "5-byte blocks", "hvector(9, 5, 11, byte)", false },
	{ "7-byte blocks", "hvector(9, 7, 8, byte)", false },
	{ "8-byte blocks", "vector(11, 1, 2, double)", false },
	{ "12-byte blocks", "vector(7, 3, 4, int)", false },
	{ "16-byte blocks", "vector(7, 2, 3, double)", false },
	{ "24-byte blocks", "vector(5, 3, 5, double)", false },
	{ "31-byte blocks", "hvector(5, 31, 32, byte)", false },
	{ "32-byte blocks", "vector(5, 4, 5, double)", false },
	{ "33-byte blocks", "hvector(5, 33, 47, byte)", false },
	{ "64-byte blocks", "vector(4, 8, 9, double)", false },
	{ "65-byte blocks", "hvector(4, 65, 67, byte)", false },
	{ "100-byte blocks", "vector(3, 25, 30, int)", false },
	{ "doubles at odd addresses", "hvector(9, 1, 13, double)", false },
	{ "many blocks", "vector(70, 1, 2, int)", false },

	{ "a strip that goes on with a longer step",
	  "struct([1,1], [0,80], [vector(10, 1, 2, int),vector(10, 1, 3, int)])", false },
	{ "a strip that goes on with a shorter step",
	  "struct([1,1], [0,120], [vector(10, 1, 3, int),vector(10, 1, 2, int)])",
	  false },

	/* Backwards, on the spot, overlapping. */
	{ "negative stride", "vector(5, 1, -2, short)", false },
	{ "negative stride without gaps", "vector(6, 1, -1, int)", false },
	{ "negative extent", "contiguous(4, resized(int, 0, -8))", false },
	{ "stride 0", "vector(4, 1, 0, int)", OVERLAPS },
	{ "stride below the block", "vector(5, 3, 2, short)", OVERLAPS },
	{ "extent below the data", "contiguous(4, resized(contiguous(3, int), 0, 4))",
	  OVERLAPS },
	{ "extent 0", "contiguous(3, resized(double, 0, 0))", OVERLAPS },

	/* Bounds. */
	{ "negative lower bound", "resized(vector(3, 1, 2, int), -12, 40)", false },
	{ "a hole with size = extent", "resized(hindexed([1, 1], [0, 12], int), 0, 8)",
	  false },
	{ "a gap after the single block", "resized(contiguous(3, int), 0, 20)", false },
	{ "data away from displacement 0", "hindexed([2, 1], [48, 80], int)", false },
	{ "data below displacement 0", "hindexed([2, 1], [-48, -80], int)", false },

	/* Tables. */
	{ "irregular blocks", "indexed([1, 0, 3, 2], [4, 9, -3, 12], int)", false },
	{ "irregular bytes", "hindexed([3, 1, 7, 2, 5], [2, 0, 11, 30, 19], byte)",
	  false },
	{ "equal blocks in disorder", "indexed_block(2, [5, 0, 9, 3, 17], short)",
	  false },
	{ "equal odd blocks", "hindexed_block(3, [11, -7, 40, 1], byte)", false },
	{ "equal doubles", "indexed_block(1, [3, 1, 4, 15, 9, 2, 6, 5, 35], double)",
	  false },
	{ "equal big blocks", "indexed_block(9, [10, 0, 30, 20], double)", false },
	{ "a vector written as indexed", "indexed([2, 2, 2], [0, 3, 6], int)", false },
	{ "blocks twice", "indexed([2, 2, 1], [0, 1, 0], int)", OVERLAPS },

	/* Structs and pairs. */
	{ "a C struct", "struct([1, 1], [0, 8], [char, double])", false },
	{ "a packed struct", "struct([1, 1], [0, 1], [char, double])", false },
	{ "an array of structs",
	  "contiguous(5, struct([1, 3, 1], [0, 4, 24], [char, int, double]))", false },
	{ "members in disorder",
	  "struct([3, 1, 2], [20, 0, -9], [short, double_int, byte])", false },
	{ "pairs with a gap inside", "contiguous(3, short_int)", false },
	{ "pairs with a gap behind", "vector(3, 1, 2, double_int)", false },
	{ "the largest pair", "contiguous(2, long_double_int)", false },
	{ "12 of 16 bytes", "contiguous(6, struct([1, 1], [0, 4], [int, double]))",
	  false },

	/* Arrays. */
	{ "a box", "subarray([4, 5, 6], [2, 3, 2], [1, 1, 3], c, int)", false },
	{ "a box in Fortran order",
	  "subarray([4, 5, 6], [2, 3, 2], [1, 1, 3], fortran, int)", false },
	{ "a face", "subarray([4, 4, 4], [4, 1, 4], [0, 2, 0], c, double)", false },
	{ "a whole array", "subarray([2, 3], [2, 3], [0, 0], c, short)", false },
	{ "a cyclic share",
	  "darray(4, 2, [7, 6], [cyclic, block], [2, default], [2, 2], c, int)", false },
	{ "no share", "darray(4, 3, [3], [block], [1], [4], c, int)", false },

	/* Nests. */
	{ "a vector of vectors", "vector(3, 1, 2, vector(2, 1, 3, short))", false },
	{ "four levels",
	  "vector(2, 1, 2, vector(2, 1, 3, vector(2, 1, 4, vector(2, 2, 3, short))))",
	  false },
	{ "a transposition", "contiguous(4, resized(vector(5, 1, 4, float), 0, 4))",
	  false },
	{ "a struct of unlike parts",
	  "struct([2, 1, 1], [0, 64, 200], [vector(3, 1, 2, int), indexed([1, 2], [5, 1], double), "
	  "subarray([4, 4], [2, 2], [1, 1], c, byte)])",
	  false },
	{ "a table of vectors", "indexed([1, 2], [3, 0], vector(3, 1, 2, short))",
	  false },
	{ "a vector of tables", "vector(3, 1, 2, indexed([1, 2], [3, 0], short))",
	  false },
	{ "one list in several arrays",
	  "struct([1, 1], [0, 1200], "
	  "[indexed_block(3, [0, 9, 21, 60, 99, 120, 153, 180, 210, 240], int), "
	  "hvector(3, 1, 400, indexed_block(1, [0, 3, 7, 20, 33, 40, 51, 60, 70, 80], int))])",
	  false },
	{ "nests without data between",
	  "struct([1, 1, 1], [0, 4, 8], [int, contiguous(0, double), "
	  "vector(2, 1, 2, int)])",
	  false },

	/* Nothing. */
	{ "count 0", "contiguous(0, int)", false },
	{ "blocklength 0", "vector(3, 0, 4, double)", false },
	{ "empty blocks", "indexed([0, 0], [5, 7], int)", false },
	{ "an empty struct member", "struct([0, 1], [100, 0], [double, int])", false },
};

const int layout_count = sizeof(layouts) / sizeof(layouts[0]);

static size_t unlike_length(size_t index, size_t least)
{
	return least + index * 7 % (least + 1);
}

void layout_write_unlike(char *text, size_t capacity, size_t count, size_t least)
{
	size_t length =
		(size_t)snprintf(text, capacity, "indexed([%zu", unlike_length(0, least));
	size_t at = 0;

	for (size_t i = 1; i < count; i++)
		length += (size_t)snprintf(text + length, capacity - length, ", %zu",
					   unlike_length(i, least));
	length += (size_t)snprintf(text + length, capacity - length, "], [0");
	for (size_t i = 1; i < count; i++) {
		at += unlike_length(i - 1, least) + 1 + i % 3;
		length += (size_t)snprintf(text + length, capacity - length, ", %zu", at);
	}
	snprintf(text + length, capacity - length, "], double)");
}
