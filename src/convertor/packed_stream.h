/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The packed stream of whole instances: the check that it can be addressed, and a cursor at its start.
 */
#ifndef DTC_PACKED_STREAM_H
#define DTC_PACKED_STREAM_H

#include <stddef.h>

struct dtc_cursor;
struct dtconv_type;

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
