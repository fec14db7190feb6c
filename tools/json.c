/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writing JSON: where commas, line ends and indentation go.
 */
#include "config.h"

#include "json.h"

#include <inttypes.h>
#include <math.h>

#include "tools.h"

static void start_line(const struct tool_json *json)
{
	fputc('\n', json->out);
	for (unsigned i = 0; i < json->depth; i++)
		fputc('\t', json->out);
}

static void start_member(struct tool_json *json, const char *key)
{
	if (json->has_member)
		fputc(',', json->out);
	if (json->depth > 0)
		start_line(json);
	json->has_member = true;
	if (!key)
		return;
	tool_print_json(json->out, key);
	fputs(": ", json->out);
}

static void open_group(struct tool_json *json, const char *key, char bracket)
{
	start_member(json, key);
	fputc(bracket, json->out);
	json->depth++;
	json->has_member = false;
}

static void close_group(struct tool_json *json, char bracket)
{
	json->depth--;
	if (json->has_member)
		start_line(json);
	fputc(bracket, json->out);
	json->has_member = true;
	if (json->depth == 0)
		fputc('\n', json->out);
}

void tool_json_open_object(struct tool_json *json, const char *key)
{
	open_group(json, key, '{');
}

void tool_json_open_array(struct tool_json *json, const char *key)
{
	open_group(json, key, '[');
}

void tool_json_close_object(struct tool_json *json)
{
	close_group(json, '}');
}

void tool_json_close_array(struct tool_json *json)
{
	close_group(json, ']');
}

void tool_json_string(struct tool_json *json, const char *key, const char *value)
{
	start_member(json, key);
	if (value)
		tool_print_json(json->out, value);
	else
		fputs("null", json->out);
}

void tool_json_whole(struct tool_json *json, const char *key, uint64_t value)
{
	start_member(json, key);
	fprintf(json->out, "%" PRIu64, value);
}

/* JSON has no infinities and NaNs. */
void tool_json_number(struct tool_json *json, const char *key, double value)
{
	start_member(json, key);
	if (isfinite(value))
		fprintf(json->out, "%.6g", value);
	else
		fputs("null", json->out);
}

void tool_json_bool(struct tool_json *json, const char *key, bool value)
{
	start_member(json, key);
	fputs(value ? "true" : "false", json->out);
}

void tool_json_null(struct tool_json *json, const char *key)
{
	tool_json_string(json, key, NULL);
}
