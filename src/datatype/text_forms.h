/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The vocabulary of the text form: its words and their arguments. Parser and formatter both use
 * this table, so they cannot disagree.
 */
#ifndef DTC_DATATYPE_TEXT_FORMS_H
#define DTC_DATATYPE_TEXT_FORMS_H

#include <stddef.h>

#include <dtconv/type.h>

/* The maximum nesting of constructors in a text. */
#define DTC_TEXT_LEVELS 256

/* darray: size, rank, ndims, gsizes, distributions, dargs, psizes, order, oldtype */
#define DTC_TEXT_MAX_ARGUMENTS 9

/* The kind of an argument, and the array of the envelope that stores it. */
enum dtc_text_kind {
	DTC_TEXT_LENGTH, /* counts: length of the arrays that follow; not in the text */
	DTC_TEXT_COUNT,  /* counts: one number */
	DTC_TEXT_DIGITS, /* counts: one number, or `undefined` */
	DTC_TEXT_ORDER,  /* counts: an enum dtconv_order */
	DTC_TEXT_COUNTS, /* counts: an array */
	DTC_TEXT_DISTRIBUTIONS, /* counts: an array of enum dtconv_distribution */
	DTC_TEXT_BLOCK_SIZES,   /* counts: an array of numbers or `default` */
	DTC_TEXT_DISPLACEMENT,  /* displacements: one signed number */
	DTC_TEXT_DISPLACEMENTS, /* displacements: an array */
	DTC_TEXT_TYPE,          /* types: one */
	DTC_TEXT_TYPES          /* types: an array */
};

struct dtc_text_argument {
	enum dtc_text_kind kind;
	const char *name; /* as in the constructor's documentation */
};

/* One constructor; the arguments are in the order of struct dtconv_envelope's table. */
struct dtc_text_form {
	enum dtconv_combiner combiner;
	const char *name;
	size_t argument_count;
	struct dtc_text_argument arguments[DTC_TEXT_MAX_ARGUMENTS];
};

/* The form of a combiner; NULL for NAMED, which is a bare name. */
const struct dtc_text_form *dtc_text_form_of(enum dtconv_combiner combiner);

/* The form with this name (not terminated), or NULL. */
const struct dtc_text_form *dtc_text_form_find(const char *name, size_t length);

/* The predefined type with this name (not terminated), or DTCONV_PREDEFINED_COUNT. */
enum dtconv_predefined dtc_text_predefined_find(const char *name, size_t length);

/* Whether a word could be a name: it begins with a letter. */
int dtc_text_is_name(const char *word, size_t length);

/* The known type or constructor closest to a misspelt name; NULL if none is close. */
const char *dtc_text_nearest_name(const char *name, size_t length);

/*
 * The words for the values of a kind, indexed by value; *count is their number. NULL for
 * numeric kinds.
 */
const char *const *dtc_text_words(enum dtc_text_kind kind, size_t *count);

/* The word that stands for SIZE_MAX in this kind, or NULL. */
const char *dtc_text_word_of_maximum(enum dtc_text_kind kind);

int dtc_text_is_array(enum dtc_text_kind kind);
int dtc_text_is_type(enum dtc_text_kind kind);
int dtc_text_is_displacement(enum dtc_text_kind kind);

#endif
