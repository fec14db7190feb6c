/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtconv tune --json: measurements, decisions and the tuning file. dtconv-tune(1) documents the
 * keys.
 */
#include "config.h"

#include "tune.h"

#include <stdint.h>

#include "json.h"

static void write_direction(struct tool_json *json, const char *key,
			    const struct tune_measurements *m, size_t size,
			    enum tune_direction direction)
{
	const struct tune_samples *samples = &m->samples[size][direction];

	tool_json_open_object(json, key);
	tool_json_number(json, "through_caches_gbs",
			 tune_rate(samples->through, m, size));
	tool_json_number(json, "past_caches_gbs", tune_rate(samples->past, m, size));
	tool_json_close_object(json);
}

static void write_size(struct tool_json *json, const struct tune_measurements *m,
		       size_t size)
{
	const struct tune_gain gain = tune_compare(m, size);

	tool_json_open_object(json, NULL);
	tool_json_whole(json, "bytes", m->bytes[size]);
	write_direction(json, "pack", m, size, TUNE_PACK);
	write_direction(json, "unpack", m, size, TUNE_UNPACK);
	tool_json_number(json, "gain", gain.median);
	tool_json_number(json, "gain_low", gain.low);
	tool_json_number(json, "gain_high", gain.high);
	tool_json_string(json, "verdict", tune_verdict_name(gain.verdict));
	tool_json_close_object(json);
}

/* null: the default stays. */
static void write_decision(struct tool_json *json, struct tune_decision decision)
{
	if (decision.kind == TUNE_FROM)
		tool_json_whole(json, "stream_bytes", decision.bytes);
	else if (decision.kind == TUNE_NEVER)
		tool_json_whole(json, "stream_bytes", INT64_MAX);
	else
		tool_json_null(json, "stream_bytes");
}

static void write_contest(struct tool_json *json, const char *list, const char *name,
			  const struct tune_contest *contest)
{
	tool_json_open_array(json, list);
	for (size_t i = 0; i < contest->count; i++) {
		tool_json_open_object(json, NULL);
		tool_json_whole(json, name, contest->values[i]);
		for (size_t k = 0; k < TUNE_MESSAGES; k++)
			tool_json_number(json, k ? "ns_16m" : "ns_1m",
					 tune_median(contest->ns[i][k], contest->rounds));
		tool_json_number(json, "gain", tune_flow_gain(contest, i));
		tool_json_close_object(json);
	}
	tool_json_close_array(json);
}

/* null: the default stays. */
static void write_choice(struct tool_json *json, const char *name,
			 const struct tune_contest *contest, size_t chosen)
{
	if (chosen == contest->normal)
		tool_json_null(json, name);
	else
		tool_json_whole(json, name, contest->values[chosen]);
}

static void write_flow(struct tool_json *json, const struct tune_flow *flow)
{
	tool_json_open_object(json, "flow");
	tool_json_string(json, "where", flow->where);
	tool_json_whole(json, "rounds", flow->fragments.rounds);
	write_contest(json, "fragments", "fragment_bytes", &flow->fragments);
	write_contest(json, "depths", "fragment_depth", &flow->depths);
	tool_json_close_object(json);
	write_choice(json, "fragment_bytes", &flow->fragments, flow->fragment);
	write_choice(json, "fragment_depth", &flow->depths, flow->depth);
}

static void write_device(struct tool_json *json, const struct gpu_figures *figures)
{
	tool_json_open_object(json, NULL);
	tool_json_string(json, "name", figures->name);
	tool_json_string(json, "problem", figures->problem[0] ? figures->problem : NULL);
	if (!figures->problem[0]) {
		tool_json_number(json, "wake_ns", figures->wake_ns);
		tool_json_number(json, "launch_ns", figures->launch_ns);
		tool_json_number(json, "copy_ns", figures->copy_ns);
		tool_json_number(json, "rate", figures->rate);
		tool_json_number(json, "bus_rate", figures->bus_rate);
		tool_json_number(json, "pageable_rate", figures->pageable_rate);
		tool_json_number(json, "staged_rate", figures->staged_rate);
	}
	tool_json_close_object(json);
}

void tune_print_json(const struct tune_results *results, const char *path)
{
	const struct tune_devices *devices = &results->devices;
	struct tool_json json = { .out = stdout };

	tool_json_open_object(&json, NULL);
	tool_json_string(&json, "machine", results->machine);
	tool_json_whole(&json, "rounds", results->host.rounds);
	tool_json_open_array(&json, "sizes");
	for (size_t i = 0; i < TUNE_SIZES; i++)
		write_size(&json, &results->host, i);
	tool_json_close_array(&json);
	write_decision(&json, results->decision);
	write_flow(&json, &results->flow);
	tool_json_string(&json, "no_devices", devices->why[0] ? devices->why : NULL);
	tool_json_open_array(&json, "devices");
	for (size_t i = 0; i < devices->count; i++)
		write_device(&json, &devices->figures[i]);
	tool_json_close_array(&json);
	tool_json_string(&json, "written_to", path);
	tool_json_string(&json, "file", results->file);
	tool_json_close_object(&json);
}
