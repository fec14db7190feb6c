/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The layout: a committed type as the layers above see it. The byte program describes one
 * instance. Several instances are a single operation over that program, found without
 * allocation.
 */
#ifndef DTC_LAYOUT_H
#define DTC_LAYOUT_H

#include "datatype/program.h"

struct dtconv_type;
struct dtc_iov_index;
struct dtc_mover;

/* The shapes that kernels distinguish, from the simplest to the most general. */
enum dtc_shape {
	DTC_SHAPE_EMPTY,
	DTC_SHAPE_CONTIGUOUS, /* one run */
	DTC_SHAPE_STRIDED, /* equal runs in nested loops of at most DTC_STRIDED_DIMS levels */
	DTC_SHAPE_TRANSPOSING, /* the same, but an outer loop has the smaller stride */
	DTC_SHAPE_PERIODIC,    /* a short list of runs, repeated */
	DTC_SHAPE_INDEXED,     /* a table of runs */
	DTC_SHAPE_GENERAL      /* anything else */
};

#define DTC_STRIDED_DIMS 6

/* A top-level operation of the program with its shape. */
struct dtc_part {
	enum dtc_shape shape;
	uint32_t op;
	int64_t disp;
	uint64_t packed_offset;
	uint64_t bytes;
};

/* A device's copy of a layout. A copy backend attaches it; it is released with the layout. */
struct dtc_layout_image {
	struct dtc_layout_image *next;
	void (*release)(struct dtc_layout_image *image);
};

struct dtc_layout {
	struct dtc_program *program; /* of one instance */
	int64_t extent;
	uint64_t size; /* packed bytes of one instance */
	bool dense;    /* several instances are one run, too */
	/*
	 * Moves whole instances without a cursor. The host backend creates it at commit; may be
	 * NULL.
	 */
	struct dtc_mover *mover;
	/* Copies on devices. They are only added while the layout exists. */
	struct dtc_layout_image *_Atomic images;
	/* Made by the first call that asks for it. */
	struct dtc_iov_index *_Atomic iov_index;
	_Atomic bool warned; /* the warning about a slow move has been logged */
};

/* Create the layout of @program, whose reference it consumes, even on failure (NULL). */
struct dtc_layout *dtc_layout_create(struct dtc_program *program, int64_t extent);
void dtc_layout_destroy(struct dtc_layout *layout);

/*
 * The same for a layout in memory of the caller's, who keeps the reference to @program. Opening
 * fails with NOMEM; then there is nothing to close.
 */
int dtc_layout_open(struct dtc_layout *layout, struct dtc_program *program,
		    int64_t extent);
void dtc_layout_close(struct dtc_layout *layout);

/*
 * The operation that stands for @count instances: a run or strip if they merge, otherwise a
 * loop whose body is the whole program. @count and the size must not be 0.
 */
struct dtc_op dtc_layout_root(const struct dtc_layout *layout, uint64_t count);

/* The part for the top-level operation @op. */
struct dtc_part dtc_layout_part(const struct dtc_layout *layout, uint32_t op);

/* The number of runs of one instance in the program, UINT64_MAX if there are more. */
uint64_t dtc_layout_runs(const struct dtc_layout *layout);

/* The same, but each strip counts as one run. */
uint64_t dtc_layout_strips(const struct dtc_layout *layout);

/* The shape of @count instances as a whole. */
enum dtc_shape dtc_layout_shape(const struct dtc_layout *layout, uint64_t count);

const char *dtc_shape_name(enum dtc_shape shape);

#endif
