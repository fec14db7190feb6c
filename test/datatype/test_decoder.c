/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Serialised types that nobody wrote: cut, lengthened, with every bit flipped, with each rule
 * of the format broken (the sentences stand in test/golden/stream_errors.txt), and made to
 * take as much memory as can be. A counting allocator watches all of it: at most 256 bytes for
 * each byte of the stream, and everything comes back.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/golden.h"
#include "support/allocators.h"
#include "support/limits_in_words.h"
#include "support/machine.h"
#include "support/serialised.h"
#include "support/t.h"

/* Promised by dtconv_type_deserialise. */
#define PROMISED_MEMORY 256

/* ---- a context that counts ----------------------------------------------------------- */

static struct byte_count memory;

static void setup(void)
{
	struct dtconv_context_params params = { .struct_size = sizeof(params),
						.allocator = allocator_of_bytes(&memory),
						.flags = DTCONV_CONTEXT_COUNTERS };

	memory = (struct byte_count){ .live = 0 };
	t_ok(dtconv_context_create(&params, &t_context));
}

static void teardown(void)
{
	t_teardown();
	ck_assert_uint_eq(memory.live, 0);
}

/* Deserialise and look at the memory; a refusal must leave nothing behind. */
static int decode(const unsigned char *bytes, size_t length, struct dtconv_type **type)
{
	size_t before = memory.live;

	memory.peak = memory.live;
	int status = dtconv_type_deserialise(t_context, bytes, length, type);
	ck_assert_msg(memory.peak - before <= PROMISED_MEMORY * length,
		      "%zu bytes of memory for a stream of %zu", memory.peak - before,
		      length);
	if (status) {
		ck_assert_ptr_null(*type);
		ck_assert_uint_eq(memory.live, before);
		ck_assert_ptr_nonnull(strstr(t_error(), "dtconv_type_deserialise: "));
	}
	return status;
}

/* ---- streams ------------------------------------------------------------------------- */

/* A stream in the making. */
struct stream {
	unsigned char *bytes;
	size_t length, capacity;
};

static void put(struct stream *stream, unsigned width, uint64_t value)
{
	if (stream->length + width > stream->capacity) {
		stream->capacity = 2 * stream->capacity + 64;
		stream->bytes = realloc(stream->bytes, stream->capacity);
		ck_assert_ptr_nonnull(stream->bytes);
	}
	for (unsigned i = 0; i < width; i++)
		stream->bytes[stream->length++] = (unsigned char)(value >> 8 * i);
}

static void set(struct stream *stream, size_t at, unsigned width, uint64_t value)
{
	ck_assert_uint_le(at + width, stream->length);
	for (unsigned i = 0; i < width; i++)
		stream->bytes[at + i] = (unsigned char)(value >> 8 * i);
}

static struct stream stream_of(const char *text)
{
	struct dtconv_type *type = NULL;
	struct stream stream = { 0 };
	size_t length = 0;

	t_ok(dtconv_type_parse(t_context, text, strlen(text), &type));
	t_status(dtconv_type_serialise(type, NULL, 0, &length), DTCONV_ERR_TRUNCATE);
	stream.bytes = malloc(length);
	ck_assert_ptr_nonnull(stream.bytes);
	t_ok(dtconv_type_serialise(type, stream.bytes, length, &stream.length));
	stream.capacity = stream.length;
	dtconv_type_unref(type);
	return stream;
}

static const char *const texts[] = {
	"int",
	"vector(4, 2, 5, double)",
	"hvector(4, 2, -300, short)",
	"indexed([1,2,3], [0,6,12], float)",
	"struct([1,1,7], [0,8,16], [int,double,char])",
	"struct([1,2], [0,64], [dup(int),resized(int, -4, 16)])",
	"subarray([6,8], [3,4], [2,1], fortran, double)",
	"darray(4, 1, [8,8], [block,cyclic], [default,2], [2,2], c, int)",
	"f90_real(15, undefined)",
	"value_index(int64, int16)",
	"contiguous(" COUNT_MOST_HEX ", contiguous(0, int))",
};

/* ---- damage -------------------------------------------------------------------------- */

START_TEST(cut_anywhere)
{
	struct stream stream = stream_of(texts[_i]);
	struct dtconv_type *type = NULL;

	for (size_t length = 0; length < stream.length; length++) {
		/* In memory of its own, so that a byte too far is seen. */
		unsigned char *cut = malloc(length + 1);

		ck_assert_ptr_nonnull(cut);
		memcpy(cut + 1, stream.bytes, length);
		t_status(decode(cut + 1, length, &type), DTCONV_ERR_FORMAT);
		for (unsigned i = 0; i < 8 && length >= 16; i++)
			cut[1 + 8 + i] = (unsigned char)(length >> 8 * i);
		t_status(decode(cut + 1, length, &type), DTCONV_ERR_FORMAT);
		free(cut);
	}
	free(stream.bytes);
}
END_TEST

START_TEST(lengthened)
{
	struct stream stream = stream_of(texts[_i]);
	struct dtconv_type *type = NULL;

	put(&stream, 1, 0);
	t_status(decode(stream.bytes, stream.length, &type), DTCONV_ERR_FORMAT);
	set(&stream, 8, 8, stream.length);
	t_status(decode(stream.bytes, stream.length, &type), DTCONV_ERR_FORMAT);
	free(stream.bytes);
}
END_TEST

/* Whatever is accepted is the one stream of its type. */
static void expect_refused_or_itself(const struct stream *stream)
{
	struct dtconv_type *type = NULL;
	int status = decode(stream->bytes, stream->length, &type);

	if (status == 0) {
		unsigned char *again = malloc(stream->length);
		size_t length = 0;

		ck_assert_ptr_nonnull(again);
		t_ok(dtconv_type_serialise(type, again, stream->length, &length));
		ck_assert_uint_eq(length, stream->length);
		ck_assert_int_eq(memcmp(again, stream->bytes, length), 0);
		free(again);
		dtconv_type_unref(type);
		return;
	}
	ck_assert_msg(status == DTCONV_ERR_FORMAT || status == DTCONV_ERR_OVERFLOW ||
			      status == DTCONV_ERR_LIMIT,
		      "%s: %s", dtconv_strerror(status), t_error());
}

START_TEST(every_byte_otherwise)
{
	struct stream stream = stream_of(texts[_i]);

	for (size_t at = 0; at < stream.length; at++) {
		unsigned char before = stream.bytes[at];

		for (unsigned value = 0; value < 256; value++) {
			stream.bytes[at] = (unsigned char)value;
			expect_refused_or_itself(&stream);
		}
		stream.bytes[at] = before;
	}
	expect_refused_or_itself(&stream);
	free(stream.bytes);
}
END_TEST

/* ---- each rule broken ---------------------------------------------------------------- */

/* A value to be changed; a width of 0 ends the list. */
struct edit {
	size_t at;
	unsigned width;
	uint64_t value;
};

struct wrong {
	const char *what;
	const char *text; /* whose stream is changed */
	long longer;      /* bytes appended, or cut off; the header's length follows */
	struct edit edits[8];
	int status; /* 0 means DTCONV_ERR_FORMAT */
};

#define VECTOR   "vector(4, 2, 5, double)"
#define MEMBERS  "struct([1,1,7], [0,8,16], [int,double,char])"
#define CHILDREN "struct([1,2], [0,64], [dup(int),resized(int, -4, 16)])"
#define DUPS     "dup(dup(int))"
#define OVERFLOW DTCONV_ERR_OVERFLOW

static const struct wrong wrongs[] = {
	{ "no byte", "int", -32, { { 0 } }, 0 },
	{ "half a header", "int", -20, { { 0 } }, 0 },
	{ "another first byte", "int", 0, { { 0, 1, 'v' } }, 0 },
	{ "version 0", "int", 0, { { 4, 2, 0 } }, 0 },
	{ "version 2", "int", 0, { { 4, 2, 2 } }, 0 },
	{ "a length that is too short", "int", 0, { { 8, 8, 31 } }, 0 },
	{ "a length of 2^64 - 1", "int", 0, { { 8, 8, UINT64_MAX } }, 0 },
	{ "65535 predefined types", VECTOR, 0, { { 6, 2, 65535 } }, 0 },
	{ "predefined types past the end", "int", 0, { { 6, 2, 2 } }, 0 },
	{ "2^64 - 1 records", VECTOR, 0, { { 16, 8, UINT64_MAX } }, 0 },
	{ "2 records where there is 1", VECTOR, 0, { { 16, 8, 2 } }, 0 },
	{ "no records where there is 1", VECTOR, 0, { { 16, 8, 0 } }, 0 },
	{ "no records and 3 predefined types", MEMBERS, 0, { { 16, 8, 0 } }, 0 },
	{ "predefined type 0", "int", 0, { { 24, 2, 0 } }, 0 },
	{ "predefined type 68", "int", 0, { { 24, 2, 68 } }, 0 },
	{ "predefined type 264", "int", 0, { { 24, 2, 264 } }, 0 },
	{ "the same predefined type twice",
	  MEMBERS,
	  0,
	  { { 24, 2, 8 }, { 26, 2, 4 }, { 28, 2, 4 }, { 30, 2, 4 } },
	  0 },
	{ "a long of 4 bytes",
	  "contiguous(2, long)",
	  0,
	  { { 26, 2, 4 }, { 28, 2, 4 }, { 30, 2, 4 } },
	  0 },
	{ "a double aligned to 4", "contiguous(2, double)", 0, { { 30, 2, 4 } }, 0 },
	{ "a predefined type that is not used", MEMBERS, 0, { { 76, 1, 0xfe } }, 0 },
	{ "constructor 0", VECTOR, 0, { { 32, 1, 0 } }, 0 },
	{ "constructor 17", VECTOR, 0, { { 32, 1, 17 } }, 0 },
	{ "half a record", VECTOR, -10, { { 0 } }, 0 },
	{ "values of 0 bytes", VECTOR, 0, { { 33, 1, 0 } }, 0 },
	{ "values of 3 bytes", VECTOR, 0, { { 34, 1, 3 } }, 0 },
	{ "values of 16 bytes", VECTOR, 0, { { 35, 1, 16 } }, 0 },
	{ "a vector with entries", VECTOR, 0, { { 44, 8, 1 } }, 0 },
	{ "2^64 - 1 entries", MEMBERS, 0, { { 60, 8, UINT64_MAX } }, 0 },
	{ "3 x 2^62 arguments",
	  "subarray([6,8], [3,4], [2,1], fortran, double)",
	  0,
	  { { 44, 8, UINT64_C(1) << 62 } },
	  0 },
	{ "wider values than fit", VECTOR, 0, { { 33, 1, 8 } }, 0 },
	{ "a wide value that is narrow",
	  "hvector(4, 2, -300, short)",
	  0,
	  { { 54, 2, 5 } },
	  0 },
	{ "no values, wide", "struct([], [], [])", 0, { { 25, 1, 2 } }, 0 },
	{ "a predefined type past the last one", VECTOR, 0, { { 55, 1, 0xfe } }, 0 },
	{ "a record that is its own child", DUPS, 0, { { 52 + 21, 1, 1 } }, 0 },
	{ "a child that stands behind its parent", DUPS, 0, { { 52, 1, 1 } }, 0 },
	{ "a record that is not used", CHILDREN, 0, { { 101, 1, 0 } }, 0 },
	{ "children in another order", CHILDREN, 0, { { 100, 2, 1 } }, 0 },
	{ "bytes behind the last record", VECTOR, 3, { { 0 } }, 0 },
	{ "a subsize of 9",
	  "subarray([6,8], [3,4], [2,1], fortran, double)",
	  0,
	  { { 54, 1, 9 } },
	  0 },
	{ "order 7",
	  "subarray([6,8], [3,4], [2,1], fortran, double)",
	  0,
	  { { 58, 1, 7 } },
	  0 },
	{ "order -1",
	  "subarray([6,8], [3,4], [2,1], fortran, double)",
	  0,
	  { { 58, 1, 0xff } },
	  0 },
	{ "distribution 9",
	  "darray(4, 1, [8,8], [block,cyclic], [default,2], [2,2], c, int)",
	  0,
	  { { 56, 1, 9 } },
	  0 },
	{ "a real of 99 digits", "f90_real(15, undefined)", 0, { { 44, 1, 99 } }, 0 },
	{ "a value_index that is predefined",
	  "value_index(int64, int16)",
	  0,
	  { { 24, 8, UINT64_C(0x0004000400040008) },
	    { 32, 8, UINT64_C(0x000800080008000f) } },
	  0 },
	{ "a count that is too large",
	  "contiguous(0xffffffffffffffff, contiguous(0, int))",
	  0,
	  { { 52, 1, 1 }, { 36, 8, 4 } },
	  OVERFLOW },
	{ "another extent", VECTOR, 0, { { 36, 8, 137 } }, 0 },
	{ "an extent of -2^63", VECTOR, 0, { { 36, 8, UINT64_C(1) << 63 } }, 0 },
};

static struct stream wrong_stream(const struct wrong *wrong)
{
	struct stream stream = stream_of(wrong->text);

	for (long i = 0; i < wrong->longer; i++)
		put(&stream, 1, 0);
	if (wrong->longer < 0)
		stream.length -= (size_t)-wrong->longer;
	if (wrong->longer && stream.length >= 16)
		set(&stream, 8, 8, stream.length);
	for (const struct edit *edit = wrong->edits; edit->width; edit++)
		set(&stream, edit->at, edit->width, edit->value);
	return stream;
}

/* A case's status and sentence, at the end of the text. */
static void note(char **text, size_t *length, const char *what, int status)
{
	char *grown = realloc(*text, *length + 1024);

	ck_assert_ptr_nonnull(grown);
	int more = snprintf(grown + *length, 1024, "%s\n\t%s\n\t%s\n", what,
			    dtconv_strerror(status), t_error());
	ck_assert(more > 0 && more < 1024);
	*length += (size_t)more;
	*text = grown;
}

/* ---- streams that ask for much -------------------------------------------------------- */

static void put_header(struct stream *stream, size_t predefined, size_t records)
{
	put(stream, 4, 0x637464d7);
	put(stream, 2, 1);
	put(stream, 2, predefined);
	put(stream, 8, 0);
	put(stream, 8, records);
}

static void put_predefined(struct stream *stream, unsigned number, unsigned size)
{
	put(stream, 2, number);
	for (int i = 0; i < 3; i++)
		put(stream, 2, size);
}

static void put_head(struct stream *stream, unsigned combiner, unsigned widths,
		     uint64_t extent, size_t entries)
{
	put(stream, 1, combiner);
	for (unsigned i = 0; i < 3; i++)
		put(stream, 1, widths >> 4 * i & 15);
	put(stream, 8, extent);
	put(stream, 8, entries);
}

/* Of char and byte in turn, so that no two neighbours merge in the signature. */
static void put_wide_struct(struct stream *stream, size_t members)
{
	put_head(stream, 9, 0x141, members, members);
	for (size_t i = 0; i < members; i++)
		put(stream, 1, 1 + (i * i) % 7);
	for (size_t i = 0; i < members; i++)
		put(stream, 4, i == 1 ? 70000 : 8 * i);
	for (size_t i = 0; i < members; i++)
		put(stream, 1, i % 2 ? 0xff : 0xfe);
}

static void finish(struct stream *stream)
{
	set(stream, 8, 8, stream->length);
}

/* The extent that the library finds, for a stream that is right but for this. */
static void correct_extents(struct stream *stream)
{
	struct dtconv_type *type = NULL;
	size_t at;
	long long there;
	long here;

	finish(stream);
	while (decode(stream->bytes, stream->length, &type) == DTCONV_ERR_FORMAT) {
		const char *place = strstr(t_error(), "byte ");
		const char *found = strstr(t_error(), "but ");

		ck_assert_msg(place && found && strstr(t_error(), "has extent"), "%s",
			      t_error());
		ck_assert_int_eq(sscanf(place, "byte %zu:%*[^-0-9]%lld", &at, &there), 2);
		ck_assert_int_eq(sscanf(found, "but %ld here", &here), 1);
		set(stream, at, 8, (uint64_t)here);
	}
	dtconv_type_unref(type);
}

/* Two predefined types, a wide struct, and levels of contiguous(2, ...) above it. */
static struct stream wide_and_deep(size_t members, size_t levels)
{
	struct stream stream = { 0 };

	put_header(&stream, 2, 1 + levels);
	put_predefined(&stream, 1, 1);
	put_predefined(&stream, 3, 1);
	put_wide_struct(&stream, members);
	for (size_t level = 0; level < levels; level++) {
		put_head(&stream, 2, level < 128 ? 0x111 : 0x211, 0, 0);
		put(&stream, 1, 1 + (level < 40));
		put(&stream, level < 128 ? 1 : 2, level);
	}
	return stream;
}

/* Each level is [below, int, below], so that nothing folds into a loop. */
static struct stream doubling(size_t levels)
{
	struct stream stream = { 0 };

	put_header(&stream, 1, levels);
	put_predefined(&stream, 8, 4);
	put_head(&stream, 1, 0x111, 4, 0);
	put(&stream, 1, 0xff);
	for (size_t level = 1; level < levels; level++) {
		size_t d = (size_t)1000 << level % 24;

		put_head(&stream, 9, 0x181, 0, 3);
		put(&stream, 3, 0x010101);
		put(&stream, 8, 0);
		put(&stream, 8, UINT64_C(1) << 40 | 4 * d);
		put(&stream, 8, UINT64_C(1) << 41 | 8 * d);
		put(&stream, 1, level - 1);
		put(&stream, 1, 0xff);
		put(&stream, 1, level - 1);
	}
	return stream;
}

START_TEST(every_refusal_has_its_sentence)
{
	char *text = NULL;
	size_t length = 0;
	struct dtconv_type *type = NULL;

	for (size_t i = 0; i < COUNT_OF(wrongs); i++) {
		struct stream stream = wrong_stream(&wrongs[i]);
		int expected = wrongs[i].status ? wrongs[i].status : DTCONV_ERR_FORMAT;
		int status = decode(stream.bytes, stream.length, &type);

		ck_assert_msg(status == expected, "%s: %s (%s)", wrongs[i].what,
			      dtconv_strerror(status), t_error());
		note(&text, &length, wrongs[i].what, status);
		free(stream.bytes);
	}
	struct stream deep = wide_and_deep(3000, 200), wide = doubling(40);
	correct_extents(&deep);
	t_status(decode(deep.bytes, deep.length, &type), DTCONV_ERR_LIMIT);
	note(&text, &length, "signatures that are copied again and again",
	     DTCONV_ERR_LIMIT);
	finish(&wide);
	t_status(decode(wide.bytes, wide.length, &type), DTCONV_ERR_LIMIT);
	note(&text, &length, "children that are used twice, 40 levels of them",
	     DTCONV_ERR_LIMIT);
	golden_compare("stream_errors.txt", text, length);
	free(text);
	free(deep.bytes);
	free(wide.bytes);
}
END_TEST

START_TEST(nothing_to_read_and_nowhere_to_write)
{
	struct stream stream = stream_of("int");
	struct dtconv_type *type = NULL;

	t_status(decode(NULL, 3, &type), DTCONV_ERR_INVAL);
	t_status(dtconv_type_deserialise(t_context, stream.bytes, stream.length, NULL),
		 DTCONV_ERR_INVAL);
	free(stream.bytes);
}
END_TEST

/* ---- memory -------------------------------------------------------------------------- */

/* What is decoded takes this much, at the worst moment, for each byte of its stream. */
static size_t memory_of(const struct stream *stream, struct dtconv_type **type)
{
	size_t before = memory.live;

	t_ok(decode(stream->bytes, stream->length, type));
	return (memory.peak - before) / stream->length;
}

static void expect_memory(const struct stream *stream, size_t most)
{
	struct dtconv_type *type = NULL;
	size_t needed = memory_of(stream, &type);

	ck_assert_msg(needed <= most, "%zu bytes a byte, not at most %zu", needed, most);
	expect_refused_or_itself(stream);
	dtconv_type_unref(type);
}

/* What real types need is far from the limit: ten levels above 3000 different members. */
START_TEST(wide_types_come_in)
{
	struct stream stream = wide_and_deep(3000, 10);

	correct_extents(&stream);
	expect_memory(&stream, 160);
	free(stream.bytes);
}
END_TEST

/* The smallest records there are: nothing but what a type costs. */
START_TEST(many_small_records)
{
	struct stream stream = { 0 };

	put_header(&stream, 1, 100);
	put_predefined(&stream, 8, 4);
	for (size_t i = 0; i < 100; i++) {
		put_head(&stream, 1, 0x111, 4, 0);
		put(&stream, 1, i ? i - 1 : 0xff);
	}
	finish(&stream);
	expect_memory(&stream, 64);
	free(stream.bytes);
}
END_TEST

/* One constructor of everything that takes more than its arguments, 100 times in a struct. */
static void many_of(unsigned combiner, unsigned widths, size_t arguments,
		    const unsigned char values[], uint64_t extent, size_t most)
{
	struct stream stream = { 0 };

	put_header(&stream, 2, 101);
	put_predefined(&stream, 20, 2);
	put_predefined(&stream, 22, 8);
	for (size_t i = 0; i < 100; i++) {
		put_head(&stream, combiner, widths, extent, combiner == 11 ? 1 : 0);
		for (size_t j = 0; j < arguments; j++)
			put(&stream, 1, values[j]);
	}
	put_head(&stream, 9, 0x111, 0, 102);
	for (size_t i = 0; i < 102; i++)
		put(&stream, 1, 1);
	for (size_t i = 0; i < 102; i++)
		put(&stream, 1, 0);
	put(&stream, 2, 0xfeff);
	for (size_t i = 0; i < 100; i++)
		put(&stream, 1, i);
	correct_extents(&stream);
	expect_memory(&stream, most);
	free(stream.bytes);
}

START_TEST(many_costly_records)
{
	many_of(13, 0x111, 2, (const unsigned char[]){ 15, 0xff }, 8, 64);
	many_of(16, 0x111, 2, (const unsigned char[]){ 0xfe, 0xff }, 16, 64);
	many_of(11, 0x111, 8, (const unsigned char[]){ 1, 0, 9, 0, 0xff, 1, 0, 0xff }, 18,
		64);
	many_of(2, 0x111, 2, (const unsigned char[]){ 3, 0xff }, 6, 64);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("decoder");
	TCase *tcase = tcase_create("decoder");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, cut_anywhere, 0, (int)COUNT_OF(texts));
	tcase_add_loop_test(tcase, lengthened, 0, (int)COUNT_OF(texts));
	tcase_add_loop_test(tcase, every_byte_otherwise, 0, (int)COUNT_OF(texts));
	machine_add_wide(tcase, every_refusal_has_its_sentence);
	tcase_add_test(tcase, nothing_to_read_and_nowhere_to_write);
	tcase_add_test(tcase, wide_types_come_in);
	tcase_add_test(tcase, many_small_records);
	machine_add_aligned(tcase, many_costly_records);
	return t_run(suite);
}
