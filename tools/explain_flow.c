/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The flow's part of dtconv explain: whether a message has to be staged, the fragments that it is cut into, and how
 * many are in use at a time.
 */
#include "config.h"

#include "explain.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "bench/pipeline/exchange.h"

/* dtconv_send_params.fragment_bytes: cuts are aligned to so many bytes. */
#define CUT_UNIT 128

#define NUMBER(number)  #number
#define AS_TEXT(number) NUMBER(number)
#define MANY_RUNS       "the layout has more than " AS_TEXT(EXPLAIN_MOST_RUNS) " runs"

/* ---- the path ---------------------------------------------------------------------------- */

/* The runs do not depend on the address, which is never accessed. The convertor only counts a reference to the type. */
static int find_path(const struct explain *explain, struct explain_flow *flow)
{
	static char nowhere[64];
	const struct dtconv_convertor_params params = {
		.struct_size = sizeof(params), .user_memory = DTCONV_MEMORY_HOST
	};
	const struct dtconv_reach reach = { .struct_size = sizeof(reach),
					    .flags = DTCONV_REACH_HOST,
					    .max_iov = EXPLAIN_MOST_RUNS };
	struct dtconv_path_attr attr = { .struct_size = sizeof(attr) };
	struct dtconv_convertor *convertor;
	int status = dtconv_convertor_create_pack(
		(struct dtconv_type *)(uintptr_t)explain->type, explain->count, nowhere,
		&convertor);

	if (status)
		return status;
	status = dtconv_convertor_configure(convertor, &params);
	if (!status)
		status = dtconv_path(convertor, &reach, &attr);
	dtconv_convertor_destroy(convertor);
	flow->path = attr.path;
	flow->runs = attr.runs;
	/* The only reason that is left: host memory, unconverted bytes. */
	if (attr.path == DTCONV_PATH_STAGE)
		flow->why = MANY_RUNS;
	if (explain->user == DTCONV_MEMORY_MANAGED) {
		flow->path = DTCONV_PATH_STAGE;
		flow->runs = 0;
		flow->why = "managed memory migrates";
	}
	return status;
}

/* ---- the fragments ----------------------------------------------------------------------- */

/* A threshold, unless an attribute is given. */
static size_t choose(const struct explain *explain, const char *name, size_t attribute,
		     const char **from)
{
	struct dtconv_threshold threshold = { .struct_size = sizeof(threshold) };

	*from = "attribute";
	if (attribute)
		return attribute;
	for (size_t i = 0;
	     !dtconv_context_query_threshold(explain->context, i, NULL, &threshold); i++)
		if (!strcmp(threshold.name, name))
			break;
	*from = threshold.value == threshold.default_value ? "default" : "tuned";
	return (size_t)threshold.value;
}

static void cut(const struct explain *explain, struct explain_flow *flow)
{
	const struct explain_options *o = &explain->options;
	size_t bytes =
		choose(explain, "fragment_bytes", o->fragment, &flow->fragment_from);
	const char *from;
	const size_t pool = choose(explain, "fragment_bytes", o->pool, &from);

	if (explain->user == DTCONV_MEMORY_DEVICE && !o->fragment &&
	    explain->bytes > bytes && pool > bytes) {
		bytes = exchange_planned_for_device(bytes, explain->bytes);
		flow->fragment_from = "message";
	}
	if (bytes > pool) {
		bytes = pool;
		flow->fragment_from = "pool";
	}
	flow->fragment_bytes = bytes;
	if (explain->bytes > bytes && bytes > CUT_UNIT)
		flow->fragment_bytes -= bytes % CUT_UNIT;
	flow->fragments = explain->bytes / flow->fragment_bytes +
			  (explain->bytes % flow->fragment_bytes != 0);
	flow->depth = choose(explain, "fragment_depth", o->depth, &flow->depth_from);
}

int explain_plan_flow(const struct explain *explain, struct explain_flow *flow)
{
	*flow = (struct explain_flow){ .fragments = 0 };
	cut(explain, flow);
	return find_path(explain, flow);
}

/* ---- text -------------------------------------------------------------------------------- */

static void print_path(const struct explain *explain, const struct explain_flow *flow)
{
	const char *reaches = explain->user == DTCONV_MEMORY_DEVICE
				      ? "a network that reaches device memory"
				      : "a network that reaches the memory";

	switch (flow->path) {
	case DTCONV_PATH_ROW:
		printf("  one run: %s may send it as it is\n", reaches);
		break;
	case DTCONV_PATH_IOV:
		printf("  %zu runs of %zu bytes on average: %s and gathers\n"
		       "  so many may send them as they are\n",
		       flow->runs, explain->bytes / flow->runs, reaches);
		break;
	default:
		printf("  to be staged: %s\n", flow->why);
	}
}

static const char *words_of(const char *from, const char *threshold, const char *tuned,
			    const char *attribute)
{
	if (!strcmp(from, "default"))
		return threshold;
	if (!strcmp(from, "tuned"))
		return tuned;
	if (!strcmp(from, "message"))
		return "planned for its length, as its memory is a device's";
	return strcmp(from, "pool") != 0 ? attribute
					 : "the pool's fragments have no more";
}

int explain_print_flow(const struct explain *explain)
{
	struct explain_flow flow;
	int status = explain_plan_flow(explain, &flow);

	if (status)
		return status;
	puts("a message through fragments:");
	print_path(explain, &flow);
	printf("  %zu fragment%s of at most %zu bytes (%s)\n", flow.fragments,
	       flow.fragments == 1 ? "" : "s", flow.fragment_bytes,
	       words_of(flow.fragment_from, "default of fragment_bytes",
			"fragment_bytes of the tuning file", "--fragment"));
	printf("  at most %zu in use at a time (%s)\n", flow.depth,
	       words_of(flow.depth_from, "default of fragment_depth",
			"fragment_depth of the tuning file", "--depth"));
	return 0;
}
