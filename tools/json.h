/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writing JSON, one member a line and indented. It adds commas and quotes; the caller gives
 * keys and values.
 */
#ifndef DTCONV_TOOLS_JSON_H
#define DTCONV_TOOLS_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Zero-initialise, then set out. */
struct tool_json {
	FILE *out;
	unsigned depth;
	bool has_member; /* the innermost object or array has one already */
};

/*
 * Every function writes one member: with its key in an object, with NULL for the key in an array and at
 * the top.
 */
void tool_json_open_object(struct tool_json *json, const char *key);
void tool_json_open_array(struct tool_json *json, const char *key);

/* End what was opened last; at the top a line ends as well. */
void tool_json_close_object(struct tool_json *json);
void tool_json_close_array(struct tool_json *json);

/* NULL becomes null. */
void tool_json_string(struct tool_json *json, const char *key, const char *value);
void tool_json_whole(struct tool_json *json, const char *key, uint64_t value);
void tool_json_number(struct tool_json *json, const char *key, double value);
void tool_json_bool(struct tool_json *json, const char *key, bool value);
void tool_json_null(struct tool_json *json, const char *key);

#endif
