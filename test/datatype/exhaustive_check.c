/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One small type: its numbers, its signature, its normal form, and every way to cut its
 * packed stream, against the oracle. All memory is a pair of arenas allocated once: the
 * source is never written; the target always holds its pattern between two checks.
 */
#include "config.h"

#include "exhaustive_check.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ARENA = 1 << 19,   /* bytes on either side of displacement 0 */
	MAX_PACKED = 8192, /* longest packed stream */
	GUARD = 64,        /* bytes that must stay as they are round all that is used */
	INSTANCES = 2      /* for whole packs */
};

struct checker {
	struct dtconv_context *context;
	struct dtconv_convertor *packer;
	struct dtconv_convertor *unpacker;
	unsigned char *source;   /* ARENA bytes before and after; a pattern */
	unsigned char *target;   /* likewise, the complement of the source's pattern */
	unsigned char *pristine; /* what target holds between checks */
	unsigned char *expected; /* what target must hold during one */
	unsigned char *packed;   /* MAX_PACKED and GUARD on either side */
	unsigned char *blank;    /* what packed is reset to: nowhere equal to stream */
	unsigned char *stream;   /* by the oracle */
	ptrdiff_t *places;       /* of each byte of the stream */
	size_t checks;
	char text[256];

	/* The type at hand. */
	struct dtconv_type *type;
	const struct ref_typemap *map;
	ptrdiff_t shift; /* displacement 0 lies so far from the arenas' middle */
	ptrdiff_t low;   /* bytes in use, guards included */
	ptrdiff_t high;
	size_t count; /* instances */
	size_t bytes; /* packed */
	bool scattered; /* far more gaps than data: look at the data only, then once at all */
};

static void *must(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

static unsigned char *arena(unsigned flip)
{
	unsigned char *memory = must(malloc(2 * (size_t)ARENA));

	for (size_t i = 0; i < 2 * (size_t)ARENA; i++)
		memory[i] = (unsigned char)(((i * 0x9e3779b97f4a7c15u) >> 56) ^ flip);
	return memory + ARENA;
}

struct checker *checker_create(struct dtconv_context *context)
{
	struct checker *c = must(calloc(1, sizeof(*c)));
	struct dtconv_type *byte = dtconv_type_predefined(context, DTCONV_BYTE);

	c->context = context;
	c->source = arena(0);
	c->target = arena(0xff);
	c->pristine = arena(0xff);
	c->expected = arena(0xff);
	c->packed = (unsigned char *)must(malloc(MAX_PACKED + 2 * GUARD)) + GUARD;
	c->blank = (unsigned char *)must(malloc(MAX_PACKED + 2 * GUARD)) + GUARD;
	c->stream = must(malloc(MAX_PACKED));
	c->places = must(malloc(MAX_PACKED * sizeof(*c->places)));
	memset(c->blank - GUARD, 0xa5, MAX_PACKED + 2 * GUARD);
	if (dtconv_convertor_create_pack(byte, 1, c->source, &c->packer) ||
	    dtconv_convertor_create_unpack(byte, 1, c->target, &c->unpacker))
		abort();
	return c;
}

void checker_destroy(struct checker *c)
{
	dtconv_convertor_destroy(c->packer);
	dtconv_convertor_destroy(c->unpacker);
	free(c->source - ARENA);
	free(c->target - ARENA);
	free(c->pristine - ARENA);
	free(c->expected - ARENA);
	free(c->packed - GUARD);
	free(c->blank - GUARD);
	free(c->stream);
	free(c->places);
	free(c);
}

size_t checker_count(const struct checker *c)
{
	return c->checks;
}

__attribute__((format(printf, 2, 3))) static const char *wrong(struct checker *c,
							       const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(c->text, sizeof(c->text), format, arguments);
	va_end(arguments);
	return c->text;
}

/* ---- numbers ------------------------------------------------------------------------- */

static const char *number(struct checker *c, const char *name, intmax_t got,
			  intmax_t want)
{
	c->checks++;
	return got == want ? NULL : wrong(c, "%s is %jd, not %jd", name, got, want);
}

static const char *check_numbers(struct checker *c)
{
	const struct ref_typemap *m = c->map;
	struct dtconv_type_attr a = { .struct_size = sizeof(a) };
	const char *failure = NULL;

	if (dtconv_type_query(c->type, &a))
		return "dtconv_type_query failed";
	const struct {
		const char *name;
		intmax_t got, want;
	} rows[] = {
		{ "size", (intmax_t)a.size, (intmax_t)m->size },
		{ "lb", a.lb, m->lb },
		{ "extent", a.extent, ref_typemap_extent(m) },
		{ "true_lb", a.true_lb, m->true_lb },
		{ "true_extent", a.true_extent, m->true_ub - m->true_lb },
		{ "element_count", (intmax_t)a.element_count, (intmax_t)m->count },
		{ "alignment", (intmax_t)a.alignment, (intmax_t)m->alignment },
		{ "predefined", a.predefined, ref_typemap_leaf(m) },
		{ "contiguous", a.contiguous, m->contiguous },
		{ "committed", a.committed, 1 },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && !failure; i++)
		failure = number(c, rows[i].name, rows[i].got, rows[i].want);
	return failure;
}

static const char *check_elements(struct checker *c)
{
	size_t size = c->map->size;
	const size_t bytes[] = { 0, 1, size / 2, size, size + 1, 2 * size };

	for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		size_t got = 0, want = ref_typemap_elements(c->map, bytes[i]);

		c->checks++;
		if (dtconv_type_query_elements(c->type, bytes[i], &got) || got != want)
			return wrong(c, "%zu bytes hold %zu elements, not %zu", bytes[i],
				     got, want);
	}
	return NULL;
}

/* ---- the same typemap, spelled as a flat list ---------------------------------------- */

static int make_flat(struct checker *c, struct dtconv_type **flat)
{
	const struct ref_typemap *m = c->map;
	size_t *lengths = must(malloc((m->count + 1) * sizeof(*lengths)));
	ptrdiff_t *disps = must(malloc((m->count + 1) * sizeof(*disps)));
	struct dtconv_type **types = must(malloc((m->count + 1) * sizeof(c->type)));
	struct dtconv_type *list = NULL;

	for (size_t i = 0; i < m->count; i++) {
		lengths[i] = 1;
		disps[i] = m->entries[i].disp;
		types[i] = dtconv_type_predefined(
			c->context, (enum dtconv_predefined)m->entries[i].basic);
	}
	int status = dtconv_type_create_struct(c->context, m->count, lengths, disps,
					       types, &list);
	if (!status)
		status = dtconv_type_create_resized(list, m->lb, ref_typemap_extent(m),
						    flat);
	if (!status)
		status = dtconv_type_commit(*flat);
	dtconv_type_unref(list);
	free(lengths);
	free(disps);
	free(types);
	return status;
}

static const char *check_relation(struct checker *c, const struct dtconv_type *flat,
				  size_t count, size_t flat_count)
{
	enum dtconv_signature_relation got = DTCONV_SIGNATURE_DIFFERENT, want;

	want = ref_typemap_compare_signature(c->map, count, c->map, flat_count);
	c->checks++;
	if (dtconv_type_compare_signature(c->type, count, flat, flat_count, &got) ||
	    got != want)
		return wrong(c, "signature relation of %zu to %zu is %d, not %d", count,
			     flat_count, got, want);
	return NULL;
}

static const char *check_hash(struct checker *c, const struct dtconv_type *flat)
{
	struct dtconv_type_attr a = { .struct_size = sizeof(a) },
				b = { .struct_size = sizeof(b) };

	c->checks++;
	if (dtconv_type_query(c->type, &a) || dtconv_type_query(flat, &b))
		return "dtconv_type_query failed";
	return a.signature_hash == b.signature_hash ? NULL
						    : "equal signatures, unequal hashes";
}

static bool is_progression(const ptrdiff_t disps[], size_t n)
{
	for (size_t i = 2; i < n; i++)
		if (disps[i] - disps[i - 1] != disps[1] - disps[0])
			return false;
	return true;
}

/*
 * Is the typemap a strided pattern, equal runs at equal steps? Those are promised one normal form,
 * whichever constructors made them.
 */
static bool is_strided(struct checker *c)
{
	const struct ref_entry *entry = c->map->entries;
	size_t runs = 0;
	ptrdiff_t first = 0, run = 0;

	if (c->map->count == 0 || c->map->count > MAX_PACKED)
		return c->map->count == 0;
	for (size_t i = 0; i < c->map->count; i++) {
		if (i > 0 && entry[i].disp == entry[i - 1].disp + entry[i - 1].size) {
			run += entry[i].size;
			continue;
		}
		if (runs == 1)
			first = run;
		if (runs > 1 && run != first)
			return false;
		c->places[runs++] = entry[i].disp;
		run = entry[i].size;
	}
	return (runs == 1 || run == first) && is_progression(c->places, runs);
}

static const char *check_program(struct checker *c, const struct dtconv_type *flat)
{
	char ours[2048], theirs[2048];
	size_t length = 0;

	if (!is_strided(c))
		return NULL;
	c->checks++;
	if (dtconv_type_format_program(c->type, ours, sizeof(ours), &length) ||
	    dtconv_type_format_program(flat, theirs, sizeof(theirs), &length))
		return "dtconv_type_format_program failed";
	return strcmp(ours, theirs) == 0
		       ? NULL
		       : wrong(c,
			       "program differs from the flat list's:\n%.100s--\n%.100s",
			       ours, theirs);
}

static const char *check_flat(struct checker *c)
{
	struct dtconv_type *flat = NULL;

	if (make_flat(c, &flat)) {
		dtconv_type_unref(flat);
		return "the flat list could not be made";
	}
	const char *failure = check_relation(c, flat, 1, 1);
	if (!failure)
		failure = check_relation(c, flat, 1, 2);
	if (!failure)
		failure = check_relation(c, flat, 3, 2);
	if (!failure)
		failure = check_hash(c, flat);
	if (!failure)
		failure = check_program(c, flat);
	dtconv_type_unref(flat);
	return failure;
}

/* ---- buffers ------------------------------------------------------------------------- */

/* Choose the number of instances and lay everything out for them. */
static bool set_up(struct checker *c, size_t count, size_t turn)
{
	c->count = count;
	c->bytes = c->map->size * count;
	c->shift = (ptrdiff_t)(turn % 16);
	c->low = ref_typemap_low(c->map, count) - GUARD;
	c->high = ref_typemap_high(c->map, count) + GUARD;
	if (c->bytes > MAX_PACKED || c->low + c->shift < -ARENA ||
	    c->high + c->shift > ARENA)
		return false;
	c->scattered = (size_t)(c->high - c->low) > 512 + 8 * c->bytes;
	ref_typemap_displacements(c->map, count, c->places);
	ref_typemap_pack(c->map, count, c->source + c->shift, c->stream);
	for (size_t i = 0; i < c->bytes; i++)
		c->blank[i] = (unsigned char)~c->stream[i];
	memset(c->blank + c->bytes, 0xa5, GUARD);
	memcpy(c->packed - GUARD, c->blank - GUARD, c->bytes + 2 * GUARD);
	return true;
}

/* Compare the target with what is expected, at all displacements in use or at the data. */
static bool target_good(const struct checker *c, bool everywhere)
{
	const unsigned char *target = c->target + c->shift,
			    *want = c->expected + c->shift;

	if (everywhere || !c->scattered)
		return memcmp(target + c->low, want + c->low,
			      (size_t)(c->high - c->low)) == 0;
	for (size_t i = 0; i < c->bytes; i++)
		if (target[c->places[i]] != want[c->places[i]])
			return false;
	return true;
}

/* Put the pattern back where data may have been stored; gaps are left to be looked at. */
static void reset(const struct checker *c, unsigned char *arena_middle)
{
	unsigned char *at = arena_middle + c->shift;
	const unsigned char *pristine = c->pristine + c->shift;

	for (size_t i = 0; i < c->bytes; i++)
		at[c->places[i]] = pristine[c->places[i]];
}

/* Bytes [from, to) of the stream are expected in the target from now on. */
static void expect(const struct checker *c, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		c->expected[c->shift + c->places[i]] = c->stream[i];
}

/* ---- whole --------------------------------------------------------------------------- */

static bool packed_good(const struct checker *c, size_t from, size_t to)
{
	return memcmp(c->packed + from, c->stream + from, to - from) == 0;
}

static bool packed_blank(const struct checker *c, size_t from, size_t to)
{
	return memcmp(c->packed + from, c->blank + from, to - from) == 0;
}

static const char *check_guards(struct checker *c)
{
	c->checks++;
	if (memcmp(c->packed - GUARD, c->blank - GUARD, GUARD) != 0 ||
	    memcmp(c->packed + c->bytes, c->blank + c->bytes, GUARD) != 0)
		return "a pack stored outside the packed buffer";
	if (!target_good(c, true))
		return "an unpack stored to a gap or outside the buffer";
	return NULL;
}

static const char *check_whole(struct checker *c)
{
	size_t moved = SIZE_MAX;

	c->checks += 2;
	if (dtconv_pack(c->type, c->count, c->source + c->shift, c->packed, c->bytes,
			&moved) ||
	    moved != c->bytes || !packed_good(c, 0, c->bytes))
		return wrong(c, "whole pack of %zu instances differs", c->count);
	moved = SIZE_MAX;
	if (dtconv_unpack(c->type, c->count, c->target + c->shift, c->stream, c->bytes,
			  &moved) ||
	    moved != c->bytes)
		return wrong(c, "whole unpack of %zu instances failed", c->count);
	expect(c, 0, c->bytes);
	const char *failure = target_good(c, true) ? check_guards(c)
						   : wrong(c, "whole unpack differs");
	reset(c, c->target);
	reset(c, c->expected);
	return failure;
}

/* ---- cuts ---------------------------------------------------------------------------- */

static bool pack_piece(struct checker *c, size_t from, size_t to)
{
	size_t moved = SIZE_MAX;

	c->checks++;
	return dtconv_convertor_pack(c->packer, c->packed + from, to - from, &moved) ==
		       0 &&
	       moved == to - from && packed_good(c, from, to);
}

static bool unpack_piece(struct checker *c, size_t from, size_t to)
{
	size_t moved = SIZE_MAX;

	c->checks++;
	return dtconv_convertor_unpack(c->unpacker, c->stream + from, to - from,
				       &moved) == 0 &&
	       moved == to - from;
}

static bool seek_both(struct checker *c, size_t position)
{
	return dtconv_convertor_seek(c->packer, position) == 0 &&
	       dtconv_convertor_seek(c->unpacker, position) == 0;
}

/* First to last: the head alone must leave the rest as it was. */
static const char *cut_forwards(struct checker *c, size_t cut)
{
	if (!seek_both(c, 0) || !pack_piece(c, 0, cut) ||
	    !packed_blank(c, cut, c->bytes) || !pack_piece(c, cut, c->bytes))
		return wrong(c, "pack cut at %zu differs", cut);
	if (!unpack_piece(c, 0, cut) || !target_good(c, false))
		return wrong(c, "unpack of bytes 0 to %zu differs", cut);
	if (!unpack_piece(c, cut, c->bytes))
		return wrong(c, "unpack from %zu to the end failed", cut);
	return NULL;
}

/* Last to first. */
static const char *cut_backwards(struct checker *c, size_t cut)
{
	if (!seek_both(c, cut) || !pack_piece(c, cut, c->bytes) ||
	    !packed_blank(c, 0, cut) || !unpack_piece(c, cut, c->bytes))
		return wrong(c, "moving bytes from %zu to the end failed", cut);
	if (!seek_both(c, 0) || !pack_piece(c, 0, cut) || !unpack_piece(c, 0, cut))
		return wrong(c, "moving bytes 0 to %zu after the rest failed", cut);
	return NULL;
}

static const char *check_two_fragments(struct checker *c)
{
	for (size_t cut = 0; cut <= c->bytes; cut++) {
		expect(c, cut ? cut - 1 : 0, cut);
		memcpy(c->packed, c->blank, c->bytes);
		const char *failure = cut_forwards(c, cut);
		if (!failure && cut % 2 == 1) {
			memcpy(c->packed, c->blank, c->bytes);
			reset(c, c->target);
			failure = cut_backwards(c, cut);
		}
		for (size_t i = 0; i < c->bytes && !failure; i++)
			if (c->target[c->shift + c->places[i]] != c->stream[i])
				failure = wrong(c, "unpack cut at %zu differs", cut);
		reset(c, c->target);
		if (failure)
			return failure;
	}
	reset(c, c->expected);
	return check_guards(c);
}

/* Three pieces, in order or the middle one last. */
static bool move_three(struct checker *c, size_t a, size_t b)
{
	const size_t edges[] = { 0, a, b, c->bytes };
	static const size_t orders[2][3] = { { 0, 1, 2 }, { 2, 0, 1 } };
	const size_t *order = orders[(a + b) % 2];

	for (size_t i = 0; i < 3; i++) {
		size_t from = edges[order[i]], to = edges[order[i] + 1];

		if (!seek_both(c, from) || !pack_piece(c, from, to) ||
		    !unpack_piece(c, from, to))
			return false;
	}
	return packed_good(c, 0, c->bytes);
}

static const char *check_three_fragments(struct checker *c)
{
	for (size_t a = 0; a <= c->bytes; a++)
		for (size_t b = a; b <= c->bytes; b++) {
			memcpy(c->packed, c->blank, c->bytes);
			bool moved = move_three(c, a, b);
			expect(c, 0, c->bytes);
			bool good = moved && target_good(c, false);
			reset(c, c->target);
			reset(c, c->expected);
			if (!good)
				return wrong(c,
					     "three fragments cut at %zu and %zu differ",
					     a, b);
		}
	return check_guards(c);
}

static const char *check_cuts(struct checker *c)
{
	if (dtconv_convertor_rebind_pack(c->packer, c->type, c->count,
					 c->source + c->shift) ||
	    dtconv_convertor_rebind_unpack(c->unpacker, c->type, c->count,
					   c->target + c->shift))
		return "a convertor could not be bound";
	const char *failure = check_two_fragments(c);
	if (!failure && c->bytes <= 12)
		failure = check_three_fragments(c);
	return failure;
}

/* After a failure the arenas may hold anything. */
static void restore(struct checker *c)
{
	memcpy(c->target - ARENA, c->pristine - ARENA, 2 * (size_t)ARENA);
	memcpy(c->expected - ARENA, c->pristine - ARENA, 2 * (size_t)ARENA);
}

static const char *check_moves(struct checker *c, size_t turn)
{
	if (!set_up(c, INSTANCES, turn))
		return "too large for the test's arenas";
	const char *failure = check_whole(c);
	if (failure)
		return failure;
	/* Small streams are cut across two instances as well. */
	if (c->bytes > 24 && !set_up(c, 1, turn))
		return "too large for the test's arenas";
	return check_cuts(c);
}

const char *checker_run(struct checker *c, struct dtconv_type *type,
			const struct ref_typemap *map, size_t turn)
{
	c->type = type;
	c->map = map;
	const char *failure = check_numbers(c);
	if (!failure)
		failure = check_elements(c);
	if (!failure)
		failure = check_flat(c);
	if (failure)
		return failure;
	failure = check_moves(c, turn);
	if (failure)
		restore(c);
	return failure;
}
