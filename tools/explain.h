/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the parts of `dtconv explain`: the question, and the planner's choice.
 */
#ifndef DTCONV_TOOLS_EXPLAIN_H
#define DTCONV_TOOLS_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>

#include <dtconv/dtconv.h>

/* What the options of a send and its pool say; 0: nothing. */
struct explain_options {
	size_t fragment, depth, pool;
};

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
	struct explain_options options;       /* of the flow */
	const char *no_devices;               /* why there are none, or NULL */
	bool has_devices; /* there are some, or what they would do is asked for and can be told */
};

/* What the flow does with a message, and where its numbers come from: default, tuned, attribute or pool. */
struct explain_flow {
	enum dtconv_path path;
	size_t runs;           /* ROW and IOV */
	const char *why;       /* STAGE */
	size_t fragment_bytes; /* at most */
	const char *fragment_from;
	size_t depth; /* most fragments in use at a time */
	const char *depth_from;
	size_t fragments; /* of this message */
};

/* The runs that a network is assumed to gather. */
#define EXPLAIN_MOST_RUNS 64

/* Ask the library; its status. */
int explain_plan_flow(const struct explain *explain, struct explain_flow *flow);

/* Print that as lines; the library's status. */
int explain_print_flow(const struct explain *explain);

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
