/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How commands fail, read an EXPR and write text. It defines the form of every message on
 * standard error and is independent of the commands.
 */
#include "config.h"

#include "tools.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * More than any readable type; it keeps `dtconv show @/dev/zero` from filling the memory.
 */
#define MAX_INPUT_BYTES ((size_t)1 << 30)

/* ---- failing ----------------------------------------------------------------------- */

/*
 * How much to cut where a sentence names a call of the library: `dtconv_pack: `, but of a constructor's call
 * the prefix alone, because the rest is its name in text form.
 */
static size_t call_length(const char *text)
{
	static const char constructor[] = "dtconv_type_create_";
	size_t name = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");

	if (strncmp(text, "dtconv_", 7) != 0 || strncmp(text + name, ": ", 2) != 0)
		return 0;
	return strncmp(text, constructor, sizeof(constructor) - 1) == 0
		       ? sizeof(constructor) - 1
		       : name + 2;
}

/* The length of ` (argument 3)` or ` (arguments 3, 4)` of a call, else 0. */
static size_t argument_length(const char *text)
{
	static const char singular[] = " (argument ", plural[] = " (arguments ";
	size_t length =
		strncmp(text, singular, sizeof(singular) - 1) == 0 ? sizeof(singular) - 1
		: strncmp(text, plural, sizeof(plural) - 1) == 0   ? sizeof(plural) - 1
								   : 0;

	if (length > 0)
		length += strspn(text + length, "0123456789, ");
	return length > 0 && text[length] == ')' ? length + 1 : 0;
}

void tool_cut_calls(char *sentence)
{
	const char *from = sentence;
	char before = ':';

	while (*from) {
		size_t cut = before == ':' ? call_length(from) : 0;

		if (cut == 0)
			cut = argument_length(from);
		from += cut;
		if (cut > 0)
			continue;
		if (*from != ' ')
			before = *from;
		*sentence++ = *from++;
	}
	*sentence = '\0';
}

static void print_sentence(const char *command, const char *format, va_list arguments)
{
	char *sentence = NULL;

	fprintf(stderr, "dtconv%s%s: ", *command ? " " : "", command);
	if (vasprintf(&sentence, format, arguments) < 0)
		return;
	tool_cut_calls(sentence);
	fputs(sentence, stderr);
	free(sentence);
}

int tool_fail(const char *command, int exit_status, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print_sentence(command, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	return exit_status;
}

int tool_usage(const char *command, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print_sentence(command, format, arguments);
	va_end(arguments);
	fprintf(stderr, " (see 'dtconv %s%s--help')\n", command, *command ? " " : "");
	return TOOL_USAGE;
}

/* The first option behind a place that a word abbreviates, or the list's end. */
static const struct option *find_abbreviated(const struct option *option,
					     const struct tool_nearest *nearest)
{
	while (option->name && strncmp(option->name, nearest->word, nearest->length) != 0)
		option++;
	return option;
}

int tool_unknown_option(const char *command, const char *word,
			const struct option *options)
{
	size_t dashes = strspn(word, "-");
	struct tool_nearest nearest = { .word = word + dashes,
					.length = strcspn(word + dashes, "=") };
	const struct option *one = find_abbreviated(options, &nearest);
	const struct option *other = one->name ? find_abbreviated(one + 1, &nearest)
					       : one;

	if (other->name && dashes == 2)
		return tool_usage(
			command,
			"option '%.40s' is ambiguous: it may be '--%s' or '--%s'", word,
			one->name, other->name);
	for (; options->name; options++)
		tool_nearest_offer(&nearest, options->name);
	if (nearest.name)
		return tool_usage(command,
				  "option '%.40s' is unknown; did you mean '--%s'?", word,
				  nearest.name);
	return tool_usage(command, "option '%.40s' is unknown", word);
}

/* getopt_long stays at a word like -abc until it has looked at all of it. */
static const char *wrong_word(char **argv)
{
	const char *last = argv[optind - 1], *next = argv[optind];
	bool is_last = last[0] == '-' && last[1] == (char)optopt && !last[2];

	return optopt && !is_last && next && next[0] == '-' ? next : last;
}

int tool_bad_option(const char *command, int answer, char **argv,
		    const struct option *options)
{
	const char *option = argv[optind - 1];

	if (answer == ':')
		return tool_usage(command, "option '%s' needs a value", option);
	if (optopt && strncmp(option, "--", 2) == 0)
		return tool_usage(command, "option '%s' takes no value", option);
	return tool_unknown_option(command, wrong_word(argv), options);
}

/* Whether a status means a wrong argument or input, and not a failure. */
static bool blames_input(int status)
{
	return status == DTCONV_ERR_FORMAT || status == DTCONV_ERR_LIMIT ||
	       status == DTCONV_ERR_INVAL || status == DTCONV_ERR_OVERFLOW ||
	       status == DTCONV_ERR_UNSUPPORTED;
}

/* The origin, if given, is where the input came from. */
static int print_library_error(const char *command, struct dtconv_context *context,
			       int status, const char *origin)
{
	char sentence[512];

	if (dtconv_context_error(context, sentence, sizeof(sentence)) == 0)
		snprintf(sentence, sizeof(sentence), "%s", dtconv_strerror(status));
	return tool_fail(command, blames_input(status) ? TOOL_USAGE : TOOL_FAILED,
			 "%s%s%s", origin ? origin : "", origin ? ": " : "", sentence);
}

int tool_library_failed(const char *command, struct dtconv_context *context, int status)
{
	return print_library_error(command, context, status, NULL);
}

/* ---- input ------------------------------------------------------------------------- */

bool tool_read_size(const char *text, size_t *value)
{
	bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *digits = hexadecimal ? text + 2 : text;
	const char *allowed = hexadecimal ? "0123456789abcdefABCDEF" : "0123456789";
	unsigned long long number;

	if (*digits == '\0' || digits[strspn(digits, allowed)] != '\0')
		return false;
	errno = 0;
	number = strtoull(digits, NULL, hexadecimal ? 16 : 10);
	if (errno || number > SIZE_MAX)
		return false;
	*value = (size_t)number;
	return true;
}

/* A whole input in memory. */
struct input {
	char *text; /* only read, once it is complete */
	size_t length;
	size_t capacity;
};

static int grow_input(const char *command, const char *name, struct input *input)
{
	size_t capacity = input->capacity ? 2 * input->capacity : 4096;
	char *text = capacity <= MAX_INPUT_BYTES ? realloc(input->text, capacity) : NULL;

	if (capacity > MAX_INPUT_BYTES)
		return tool_fail(command, TOOL_USAGE,
				 "%s is longer than the limit of %zu bytes", name,
				 MAX_INPUT_BYTES / 2);
	if (!text)
		return tool_fail(command, TOOL_FAILED, "cannot allocate %zu bytes for %s",
				 capacity, name);
	input->text = text;
	input->capacity = capacity;
	return TOOL_OK;
}

static int read_stream(const char *command, FILE *stream, const char *name,
		       struct input *input)
{
	while (!feof(stream)) {
		int status = TOOL_OK;

		if (input->length == input->capacity)
			status = grow_input(command, name, input);
		if (status)
			return status;
		input->length += fread(input->text + input->length, 1,
				       input->capacity - input->length, stream);
		if (ferror(stream))
			return tool_fail(command, TOOL_USAGE, "cannot read %s: %s", name,
					 strerror(errno));
	}
	return TOOL_OK;
}

static int read_file(const char *command, const char *path, struct input *input)
{
	FILE *stream = fopen(path, "rb");
	int status;

	if (!stream)
		return tool_fail(command, TOOL_USAGE, "cannot open EXPR file '%s': %s",
				 path, strerror(errno));
	status = read_stream(command, stream, path, input);
	fclose(stream);
	return status;
}

/* What dtconv_type_serialise wrote begins like no text form. */
static bool is_serialised(const struct input *input)
{
	return input->length > 0 &&
	       (unsigned char)input->text[0] == DTCONV_SERIALISED_FIRST_BYTE;
}

static int parse(const char *command, struct dtconv_context *context,
		 const struct input *input, const char *origin, struct dtconv_type **type)
{
	struct dtconv_type *parsed;
	int status =
		is_serialised(input)
			? dtconv_type_deserialise(context, input->text, input->length,
						  &parsed)
			: dtconv_type_parse(context, input->text, input->length, &parsed);

	if (status)
		return print_library_error(command, context, status, origin);
	status = dtconv_type_commit(parsed);
	if (status) {
		dtconv_type_unref(parsed);
		return print_library_error(command, context, status, origin);
	}
	*type = parsed;
	return TOOL_OK;
}

int tool_read_type(const char *command, struct dtconv_context *context,
		   const char *argument, struct dtconv_type **type)
{
	struct input input = { NULL, 0, 0 };
	bool is_stdin = strcmp(argument, "-") == 0;
	const char *origin = is_stdin ? "standard input" : argument + 1;
	int status;

	if (!is_stdin && argument[0] != '@') {
		input.length = strlen(argument);
		input.text = (char *)argument;
		return parse(command, context, &input, "EXPR", type);
	}
	status = is_stdin ? read_stream(command, stdin, origin, &input)
			  : read_file(command, origin, &input);
	if (status == TOOL_OK)
		status = parse(command, context, &input, origin, type);
	free(input.text);
	return status;
}

int tool_create_context(const char *command, struct dtconv_context **context)
{
	int status = dtconv_context_create(NULL, context);

	if (status)
		return tool_fail(command, TOOL_FAILED, "cannot create a context: %s",
				 dtconv_strerror(status));
	return TOOL_OK;
}

/* ---- output ------------------------------------------------------------------------ */

void tool_print_operations(FILE *out, const struct dtconv_type *type, const char *quote,
			   const char *separator)
{
	const char *before = "";

	for (int op = 0; op < DTCONV_OP_COUNT; op++) {
		if (dtconv_op_check((enum dtconv_op)op, type))
			continue;
		fprintf(out, "%s%s%s%s", before, quote,
			dtconv_op_name((enum dtconv_op)op), quote);
		before = separator;
	}
}

char *tool_type_text(const char *command, struct dtconv_context *context,
		     const struct dtconv_type *type, tool_type_text_fn function)
{
	size_t length = 0;
	int status = function(type, NULL, 0, &length);
	char *text;

	if (status && status != DTCONV_ERR_TRUNCATE) {
		tool_library_failed(command, context, status);
		return NULL;
	}
	text = malloc(length + 1);
	if (!text) {
		tool_fail(command, TOOL_FAILED, "cannot allocate %zu bytes of text",
			  length);
		return NULL;
	}
	status = function(type, text, length + 1, &length);
	if (status == 0)
		return text;
	tool_library_failed(command, context, status);
	free(text);
	return NULL;
}

char *tool_info_text(const char *command, struct dtconv_context *context)
{
	size_t length = 0;
	char *text;

	/* With capacity 0 the call returns the length. */
	(void)dtconv_context_format_info(context, NULL, 0, &length);
	text = malloc(length + 1);
	if (!text) {
		tool_fail(command, TOOL_FAILED, "cannot allocate %zu bytes of text",
			  length);
		return NULL;
	}
	int status = dtconv_context_format_info(context, text, length + 1, &length);
	if (status == 0)
		return text;
	tool_library_failed(command, context, status);
	free(text);
	return NULL;
}

void tool_print_indented(FILE *out, const char *text, const char *indent)
{
	while (*text) {
		size_t length = strcspn(text, "\n");

		fprintf(out, "%s%.*s\n", length > 0 ? indent : "", (int)length, text);
		text += length + (text[length] == '\n');
	}
}

/* Bytes of the UTF-8 character that begins here, 0 if there is no valid one. */
static size_t utf8_length(const unsigned char *s)
{
	size_t length = *s < 0x80                 ? 1
			: *s >= 0xc2 && *s < 0xe0 ? 2
			: *s >= 0xe0 && *s < 0xf0 ? 3
						  : 0;

	for (size_t i = 1; i < length; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	return length;
}

void tool_print_json(FILE *out, const char *string)
{
	const unsigned char *s = (const unsigned char *)string;

	fputc('"', out);
	while (*s) {
		size_t length = utf8_length(s);

		if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else if (*s < 0x20)
			fprintf(out, "\\u%04x", *s);
		else if (length == 0)
			fputs("\\ufffd", out);
		else
			fwrite(s, 1, length, out);
		s += length > 0 ? length : 1;
	}
	fputc('"', out);
}
