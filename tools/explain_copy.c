/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtconv explain --target: how a copy from one layout to another would be done, for each pair of memory kinds that is
 * asked for, as text or as JSON.
 */
#include "config.h"

#include "explain.h"

#include <stdlib.h>

#include "json.h"
#include "tools.h"

/* Calls @print for each pair that is asked for, until one fails. */
static int for_each_pair(const struct explain *explain,
			 int (*print)(const struct explain *explain,
				      enum dtconv_memory_kind source,
				      enum dtconv_memory_kind target, void *arg),
			 void *arg)
{
	int status = 0;

	for (int pair = 0; pair < DTCONV_MEMORY_DEVICE * DTCONV_MEMORY_DEVICE; pair++) {
		const enum dtconv_memory_kind source = (enum dtconv_memory_kind)(
			DTCONV_MEMORY_HOST + pair / DTCONV_MEMORY_DEVICE);
		const enum dtconv_memory_kind target = (enum dtconv_memory_kind)(
			DTCONV_MEMORY_HOST + pair % DTCONV_MEMORY_DEVICE);

		if (!status && explain_is_asked(explain, source, target))
			status = print(explain, source, target, arg);
	}
	return status;
}

/* ---- text -------------------------------------------------------------------------- */

static int print_copy(const struct explain *explain, enum dtconv_memory_kind source,
		      enum dtconv_memory_kind target, void *arg)
{
	size_t length = 0;

	(void)arg;
	/* With capacity 0 the call returns the length. */
	int status = dtconv_explain_copy(explain->type, explain->count, source,
					 explain->target, explain->target_count, target,
					 NULL, 0, &length);
	if (status != DTCONV_ERR_TRUNCATE)
		return status;
	char *text = malloc(length + 1);
	if (!text)
		return DTCONV_ERR_NOMEM;
	status = dtconv_explain_copy(explain->type, explain->count, source,
				     explain->target, explain->target_count, target, text,
				     length + 1, &length);
	if (!status)
		tool_print_indented(stdout, text, "");
	free(text);
	return status;
}

int explain_print_copies(const struct explain *explain)
{
	return for_each_pair(explain, print_copy, NULL);
}

/* ---- JSON -------------------------------------------------------------------------- */

static const char *const ways[] = {
	[DTCONV_COPY_NOTHING] = "nothing", [DTCONV_COPY_PACK] = "pack",
	[DTCONV_COPY_UNPACK] = "unpack",   [DTCONV_COPY_LAUNCH] = "launch",
	[DTCONV_COPY_SCRATCH] = "scratch", [DTCONV_COPY_BUFFER] = "buffer",
};

static void write_step(struct tool_json *json, const char *key, const char *backend,
		       double ns)
{
	if (!backend) {
		tool_json_null(json, key);
		return;
	}
	tool_json_open_object(json, key);
	tool_json_string(json, "backend", backend);
	tool_json_number(json, "ns", ns);
	tool_json_close_object(json);
}

static int write_copy(const struct explain *explain, enum dtconv_memory_kind source,
		      enum dtconv_memory_kind target, void *arg)
{
	struct dtconv_copy_explanation e = { .struct_size = sizeof(e) };
	struct tool_json *json = arg;
	int status = dtconv_explain_copy_way(explain->type, explain->count, source,
					     explain->target, explain->target_count,
					     target, &e);

	if (status)
		return status;
	tool_json_open_object(json, NULL);
	tool_json_string(json, "source", dtconv_memory_kind_name(source));
	tool_json_string(json, "target", dtconv_memory_kind_name(target));
	tool_json_string(json, "way", ways[e.way]);
	tool_json_whole(json, "bytes", e.bytes);
	tool_json_number(json, "ns", e.ns);
	tool_json_string(json, "kernel", e.kernel);
	tool_json_bool(json, "shares_launch", e.shares_launch);
	tool_json_string(json, "reason", e.reason);
	write_step(json, "pack", e.pack_backend, e.pack_ns);
	write_step(json, "unpack", e.unpack_backend, e.unpack_ns);
	tool_json_string(json, "missing", e.missing);
	tool_json_close_object(json);
	return 0;
}

int explain_print_copies_json(const struct explain *explain)
{
	struct tool_json json = { .out = stdout };

	tool_json_open_object(&json, NULL);
	tool_json_whole(&json, "count", explain->count);
	tool_json_whole(&json, "target_count", explain->target_count);
	tool_json_string(&json, "no_devices", explain->no_devices);
	tool_json_open_array(&json, "copies");
	int status = for_each_pair(explain, write_copy, &json);
	tool_json_close_array(&json);
	tool_json_close_object(&json);
	return status;
}
