/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pack reads nothing past the cache lines of the typemap, and neither way touches packed memory
 * past the fragment: data and fragments end at unmapped pages on either side, and in the gaps
 * between blocks. A touch ends the case with a signal.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/fixture.h"
#include "support/layouts.h"
#include "support/ref_typemap.h"

/* So many bytes of pages, with an unmapped page before and after. */
struct pages {
	unsigned char *mapping;
	size_t mapping_bytes;
	unsigned char *first; /* first byte that may be touched */
	unsigned char *end;   /* first byte after them that may not */
};

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static void open_pages(struct pages *pages, size_t bytes)
{
	size_t page = page_size();
	size_t inside = (bytes + page - 1) / page * page;

	pages->mapping_bytes = inside + 2 * page;
	pages->mapping = mmap(NULL, pages->mapping_bytes, PROT_NONE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(pages->mapping, MAP_FAILED);
	pages->first = pages->mapping + page;
	pages->end = pages->first + inside;
	if (inside)
		ck_assert_int_eq(mprotect(pages->first, inside, PROT_READ | PROT_WRITE),
				 0);
}

static void close_pages(struct pages *pages)
{
	munmap(pages->mapping, pages->mapping_bytes);
}

/* ---- a whole layout between unmapped pages ------------------------------------------- */

/* User and packed memory, each against one end of its pages. */
struct edge {
	struct pages user_pages, packed_pages;
	unsigned char *user;   /* displacement 0 */
	unsigned char *packed; /* room for the stream */
};

static void open_edge(struct edge *edge, const struct stage *stage, bool at_end)
{
	open_pages(&edge->user_pages, stage->span);
	open_pages(&edge->packed_pages, stage->bytes);
	unsigned char *lowest = at_end ? edge->user_pages.end - stage->span
				       : edge->user_pages.first;
	edge->user = lowest - stage->low;
	edge->packed = at_end ? edge->packed_pages.end - stage->bytes
			      : edge->packed_pages.first;
	memcpy(lowest, stage->source + stage->low, stage->span);
}

static void close_edge(struct edge *edge)
{
	close_pages(&edge->user_pages);
	close_pages(&edge->packed_pages);
}

/* In one call, and cut in two at a position, where the second part ends at the page. */
static void move_at_edge(const struct stage *stage, const struct edge *edge, size_t at)
{
	struct dtconv_convertor *packs = NULL, *unpacks = NULL;
	size_t rest = stage->bytes - at, moved;

	fixture_ok(dtconv_convertor_create_pack(stage->type, stage->count, edge->user,
						&packs));
	fixture_ok(dtconv_convertor_create_unpack(stage->type, stage->count, edge->user,
						  &unpacks));
	fixture_seek(packs, at);
	fixture_ok(dtconv_convertor_pack(packs, edge->packed + at, rest, &moved));
	fixture_seek(packs, 0);
	fixture_ok(dtconv_convertor_pack(packs, edge->packed, at, &moved));
	ck_assert(!memcmp(edge->packed, stage->stream, stage->bytes));
	fixture_seek(unpacks, at);
	fixture_ok(dtconv_convertor_unpack(unpacks, edge->packed + at, rest, &moved));
	fixture_seek(unpacks, 0);
	fixture_ok(dtconv_convertor_unpack(unpacks, edge->packed, at, &moved));
	dtconv_convertor_destroy(packs);
	dtconv_convertor_destroy(unpacks);
}

static void move_whole_at_edge(const struct stage *stage, const struct edge *edge)
{
	memset(edge->packed, 0, stage->bytes);
	fixture_ok(dtconv_pack(stage->type, stage->count, edge->user, edge->packed,
			       stage->bytes, NULL));
	ck_assert(!memcmp(edge->packed, stage->stream, stage->bytes));
	fixture_ok(dtconv_unpack(stage->type, stage->count, edge->user, edge->packed,
				 stage->bytes, NULL));
	fixture_ok(dtconv_copy(stage->type, stage->count, edge->user, stage->type,
			       stage->count, stage->target, NULL));
}

static void stay_inside(const char *text, size_t count)
{
	struct stage stage;

	fixture_open(&stage, text, count);
	for (int at_end = 0; at_end <= 1; at_end++) {
		struct edge edge;

		open_edge(&edge, &stage, at_end);
		move_whole_at_edge(&stage, &edge);
		for (size_t at = 0; at <= stage.bytes; at += 1 + stage.bytes / 64)
			move_at_edge(&stage, &edge, at);
		close_edge(&edge);
	}
	fixture_close(&stage);
}

START_TEST(every_layout_stays_between_its_pages)
{
	stay_inside(layouts[_i].text, 1);
	stay_inside(layouts[_i].text, 3);
}
END_TEST

/* Few blocks and many, dense strides and wide ones, for one block size. */
START_TEST(every_block_size_stays_between_its_pages)
{
	char text[128];

	for (int count = 1; count <= 70; count += count < 5 ? 1 : 13)
		for (int gap = 1; gap <= 200; gap = gap * 5 + 2) {
			snprintf(text, sizeof(text), "hvector(%d, %d, %d, byte)", count,
				 _i, _i + gap);
			stay_inside(text, 1);
		}
	snprintf(text, sizeof(text), "hindexed([%d, %d, %d], [0, %d, %d], byte)", _i, _i,
		 _i, 3 * _i + 1, _i + 1);
	stay_inside(text, 2);
}
END_TEST

/* ---- unmapped pages between the blocks ----------------------------------------------- */

#define BLOCKS 6

/* Blocks two pages apart, each against the end or the start of the one page that is mapped. */
static struct dtconv_type *blocks_on_pages(size_t block, bool at_end, bool table)
{
	ptrdiff_t step = 2 * (ptrdiff_t)page_size();
	ptrdiff_t first = at_end ? (ptrdiff_t)(page_size() - block) : 0;
	struct dtconv_type *byte = dtconv_type_predefined(fixture_context, DTCONV_BYTE);
	struct dtconv_type *made = NULL, *blocks = NULL;
	ptrdiff_t displacements[BLOCKS];
	size_t one = 1;

	for (ptrdiff_t i = 0; i < BLOCKS; i++)
		displacements[i] = first + step * (table ? (i * 5) % BLOCKS : i);
	if (table) {
		fixture_ok(dtconv_type_create_hindexed_block(BLOCKS, block, displacements,
							     byte, &made));
	} else {
		fixture_ok(
			dtconv_type_create_hvector(BLOCKS, block, step, byte, &blocks));
		fixture_ok(dtconv_type_create_hindexed(1, &one, &first, blocks, &made));
		dtconv_type_unref(blocks);
	}
	fixture_ok(dtconv_type_commit(made));
	return made;
}

/* Memory in which every second page is unmapped, the last one too. */
static unsigned char *open_gappy(size_t *bytes)
{
	size_t page = page_size();

	*bytes = (2 * BLOCKS + 1) * page;
	unsigned char *memory =
		mmap(NULL, *bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(memory, MAP_FAILED);
	for (size_t i = 0; i < BLOCKS; i++)
		ck_assert_int_eq(mprotect(memory + (2 * i + 1) * page, page,
					  PROT_READ | PROT_WRITE),
				 0);
	return memory;
}

static void move_over_gaps(size_t block, bool at_end, bool table)
{
	struct dtconv_type *type = blocks_on_pages(block, at_end, table);
	struct dtconv_convertor *packs = NULL;
	size_t bytes, moved, room = BLOCKS * block;
	unsigned char *memory = open_gappy(&bytes);
	unsigned char *user = memory + page_size();
	unsigned char *packed = malloc(room), *again = malloc(room);

	ck_assert(packed && again);
	for (size_t i = 0; i < room; i++)
		packed[i] = (unsigned char)(i * 7 + block);
	fixture_ok(dtconv_unpack(type, 1, user, packed, room, NULL));
	fixture_ok(dtconv_pack(type, 1, user, again, room, NULL));
	ck_assert(!memcmp(packed, again, room));
	memset(again, 0, room);
	fixture_ok(dtconv_convertor_create_pack(type, 1, user, &packs));
	for (size_t at = 0; at < room; at += moved) {
		fixture_ok(
			dtconv_convertor_pack(packs, again + at, block / 2 + 1, &moved));
	}
	ck_assert(!memcmp(packed, again, room));
	dtconv_convertor_destroy(packs);
	munmap(memory, bytes);
	free(packed);
	free(again);
	dtconv_type_unref(type);
}

START_TEST(unmapped_pages_in_the_gaps_are_not_touched)
{
	for (int shape = 0; shape < 4; shape++)
		move_over_gaps((size_t)_i, shape & 1, shape & 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pages");
	TCase *edges = fixture_case(suite, "edges", 120);

	tcase_add_loop_test(edges, every_layout_stays_between_its_pages, 0, layout_count);
	tcase_add_loop_test(edges, every_block_size_stays_between_its_pages, 1, 129);
	tcase_add_loop_test(edges, unmapped_pages_in_the_gaps_are_not_touched, 1, 129);
	return fixture_run(suite);
}
