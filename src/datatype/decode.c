/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decodes untrusted bytes into a type in three checked passes: each record by itself, the order
 * of the records, the constructors. Only the canonical stream of a type is accepted, so that
 * equal types have equal bytes.
 */
#include "config.h"

#include "wire.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/base.h"
#include "base/checked.h"
#include "base/context.h"
#include "base/log.h"
#include "base/vec.h"
#include "datatype/construct.h"
#include "predefined.h"
#include "signature.h"
#include "type.h"

/*
 * A short stream can demand much memory: constructors copy the signatures of their arguments,
 * and a shared type is expanded for every use when it is committed or printed. Both are limited
 * to a multiple of the stream's length. In total, a stream takes less than 256 bytes of memory
 * per byte, less than 64 of them for anything but signatures.
 */
#define SIGNATURE_BYTES 192
#define EXPANSION       256

/* A record and the type made of it. */
struct slot {
	size_t start;       /* in the stream */
	uint64_t expansion; /* number of arguments if shared types were expanded */
	struct dtconv_type *type;
};

struct decoder {
	struct dtconv_context *context;
	const unsigned char *bytes;
	size_t length;
	size_t predefined_count;
	enum dtconv_predefined predefined[DTCONV_PREDEFINED_COUNT];
	bool used[DTCONV_PREDEFINED_COUNT];
	size_t record_count;
	struct slot *slots;
	size_t largest;           /* the most arguments of one record */
	size_t *arguments;        /* room for as many */
	uint64_t signature_bytes; /* what is left of the limit */
};

/* An array of values of one width. */
struct values {
	const unsigned char *at;
	size_t count;
	unsigned width;
};

struct record {
	size_t start, end;
	const struct dtc_text_form *form;
	struct dtc_wire_shape shape;
	int64_t extent;
	size_t entries;
	struct values arrays[DTC_WIRE_ARRAYS];
};

static const char caller[] = "dtconv_type_deserialise";

static int fail(const struct decoder *decoder, int status, size_t at, const char *format,
		...) __attribute__((format(printf, 4, 5)));

static int fail(const struct decoder *decoder, int status, size_t at, const char *format,
		...)
{
	char sentence[400];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	return DTC_FAIL(decoder->context, status, "%s: byte %zu: %s", caller, at,
			sentence);
}

static int fail_format(const struct decoder *decoder, size_t at, const char *what)
{
	return fail(decoder, DTCONV_ERR_FORMAT, at, "%s", what);
}

static int64_t value_at(const struct values *values, size_t i)
{
	return dtc_wire_get_signed(values->at + i * values->width, values->width);
}

/* ---- header -------------------------------------------------------------------------- */

static int check_version(const struct decoder *decoder)
{
	uint64_t version;

	if (decoder->length < DTC_WIRE_HEADER_BYTES)
		return fail(decoder, DTCONV_ERR_FORMAT, decoder->length,
			    "the stream ends inside its header of %d bytes",
			    DTC_WIRE_HEADER_BYTES);
	if (dtc_wire_get(decoder->bytes + DTC_WIRE_MAGIC_AT, 4) != DTC_WIRE_MAGIC)
		return fail_format(
			decoder, DTC_WIRE_MAGIC_AT,
			"not a serialised type: it does not begin with d7 64 74 63");
	version = dtc_wire_get(decoder->bytes + DTC_WIRE_VERSION_AT, 2);
	if (version != DTC_WIRE_VERSION)
		return fail(decoder, DTCONV_ERR_FORMAT, DTC_WIRE_VERSION_AT,
			    "the stream has version %u, this library reads version %d",
			    (unsigned)version, DTC_WIRE_VERSION);
	return 0;
}

static int check_length(const struct decoder *decoder)
{
	uint64_t length = dtc_wire_get(decoder->bytes + DTC_WIRE_LENGTH_AT, 8);

	if (length == decoder->length)
		return 0;
	return fail(decoder, DTCONV_ERR_FORMAT, DTC_WIRE_LENGTH_AT,
		    "the header says %llu bytes, but length (argument 3) is %zu",
		    (unsigned long long)length, decoder->length);
}

static int read_header(struct decoder *decoder)
{
	uint64_t predefined, records, most;
	int status = check_version(decoder);

	if (!status)
		status = check_length(decoder);
	if (status)
		return status;
	predefined = dtc_wire_get(decoder->bytes + DTC_WIRE_PREDEFINED_COUNT_AT, 2);
	records = dtc_wire_get(decoder->bytes + DTC_WIRE_RECORD_COUNT_AT, 8);
	most = (decoder->length - DTC_WIRE_HEADER_BYTES) / DTC_WIRE_PREDEFINED_BYTES;
	if (predefined > DTC_MIN(most, DTCONV_PREDEFINED_COUNT))
		return fail(
			decoder, DTCONV_ERR_FORMAT, DTC_WIRE_PREDEFINED_COUNT_AT,
			"%u predefined types are more than exist or fit into the stream",
			(unsigned)predefined);
	most = (decoder->length - DTC_WIRE_HEADER_BYTES) / DTC_WIRE_RECORD_HEAD_BYTES;
	if (records > most)
		return fail(decoder, DTCONV_ERR_FORMAT, DTC_WIRE_RECORD_COUNT_AT,
			    "%llu records do not fit into the stream",
			    (unsigned long long)records);
	if (records == 0 && predefined != 1)
		return fail(decoder, DTCONV_ERR_FORMAT, DTC_WIRE_RECORD_COUNT_AT,
			    "a stream without records has 1 predefined type, not %u",
			    (unsigned)predefined);
	decoder->predefined_count = (size_t)predefined;
	decoder->record_count = (size_t)records;
	return 0;
}

/* ---- predefined types ---------------------------------------------------------------- */

static size_t predefined_start(size_t index)
{
	return DTC_WIRE_HEADER_BYTES + index * DTC_WIRE_PREDEFINED_BYTES;
}

/* Whether a predefined type is the same here as on the encoder's machine. */
static int check_predefined(const struct decoder *decoder, size_t start,
			    const struct dtc_predefined *row)
{
	const unsigned char *at = decoder->bytes + start;
	unsigned size = (unsigned)dtc_wire_get(at + DTC_WIRE_SIZE_AT, 2);
	unsigned extent = (unsigned)dtc_wire_get(at + DTC_WIRE_TYPE_EXTENT_AT, 2);
	unsigned alignment = (unsigned)dtc_wire_get(at + DTC_WIRE_ALIGNMENT_AT, 2);

	if (size == row->size && extent == row->extent && alignment == row->alignment)
		return 0;
	return fail(
		decoder, DTCONV_ERR_FORMAT, start,
		"%s has size %u, extent %u and alignment %u at the encoder, but %zu, %zu "
		"and %zu here",
		row->name, size, extent, alignment, row->size, row->extent,
		row->alignment);
}

static int read_predefined(struct decoder *decoder)
{
	unsigned last = 0;

	for (size_t i = 0; i < decoder->predefined_count; i++) {
		size_t start = predefined_start(i);
		unsigned number = (unsigned)dtc_wire_get(decoder->bytes + start, 2);
		enum dtconv_predefined which = dtc_wire_predefined_find(number);

		if (which == DTCONV_PREDEFINED_COUNT)
			return fail(decoder, DTCONV_ERR_FORMAT, start,
				    "unknown predefined type number %u", number);
		if (number <= last)
			return fail(decoder, DTCONV_ERR_FORMAT, start,
				    "predefined type number %u follows number %u, but "
				    "numbers must ascend",
				    number, last);
		int status = check_predefined(decoder, start, dtc_predefined_row(which));
		if (status)
			return status;
		decoder->predefined[i] = which;
		last = number;
	}
	return 0;
}

static int check_all_used(const struct decoder *decoder)
{
	for (size_t i = 0; decoder->record_count && i < decoder->predefined_count; i++)
		if (!decoder->used[i])
			return fail(decoder, DTCONV_ERR_FORMAT, predefined_start(i),
				    "no record uses the predefined type %s",
				    dtc_predefined_name(decoder->predefined[i]));
	return 0;
}

/* ---- the first pass: each record by itself ------------------------------------------- */

static int read_entries(const struct decoder *decoder, struct record *record)
{
	const size_t *each = record->shape.each;
	size_t bytes_each = each[DTC_WIRE_COUNTS] + each[DTC_WIRE_DISPLACEMENTS] +
			    each[DTC_WIRE_TYPES];
	size_t at = record->start + DTC_WIRE_ENTRIES_AT;
	uint64_t entries = dtc_wire_get(decoder->bytes + at, 8);

	if (record->shape.slot == SIZE_MAX && entries)
		return fail(decoder, DTCONV_ERR_FORMAT, at,
			    "%s has no entries, but %llu here", record->form->name,
			    (unsigned long long)entries);
	if (bytes_each && entries > (decoder->length - at) / bytes_each)
		return fail(decoder, DTCONV_ERR_FORMAT, at,
			    "%llu entries of %s do not fit into the stream",
			    (unsigned long long)entries, record->form->name);
	record->entries = (size_t)entries;
	return 0;
}

/* Find one array, which begins at the record's current end. */
static int read_array(const struct decoder *decoder, struct record *record,
		      unsigned array)
{
	size_t at = record->start + DTC_WIRE_WIDTHS_AT + array;
	unsigned width = decoder->bytes[at];
	/* Cannot overflow, because that many entries fit into the stream. */
	size_t count =
		record->shape.fixed[array] + record->shape.each[array] * record->entries;

	if (width != 1 && width != 2 && width != 4 && width != 8)
		return fail(decoder, DTCONV_ERR_FORMAT, at,
			    "values are %u bytes wide, not 1, 2, 4 or 8", width);
	if (count > (decoder->length - record->end) / width)
		return fail(decoder, DTCONV_ERR_FORMAT, record->end,
			    "the stream ends before %zu arguments of %s, %u bytes each",
			    count, record->form->name, width);
	record->arrays[array] =
		(struct values){ decoder->bytes + record->end, count, width };
	record->end += count * width;
	return 0;
}

/* Find the parts of the record that begins at @start. */
static int read_record(const struct decoder *decoder, size_t start, struct record *record)
{
	enum dtconv_combiner combiner;
	int status;

	if (decoder->length - start < DTC_WIRE_RECORD_HEAD_BYTES)
		return fail_format(decoder, start,
				   "the stream ends before its last record");
	combiner = dtc_wire_combiner_find(decoder->bytes[start]);
	if (combiner == DTCONV_COMBINER_NAMED)
		return fail(decoder, DTCONV_ERR_FORMAT, start,
			    "unknown constructor number %u", decoder->bytes[start]);
	record->start = start;
	record->end = start + DTC_WIRE_RECORD_HEAD_BYTES;
	record->form = dtc_text_form_of(combiner);
	record->shape = dtc_wire_shape_of(record->form);
	record->extent =
		dtc_wire_get_signed(decoder->bytes + start + DTC_WIRE_EXTENT_AT, 8);
	status = read_entries(decoder, record);
	for (unsigned array = 0; !status && array < DTC_WIRE_ARRAYS; array++)
		status = read_array(decoder, record, array);
	return status;
}

/* A record that the first pass has accepted. */
static struct record known_record(const struct decoder *decoder, size_t number)
{
	struct record record = { 0 };
	int status = read_record(decoder, decoder->slots[number].start, &record);

	assert(!status && record.form);
	(void)status;
	return record;
}

/* Each array has only one valid encoding: the narrowest. */
static int check_width(const struct decoder *decoder, const struct values *values)
{
	int64_t lowest = 0, highest = 0;

	for (size_t i = 0; i < values->count; i++) {
		int64_t value = value_at(values, i);

		lowest = DTC_MIN(lowest, value);
		highest = DTC_MAX(highest, value);
	}
	if (values->width == dtc_ints_width(lowest, highest))
		return 0;
	return fail(decoder, DTCONV_ERR_FORMAT, (size_t)(values->at - decoder->bytes),
		    "these values need %u bytes each, not %u",
		    dtc_ints_width(lowest, highest), values->width);
}

/* Children precede their parents, so there are no cycles. */
static int check_child(struct decoder *decoder, const struct values *types, size_t i,
		       size_t number, uint64_t *expansion)
{
	int64_t child = value_at(types, i);

	if (child < 0 && (uint64_t)(-1 - child) < decoder->predefined_count) {
		decoder->used[-1 - child] = true;
		return 0;
	}
	if (child >= 0 && (uint64_t)child < number) {
		*expansion += decoder->slots[child].expansion;
		return 0;
	}
	return fail(
		decoder, DTCONV_ERR_FORMAT,
		(size_t)(types->at + i * types->width - decoder->bytes),
		"record %zu refers to type %lld, not to one of the %zu records before it or "
		"the %zu predefined types (from -1 down)",
		number, (long long)child, number, decoder->predefined_count);
}

/* Neither sum overflows, because each term is limited by the stream's length. */
static int check_children(struct decoder *decoder, const struct record *record,
			  size_t number)
{
	const struct values *types = &record->arrays[DTC_WIRE_TYPES];
	uint64_t expansion = 1 + record->arrays[DTC_WIRE_COUNTS].count +
			     record->arrays[DTC_WIRE_DISPLACEMENTS].count + types->count;

	for (size_t i = 0; i < types->count; i++) {
		int status = check_child(decoder, types, i, number, &expansion);

		if (status)
			return status;
		if (expansion / EXPANSION > decoder->length)
			return fail(
				decoder, DTCONV_ERR_LIMIT, record->start,
				"this %s expands to more than %d arguments per byte of the stream",
				record->form->name, EXPANSION);
	}
	decoder->slots[number].expansion = expansion;
	return 0;
}

static int check_record(struct decoder *decoder, const struct record *record,
			size_t number)
{
	size_t arguments = record->shape.slot != SIZE_MAX;
	int status = 0;

	for (unsigned array = 0; !status && array < DTC_WIRE_ARRAYS; array++) {
		status = check_width(decoder, &record->arrays[array]);
		arguments += record->arrays[array].count;
	}
	decoder->largest = DTC_MAX(decoder->largest, arguments);
	return status ? status : check_children(decoder, record, number);
}

static int check_records(struct decoder *decoder)
{
	size_t at = predefined_start(decoder->predefined_count);

	for (size_t number = 0; number < decoder->record_count; number++) {
		struct record record = { 0 };
		int status = read_record(decoder, at, &record);

		if (!status)
			status = check_record(decoder, &record, number);
		if (status)
			return status;
		decoder->slots[number].start = at;
		at = record.end;
	}
	if (at != decoder->length)
		return fail(decoder, DTCONV_ERR_FORMAT, at,
			    "%zu bytes are left over after the last record",
			    decoder->length - at);
	return check_all_used(decoder);
}

/* ---- the second pass: the order of the records --------------------------------------- */

/* A record whose children are being visited. */
struct frame {
	size_t number;
	size_t next; /* child */
};

static int fail_memory(const struct decoder *decoder)
{
	return DTC_FAIL(decoder->context, DTCONV_ERR_NOMEM,
			"%s: cannot allocate %zu records with at most %zu arguments each",
			caller, decoder->record_count, decoder->largest);
}

/*
 * Find the next child of a record that has not been reached yet; false if there is none. The
 * first @reached records have been reached.
 */
static bool next_child(const struct decoder *decoder, struct frame *frame, size_t reached,
		       size_t *child)
{
	struct record record = known_record(decoder, frame->number);
	const struct values *types = &record.arrays[DTC_WIRE_TYPES];

	while (frame->next < types->count) {
		int64_t reference = value_at(types, frame->next++);

		*child = (size_t)reference;
		if (reference >= 0 && *child >= reached)
			return true;
	}
	return false;
}

/* One step of the encoder's numbering walk: descend, or finish the innermost record. */
static int step(const struct decoder *decoder, struct dtc_vec *frames, size_t *reached)
{
	struct frame *top = (struct frame *)frames->items + frames->count - 1;
	struct frame down = { 0 };

	if (next_child(decoder, top, *reached, &down.number)) {
		bool pushed = dtc_vec_push(decoder->context, frames, &down);

		return pushed ? 0 : fail_memory(decoder);
	}
	if (top->number != *reached)
		return fail(decoder, DTCONV_ERR_FORMAT, decoder->slots[*reached].start,
			    "record %zu is unused or out of order", *reached);
	(*reached)++;
	frames->count--;
	return 0;
}

/*
 * Check that the records are in the order in which the encoder, starting at the last one,
 * numbers them.
 */
static int check_order(const struct decoder *decoder)
{
	struct dtc_vec frames = { .width = sizeof(struct frame) };
	struct frame root = { .number = decoder->record_count - 1 };
	size_t reached = 0;
	int status = 0;

	if (!dtc_vec_push(decoder->context, &frames, &root))
		status = fail_memory(decoder);
	while (!status && frames.count)
		status = step(decoder, &frames, &reached);
	dtc_free(decoder->context, frames.items);
	return status;
}

/* ---- the third pass: constructors ---------------------------------------------------- */

static struct dtconv_type *child_at(const struct decoder *decoder,
				    const struct values *types, size_t i)
{
	int64_t reference = value_at(types, i);

	if (reference >= 0)
		return decoder->slots[reference].type;
	return dtconv_type_predefined(decoder->context,
				      decoder->predefined[-1 - reference]);
}

static int fail_range(const struct decoder *decoder, const struct values *values,
		      size_t i, const char *range)
{
	return fail(decoder, DTCONV_ERR_OVERFLOW,
		    (size_t)(values->at + i * values->width - decoder->bytes),
		    "the value %lld is outside %s here", (long long)value_at(values, i),
		    range);
}

/* All ones stands for SIZE_MAX (undefined), whatever the width. */
static int fill_counts(const struct decoder *decoder, const struct record *record,
		       size_t counts[])
{
	const struct values *values = &record->arrays[DTC_WIRE_COUNTS];

	for (size_t i = 0; i < values->count; i++) {
		uint64_t value = (uint64_t)value_at(values, i);

		if (value != UINT64_MAX && value >= SIZE_MAX)
			return fail_range(decoder, values, i, "size_t");
		counts[i + (i >= record->shape.slot)] = (size_t)value;
	}
	if (record->shape.slot != SIZE_MAX)
		counts[record->shape.slot] = record->entries;
	return 0;
}

static int fill_displacements(const struct decoder *decoder, const struct record *record,
			      ptrdiff_t displacements[])
{
	const struct values *values = &record->arrays[DTC_WIRE_DISPLACEMENTS];

	for (size_t i = 0; i < values->count; i++) {
		int64_t value = value_at(values, i);

		displacements[i] = (ptrdiff_t)value;
		if (displacements[i] != value)
			return fail_range(decoder, values, i, "ptrdiff_t");
	}
	return 0;
}

_Static_assert(sizeof(size_t) == sizeof(ptrdiff_t) && sizeof(size_t) == sizeof(void *),
	       "the three kinds of arguments share one array");

/* Expand a record's arguments into the decoder's buffer. */
static int fill(const struct decoder *decoder, const struct record *record,
		struct dtc_contents *contents)
{
	const struct values *arrays = record->arrays;
	size_t *counts = decoder->arguments;
	ptrdiff_t *displacements = (ptrdiff_t *)(counts + arrays[DTC_WIRE_COUNTS].count +
						 (record->shape.slot != SIZE_MAX));
	struct dtconv_type **types =
		(struct dtconv_type **)(displacements +
					arrays[DTC_WIRE_DISPLACEMENTS].count);
	int status = fill_counts(decoder, record, counts);

	if (!status)
		status = fill_displacements(decoder, record, displacements);
	for (size_t i = 0; i < arrays[DTC_WIRE_TYPES].count; i++)
		types[i] = child_at(decoder, &arrays[DTC_WIRE_TYPES], i);
	*contents = (struct dtc_contents){ counts, displacements, types };
	return status;
}

/* The number of nodes in the members' signatures; stops counting above @most. */
static uint64_t member_nodes(const struct dtc_contents *contents, size_t members,
			     uint64_t most)
{
	uint64_t nodes = 0;

	for (size_t i = 0; i < members && nodes <= most; i++)
		nodes += contents->types[i]->signature->node_count + 1;
	return nodes;
}

/*
 * The most memory that the constructor takes for its type's signature, temporary memory
 * included. A struct's signature grows by doubling; other constructors copy the element's, or
 * share it.
 */
static uint64_t signature_bytes(const struct decoder *decoder,
				const struct record *record,
				const struct dtc_contents *contents)
{
	uint64_t nodes = 0;

	switch (record->form->combiner) {
	case DTCONV_COMBINER_DUP:
	case DTCONV_COMBINER_RESIZED:
		return 0;
	case DTCONV_COMBINER_STRUCT:
		nodes = member_nodes(contents, record->entries, decoder->signature_bytes);
		nodes = 8 + 3 * nodes;
		break;
	default:
		if (record->arrays[DTC_WIRE_TYPES].count)
			nodes = contents->types[0]->signature->node_count + 1;
	}
	return sizeof(struct dtc_signature) + nodes * sizeof(struct dtc_signature_node);
}

static int spend(struct decoder *decoder, const struct record *record,
		 const struct dtc_contents *contents)
{
	uint64_t bytes = signature_bytes(decoder, record, contents);

	if (bytes > decoder->signature_bytes)
		return fail(
			decoder, DTCONV_ERR_LIMIT, record->start,
			"the signatures up to this %s take more than %d bytes per byte "
			"of the stream",
			record->form->name, SIGNATURE_BYTES);
	decoder->signature_bytes -= bytes;
	return 0;
}

/* A stream whose arguments a constructor rejects is malformed. */
static int fail_construct(const struct decoder *decoder, const struct record *record,
			  int status)
{
	bool malformed = status == DTCONV_ERR_INVAL || status == DTCONV_ERR_UNSUPPORTED;
	char cause[300];

	dtconv_context_error(decoder->context, cause, sizeof(cause));
	return fail(decoder, malformed ? DTCONV_ERR_FORMAT : status, record->start, "%s",
		    cause);
}

/* Check that the constructed type is what the record describes. */
static int check_made(const struct decoder *decoder, const struct record *record,
		      const struct dtconv_type *type)
{
	ptrdiff_t extent = dtc_bounds_extent(&type->bounds);

	if (type->combiner != record->form->combiner)
		return fail(
			decoder, DTCONV_ERR_FORMAT, record->start,
			"this %s is the predefined type %s and must be encoded by its number",
			record->form->name, dtc_predefined_name(type->predefined));
	if (extent != record->extent)
		return fail(
			decoder, DTCONV_ERR_FORMAT, record->start + DTC_WIRE_EXTENT_AT,
			"this %s has extent %lld at the encoder, but %td here; set the "
			"same params.padding (enum dtconv_padding) in both contexts",
			record->form->name, (long long)record->extent, extent);
	return 0;
}

static int build(struct decoder *decoder, size_t number)
{
	struct record record = known_record(decoder, number);
	struct dtconv_type *type = NULL;
	struct dtc_contents contents;
	int status = fill(decoder, &record, &contents);

	if (!status)
		status = spend(decoder, &record, &contents);
	if (status)
		return status;
	status = dtc_construct(decoder->context, caller, record.form->combiner, &contents,
			       &type);
	if (status)
		return fail_construct(decoder, &record, status);
	decoder->slots[number].type = type;
	return check_made(decoder, &record, type);
}

static int build_all(struct decoder *decoder)
{
	int status = 0;

	for (size_t number = 0; !status && number < decoder->record_count; number++)
		status = build(decoder, number);
	return status;
}

/* ---- all of it ----------------------------------------------------------------------- */

static int decode_records(struct decoder *decoder)
{
	size_t bytes;
	int status;

	decoder->slots = dtc_alloc_zeroed(decoder->context,
					  decoder->record_count * sizeof(struct slot));
	if (!decoder->slots)
		return fail_memory(decoder);
	status = check_records(decoder);
	if (!status && decoder->record_count)
		status = check_order(decoder);
	if (status)
		return status;
	if (!dtc_mul_size(decoder->largest, sizeof(decoder->arguments[0]), &bytes))
		decoder->arguments = dtc_alloc(decoder->context, bytes);
	if (!decoder->arguments)
		return fail_memory(decoder);
	decoder->signature_bytes = (uint64_t)SIGNATURE_BYTES * decoder->length;
	return build_all(decoder);
}

/* The last record is the result. A stream without records holds a single predefined type. */
static struct dtconv_type *take_root(struct decoder *decoder)
{
	struct dtconv_type *root;

	if (!decoder->record_count)
		return dtconv_type_predefined(decoder->context, decoder->predefined[0]);
	root = decoder->slots[decoder->record_count - 1].type;
	decoder->slots[decoder->record_count - 1].type = NULL;
	return root;
}

static void drop(struct decoder *decoder)
{
	for (size_t i = 0; decoder->slots && i < decoder->record_count; i++)
		dtconv_type_unref(decoder->slots[i].type);
	dtc_free(decoder->context, decoder->slots);
	dtc_free(decoder->context, decoder->arguments);
}

int dtconv_type_deserialise(struct dtconv_context *context, const void *bytes,
			    size_t length, struct dtconv_type **type)
{
	if (!context)
		return DTCONV_ERR_INVAL;
	struct decoder decoder = { .context = context, .bytes = bytes, .length = length };
	int status;

	if (!bytes || !type)
		return DTC_FAIL(context, DTCONV_ERR_INVAL, "%s: %s is NULL", caller,
				type ? "bytes (argument 2)" : "type (argument 4)");
	status = read_header(&decoder);
	if (!status)
		status = read_predefined(&decoder);
	if (!status)
		status = decode_records(&decoder);
	if (!status)
		*type = take_root(&decoder);
	drop(&decoder);
	return status;
}
