/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bounded text buffer: what does not fit is dropped.
 */
#include "config.h"

#include "text.h"

#include <dtconv/status.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The room that is left, with the NUL. */
static size_t room(const struct dtc_text *text)
{
	return text->length < text->capacity ? text->capacity - text->length : 0;
}

void dtc_text_init(struct dtc_text *text, char *buffer, size_t capacity)
{
	*text = (struct dtc_text){ .buffer = buffer, .capacity = capacity };
	if (capacity > 0)
		buffer[0] = '\0';
}

void dtc_text_append(struct dtc_text *text, const char *bytes, size_t length)
{
	size_t left = room(text);

	if (left > 0) {
		size_t fits = length < left ? length : left - 1;

		memcpy(text->buffer + text->length, bytes, fits);
		text->buffer[text->length + fits] = '\0';
	}
	text->length += length;
}

void dtc_text_puts(struct dtc_text *text, const char *string)
{
	dtc_text_append(text, string, strlen(string));
}

void dtc_text_printf(struct dtc_text *text, const char *format, ...)
{
	size_t left = room(text);
	va_list arguments;
	int length;

	va_start(arguments, format);
	/* NULL if no room is left: an address past the end is undefined behaviour */
	length = vsnprintf(left > 0 ? text->buffer + text->length : NULL, left, format,
			   arguments);
	va_end(arguments);
	if (length > 0)
		text->length += (size_t)length;
}

void dtc_text_put_size(struct dtc_text *text, size_t value)
{
	char digits[3 * sizeof(value)];
	size_t first = sizeof(digits);

	do {
		digits[--first] = (char)('0' + value % 10);
		value /= 10;
	} while (value > 0);
	dtc_text_append(text, digits + first, sizeof(digits) - first);
}

void dtc_text_put_disp(struct dtc_text *text, ptrdiff_t value)
{
	if (value < 0)
		dtc_text_append(text, "-", 1);
	/* negated as unsigned, because -PTRDIFF_MIN overflows */
	dtc_text_put_size(text, value < 0 ? 0 - (size_t)value : (size_t)value);
}

int dtc_text_finish(const struct dtc_text *text, size_t *length)
{
	*length = text->length;
	return text->length < text->capacity ? 0 : DTCONV_ERR_TRUNCATE;
}
