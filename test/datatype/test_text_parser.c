/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text form in depth: every error with its sentence (test/golden/text_errors.txt),
 * numbers at their limits, text that is cut anywhere, deep and long text, round trips of
 * random types, and memory that runs out at every allocation.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "support/golden.h"
#include "support/limits_in_words.h"
#include "support/machine.h"
#include "support/random_type.h"
#include "support/t.h"

/* Every kind of argument, and types in all the places where they may stand. */
static const char specimen[] =
	"struct([1,2], [-8,0x40], [darray(4, 1, [8,8], [block,cyclic], [default,2], "
	"[2,2], fortran, resized(int, -4, 16)),subarray([4,4], [2,2], [1,1], c, "
	"hindexed([1,2], [0,24], value_index(long_double, int16)))])";

static int parse(const char *text, struct dtconv_type **type)
{
	return dtconv_type_parse(t_context, text, strlen(text), type);
}

static const char *status_name(int status)
{
	switch (status) {
	case 0:
		return "DTCONV_SUCCESS";
	case DTCONV_ERR_INVAL:
		return "DTCONV_ERR_INVAL";
	case DTCONV_ERR_OVERFLOW:
		return "DTCONV_ERR_OVERFLOW";
	case DTCONV_ERR_UNSUPPORTED:
		return "DTCONV_ERR_UNSUPPORTED";
	case DTCONV_ERR_FORMAT:
		return "DTCONV_ERR_FORMAT";
	case DTCONV_ERR_LIMIT:
		return "DTCONV_ERR_LIMIT";
	default:
		return "another status";
	}
}

/* ---- errors ------------------------------------------------------------------------ */

static const char *const wrong[] = {
	/* no type at all */
	"",
	" \t\n",
	"# nothing but a comment",
	"(",
	"42",
	"-",
	"\x01",
	"\xc3\xa4",
	/* names */
	"doubel",
	"Double",
	"MPI_INT",
	"integr4",
	"contigous(2, int)",
	"avectorthatnobodyhaseverheardofbefore(1)",
	"vector",
	"vector 3",
	"double(3)",
	/* too few and too many arguments */
	"vector(",
	"vector()",
	"vector(3)",
	"vector(3, 2, 5)",
	"vector(3, 2, 5, double, 1)",
	"vector(3, 2, 5, double",
	"vector(3 2, 5, double)",
	"vector(, 2, 5, double)",
	"contiguous(2, )",
	"dup()",
	"resized(int, 0)",
	"value_index(int)",
	"f90_real(6)",
	"f90_integer()",
	"int int",
	"int\n)",
	/* numbers */
	"contiguous(two, int)",
	"contiguous(2int, int)",
	"contiguous(12ab, int)",
	"contiguous(1.5, int)",
	"contiguous(0x, int)",
	"contiguous(0xg, int)",
	"contiguous(- 1, int)",
	"contiguous(--1, int)",
	"contiguous(-1, int)",
	"contiguous(18446744073709551616, int)",
	"contiguous(0x10000000000000000, int)",
	"contiguous(123456789012345678901234567890123456789, int)",
	"vector(1, 1, 9223372036854775808, int)",
	"vector(1, 1, -9223372036854775809, int)",
	"vector(1, 1, -0x8000000000000001, int)",
	"vector(1,\n 2,\n  x, int)",
	"vector(1, # blocks\n 2, 3, doubel)",
	"vector(1, 2 # blocks, 3, int)",
	"resized(int, zero, 1)",
	"f90_integer(undefined)",
	"f90_real(default, 3)",
	/* arrays */
	"indexed(1, [1], int)",
	"indexed([1",
	"indexed([1 2], [1,2], int)",
	"indexed([1,], [1], int)",
	"indexed([,1], [1], int)",
	"indexed([1,2,x], [1,2,3], int)",
	"indexed([1,2], [1], int)",
	"indexed([1], [1,2], int)",
	"indexed([1,2,-3], [1,2,3], int)",
	"indexed([1], [99999999999999999999], int)",
	"indexed([1]], [1], int)",
	"indexed_block([1], [1], int)",
	"struct([1], [2], int)",
	"struct([1], [2], [])",
	"struct([1], [2], [int,int])",
	"struct([1], [2], [int,])",
	"struct([1], [2], [int;])",
	"struct([1], [2], [int",
	"struct([1], [2], [1])",
	/* words */
	"subarray([4], [2], [1], d, int)",
	"subarray([4], [2], [1], 0, int)",
	"subarray([4], [2], [1], C, int)",
	"subarray([4], [2,2], [1], c, int)",
	"subarray([4], [2], [1], int)",
	"darray(4, 1, [8], [blok], [default], [4], c, int)",
	"darray(4, 1, [8], [block], [defult], [4], c, int)",
	"darray(4, 1, [8], [0], [default], [4], c, int)",
	"darray(4, 1, [8], [block,block], [default], [4], c, int)",
	"darray(4, undefined, [8], [block], [default], [4], c, int)",
	/* refused by a constructor, deep inside */
	"contiguous(2, subarray([4], [9], [0], c, int))",
	"contiguous(0xffffffffffffffff, contiguous(2, double))",
	"f90_real(1000, 3)",
	"value_index(int, double)",
};

/* Write an input as C would, so that a golden line is a line. */
static void put_escaped(FILE *out, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '\n')
			fputs("\\n", out);
		else if (c == '\t')
			fputs("\\t", out);
		else if (c < 0x20 || c >= 0x7f)
			fprintf(out, "\\x%02x", c);
		else
			fputc(c, out);
	}
}

START_TEST(every_error_has_its_sentence)
{
	char *produced;
	size_t length;
	FILE *out = open_memstream(&produced, &length);

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct dtconv_type *untouched = (struct dtconv_type *)&untouched;
		struct dtconv_type *type = untouched;
		int status = parse(wrong[i], &type);

		ck_assert_msg(status < 0, "'%s' was accepted", wrong[i]);
		ck_assert_msg(type == untouched, "'%s' wrote its output", wrong[i]);
		ck_assert_msg(strncmp(t_error(), "dtconv_type_parse: ", 19) == 0,
			      "'%s': %s", wrong[i], t_error());
		ck_assert_msg(!strchr(t_error(), '\n'), "'%s': %s", wrong[i], t_error());
		put_escaped(out, wrong[i]);
		fprintf(out, "\n\t%s\n\t%s\n", status_name(status), t_error());
	}
	fclose(out);
	golden_compare("text_errors.txt", produced, length);
	free(produced);
}
END_TEST

START_TEST(null_arguments_are_refused)
{
	struct dtconv_type *type;
	size_t length;
	char text[8];

	t_status(dtconv_type_parse(t_context, NULL, 3, &type), DTCONV_ERR_INVAL);
	t_status(dtconv_type_parse(t_context, "int", 3, NULL), DTCONV_ERR_INVAL);
	t_status(dtconv_type_format(t_predefined(DTCONV_INT), NULL, 8, &length),
		 DTCONV_ERR_INVAL);
	t_status(dtconv_type_format(t_predefined(DTCONV_INT), text, 8, NULL),
		 DTCONV_ERR_INVAL);
}
END_TEST

/* ---- what is accepted -------------------------------------------------------------- */

START_TEST(all_predefined_names)
{
	for (unsigned which = 0; which < DTCONV_PREDEFINED_COUNT; which++) {
		struct dtconv_type *expected =
			t_predefined((enum dtconv_predefined)which);
		char *name = t_text(expected);
		struct dtconv_type *type;

		t_ok(parse(name, &type));
		ck_assert_msg(type == expected, "%s is read as another type", name);
		free(name);
	}
}
END_TEST

/* Assert that a text is read as the type whose text form is given. */
static void assert_reads_as(const char *text, const char *canonical)
{
	struct dtconv_type *type;

	t_ok(parse(text, &type));
	char *formatted = t_text(type);
	ck_assert_str_eq(formatted, canonical);
	free(formatted);
	dtconv_type_unref(type);
}

START_TEST(numbers_at_their_limits)
{
	assert_reads_as("contiguous(" COUNT_MOST ", struct([], [], []))",
			"contiguous(" COUNT_MOST ", struct([], [], []))");
	assert_reads_as("contiguous(" COUNT_MOST_HEX ", struct([], [], []))",
			"contiguous(" COUNT_MOST ", struct([], [], []))");
	assert_reads_as("resized(byte, " DISP_LOWEST ", " DISP_MOST ")",
			"resized(byte, " DISP_LOWEST ", " DISP_MOST ")");
	assert_reads_as("resized(byte, " DISP_LOWEST_HEX ", +" DISP_MOST_HEX ")",
			"resized(byte, " DISP_LOWEST ", " DISP_MOST ")");
	assert_reads_as("vector(-0, +007, -0, int)", "vector(0, 7, 0, int)");
	assert_reads_as("darray(1, 0, [4], [cyclic], [" COUNT_MOST "], [1], c, int)",
			"darray(1, 0, [4], [cyclic], [default], [1], c, int)");
	assert_reads_as("f90_real(6, " COUNT_MOST ")", "f90_real(6, undefined)");
}
END_TEST

START_TEST(white_space_is_free)
{
	assert_reads_as("\t vector\n(\r\n3 ,\v2,\f-5 , int ) \n",
			"vector(3, 2, -5, int)");
	assert_reads_as("indexed([1,2],[0,4],int)", "indexed([1,2], [0,4], int)");
	assert_reads_as(" struct ( [ ] , [ ] , [ ] ) ", "struct([], [], [])");
	assert_reads_as(" 2int ", "2int");
}
END_TEST

/* A comment may stand wherever white space may, and ends with its line or with the text. */
START_TEST(comments_end_with_their_line)
{
	assert_reads_as("# a column\nvector(3, # blocks\n2, 5,#\n double) # (, [ and all",
			"vector(3, 2, 5, double)");
	assert_reads_as("struct#1\n(#2\n[#3\n1#4\n]#5\n,[0],[int#6\n]#7\n)#",
			"struct([1], [0], [int])");
	assert_reads_as("int # one\r\n# two # three\n\n#", "int");
	assert_reads_as("subarray([4], [2], [1], # c\n fortran, int)",
			"subarray([4], [2], [1], fortran, int)");
}
END_TEST

START_TEST(comments_hide_nothing_else)
{
	struct dtconv_type *type;

	/* No line feed ends the comment, so it has the rest of the text in it. */
	t_status(parse("vector(3, 2 # blocks, 5, double)", &type), DTCONV_ERR_FORMAT);
	ck_assert_msg(strstr(t_error(), "found the end of the text"), "%s", t_error());
	/* A comment divides words and numbers, and lines are counted through it. */
	t_status(parse("vec#\ntor(3, 2, 5, int)", &type), DTCONV_ERR_FORMAT);
	ck_assert_msg(strstr(t_error(), "line 1, column 1: "), "%s", t_error());
	t_status(parse("contiguous(1#0\n2, int)", &type), DTCONV_ERR_FORMAT);
	ck_assert_msg(strstr(t_error(), "line 2, column 1: "), "%s", t_error());
}
END_TEST

/* What is behind every comma and bracket of the specimen may be a comment. */
START_TEST(a_comment_behind_every_sign_changes_nothing)
{
	struct dtconv_type *plain = t_parse(specimen), *type;
	char *expected = t_text(plain), *text;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	for (const char *c = specimen; *c; c++) {
		fputc(*c, out);
		if (strchr("(),[]", *c))
			fputs("# 1, int)]\n", out);
	}
	fclose(out);
	t_ok(parse(text, &type));
	free(text);
	text = t_text(type);
	ck_assert_str_eq(text, expected);
	free(text);
	free(expected);
	dtconv_type_unref(type);
	dtconv_type_unref(plain);
}
END_TEST

START_TEST(specimen_of_everything)
{
	struct dtconv_type *type = t_parse(specimen);

	assert_reads_as(
		specimen,
		"struct([1,2], [-8,64], [darray(4, 1, [8,8], [block,cyclic], "
		"[default,2], [2,2], fortran, resized(int, -4, 16)),subarray([4,4], "
		"[2,2], [1,1], c, hindexed([1,2], [0,24], value_index(long_double, "
		"int16)))])");
	t_verify(type);
	dtconv_type_unref(type);
}
END_TEST

/* ---- text that ends anywhere ------------------------------------------------------- */

/* A copy that ends where the next page cannot be read. */
static char *copy_before_a_wall(const char *text, size_t length, char **mapping)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	*mapping = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert(*mapping != MAP_FAILED);
	ck_assert_int_eq(mprotect(*mapping + page, page, PROT_NONE), 0);
	memcpy(*mapping + page - length, text, length);
	return *mapping + page - length;
}

START_TEST(no_prefix_is_read_past_its_end)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (size_t length = 0; length <= strlen(specimen); length++) {
		char *mapping;
		char *text = copy_before_a_wall(specimen, length, &mapping);
		struct dtconv_type *type;
		int status = dtconv_type_parse(t_context, text, length, &type);

		if (length == strlen(specimen)) {
			t_ok(status);
			dtconv_type_unref(type);
		} else {
			ck_assert_int_eq(status, DTCONV_ERR_FORMAT);
		}
		munmap(mapping, 2 * page);
	}
}
END_TEST

START_TEST(a_nul_inside_is_a_wrong_byte)
{
	struct dtconv_type *type;

	t_status(dtconv_type_parse(t_context, "int\0int", 7, &type), DTCONV_ERR_FORMAT);
	ck_assert_str_eq(t_error(),
			 "dtconv_type_parse: column 4: expected the end of the text "
			 "after the type, found the byte 0x00");
}
END_TEST

/* Change a few bytes of a text for others that occur in texts. */
static void mutate(struct random_stream *stream, char *text, size_t length)
{
	static const char bytes[] = "()[],-+0123456789xabcdefinortucyl_ \n\t;#\0";

	for (size_t changes = 1 + random_below(stream, 3); changes > 0; changes--)
		text[random_below(stream, length)] =
			bytes[random_below(stream, sizeof(bytes))];
}

START_TEST(mutations_are_read_or_refused)
{
	struct random_stream stream = { random_seed(0x7e47) };
	size_t accepted = 0;

	for (size_t round = 0; round < 20000; round++) {
		char text[sizeof(specimen)];
		size_t length = sizeof(text) - 1 - random_below(&stream, 2);
		struct dtconv_type *type;
		int status;

		memcpy(text, specimen, sizeof(text));
		mutate(&stream, text, length);
		status = dtconv_type_parse(t_context, text, length, &type);
		if (status == 0) {
			char *again = t_text(type);

			assert_reads_as(again, again);
			free(again);
			dtconv_type_unref(type);
			accepted++;
		} else {
			ck_assert_msg(strcmp(status_name(status), "another status") != 0,
				      "'%s': %d", text, status);
		}
	}
	ck_assert_uint_gt(accepted, 100); /* else nothing was tried */
}
END_TEST

/* ---- deep and long ----------------------------------------------------------------- */

/* `levels` constructors inside each other; free it. */
static char *nested_text(size_t levels)
{
	char *text;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	for (size_t i = 0; i < levels; i++)
		fputs(i % 2 ? "struct([1], [0], [" : "contiguous(1, ", out);
	fputs("int", out);
	for (size_t i = levels; i-- > 0;)
		fputs(i % 2 ? "])" : ")", out);
	fclose(out);
	return text;
}

START_TEST(as_deep_as_the_limit)
{
	char *text = nested_text(256);

	assert_reads_as(text, text);
	free(text);
}
END_TEST

START_TEST(deeper_than_the_limit)
{
	char *text = nested_text(257);
	struct dtconv_type *type;

	t_status(parse(text, &type), DTCONV_ERR_LIMIT);
	ck_assert_msg(strstr(t_error(), "limit of 256 levels") != NULL, "%s", t_error());
	free(text);
}
END_TEST

START_TEST(formatting_has_no_limit_of_depth)
{
	struct dtconv_type *type = t_predefined(DTCONV_INT);

	for (size_t i = 0; i < 1000; i++) {
		struct dtconv_type *outer;

		t_ok(dtconv_type_create_dup(type, &outer));
		dtconv_type_unref(type);
		type = outer;
	}
	char *text = t_text(type);
	ck_assert_uint_eq(strlen(text), 1000 * strlen("dup()") + strlen("int"));
	free(text);
	dtconv_type_unref(type);
}
END_TEST

START_TEST(a_shared_member_is_not_written_without_end)
{
	struct dtconv_type *type = t_predefined(DTCONV_INT);
	size_t blocklengths[2] = { 0, 0 };
	ptrdiff_t displacements[2] = { 0, 0 };
	size_t length;

	for (size_t i = 0; i < 60; i++) { /* 2^60 of them, if written out */
		struct dtconv_type *members[2] = { type, type };
		struct dtconv_type *outer;

		t_ok(dtconv_type_create_struct(t_context, 2, blocklengths, displacements,
					       members, &outer));
		dtconv_type_unref(type);
		type = outer;
	}
	t_status(dtconv_type_format(type, NULL, 0, &length), DTCONV_ERR_LIMIT);
	dtconv_type_unref(type);
}
END_TEST

/* An indexed type with many blocks; free it. */
static char *indexed_text(size_t blocks)
{
	char *text;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	fputs("indexed([", out);
	for (size_t i = 0; i < blocks; i++)
		fprintf(out, "%s%zu", i > 0 ? "," : "", 1 + i % 3);
	fputs("], [", out);
	for (size_t i = 0; i < blocks; i++)
		fprintf(out, "%s%zd", i > 0 ? "," : "", (ssize_t)(i * 5) - 1000);
	fputs("], double)", out);
	fclose(out);
	return text;
}

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* CPU time to read and write a text. */
static double round_trip_seconds(const char *text)
{
	double before = cpu_seconds();

	assert_reads_as(text, text);
	return cpu_seconds() - before;
}

START_TEST(a_million_blocks_take_linear_time)
{
	char *some = indexed_text(100000);
	char *many = indexed_text(1000000);
	double seconds_some = round_trip_seconds(some);
	double seconds_many = round_trip_seconds(many);

	/* ten times the work; a hundred times would be quadratic */
	ck_assert_msg(seconds_many < 40 * seconds_some + 0.1,
		      "%g s, and %g s for ten times less", seconds_many, seconds_some);
	free(some);
	free(many);
}
END_TEST

START_TEST(a_hundred_thousand_members)
{
	size_t members = 100000;
	char *text;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	fputs("struct([", out);
	for (size_t i = 0; i < members; i++)
		fprintf(out, "%s1", i > 0 ? "," : "");
	fputs("], [", out);
	for (size_t i = 0; i < members; i++)
		fprintf(out, "%s%zu", i > 0 ? "," : "", 16 * i);
	fputs("], [", out);
	for (size_t i = 0; i < members; i++)
		fprintf(out, "%s%s", i > 0 ? "," : "",
			i % 2 ? "cxx_long_double_complex" : "contiguous(2, int)");
	fputs("])", out);
	fclose(out);
	ck_assert_double_lt(round_trip_seconds(text), 10);
	free(text);
}
END_TEST

/* ---- round trips ------------------------------------------------------------------- */

/* The arguments of two types that should be the same. */
struct pair {
	struct dtconv_envelope envelope[2];
	size_t counts[2][512];
	ptrdiff_t displacements[2][512];
	struct dtconv_type *children[2][64];
};

/* Assert that two types were made by the same call, but for the types it was given. */
static void assert_same_call(const struct dtconv_type *a, const struct dtconv_type *b,
			     struct pair *pair)
{
	const struct dtconv_type *types[2] = { a, b };

	for (int i = 0; i < 2; i++)
		t_ok(dtconv_type_query_envelope(types[i], &pair->envelope[i]));
	ck_assert_int_eq(pair->envelope[0].combiner, pair->envelope[1].combiner);
	ck_assert_uint_eq(pair->envelope[0].count_count, pair->envelope[1].count_count);
	ck_assert_uint_eq(pair->envelope[0].displacement_count,
			  pair->envelope[1].displacement_count);
	ck_assert_uint_eq(pair->envelope[0].type_count, pair->envelope[1].type_count);
	if (pair->envelope[0].combiner == DTCONV_COMBINER_NAMED) {
		ck_assert_ptr_eq(a, b);
		return;
	}
	for (int i = 0; i < 2; i++)
		t_ok(dtconv_type_query_contents(types[i], 512, pair->counts[i], 512,
						pair->displacements[i], 64,
						pair->children[i]));
	ck_assert_mem_eq(pair->counts[0], pair->counts[1],
			 pair->envelope[0].count_count * sizeof(size_t));
	ck_assert_mem_eq(pair->displacements[0], pair->displacements[1],
			 pair->envelope[0].displacement_count * sizeof(ptrdiff_t));
}

#define MAX_PENDING 4096

/* Assert that two types were made in the same way, all the way down. */
static void assert_same_tree(struct dtconv_type *a, struct dtconv_type *b)
{
	struct dtconv_type *(*pending)[2] = calloc(MAX_PENDING, sizeof(*pending));
	struct pair *pair = calloc(1, sizeof(*pair));
	size_t count = 1;

	pending[0][0] = a;
	pending[0][1] = b;
	while (count > 0) {
		count--;
		assert_same_call(pending[count][0], pending[count][1], pair);
		ck_assert_uint_le(count + pair->envelope[0].type_count, MAX_PENDING);
		for (size_t i = 0; i < pair->envelope[0].type_count; i++, count++) {
			pending[count][0] = pair->children[0][i];
			pending[count][1] = pair->children[1][i];
		}
	}
	free(pair);
	free(pending);
}

START_TEST(random_types_come_back)
{
	uint64_t seed = random_seed(1);
	struct random_limits limits = { .depth = 5 };

	for (uint64_t i = 0; i < 3000; i++) {
		struct dtconv_type *type;
		struct dtconv_type *copy;
		char *text;

		t_ok(random_type(t_context, seed + i, &limits, &type));
		text = t_text(type);
		t_ok(parse(text, &copy));
		assert_same_tree(type, copy);
		free(text);
		dtconv_type_unref(copy);
		dtconv_type_unref(type);
	}
}
END_TEST

START_TEST(a_short_buffer_gets_the_beginning)
{
	struct dtconv_type *type = t_parse(specimen);
	char *whole = t_text(type);
	size_t length = strlen(whole);
	char *part = malloc(length + 2);

	for (size_t capacity = 0; capacity <= length + 1; capacity++) {
		size_t told = 0;
		int status;

		memset(part, '#', length + 2);
		status = dtconv_type_format(type, part, capacity, &told);
		ck_assert_int_eq(status, capacity > length ? 0 : DTCONV_ERR_TRUNCATE);
		ck_assert_uint_eq(told, length);
		ck_assert_int_eq(part[capacity], '#');
		if (capacity > 0) {
			ck_assert_uint_eq(strlen(part),
					  capacity > length ? length : capacity - 1);
			ck_assert_int_eq(strncmp(part, whole, strlen(part)), 0);
		}
	}
	free(part);
	free(whole);
	dtconv_type_unref(type);
}
END_TEST

/* ---- memory ------------------------------------------------------------------------ */

/* An allocator that fails once after some calls and counts what is out. */
struct scarce {
	size_t calls_left;
	size_t live;
};

static void *scarce_alloc(void *arg, size_t bytes)
{
	struct scarce *scarce = arg;

	if (scarce->calls_left == 0)
		return NULL;
	scarce->calls_left--;
	void *memory = malloc(bytes);
	scarce->live += memory != NULL;
	return memory;
}

static void scarce_free(void *arg, void *memory)
{
	struct scarce *scarce = arg;

	scarce->live--;
	free(memory);
}

/* Read and write the specimen with so many allocations; the first failure's status. */
static int round_trip(struct dtconv_context *context, struct scarce *scarce,
		      size_t allowed)
{
	struct dtconv_type *type;
	size_t length;
	char text[1000];

	scarce->calls_left = allowed;
	int status = dtconv_type_parse(context, specimen, strlen(specimen), &type);
	if (status)
		return status;
	status = dtconv_type_format(type, text, sizeof(text), &length);
	dtconv_type_unref(type);
	return status;
}

START_TEST(memory_may_run_out_anywhere)
{
	struct scarce scarce = { .calls_left = SIZE_MAX };
	struct dtconv_context_params params = {
		.struct_size = sizeof(params),
		.allocator = { scarce_alloc, scarce_free, &scarce },
	};
	struct dtconv_context *context;
	size_t allowed = 0;
	int status;

	t_ok(dtconv_context_create(&params, &context));
	size_t before = scarce.live;
	while ((status = round_trip(context, &scarce, allowed)) != 0) {
		ck_assert_int_eq(status, DTCONV_ERR_NOMEM);
		ck_assert_uint_eq(scarce.live, before);
		allowed++;
	}
	ck_assert_uint_eq(scarce.live, before);
	ck_assert_uint_gt(allowed, 10); /* else the allocator was not used */
	dtconv_context_destroy(context);
	ck_assert_uint_eq(scarce.live, 0);
}
END_TEST

/* ---- running ----------------------------------------------------------------------- */

static void add_reading(Suite *suite)
{
	TCase *errors = t_case(suite, "errors");
	TCase *accepted = t_case(suite, "accepted");
	TCase *ends = t_case(suite, "ends");

	machine_add_wide(errors, every_error_has_its_sentence);
	tcase_add_test(errors, null_arguments_are_refused);
	tcase_add_test(accepted, all_predefined_names);
	tcase_add_test(accepted, numbers_at_their_limits);
	tcase_add_test(accepted, white_space_is_free);
	tcase_add_test(accepted, comments_end_with_their_line);
	tcase_add_test(accepted, comments_hide_nothing_else);
	tcase_add_test(accepted, a_comment_behind_every_sign_changes_nothing);
	tcase_add_test(accepted, specimen_of_everything);
	tcase_add_test(ends, no_prefix_is_read_past_its_end);
	tcase_add_test(ends, a_nul_inside_is_a_wrong_byte);
	tcase_add_test(ends, mutations_are_read_or_refused);
}

int main(void)
{
	Suite *suite = suite_create("text parser");
	TCase *sizes;
	TCase *trips;
	TCase *memory;

	add_reading(suite);
	sizes = t_case(suite, "sizes");
	tcase_add_test(sizes, as_deep_as_the_limit);
	tcase_add_test(sizes, deeper_than_the_limit);
	tcase_add_test(sizes, formatting_has_no_limit_of_depth);
	tcase_add_test(sizes, a_shared_member_is_not_written_without_end);
	tcase_add_test(sizes, a_million_blocks_take_linear_time);
	tcase_add_test(sizes, a_hundred_thousand_members);
	trips = t_case(suite, "round trips");
	tcase_add_test(trips, random_types_come_back);
	tcase_add_test(trips, a_short_buffer_gets_the_beginning);
	memory = t_case(suite, "memory");
	tcase_add_test(memory, memory_may_run_out_anywhere);
	return t_run(suite);
}
