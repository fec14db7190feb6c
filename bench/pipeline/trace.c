/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fragments' events, and the file of them: the Trace Event Format, complete events on a track for each fragment of the
 * pool.
 */
#include "config.h"

#include "bench/pipeline/trace.h"

#include <stdlib.h>
#include <string.h>

#include "bench/harness/engine.h"
#include "bench/harness/result.h"

/* ---- taking down ------------------------------------------------------------------------- */

int trace_open(struct trace *t, size_t bytes, size_t fragment)
{
	*t = (struct trace){ .bytes = bytes, .fragment = fragment };
	t->packet_count = (bytes + fragment - 1) / fragment;
	t->packets = calloc(t->packet_count, sizeof(*t->packets));
	if (!t->packets)
		return -1;
	trace_clear(t);
	return 0;
}

void trace_close(struct trace *t)
{
	free(t->packets);
	*t = (struct trace){ .packets = NULL };
}

void trace_clear(struct trace *t)
{
	for (size_t i = 0; i < t->packet_count; i++)
		t->packets[i] = (struct trace_packet){ .trace = t };
	t->slot_count = 0;
}

struct trace_packet *trace_packet(struct trace *t, size_t offset)
{
	size_t index = offset / t->fragment;
	struct trace_packet *packet = &t->packets[index < t->packet_count ? index : 0];

	packet->offset = offset;
	return packet;
}

void trace_note(struct trace *t, enum trace_event event, size_t offset)
{
	trace_packet(t, offset)->ns[event] = bench_now();
}

void trace_note_fragment(struct trace *t, struct dtconv_fragment *fragment, size_t offset)
{
	struct trace_packet *packet = trace_packet(t, offset);
	unsigned slot = 0;

	while (slot < t->slot_count && t->slots[slot] != fragment)
		slot++;
	if (slot == t->slot_count && slot < TRACE_SLOTS)
		t->slots[t->slot_count++] = fragment;
	packet->fragment = fragment;
	packet->slot = slot;
}

/* The line of a copy begins with the function that it is for: "FUNCTION: copies BYTES bytes at offset OFFSET". */
static bool read_copy(const char *text, const char *function, size_t *bytes,
		      size_t *offset)
{
	const size_t length = strlen(function);

	return !strncmp(text, function, length) &&
	       sscanf(text + length, ": copies %zu bytes at offset %zu", bytes,
		      offset) == 2;
}

static void note_copy(struct trace *t, enum trace_event event, size_t bytes, size_t offset)
{
	if (!t->packets)
		return;
	trace_note(t, event, offset);
	trace_packet(t, offset)->bytes = bytes;
}

void trace_log(void *arg, enum dtconv_log_level level, const char *file, int line,
	       const char *text)
{
	struct trace *t = arg;
	size_t bytes, offset;

	(void)level, (void)file, (void)line;
	/* Other threads of the library log other lines: the trace is looked at for these only. */
	if (read_copy(text, "dtconv_send_start", &bytes, &offset))
		note_copy(t, TRACE_COPY, bytes, offset);
	else if (read_copy(text, "dtconv_recv_deliver", &bytes, &offset))
		note_copy(t, TRACE_UNPACK, bytes, offset);
}

static bool is_whole(const struct trace_packet *packet)
{
	for (int event = 0; event < TRACE_EVENTS; event++)
		if (packet->ns[event] <= (event ? packet->ns[event - 1] - 1 : 0))
			return false;
	return packet->fragment && packet->bytes;
}

/* The packet of the bytes from @offset on. */
static const struct trace_packet *at(const struct trace *t, size_t offset)
{
	return &t->packets[offset / t->fragment];
}

bool trace_is_whole(const struct trace *t)
{
	for (size_t offset = 0; offset < t->bytes; offset += at(t, offset)->bytes)
		if (!is_whole(at(t, offset)) || at(t, offset)->offset != offset)
			return false;
	return true;
}

/* ---- writing ----------------------------------------------------------------------------- */

/* What a fragment does between an event and the next one. */
static const char *const spans[TRACE_EVENTS - 1] = { [TRACE_COPY] = "copy in",
						     [TRACE_COPIED] = "ready",
						     [TRACE_SENT] = "network",
						     [TRACE_ARRIVED] = "arrived",
						     [TRACE_UNPACK] = "copy out" };

static void write_name(FILE *file, const char *what, unsigned process, unsigned slot,
		       const char *name)
{
	fprintf(file,
		"{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":",
		what, process, slot);
	json_string(file, name);
	fputs("}}", file);
}

static void write_packet(FILE *file, unsigned process, double start_ns,
			 const struct trace_packet *packet)
{
	for (int event = 0; event + 1 < TRACE_EVENTS; event++)
		fprintf(file,
			",\n{\"ph\":\"X\",\"name\":\"%s\",\"cat\":\"fragment\",\"pid\":%u,\"tid\":%u,"
			"\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"offset\":%zu,\"bytes\":%zu}}",
			spans[event], process, packet->slot,
			(packet->ns[event] - start_ns) / 1e3,
			(packet->ns[event + 1] - packet->ns[event]) / 1e3, packet->offset,
			packet->bytes);
}

void trace_write(const struct trace *t, FILE *file, unsigned number, const char *name,
		 double start_ns, bool is_first)
{
	if (!is_first)
		fputs(",\n", file);
	write_name(file, "process_name", number, 0, name);
	for (unsigned slot = 0; slot < t->slot_count; slot++) {
		char text[32];

		snprintf(text, sizeof(text), "fragment %u", slot);
		fputs(",\n", file);
		write_name(file, "thread_name", number, slot, text);
	}
	for (size_t offset = 0; offset < t->bytes; offset += at(t, offset)->bytes)
		write_packet(file, number, start_ns, at(t, offset));
}
