/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which rows a run of the pipeline bench has: layouts, sizes and fragments on a device and on the host.
 */
#include "config.h"

#include "bench/pipeline/rows.h"

#include <stdio.h>
#include <string.h>

#include "bench/pipeline/lists.h"

static int make_contiguous(struct bench_build *b, const struct bench_layout *layout,
			   int variant, size_t target, struct bench_case *c)
{
	(void)layout, (void)variant;
	return build_once(b, c, build_contiguous(b, target, build_named(b, DTCONV_BYTE)),
			  1, target);
}

/* Blocks of 64 bytes at twice the stride. */
static int make_blocks(struct bench_build *b, const struct bench_layout *layout,
		       int variant, size_t target, struct bench_case *c)
{
	struct dtconv_type *element = build_named(b, DTCONV_DOUBLE);

	(void)layout, (void)variant;
	return build_once(b, c, build_vector(b, target / 64, 8, 16, element), 1,
			  2 * target);
}

static const struct bench_layout contig = { "contig", make_contiguous, 0, 0, 0, 0 };
static const struct bench_layout vec64 = { "vec64", make_blocks, 0, 0, 0, 0 };
static const struct bench_layout *const layouts[] = { &contig, &vec64 };

static const enum bench_size sizes[] = { BENCH_SIZE_64K, BENCH_SIZE_1M, BENCH_SIZE_16M,
					 BENCH_SIZE_64M, BENCH_SIZE_256M };
#define DEFAULT_SIZES ((unsigned)BENCH_SIZE_1M | BENCH_SIZE_16M | BENCH_SIZE_64M)

/* 0: as planned. */
static const size_t host_fragments[] = { 16 << 10, 64 << 10, 256 << 10, 1 << 20 };
static const size_t device_fragments[] = { 0, 64 << 10, 1 << 20 };

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))

struct list {
	const struct bench_options *options;
	struct pipeline_row *rows;
	size_t count;
};

static void add(struct list *list, const struct pipeline_row *row, const char *name)
{
	struct pipeline_row *added = &list->rows[list->count];

	if (list->count == PIPELINE_MOST_ROWS ||
	    !bench_matches(list->options->layouts, name) || row->fragment > row->bytes)
		return;
	*added = *row;
	snprintf(added->name, sizeof(added->name), "%s", name);
	list->count++;
}

static void add_messages(struct list *list, bool on_device, size_t bytes,
			 const size_t *fragments, size_t count)
{
	for (size_t i = 0; i < LENGTH(layouts); i++)
		for (size_t k = 0; k < count; k++)
			add(list,
			    &(struct pipeline_row){ .kind = CONTEST_MESSAGE,
						    .on_device = on_device,
						    .layout = layouts[i],
						    .bytes = bytes,
						    .fragment = fragments[k] },
			    layouts[i]->name);
}

/* The fragment has room for more. */
static void add_small(struct list *list, size_t bytes)
{
	for (size_t i = 0; i < LENGTH(layouts); i++)
		add(list,
		    &(struct pipeline_row){
			    .kind = CONTEST_SMALL, .layout = layouts[i], .bytes = bytes },
		    layouts[i]->name);
}

static void add_duplex(struct list *list, size_t bytes)
{
	for (size_t i = 0; i < LENGTH(layouts); i++)
		add(list,
		    &(struct pipeline_row){ .kind = CONTEST_DUPLEX,
					    .on_device = true,
					    .layout = layouts[i],
					    .bytes = bytes },
		    layouts[i]->name);
}

static void add_lists(struct list *list, const char *name, size_t block)
{
	add(list,
	    &(struct pipeline_row){ .kind = CONTEST_LISTS,
				    .on_device = true,
				    .block = block,
				    .bytes = LISTS_BLOCKS * block },
	    name);
}

/* Rows without a size of their own are left out where sizes are chosen. */
size_t pipeline_rows(const struct bench_options *options,
		     struct pipeline_row rows[PIPELINE_MOST_ROWS])
{
	struct list list = { .options = options, .rows = rows };
	const unsigned chosen = options->sizes ? options->sizes : DEFAULT_SIZES;

	for (size_t i = 0; i < LENGTH(sizes); i++)
		if (chosen & sizes[i])
			add_messages(&list, true, bench_size_bytes(sizes[i]),
				     device_fragments, LENGTH(device_fragments));
	for (size_t i = 0; i < LENGTH(sizes); i++)
		if (chosen & sizes[i])
			add_duplex(&list, bench_size_bytes(sizes[i]));
	if (!options->sizes) {
		add_lists(&list, "list4096x4K", 4096);
		add_lists(&list, "list4096x16", 16);
		add_small(&list, 1 << 10);
		add_small(&list, 16 << 10);
	}
	for (size_t i = 0; i < LENGTH(sizes); i++)
		if (chosen & sizes[i])
			add_messages(&list, false, bench_size_bytes(sizes[i]),
				     host_fragments, LENGTH(host_fragments));
	return list.count;
}
