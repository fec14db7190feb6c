/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Growing arrays. They double their capacity, so that appending takes amortised constant time.
 */
#include "config.h"

#include "vec.h"

#include <string.h>

#include "checked.h"
#include "context.h"

static bool grow(struct dtconv_context *context, struct dtc_vec *vec)
{
	void *items = NULL;
	size_t capacity, bytes;

	if (!dtc_mul_size(vec->capacity, 2, &capacity) &&
	    !dtc_add_size(capacity, 16, &capacity) &&
	    !dtc_mul_size(capacity, vec->width, &bytes))
		items = dtc_alloc(context, bytes);
	if (!items)
		return false;
	if (vec->count > 0)
		memcpy(items, vec->items, vec->count * vec->width);
	dtc_free(context, vec->items);
	vec->items = items;
	vec->capacity = capacity;
	return true;
}

bool dtc_vec_push(struct dtconv_context *context, struct dtc_vec *vec, const void *item)
{
	if (vec->count == vec->capacity && !grow(context, vec))
		return false;
	memcpy((char *)vec->items + vec->count * vec->width, item, vec->width);
	vec->count++;
	return true;
}
