/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a layout on one device to another layout on its peer: one kernel that stores over the link beside a pack, a peer
 * copy and an unpack; both directions, and the halos of two boxes.
 */
#include "config.h"

#include <stdio.h>

#include "bench/gpu/layout_copy.h"
#include "bench/gpu/plain.h"
#include "bench/gpu/run.h"

#define OP   LAYOUT_COPY_OP
#define HOPS "pack-copy-unpack"

static const struct direction {
	enum gpu_place from, to;
} directions[] = { { PLACE_DEVICE, PLACE_PEER }, { PLACE_PEER, PLACE_DEVICE } };

/* ---- the table ------------------------------------------------------------------------- */

static double ratio(const struct results *rs, const struct result *own, const char *other)
{
	double theirs = result_speed(find_result(rs, own, OP, other));

	return theirs > 0 ? result_speed(own) / theirs : 0;
}

static void print_link(const struct results *rs, size_t from)
{
	if (from == rs->count)
		return;
	printf("\n%-22s %10s %-7s %8s %8s %8s %10s %8s   aim N2\n", "link", "bytes", "to",
	       "us", "GB/s", "x plain", "x in three", "x copy");
	for (size_t i = from; i < rs->count; i++) {
		const struct result *own = &rs->list[i];

		if (!is_first_result(rs, from, i))
			continue;
		printf("%-22s %10zu %-7s", own->layout, own->bytes, own->dst);
		own = find_result(rs, own, OP, "dtconv");
		print_number(own ? own->ns / 1e3 : 0, 8, 1);
		print_number(result_speed(own), 8, 1);
		print_number(own ? ratio(rs, own, "plain") : 0, 8, 2);
		print_number(own ? ratio(rs, own, HOPS) : 0, 10, 2);
		print_number(own ? ratio(rs, own, "copy") : 0, 8, 2);
		printf("     0.90\n");
	}
	printf("(dtconv_copy until the host sees completion, and its speed over that of: plain, the best kernel for the pair on the\n"
	       " source's device, which the aim is for; a pack, a peer copy and an unpack; a peer copy of as many bytes)\n");
}

/* ---- the question ---------------------------------------------------------------------- */

static void run_direction(struct session *s, const struct direction *d, unsigned sizes)
{
	const struct route route = { d->from, d->to, 0 };

	run_add(s, way_copying, "dtconv", &route);
	run_add(s, way_copying_fused, "plain", &route);
	run_add(s, way_copying_hops, HOPS, &route);
	run_add(s, way_copying_raw, "copy", &route);
	layout_copy_run_rows(s, d->from, d->to, sizes);
	if (d == directions)
		print_absent(s);
	run_drop_engines(s);
}

void question_link(struct session *s)
{
	unsigned sizes = s->options->sizes
				 ? s->options->sizes
				 : BENCH_SIZE_1M | BENCH_SIZE_16M | BENCH_SIZE_256M;
	const size_t from = s->results.count;

	if (!run_other_device(s, "link"))
		return;
	s->rows_left = 2 * 3 * layout_copy_rows();
	for (size_t i = 0; i < 2; i++)
		run_direction(s, &directions[i], sizes);
	print_link(&s->results, from);
	/* They have a size of their own. */
	if (!s->options->sizes && bench_matches(s->layouts, LINK_HALO_NAME))
		link_halo_run(s);
}

void list_link(const struct session *s)
{
	layout_copy_list(s);
	if (bench_matches(s->layouts, LINK_HALO_NAME))
		printf("%s\n", LINK_HALO_NAME);
}
