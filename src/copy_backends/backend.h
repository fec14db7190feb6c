/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The copy-backend interface: a backend is handed a whole job, never single blocks. Each
 * vendor has one folder and one row in the registry.
 */
#ifndef DTC_BACKEND_H
#define DTC_BACKEND_H

#include <stdbool.h>

#include <dtconv/convertor.h>

#include "datatype/cursor.h"
#include "kernels/cpu.h"

/* Move the next @bytes bytes of the cursor's stream; the cursor stands behind them after. */
struct dtc_job {
	struct dtc_cursor *cursor;
	char *user; /* displacement 0 */
	enum dtconv_memory_kind user_kind;
	char *packed;
	enum dtconv_memory_kind packed_kind;
	uint64_t bytes;
	uint64_t move_bytes; /* of the whole move that the job may be a slice of */
	enum dtc_direction direction;
};

struct dtc_backend_ops {
	const char *name; /* stable, for logs and explanations */
	const char *what; /* one line: what it moves with */
	/* Whether it reaches memory of this kind. */
	bool (*reaches)(enum dtconv_memory_kind kind);
	/* Estimated nanoseconds for @bytes of @count instances; pure, no allocation. */
	double (*estimate)(const struct dtc_layout *layout, uint64_t count, uint64_t bytes);
	/* Start the job; may finish at once. 0 or a negative status. */
	int (*submit)(const struct dtc_job *job);
};

extern const struct dtc_backend_ops dtc_host_backend;

/* All backends of this build, in order of preference; ends with NULL. */
extern const struct dtc_backend_ops *const dtc_backends[];

#endif
