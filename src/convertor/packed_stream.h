/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The packed stream of whole instances: the check that it can be addressed, and a cursor at its start.
 */
#ifndef DTC_PACKED_STREAM_H
#define DTC_PACKED_STREAM_H

#include <stdbool.h>
#include <stddef.h>

struct dtc_bounds;
struct dtc_cursor;
struct dtconv_type;

/* Whether the stream's length overflows size_t, or a displacement in the last instance ptrdiff_t. */
bool dtc_packed_stream_is_too_long(const struct dtc_bounds *bounds, size_t count);

/*
 * Fail with STATE if the type is not committed, with OVERFLOW if the stream is too long. @argument is the
 * type's name in error messages.
 */
int dtc_packed_stream_check(const struct dtconv_type *type, size_t count,
			    const char *caller, const char *argument);

/* Put @cursor at the start of @count instances of @type. Fails as the check does. */
int dtc_packed_stream_begin(struct dtc_cursor *cursor, const struct dtconv_type *type,
			    size_t count, const char *caller, const char *argument);

#endif
