/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The vocabulary of the text form, as tables, and suggestions for misspelt names.
 */
#include "config.h"

#include "datatype/text_forms.h"

#include "base/base.h"
#include "datatype/predefined.h"

#include <string.h>

/* clang-format off */
#define ARGUMENT(kind, name) { DTC_TEXT_##kind, name }
#define ARGUMENT_COUNT(...) \
	DTC_ARRAY_LENGTH(((struct dtc_text_argument[]){ __VA_ARGS__ }))
#define FORM(which, name, ...)                                                           \
	[DTCONV_COMBINER_##which] = { DTCONV_COMBINER_##which, name,                     \
				      ARGUMENT_COUNT(__VA_ARGS__), { __VA_ARGS__ } }
/* clang-format on */

static const struct dtc_text_form forms[] = {
	FORM(DUP, "dup", ARGUMENT(TYPE, "oldtype")),
	FORM(CONTIGUOUS, "contiguous", ARGUMENT(COUNT, "count"),
	     ARGUMENT(TYPE, "oldtype")),
	FORM(VECTOR, "vector", ARGUMENT(COUNT, "count"), ARGUMENT(COUNT, "blocklength"),
	     ARGUMENT(DISPLACEMENT, "stride"), ARGUMENT(TYPE, "oldtype")),
	FORM(HVECTOR, "hvector", ARGUMENT(COUNT, "count"), ARGUMENT(COUNT, "blocklength"),
	     ARGUMENT(DISPLACEMENT, "stride"), ARGUMENT(TYPE, "oldtype")),
	FORM(INDEXED, "indexed", ARGUMENT(LENGTH, "count"),
	     ARGUMENT(COUNTS, "blocklengths"), ARGUMENT(DISPLACEMENTS, "displacements"),
	     ARGUMENT(TYPE, "oldtype")),
	FORM(HINDEXED, "hindexed", ARGUMENT(LENGTH, "count"),
	     ARGUMENT(COUNTS, "blocklengths"), ARGUMENT(DISPLACEMENTS, "displacements"),
	     ARGUMENT(TYPE, "oldtype")),
	FORM(INDEXED_BLOCK, "indexed_block", ARGUMENT(LENGTH, "count"),
	     ARGUMENT(COUNT, "blocklength"), ARGUMENT(DISPLACEMENTS, "displacements"),
	     ARGUMENT(TYPE, "oldtype")),
	FORM(HINDEXED_BLOCK, "hindexed_block", ARGUMENT(LENGTH, "count"),
	     ARGUMENT(COUNT, "blocklength"), ARGUMENT(DISPLACEMENTS, "displacements"),
	     ARGUMENT(TYPE, "oldtype")),
	FORM(STRUCT, "struct", ARGUMENT(LENGTH, "count"),
	     ARGUMENT(COUNTS, "blocklengths"), ARGUMENT(DISPLACEMENTS, "displacements"),
	     ARGUMENT(TYPES, "types")),
	FORM(SUBARRAY, "subarray", ARGUMENT(LENGTH, "ndims"), ARGUMENT(COUNTS, "sizes"),
	     ARGUMENT(COUNTS, "subsizes"), ARGUMENT(COUNTS, "starts"),
	     ARGUMENT(ORDER, "order"), ARGUMENT(TYPE, "oldtype")),
	FORM(DARRAY, "darray", ARGUMENT(COUNT, "size"), ARGUMENT(COUNT, "rank"),
	     ARGUMENT(LENGTH, "ndims"), ARGUMENT(COUNTS, "gsizes"),
	     ARGUMENT(DISTRIBUTIONS, "distributions"), ARGUMENT(BLOCK_SIZES, "dargs"),
	     ARGUMENT(COUNTS, "psizes"), ARGUMENT(ORDER, "order"),
	     ARGUMENT(TYPE, "oldtype")),
	FORM(RESIZED, "resized", ARGUMENT(TYPE, "oldtype"), ARGUMENT(DISPLACEMENT, "lb"),
	     ARGUMENT(DISPLACEMENT, "extent")),
	FORM(F90_REAL, "f90_real", ARGUMENT(DIGITS, "p"), ARGUMENT(DIGITS, "r")),
	FORM(F90_COMPLEX, "f90_complex", ARGUMENT(DIGITS, "p"), ARGUMENT(DIGITS, "r")),
	FORM(F90_INTEGER, "f90_integer", ARGUMENT(COUNT, "r")),
	FORM(VALUE_INDEX, "value_index", ARGUMENT(TYPE, "value"),
	     ARGUMENT(TYPE, "index")),
};

static const size_t form_count = DTC_ARRAY_LENGTH(forms);

static const char *const order_words[] = {
	[DTCONV_ORDER_C] = "c",
	[DTCONV_ORDER_FORTRAN] = "fortran",
};

static const char *const distribution_words[] = {
	[DTCONV_DISTRIBUTE_BLOCK] = "block",
	[DTCONV_DISTRIBUTE_CYCLIC] = "cyclic",
	[DTCONV_DISTRIBUTE_NONE] = "none",
};

static int same(const char *word, const char *name, size_t length)
{
	return strncmp(word, name, length) == 0 && word[length] == '\0';
}

const struct dtc_text_form *dtc_text_form_of(enum dtconv_combiner combiner)
{
	const struct dtc_text_form *form = &forms[combiner];

	return form->name ? form : NULL;
}

const struct dtc_text_form *dtc_text_form_find(const char *name, size_t length)
{
	for (size_t i = 0; i < form_count; i++) {
		if (forms[i].name && same(forms[i].name, name, length))
			return &forms[i];
	}
	return NULL;
}

enum dtconv_predefined dtc_text_predefined_find(const char *name, size_t length)
{
	enum dtconv_predefined which = DTCONV_BYTE;

	while (which < DTCONV_PREDEFINED_COUNT &&
	       !same(dtc_predefined_name(which), name, length))
		which++;
	return which;
}

/* ---- misspelt names ---------------------------------------------------------------- */

/* The longest name is cxx_long_double_complex; longer words are not compared. */
#define MAX_COMPARED 31

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Names are ASCII, independent of the locale. */
static char lower(char letter)
{
	return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
}

/* The edit distance (Levenshtein) of two words. */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
	size_t row[MAX_COMPARED + 1];

	for (size_t j = 0; j <= b_length; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_length; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_length; j++) {
			size_t replaced = diagonal + (lower(a[i - 1]) != b[j - 1]);

			diagonal = row[j];
			row[j] = smaller(replaced, 1 + smaller(row[j], row[j - 1]));
		}
	}
	return row[b_length];
}

/* Keep the candidate if it is closer than the best one so far. */
static void consider(const char *candidate, const char *name, size_t length,
		     const char **nearest, size_t *least)
{
	size_t changes = distance(name, length, candidate, strlen(candidate));

	if (changes < *least) {
		*nearest = candidate;
		*least = changes;
	}
}

/* Skip the prefix that the name has in C programs. */
static void strip_prefix(const char **name, size_t *length)
{
	static const char *const prefixes[] = { "MPI_", "DTCONV_" };

	for (size_t i = 0; i < DTC_ARRAY_LENGTH(prefixes); i++) {
		size_t prefix = strlen(prefixes[i]);

		if (*length > prefix && strncmp(*name, prefixes[i], prefix) == 0) {
			*name += prefix;
			*length -= prefix;
		}
	}
}

int dtc_text_is_name(const char *word, size_t length)
{
	char first = length > 0 ? lower(word[0]) : '\0';

	return first >= 'a' && first <= 'z';
}

const char *dtc_text_nearest_name(const char *name, size_t length)
{
	const char *nearest = NULL;
	size_t least;

	strip_prefix(&name, &length);
	least = 1 + smaller(length / 2, 3); /* greater distances mean another word */
	if (length > MAX_COMPARED)
		return NULL;
	for (size_t i = 0; i < form_count; i++) {
		if (forms[i].name)
			consider(forms[i].name, name, length, &nearest, &least);
	}
	for (unsigned which = 0; which < DTCONV_PREDEFINED_COUNT; which++)
		consider(dtc_predefined_name((enum dtconv_predefined)which), name, length,
			 &nearest, &least);
	return nearest;
}

/* ---- kinds ------------------------------------------------------------------------- */

const char *const *dtc_text_words(enum dtc_text_kind kind, size_t *count)
{
	if (kind == DTC_TEXT_ORDER) {
		*count = DTC_ARRAY_LENGTH(order_words);
		return order_words;
	}
	if (kind == DTC_TEXT_DISTRIBUTIONS) {
		*count = DTC_ARRAY_LENGTH(distribution_words);
		return distribution_words;
	}
	*count = 0;
	return NULL;
}

const char *dtc_text_word_of_maximum(enum dtc_text_kind kind)
{
	if (kind == DTC_TEXT_DIGITS)
		return "undefined";
	return kind == DTC_TEXT_BLOCK_SIZES ? "default" : NULL;
}

int dtc_text_is_array(enum dtc_text_kind kind)
{
	return kind == DTC_TEXT_COUNTS || kind == DTC_TEXT_DISTRIBUTIONS ||
	       kind == DTC_TEXT_BLOCK_SIZES || kind == DTC_TEXT_DISPLACEMENTS ||
	       kind == DTC_TEXT_TYPES;
}

int dtc_text_is_type(enum dtc_text_kind kind)
{
	return kind == DTC_TEXT_TYPE || kind == DTC_TEXT_TYPES;
}

int dtc_text_is_displacement(enum dtc_text_kind kind)
{
	return kind == DTC_TEXT_DISPLACEMENT || kind == DTC_TEXT_DISPLACEMENTS;
}
