/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The layout: what a committed type is to the layers above. One instance is the byte program;
 * several are found without allocation as a single operation over it.
 */
#ifndef DTC_LAYOUT_H
#define DTC_LAYOUT_H

#include "datatype/program.h"

struct dtconv_type;
struct dtc_mover;

/* The shapes that kernels know, from the easiest to the most general. */
enum dtc_shape {
	DTC_SHAPE_EMPTY,
	DTC_SHAPE_CONTIGUOUS,  /* one run */
	DTC_SHAPE_STRIDED,     /* equal runs in nested loops of at most DTC_STRIDED_DIMS levels */
	DTC_SHAPE_TRANSPOSING, /* the same, but an outer loop has the smaller stride */
	DTC_SHAPE_PERIODIC,    /* a short list of runs, again and again */
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

/* What a device keeps of a layout: hung in by a copy backend, released with the layout. */
struct dtc_layout_image {
	struct dtc_layout_image *next;
	void (*release)(struct dtc_layout_image *image);
};

struct dtc_layout {
	struct dtc_program *program; /* of one instance */
	int64_t extent;
	uint64_t size; /* packed bytes of one instance */
	bool dense;    /* any number of instances is one run */
	/* How whole instances move without a cursor, or NULL: the host backend's, made at commit. */
	struct dtc_mover *mover;
	/* Devices' copies; added, never taken away, while the layout lives. */
	struct dtc_layout_image *_Atomic images;
	_Atomic bool warned; /* that it moves slowly, which is said once */
};

/* A layout for @program, whose reference it takes, also on failure (NULL). */
struct dtc_layout *dtc_layout_create(struct dtc_program *program, int64_t extent);
void dtc_layout_destroy(struct dtc_layout *layout);

/*
 * The operation that is @count instances: a run or strip of its own where they merge, else a
 * loop whose body is the whole program. @count and the size must not be 0.
 */
struct dtc_op dtc_layout_root(const struct dtc_layout *layout, uint64_t count);

/* The part that the top-level operation @op is. */
struct dtc_part dtc_layout_part(const struct dtc_layout *layout, uint32_t op);

/* Runs of one instance as the program counts them, or UINT64_MAX if there are more. */
uint64_t dtc_layout_runs(const struct dtc_layout *layout);

/* The same, each strip counted as one. */
uint64_t dtc_layout_strips(const struct dtc_layout *layout);

/* The shape of @count instances as a whole. */
enum dtc_shape dtc_layout_shape(const struct dtc_layout *layout, uint64_t count);

const char *dtc_shape_name(enum dtc_shape shape);

#endif
