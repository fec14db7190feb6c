/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scans the characters of a text form. It defines words and numbers, independent of the locale,
 * and positions in error messages. The parser defines the grammar.
 */
#include "config.h"

#include "datatype/text_scan.h"

#include "base/log.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The most characters of the caller's text that a message quotes. */
#define MAX_REPEATED 28

static int is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int is_word(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '_';
}

/* Skip a comment, which ends before the next line feed or with the text. */
static void skip_comment(struct dtc_scan *scan)
{
	const char *start = scan->text + scan->at;
	const char *end = memchr(start, '\n', scan->length - scan->at);

	scan->at = end ? (size_t)(end - scan->text) : scan->length;
}

int dtc_scan_peek(struct dtc_scan *scan)
{
	while (scan->at < scan->length) {
		char next = scan->text[scan->at];

		if (next == '#')
			skip_comment(scan);
		else if (is_space(next))
			scan->at++;
		else
			break;
	}
	return scan->at < scan->length ? (unsigned char)scan->text[scan->at] : -1;
}

int dtc_scan_accept(struct dtc_scan *scan, char wanted)
{
	if (dtc_scan_peek(scan) != wanted)
		return 0;
	scan->at++;
	return 1;
}

/* Characters of the word that begins at an offset. */
static size_t word_length(const struct dtc_scan *scan, size_t offset)
{
	size_t end = offset;

	while (end < scan->length && is_word(scan->text[end]))
		end++;
	return end - offset;
}

size_t dtc_scan_word(struct dtc_scan *scan, const char **word)
{
	size_t length;

	dtc_scan_peek(scan);
	length = word_length(scan, scan->at);
	*word = scan->text + scan->at;
	scan->at += length;
	return length;
}

/* The value of a digit; 16 if it is none. */
static unsigned digit_value(char c)
{
	if (is_digit(c))
		return (unsigned)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned)(c - 'a') + 10;
	return c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10 : 16;
}

/* Read all of a word as digits; 0 if a character is not a digit of the base. */
static int read_digits(const char *digits, size_t length, unsigned base,
		       struct dtc_scan_number *number)
{
	for (size_t i = 0; i < length; i++) {
		unsigned digit = digit_value(digits[i]);

		if (digit >= base)
			return 0;
		if (number->magnitude > (SIZE_MAX - digit) / base)
			number->too_large = 1;
		else
			number->magnitude = number->magnitude * base + digit;
	}
	return length > 0;
}

int dtc_scan_number(struct dtc_scan *scan, struct dtc_scan_number *number)
{
	int next = dtc_scan_peek(scan);
	size_t start = scan->at;
	size_t signs = next == '-' || next == '+';
	const char *word = scan->text + start + signs;
	size_t length = word_length(scan, start + signs);
	int hexadecimal = length > 2 && word[0] == '0' &&
			  (word[1] == 'x' || word[1] == 'X');

	*number = (struct dtc_scan_number){ .negative = next == '-', .start = start };
	if (hexadecimal ? !read_digits(word + 2, length - 2, 16, number)
			: !read_digits(word, length, 10, number))
		return 0;
	scan->at = start + signs + length;
	return 1;
}

struct dtc_scan_found dtc_scan_describe(const struct dtc_scan *scan, size_t offset)
{
	struct dtc_scan_found found;
	const char *start = scan->text + offset;
	size_t length;

	if (offset >= scan->length) {
		snprintf(found.text, sizeof(found.text), "the end of the text");
		return found;
	}
	length = *start == '-' || *start == '+';
	length += word_length(scan, offset + length);
	if (length > MAX_REPEATED)
		snprintf(found.text, sizeof(found.text), "'%.*s...'", MAX_REPEATED,
			 start);
	else if (length > 0)
		snprintf(found.text, sizeof(found.text), "'%.*s'", (int)length, start);
	else if (*start > ' ' && *start < 127)
		snprintf(found.text, sizeof(found.text), "'%c'", *start);
	else
		snprintf(found.text, sizeof(found.text), "the byte 0x%02x",
			 (unsigned)(unsigned char)*start);
	return found;
}

/* Describe an offset: by column, and by line if the text has several. */
static void describe_place(const struct dtc_scan *scan, size_t offset,
			   struct dtc_text *out)
{
	size_t line = 1;
	size_t line_start = 0;

	for (size_t i = 0; i < offset; i++) {
		if (scan->text[i] == '\n') {
			line++;
			line_start = i + 1;
		}
	}
	if (scan->length > 0 && memchr(scan->text, '\n', scan->length))
		dtc_text_printf(out, "line %zu, ", line);
	dtc_text_printf(out, "column %zu", offset - line_start + 1);
}

int dtc_scan_fail(const struct dtc_scan *scan, int status, size_t offset,
		  const char *format, ...)
{
	char place[64];
	char sentence[512];
	struct dtc_text text;
	va_list arguments;

	dtc_text_init(&text, place, sizeof(place));
	describe_place(scan, offset, &text);
	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	return DTC_FAIL(scan->context, status, "dtconv_type_parse: %s: %s", place,
			sentence);
}
