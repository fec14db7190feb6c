/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of results and its JSON lines. The reader accepts only what result_write writes:
 * flat objects of strings and numbers.
 */
#include "config.h"

#include "bench/harness/result.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int results_add(struct results *rs, const struct result *result)
{
	if (rs->count == rs->room) {
		size_t room = rs->room ? 2 * rs->room : 64;
		struct result *larger = realloc(rs->list, room * sizeof(*larger));

		if (!larger)
			return -1;
		rs->list = larger;
		rs->room = room;
	}
	rs->list[rs->count++] = *result;
	return 0;
}

void results_free(struct results *rs)
{
	for (size_t i = 0; i < rs->count; i++)
		free(rs->list[i].expr);
	free(rs->list);
	memset(rs, 0, sizeof(*rs));
}

const struct result *results_find(const struct results *rs, const char *layout,
				  size_t bytes, const char *op, const char *engine)
{
	for (size_t i = 0; i < rs->count; i++) {
		const struct result *r = &rs->list[i];

		if (r->bytes == bytes && !strcmp(r->engine, engine) &&
		    !strcmp(r->op, op) && !strcmp(r->layout, layout))
			return r;
	}
	return NULL;
}

/* ---- writing ------------------------------------------------------------------------- */

void json_string(FILE *file, const char *text)
{
	putc('"', file);
	for (const char *c = text; *c; c++) {
		if (*c == '"' || *c == '\\')
			fprintf(file, "\\%c", *c);
		else if ((unsigned char)*c < 0x20)
			fprintf(file, "\\u%04x", *c);
		else
			putc(*c, file);
	}
	putc('"', file);
}

static void text_key(FILE *file, const char *key, const char *text)
{
	fprintf(file, "\"%s\":", key);
	json_string(file, text);
	putc(',', file);
}

void result_write(FILE *file, const struct result *r)
{
	putc('{', file);
	text_key(file, "layout", r->layout);
	text_key(file, "expr", r->expr ? r->expr : "");
	fprintf(file, "\"count\":%zu,", r->count);
	text_key(file, "op", r->op);
	text_key(file, "src", r->src[0] ? r->src : "host");
	text_key(file, "dst", r->dst[0] ? r->dst : "host");
	fprintf(file, "\"bytes\":%zu,", r->bytes);
	text_key(file, "engine", r->engine);
	fprintf(file, "\"ns\":%.1f,\"ns_p10\":%.1f,\"ns_p90\":%.1f,\"rounds\":%zu,",
		r->ns, r->ns_p10, r->ns_p90, r->rounds);
	if (r->clock[0])
		text_key(file, "clock", r->clock);
	if (r->backend[0])
		text_key(file, "backend", r->backend);
	if (r->kernel[0])
		text_key(file, "kernel", r->kernel);
	if (r->reason[0])
		text_key(file, "reason", r->reason);
	if (r->aim > 0)
		fprintf(file, "\"aim\":%.2f,", r->aim);
	if (r->fragment)
		fprintf(file, "\"fragment\":%zu,", r->fragment);
	if (r->planned)
		fputs("\"planned\":1,", file);
	if (r->held)
		fprintf(file, "\"held\":%zu,", r->held);
	fputs("\"check\":", file);
	json_string(file, r->check);
	fputs("}\n", file);
}

/* ---- reading ------------------------------------------------------------------------- */

/* Copy a JSON string that starts after its quote; returns what follows it, or NULL. */
static const char *read_string(const char *at, char *out, size_t room)
{
	size_t used = 0;

	while (*at && *at != '"') {
		unsigned code = (unsigned char)*at;

		if (*at == '\\' && at[1] == 'u') {
			if (sscanf(at + 2, "%4x", &code) != 1)
				return NULL;
			at += 5;
		} else if (*at == '\\') {
			code = (unsigned char)*++at;
		}
		if (!code)
			return NULL;
		if (used + 1 < room)
			out[used++] = (char)code;
		at++;
	}
	out[used] = '\0';
	return *at ? at + 1 : NULL;
}

/* Store the value of one key; unknown keys are skipped. */
static void take_text(struct result *r, const char *key, const char *value)
{
	if (!strcmp(key, "layout"))
		snprintf(r->layout, sizeof(r->layout), "%.*s", BENCH_NAME_ROOM - 1,
			 value);
	else if (!strcmp(key, "op"))
		snprintf(r->op, sizeof(r->op), "%.7s", value);
	else if (!strcmp(key, "engine"))
		snprintf(r->engine, sizeof(r->engine), "%.*s", ENGINE_NAME_ROOM - 1,
			 value);
	else if (!strcmp(key, "check"))
		snprintf(r->check, sizeof(r->check), "%.*s", ENGINE_PROBLEM_ROOM - 1,
			 value);
	else if (!strcmp(key, "clock"))
		snprintf(r->clock, sizeof(r->clock), "%.7s", value);
	else if (!strcmp(key, "backend"))
		snprintf(r->backend, sizeof(r->backend), "%.15s", value);
	else if (!strcmp(key, "kernel"))
		snprintf(r->kernel, sizeof(r->kernel), "%.119s", value);
	else if (!strcmp(key, "reason"))
		snprintf(r->reason, sizeof(r->reason), "%.119s", value);
	else if (!strcmp(key, "src"))
		snprintf(r->src, sizeof(r->src), "%.11s", value);
	else if (!strcmp(key, "dst"))
		snprintf(r->dst, sizeof(r->dst), "%.11s", value);
	else if (!strcmp(key, "expr") && !r->expr)
		r->expr = strdup(value);
}

static void take_number(struct result *r, const char *key, double value)
{
	if (!strcmp(key, "bytes"))
		r->bytes = (size_t)value;
	else if (!strcmp(key, "count"))
		r->count = (size_t)value;
	else if (!strcmp(key, "rounds"))
		r->rounds = (size_t)value;
	else if (!strcmp(key, "held"))
		r->held = (size_t)value;
	else if (!strcmp(key, "aim"))
		r->aim = value;
	else if (!strcmp(key, "fragment"))
		r->fragment = (size_t)value;
	else if (!strcmp(key, "planned"))
		r->planned = value > 0;
	else if (!strcmp(key, "ns"))
		r->ns = value;
	else if (!strcmp(key, "ns_p10"))
		r->ns_p10 = value;
	else if (!strcmp(key, "ns_p90"))
		r->ns_p90 = value;
}

/* One pair of a flat object; returns what follows it, or NULL if it is none. */
static const char *read_pair(struct result *r, const char *at, char *value, size_t room)
{
	char key[32];

	at = *at == '"' ? read_string(at + 1, key, sizeof(key)) : NULL;
	if (!at || *at != ':')
		return NULL;
	at++;
	if (*at == '"') {
		at = read_string(at + 1, value, room);
		if (at)
			take_text(r, key, value);
	} else {
		char *end;

		take_number(r, key, strtod(at, &end));
		at = end == at ? NULL : end;
	}
	return at;
}

/* Whether the line is a whole result. */
static bool read_line(struct result *r, const char *line, char *value, size_t room)
{
	const char *at = line;

	memset(r, 0, sizeof(*r));
	if (*at != '{')
		return false;
	do
		at = read_pair(r, at + 1, value, room);
	while (at && *at == ',');
	return at && *at == '}' && r->layout[0] && r->op[0] && r->engine[0] &&
	       r->check[0];
}

void results_read_head(const char *path, const char *key, char *value, size_t room)
{
	FILE *file = fopen(path, "r");
	char *line = NULL, begin[40];
	size_t line_room = 0;

	value[0] = '\0';
	snprintf(begin, sizeof(begin), "{\"%s\":\"", key);
	while (file && !value[0] && getline(&line, &line_room, file) > 0)
		if (!strncmp(line, begin, strlen(begin)) &&
		    !read_string(line + strlen(begin), value, room))
			value[0] = '\0';
	free(line);
	if (file)
		fclose(file);
}

int results_read(struct results *rs, const char *path, long *length)
{
	FILE *file = fopen(path, "r");
	char *line = NULL;
	size_t room = 0;
	ssize_t got;

	*length = 0;
	if (!file)
		return -1;
	while ((got = getline(&line, &room, file)) > 0 && line[got - 1] == '\n') {
		char *value = malloc((size_t)got + 1);
		struct result r = { 0 };

		if (value && read_line(&r, line, value, (size_t)got + 1) &&
		    !results_add(rs, &r))
			r.expr = NULL;
		free(r.expr);
		free(value);
		*length = ftell(file);
	}
	free(line);
	fclose(file);
	return 0;
}
