/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Converts and combines elements. Each loop fills a window with native elements that are consecutive in
 * the packed stream; bytes move between the window and the user's buffer as in any native move.
 */
#include "config.h"

#include "typed.h"

#include <string.h>

#include "base/base.h"
#include "base/checked.h"
#include "base/context.h"
#include "base/log.h"
#include "convertor/device_move.h"
#include "convertor/host_move.h"
#include "convertor/operation.h"
#include "convertor/packed_stream.h"
#include "datatype/predefined.h"
#include "datatype/type.h"
#include "kernels/numbers/reduce.h"

/* Two windows and their source stay in the first-level cache. */
#define WINDOW_BYTES 2048

/* ---- life ---------------------------------------------------------------------------- */

static void choose_conversions(struct dtc_typed *typed)
{
	struct dtc_representation native;

	dtc_representation_resolve(NULL, NULL, NULL, &native);
	for (int basic = 0; basic < DTCONV_PREDEFINED_COUNT; basic++) {
		struct dtc_element_format from, to;

		if (dtc_predefined_row((enum dtconv_predefined)basic)->is_pair)
			continue;
		from = dtc_representation_format(&native, (enum dtconv_predefined)basic);
		to = dtc_representation_format(&typed->representation,
					       (enum dtconv_predefined)basic);
		typed->to_wire[basic] = dtc_conversion_make(&from, &to);
	}
}

static size_t wire_bytes_of(const struct dtc_typed *typed, enum dtconv_predefined basic)
{
	const struct dtc_conversion *conversion = &typed->to_wire[basic];

	return (size_t)conversion->numbers * conversion->to.bytes;
}

/* What the type's couples are, if the operation or a predefined pair asks for them. */
static void find_couples(struct dtc_typed *typed)
{
	const struct dtconv_type *type = typed->type;
	bool pair = type->predefined != DTCONV_PREDEFINED_COUNT &&
		    dtc_predefined_row(type->predefined)->is_pair;

	typed->couples = type->signature->element_count &&
			 (dtc_op_takes_couples(typed->op) ||
			  (pair && typed->op == DTCONV_OP_USER));
	if (!typed->couples)
		return;
	dtc_signature_couples(type->signature, &typed->couple.basic, &typed->index);
	typed->couple.native_bytes = dtc_predefined_row(typed->couple.basic)->size +
				     dtc_predefined_row(typed->index)->size;
	typed->couple.wire_bytes = wire_bytes_of(typed, typed->couple.basic) +
				   wire_bytes_of(typed, typed->index);
}

static int find_size(struct dtc_typed *typed, const char *caller)
{
	const struct dtc_signature *signature = typed->type->signature;
	struct dtconv_context *context = typed->type->context;
	uint64_t once = signature->byte_count;
	size_t size = 0;
	int status = 0;

	if (!typed->native)
		status = dtc_walk_sizes_create(signature, &typed->representation,
					       &typed->sizes);
	if (status == DTCONV_ERR_NOMEM)
		return DTC_FAIL(context, status,
				"%s: cannot allocate the sizes of %zu signature nodes",
				caller, signature->node_count);
	if (typed->sizes)
		once = typed->sizes->byte_count;
	if (status || once > SIZE_MAX || typed->count > SIZE_MAX ||
	    dtc_mul_size((size_t)once, (size_t)typed->count, &size))
		return DTC_FAIL(
			context, DTCONV_ERR_OVERFLOW,
			"%s: count x size in the stream's representation overflows",
			caller);
	typed->size = size;
	return 0;
}

/* Set what follows from the type and the count; the state has no sizes yet. */
static int bind(struct dtc_typed *typed, struct dtconv_type *type, uint64_t count,
		const char *caller)
{
	int status = dtc_op_check(typed->op, type, caller);

	if (status)
		return status;
	typed->type = type;
	typed->count = count;
	find_couples(typed);
	status = find_size(typed, caller);
	if (status)
		return status;
	dtc_walk_init(&typed->walk, type->signature, typed->sizes, count);
	typed->position = 0;
	return 0;
}

int dtc_typed_create(struct dtconv_type *type, uint64_t count,
		     const struct dtconv_convertor_params *params, const char *caller,
		     struct dtc_typed **typed)
{
	struct dtconv_context *context = type->context;
	struct dtc_representation representation;
	struct dtc_typed *made;

	int status = dtc_representation_resolve(context, caller, params->representation,
						&representation);
	if (status)
		return status;
	*typed = NULL;
	if (params->op == DTCONV_OP_REPLACE &&
	    dtc_representation_is_native(&representation))
		return 0;
	made = dtc_alloc_zeroed(context, sizeof(*made));
	if (!made)
		return DTC_FAIL(context, DTCONV_ERR_NOMEM,
				"%s: cannot allocate %zu bytes", caller, sizeof(*made));
	made->representation = representation;
	made->native = dtc_representation_is_native(&representation);
	made->op = params->op;
	made->op_fn = params->op_fn;
	made->op_arg = params->op_arg;
	made->type = type;
	choose_conversions(made);
	status = bind(made, type, count, caller);
	if (status) {
		dtc_typed_destroy(made);
		return status;
	}
	*typed = made;
	return 0;
}

void dtc_typed_destroy(struct dtc_typed *typed)
{
	if (!typed)
		return;
	struct dtconv_context *context = typed->type->context;

	dtc_walk_sizes_destroy(typed->sizes);
	dtc_partial_elements_drop(&typed->partial, context);
	dtc_free(context, typed->units);
	dtc_free(context, typed);
}

int dtc_typed_rebind(struct dtc_typed *typed, struct dtconv_type *type, uint64_t count,
		     const char *caller)
{
	struct dtc_typed next = *typed;

	next.sizes = NULL;
	next.units = NULL;
	next.partial = (struct dtc_partial_elements){ .slots = NULL };
	int status = bind(&next, type, count, caller);
	if (status) {
		dtc_walk_sizes_destroy(next.sizes);
		return status;
	}
	dtc_walk_sizes_destroy(typed->sizes);
	dtc_partial_elements_drop(&typed->partial, typed->type->context);
	dtc_free(typed->type->context, typed->units);
	*typed = next;
	return 0;
}

int dtc_typed_clone(const struct dtc_typed *typed, struct dtc_typed **clone)
{
	struct dtconv_context *context = typed->type->context;
	struct dtc_typed *copy = dtc_alloc(context, sizeof(*copy));

	if (!copy)
		return DTCONV_ERR_NOMEM;
	*copy = *typed;
	copy->sizes = NULL;
	copy->units = NULL;
	copy->partial = (struct dtc_partial_elements){ .slots = NULL };
	if ((typed->sizes &&
	     dtc_walk_sizes_create(typed->type->signature, &typed->representation,
				   &copy->sizes)) ||
	    dtc_partial_elements_copy(&copy->partial, &typed->partial, context)) {
		dtc_typed_destroy(copy);
		return DTCONV_ERR_NOMEM;
	}
	copy->walk.sizes = copy->sizes;
	*clone = copy;
	return 0;
}

/* ---- position ------------------------------------------------------------------------ */

void dtc_typed_seek(struct dtc_typed *typed, uint64_t position)
{
	typed->position = position;
	if (!typed->couples)
		dtc_walk_seek(&typed->walk, position);
}

/* The unit at the position; at the end of the stream its @left is 0. */
static struct dtc_unit current_unit(const struct dtc_typed *typed)
{
	struct dtc_unit unit = typed->couple;
	const struct dtc_walk *walk = &typed->walk;

	if (typed->couples) {
		uint64_t passed = typed->position / unit.wire_bytes;

		unit.native_position = passed * unit.native_bytes;
		unit.wire_position = passed * unit.wire_bytes;
		unit.left = (typed->size - unit.wire_position) / unit.wire_bytes;
		return unit;
	}
	unit.left = walk->left;
	unit.native_position = walk->native_position;
	unit.wire_position = walk->wire_position;
	if (unit.left) {
		unit.basic = dtc_walk_basic(walk);
		unit.native_bytes = dtc_predefined_row(unit.basic)->size;
		unit.wire_bytes = wire_bytes_of(typed, unit.basic);
	}
	return unit;
}

uint64_t dtc_typed_boundary(const struct dtc_typed *typed)
{
	return typed->position < typed->size ? current_unit(typed).wire_position
					     : typed->position;
}

uint64_t dtc_typed_boundary_at(struct dtc_typed *typed, uint64_t position)
{
	dtc_typed_seek(typed, position);
	return dtc_typed_boundary(typed);
}

size_t dtc_typed_unit_bytes(const struct dtc_typed *typed)
{
	return current_unit(typed).wire_bytes;
}

/* The bytes of each unit in the stream if all have the same; else 0. */
static size_t equal_unit_bytes(const struct dtc_typed *typed)
{
	const struct dtc_signature *signature = typed->type->signature;
	size_t bytes = 0;

	if (typed->couples)
		return typed->couple.wire_bytes;
	for (size_t i = 0; i < signature->node_count; i++) {
		const struct dtc_signature_node *node = &signature->nodes[i];

		if (node->is_loop)
			continue;
		size_t next = wire_bytes_of(typed, (enum dtconv_predefined)node->basic);
		if (bytes && next != bytes)
			return 0;
		bytes = next;
	}
	return bytes;
}

size_t dtc_typed_granularity(const struct dtc_typed *typed, enum dtc_direction direction)
{
	if ((direction == DTC_PACK && typed->native) || !typed->size)
		return 1;
	size_t bytes = equal_unit_bytes(typed);
	return bytes ? bytes : (size_t)(typed->size / typed->count);
}

/* Advance by @count whole units. */
static void pass_units(struct dtc_typed *typed, const struct dtc_unit *unit,
		       uint64_t count)
{
	typed->position = unit->wire_position + count * unit->wire_bytes;
	if (!typed->couples)
		dtc_walk_pass(&typed->walk, count, unit->native_bytes, unit->wire_bytes);
}

/* ---- units through the conversions --------------------------------------------------- */

static struct dtc_conversion conversion_for(const struct dtc_typed *typed,
					    enum dtconv_predefined basic,
					    enum dtc_direction direction)
{
	struct dtc_conversion conversion = typed->to_wire[basic];

	if (direction == DTC_UNPACK) {
		conversion.to = typed->to_wire[basic].from;
		conversion.from = typed->to_wire[basic].to;
	}
	return conversion;
}

static size_t convert_couples(const struct dtc_typed *typed, const struct dtc_unit *unit,
			      unsigned char *to, const unsigned char *from, size_t count,
			      enum dtc_direction direction)
{
	struct dtc_conversion value = conversion_for(typed, unit->basic, direction);
	struct dtc_conversion index = conversion_for(typed, typed->index, direction);

	for (size_t i = 0; i < count; i++) {
		if (!dtc_convert(&value, to, from, 1))
			return i;
		to += value.numbers * value.to.bytes;
		from += value.numbers * value.from.bytes;
		if (!dtc_convert(&index, to, from, 1))
			return i;
		to += index.numbers * index.to.bytes;
		from += index.numbers * index.from.bytes;
	}
	return count;
}

/* Returns the number converted; fewer than @count only if an integer does not fit. */
static size_t convert_units(const struct dtc_typed *typed, const struct dtc_unit *unit,
			    unsigned char *to, const unsigned char *from, size_t count,
			    enum dtc_direction direction)
{
	if (typed->native) {
		memcpy(to, from, count * unit->native_bytes);
		return count;
	}
	if (typed->couples)
		return convert_couples(typed, unit, to, from, count, direction);
	struct dtc_conversion conversion = conversion_for(typed, unit->basic, direction);
	return dtc_convert(&conversion, to, from, count);
}

static int does_not_fit(const struct dtc_typed *typed, const struct dtc_unit *unit,
			const char *caller)
{
	return DTC_FAIL(
		typed->type->context, DTCONV_ERR_OVERFLOW,
		"%s: the %s at byte %ju of the packed stream does not fit into the narrower type of "
		"the representation",
		caller, dtc_predefined_name(unit->basic), (uintmax_t)typed->position);
}

/* Move bytes between device memory and a window. */
static int move_device_bytes(const struct dtc_move *device_move, unsigned char *buffer,
			     size_t bytes, enum dtc_direction direction)
{
	struct dtc_move move = *device_move;
	size_t moved;

	move.packed = (char *)buffer;
	move.placement.packed = DTCONV_MEMORY_HOST;
	move.bytes = bytes;
	move.direction = direction;
	move.started = move.no_wait = false;
	return dtc_device_move(&move, &moved);
}

static int move_native(const struct dtc_typed_move *move, uint64_t position,
		       unsigned char *buffer, size_t bytes, enum dtc_direction direction)
{
	size_t moved;

	dtc_cursor_seek(move->cursor, position);
	if (move->device_move)
		return move_device_bytes(move->device_move, buffer, bytes, direction);
	return dtc_host_move_bytes(move->cursor, move->user, (char *)buffer, bytes,
				   direction, &moved);
}

/* ---- packing ------------------------------------------------------------------------- */

/* Pack some bytes of the current unit. */
static int pack_part(struct dtc_typed *typed, const struct dtc_typed_move *move,
		     const struct dtc_unit *unit, size_t *done)
{
	unsigned char native[DTC_ELEMENT_BYTES], wire[DTC_ELEMENT_BYTES];
	size_t skip = (size_t)(typed->position - unit->wire_position);
	size_t bytes = DTC_MIN(unit->wire_bytes - skip, move->bytes - *done);

	int status = move_native(move, unit->native_position, native, unit->native_bytes,
				 DTC_PACK);
	if (status)
		return status;
	if (!convert_units(typed, unit, wire, native, 1, DTC_PACK))
		return does_not_fit(typed, unit, move->caller);
	memcpy(move->packed + *done, wire + skip, bytes);
	*done += bytes;
	if (skip + bytes == unit->wire_bytes)
		pass_units(typed, unit, 1);
	else
		typed->position += bytes;
	return 0;
}

/* Convert whole units from the current one on, out of @bytes native bytes. */
static int pack_window(struct dtc_typed *typed, const struct dtc_typed_move *move,
		       const unsigned char *native, size_t bytes, size_t *done)
{
	struct dtc_unit unit = current_unit(typed);

	while (unit.left) {
		size_t room = (move->bytes - *done) / unit.wire_bytes;
		size_t count = DTC_MIN(bytes / unit.native_bytes, room);

		count = (size_t)DTC_MIN(unit.left, (uint64_t)count);
		if (count == 0)
			break;
		size_t converted = convert_units(typed, &unit,
						 (unsigned char *)move->packed + *done,
						 native, count, DTC_PACK);
		if (converted) {
			*done += converted * unit.wire_bytes;
			pass_units(typed, &unit, converted);
		}
		if (converted < count)
			return does_not_fit(typed, &unit, move->caller);
		native += count * unit.native_bytes;
		bytes -= count * unit.native_bytes;
		unit = current_unit(typed);
	}
	return 0;
}

int dtc_typed_pack(struct dtc_typed *typed, const struct dtc_typed_move *move,
		   size_t *moved)
{
	unsigned char window[WINDOW_BYTES];
	uint64_t native_size = move->cursor->size;
	int status = 0;

	*moved = 0;
	while (!status && *moved < move->bytes && typed->position < typed->size) {
		struct dtc_unit unit = current_unit(typed);
		size_t room = move->bytes - *moved;

		if (typed->position != unit.wire_position || room < unit.wire_bytes) {
			status = pack_part(typed, move, &unit, moved);
			continue;
		}
		/* No element is more than four times as large as its represented form. */
		size_t bytes = room < sizeof(window) / 4 ? 4 * room : sizeof(window);
		bytes = (size_t)DTC_MIN(native_size - unit.native_position,
					(uint64_t)bytes);
		bytes = DTC_MAX(bytes, unit.native_bytes);
		status = move_native(move, unit.native_position, window, bytes, DTC_PACK);
		if (!status)
			status = pack_window(typed, move, window, bytes, moved);
	}
	return status;
}

/* ---- unpacking ----------------------------------------------------------------------- */

/* Consecutive equal units in a window. */
struct segment {
	enum dtconv_predefined basic;
	size_t count;
	size_t bytes;
};

#define SEGMENTS 64

/* Whole native elements to store. */
struct window {
	_Alignas(64) unsigned char incoming[WINDOW_BYTES];
	_Alignas(64) unsigned char target[WINDOW_BYTES];
	uint64_t native_position; /* of the first one */
	size_t bytes;
	size_t segment_count;
	struct segment segments[SEGMENTS];
};

/* The caller's function sees pairs as C structs, whose padding the stream does not have. */
static void call_on_pairs(const struct dtc_typed *typed, unsigned char *target,
			  const unsigned char *incoming, size_t count)
{
	enum dtconv_predefined pair = typed->type->predefined;
	const struct dtc_predefined *row = dtc_predefined_row(pair);
	size_t value_bytes = dtc_predefined_row(row->value)->size;
	size_t index_bytes = row->size - value_bytes;

	for (size_t i = 0; i < count; i++, target += row->size, incoming += row->size) {
		_Alignas(16) unsigned char in[2 * DTC_ELEMENT_BYTES] = { 0 };
		_Alignas(16) unsigned char inout[2 * DTC_ELEMENT_BYTES] = { 0 };

		memcpy(in, incoming, value_bytes);
		memcpy(in + row->index_disp, incoming + value_bytes, index_bytes);
		memcpy(inout, target, value_bytes);
		memcpy(inout + row->index_disp, target + value_bytes, index_bytes);
		typed->op_fn(typed->op_arg, in, inout, 1, pair);
		memcpy(target, inout, value_bytes);
		memcpy(target + value_bytes, inout + row->index_disp, index_bytes);
	}
}

/* The caller's function gets aligned elements; in a window of different units they may be unaligned. */
static void call_on_elements(const struct dtc_typed *typed, const struct segment *segment,
			     unsigned char *target, const unsigned char *incoming)
{
	_Alignas(64) unsigned char in[WINDOW_BYTES], inout[WINDOW_BYTES];

	memcpy(in, incoming, segment->bytes);
	memcpy(inout, target, segment->bytes);
	typed->op_fn(typed->op_arg, in, inout, segment->count, segment->basic);
	memcpy(target, inout, segment->bytes);
}

static void combine(const struct dtc_typed *typed, const struct segment *segment,
		    unsigned char *target, const unsigned char *incoming)
{
	if (typed->op == DTCONV_OP_USER && typed->couples)
		call_on_pairs(typed, target, incoming, segment->count);
	else if (typed->op == DTCONV_OP_USER)
		call_on_elements(typed, segment, target, incoming);
	else if (typed->couples)
		dtc_reduce_couples_kernel(typed->op, segment->basic)(
			target, incoming, segment->count,
			dtc_predefined_row(segment->basic)->size, typed->index);
	else
		dtc_reduce_kernel(typed->op, segment->basic)(target, incoming,
							     segment->count);
}

/* Store the window's elements and empty it. */
static int flush(const struct dtc_typed *typed, const struct dtc_typed_move *move,
		 struct window *window)
{
	unsigned char *store = window->incoming;
	size_t bytes = window->bytes;
	size_t at = 0;
	int status;

	window->bytes = 0;
	if (bytes == 0 || typed->op == DTCONV_OP_NO_OP)
		return 0;
	if (typed->op != DTCONV_OP_REPLACE) {
		store = window->target;
		status = move_native(move, window->native_position, store, bytes,
				     DTC_PACK);
		if (status)
			return status;
		for (size_t i = 0; i < window->segment_count; i++) {
			combine(typed, &window->segments[i], store + at,
				window->incoming + at);
			at += window->segments[i].bytes;
		}
	}
	return move_native(move, window->native_position, store, bytes, DTC_UNPACK);
}

/* Record @count units at the window's end. */
static void append(struct window *window, const struct dtc_unit *unit, size_t count)
{
	size_t bytes = count * unit->native_bytes;
	struct segment *last = NULL;

	if (window->bytes == 0) {
		window->native_position = unit->native_position;
		window->segment_count = 0;
	}
	window->bytes += bytes;
	if (window->segment_count)
		last = &window->segments[window->segment_count - 1];
	if (last && last->basic == unit->basic) {
		last->count += count;
		last->bytes += bytes;
		return;
	}
	window->segments[window->segment_count++] =
		(struct segment){ unit->basic, count, bytes };
}

static bool is_full(const struct window *window, const struct dtc_unit *unit)
{
	return window->bytes + unit->native_bytes > sizeof(window->incoming) ||
	       (window->bytes && window->segment_count == SEGMENTS);
}

/* Units that are consecutive in the window are consecutive in the stream. */
static bool follows(const struct window *window, const struct dtc_unit *unit)
{
	return window->bytes == 0 ||
	       window->native_position + window->bytes == unit->native_position;
}

/* Keep bytes of the current unit, of which others are still to arrive. */
static int unpack_part(struct dtc_typed *typed, const struct dtc_typed_move *move,
		       const struct dtc_unit *unit, struct window *window, size_t *done)
{
	unsigned char whole[DTC_ELEMENT_BYTES];
	size_t skip = (size_t)(typed->position - unit->wire_position);
	size_t bytes = DTC_MIN(unit->wire_bytes - skip, move->bytes - *done);
	bool complete = false;

	int status = dtc_partial_elements_add(&typed->partial, typed->type->context,
					      unit->wire_position, unit->wire_bytes, skip,
					      (unsigned char *)move->packed + *done,
					      bytes, whole, &complete);
	if (status)
		return DTC_FAIL(typed->type->context, status,
				"%s: cannot allocate room for a partial element",
				move->caller);
	if (complete) {
		if (!convert_units(typed, unit, window->incoming + window->bytes, whole,
				   1, DTC_UNPACK))
			return does_not_fit(typed, unit, move->caller);
		append(window, unit, 1);
	}
	*done += bytes;
	if (skip + bytes == unit->wire_bytes)
		pass_units(typed, unit, 1);
	else
		typed->position += bytes;
	return 0;
}

static int unpack_whole(struct dtc_typed *typed, const struct dtc_typed_move *move,
			const struct dtc_unit *unit, struct window *window, size_t *done)
{
	size_t count = (move->bytes - *done) / unit->wire_bytes;

	count = DTC_MIN(count,
			(sizeof(window->incoming) - window->bytes) / unit->native_bytes);
	count = (size_t)DTC_MIN(unit->left, (uint64_t)count);
	size_t converted = convert_units(typed, unit, window->incoming + window->bytes,
					 (unsigned char *)move->packed + *done, count,
					 DTC_UNPACK);
	if (converted) {
		append(window, unit, converted);
		*done += converted * unit->wire_bytes;
		pass_units(typed, unit, converted);
	}
	return converted < count ? does_not_fit(typed, unit, move->caller) : 0;
}

int dtc_typed_unpack(struct dtc_typed *typed, const struct dtc_typed_move *move,
		     size_t *moved)
{
	struct window window;
	int status = 0;

	window.bytes = 0;
	*moved = 0;
	while (!status && *moved < move->bytes && typed->position < typed->size) {
		struct dtc_unit unit = current_unit(typed);
		bool cut = typed->position != unit.wire_position ||
			   move->bytes - *moved < unit.wire_bytes;

		if (is_full(&window, &unit) || !follows(&window, &unit))
			status = flush(typed, move, &window);
		if (status)
			break;
		status = cut ? unpack_part(typed, move, &unit, &window, moved)
			     : unpack_whole(typed, move, &unit, &window, moved);
	}
	/* Store the elements before one that does not fit. */
	int flushed = flush(typed, move, &window);
	return status ? status : flushed;
}

/* ---- sizes --------------------------------------------------------------------------- */

int dtconv_packed_size(const struct dtconv_type *type, size_t count,
		       const struct dtconv_representation *given, size_t *bytes)
{
	struct dtc_typed typed = { .count = count };

	if (!type || !bytes)
		return DTCONV_ERR_INVAL;
	typed.type = (struct dtconv_type *)type;
	int status = dtc_representation_resolve(type->context, __func__, given,
						&typed.representation);
	if (status)
		return status;
	typed.native = dtc_representation_is_native(&typed.representation);
	status = find_size(&typed, __func__);
	dtc_walk_sizes_destroy(typed.sizes);
	if (!status)
		*bytes = (size_t)typed.size;
	return status;
}
