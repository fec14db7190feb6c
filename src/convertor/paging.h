/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One call's part of the stream of a list of pages, or of two that share a stream, for the host's way and for the
 * device's.
 */
#ifndef DTC_PAGING_H
#define DTC_PAGING_H

#include <dtconv/pages.h>

#include "kernels/cpu/kernels.h"

/* What sentences call a list and its memory. */
struct dtc_paging_names {
	const char *list, *table, *pool, *fault;
};

/* A list without defaults, whose contiguous rows are one, and one call's part of its stream. */
struct dtc_paging {
	struct dtconv_context *context;
	const char *caller;
	const struct dtc_paging_names *names;
	struct dtconv_pages pages;
	size_t span;  /* what the rows of a page reach over */
	size_t total; /* length of the whole stream */
	char *pool;
	char *packed; /* the byte at @position */
	const struct dtc_paging *
		to; /* the list is copied to these pages, whose part is the same; or NULL */
	size_t position, bytes;
	enum dtc_direction direction;
	enum dtc_stream stream;
	bool prefetch;
};

/* pages.c */

/* Read and check a list and measure its stream. */
int dtc_paging_prepare(struct dtconv_context *context, const char *caller,
		       const struct dtc_paging_names *names,
		       const struct dtconv_pages *given, struct dtc_paging *paging);

/* Whether table and pool are ordinary host memory, so that no driver is queried. */
bool dtc_paging_is_plain(const struct dtc_paging *paging);

/* Entry @i of a table that the host can read. Negative numbers are large ones without a sign. */
uint64_t dtc_paging_number(const struct dtconv_pages *pages, size_t i);

/* The entries [*first, *end) of the table that the part of the stream needs. */
void dtc_paging_entries(const struct dtc_paging *paging, size_t *first, size_t *end);

/* Fail with INVAL if one of them is out of range. The host can read the table. */
int dtc_paging_check_table(const struct dtc_paging *paging);

/* The same for the first of these entries alone. */
int dtc_paging_check_first(const struct dtc_paging *paging);

/* Fail with INVAL for the entry @i, whose number is @number. */
int dtc_paging_refuse_number(const struct dtc_paging *paging, size_t i, int64_t number);

/* The number at which the part of the stream begins. The host can read the table. */
uint64_t dtc_paging_first_number(const struct dtc_paging *paging);

/* pages_host.c */

/* Where the part of the stream begins: page @number of that layer's part. */
char *dtc_paging_page(const struct dtc_paging *paging, uint64_t number);

/* Move by the host, which can read and write all of the memory, after the tables have been checked. */
int dtc_paging_move_on_host(struct dtc_paging *paging);

/* The list whose flags, stream and hint order the call. */
static inline const struct dtconv_pages *dtc_paging_order(const struct dtc_paging *paging)
{
	return paging->to ? &paging->to->pages : &paging->pages;
}

/* pages_device.c */

/* Move in memory of any kinds, which are looked for. */
int dtc_paging_move_anywhere(struct dtc_paging *paging);

#endif
