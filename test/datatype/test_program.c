/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The normal form: the spellings of one typemap, through every constructor that can express
 * it, have one program, and it is the one in test/golden/program. DTCONV_REGENERATE=1
 * writes the files anew.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/golden.h"
#include "support/machine.h"
#include "support/t.h"

enum { MAX_SPELLINGS = 24 };

struct pattern {
	const char *name;
	const char *spellings[MAX_SPELLINGS];
};

static const struct pattern patterns[] = {
	/* Three runs of 8 bytes every 24: few enough to be listed. */
	{ "few_runs",
	  { "vector(3, 1, 3, double)", "hvector(3, 1, 24, double)",
	    "indexed([1,1,1], [0,3,6], double)", "hindexed([1,1,1], [0,24,48], double)",
	    "indexed_block(1, [0,3,6], double)", "hindexed_block(1, [0,24,48], double)",
	    "struct([1,1,1], [0,24,48], [double,double,double])",
	    "struct([2,1,2], [0,24,48], [int,double,float])",
	    "struct([1,1], [0,24], [double,vector(2, 1, 3, double)])",
	    "subarray([3,3], [3,1], [0,0], c, double)",
	    "subarray([3,3], [1,3], [0,0], fortran, double)",
	    "darray(3, 0, [9], [cyclic], [default], [3], c, double)",
	    "contiguous(3, resized(double, 0, 24))",
	    "contiguous(3, resized(double, -8, 24))", "dup(vector(3, 1, 3, double))",
	    "resized(vector(3, 1, 3, double), -5, 7)",
	    "vector(1, 1, 9, hvector(3, 2, 24, float))",
	    "indexed([0,1,0,2], [9,0,7,1], resized(double, 0, 24))",
	    "hvector(3, 8, 24, byte)" } },
	/* Forty runs of 16 bytes every 40. */
	{ "strip",
	  { "vector(40, 2, 5, double)", "hvector(40, 2, 40, double)",
	    "hvector(40, 16, 40, char)", "hvector(20, 1, 80, vector(2, 2, 5, double))",
	    "hvector(2, 1, 800, vector(20, 2, 5, double))",
	    "contiguous(40, resized(contiguous(2, double), 0, 40))",
	    "contiguous(8, resized(vector(5, 2, 5, double), 0, 200))",
	    "subarray([40,5], [40,2], [0,0], c, double)",
	    "subarray([5,40], [2,40], [0,0], fortran, double)",
	    "subarray([8,5,5], [8,5,2], [0,0,0], c, double)",
	    "struct([20,20], [0,800], [resized(contiguous(2, double), 0, 40),"
	    "resized(contiguous(4, int), 0, 40)])",
	    "hindexed([10,30], [0,400], resized(contiguous(2, double), 0, 40))",
	    "dup(hvector(40, 1, 40, c_double_complex))" } },
	/* The same downwards. */
	{ "strip_downwards",
	  { "vector(20, 1, -3, double)", "hvector(20, 1, -24, double)",
	    "hvector(20, 2, -24, int)", "contiguous(20, resized(double, 0, -24))",
	    "hvector(4, 1, -120, vector(5, 1, -3, double))",
	    "indexed([8,12], [0,8], resized(double, 0, -24))" } },
	/* One run, however it was cut. */
	{ "dense",
	  { "contiguous(24, double)", "vector(24, 1, 1, double)",
	    "vector(3, 8, 8, double)", "hvector(6, 4, 32, double)",
	    "indexed([8,16], [0,8], double)", "hindexed([1,23], [0,8], double)",
	    "indexed_block(12, [0,12], double)",
	    "struct([1,1,23], [0,4,8], [int,float,double])",
	    "subarray([4,6], [4,6], [0,0], c, double)",
	    "subarray([9,6], [4,6], [0,0], c, double)",
	    "darray(2, 0, [48], [block], [default], [2], c, double)",
	    "contiguous(192, byte)",
	    "contiguous(4, contiguous(3, contiguous(2, double)))",
	    "resized(contiguous(24, double), 0, 1000)", "dup(contiguous(24, double))",
	    "contiguous(16, resized(struct([1,1], [0,4], [int,double]), 0, 12))" } },
	/* Odd lengths, odd steps. */
	{ "odd",
	  { "hvector(12, 3, 7, char)", "vector(12, 3, 7, char)",
	    "hvector(12, 1, 7, struct([1,1], [0,1], [char,resized(short, 0, 2)]))",
	    "contiguous(12, resized(contiguous(3, int8), 0, 7))",
	    "hvector(4, 1, 21, hvector(3, 3, 7, uint8))",
	    "subarray([12,7], [12,3], [0,0], c, char)" } },
	/* A plane of a box: strips in a loop. */
	{ "two_levels",
	  { "subarray([10,20,30], [10,20,2], [0,0,0], c, double)",
	    "vector(200, 2, 30, double)",
	    "hvector(10, 1, 4800, vector(20, 2, 30, double))" } },
	{ "box",
	  { "subarray([10,20,30], [10,12,2], [0,0,0], c, double)",
	    "subarray([30,20,10], [2,12,10], [0,0,0], fortran, double)",
	    "hvector(10, 1, 4800, vector(12, 2, 30, double))",
	    "hvector(10, 1, 4800, hvector(12, 16, 240, byte))",
	    "contiguous(10, resized(vector(12, 2, 30, double), 0, 4800))",
	    "hvector(5, 1, 9600, hvector(2, 1, 4800, vector(12, 2, 30, double)))",
	    "vector(10, 12, 20, resized(contiguous(2, double), 0, 240))" } },
	/* An outer step below the inner one: never sorted. */
	{ "transposed",
	  { "hvector(12, 1, 4, hvector(16, 1, 48, int))",
	    "contiguous(12, resized(vector(16, 1, 12, int), 0, 4))",
	    "vector(12, 1, 1, resized(hvector(16, 1, 48, float), 0, 4))",
	    "hvector(6, 1, 8, hvector(2, 1, 4, vector(16, 1, 12, int)))" } },
	/* Neighbours merge across the ends of iterations. */
	{ "touching",
	  { "contiguous(10, resized(indexed([1,1], [0,2], double), 0, 24))",
	    "contiguous(10, struct([1,1], [0,16], [double,double]))",
	    "struct([1,1,1], [0,16,232], [double,hvector(9, 2, 24, double),double])",
	    "struct([8,9,8], [0,16,232], [byte,resized(contiguous(4, int), 0, 24),char])" } },
	/* Unlike types side by side are only bytes. */
	{ "array_of_structs",
	  { "contiguous(50, resized(struct([1,1], [0,4], [int,float]), 0, 20))",
	    "vector(50, 1, 5, resized(contiguous(2, int), 0, 4))",
	    "hvector(50, 1, 20, double)", "hvector(50, 8, 20, byte)" } },
	/* Nothing regular about it: a table. */
	{ "table",
	  { "indexed([1,2,3,1,2,3,1,2,3,4], [0,3,7,20,33,40,51,60,70,80], int)",
	    "hindexed([1,2,3,1,2,3,1,2,3,4], [0,12,28,80,132,160,204,240,280,320], int)",
	    "hindexed([4,8,12,4,8,12,4,8,12,16], [0,12,28,80,132,160,204,240,280,320], char)",
	    "indexed([1,2,1,2,1,2,0,3,1,2,3,4], [0,3,7,8,20,33,99,40,51,60,70,80], int)",
	    "dup(indexed([1,2,3,1,2,3,1,2,3,4], [0,3,7,20,33,40,51,60,70,80], float))" } },
	{ "table_of_equal_blocks",
	  { "indexed_block(2, [0,3,7,20,33,40,51,60,70,80], int)",
	    "indexed([2,2,2,2,2,2,2,2,2,2], [0,3,7,20,33,40,51,60,70,80], int)",
	    "hindexed_block(1, [0,12,28,80,132,160,204,240,280,320], double)",
	    "hindexed_block(2, [0,12,28,80,132,160,204,240,280,320], float)",
	    "struct([2,2,1,2,2,2,2,2,2,2], [0,12,28,80,132,160,204,240,280,320],"
	    "[int,int,double,int,float,int,int,int,int,int])" } },
	/* One list in several arrays: a loop over a table. */
	{ "table_in_arrays",
	  { "hvector(3, 1, 400, indexed_block(1, [0,3,7,20,33,40,51,60,70,80], int))",
	    "contiguous(3, resized(indexed_block(1, [0,3,7,20,33,40,51,60,70,80], float), 0, 400))" } },
	/* The same bytes again and again. */
	{ "step_zero",
	  { "vector(20, 1, 0, double)", "hvector(20, 2, 0, int)",
	    "contiguous(20, resized(double, 0, 0))",
	    "hvector(4, 1, 0, hvector(5, 1, 0, double))" } },
	{ "nothing",
	  { "contiguous(0, double)", "struct([], [], [])", "vector(5, 0, 3, int)",
	    "indexed([0,0], [4,-4], int)", "resized(contiguous(0, int), -4, 64)",
	    "contiguous(3, vector(0, 2, 2, char))",
	    "darray(5, 4, [4], [block], [default], [5], c, double)" } },
	/* Beyond anything that exists: commit costs the description only. */
	{ "huge",
	  { "vector(1000000000000, 2, 5, double)", "hvector(1000000000000, 16, 40, byte)",
	    "hvector(1000000, 1, 40000000, vector(1000000, 2, 5, double))",
	    "subarray([1000000000000,5], [1000000000000,2], [0,0], c, double)" } },
};

START_TEST(spellings_have_one_program)
{
	const struct pattern *pattern = &patterns[_i];
	char *first = NULL, *produced = NULL, file[128];
	size_t length = 0;

	if (strcmp(pattern->name, "huge") == 0 && !machine_is_wide("huge"))
		return;
	FILE *golden = open_memstream(&produced, &length);
	ck_assert_ptr_nonnull(golden);
	for (size_t i = 0; i < MAX_SPELLINGS && pattern->spellings[i]; i++) {
		struct dtconv_type *type = t_parse(pattern->spellings[i]);
		char *program = t_program(type);

		fprintf(golden, "%s\n", pattern->spellings[i]);
		if (!first)
			first = strdup(program);
		ck_assert_msg(strcmp(program, first) == 0, "%s has\n%s, %s has\n%s",
			      pattern->spellings[0], first, pattern->spellings[i],
			      program);
		free(program);
		dtconv_type_unref(type);
	}
	fprintf(golden, "=>\n%s", first);
	free(first);
	snprintf(file, sizeof(file), "program/%s.txt", pattern->name);
	ck_assert_int_eq(fclose(golden), 0);
	golden_compare(file, produced, length);
	free(produced);
}
END_TEST

/* One program is worth nothing if the typemaps differ: the oracle says that they do not. */
START_TEST(spellings_are_one_typemap)
{
	const struct pattern *pattern = &patterns[_i];
	struct dtconv_type *first = NULL;
	struct ref_typemap want, got;

	if (strcmp(pattern->name, "huge") == 0)
		return;
	for (size_t i = 0; i < MAX_SPELLINGS && pattern->spellings[i]; i++) {
		struct dtconv_type *type = t_parse(pattern->spellings[i]);
		ptrdiff_t *a, *b;

		t_verify(type);
		if (!first)
			first = dtconv_type_ref(type);
		ck_assert_int_eq(
			ref_typemap_build(first, DTCONV_PADDING_STRUCT, 0, &want), 0);
		ck_assert_int_eq(ref_typemap_build(type, DTCONV_PADDING_STRUCT, 0, &got),
				 0);
		ck_assert_uint_eq(got.size, want.size);
		a = calloc(want.size + 1, sizeof(*a));
		b = calloc(want.size + 1, sizeof(*b));
		ref_typemap_displacements(&want, 1, a);
		ref_typemap_displacements(&got, 1, b);
		ck_assert_msg(memcmp(a, b, want.size * sizeof(*a)) == 0, "%s is not %s",
			      pattern->spellings[i], pattern->spellings[0]);
		free(a);
		free(b);
		ref_typemap_free(&want);
		ref_typemap_free(&got);
		dtconv_type_unref(type);
	}
	dtconv_type_unref(first);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("program");
	TCase *golden = t_case(suite, "normal_form");

	tcase_add_loop_test(golden, spellings_have_one_program, 0,
			    (int)COUNT_OF(patterns));
	tcase_add_loop_test(golden, spellings_are_one_typemap, 0,
			    (int)COUNT_OF(patterns));
	return t_run(suite);
}
