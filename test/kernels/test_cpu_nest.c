/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nests, every set of kernels against a byte loop: every block length up to beyond the words, rows of
 * few and of many blocks, strides of either sign, both directions.
 */
#include "config.h"

#include <stdio.h>

#include "base/base.h"
#include "kernels/moves.h"
#include "support/fixture.h"

static struct moves moves;

struct call {
	struct dtc_nest nest;
	enum dtc_direction direction;
};

static void run_nest(const struct dtc_cpu_kernels *cpu, const struct moves *of, char *to,
		     const char *from)
{
	const struct call *call = of->arg;
	dtc_nest_fn move = cpu->nest(call->nest.block, call->direction);

	if (call->direction == DTC_PACK)
		move(&call->nest, (char *)(uintptr_t)from, to);
	else
		move(&call->nest, to, (char *)(uintptr_t)from);
}

static void add_blocks(const struct call *call)
{
	const struct dtc_nest *nest = &call->nest;
	ptrdiff_t packed = 0;

	for (size_t i = 0; i < nest->outer; i++)
		for (size_t j = 0; j < nest->inner; j++) {
			ptrdiff_t user = nest->disp + (ptrdiff_t)i * nest->outer_stride +
					 (ptrdiff_t)j * nest->inner_stride;

			if (call->direction == DTC_PACK)
				moves_add(&moves, packed, user, nest->block);
			else
				moves_add(&moves, user, packed, nest->block);
			packed += (ptrdiff_t)nest->block;
		}
}

static void check(const struct dtc_nest *nest)
{
	struct call call = { .nest = *nest };

	for (int direction = DTC_PACK; direction <= DTC_UNPACK; direction++) {
		call.direction = (enum dtc_direction)direction;
		moves_clear(&moves);
		moves.arg = &call;
		add_blocks(&call);
		snprintf(moves.text, sizeof(moves.text),
			 "%s %zu x %zu blocks of %zu bytes at %td, strides %td and %td",
			 direction == DTC_PACK ? "pack" : "unpack", nest->outer,
			 nest->inner, nest->block, nest->disp, nest->outer_stride,
			 nest->inner_stride);
		moves_check(&moves);
	}
}

/* Rows whose blocks are @gap bytes apart, and themselves 5 bytes, upwards or downwards. */
static void check_rows(size_t block, size_t outer, size_t inner, ptrdiff_t gap, bool down)
{
	ptrdiff_t stride = (ptrdiff_t)block + gap;
	ptrdiff_t row = (ptrdiff_t)inner * stride + 5;
	struct dtc_nest nest = { .disp = 3,
				 .outer = outer,
				 .inner = inner,
				 .block = block,
				 .outer_stride = down ? -row : row,
				 .inner_stride = down ? -stride : stride };

	check(&nest);
}

static const size_t inners[] = { 1, 2, 3, 4, 5, 7, 8, 9, 13 };

START_TEST(every_length_is_moved)
{
	for (size_t block = 1; block <= 200; block += block < 72 ? 1 : 31)
		for (size_t i = 0; i < DTC_ARRAY_LENGTH(inners); i++) {
			check_rows(block, 1, inners[i], (ptrdiff_t)block, false);
			check_rows(block, 3, inners[i], 1, false);
		}
}
END_TEST

START_TEST(rows_and_blocks_may_run_downwards)
{
	for (size_t block = 1; block <= 72; block++)
		check_rows(block, 2, 6, 7, true);
}
END_TEST

START_TEST(blocks_may_touch)
{
	for (size_t block = 1; block <= 72; block++)
		check_rows(block, 4, 5, 0, false);
}
END_TEST

static void setup(void)
{
	moves_setup();
	moves.run = run_nest;
}

static void teardown(void)
{
	moves_destroy(&moves);
	moves_teardown();
}

int main(void)
{
	Suite *suite = suite_create("cpu nests");
	TCase *nests = fixture_case(suite, "nests", 60);

	tcase_add_checked_fixture(nests, setup, teardown);
	tcase_add_test(nests, every_length_is_moved);
	tcase_add_test(nests, rows_and_blocks_may_run_downwards);
	tcase_add_test(nests, blocks_may_touch);
	return fixture_run(suite);
}
