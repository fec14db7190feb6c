/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Elements by the book: integers through 128-bit arithmetic of the compiler's widest type,
 * floating point through its casts.
 */
#include "config.h"

#include "support/ref_element.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

#include "support/choices.h"
#include "support/ref_predefined.h"
#include "support/ref_typemap.h"

#ifdef __SIZEOF_FLOAT128__
typedef __float128 quad;
#else
typedef long double quad;
#endif

#define HERE_IS_BIG (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

/* Those that matter: an x87 number leaves the rest of its place unused. */
#define LONG_DOUBLE_BYTES (LDBL_MANT_DIG == 64 ? 10 : sizeof(long double))

#if LDBL_MANT_DIG == 113
#define LONG_DOUBLE_HERE DTCONV_LONG_DOUBLE_BINARY128
#elif LDBL_MANT_DIG == 53
#define LONG_DOUBLE_HERE DTCONV_LONG_DOUBLE_BINARY64
#elif defined(__i386__)
#define LONG_DOUBLE_HERE DTCONV_LONG_DOUBLE_X87_12
#else
#define LONG_DOUBLE_HERE DTCONV_LONG_DOUBLE_X87_16
#endif

static bool is_big(const struct dtconv_representation *r)
{
	return r && r->byte_order ? r->byte_order == DTCONV_ORDER_BIG : HERE_IS_BIG;
}

/* ---- what the basic types are -------------------------------------------------------- */

enum sort { TEXT, BITS, LOGICAL, SIGNED, UNSIGNED, REAL, BRAIN, COMPLEX };

static enum sort sort_of(enum dtconv_predefined basic)
{
	switch (basic) {
	case DTCONV_BYTE:
		return BITS;
	case DTCONV_PACKED:
	case DTCONV_CHAR:
	case DTCONV_CHARACTER:
	case DTCONV_WCHAR:
		return TEXT;
	case DTCONV_C_BOOL:
	case DTCONV_CXX_BOOL:
	case DTCONV_LOGICAL:
		return LOGICAL;
	case DTCONV_UNSIGNED_CHAR:
	case DTCONV_UNSIGNED_SHORT:
	case DTCONV_UNSIGNED:
	case DTCONV_UNSIGNED_LONG:
	case DTCONV_UNSIGNED_LONG_LONG:
	case DTCONV_UINT8:
	case DTCONV_UINT16:
	case DTCONV_UINT32:
	case DTCONV_UINT64:
		return UNSIGNED;
	case DTCONV_FLOAT:
	case DTCONV_DOUBLE:
	case DTCONV_LONG_DOUBLE:
	case DTCONV_FLOAT16:
	case DTCONV_REAL:
	case DTCONV_DOUBLE_PRECISION:
	case DTCONV_REAL2:
	case DTCONV_REAL4:
	case DTCONV_REAL8:
	case DTCONV_REAL16:
		return REAL;
	case DTCONV_BFLOAT16:
		return BRAIN;
	case DTCONV_C_FLOAT_COMPLEX:
	case DTCONV_C_DOUBLE_COMPLEX:
	case DTCONV_C_LONG_DOUBLE_COMPLEX:
	case DTCONV_CXX_FLOAT_COMPLEX:
	case DTCONV_CXX_DOUBLE_COMPLEX:
	case DTCONV_CXX_LONG_DOUBLE_COMPLEX:
	case DTCONV_COMPLEX:
	case DTCONV_DOUBLE_COMPLEX:
	case DTCONV_COMPLEX4:
	case DTCONV_COMPLEX8:
	case DTCONV_COMPLEX16:
	case DTCONV_COMPLEX32:
		return COMPLEX;
	default:
		return SIGNED;
	}
}

static bool is_long_double(enum dtconv_predefined basic)
{
	return basic == DTCONV_LONG_DOUBLE || basic == DTCONV_C_LONG_DOUBLE_COMPLEX ||
	       basic == DTCONV_CXX_LONG_DOUBLE_COMPLEX;
}

static size_t size_or(size_t given, size_t otherwise)
{
	return given ? given : otherwise;
}

static size_t long_double_size(const struct dtconv_representation *r)
{
	switch (r->long_double) {
	case DTCONV_LONG_DOUBLE_NATIVE:
		return sizeof(long double);
	case DTCONV_LONG_DOUBLE_BINARY64:
		return 8;
	case DTCONV_LONG_DOUBLE_X87_12:
		return 12;
	default:
		return 16;
	}
}

size_t ref_element_size(const struct dtconv_representation *r,
			enum dtconv_predefined basic)
{
	size_t here = ref_predefined[basic].size;

	if (!r)
		return here;
	if (basic == DTCONV_LONG || basic == DTCONV_UNSIGNED_LONG)
		return size_or(r->long_size, here);
	if (basic == DTCONV_AINT)
		return size_or(r->address_size, here);
	if (basic == DTCONV_WCHAR)
		return size_or(r->wchar_size, here);
	if (is_long_double(basic))
		return (sort_of(basic) == COMPLEX ? 2 : 1) * long_double_size(r);
	return here;
}

/* ---- conversion ---------------------------------------------------------------------- */

static void reverse(const unsigned char *from, unsigned char *to, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		to[i] = from[bytes - 1 - i];
}

/* Between memory's order and another one. */
static void reorder(bool big, const void *from, void *to, size_t bytes)
{
	if (big == HERE_IS_BIG)
		memcpy(to, from, bytes);
	else
		reverse(from, to, bytes);
}

/* Bring an integer in memory's order to another size; false if it does not fit. */
static bool resize(const void *from, size_t from_bytes, void *to, size_t to_bytes,
		   bool is_signed)
{
	unsigned char little[16], fill;
	bool fits = true;

	reorder(false, from, little, from_bytes);
	fill = is_signed && little[from_bytes - 1] & 0x80 ? 0xff : 0;
	memset(little + from_bytes, fill, sizeof(little) - from_bytes);
	for (size_t i = to_bytes; i < from_bytes; i++)
		fits &= little[i] == fill;
	fits &= !is_signed || (little[to_bytes - 1] & 0x80) == (fill & 0x80);
	reorder(false, little, to, to_bytes);
	return fits;
}

#if LDBL_MANT_DIG == 64
static void encode_x87(long double value, unsigned char bytes[10])
{
	memcpy(bytes, &value, 10);
}

static long double decode_x87(const unsigned char bytes[10])
{
	long double value = 0;

	memcpy(&value, bytes, 10);
	return value;
}
#else
/* Where the compiler has no such numbers: 64 bits of significand, the leading one included. */
static void encode_x87(long double value, unsigned char bytes[10])
{
	uint64_t significand = 0;
	int exponent = 0;
	long double fraction = frexpl(fabsl(value), &exponent);

	exponent += 16382;
	if (isinf(value)) {
		exponent = 0x7fff;
	} else if (value == 0 || exponent < 1) {
		exponent = 0;
		significand = (uint64_t)rintl(ldexpl(fabsl(value), 16445));
		if (significand >> 63)
			exponent = 1;
	} else if (rintl(ldexpl(fraction, 64)) == 0x1p64L) {
		exponent++;
	} else {
		significand = (uint64_t)rintl(ldexpl(fraction, 64));
	}
	if (exponent && !(significand >> 63))
		significand = UINT64_C(1) << 63;
	for (int i = 0; i < 8; i++)
		bytes[i] = (unsigned char)(significand >> 8 * i);
	bytes[8] = (unsigned char)exponent;
	bytes[9] = (unsigned char)(exponent >> 8 | (signbit(value) ? 0x80 : 0));
}

static long double decode_x87(const unsigned char bytes[10])
{
	int exponent = bytes[8] | (bytes[9] & 0x7f) << 8;
	uint64_t significand = 0;
	long double value;

	for (int i = 0; i < 8; i++)
		significand |= (uint64_t)bytes[i] << 8 * i;
	value = exponent == 0x7fff ? INFINITY
				   : ldexpl((long double)significand,
					    (exponent ? exponent : 1) - 16383 - 63);
	return bytes[9] & 0x80 ? -value : value;
}
#endif

/* A number from memory's long double to the wire's. */
static void encode_long_double(const struct dtconv_representation *r, const void *native,
			       void *wire)
{
	unsigned char bytes[16] = { 0 };
	long double value;
	double narrow;
	quad wide;

	memcpy(&value, native, sizeof(value));
	if (r->long_double == DTCONV_LONG_DOUBLE_BINARY64) {
		narrow = (double)value;
		memcpy(bytes, &narrow, sizeof(narrow));
	} else if (r->long_double == DTCONV_LONG_DOUBLE_BINARY128) {
		wide = (quad)value;
		memcpy(bytes, &wide, sizeof(wide));
	} else if (r->long_double) {
		encode_x87(value, bytes);
	} else {
		memcpy(bytes, &value, LONG_DOUBLE_BYTES);
	}
	reorder(is_big(r), bytes, wire, long_double_size(r));
}

static void decode_long_double(const struct dtconv_representation *r, const void *wire,
			       void *native)
{
	unsigned char bytes[16];
	long double value = 0;
	double narrow;
	quad wide;

	reorder(is_big(r), wire, bytes, long_double_size(r));
	if (r->long_double == DTCONV_LONG_DOUBLE_BINARY64) {
		memcpy(&narrow, bytes, sizeof(narrow));
		value = narrow;
	} else if (r->long_double == DTCONV_LONG_DOUBLE_BINARY128) {
		memcpy(&wide, bytes, sizeof(wide));
		value = (long double)wide;
	} else if (r->long_double) {
		value = decode_x87(bytes);
	} else {
		memcpy(&value, bytes, LONG_DOUBLE_BYTES);
	}
	memcpy(native, &value, sizeof(value));
}

bool ref_element_encode(const struct dtconv_representation *r,
			enum dtconv_predefined basic, const void *native, void *wire)
{
	size_t here = ref_element_size(NULL, basic), there = ref_element_size(r, basic);
	size_t parts = sort_of(basic) == COMPLEX ? 2 : 1;
	unsigned char number[REF_ELEMENT_BYTES];
	bool fits = true;

	for (size_t i = 0; i < parts; i++) {
		const unsigned char *from =
			(const unsigned char *)native + i * (here / parts);
		unsigned char *to = (unsigned char *)wire + i * (there / parts);

		if (r && is_long_double(basic)) {
			encode_long_double(r, from, to);
			continue;
		}
		memcpy(number, from, here / parts);
		if (here != there)
			fits = resize(from, here, number, there,
				      sort_of(basic) == SIGNED);
		reorder(is_big(r), number, to, there / parts);
	}
	return fits;
}

bool ref_element_decode(const struct dtconv_representation *r,
			enum dtconv_predefined basic, const void *wire, void *native)
{
	size_t here = ref_element_size(NULL, basic), there = ref_element_size(r, basic);
	size_t parts = sort_of(basic) == COMPLEX ? 2 : 1;
	unsigned char number[REF_ELEMENT_BYTES];
	bool fits = true;

	for (size_t i = 0; i < parts; i++) {
		const unsigned char *from =
			(const unsigned char *)wire + i * (there / parts);
		unsigned char *to = (unsigned char *)native + i * (here / parts);

		if (r && is_long_double(basic)) {
			decode_long_double(r, from, to);
			continue;
		}
		reorder(is_big(r), from, number, there / parts);
		if (here == there)
			memcpy(to, number, here / parts);
		else
			fits = resize(number, there, to, here, sort_of(basic) == SIGNED);
	}
	return fits;
}

/* ---- operations ---------------------------------------------------------------------- */

/* Integers as their sign and bits, in the widest type there is. */
#ifdef __SIZEOF_INT128__
typedef __int128 widest;
typedef unsigned __int128 widest_bits;
#else
typedef int64_t widest;
typedef uint64_t widest_bits;
#endif

static widest load_integer(enum dtconv_predefined basic, const void *from)
{
	unsigned char bytes[sizeof(widest)];
	enum sort sort = sort_of(basic);
	widest value;

	resize(from, ref_predefined[basic].size, bytes, sizeof(bytes),
	       sort == SIGNED || sort == LOGICAL);
	memcpy(&value, bytes, sizeof(value));
	return value;
}

static void store_integer(enum dtconv_predefined basic, widest value, void *to)
{
	resize(&value, sizeof(value), to, ref_predefined[basic].size, true);
}

static widest combine_integers(enum dtconv_op op, widest a, widest b)
{
	switch (op) {
	case DTCONV_OP_SUM:
		return (widest)((widest_bits)a + (widest_bits)b);
	case DTCONV_OP_PROD:
		return (widest)((widest_bits)a * (widest_bits)b);
	case DTCONV_OP_MIN:
		return a < b ? a : b;
	case DTCONV_OP_MAX:
		return a > b ? a : b;
	case DTCONV_OP_LAND:
		return a != 0 && b != 0;
	case DTCONV_OP_LOR:
		return a != 0 || b != 0;
	case DTCONV_OP_LXOR:
		return (a != 0) != (b != 0);
	case DTCONV_OP_BAND:
		return a & b;
	case DTCONV_OP_BOR:
		return a | b;
	default:
		return a ^ b;
	}
}

/* A half as its formula has it. */
static double load_half(uint16_t half)
{
	int exponent = half >> 10 & 0x1f;
	double fraction = half & 0x3ff;
	double value = exponent ? ldexp(1024 + fraction, exponent - 25)
				: ldexp(fraction, -24);

	if (exponent == 0x1f)
		value = fraction != 0 ? (double)NAN : (double)INFINITY;
	return half >> 15 ? -value : value;
}

static double load_brain(uint16_t half)
{
	uint32_t bits = (uint32_t)half << 16;
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* The nearest of all halves, the even one of two: by looking at every one. */
static uint16_t store_by_search(double value, double (*load)(uint16_t), uint16_t infinity)
{
	uint16_t low = 0, high = infinity, sign = signbit(value) ? 0x8000 : 0;
	double magnitude = fabs(value);

	while (high - low > 1) {
		uint16_t middle = (uint16_t)((low + high) / 2);

		*(load(middle) <= magnitude ? &low : &high) = middle;
	}
	/* Where infinity stands for the next number there would be. */
	double above = high == infinity ? 2 * load(low) - load((uint16_t)(low - 1))
					: load(high);
	double down = magnitude - load(low), up = above - magnitude;
	if (down > up || (!(down < up) && (low & 1)))
		low = high;
	return sign | low;
}

static quad load_real(enum dtconv_predefined basic, const void *from)
{
	long double extended;
	uint16_t half;
	double wide;
	float narrow;
	quad value;

	switch (ref_predefined[basic].size) {
	case 2:
		memcpy(&half, from, sizeof(half));
		return basic == DTCONV_BFLOAT16 ? load_brain(half) : load_half(half);
	case 4:
		memcpy(&narrow, from, sizeof(narrow));
		return narrow;
	case 8:
		memcpy(&wide, from, sizeof(wide));
		return wide;
	default:
		break;
	}
	if (basic != DTCONV_LONG_DOUBLE) {
		memcpy(&value, from, sizeof(value));
		return value;
	}
	memcpy(&extended, from, sizeof(extended));
	return extended;
}

static void store_real(enum dtconv_predefined basic, quad value, void *to)
{
	long double extended = (long double)value;
	double wide = (double)value;
	float narrow = (float)value;
	uint16_t half;

	switch (ref_predefined[basic].size) {
	case 2:
		half = basic == DTCONV_BFLOAT16
			       ? store_by_search(wide, load_brain, 0x7f80)
			       : store_by_search(wide, load_half, 0x7c00);
		memcpy(to, &half, sizeof(half));
		break;
	case 4:
		memcpy(to, &narrow, sizeof(narrow));
		break;
	case 8:
		memcpy(to, &wide, sizeof(wide));
		break;
	default:
		if (basic == DTCONV_LONG_DOUBLE)
			memcpy(to, &extended, LONG_DOUBLE_BYTES);
		else
			memcpy(to, &value, sizeof(value));
	}
}

static quad combine_reals(enum dtconv_op op, quad a, quad b)
{
	switch (op) {
	case DTCONV_OP_SUM:
		return a + b;
	case DTCONV_OP_PROD:
		return a * b;
	case DTCONV_OP_MIN:
		return a < b ? a : b;
	default:
		return a > b ? a : b;
	}
}

/* The real type that a complex one is two of. */
static enum dtconv_predefined part_of(enum dtconv_predefined basic)
{
	if (is_long_double(basic))
		return DTCONV_LONG_DOUBLE;
	switch (ref_predefined[basic].size) {
	case 4:
		return DTCONV_FLOAT16;
	case 8:
		return DTCONV_FLOAT;
	case 16:
		return DTCONV_DOUBLE;
	default:
		return DTCONV_REAL16;
	}
}

static void combine_complex(enum dtconv_op op, enum dtconv_predefined basic,
			    const unsigned char *incoming, unsigned char *target)
{
	enum dtconv_predefined part = part_of(basic);
	size_t bytes = ref_predefined[part].size;
	quad a = load_real(part, incoming), b = load_real(part, incoming + bytes);
	quad c = load_real(part, target), d = load_real(part, target + bytes);

	store_real(part, op == DTCONV_OP_SUM ? a + c : a * c - b * d, target);
	store_real(part, op == DTCONV_OP_SUM ? b + d : a * d + b * c, target + bytes);
}

void ref_element_combine(enum dtconv_op op, enum dtconv_predefined basic,
			 const void *incoming, void *target)
{
	switch (sort_of(basic)) {
	case REAL:
	case BRAIN:
		store_real(basic,
			   combine_reals(op, load_real(basic, incoming),
					 load_real(basic, target)),
			   target);
		break;
	case COMPLEX:
		combine_complex(op, basic, incoming, target);
		break;
	default:
		store_integer(basic,
			      combine_integers(op, load_integer(basic, incoming),
					       load_integer(basic, target)),
			      target);
	}
}

/* Negative if a is lower than b, 0 if they are equal. */
static int compare(enum dtconv_predefined basic, const void *a, const void *b)
{
	if (sort_of(basic) == REAL || sort_of(basic) == BRAIN) {
		quad x = load_real(basic, a), y = load_real(basic, b);

		return (x > y) - (x < y);
	}
	widest x = load_integer(basic, a), y = load_integer(basic, b);
	return (x > y) - (x < y);
}

void ref_couple_combine(enum dtconv_op op, enum dtconv_predefined value,
			enum dtconv_predefined index, const void *incoming_value,
			const void *incoming_index, void *target_value,
			void *target_index)
{
	int order = compare(value, incoming_value, target_value);

	if (op == DTCONV_OP_MAXLOC)
		order = -order;
	if (order > 0 ||
	    (order == 0 && compare(index, incoming_index, target_index) >= 0))
		return;
	memcpy(target_value, incoming_value, ref_predefined[value].size);
	memcpy(target_index, incoming_index, ref_predefined[index].size);
}

/* ---- values -------------------------------------------------------------------------- */

static const long double special[] = { 0,       1,        -1,       1e-4932L,
				       1e4931L, LDBL_MAX, LDBL_MIN, LDBL_EPSILON,
				       1e300L,  1e-310L,  1e308L,   DBL_MAX,
				       DBL_MIN, INFINITY, -INFINITY };

static long double choose_long_double(struct choices *choices)
{
	size_t n = sizeof(special) / sizeof(special[0]);

	if (chance(choices, 3))
		return special[choose(choices, n)];
	return ldexpl((long double)choices_mix(choose(choices, SIZE_MAX)),
		      (int)choose_between(choices, -16500, 16300)) *
	       (chance(choices, 2) ? -1 : 1);
}

static void choose_real(struct choices *choices, enum dtconv_predefined basic, bool exact,
			unsigned char *native)
{
	size_t bytes = ref_predefined[basic].size;

	memset(native, 0, bytes);
	if (exact) {
		store_real(basic, (quad)choose_between(choices, -15, 15) / 4, native);
	} else if (basic == DTCONV_LONG_DOUBLE) {
		long double value = choose_long_double(choices);

		/* Not the bytes that x87 leaves unused: they hold anything. */
		memcpy(native, &value, LONG_DOUBLE_BYTES);
	} else {
		for (size_t i = 0; i < bytes; i++)
			native[i] = (unsigned char)choose(choices, 256);
	}
}

void ref_element_choose(struct choices *choices, enum dtconv_predefined basic, bool exact,
			void *native)
{
	unsigned char *bytes = native;
	uint16_t narrow = (uint16_t)choose(choices, 65536);
	enum dtconv_predefined part;

	switch (sort_of(basic)) {
	case LOGICAL:
		store_integer(basic, (widest)choose(choices, 2), native);
		break;
	case SIGNED:
		store_integer(basic,
			      (widest)choose_between(choices, INT32_MIN, INT32_MAX),
			      native);
		break;
	case UNSIGNED:
		store_integer(basic, (widest)choose(choices, UINT32_MAX), native);
		break;
	case REAL:
	case BRAIN:
		choose_real(choices, basic, exact, native);
		break;
	case COMPLEX:
		part = part_of(basic);
		choose_real(choices, part, exact, bytes);
		choose_real(choices, part, exact, bytes + ref_predefined[part].size);
		break;
	default:
		store_integer(basic, narrow, native);
	}
}

bool ref_element_same(enum dtconv_predefined basic, const void *a, const void *b)
{
	size_t bytes = ref_predefined[basic].size;

	if (!is_long_double(basic) || LDBL_MANT_DIG != 64)
		return memcmp(a, b, bytes) == 0;
	for (size_t at = 0; at < bytes; at += sizeof(long double))
		if (memcmp((const char *)a + at, (const char *)b + at, 10) != 0)
			return false;
	return true;
}

/* ---- streams ------------------------------------------------------------------------- */

/* Element @i of the stream of several instances. */
static enum dtconv_predefined element(const struct ref_typemap *map, const void *origin,
				      size_t i, void **address)
{
	const struct ref_entry *entry = &map->entries[i % map->count];
	ptrdiff_t instance = (ptrdiff_t)(i / map->count) * ref_typemap_extent(map);

	*address = (char *)(uintptr_t)origin + instance + entry->disp;
	return (enum dtconv_predefined)entry->basic;
}

size_t ref_stream_size(const struct ref_typemap *map, size_t count,
		       const struct dtconv_representation *r)
{
	size_t bytes = 0;

	for (size_t i = 0; i < map->count; i++)
		bytes += ref_element_size(r,
					  (enum dtconv_predefined)map->entries[i].basic);
	return bytes * count;
}

void ref_stream_encode(const struct ref_typemap *map, size_t count,
		       const struct dtconv_representation *r, const void *origin,
		       void *wire)
{
	unsigned char *to = wire;

	for (size_t i = 0; i < map->count * count; i++) {
		void *address;
		enum dtconv_predefined basic = element(map, origin, i, &address);

		ref_element_encode(r, basic, address, to);
		to += ref_element_size(r, basic);
	}
}

void ref_stream_choose(const struct ref_typemap *map, size_t count,
		       struct choices *choices, bool exact, void *origin)
{
	for (size_t i = 0; i < map->count * count; i++) {
		unsigned char value[REF_ELEMENT_BYTES];
		void *address;
		enum dtconv_predefined basic = element(map, origin, i, &address);

		ref_element_choose(choices, basic, exact, value);
		memcpy(address, value, ref_predefined[basic].size);
	}
}

/* A stream like this is the bytes of memory: what has arrived of an element is stored. */
static bool is_native(const struct dtconv_representation *r)
{
	for (int which = 0; r && which < DTCONV_PREDEFINED_COUNT; which++)
		if (ref_element_size(r, (enum dtconv_predefined)which) !=
		    ref_predefined[which].size)
			return false;
	return !r || (is_big(r) == HERE_IS_BIG &&
		      (!r->long_double || r->long_double == LONG_DOUBLE_HERE));
}

static void store_arrived(const unsigned char *value, const unsigned char *arrived,
			  size_t bytes, void *to)
{
	for (size_t i = 0; i < bytes; i++)
		if (arrived[i])
			((unsigned char *)to)[i] = value[i];
}

static bool is_whole(const unsigned char *arrived, size_t from, size_t bytes)
{
	return memchr(arrived + from, 0, bytes) == NULL;
}

void ref_stream_apply(const struct ref_typemap *map, size_t count,
		      const struct dtconv_representation *r, enum dtconv_op op,
		      const void *wire, const unsigned char *arrived, void *origin)
{
	bool couples = op == DTCONV_OP_MINLOC || op == DTCONV_OP_MAXLOC;
	bool bytewise = op == DTCONV_OP_REPLACE && is_native(r);
	size_t at = 0, step = couples ? 2 : 1;

	for (size_t i = 0; i < map->count * count; i += step) {
		unsigned char in[2][REF_ELEMENT_BYTES];
		enum dtconv_predefined basic[2];
		void *address[2];
		size_t start = at;

		for (size_t j = 0; j < step; j++) {
			basic[j] = element(map, origin, i + j, &address[j]);
			ref_element_decode(r, basic[j], (const char *)wire + at, in[j]);
			at += ref_element_size(r, basic[j]);
		}
		if (bytewise)
			store_arrived(in[0], arrived + start, at - start, address[0]);
		if (bytewise || op == DTCONV_OP_NO_OP ||
		    !is_whole(arrived, start, at - start))
			continue;
		if (couples)
			ref_couple_combine(op, basic[0], basic[1], in[0], in[1],
					   address[0], address[1]);
		else if (op == DTCONV_OP_REPLACE)
			memcpy(address[0], in[0], ref_predefined[basic[0]].size);
		else
			ref_element_combine(op, basic[0], in[0], address[0]);
	}
}
