/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtconv explain --json: the planner's ratings of all pairs of memory kinds that are asked for.
 * dtconv-explain(1) documents the keys.
 */
#include "config.h"

#include "explain.h"

#include <string.h>

#include "json.h"
#include "tools.h"

static int write_choice(struct tool_json *json, const struct explain *explain,
			enum dtconv_memory_kind user, enum dtconv_memory_kind packed,
			bool unpack)
{
	const char *key = unpack ? "unpack" : "pack";
	struct explain_choice choice;
	int status = explain_choose(explain, user, packed, unpack, &choice);

	if (status)
		return status;
	if (!choice.backend) {
		tool_json_null(json, key);
		return 0;
	}
	tool_json_open_object(json, key);
	tool_json_string(json, "backend", choice.backend);
	tool_json_number(json, "ns", choice.ns);
	tool_json_bool(json, "runs_here", choice.runs_here);
	tool_json_close_object(json);
	return 0;
}

static void write_text(struct tool_json *json, const char *key, const char *text)
{
	tool_json_string(json, key, *text ? text : NULL);
}

static void write_candidate(struct tool_json *json, const char *backend,
			    const struct dtconv_explanation *e)
{
	tool_json_open_object(json, NULL);
	tool_json_string(json, "backend", backend);
	tool_json_string(json, "what", e->what);
	tool_json_string(json, "refused", e->refused);
	if (!e->refused) {
		tool_json_string(json, "missing", e->missing);
		tool_json_number(json, "pack_ns", e->pack_ns);
		tool_json_number(json, "unpack_ns", e->unpack_ns);
		write_text(json, "pack_method", e->pack_method);
		write_text(json, "unpack_method", e->unpack_method);
		tool_json_bool(json, "chosen_to_pack", e->chosen_to_pack);
		tool_json_bool(json, "chosen_to_unpack", e->chosen_to_unpack);
	}
	tool_json_close_object(json);
}

static int write_candidates(struct tool_json *json, const struct explain *explain,
			    enum dtconv_memory_kind user, enum dtconv_memory_kind packed)
{
	struct dtconv_explanation e = { .struct_size = sizeof(e) };
	const char *backend;
	int status = 0;

	tool_json_open_array(json, "candidates");
	for (size_t i = 0; !status && (backend = dtconv_backend_name(i)); i++) {
		status = dtconv_explain_backend(explain->type, explain->count, user,
						packed, backend, &e);
		if (!status)
			write_candidate(json, backend, &e);
	}
	tool_json_close_array(json);
	return status;
}

static int write_pair(struct tool_json *json, const struct explain *explain,
		      enum dtconv_memory_kind user, enum dtconv_memory_kind packed)
{
	tool_json_open_object(json, NULL);
	tool_json_string(json, "user", dtconv_memory_kind_name(user));
	tool_json_string(json, "packed", dtconv_memory_kind_name(packed));
	int status = write_choice(json, explain, user, packed, false);
	if (!status)
		status = write_choice(json, explain, user, packed, true);
	if (!status)
		status = write_candidates(json, explain, user, packed);
	tool_json_close_object(json);
	return status;
}

static int write_pairs(struct tool_json *json, const struct explain *explain)
{
	int status = 0;

	tool_json_open_array(json, "pairs");
	for (int user = DTCONV_MEMORY_HOST; user <= DTCONV_MEMORY_DEVICE; user++)
		for (int packed = DTCONV_MEMORY_HOST;
		     packed <= DTCONV_MEMORY_DEVICE && !status; packed++)
			if (explain_is_asked(explain, (enum dtconv_memory_kind)user,
					     (enum dtconv_memory_kind)packed))
				status = write_pair(json, explain,
						    (enum dtconv_memory_kind)user,
						    (enum dtconv_memory_kind)packed);
	tool_json_close_array(json);
	return status;
}

static int write_flow(struct tool_json *json, const struct explain *explain)
{
	struct explain_flow flow;
	int status = explain_plan_flow(explain, &flow);

	if (status)
		return status;
	tool_json_open_object(json, "flow");
	tool_json_string(json, "path", dtconv_path_name(flow.path));
	tool_json_string(json, "why_staged", flow.why);
	if (flow.runs)
		tool_json_whole(json, "runs", flow.runs);
	else
		tool_json_null(json, "runs");
	tool_json_whole(json, "fragment_bytes", flow.fragment_bytes);
	tool_json_string(json, "fragment_bytes_from", flow.fragment_from);
	tool_json_whole(json, "fragments", flow.fragments);
	tool_json_whole(json, "fragment_depth", flow.depth);
	tool_json_string(json, "fragment_depth_from", flow.depth_from);
	tool_json_close_object(json);
	return 0;
}

static void write_representations(struct tool_json *json, const struct explain *explain)
{
	struct dtconv_representation representation;
	const char *name;
	size_t bytes;

	tool_json_open_object(json, "representations");
	for (size_t i = 1; (name = dtconv_representation_name(i)); i++)
		if (!dtconv_representation_find(name, &representation) &&
		    !dtconv_packed_size(explain->type, explain->count, &representation,
					&bytes))
			tool_json_whole(json, name, bytes);
	tool_json_close_object(json);
}

static void write_operations(struct tool_json *json, const struct dtconv_type *type)
{
	tool_json_open_array(json, "operations");
	for (int op = 0; op < DTCONV_OP_COUNT; op++)
		if (!dtconv_op_check((enum dtconv_op)op, type))
			tool_json_string(json, NULL, dtconv_op_name((enum dtconv_op)op));
	tool_json_close_array(json);
}

int explain_print_json(const struct explain *explain)
{
	struct tool_json json = { .out = stdout };

	tool_json_open_object(&json, NULL);
	tool_json_whole(&json, "count", explain->count);
	tool_json_whole(&json, "bytes", explain->bytes);
	tool_json_string(&json, "shape", explain->shape);
	tool_json_string(&json, "no_devices", explain->no_devices);
	int status = write_pairs(&json, explain);
	if (!status)
		status = write_flow(&json, explain);
	write_representations(&json, explain);
	write_operations(&json, explain->type);
	tool_json_close_object(&json);
	return status;
}
