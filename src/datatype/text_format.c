/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Formats a type as text: a walk over envelopes and contents with an explicit stack, so that
 * depth uses heap memory and no recursion. This file only determines the spacing.
 */
#include "config.h"

#include "base/checked.h"
#include "base/context.h"
#include "base/log.h"
#include "base/text.h"
#include "datatype/predefined.h"
#include "datatype/text_forms.h"
#include "datatype/type.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Shared members are printed for every use, so a few types that contain each other twice make
 * an enormous text. Both limits are far beyond readable texts.
 */
#define MAX_CONSTRUCTORS ((size_t)1 << 22)
#define MAX_LENGTH       ((size_t)1 << 30)

/* A constructor whose closing parenthesis has not been printed. */
struct level {
	struct level *outer;
	const struct dtc_text_form *form;
	size_t argument;      /* the next one, or the array of types that is open */
	size_t entries;       /* written of the open array of types */
	bool array_is_open;   /* between [ and ] of an array of types */
	bool any_written;     /* an argument has been printed */
	size_t length;        /* number of entries of each array */
	const size_t *counts; /* what is not written yet of its contents */
	const ptrdiff_t *displacements;
	struct dtconv_type *const *types;
};

struct formatter {
	struct dtconv_context *context;
	struct dtc_text text;
	struct level *inner;
	size_t constructors;
};

/* ---- levels ------------------------------------------------------------------------ */

/* The size of a level and the contents that follow it in memory. */
static bool level_bytes(const struct dtconv_envelope *envelope, size_t *bytes)
{
	size_t items;

	return dtc_add_size(envelope->count_count, envelope->displacement_count,
			    &items) ||
	       dtc_add_size(items, envelope->type_count, &items) ||
	       dtc_mul_size(items, sizeof(size_t), &items) ||
	       dtc_add_size(items, sizeof(struct level), bytes);
}

_Static_assert(sizeof(size_t) == sizeof(ptrdiff_t) && sizeof(size_t) == sizeof(void *),
	       "level_bytes counts all contents as size_t");

static int open_level(struct formatter *formatter, const struct dtconv_type *type,
		      const struct dtconv_envelope *envelope)
{
	size_t bytes = 0;
	struct level *level = NULL;
	size_t *counts;
	ptrdiff_t *displacements;
	struct dtconv_type **types;

	if (!level_bytes(envelope, &bytes))
		level = dtc_alloc(formatter->context, bytes);
	if (!level)
		return DTC_FAIL(
			formatter->context, DTCONV_ERR_NOMEM,
			"dtconv_type_format: cannot allocate %zu bytes for the arguments "
			"of a constructor",
			bytes);
	counts = (size_t *)(level + 1);
	displacements = (ptrdiff_t *)(counts + envelope->count_count);
	types = (struct dtconv_type **)(displacements + envelope->displacement_count);
	*level = (struct level){ .outer = formatter->inner,
				 .form = dtc_text_form_of(envelope->combiner),
				 .counts = counts,
				 .displacements = displacements,
				 .types = types };
	formatter->inner = level;
	dtc_text_printf(&formatter->text, "%s(", level->form->name);
	return dtconv_type_query_contents(type, envelope->count_count, counts,
					  envelope->displacement_count, displacements,
					  envelope->type_count, types);
}

static void close_level(struct formatter *formatter)
{
	struct level *level = formatter->inner;

	formatter->inner = level->outer;
	dtc_free(formatter->context, level);
}

static int check_limits(struct formatter *formatter)
{
	if (++formatter->constructors > MAX_CONSTRUCTORS)
		return DTC_FAIL(
			formatter->context, DTCONV_ERR_LIMIT,
			"dtconv_type_format: the text has more than the limit of %zu "
			"constructors",
			MAX_CONSTRUCTORS);
	if (formatter->text.length > MAX_LENGTH)
		return DTC_FAIL(
			formatter->context, DTCONV_ERR_LIMIT,
			"dtconv_type_format: the text is longer than the limit of %zu "
			"characters",
			MAX_LENGTH);
	return 0;
}

/* ---- values ------------------------------------------------------------------------ */

/* Print the name of a predefined type, or open a constructor. */
static int write_type(struct formatter *formatter, const struct dtconv_type *type)
{
	struct dtconv_type_attr attr = { .struct_size = sizeof(attr) };
	struct dtconv_envelope envelope;
	int status = dtconv_type_query_envelope(type, &envelope);

	if (status)
		return status;
	if (envelope.combiner != DTCONV_COMBINER_NAMED) {
		status = check_limits(formatter);
		return status ? status : open_level(formatter, type, &envelope);
	}
	status = dtconv_type_query(type, &attr);
	if (status == 0)
		dtc_text_puts(&formatter->text, dtc_predefined_name(attr.predefined));
	return status;
}

static void write_count(struct dtc_text *text, enum dtc_text_kind kind, size_t value)
{
	const char *maximum = dtc_text_word_of_maximum(kind);
	size_t word_count;
	const char *const *words = dtc_text_words(kind, &word_count);

	if (maximum && value == SIZE_MAX)
		dtc_text_puts(text, maximum);
	else if (value < word_count)
		dtc_text_puts(text, words[value]);
	else
		dtc_text_put_size(text, value);
}

/* Print the next number or word of the level's contents. */
static void write_value(struct formatter *formatter, struct level *level,
			enum dtc_text_kind kind)
{
	if (dtc_text_is_displacement(kind))
		dtc_text_put_disp(&formatter->text, *level->displacements++);
	else
		write_count(&formatter->text, kind, *level->counts++);
}

static void write_array(struct formatter *formatter, struct level *level,
			enum dtc_text_kind kind)
{
	dtc_text_puts(&formatter->text, "[");
	for (size_t i = 0; i < level->length; i++) {
		if (i > 0)
			dtc_text_puts(&formatter->text, ",");
		write_value(formatter, level, kind);
	}
	dtc_text_puts(&formatter->text, "]");
}

/* ---- the walk ---------------------------------------------------------------------- */

/* One step inside an array of types: an entry, or the closing bracket. */
static int step_type_array(struct formatter *formatter, struct level *level)
{
	if (level->entries == level->length) {
		dtc_text_puts(&formatter->text, "]");
		level->array_is_open = false;
		level->argument++;
		return 0;
	}
	if (level->entries++ > 0)
		dtc_text_puts(&formatter->text, ",");
	return write_type(formatter, *level->types++);
}

/* Print an argument; for types, only its beginning. */
static int write_argument(struct formatter *formatter, struct level *level,
			  enum dtc_text_kind kind)
{
	if (level->any_written)
		dtc_text_puts(&formatter->text, ", ");
	level->any_written = true;
	if (kind == DTC_TEXT_TYPES) {
		dtc_text_puts(&formatter->text, "[");
		level->array_is_open = true;
		return 0;
	}
	level->argument++;
	if (kind == DTC_TEXT_TYPE)
		return write_type(formatter, *level->types++);
	if (dtc_text_is_array(kind))
		write_array(formatter, level, kind);
	else
		write_value(formatter, level, kind);
	return 0;
}

/* Continue the innermost open constructor: its next argument, or its end. */
static int step(struct formatter *formatter)
{
	struct level *level = formatter->inner;
	enum dtc_text_kind kind;

	if (level->argument == level->form->argument_count) {
		dtc_text_puts(&formatter->text, ")");
		close_level(formatter);
		return 0;
	}
	kind = level->form->arguments[level->argument].kind;
	if (kind == DTC_TEXT_LENGTH) {
		level->length = *level->counts++;
		level->argument++;
		return 0;
	}
	if (level->array_is_open)
		return step_type_array(formatter, level);
	return write_argument(formatter, level, kind);
}

int dtconv_type_format(const struct dtconv_type *type, char *text, size_t capacity,
		       size_t *length)
{
	if (!type || !length)
		return DTCONV_ERR_INVAL;
	struct formatter formatter = { .context = dtc_type_context(type) };
	int status;

	if (!length || (!text && capacity > 0))
		return DTC_FAIL(formatter.context, DTCONV_ERR_INVAL,
				"dtconv_type_format: %s is NULL",
				length ? "text (argument 2) of capacity > 0"
				       : "length (argument 4)");
	dtc_text_init(&formatter.text, text, capacity);
	status = write_type(&formatter, type);
	while (status == 0 && formatter.inner)
		status = step(&formatter);
	while (formatter.inner)
		close_level(&formatter);
	return status ? status : dtc_text_finish(&formatter.text, length);
}
