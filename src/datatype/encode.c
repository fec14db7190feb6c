/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Encodes a type: children precede parents, and each type occurs once however often it is used,
 * so the stream is as long as the description. Determines the order of records; wire.h defines
 * a record.
 */
#include "config.h"

#include "wire.h"

#include <stdbool.h>
#include <string.h>

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "base/vec.h"
#include "predefined.h"
#include "type.h"

/*
 * A type and its number, in a hash table with open addressing. A slot without a type is free.
 */
struct numbered {
	const struct dtconv_type *type;
	size_t number;
};

/* A type whose children are being numbered. */
struct frame {
	const struct dtconv_type *type;
	size_t next; /* child */
};

struct encoder {
	struct dtconv_context *context;
	struct dtc_vec frames;
	struct dtc_vec order; /* types by number */
	struct numbered *slots;
	size_t slot_count; /* a power of two, at least twice the types, or 0 */
	size_t predefined_count;
	/*
	 * Indexed by number: whether a predefined type is used, and the number of used ones
	 * before it.
	 */
	bool used[DTC_WIRE_PREDEFINED_END];
	size_t predefined_index[DTC_WIRE_PREDEFINED_END];
};

static int fail_memory(const struct encoder *encoder)
{
	return DTC_FAIL(
		encoder->context, DTCONV_ERR_NOMEM,
		"dtconv_type_serialise: cannot allocate a table of more than %zu types",
		encoder->order.count);
}

/* ---- numbers ------------------------------------------------------------------------- */

/* The slot of a type, or the free slot to insert it in. There always is a free slot. */
static struct numbered *find_slot(const struct encoder *encoder,
				  const struct dtconv_type *type)
{
	/*
	 * The multiplication spreads the address's entropy to the high bits, which the shift
	 * selects.
	 */
	uint64_t hash = (uint64_t)(uintptr_t)type * UINT64_C(0x9e3779b97f4a7c15) >> 32;
	size_t i = (size_t)hash & (encoder->slot_count - 1);

	while (encoder->slots[i].type && encoder->slots[i].type != type)
		i = (i + 1) & (encoder->slot_count - 1);
	return &encoder->slots[i];
}

static const struct dtconv_type *type_at(const struct encoder *encoder, size_t number)
{
	return ((const struct dtconv_type *const *)encoder->order.items)[number];
}

static int grow_slots(struct encoder *encoder)
{
	size_t slot_count = encoder->slot_count ? 2 * encoder->slot_count : 32;
	/* Cannot overflow, because the numbered types take more memory than this. */
	struct numbered *slots =
		dtc_alloc_zeroed(encoder->context, slot_count * sizeof(*slots));

	if (!slots)
		return fail_memory(encoder);
	dtc_free(encoder->context, encoder->slots);
	encoder->slots = slots;
	encoder->slot_count = slot_count;
	for (size_t number = 0; number < encoder->order.count; number++) {
		const struct dtconv_type *type = type_at(encoder, number);

		*find_slot(encoder, type) = (struct numbered){ type, number };
	}
	return 0;
}

static bool is_numbered(const struct encoder *encoder, const struct dtconv_type *type)
{
	return encoder->slot_count && find_slot(encoder, type)->type;
}

/* Give the next number to @type. */
static int number(struct encoder *encoder, const struct dtconv_type *type)
{
	int status = 0;

	if (encoder->slot_count <= 2 * encoder->order.count)
		status = grow_slots(encoder);
	if (status)
		return status;
	*find_slot(encoder, type) = (struct numbered){ type, encoder->order.count };
	if (!dtc_vec_push(encoder->context, &encoder->order, &type))
		return fail_memory(encoder);
	return 0;
}

/* Push a type, unless it has a number. */
static int visit(struct encoder *encoder, const struct dtconv_type *type)
{
	struct frame frame = { .type = type };

	if (type->combiner == DTCONV_COMBINER_NAMED) {
		encoder->used[dtc_wire_predefined(type->predefined)] = true;
		return 0;
	}
	if (is_numbered(encoder, type))
		return 0;
	if (!dtc_vec_push(encoder->context, &encoder->frames, &frame))
		return fail_memory(encoder);
	return 0;
}

/* Number all types that @root consists of, children first, in the order of use. */
static int number_all(struct encoder *encoder, const struct dtconv_type *root)
{
	int status = visit(encoder, root);

	while (!status && encoder->frames.count) {
		struct frame *frames = encoder->frames.items;
		struct frame *top = &frames[encoder->frames.count - 1];

		if (top->next < top->type->type_count) {
			status = visit(encoder, top->type->types[top->next++]);
			continue;
		}
		encoder->frames.count--;
		status = number(encoder, top->type);
	}
	return status;
}

/* Predefined types are sorted by number, independent of the order of use. */
static void number_predefined(struct encoder *encoder)
{
	for (unsigned number = 0; number < DTC_WIRE_PREDEFINED_END; number++) {
		encoder->predefined_index[number] = encoder->predefined_count;
		encoder->predefined_count += encoder->used[number];
	}
}

/* ---- values -------------------------------------------------------------------------- */

/* A reference to a type: records count up from 0, predefined types down from -1. */
static int64_t reference(const struct encoder *encoder, const struct dtconv_type *child)
{
	if (child->combiner == DTCONV_COMBINER_NAMED) {
		unsigned number = dtc_wire_predefined(child->predefined);

		return -1 - (int64_t)encoder->predefined_index[number];
	}
	return (int64_t)find_slot(encoder, child)->number;
}

/* The arguments of a constructor as the stream stores them. */
struct record {
	const struct encoder *encoder;
	const struct dtconv_type *type;
	size_t skipped; /* index of the stored count that is the number of entries */
	size_t entries;
	size_t lengths[DTC_WIRE_ARRAYS];
	unsigned widths[DTC_WIRE_ARRAYS];
};

static int64_t value_at(const struct record *record, enum dtc_wire_array array, size_t i)
{
	const struct dtconv_type *type = record->type;
	int64_t count;

	if (array == DTC_WIRE_TYPES)
		return reference(record->encoder, type->types[i]);
	if (array == DTC_WIRE_DISPLACEMENTS)
		return dtc_ints_get(&type->displacements, i);
	count = dtc_ints_get(&type->counts, i + (i >= record->skipped));
	/* SIZE_MAX (undefined) is encoded as -1, whatever the width. */
	return (size_t)count == SIZE_MAX ? -1 : count;
}

static unsigned narrowest(const struct record *record, enum dtc_wire_array array)
{
	int64_t lowest = 0, highest = 0;

	for (size_t i = 0; i < record->lengths[array]; i++) {
		int64_t value = value_at(record, array, i);

		lowest = DTC_MIN(lowest, value);
		highest = DTC_MAX(highest, value);
	}
	return dtc_ints_width(lowest, highest);
}

static struct record describe(const struct encoder *encoder,
			      const struct dtconv_type *type)
{
	struct dtc_wire_shape shape = dtc_wire_shape_of(dtc_text_form_of(type->combiner));
	struct record record = { .encoder = encoder, .type = type, .skipped = SIZE_MAX };

	if (dtc_combiner_has_arrays(type->combiner)) {
		record.entries = type->displacements.count;
	} else if (shape.slot != SIZE_MAX) {
		record.skipped = shape.slot;
		record.entries = (size_t)dtc_ints_get(&type->counts, shape.slot);
	}
	for (int array = 0; array < DTC_WIRE_ARRAYS; array++) {
		record.lengths[array] =
			shape.fixed[array] + shape.each[array] * record.entries;
		record.widths[array] = narrowest(&record, (enum dtc_wire_array)array);
	}
	return record;
}

/* None of these sums overflows, because a type takes more bytes in memory than its record. */
static size_t record_bytes(const struct record *record)
{
	size_t bytes = DTC_WIRE_RECORD_HEAD_BYTES;

	for (int array = 0; array < DTC_WIRE_ARRAYS; array++)
		bytes += record->lengths[array] * record->widths[array];
	return bytes;
}

/* ---- bytes --------------------------------------------------------------------------- */

static size_t stream_bytes(const struct encoder *encoder)
{
	size_t bytes = DTC_WIRE_HEADER_BYTES +
		       encoder->predefined_count * DTC_WIRE_PREDEFINED_BYTES;

	for (size_t i = 0; i < encoder->order.count; i++) {
		struct record record = describe(encoder, type_at(encoder, i));

		bytes += record_bytes(&record);
	}
	return bytes;
}

static void write_header(const struct encoder *encoder, unsigned char *at, size_t length)
{
	dtc_wire_put(at + DTC_WIRE_MAGIC_AT, 4, DTC_WIRE_MAGIC);
	dtc_wire_put(at + DTC_WIRE_VERSION_AT, 2, DTC_WIRE_VERSION);
	dtc_wire_put(at + DTC_WIRE_PREDEFINED_COUNT_AT, 2, encoder->predefined_count);
	dtc_wire_put(at + DTC_WIRE_LENGTH_AT, 8, length);
	dtc_wire_put(at + DTC_WIRE_RECORD_COUNT_AT, 8, encoder->order.count);
}

static void write_predefined(unsigned number, unsigned char *at)
{
	const struct dtc_predefined *row =
		dtc_predefined_row(dtc_wire_predefined_find(number));

	dtc_wire_put(at + DTC_WIRE_NUMBER_AT, 2, number);
	dtc_wire_put(at + DTC_WIRE_SIZE_AT, 2, row->size);
	dtc_wire_put(at + DTC_WIRE_TYPE_EXTENT_AT, 2, row->extent);
	dtc_wire_put(at + DTC_WIRE_ALIGNMENT_AT, 2, row->alignment);
}

static void write_record(const struct record *record, unsigned char *at)
{
	ptrdiff_t extent = dtc_bounds_extent(&record->type->bounds);

	dtc_wire_put(at + DTC_WIRE_COMBINER_AT, 1,
		     dtc_wire_combiner(record->type->combiner));
	for (int array = 0; array < DTC_WIRE_ARRAYS; array++)
		dtc_wire_put(at + DTC_WIRE_WIDTHS_AT + array, 1, record->widths[array]);
	dtc_wire_put(at + DTC_WIRE_EXTENT_AT, 8, (uint64_t)(int64_t)extent);
	dtc_wire_put(at + DTC_WIRE_ENTRIES_AT, 8, record->entries);
	at += DTC_WIRE_RECORD_HEAD_BYTES;
	for (int array = 0; array < DTC_WIRE_ARRAYS; array++) {
		unsigned width = record->widths[array];

		for (size_t i = 0; i < record->lengths[array]; i++, at += width)
			dtc_wire_put(at, width,
				     (uint64_t)value_at(record,
							(enum dtc_wire_array)array, i));
	}
}

static void write_stream(const struct encoder *encoder, unsigned char *at, size_t length)
{
	write_header(encoder, at, length);
	at += DTC_WIRE_HEADER_BYTES;
	for (unsigned number = 0; number < DTC_WIRE_PREDEFINED_END; number++) {
		if (!encoder->used[number])
			continue;
		write_predefined(number, at);
		at += DTC_WIRE_PREDEFINED_BYTES;
	}
	for (size_t i = 0; i < encoder->order.count; i++) {
		struct record record = describe(encoder, type_at(encoder, i));

		write_record(&record, at);
		at += record_bytes(&record);
	}
}

int dtconv_type_serialise(const struct dtconv_type *type, void *bytes, size_t capacity,
			  size_t *length)
{
	if (!type || !length)
		return DTCONV_ERR_INVAL;
	struct encoder encoder = {
		.context = type->context,
		.frames = { .width = sizeof(struct frame) },
		.order = { .width = sizeof(const struct dtconv_type *) },
	};
	int status;

	if (!bytes && capacity)
		return DTC_FAIL(type->context, DTCONV_ERR_INVAL,
				"dtconv_type_serialise: bytes (argument 2) is NULL, but "
				"capacity (argument 3) is %zu",
				capacity);
	status = number_all(&encoder, type);
	if (!status) {
		number_predefined(&encoder);
		*length = stream_bytes(&encoder);
		status = *length <= capacity ? 0 : DTCONV_ERR_TRUNCATE;
	}
	if (!status)
		write_stream(&encoder, bytes, *length);
	dtc_free(encoder.context, encoder.frames.items);
	dtc_free(encoder.context, encoder.order.items);
	dtc_free(encoder.context, encoder.slots);
	return status;
}
