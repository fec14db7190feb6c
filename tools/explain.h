/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the parts of `dtconv explain`: the question, and the planner's choice.
 */
#ifndef DTCONV_TOOLS_EXPLAIN_H
#define DTCONV_TOOLS_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>

#include <dtconv/dtconv.h>

/* A question to the planner, and what this machine can answer. */
struct explain {
	struct dtconv_context *context;
	const struct dtconv_type *type;
	size_t count;
	const struct dtconv_type *target; /* of a copy that is asked for, or NULL */
	size_t target_count;
	size_t bytes;      /* packed */
	const char *shape; /* of the layout, as dtconv_explain names it */
	enum dtconv_memory_kind user, packed; /* asked for; DTCONV_MEMORY_UNKNOWN: any */
	bool all;                             /* pairs are asked for */
	const char *no_devices;               /* why there are none, or NULL */
	bool has_devices; /* there are some, or what they would do is asked for and can be told */
};

/* What the planner chooses for a pair of memory kinds in one direction. */
struct explain_choice {
	const char *backend; /* NULL: none can move it */
	double ns;
	bool runs_here;
};

/* Ask the planner; the library's status. */
int explain_choose(const struct explain *explain, enum dtconv_memory_kind user,
		   enum dtconv_memory_kind packed, bool unpack,
		   struct explain_choice *choice);

/* The last memory kind that is printed; the first is DTCONV_MEMORY_HOST. */
enum dtconv_memory_kind explain_last_kind(const struct explain *explain);

/* Whether a pair is one of those that are asked for; without a question all are that can be told of. */
bool explain_is_asked(const struct explain *explain, enum dtconv_memory_kind user,
		      enum dtconv_memory_kind packed);

/* Print the choices of all pairs, a table for each direction; returns a status of the library. */
int explain_print_matrix(const struct explain *explain);

/* Print everything as one JSON object; returns a status of the library. */
int explain_print_json(const struct explain *explain);

/* Print how the layout would be copied to the target's; returns a status of the library. */
int explain_print_copies(const struct explain *explain);
int explain_print_copies_json(const struct explain *explain);

#endif
