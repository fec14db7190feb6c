/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernel calls against byte loops. What either side holds is worked out once for a list of
 * blocks and copied into place before each call, so that a call costs little more than itself.
 */
#include "config.h"

#include "kernels/moves.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cpu_sets.h"
#include "support/marks.h"
#include "support/ref_buffer.h"

/* Bytes around a side that are looked at, too. */
#define MARGIN 128

/* What a side may span. */
#define ROOM ((size_t)4 << 20)

/* Mapped memory between two unmapped pages. */
static unsigned char *rooms[2];

/* One side of a call: its room, what is in it, and where it is placed there. */
struct side {
	unsigned char *room;
	ptrdiff_t low, high;    /* displacements that the blocks touch, and the margins */
	unsigned char *filling; /* what the room holds before the call */
	unsigned char *expected; /* and after it */
};

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

void moves_setup(void)
{
	for (size_t i = 0; i < 2; i++) {
		unsigned char *memory = mmap(NULL, ROOM + 2 * page_bytes(), PROT_NONE,
					     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		ck_assert(memory != MAP_FAILED);
		rooms[i] = memory + page_bytes();
		ck_assert_int_eq(mprotect(rooms[i], ROOM, PROT_READ | PROT_WRITE), 0);
	}
}

void moves_teardown(void)
{
	for (size_t i = 0; i < 2; i++)
		munmap(rooms[i] - page_bytes(), ROOM + 2 * page_bytes());
}

/* ---- lists of blocks ----------------------------------------------------------------------- */

void moves_add(struct moves *moves, ptrdiff_t to, ptrdiff_t from, size_t bytes)
{
	if (moves->count == moves->room) {
		moves->room = 2 * moves->room + 64;
		moves->blocks =
			realloc(moves->blocks, moves->room * sizeof(*moves->blocks));
		ck_assert_ptr_nonnull(moves->blocks);
	}
	moves->blocks[moves->count++] = (struct block){ to, from, bytes };
}

void moves_clear(struct moves *moves)
{
	moves->count = 0;
}

void moves_destroy(struct moves *moves)
{
	free(moves->blocks);
	*moves = (struct moves){ 0 };
}

/* ---- the two sides of a call --------------------------------------------------------------- */

static void widen(struct side *side, ptrdiff_t disp, size_t bytes)
{
	if (disp < side->low)
		side->low = disp;
	if (disp + (ptrdiff_t)bytes > side->high)
		side->high = disp + (ptrdiff_t)bytes;
}

/* Room for the span, in which every byte is told by its place. */
static void fill(struct side *side, uint64_t seed)
{
	side->low -= MARGIN;
	side->high += MARGIN;
	size_t bytes = (size_t)(side->high - side->low);

	ck_assert_uint_le(bytes + 64, ROOM / 2);
	side->filling = malloc(bytes);
	side->expected = malloc(bytes);
	ck_assert(side->filling && side->expected);
	for (size_t i = 0; i < bytes; i++)
		side->filling[i] = ref_pattern(seed, (ptrdiff_t)i);
	memcpy(side->expected, side->filling, bytes);
}

static void open_sides(const struct moves *moves, struct side *to, struct side *from)
{
	*to = (struct side){ .room = rooms[0] };
	*from = (struct side){ .room = rooms[1] };
	for (size_t i = 0; i < moves->count; i++) {
		widen(to, moves->blocks[i].to, moves->blocks[i].bytes);
		widen(from, moves->blocks[i].from, moves->blocks[i].bytes);
	}
	fill(to, 1);
	fill(from, 2);
	for (size_t i = 0; i < moves->count; i++) {
		const struct block *block = &moves->blocks[i];

		for (size_t k = 0; k < block->bytes; k++)
			to->expected[block->to - to->low + (ptrdiff_t)k] =
				from->filling[block->from - from->low + (ptrdiff_t)k];
	}
}

static void close_side(struct side *side)
{
	free(side->filling);
	free(side->expected);
}

/* The part of a side's span, margins included, that is mapped with place 0 at @origin. */
struct window {
	unsigned char *start;
	size_t skipped, bytes;
};

static struct window window_of(const struct side *side, const unsigned char *origin)
{
	ptrdiff_t at = origin - side->room + side->low;
	ptrdiff_t end = origin - side->room + side->high;
	ptrdiff_t first = at < 0 ? 0 : at;
	ptrdiff_t last = end > (ptrdiff_t)ROOM ? (ptrdiff_t)ROOM : end;

	return (struct window){ side->room + first, (size_t)(first - at),
				(size_t)(last - first) };
}

static void compare(const struct moves *moves, const struct dtc_cpu_kernels *cpu,
		    const char *place, const struct side *to, const struct window *window)
{
	const unsigned char *expected = to->expected + window->skipped;
	size_t wrong = 0;

	if (memcmp(window->start, expected, window->bytes) == 0)
		return;
	while (window->start[wrong] == expected[wrong])
		wrong++;
	ck_abort_msg("%s kernels, %s, %s: byte %td is %#x, not %#x", cpu_set_text(cpu),
		     moves->text, place, to->low + (ptrdiff_t)(window->skipped + wrong),
		     window->start[wrong], expected[wrong]);
}

/* One call with place 0 of the sides at these addresses, which @place describes. */
static void call(const struct moves *moves, const struct dtc_cpu_kernels *cpu,
		 const char *place, const struct side *to, unsigned char *to_origin,
		 const struct side *from, unsigned char *from_origin)
{
	const struct window to_window = window_of(to, to_origin);
	const struct window from_window = window_of(from, from_origin);

	memcpy(to_window.start, to->filling + to_window.skipped, to_window.bytes);
	memcpy(from_window.start, from->filling + from_window.skipped, from_window.bytes);
	moves->run(cpu, moves, (char *)to_origin, (const char *)from_origin);
	compare(moves, cpu, place, to, &to_window);
}

/* ---- where the sides lie ------------------------------------------------------------------- */

/* Place 0 if the lowest byte of the side is the room's first, or the highest its last. */
static unsigned char *at_edge(const struct side *side, bool upper)
{
	return upper ? side->room + ROOM - (side->high - MARGIN)
		     : side->room - (side->low + MARGIN);
}

void moves_check(const struct moves *moves)
{
	static const char *const places[] = { "behind unmapped pages",
					      "to before an unmapped page",
					      "from before an unmapped page",
					      "before unmapped pages" };
	struct side to, from;

	open_sides(moves, &to, &from);
	for (int i = 0; cpu_set(i); i++)
		for (unsigned place = 0; place < 4; place++)
			call(moves, cpu_set(i), places[place], &to,
			     at_edge(&to, place & 1), &from, at_edge(&from, place & 2));
	close_side(&to);
	close_side(&from);
}

/* Place 0 in the middle of a room, at an alignment. */
static unsigned char *aligned(const struct side *side, size_t alignment)
{
	return side->room + ROOM / 2 + alignment;
}

/* Two digits; printf would take longer than the call. */
static void write_number(char *at, size_t number)
{
	at[0] = (char)('0' + number / 10);
	at[1] = (char)('0' + number % 10);
}

static void check_alignments(const struct moves *moves, const struct dtc_cpu_kernels *cpu,
			     const struct side *to, const struct side *from, size_t step)
{
	char place[] = "alignments .. and ..";

	for (size_t i = 0; i < 64 * 64; i += step) {
		write_number(place + 11, i / 64);
		write_number(place + 18, i % 64);
		call(moves, cpu, place, to, aligned(to, i / 64), from,
		     aligned(from, i % 64));
	}
}

void moves_check_alignments(const struct moves *moves, size_t step)
{
	struct side to, from;

	open_sides(moves, &to, &from);
	for (int i = 0; cpu_set(i); i++)
		check_alignments(moves, cpu_set(i), &to, &from, step);
	close_side(&to);
	close_side(&from);
}

/* ---- grids --------------------------------------------------------------------------------- */

static ptrdiff_t place_of(const struct dtc_grid_side *strides, size_t i, size_t j)
{
	return (ptrdiff_t)i * strides->outer + (ptrdiff_t)j * strides->inner;
}

void moves_add_grid(struct moves *moves, const struct dtc_grid *grid)
{
	for (size_t i = 0; i < grid->outer; i++)
		for (size_t j = 0; j < grid->inner; j++)
			moves_add(moves, place_of(&grid->to_strides, i, j),
				  place_of(&grid->from_strides, i, j), grid->block);
}

static struct dtc_grid placed(const struct moves *moves, char *to, const char *from,
			      enum dtc_stream stream)
{
	struct dtc_grid grid = *(const struct dtc_grid *)moves->arg;

	grid.to = to;
	grid.from = from;
	grid.stream = stream;
	return grid;
}

void moves_run_grid(const struct dtc_cpu_kernels *cpu, const struct moves *moves,
		    char *to, const char *from)
{
	const struct dtc_grid grid = placed(moves, to, from, DTC_STREAM_NONE);

	cpu->grid(&grid);
}

void moves_run_stream_packed(const struct dtc_cpu_kernels *cpu, const struct moves *moves,
			     char *to, const char *from)
{
	const struct dtc_grid grid = placed(moves, to, from, DTC_STREAM_PACKED);

	cpu->grid(&grid);
}

void moves_run_stream_user(const struct dtc_cpu_kernels *cpu, const struct moves *moves,
			   char *to, const char *from)
{
	const struct dtc_grid grid = placed(moves, to, from, DTC_STREAM_USER);

	cpu->grid(&grid);
}

void moves_run_fetched(const struct dtc_cpu_kernels *cpu, const struct moves *moves,
		       char *to, const char *from)
{
	const struct dtc_grid grid = placed(moves, to, from, DTC_STREAM_FETCHED);

	cpu->grid(&grid);
}

void moves_run_transpose(const struct dtc_cpu_kernels *cpu, const struct moves *moves,
			 char *to, const char *from)
{
	const struct dtc_grid grid = placed(moves, to, from, DTC_STREAM_NONE);

	cpu->transpose(&grid);
}

void moves_run_transpose_stream(const struct dtc_cpu_kernels *cpu, const struct moves *moves,
				char *to, const char *from)
{
	const struct dtc_grid grid = placed(moves, to, from, DTC_STREAM_USER);

	cpu->transpose(&grid);
}
