/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory for the library's own objects, from the context's allocator.
 */
#include "config.h"

#include "context.h"

#include <string.h>

void *dtc_alloc(struct dtconv_context *context, size_t bytes)
{
	return context->allocator.alloc(context->allocator.arg, bytes ? bytes : 1);
}

void *dtc_alloc_zeroed(struct dtconv_context *context, size_t bytes)
{
	void *memory = dtc_alloc(context, bytes);

	if (memory)
		memset(memory, 0, bytes);
	return memory;
}

void dtc_free(struct dtconv_context *context, void *memory)
{
	if (memory)
		context->allocator.free(context->allocator.arg, memory);
}
