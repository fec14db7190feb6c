/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parses a type's text form. There are one explicit stack of open constructors and three stacks
 * of arguments, so hostile text costs memory in proportion to its length, and no recursion. The
 * constructors check values.
 */
#include "config.h"

#include "base/context.h"
#include "base/log.h"
#include "base/text.h"
#include "base/vec.h"
#include "datatype/construct.h"
#include "datatype/text_forms.h"
#include "datatype/text_scan.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* A constructor whose closing parenthesis has not been read. */
struct frame {
	const struct dtc_text_form *form;
	size_t start;       /* offset of its name in the text */
	size_t argument;    /* the next one, or the array of types that is open */
	size_t written;     /* number of arguments read so far, hidden ones not counted */
	size_t entries;     /* number of entries read of the open array of types */
	bool array_is_open; /* between [ and ] of an array of types */
	size_t length;      /* length of every array; UNKNOWN before the first one */
	size_t length_slot; /* where the stack of counts stores that length */
	const char *length_source; /* the array that determined it */
	size_t counts;             /* where its own arguments begin in each stack */
	size_t displacements;
	size_t types;
};

#define UNKNOWN SIZE_MAX

/* The range of numbers, in words. */
#if SIZE_MAX > UINT32_MAX
#define LARGEST_COUNT     "at most 2^64 - 1"
#define ALL_DISPLACEMENTS "from -2^63 to 2^63 - 1"
#else
#define LARGEST_COUNT     "at most 2^32 - 1"
#define ALL_DISPLACEMENTS "from -2^31 to 2^31 - 1"
#endif

struct parser {
	struct dtc_scan scan;
	struct dtc_vec frames;
	struct dtc_vec counts;
	struct dtc_vec displacements;
	struct dtc_vec types; /* one reference each */
};

/* ---- stacks ------------------------------------------------------------------------ */

static int push(struct parser *parser, struct dtc_vec *stack, const void *item)
{
	if (dtc_vec_push(parser->scan.context, stack, item))
		return 0;
	return DTC_FAIL(
		parser->scan.context, DTCONV_ERR_NOMEM,
		"dtconv_type_parse: cannot allocate room for more than %zu values",
		stack->count);
}

/* The innermost open constructor; NULL outside all. */
static struct frame *top_frame(const struct parser *parser)
{
	struct frame *frames = parser->frames.items;

	return parser->frames.count > 0 ? &frames[parser->frames.count - 1] : NULL;
}

/* Advance to the next argument. */
static void next_argument(struct frame *frame)
{
	frame->array_is_open = false;
	frame->argument++;
	frame->written++;
}

/* Release all pushed types but the first `keep`. */
static void drop_types(struct parser *parser, size_t keep)
{
	struct dtconv_type **types = parser->types.items;

	while (parser->types.count > keep)
		dtconv_type_unref(types[--parser->types.count]);
}

/* The item at an index; NULL if the stack has never held one. */
static void *item(const struct dtc_vec *stack, size_t index)
{
	return stack->items ? (char *)stack->items + index * stack->width : NULL;
}

/*
 * Push a reference as the value that the innermost open constructor needs next. Releases it on
 * failure.
 */
static int push_type(struct parser *parser, struct dtconv_type *type)
{
	int status = push(parser, &parser->types, &type);
	struct frame *frame = top_frame(parser);

	if (status)
		dtconv_type_unref(type);
	else if (frame && frame->array_is_open)
		frame->entries++;
	else if (frame)
		next_argument(frame);
	return status;
}

/* ---- messages ---------------------------------------------------------------------- */

/* Names an argument, for example `entry 3 of displacements (argument 2 of indexed)`. */
struct argument_name {
	char text[120];
};

/* `entry` counts from 1; 0 names the whole argument. */
static struct argument_name name_argument(const struct frame *frame, size_t entry)
{
	struct argument_name name;
	struct dtc_text text;

	dtc_text_init(&text, name.text, sizeof(name.text));
	if (entry > 0)
		dtc_text_printf(&text, "entry %zu of ", entry);
	dtc_text_printf(&text, "%s (argument %zu of %s)",
			frame->form->arguments[frame->argument].name, frame->written + 1,
			frame->form->name);
	return name;
}

static struct argument_name name_type_argument(const struct frame *frame)
{
	return name_argument(frame, frame->array_is_open ? frame->entries + 1 : 0);
}

/* Fail because the text has something else where `wanted` is expected. */
static int fail_expected(const struct parser *parser, const char *wanted,
			 const char *where)
{
	const struct dtc_scan *scan = &parser->scan;

	return dtc_scan_fail(scan, DTCONV_ERR_FORMAT, scan->at,
			     "expected %s %s, found %s", wanted, where,
			     dtc_scan_describe(scan, scan->at).text);
}

/* Fail because the text has no valid value of the argument's kind here; list the valid ones. */
static int fail_value(const struct parser *parser, const struct frame *frame,
		      size_t entry)
{
	enum dtc_text_kind kind = frame->form->arguments[frame->argument].kind;
	const char *maximum = dtc_text_word_of_maximum(kind);
	char wanted[80];
	char where[140];
	size_t word_count;
	const char *const *words = dtc_text_words(kind, &word_count);
	struct dtc_text text;

	dtc_text_init(&text, wanted, sizeof(wanted));
	for (size_t i = 0; i < word_count; i++)
		dtc_text_printf(&text, "%s'%s'", i == 0 ? "" : " or ", words[i]);
	if (word_count == 0)
		dtc_text_puts(&text, "a number");
	if (maximum)
		dtc_text_printf(&text, " or '%s'", maximum);
	snprintf(where, sizeof(where), "for %s", name_argument(frame, entry).text);
	return fail_expected(parser, wanted, where);
}

/* Fail because a number is outside the argument's range. */
static int fail_range(const struct parser *parser, const struct frame *frame,
		      size_t entry, const struct dtc_scan_number *number, int status,
		      const char *limit)
{
	const struct dtc_scan *scan = &parser->scan;

	return dtc_scan_fail(scan, status, number->start, "%s is %s, but must be %s",
			     name_argument(frame, entry).text,
			     dtc_scan_describe(scan, number->start).text, limit);
}

/* ---- single values ----------------------------------------------------------------- */

/* Parse one of the words of this kind; false if there is none here. */
static bool accept_word(struct parser *parser, enum dtc_text_kind kind, size_t *value)
{
	struct dtc_scan before;
	const char *maximum = dtc_text_word_of_maximum(kind);
	const char *word;
	size_t length;
	size_t word_count;
	const char *const *words = dtc_text_words(kind, &word_count);

	dtc_scan_peek(&parser->scan);
	before = parser->scan;
	length = dtc_scan_word(&parser->scan, &word);
	for (size_t i = 0; i < word_count; i++) {
		if (strlen(words[i]) == length && memcmp(words[i], word, length) == 0) {
			*value = i;
			return true;
		}
	}
	if (maximum && strlen(maximum) == length && memcmp(maximum, word, length) == 0) {
		*value = SIZE_MAX;
		return true;
	}
	parser->scan = before;
	return false;
}

/* Whether all values of a kind are words. */
static bool has_no_numbers(enum dtc_text_kind kind)
{
	size_t word_count;

	return dtc_text_words(kind, &word_count) != NULL;
}

static int read_count(struct parser *parser, const struct frame *frame, size_t entry)
{
	enum dtc_text_kind kind = frame->form->arguments[frame->argument].kind;
	struct dtc_scan_number number;
	size_t value;

	if (accept_word(parser, kind, &value))
		return push(parser, &parser->counts, &value);
	if (has_no_numbers(kind) || !dtc_scan_number(&parser->scan, &number))
		return fail_value(parser, frame, entry);
	if (number.negative && (number.magnitude > 0 || number.too_large))
		return fail_range(parser, frame, entry, &number, DTCONV_ERR_INVAL,
				  "at least 0");
	if (number.too_large)
		return fail_range(parser, frame, entry, &number, DTCONV_ERR_OVERFLOW,
				  LARGEST_COUNT);
	return push(parser, &parser->counts, &number.magnitude);
}

static int read_displacement(struct parser *parser, const struct frame *frame,
			     size_t entry)
{
	struct dtc_scan_number number;
	size_t largest;
	ptrdiff_t value;

	if (!dtc_scan_number(&parser->scan, &number))
		return fail_value(parser, frame, entry);
	largest = (size_t)PTRDIFF_MAX + (number.negative ? 1 : 0);
	if (number.too_large || number.magnitude > largest)
		return fail_range(parser, frame, entry, &number, DTCONV_ERR_OVERFLOW,
				  ALL_DISPLACEMENTS);
	/* subtracted in two steps: -2^63 has no positive counterpart */
	if (number.negative && number.magnitude > 0)
		value = -(ptrdiff_t)(number.magnitude - 1) - 1;
	else
		value = (ptrdiff_t)number.magnitude;
	return push(parser, &parser->displacements, &value);
}

static int read_value(struct parser *parser, const struct frame *frame, size_t entry)
{
	if (dtc_text_is_displacement(frame->form->arguments[frame->argument].kind))
		return read_displacement(parser, frame, entry);
	return read_count(parser, frame, entry);
}

/* ---- arrays ------------------------------------------------------------------------ */

/* Take `[`. */
static int open_array(struct parser *parser, const struct frame *frame)
{
	char where[140];

	if (dtc_scan_accept(&parser->scan, '['))
		return 0;
	snprintf(where, sizeof(where), "before %s", name_argument(frame, 0).text);
	return fail_expected(parser, "'['", where);
}

/* Between entries: take `,`, or `]` which ends the array. */
static int next_entry(struct parser *parser, const struct frame *frame, size_t entries,
		      bool *ended)
{
	char where[140];

	*ended = dtc_scan_accept(&parser->scan, ']');
	if (*ended || entries == 0 || dtc_scan_accept(&parser->scan, ','))
		return 0;
	snprintf(where, sizeof(where), "after %s", name_argument(frame, entries).text);
	return fail_expected(parser, "',' or ']'", where);
}

/* All arrays of a constructor have the length of the first one. */
static int check_length(const struct parser *parser, struct frame *frame, size_t entries)
{
	const char *name = frame->form->arguments[frame->argument].name;

	if (frame->length == UNKNOWN) {
		frame->length = entries;
		frame->length_source = name;
		return 0;
	}
	if (frame->length == entries)
		return 0;
	return dtc_scan_fail(&parser->scan, DTCONV_ERR_FORMAT, parser->scan.at - 1,
			     "%s has length %zu, but %s has length %zu",
			     name_argument(frame, 0).text, entries, frame->length_source,
			     frame->length);
}

/* A whole array of numbers or words. */
static int read_array(struct parser *parser, struct frame *frame)
{
	bool ended;
	size_t entries = 0;
	int status = open_array(parser, frame);

	if (status)
		return status;
	while ((status = next_entry(parser, frame, entries, &ended)) == 0 && !ended) {
		status = read_value(parser, frame, entries + 1);
		if (status)
			return status;
		entries++;
	}
	return status ? status : check_length(parser, frame, entries);
}

/* ---- types ------------------------------------------------------------------------- */

/* Fail because a word, which may be empty, is not the name of a type. */
static int fail_type(const struct parser *parser, const char *word, size_t length)
{
	const struct dtc_scan *scan = &parser->scan;
	const struct frame *frame = top_frame(parser);
	size_t start = (size_t)(word - scan->text);
	const char *nearest = dtc_text_nearest_name(word, length);
	struct dtc_scan_found found = dtc_scan_describe(scan, start);

	if (!nearest && !dtc_text_is_name(word, length))
		return dtc_scan_fail(scan, DTCONV_ERR_FORMAT, start,
				     "expected a type%s%s, found %s",
				     frame ? " for " : "",
				     frame ? name_type_argument(frame).text : "",
				     found.text);
	return dtc_scan_fail(scan, DTCONV_ERR_FORMAT, start,
			     "unknown type or constructor %s%s%s%s", found.text,
			     nearest ? "; did you mean '" : "", nearest ? nearest : "",
			     nearest ? "'?" : "");
}

/* Open a constructor, whose name has been read. */
static int open_form(struct parser *parser, const struct dtc_text_form *form,
		     size_t start)
{
	struct frame frame = {
		.form = form,
		.start = start,
		.length = UNKNOWN,
		.counts = parser->counts.count,
		.displacements = parser->displacements.count,
		.types = parser->types.count,
	};

	if (parser->frames.count == DTC_TEXT_LEVELS)
		return dtc_scan_fail(&parser->scan, DTCONV_ERR_LIMIT, start,
				     "%s is nested deeper than the limit of %d levels",
				     form->name, DTC_TEXT_LEVELS);
	if (!dtc_scan_accept(&parser->scan, '('))
		return fail_expected(parser, "'(' after", form->name);
	return push(parser, &parser->frames, &frame);
}

/* A name: push a predefined type, or open a constructor, whose type is pushed when it ends. */
static int read_type(struct parser *parser)
{
	const char *word;
	size_t length = dtc_scan_word(&parser->scan, &word);
	enum dtconv_predefined which = dtc_text_predefined_find(word, length);
	const struct dtc_text_form *form = dtc_text_form_find(word, length);

	if (which < DTCONV_PREDEFINED_COUNT)
		return push_type(parser,
				 dtconv_type_predefined(parser->scan.context, which));
	if (form)
		return open_form(parser, form, (size_t)(word - parser->scan.text));
	return fail_type(parser, word, length);
}

/* One step inside an array of types: its end, or an entry. */
static int step_type_array(struct parser *parser, struct frame *frame)
{
	bool ended;
	int status = next_entry(parser, frame, frame->entries, &ended);

	if (status)
		return status;
	if (!ended)
		return read_type(parser);
	status = check_length(parser, frame, frame->entries);
	next_argument(frame);
	return status;
}

/* ---- constructors ------------------------------------------------------------------ */

/* Report the position of the arguments that a constructor rejected. */
static int fail_build(const struct parser *parser, const struct frame *frame, int status)
{
	char cause[300];

	dtconv_context_error(parser->scan.context, cause, sizeof(cause));
	return dtc_scan_fail(&parser->scan, status, frame->start, "%s", cause);
}

/* All arguments have been read: replace them by their type. */
static int close_form(struct parser *parser)
{
	struct frame frame = *top_frame(parser);
	struct dtc_contents contents = {
		.counts = item(&parser->counts, frame.counts),
		.displacements = item(&parser->displacements, frame.displacements),
		.types = item(&parser->types, frame.types),
	};
	struct dtconv_type *type;
	int status;

	if (!dtc_scan_accept(&parser->scan, ')'))
		return fail_expected(parser, "')' after the last argument of",
				     frame.form->name);
	if (frame.length != UNKNOWN)
		*(size_t *)item(&parser->counts, frame.length_slot) = frame.length;
	status = dtc_construct(parser->scan.context, "dtconv_type_parse",
			       frame.form->combiner, &contents, &type);
	if (status)
		return fail_build(parser, &frame, status);
	parser->counts.count = frame.counts;
	parser->displacements.count = frame.displacements;
	drop_types(parser, frame.types);
	parser->frames.count--;
	return push_type(parser, type);
}

/* Reserve the place for the length of the arrays, which the text does not contain. */
static int reserve_length(struct parser *parser, struct frame *frame)
{
	size_t unknown = 0;

	frame->length_slot = parser->counts.count;
	frame->argument++;
	return push(parser, &parser->counts, &unknown);
}

/* Take the comma between two arguments. */
static int accept_comma(struct parser *parser, const struct frame *frame)
{
	char where[140];

	if (frame->written == 0 || dtc_scan_accept(&parser->scan, ','))
		return 0;
	snprintf(where, sizeof(where), "before %s", name_argument(frame, 0).text);
	return fail_expected(parser, "','", where);
}

/* Read an argument; of types, only the beginning. */
static int read_argument(struct parser *parser, struct frame *frame,
			 enum dtc_text_kind kind)
{
	int status = accept_comma(parser, frame);

	if (status)
		return status;
	if (kind == DTC_TEXT_TYPE)
		return read_type(parser);
	if (kind == DTC_TEXT_TYPES) {
		status = open_array(parser, frame);
		frame->array_is_open = true;
		return status;
	}
	status = dtc_text_is_array(kind) ? read_array(parser, frame)
					 : read_value(parser, frame, 0);
	next_argument(frame);
	return status;
}

/* Continue the innermost open constructor: its next argument, or its end. */
static int step(struct parser *parser)
{
	struct frame *frame = top_frame(parser);
	enum dtc_text_kind kind;

	if (frame->argument == frame->form->argument_count)
		return close_form(parser);
	kind = frame->form->arguments[frame->argument].kind;
	if (kind == DTC_TEXT_LENGTH)
		return reserve_length(parser, frame);
	if (frame->array_is_open)
		return step_type_array(parser, frame);
	return read_argument(parser, frame, kind);
}

/* ---- the whole text ---------------------------------------------------------------- */

static int parse_all(struct parser *parser)
{
	int status = read_type(parser);

	while (status == 0 && parser->frames.count > 0)
		status = step(parser);
	if (status)
		return status;
	if (dtc_scan_peek(&parser->scan) >= 0)
		return fail_expected(parser, "the end of the text", "after the type");
	return 0;
}

static void free_parser(struct parser *parser)
{
	struct dtconv_context *context = parser->scan.context;

	drop_types(parser, 0);
	dtc_free(context, parser->frames.items);
	dtc_free(context, parser->counts.items);
	dtc_free(context, parser->displacements.items);
	dtc_free(context, parser->types.items);
}

int dtconv_type_parse(struct dtconv_context *context, const char *text, size_t length,
		      struct dtconv_type **type)
{
	if (!context)
		return DTCONV_ERR_INVAL;
	struct parser parser = {
		.scan = { .context = context, .text = text, .length = length },
		.frames = { .width = sizeof(struct frame) },
		.counts = { .width = sizeof(size_t) },
		.displacements = { .width = sizeof(ptrdiff_t) },
		.types = { .width = sizeof(struct dtconv_type *) },
	};
	int status;

	if (!text || !type)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"dtconv_type_parse: %s is NULL",
				text ? "type (argument 4)" : "text (argument 2)");
	status = parse_all(&parser);
	if (status == 0) {
		struct dtconv_type **types = parser.types.items;

		*type = types[--parser.types.count];
	}
	free_parser(&parser);
	return status;
}
