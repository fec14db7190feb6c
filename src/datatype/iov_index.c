/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts and finds iovec entries. An entry is found as a byte is, from the outermost loop
 * inwards; each operation says how many entries begin in it.
 */
#include "config.h"

#include "iov_index.h"

#include "base/base.h"
#include "base/checked.h"
#include "base/context.h"

/* One sample for so many entries of a table: memory for speed. */
#define SAMPLE_ENTRIES 64

static size_t samples_of(const struct dtc_table *table)
{
	return (size_t)((table->count + SAMPLE_ENTRIES - 1) / SAMPLE_ENTRIES);
}

static bool is_table(const struct dtc_op *op)
{
	return op->kind == DTC_OP_TABLE || op->kind == DTC_OP_TABLE_LOOP;
}

/* ---- spans --------------------------------------------------------------------------- */

/* Whether the last byte of a span touches the first byte of its next repetition. */
static bool repeats_touch(const struct dtc_iov_span *span, int64_t stride)
{
	return span->end == dtc_disp_plus(span->start, stride);
}

/* @count times a span, @stride bytes apart. */
static struct dtc_iov_span repeated(const struct dtc_iov_span *span, uint64_t count,
				    int64_t stride)
{
	uint64_t joints = repeats_touch(span, stride) ? count - 1 : 0;

	return (struct dtc_iov_span){
		.entries = span->entries * count - joints,
		.start = span->start,
		.end = dtc_disp_plus(span->end, dtc_disp_steps(count - 1, stride))
	};
}

static void displace(struct dtc_iov_span *span, int64_t disp)
{
	span->start = dtc_disp_plus(span->start, disp);
	span->end = dtc_disp_plus(span->end, disp);
}

/* A span behind others of the same iteration. */
static void append(struct dtc_iov_span *all, const struct dtc_iov_span *span)
{
	all->entries += span->entries - (all->end == span->start);
	all->end = span->end;
}

static struct dtc_iov_span span_of_body(const struct dtc_program *program,
					const struct dtc_iov_span spans[], uint32_t first,
					uint32_t end)
{
	struct dtc_iov_span all = spans[first];

	for (uint32_t i = first + program->ops[first].body + 1; i < end;
	     i += program->ops[i].body + 1)
		append(&all, &spans[i]);
	return all;
}

/* An entry of a table: a run, or iterations of @body. */
static struct dtc_iov_span span_of_entry(const struct dtc_op *op,
					 const struct dtc_table *table,
					 const struct dtc_iov_span *body, uint64_t entry)
{
	uint64_t units =
		dtc_table_prefix(table, entry + 1) - dtc_table_prefix(table, entry);
	struct dtc_iov_span span = { .entries = 1, .end = (int64_t)units };

	if (op->kind == DTC_OP_TABLE_LOOP)
		span = repeated(body, units, op->stride);
	displace(&span, dtc_table_disp(table, entry));
	return span;
}

static struct dtc_iov_span span_of_table(const struct dtc_op *op,
					 const struct dtc_table *table,
					 const struct dtc_iov_span *body,
					 uint64_t samples[])
{
	struct dtc_iov_span all = span_of_entry(op, table, body, 0);

	assert(samples && "a program with a table has samples");
	samples[0] = 0;
	for (uint64_t i = 1; i < table->count; i++) {
		struct dtc_iov_span span = span_of_entry(op, table, body, i);

		if (i % SAMPLE_ENTRIES == 0)
			samples[i / SAMPLE_ENTRIES] = all.entries;
		append(&all, &span);
	}
	return all;
}

/* Of an operation whose body has its spans already. */
static struct dtc_iov_span span_of_op(const struct dtc_program *program, uint32_t index,
				      const struct dtc_iov_span spans[],
				      uint64_t samples[], size_t first_sample)
{
	const struct dtc_op *op = &program->ops[index];
	struct dtc_iov_span body = { .entries = 1, .end = (int64_t)op->unit_bytes };

	if (dtc_op_is_loop(op))
		body = span_of_body(program, spans, index + 1, index + 1 + op->body);
	struct dtc_iov_span all =
		is_table(op) ? span_of_table(op, dtc_program_table(program, op), &body,
					     samples + first_sample)
			     : repeated(&body, op->count, op->stride);
	displace(&all, op->disp);
	all.samples = first_sample;
	return all;
}

/* ---- the index ----------------------------------------------------------------------- */

static size_t count_samples(const struct dtc_program *program)
{
	size_t samples = 0;

	for (uint32_t i = 0; i < program->op_count; i++)
		if (is_table(&program->ops[i]))
			samples +=
				samples_of(dtc_program_table(program, &program->ops[i]));
	return samples;
}

/* From back to front, because a body follows its loop. */
static void build(struct dtc_iov_index *index, const struct dtc_program *program,
		  struct dtc_iov_span spans[], uint64_t samples[])
{
	size_t used = 0;

	for (uint32_t i = program->op_count; i-- > 0;) {
		const struct dtc_op *op = &program->ops[i];

		spans[i] = span_of_op(program, i, spans, samples, used);
		if (is_table(op))
			used += samples_of(dtc_program_table(program, op));
	}
	*index = (struct dtc_iov_index){ .instance = span_of_body(program, spans, 0,
								  program->op_count),
					 .spans = spans,
					 .samples = samples };
}

static struct dtc_iov_index *create(const struct dtc_program *program, size_t samples)
{
	size_t spans_bytes = program->op_count * sizeof(struct dtc_iov_span);
	struct dtc_iov_index *index =
		dtc_alloc(program->context,
			  sizeof(*index) + spans_bytes + samples * sizeof(uint64_t));

	if (!index)
		return NULL;
	struct dtc_iov_span *spans = (struct dtc_iov_span *)(index + 1);
	build(index, program, spans, (uint64_t *)(spans + program->op_count));
	return index;
}

const struct dtc_iov_index *dtc_iov_index_of(struct dtc_layout *layout,
					     struct dtc_iov_index_room *room)
{
	const struct dtc_program *program = layout->program;
	struct dtc_iov_index *index =
		atomic_load_explicit(&layout->iov_index, memory_order_acquire);

	if (index)
		return index;
	size_t samples = count_samples(program);
	if (!samples && program->op_count <= DTC_IOV_INDEX_SMALL) {
		build(&room->index, program, room->spans, NULL);
		return &room->index;
	}
	struct dtc_iov_index *made = create(program, samples);
	/* Another thread may have been faster; its index is kept. */
	if (!made || atomic_compare_exchange_strong_explicit(&layout->iov_index, &index,
							     made, memory_order_acq_rel,
							     memory_order_acquire))
		return made;
	dtc_free(program->context, made);
	return index;
}

uint64_t dtc_iov_index_entries(const struct dtc_iov_index *index,
			       const struct dtc_layout *layout, uint64_t count)
{
	return repeated(&index->instance, count, layout->extent).entries;
}

/* ---- finding ------------------------------------------------------------------------- */

/*
 * The repetition of a span in which entry @n begins; @n becomes its number there. The first
 * entry of a repetition that touches the one before has begun there.
 */
static uint64_t find_repetition(const struct dtc_iov_span *span, int64_t stride,
				uint64_t *n)
{
	uint64_t touching = repeats_touch(span, stride);

	if (*n < span->entries)
		return 0;
	uint64_t rest = *n - span->entries, each = span->entries - touching;

	assert(each > 0 && "repetitions that touch are one entry");
	*n = rest % each + touching;
	return 1 + rest / each;
}

/* The operation of a body in which entry @n begins; @n becomes its number there. */
static uint32_t find_op(const struct dtc_iov_index *index,
			const struct dtc_program *program, uint32_t first, uint64_t *n)
{
	uint32_t at = first;

	while (*n >= index->spans[at].entries) {
		uint32_t next = at + program->ops[at].body + 1;

		*n -= index->spans[at].entries;
		*n += index->spans[at].end == index->spans[next].start;
		at = next;
	}
	return at;
}

/* The last sample of a table that is not above @n. */
static uint64_t find_sample(const uint64_t samples[], size_t count, uint64_t n)
{
	size_t low = 0;

	while (count > 1) {
		size_t half = count / 2;

		low += samples[low + half] <= n ? half : 0;
		count -= half;
	}
	return low;
}

/* The table's entry in which entry @n begins; @n becomes its number there. */
static uint64_t find_entry(const struct dtc_iov_index *index, const struct dtc_op *op,
			   const struct dtc_table *table, const struct dtc_iov_span *span,
			   const struct dtc_iov_span *body, uint64_t *n)
{
	const uint64_t *samples = index->samples + span->samples;
	uint64_t sample = find_sample(samples, samples_of(table), *n);
	uint64_t entry = sample * SAMPLE_ENTRIES;
	struct dtc_iov_span at = span_of_entry(op, table, body, entry);

	*n -= samples[sample];
	if (entry) {
		struct dtc_iov_span before = span_of_entry(op, table, body, entry - 1);

		*n += before.end == at.start;
	}
	while (*n >= at.entries) {
		struct dtc_iov_span next = span_of_entry(op, table, body, ++entry);

		*n -= at.entries;
		*n += at.end == next.start;
		at = next;
	}
	return entry;
}

/* The unit of an operation (run or iteration) in which entry @n begins. */
static uint64_t find_unit(const struct dtc_iov_index *index,
			  const struct dtc_program *program, uint32_t at, uint64_t *n)
{
	const struct dtc_op *op = &program->ops[at];
	struct dtc_iov_span body = { .entries = 1, .end = (int64_t)op->unit_bytes };

	if (dtc_op_is_loop(op))
		body = span_of_body(program, index->spans, at + 1, at + 1 + op->body);
	if (!is_table(op))
		return find_repetition(&body, op->stride, n);
	const struct dtc_table *table = dtc_program_table(program, op);
	uint64_t entry = find_entry(index, op, table, &index->spans[at], &body, n);
	uint64_t unit = dtc_table_prefix(table, entry);

	return op->kind == DTC_OP_TABLE ? unit
					: unit + find_repetition(&body, op->stride, n);
}

uint64_t dtc_iov_index_find(const struct dtc_iov_index *index,
			    const struct dtc_layout *layout, uint64_t n)
{
	const struct dtc_program *program = layout->program;
	uint64_t position =
		layout->size * find_repetition(&index->instance, layout->extent, &n);
	uint32_t at = 0;

	for (;;) {
		at = find_op(index, program, at, &n);
		const struct dtc_op *op = &program->ops[at];
		uint64_t unit = find_unit(index, program, at, &n);

		position += op->bytes_before +
			    (op->kind == DTC_OP_TABLE ? unit : unit * op->unit_bytes);
		if (!dtc_op_is_loop(op))
			return position;
		at++;
	}
}
