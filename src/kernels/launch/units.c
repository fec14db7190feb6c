/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Converts signatures to nodes of units, and positions of a stream to units.
 */
#include "config.h"

#include "units.h"

#include <string.h>

#include "base/base.h"
#include "datatype/predefined.h"
#include "kernels/cpu/kernels.h"
#include "magic.h"

/* ---- numbers ------------------------------------------------------------------------------------ */

static const uint8_t combinations[DTCONV_OP_COUNT] = {
	[DTCONV_OP_SUM] = DTC_GPU_SUM,       [DTCONV_OP_PROD] = DTC_GPU_PROD,
	[DTCONV_OP_MIN] = DTC_GPU_MIN,       [DTCONV_OP_MAX] = DTC_GPU_MAX,
	[DTCONV_OP_LAND] = DTC_GPU_LAND,     [DTCONV_OP_LOR] = DTC_GPU_LOR,
	[DTCONV_OP_LXOR] = DTC_GPU_LXOR,     [DTCONV_OP_BAND] = DTC_GPU_BAND,
	[DTCONV_OP_BOR] = DTC_GPU_BOR,       [DTCONV_OP_BXOR] = DTC_GPU_BXOR,
	[DTCONV_OP_MINLOC] = DTC_GPU_MINLOC, [DTCONV_OP_MAXLOC] = DTC_GPU_MAXLOC,
};

static enum dtc_gpu_number_kind integer_kind(const struct dtc_predefined *row)
{
	int log = row->size == 16 ? 4 : __builtin_ctzll(row->size);
	int first = row->is_unsigned || row->group == DTC_GROUP_BYTE ? DTC_GPU_U8
								     : DTC_GPU_I8;

	return (enum dtc_gpu_number_kind)(first + log);
}

/* DTC_GPU_BITS if the device has no arithmetic for the type. */
static enum dtc_gpu_number_kind floating_kind(const struct dtc_predefined *row,
					      enum dtconv_predefined basic)
{
	if (basic == DTCONV_LONG_DOUBLE)
		return DTC_GPU_BITS;
	if (basic == DTCONV_BFLOAT16)
		return DTC_GPU_BF16;
	switch (row->size) {
	case 2:
		return DTC_GPU_F16;
	case 4:
		return DTC_GPU_F32;
	case 8:
		return DTC_GPU_F64;
	default:
		return DTC_GPU_BITS;
	}
}

/* The kind of one of the two numbers; for products, of the complex number. */
static enum dtc_gpu_number_kind complex_kind(const struct dtc_predefined *row,
					     enum dtconv_predefined basic, bool product)
{
	if (basic == DTCONV_C_LONG_DOUBLE_COMPLEX ||
	    basic == DTCONV_CXX_LONG_DOUBLE_COMPLEX)
		return DTC_GPU_BITS;
	switch (row->size) {
	case 4:
		return product ? DTC_GPU_C16 : DTC_GPU_F16;
	case 8:
		return product ? DTC_GPU_C32 : DTC_GPU_F32;
	case 16:
		return product ? DTC_GPU_C64 : DTC_GPU_F64;
	default:
		return DTC_GPU_BITS;
	}
}

static enum dtc_gpu_number_kind kind_of(enum dtconv_predefined basic, enum dtconv_op op)
{
	const struct dtc_predefined *row = dtc_predefined_row(basic);

	switch (row->group) {
	case DTC_GROUP_FLOATING:
		return floating_kind(row, basic);
	case DTC_GROUP_COMPLEX:
		return complex_kind(row, basic, op == DTCONV_OP_PROD);
	case DTC_GROUP_TEXT:
	case DTC_GROUP_PAIR:
		return DTC_GPU_BITS;
	default:
		return integer_kind(row);
	}
}

/* A complex number that is one unit has its two halves reversed separately. */
static void join_numbers(struct dtc_gpu_number *number)
{
	number->native_bytes = (uint8_t)(2 * number->native_bytes);
	number->wire_bytes = (uint8_t)(2 * number->wire_bytes);
}

static struct dtc_gpu_number number_of(const struct dtc_conversion *conversion)
{
	bool swaps = conversion->from.big_endian != conversion->to.big_endian;

	return (struct dtc_gpu_number){
		.native_bytes = conversion->from.bytes,
		.wire_bytes = conversion->to.bytes,
		.is_signed = conversion->from.kind == DTC_NUMBER_SIGNED,
		.swap = swaps && conversion->to.bytes > 1 ? conversion->to.bytes : 0,
	};
}

static bool is_product_of_complex(enum dtc_gpu_number_kind kind)
{
	return kind >= DTC_GPU_C16;
}

/*
 * Returns NULL, or the reason why it is unsupported. @numbers is the number of numbers in an
 * element.
 */
static const char *find_number(const struct dtc_gpu_typing *typing,
			       enum dtconv_predefined basic,
			       struct dtc_gpu_number *number, uint32_t *numbers)
{
	const struct dtc_conversion *conversion = &typing->to_wire[basic];
	enum dtc_gpu_number_kind kind = kind_of(basic, typing->op);

	if (conversion->kind == DTC_CONVERSION_FLOAT)
		return "the device kernels do not convert formats of long double";
	*number = number_of(conversion);
	*numbers = conversion->numbers;
	if (number->native_bytes & (number->native_bytes - 1))
		return "the device kernels do not support 12-byte numbers";
	if (typing->op == DTCONV_OP_REPLACE)
		return NULL;
	if (kind == DTC_GPU_BITS)
		return "devices have no arithmetic for long double and 16-byte reals";
	number->kind = (uint8_t)kind;
	if (is_product_of_complex(kind)) {
		join_numbers(number);
		*numbers = 1;
	}
	return NULL;
}

static void note_number(struct dtc_gpu_units *units, const struct dtc_gpu_number *number)
{
	units->narrows[DTC_PACK] |= number->wire_bytes < number->native_bytes;
	units->narrows[DTC_UNPACK] |= number->native_bytes < number->wire_bytes;
	units->wire_bytes_most =
		DTC_MAX(units->wire_bytes_most, (uint32_t)number->wire_bytes);
}

/* ---- nodes -------------------------------------------------------------------------------------- */

static uint64_t trips_of(const struct dtc_gpu_node *node)
{
	return node->units / node->trip_units;
}

static uint64_t wire_bytes_of(const struct dtc_gpu_node *node)
{
	return trips_of(node) * node->wire_bytes;
}

static uint64_t native_bytes_of(const struct dtc_gpu_node *node)
{
	return trips_of(node) * node->native_bytes;
}

/* Assign positions to consecutive nodes; @trip becomes their sum. */
static void place_siblings(struct dtc_gpu_node nodes[], uint32_t count,
			   struct dtc_gpu_node *trip)
{
	uint64_t units = 0, native = 0, wire = 0;

	for (uint32_t i = 0; i < count; i += nodes[i].body + 1u) {
		nodes[i].units_before = units;
		nodes[i].native_before = native;
		nodes[i].wire_before = wire;
		units += nodes[i].units;
		native += native_bytes_of(&nodes[i]);
		wire += wire_bytes_of(&nodes[i]);
	}
	trip->trip_units = units;
	trip->native_bytes = native;
	trip->wire_bytes = wire;
}

static const char *make_run(const struct dtc_gpu_typing *typing,
			    const struct dtc_signature_node *from,
			    struct dtc_gpu_units *units, struct dtc_gpu_node *node)
{
	uint32_t numbers;
	const char *reason = find_number(typing, (enum dtconv_predefined)from->basic,
					 &node->number, &numbers);

	if (reason)
		return reason;
	note_number(units, &node->number);
	node->units = from->count * numbers;
	node->trip_units = 1;
	node->native_bytes = node->number.native_bytes;
	node->wire_bytes = node->number.wire_bytes;
	return NULL;
}

/* A body follows its loop, so go from back to front. */
static const char *make_nodes(const struct dtc_gpu_typing *typing,
			      struct dtc_gpu_units *units)
{
	const struct dtc_signature *signature = typing->signature;
	struct dtc_gpu_node *nodes = units->nodes + 1;
	const char *reason = NULL;

	for (size_t i = signature->node_count; i-- > 0 && !reason;) {
		const struct dtc_signature_node *from = &signature->nodes[i];

		nodes[i].body = (uint16_t)(from->is_loop ? from->body : 0);
		if (!from->is_loop) {
			reason = make_run(typing, from, units, &nodes[i]);
			continue;
		}
		place_siblings(&nodes[i + 1], nodes[i].body, &nodes[i]);
		nodes[i].units = nodes[i].trip_units * from->count;
	}
	return reason;
}

/* Add the loop over all instances. If an instance is a single run, extend the run instead. */
static void finish_nodes(const struct dtc_gpu_typing *typing, struct dtc_gpu_units *units)
{
	struct dtc_gpu_node *root = units->nodes;
	uint32_t count = (uint32_t)typing->signature->node_count;

	if (count == 1) {
		root[0] = root[1];
		root->units *= typing->count;
		units->node_count = 1;
		return;
	}
	root->body = (uint16_t)count;
	place_siblings(root + 1, count, root);
	root->units = root->trip_units * typing->count;
	units->node_count = count + 1;
}

static const char *make_couples(const struct dtc_gpu_typing *typing,
				struct dtc_gpu_units *units)
{
	struct dtc_gpu_number *value = &units->nodes[0].number;
	struct dtc_gpu_number *index = &units->nodes[1].number;
	uint32_t numbers;
	const char *reason = find_number(typing, typing->value, value, &numbers);

	if (!reason)
		reason = find_number(typing, typing->index, index, &numbers);
	if (reason)
		return reason;
	note_number(units, value);
	note_number(units, index);
	units->wire_bytes_most = (uint32_t)value->wire_bytes + index->wire_bytes;
	units->couples = true;
	units->node_count = 1;
	units->nodes[0].units = typing->signature->element_count / 2 * typing->count;
	units->nodes[0].trip_units = 1;
	units->nodes[0].native_bytes =
		(uint64_t)value->native_bytes + index->native_bytes;
	units->nodes[0].wire_bytes = units->wire_bytes_most;
	return NULL;
}

const char *dtc_gpu_units_make(const struct dtc_gpu_typing *typing,
			       struct dtc_gpu_units *units)
{
	const char *reason;

	*units = (struct dtc_gpu_units){ .combination = combinations[typing->op] };
	if (typing->op == DTCONV_OP_USER)
		return "user-defined operations run on the host only";
	if (typing->couples) {
		reason = make_couples(typing, units);
	} else if (typing->signature->node_count >= DTC_GPU_NODES) {
		return "the type's signature has more nodes than a kernel supports";
	} else {
		reason = make_nodes(typing, units);
		if (!reason)
			finish_nodes(typing, units);
	}
	units->count = units->nodes[0].units;
	return reason;
}

/* ---- places ------------------------------------------------------------------------------------- */

enum measure { BY_UNIT, BY_NATIVE, BY_WIRE };

static uint64_t before(const struct dtc_gpu_node *node, enum measure measure)
{
	return measure == BY_UNIT     ? node->units_before
	       : measure == BY_NATIVE ? node->native_before
				      : node->wire_before;
}

/* The size of an iteration, or of a unit. */
static uint64_t step(const struct dtc_gpu_node *node, enum measure measure)
{
	return measure == BY_UNIT     ? node->trip_units
	       : measure == BY_NATIVE ? node->native_bytes
				      : node->wire_bytes;
}

/*
 * Find the unit at @position in the given measure. The end of the stream counts as the start of
 * another iteration of the root.
 */
static void find_run(const struct dtc_gpu_units *units, uint64_t position,
		     enum measure measure, struct dtc_gpu_number_run *run)
{
	const struct dtc_gpu_node *node = units->nodes;
	struct dtc_gpu_unit_place *place = &run->place;

	*place = (struct dtc_gpu_unit_place){ 0, 0, 0 };
	for (;;) {
		while (node != units->nodes &&
		       position - before(node, measure) >=
			       trips_of(node) * step(node, measure))
			node += node->body + 1u;
		position -= before(node, measure);
		uint64_t trip = position / step(node, measure);

		place->unit += node->units_before + trip * node->trip_units;
		place->native += node->native_before + trip * node->native_bytes;
		place->wire += node->wire_before + trip * node->wire_bytes;
		position -= trip * step(node, measure);
		run->count = trips_of(node) - trip;
		if (!node->body || (node == units->nodes && trip == trips_of(node)))
			break;
		node++;
	}
	run->number = &node->number;
}

static struct dtc_gpu_unit_place find_place(const struct dtc_gpu_units *units,
					    uint64_t position, enum measure measure)
{
	struct dtc_gpu_number_run run;

	find_run(units, position, measure, &run);
	return run.place;
}

struct dtc_gpu_unit_place dtc_gpu_units_at_wire(const struct dtc_gpu_units *units,
						uint64_t wire)
{
	return find_place(units, wire, BY_WIRE);
}

struct dtc_gpu_unit_place dtc_gpu_units_at_native(const struct dtc_gpu_units *units,
						  uint64_t native)
{
	return find_place(units, native, BY_NATIVE);
}

struct dtc_gpu_unit_place dtc_gpu_units_at(const struct dtc_gpu_units *units,
					   uint64_t unit)
{
	return find_place(units, unit, BY_UNIT);
}

void dtc_gpu_units_run_at(const struct dtc_gpu_units *units, uint64_t native,
			  struct dtc_gpu_number_run *run)
{
	find_run(units, native, BY_NATIVE, run);
}

uint64_t dtc_gpu_units_trip(const struct dtc_gpu_units *units, uint64_t begin,
			    uint64_t end, uint64_t *start)
{
	const struct dtc_gpu_node *node = units->nodes;

	*start = begin;
	for (;;) {
		while (begin >= node->native_before + native_bytes_of(node))
			node += node->body + 1u;
		begin -= node->native_before;
		end -= node->native_before;
		uint64_t inside = begin % node->native_bytes;

		if (end > native_bytes_of(node))
			return 0;
		if (!node->body || end > begin - inside + node->native_bytes) {
			*start -= inside;
			return node->native_bytes;
		}
		end -= begin - inside;
		begin = inside;
		node++;
	}
}
