/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the library says of wrong arguments: every refusal of contexts and types is provoked,
 * and its sentence stands in test/golden/messages.txt. Each must name the function, and must
 * leave the output alone. The sentences of convertors stand in test/convertor/test_errors.c,
 * those of the parser in test/golden/text_errors.txt.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/golden.h"
#include "support/machine.h"
#include "support/t.h"

/* What is wrong, and the call. */
struct wrong {
	const char *what;
	int (*call)(struct dtconv_type **out);
	int status;
};

#define DERIVED "vector(2, 1, 3, int)"

static const size_t ones[] = { 1, 1, 1 }, none[] = { 0, 0, 0 }, threes[] = { 3, 3, 3 };
static const ptrdiff_t zeros[] = { 0, 0, 0 };
static const enum dtconv_distribution blocks[] = { DTCONV_DISTRIBUTE_BLOCK,
						   DTCONV_DISTRIBUTE_BLOCK };
static const size_t defaults[] = { DTCONV_DISTRIBUTE_DFLT_DARG,
				   DTCONV_DISTRIBUTE_DFLT_DARG };

static struct dtconv_type *int_type(void)
{
	return t_predefined(DTCONV_INT);
}

/* A call's name is its case's, its body one constructor. */
#define CALL(name, expression)                    \
	static int name(struct dtconv_type **out) \
	{                                         \
		return expression;                \
	}

CALL(contiguous_huge, dtconv_type_create_contiguous(SIZE_MAX, int_type(), out))
CALL(vector_long, dtconv_type_create_vector(2, SIZE_MAX, 1, int_type(), out))
CALL(vector_many, dtconv_type_create_vector(SIZE_MAX, 1, 1, int_type(), out))
CALL(vector_stride, dtconv_type_create_vector(2, 1, PTRDIFF_MAX, int_type(), out))
CALL(hvector_stride, dtconv_type_create_hvector(2, 1, PTRDIFF_MAX, int_type(), out))
CALL(indexed_no_lengths, dtconv_type_create_indexed(2, NULL, zeros, int_type(), out))
CALL(indexed_no_places, dtconv_type_create_indexed(2, ones, NULL, int_type(), out))
CALL(hindexed_no_lengths, dtconv_type_create_hindexed(2, NULL, zeros, int_type(), out))
CALL(hindexed_no_places, dtconv_type_create_hindexed(2, ones, NULL, int_type(), out))
CALL(indexed_block_no_places,
     dtconv_type_create_indexed_block(2, 1, NULL, int_type(), out))
CALL(hindexed_block_no_places,
     dtconv_type_create_hindexed_block(2, 1, NULL, int_type(), out))
CALL(indexed_far,
     dtconv_type_create_indexed(1, ones, (ptrdiff_t[]){ PTRDIFF_MAX }, int_type(), out))
CALL(hindexed_far,
     dtconv_type_create_hindexed(1, ones, (ptrdiff_t[]){ PTRDIFF_MAX }, int_type(), out))
CALL(indexed_block_far,
     dtconv_type_create_indexed_block(1, 1, (ptrdiff_t[]){ PTRDIFF_MAX }, int_type(),
				      out))
CALL(hindexed_block_far,
     dtconv_type_create_hindexed_block(1, 1, (ptrdiff_t[]){ PTRDIFF_MAX }, int_type(),
				       out))
CALL(hindexed_long,
     dtconv_type_create_hindexed(1, (size_t[]){ SIZE_MAX }, zeros, int_type(), out))
CALL(resized_far, dtconv_type_create_resized(int_type(), PTRDIFF_MAX, 1, out))

static struct dtconv_type *const *members(void)
{
	static struct dtconv_type *types[2];

	types[0] = int_type();
	types[1] = t_predefined(DTCONV_DOUBLE);
	return types;
}

CALL(struct_no_lengths,
     dtconv_type_create_struct(t_context, 2, NULL, zeros, members(), out))
CALL(struct_no_places,
     dtconv_type_create_struct(t_context, 2, ones, NULL, members(), out))
CALL(struct_no_types, dtconv_type_create_struct(t_context, 2, ones, zeros, NULL, out))
CALL(struct_far,
     dtconv_type_create_struct(t_context, 2, ones, (ptrdiff_t[]){ 0, PTRDIFF_MAX },
			       members(), out))

static int struct_null_type(struct dtconv_type **out)
{
	struct dtconv_type *types[] = { int_type(), NULL };

	return dtconv_type_create_struct(t_context, 2, ones, zeros, types, out);
}

static int struct_other_context(struct dtconv_type **out)
{
	struct dtconv_context *other = NULL;

	t_ok(dtconv_context_create(NULL, &other));
	struct dtconv_type *types[] = { int_type(),
					dtconv_type_predefined(other, DTCONV_INT) };
	int status = dtconv_type_create_struct(t_context, 2, ones, zeros, types, out);
	dtconv_context_destroy(other);
	return status;
}

#define SUBARRAY(ndims, sizes, subsizes, starts, order)                                \
	dtconv_type_create_subarray(ndims, sizes, subsizes, starts, order, int_type(), \
				    out)

CALL(subarray_no_dimension, SUBARRAY(0, threes, ones, none, DTCONV_ORDER_C))
CALL(subarray_no_sizes, SUBARRAY(2, NULL, ones, none, DTCONV_ORDER_C))
CALL(subarray_no_subsizes, SUBARRAY(2, threes, NULL, none, DTCONV_ORDER_C))
CALL(subarray_no_starts, SUBARRAY(2, threes, ones, NULL, DTCONV_ORDER_C))
CALL(subarray_size_0, SUBARRAY(2, none, ones, none, DTCONV_ORDER_C))
CALL(subarray_subsize_0, SUBARRAY(2, threes, none, none, DTCONV_ORDER_C))
CALL(subarray_subsize_4,
     SUBARRAY(2, threes, ((size_t[]){ 3, 4 }), none, DTCONV_ORDER_FORTRAN))
CALL(subarray_start_3, SUBARRAY(2, threes, ones, threes, DTCONV_ORDER_C))
CALL(subarray_start_huge,
     SUBARRAY(2, threes, ones, ((size_t[]){ 0, SIZE_MAX }), DTCONV_ORDER_C))
CALL(subarray_order, SUBARRAY(2, threes, ones, none, (enum dtconv_order)7))
CALL(subarray_huge,
     SUBARRAY(2, ((size_t[]){ SIZE_MAX, SIZE_MAX }), ones, none, DTCONV_ORDER_C))

#define DARRAY(size, rank, ndims, gsizes, dealt, dargs, psizes, order)             \
	dtconv_type_create_darray(size, rank, ndims, gsizes, dealt, dargs, psizes, \
				  order, int_type(), out)
#define C_ORDER DTCONV_ORDER_C

CALL(darray_no_dimension, DARRAY(1, 0, 0, threes, blocks, defaults, ones, C_ORDER))
CALL(darray_no_gsizes, DARRAY(1, 0, 2, NULL, blocks, defaults, ones, C_ORDER))
CALL(darray_no_distributions, DARRAY(1, 0, 2, threes, NULL, defaults, ones, C_ORDER))
CALL(darray_no_dargs, DARRAY(1, 0, 2, threes, blocks, NULL, ones, C_ORDER))
CALL(darray_no_psizes, DARRAY(1, 0, 2, threes, blocks, defaults, NULL, C_ORDER))
CALL(darray_gsize_0, DARRAY(1, 0, 2, none, blocks, defaults, ones, C_ORDER))
CALL(darray_psize_0, DARRAY(0, 0, 2, threes, blocks, defaults, none, C_ORDER))
CALL(darray_size, DARRAY(8, 0, 2, threes, blocks, defaults, threes, C_ORDER))
CALL(darray_rank, DARRAY(9, 9, 2, threes, blocks, defaults, threes, C_ORDER))
CALL(darray_distribution,
     DARRAY(9, 0, 2, threes, ((enum dtconv_distribution[]){ DTCONV_DISTRIBUTE_BLOCK, 9 }),
	    defaults, threes, C_ORDER))
CALL(darray_darg_0, DARRAY(9, 0, 2, threes, blocks, none, threes, C_ORDER))
CALL(darray_darg_1, DARRAY(2, 0, 1, ((size_t[]){ 9 }), blocks, ((size_t[]){ 4 }),
			   ((size_t[]){ 2 }), C_ORDER))
CALL(darray_none_dealt,
     DARRAY(3, 0, 1, threes, ((enum dtconv_distribution[]){ DTCONV_DISTRIBUTE_NONE }),
	    defaults, threes, C_ORDER))
CALL(darray_order,
     DARRAY(1, 0, 2, threes, blocks, defaults, ones, (enum dtconv_order)(-1)))
CALL(darray_huge,
     DARRAY(1, 0, 2, ((size_t[]){ SIZE_MAX, 2 }), blocks, defaults, ones, C_ORDER))

CALL(real_undefined,
     dtconv_type_create_f90_real(t_context, DTCONV_UNDEFINED, DTCONV_UNDEFINED, out))
CALL(real_precise, dtconv_type_create_f90_real(t_context, 34, DTCONV_UNDEFINED, out))
CALL(real_wide, dtconv_type_create_f90_real(t_context, 6, 4932, out))
CALL(complex_undefined,
     dtconv_type_create_f90_complex(t_context, DTCONV_UNDEFINED, DTCONV_UNDEFINED, out))
CALL(complex_precise, dtconv_type_create_f90_complex(t_context, 34, 3, out))
CALL(integer_wide, dtconv_type_create_f90_integer(t_context, 39, out))
CALL(value_is_pair,
     dtconv_type_create_value_index(t_predefined(DTCONV_DOUBLE_INT), int_type(), out))
CALL(index_is_real,
     dtconv_type_create_value_index(int_type(), t_predefined(DTCONV_DOUBLE), out))
CALL(match_class, dtconv_type_match_size(t_context, (enum dtconv_typeclass)9, 4, out))
CALL(match_bytes, dtconv_type_match_size(t_context, DTCONV_TYPECLASS_INTEGER, 3, out))

static int value_is_derived(struct dtconv_type **out)
{
	struct dtconv_type *type = t_parse(DERIVED);
	int status = dtconv_type_create_value_index(type, int_type(), out);

	dtconv_type_unref(type);
	return status;
}

/* ---- queries: their outputs are not types -------------------------------------------- */

static int query_size_0(struct dtconv_type **out)
{
	struct dtconv_type_attr attr = { .struct_size = 0 };

	(void)out;
	return dtconv_type_query(int_type(), &attr);
}

static int counters_size_0(struct dtconv_type **out)
{
	struct dtconv_counters counters = { .struct_size = 0 };

	(void)out;
	return dtconv_context_query_counters(t_context, &counters);
}

static int contents(size_t max_counts, size_t max_displacements, size_t max_types)
{
	struct dtconv_type *type = t_parse(DERIVED), *types[1];
	size_t counts[2];
	ptrdiff_t displacements[1];
	int status = dtconv_type_query_contents(type, max_counts, counts,
						max_displacements, displacements,
						max_types, types);

	dtconv_type_unref(type);
	return status;
}

CALL(contents_counts, ((void)out, contents(1, 1, 1)))
CALL(contents_displacements, ((void)out, contents(2, 0, 1)))
CALL(contents_types, ((void)out, contents(2, 1, 0)))

static int compare(size_t count_a, size_t count_b)
{
	struct dtconv_type *type = t_parse("contiguous(4294967296, int)");
	enum dtconv_signature_relation relation;
	int status =
		dtconv_type_compare_signature(type, count_a, type, count_b, &relation);

	dtconv_type_unref(type);
	return status;
}

CALL(compare_first, ((void)out, compare(SIZE_MAX, 1)))
CALL(compare_second, ((void)out, compare(1, SIZE_MAX)))

static int program_uncommitted(struct dtconv_type **out)
{
	struct dtconv_type *type = NULL;
	size_t length = 0;

	(void)out;
	t_ok(dtconv_type_create_dup(int_type(), &type));
	dtconv_type_unref(type);
	t_ok(dtconv_type_create_contiguous(2, int_type(), &type));
	int status = dtconv_type_format_program(type, NULL, 0, &length);
	dtconv_type_unref(type);
	return status;
}

/* What is wrong in a stream stands in test_decoder.c. */
CALL(serialise_nowhere,
     ((void)out, dtconv_type_serialise(int_type(), NULL, 8, &(size_t){ 0 })))
CALL(deserialise_nothing, dtconv_type_deserialise(t_context, NULL, 8, out))

static int deserialise_nowhere(struct dtconv_type **out)
{
	(void)out;
	return dtconv_type_deserialise(t_context, "", 1, NULL);
}

#define INVAL       DTCONV_ERR_INVAL
#define OVERFLOW    DTCONV_ERR_OVERFLOW
#define UNSUPPORTED DTCONV_ERR_UNSUPPORTED
#define TRUNCATE    DTCONV_ERR_TRUNCATE

static const struct wrong wrongs[] = {
	{ "contiguous, count of 2^64 - 1", contiguous_huge, OVERFLOW },
	{ "vector, blocklength of 2^64 - 1", vector_long, OVERFLOW },
	{ "vector, count of 2^64 - 1", vector_many, OVERFLOW },
	{ "vector, stride of 2^63 - 1 ints", vector_stride, OVERFLOW },
	{ "hvector, stride of 2^63 - 1 bytes", hvector_stride, OVERFLOW },
	{ "indexed, NULL for blocklengths", indexed_no_lengths, INVAL },
	{ "indexed, NULL for displacements", indexed_no_places, INVAL },
	{ "hindexed, NULL for blocklengths", hindexed_no_lengths, INVAL },
	{ "hindexed, NULL for displacements", hindexed_no_places, INVAL },
	{ "indexed_block, NULL for displacements", indexed_block_no_places, INVAL },
	{ "hindexed_block, NULL for displacements", hindexed_block_no_places, INVAL },
	{ "indexed, displacement of 2^63 - 1 ints", indexed_far, OVERFLOW },
	{ "hindexed, displacement of 2^63 - 1 bytes", hindexed_far, OVERFLOW },
	{ "indexed_block, displacement of 2^63 - 1 ints", indexed_block_far, OVERFLOW },
	{ "hindexed_block, displacement of 2^63 - 1 bytes", hindexed_block_far,
	  OVERFLOW },
	{ "hindexed, blocklength of 2^64 - 1", hindexed_long, OVERFLOW },
	{ "resized, upper bound past 2^63 - 1", resized_far, OVERFLOW },
	{ "struct, NULL for blocklengths", struct_no_lengths, INVAL },
	{ "struct, NULL for displacements", struct_no_places, INVAL },
	{ "struct, NULL for oldtypes", struct_no_types, INVAL },
	{ "struct, NULL for a member's type", struct_null_type, INVAL },
	{ "struct, a member of another context", struct_other_context, INVAL },
	{ "struct, displacement of 2^63 - 1 bytes", struct_far, OVERFLOW },
	{ "subarray, no dimension", subarray_no_dimension, INVAL },
	{ "subarray, NULL for sizes", subarray_no_sizes, INVAL },
	{ "subarray, NULL for subsizes", subarray_no_subsizes, INVAL },
	{ "subarray, NULL for starts", subarray_no_starts, INVAL },
	{ "subarray, size 0", subarray_size_0, INVAL },
	{ "subarray, subsize 0", subarray_subsize_0, INVAL },
	{ "subarray, subsize 4 of 3", subarray_subsize_4, INVAL },
	{ "subarray, box that ends at 4 of 3", subarray_start_3, INVAL },
	{ "subarray, start of 2^64 - 1", subarray_start_huge, INVAL },
	{ "subarray, unknown order", subarray_order, INVAL },
	{ "subarray, array of 2^128 elements", subarray_huge, OVERFLOW },
	{ "darray, no dimension", darray_no_dimension, INVAL },
	{ "darray, NULL for gsizes", darray_no_gsizes, INVAL },
	{ "darray, NULL for distributions", darray_no_distributions, INVAL },
	{ "darray, NULL for dargs", darray_no_dargs, INVAL },
	{ "darray, NULL for psizes", darray_no_psizes, INVAL },
	{ "darray, gsize 0", darray_gsize_0, INVAL },
	{ "darray, psize 0", darray_psize_0, INVAL },
	{ "darray, size 8 of 3 x 3 processes", darray_size, INVAL },
	{ "darray, rank 9 of 9", darray_rank, INVAL },
	{ "darray, unknown distribution", darray_distribution, INVAL },
	{ "darray, block size 0", darray_darg_0, INVAL },
	{ "darray, two blocks of 4 for 9 elements", darray_darg_1, INVAL },
	{ "darray, three processes share what is not distributed", darray_none_dealt,
	  INVAL },
	{ "darray, unknown order", darray_order, INVAL },
	{ "darray, array of 2^65 elements", darray_huge, OVERFLOW },
	{ "f90_real, nothing asked for", real_undefined, INVAL },
	{ "f90_real, 34 digits", real_precise, UNSUPPORTED },
	{ "f90_real, exponents to 4932", real_wide, UNSUPPORTED },
	{ "f90_complex, nothing asked for", complex_undefined, INVAL },
	{ "f90_complex, 34 digits", complex_precise, UNSUPPORTED },
	{ "f90_integer, 39 digits", integer_wide, UNSUPPORTED },
	{ "value_index, a pair for the value", value_is_pair, INVAL },
	{ "value_index, a derived type for the value", value_is_derived, INVAL },
	{ "value_index, a double for the index", index_is_real, INVAL },
	{ "match_size, unknown class", match_class, INVAL },
	{ "match_size, integer of 3 bytes", match_bytes, UNSUPPORTED },
	{ "query, struct_size 0", query_size_0, INVAL },
	{ "query_counters, struct_size 0", counters_size_0, INVAL },
	{ "query_contents, too little room for counts", contents_counts, TRUNCATE },
	{ "query_contents, too little room for displacements", contents_displacements,
	  TRUNCATE },
	{ "query_contents, too little room for types", contents_types, TRUNCATE },
	{ "compare_signature, count_a of 2^64 - 1", compare_first, OVERFLOW },
	{ "compare_signature, count_b of 2^64 - 1", compare_second, OVERFLOW },
	{ "format_program, not committed", program_uncommitted, DTCONV_ERR_STATE },
	{ "serialise, NULL with room", serialise_nowhere, INVAL },
	{ "deserialise, NULL for bytes", deserialise_nothing, INVAL },
	{ "deserialise, NULL for type", deserialise_nowhere, INVAL },
};

enum { WRONGS = sizeof(wrongs) / sizeof(wrongs[0]) };

static uint64_t count_errors(void)
{
	struct dtconv_counters counters = { .struct_size = sizeof(counters) };

	t_ok(dtconv_context_query_counters(t_context, &counters));
	return counters.errors;
}

/* One refusal: the status, the output, and a new sentence that begins with its function. */
static void provoke(const struct wrong *wrong, FILE *golden)
{
	struct dtconv_type *untouched = (struct dtconv_type *)(uintptr_t)8,
			   *out = untouched;
	uint64_t before = count_errors();
	int status = wrong->call(&out);

	ck_assert_msg(count_errors() == before + 1, "%s was not counted once",
		      wrong->what);
	ck_assert_msg(status == wrong->status, "%s: %s, expected %s", wrong->what,
		      dtconv_strerror(status), dtconv_strerror(wrong->status));
	ck_assert_msg(out == untouched, "%s wrote its output", wrong->what);
	ck_assert_msg(strncmp(t_error(), "dtconv_", 7) == 0, "%s: '%s'", wrong->what,
		      t_error());
	ck_assert_msg(!strchr(t_error(), '\n'), "%s: '%s'", wrong->what, t_error());
	fprintf(golden, "%s\n\t%s\n\t%s\n", wrong->what, dtconv_strerror(status),
		t_error());
}

START_TEST(every_refusal_has_its_sentence)
{
	char *produced = NULL;
	size_t length = 0;
	FILE *golden = open_memstream(&produced, &length);

	ck_assert_ptr_nonnull(golden);
	for (size_t i = 0; i < WRONGS; i++)
		provoke(&wrongs[i], golden);
	ck_assert_int_eq(fclose(golden), 0);
	golden_compare("messages.txt", produced, length);
	free(produced);
}
END_TEST

/* Before a context exists there is nowhere to leave a sentence; the status must do. */
START_TEST(contexts_refuse_what_they_do_not_know)
{
	struct dtconv_context *context = NULL;
	struct dtconv_context_params params = { .struct_size = sizeof(params) };

	params.flags = 1u << 31;
	ck_assert_int_eq(dtconv_context_create(&params, &context), INVAL);
	params.flags = 0;
	params.log_level = (enum dtconv_log_level)99;
	ck_assert_int_eq(dtconv_context_create(&params, &context), INVAL);
	params.log_level = DTCONV_LOG_NONE;
	params.padding = (enum dtconv_padding)99;
	ck_assert_int_eq(dtconv_context_create(&params, &context), INVAL);
	ck_assert_ptr_null(context);
}
END_TEST

START_TEST(a_success_leaves_the_last_error_alone)
{
	struct dtconv_type *type = NULL;
	char before[256], after[256];

	ck_assert_uint_eq(dtconv_context_error(t_context, before, sizeof(before)), 0);
	t_status(contiguous_huge(&type), OVERFLOW);
	size_t length = dtconv_context_error(t_context, before, sizeof(before));
	ck_assert_uint_eq(length, strlen(before));
	t_ok(dtconv_type_create_contiguous(2, int_type(), &type));
	dtconv_context_error(t_context, after, sizeof(after));
	ck_assert_str_eq(before, after);
	dtconv_type_unref(type);
}
END_TEST

START_TEST(a_short_buffer_gets_the_beginning_of_the_error)
{
	struct dtconv_type *type = NULL;
	char whole[256], part[256];

	t_status(contiguous_huge(&type), OVERFLOW);
	size_t length = dtconv_context_error(t_context, whole, sizeof(whole));
	for (size_t capacity = 0; capacity <= length; capacity++) {
		memset(part, '#', sizeof(part));
		ck_assert_uint_eq(dtconv_context_error(t_context, part, capacity),
				  length);
		ck_assert_int_eq(part[capacity], '#');
		if (capacity > 0) {
			ck_assert_int_eq(part[capacity - 1], '\0');
			ck_assert_mem_eq(part, whole, capacity - 1);
		}
	}
}
END_TEST

/* ---- the log ------------------------------------------------------------------------- */

struct heard {
	size_t lines;
	char text[256];
};

static void hear(void *arg, enum dtconv_log_level level, const char *file, int line,
		 const char *text)
{
	struct heard *heard = arg;

	ck_assert_int_eq(level, DTCONV_LOG_ERROR);
	ck_assert_msg(strncmp(file, "src/", 4) == 0, "%s is not relative to the tree",
		      file);
	ck_assert_int_gt(line, 0);
	heard->lines++;
	snprintf(heard->text, sizeof(heard->text), "%s", text);
}

START_TEST(the_log_hears_the_error_text_once)
{
	struct heard heard = { 0 };
	struct dtconv_context_params params = { .struct_size = sizeof(params),
						.log = hear,
						.log_arg = &heard,
						.log_level = DTCONV_LOG_ERROR };
	struct dtconv_context *context = NULL;
	struct dtconv_type *type = NULL;
	char text[256];

	t_ok(dtconv_context_create(&params, &context));
	ck_assert_int_eq(dtconv_type_create_contiguous(
				 SIZE_MAX, dtconv_type_predefined(context, DTCONV_INT),
				 &type),
			 OVERFLOW);
	ck_assert_uint_eq(heard.lines, 1);
	dtconv_context_error(context, text, sizeof(text));
	ck_assert_str_eq(heard.text, text);
	dtconv_context_destroy(context);
}
END_TEST

START_TEST(statuses_have_names)
{
	for (int status = DTCONV_ERR_LIMIT; status <= DTCONV_INPROGRESS; status++) {
		ck_assert_str_ne(dtconv_strerror(status), "unknown status");
		for (int other = DTCONV_ERR_LIMIT; other < status; other++)
			ck_assert_str_ne(dtconv_strerror(status), dtconv_strerror(other));
	}
	ck_assert_str_eq(dtconv_strerror(-1000), "unknown status");
	ck_assert_str_eq(dtconv_strerror(1000), "unknown status");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("errors");
	TCase *sentences = t_case(suite, "sentences");
	TCase *access = t_case(suite, "access");

	machine_add_wide(sentences, every_refusal_has_its_sentence);
	tcase_add_test(sentences, contexts_refuse_what_they_do_not_know);
	tcase_add_test(sentences, statuses_have_names);
	tcase_add_test(access, a_success_leaves_the_last_error_alone);
	tcase_add_test(access, a_short_buffer_gets_the_beginning_of_the_error);
	tcase_add_test(access, the_log_hears_the_error_text_once);
	return t_run(suite);
}
