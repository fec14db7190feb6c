/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From signatures to nodes of units, and from stretches of units to launches.
 */
#include "config.h"

#include "typed.h"

#include <string.h>

#include <dtconv/status.h>

#include "base/base.h"
#include "classes.h"
#include "datatype/predefined.h"
#include "magic.h"
#include "nest.h"
#include "shape.h"

_Static_assert(sizeof(struct dtc_gpu_units_params) <= DTC_GPU_PARAMS_BYTES, "too long");
_Static_assert(sizeof(struct dtc_gpu_period_params) <= DTC_GPU_PARAMS_BYTES, "too long");

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

/* DTC_GPU_BITS if the device has no arithmetic for it. */
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

/* Of one of the two numbers, or, for products, of both. */
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

/* The bytes of a complex number that is a whole are reversed in two halves. */
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

/* Returns the reason why not. @numbers is how many make an element. */
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

/* Nodes behind each other get their places; @trip becomes what all are together. */
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

/* Bodies are behind their heads, so go backwards. */
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

/* The loop over all instances; a run that is all of an instance is one run in all. */
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

/* Of a trip, or of a unit. */
static uint64_t step(const struct dtc_gpu_node *node, enum measure measure)
{
	return measure == BY_UNIT     ? node->trip_units
	       : measure == BY_NATIVE ? node->native_bytes
				      : node->wire_bytes;
}

/* The unit at @position, by that measure; the end counts as one more trip of the root. */
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

/* ---- planning ----------------------------------------------------------------------------------- */

static bool has_one_kind(const struct dtc_gpu_units *units)
{
	const struct dtc_gpu_number *number = &units->nodes[0].number;

	return units->node_count == 1 && !units->couples &&
	       number->native_bytes == number->wire_bytes;
}

/* The longest word that both sides, the strides and the stretch are multiples of. */
static uint32_t word_of(const struct dtc_gpu_shape *shape)
{
	return dtc_gpu_alignment(dtc_gpu_shape_bits(shape) | shape->begin | shape->end |
				 (shape->loop_count ? shape->leaf_bytes : 0));
}

static bool make_nest(const struct dtc_gpu_shape *shape, uint32_t word,
		      struct dtc_gpu_nest *nest)
{
	const char *reason;

	*nest = (struct dtc_gpu_nest){ .word = (uint8_t)word };
	dtc_gpu_set_level(nest, 0, shape->leaf_bytes / word, (int64_t)word);
	return dtc_gpu_set_loops(shape, 1, nest, &reason) &&
	       dtc_gpu_set_width(nest, shape->end / word, &reason);
}

/* Words of whole numbers in a nest: no program is needed. */
static bool plan_numbers(const struct dtc_gpu_typed_job *job,
			 struct dtc_gpu_launch *launch, uint64_t *tiles)
{
	struct dtc_gpu_numbers_params *params = &launch->params.numbers;
	const struct dtc_gpu_number *number = &job->units->nodes[0].number;
	struct dtc_gpu_shape shape;

	if (!has_one_kind(job->units))
		return false;
	dtc_gpu_shape_of_job(&job->job, &shape);
	uint32_t word = word_of(&shape);
	if (shape.leaf != DTC_GPU_LEAF_BLOCK || word < number->native_bytes ||
	    !make_nest(&shape, word, &params->nest))
		return false;
	params->combination = job->units->combination;
	params->number = *number;
	launch->word = word;
	launch->run_bytes = shape.leaf_bytes;
	launch->kernel = job->job.direction == DTC_PACK ? DTC_GPU_numbers_pack
							: DTC_GPU_numbers_unpack;
	*tiles = dtc_divide_up((shape.end - shape.begin) / word,
			   DTC_GPU_NUMBER_WORDS * DTC_GPU_BLOCK);
	return true;
}

/* The longest word that the runs of a period are multiples of too. */
static uint32_t word_of_runs(const struct dtc_gpu_period_params *params,
			     const struct dtc_gpu_shape *shape)
{
	uint64_t bits = dtc_gpu_shape_bits(shape) | shape->begin | shape->end |
			shape->leaf_bytes;

	for (uint32_t i = 0; i < params->run_count; i++)
		bits |= (uint64_t)(int64_t)params->runs[i].disp | params->runs[i].packed;
	return dtc_gpu_alignment(bits);
}

static bool copy_runs(const struct dtc_program *program,
		      const struct dtc_gpu_shape *shape, uint16_t swap,
		      struct dtc_gpu_period_params *params)
{
	struct dtc_gpu_periodic_params found;

	found.run_count = 0;
	if (!dtc_gpu_list_runs(&found, program, shape))
		return false;
	params->run_count = found.run_count;
	for (uint32_t i = 0; i < found.run_count; i++)
		params->runs[i] = (struct dtc_gpu_turned_run){
			.disp = found.runs[i].disp,
			.packed = (uint16_t)found.runs[i].packed,
			.swap = swap
		};
	return true;
}

uint64_t dtc_gpu_finish_period(const struct dtc_gpu_typed_job *job,
			       struct dtc_gpu_launch *launch)
{
	const struct dtc_gpu_period_params *params = &launch->params.period;
	const struct dtc_gpu_nest *nest = &params->numbers.nest;
	uint32_t words = params->turned ? DTC_GPU_WORDS(nest->word)
					: DTC_GPU_NUMBER_WORDS;
	size_t entry = params->turned ? sizeof(struct dtc_gpu_turned_word)
				      : sizeof(int32_t);

	launch->word = nest->word;
	launch->shared_bytes = (uint32_t)(nest->dims[0].count * entry);
	launch->kernel = job->job.direction == DTC_PACK ? DTC_GPU_period_pack
							: DTC_GPU_period_unpack;
	return dtc_divide_up(nest->end / nest->word - nest->begin / nest->word,
			     (uint64_t)words * DTC_GPU_BLOCK);
}

/* Words of whole numbers of one kind in periods. */
static uint64_t plan_period(const struct dtc_gpu_typed_job *job,
			    struct dtc_gpu_launch *launch)
{
	struct dtc_gpu_period_params *params = &launch->params.period;
	const struct dtc_gpu_number *number = &job->units->nodes[0].number;
	struct dtc_gpu_nest *nest = &params->numbers.nest;
	struct dtc_gpu_shape shape;
	const char *reason;

	if (!has_one_kind(job->units))
		return 0;
	dtc_gpu_shape_of_job(&job->job, &shape);
	memset(params, 0, sizeof(*params));
	if (shape.leaf == DTC_GPU_LEAF_BLOCK ||
	    shape.leaf_bytes > DTC_GPU_PERIOD_UNITS * DTC_GPU_PIECE ||
	    !copy_runs(job->job.layout->program, &shape, number->swap, params))
		return 0;
	uint32_t word = word_of_runs(params, &shape);
	if (word < number->native_bytes || shape.leaf_bytes / word > DTC_GPU_PERIOD_UNITS)
		return 0;
	nest->word = (uint8_t)word;
	dtc_gpu_set_level(nest, 0, shape.leaf_bytes / word, 0);
	if (!dtc_gpu_set_loops(&shape, 1, nest, &reason) ||
	    !dtc_gpu_set_width(nest, shape.end / word, &reason))
		return 0;
	params->numbers.combination = job->units->combination;
	params->numbers.number = *number;
	params->turned = word >= 4 && job->units->combination == DTC_GPU_REPLACE;
	return dtc_gpu_finish_period(job, launch);
}

static bool is_word(const struct dtc_gpu_number *number)
{
	return number->native_bytes == number->wire_bytes &&
	       (number->native_bytes == 4 || number->native_bytes == 8);
}

/* Numbers of 4 and 8 bytes are loaded in as few words as their places allow. */
static void choose_words(const struct dtc_gpu_typed_job *job,
			 const struct dtc_gpu_shape *shape,
			 struct dtc_gpu_units_params *params)
{
	const struct dtc_gpu_node *couple = &job->units->nodes[0];
	uint64_t user = shape->user;
	/* All couples of a block, and of the stream, are as far apart as they are long. */
	uint64_t step = shape->leaf_bytes > couple->native_bytes ? couple->native_bytes
								 : 0;

	for (uint32_t i = 0; i < shape->loop_count; i++)
		user |= (uint64_t)shape->loops[i].stride;
	params->couple_words[0] = (uint8_t)DTC_MIN(dtc_gpu_alignment(user | step), 8u);
	params->couple_words[1] = (uint8_t)DTC_MIN(
		dtc_gpu_alignment(job->job.packed | couple->wire_bytes), 8u);
	if (is_word(&couple[0].number) && is_word(&couple[1].number) &&
	    params->couple_words[0] >= 4 && params->couple_words[1] >= 4)
		params->couple_form = DTC_GPU_COUPLES_WORDS;
}

/* Couples behind each other, in a nest: no program is needed. */
static bool plan_couples(const struct dtc_gpu_typed_job *job,
			 struct dtc_gpu_units_params *params)
{
	const struct dtc_gpu_node *couple = &job->units->nodes[0];
	struct dtc_gpu_nest *nest = &params->nest;
	struct dtc_gpu_shape shape;
	const char *reason;

	dtc_gpu_shape_of_job(&job->job, &shape);
	if (shape.leaf != DTC_GPU_LEAF_BLOCK || shape.leaf_bytes % couple->native_bytes)
		return false;
	params->begin = shape.begin / couple->native_bytes;
	params->end = shape.end / couple->native_bytes;
	params->packed = job->job.packed - params->begin * couple->wire_bytes;
	dtc_gpu_set_level(nest, 0, shape.leaf_bytes / couple->native_bytes,
			  (int64_t)couple->native_bytes);
	if (!dtc_gpu_set_loops(&shape, 1, nest, &reason) ||
	    !dtc_gpu_set_width(nest, params->end, &reason)) {
		nest->dim_count = 0;
		return false;
	}
	choose_words(job, &shape, params);
	return true;
}

static bool plan_walk(const struct dtc_gpu_typed_job *job,
		      struct dtc_gpu_units_params *params)
{
	const struct dtc_layout *layout = job->job.layout;

	params->walk = (struct dtc_gpu_walk){ .user = job->job.user,
					      .image = job->job.image,
					      .size = layout->size,
					      .extent = layout->extent,
					      .by_size = dtc_gpu_divisor(layout->size) };
	params->packed = job->job.packed - job->begin.wire;
	params->begin = job->begin.unit;
	params->end = job->end.unit;
	return job->job.image;
}

static bool couples_are_long(const struct dtc_gpu_units *units)
{
	const struct dtc_gpu_number *value = &units->nodes[0].number;
	const struct dtc_gpu_number *index = &units->nodes[1].number;

	return (value->native_bytes | value->wire_bytes | index->native_bytes |
		index->wire_bytes) > DTC_GPU_CELL_BYTES;
}

static int plan_units(const struct dtc_gpu_typed_job *job, struct dtc_gpu_launch *launch,
		      uint64_t *tiles)
{
	struct dtc_gpu_units_params *params = &launch->params.units;
	const struct dtc_gpu_units *units = job->units;

	memset(params, 0, sizeof(*params));
	if (!(units->couples && plan_couples(job, params)) && !plan_walk(job, params))
		return DTCONV_ERR_UNSUPPORTED;
	params->fault = job->fault;
	params->combination = units->combination;
	params->node_count = (uint16_t)units->node_count;
	if (units->couples && couples_are_long(units))
		params->couple_form = DTC_GPU_COUPLES_LONG;
	memcpy(params->nodes, units->nodes, sizeof(params->nodes));
	launch->word = 1;
	launch->kernel = units->couples                   ? DTC_GPU_couples_unpack
			 : job->job.direction == DTC_PACK ? DTC_GPU_units_pack
							  : DTC_GPU_units_unpack;
	*tiles =
		dtc_divide_up(params->end - params->begin, DTC_GPU_UNITS * DTC_GPU_BLOCK);
	return 0;
}

int dtc_gpu_plan_typed(const struct dtc_gpu_typed_job *job, struct dtc_gpu_launch *launch)
{
	uint64_t tiles = 0;
	int status = 0;

	memset(launch, 0, sizeof(*launch));
	launch->class = DTC_GPU_CLASS_TYPED;
	launch->bytes = job->end.wire - job->begin.wire;
	if (!plan_numbers(job, launch, &tiles)) {
		tiles = plan_period(job, launch);
		if (!tiles)
			tiles = dtc_gpu_plan_cells(job, launch);
		if (!tiles)
			status = plan_units(job, launch, &tiles);
	}
	if (status || tiles > INT32_MAX)
		return DTCONV_ERR_UNSUPPORTED;
	launch->grid = (uint32_t)tiles;
	launch->params_bytes = (uint32_t)dtc_gpu_kernel_params_bytes(launch->kernel);
	return 0;
}
