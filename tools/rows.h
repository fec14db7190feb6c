/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rows and planes that the description of a type implies: the sizes of an array, or
 * the strides between blocks.
 */
#ifndef DTCONV_TOOLS_ROWS_H
#define DTCONV_TOOLS_ROWS_H

#include <stddef.h>

#include <dtconv/dtconv.h>

/* A row, a plane, and what planes make up: four-dimensional arrays and more. */
#define ROWS_MAX_LEVELS 6

struct rows {
	/* bytes from a row to the next, from a plane to the next, ...: ascending */
	size_t strides[ROWS_MAX_LEVELS];
	size_t levels;        /* 0: the description implies no rows */
	ptrdiff_t origin;     /* a displacement at which a row and a plane begin */
	size_t element_bytes; /* of every basic element; 0 if their sizes differ */
};

/* Find the rows of a type. Returns 0 or a negative enum dtconv_status. */
int rows_find(const struct dtconv_type *type, struct rows *rows);

#endif
