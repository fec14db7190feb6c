/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writing, reading and checking offers: words, the bytes of a handle, and a serialised type to the end.
 */
#include "config.h"

#include "offer.h"

#include <stdio.h>
#include <string.h>

#include <dtconv/ipc.h>
#include <dtconv/type.h>

#include "base/context.h"
#include "convertor/convertor.h"
#include "copy_backends/memory/memory.h"
#include "datatype/bounds.h"
#include "datatype/signature.h"
#include "datatype/type.h"
#include "words.h"

/* Word 0: origin. 1: count. Then the handle, then the type. */
#define HANDLE_AT 16
#define TYPE_AT   (HANDLE_AT + DTCONV_IPC_HANDLE_BYTES)

/* Of all instances; false on overflow. */
static bool find_bounds(const struct dtconv_type *type, uint64_t count,
			struct dtc_bounds *all)
{
	return count <= SIZE_MAX &&
	       !dtc_bounds_are_too_many(&type->bounds, (size_t)count) &&
	       !dtc_bounds_repeat(&type->bounds, (size_t)count,
				  dtc_bounds_extent(&type->bounds), all);
}

/* ---- writing --------------------------------------------------------------------------- */

static const char *take_error(struct dtconv_context *context, char *text)
{
	(void)dtconv_context_error(context, text, DTC_OFFER_TEXT);
	return text;
}

/* CUDA IPC shares device memory only; asking for other memory would be an error each time. */
static const char *check_memory(struct dtconv_context *context, const char *address)
{
	struct dtc_memory memory;

	dtc_memory_query(context, address, &memory);
	return memory.kind == DTCONV_MEMORY_DEVICE
		       ? NULL
		       : "the sender's buffer is not device memory";
}

static const char *write_memory(const struct dtconv_convertor *convertor,
				const struct dtc_bounds *all, unsigned char *room,
				char *text)
{
	struct dtconv_context *context = convertor->type->context;
	const char *low =
		(const char *)((uintptr_t)convertor->user + (uintptr_t)all->true_lb);
	const size_t bytes = (size_t)all->true_ub - (size_t)all->true_lb;
	struct dtconv_ipc_handle handle;
	const char *why = check_memory(context, low);

	if (why)
		return why;
	if (dtconv_ipc_export(context, low, bytes, &handle))
		return take_error(context, text);
	dtc_word_put(room, 0, (uint64_t)0 - (uint64_t)(int64_t)all->true_lb);
	dtc_word_put(room, 1, convertor->count);
	memcpy(room + HANDLE_AT, handle.bytes, sizeof(handle.bytes));
	return NULL;
}

static const char *write_type(const struct dtconv_type *type, unsigned char *room,
			      size_t *bytes, char *text)
{
	const size_t most = DTC_WIRE_OFFER_BYTES - TYPE_AT;
	const int status = dtconv_type_serialise(type, room + TYPE_AT, most, bytes);

	if (status == DTCONV_ERR_TRUNCATE) {
		(void)snprintf(text, DTC_OFFER_TEXT,
			       "its type has %zu bytes in serialised form, and there is "
			       "room for %zu",
			       *bytes, most);
		return text;
	}
	return status ? take_error(type->context, text) : NULL;
}

bool dtc_offer_write(const struct dtconv_convertor *convertor, void *bytes,
		     uint32_t *length, char *text, const char **why)
{
	unsigned char *room = bytes;
	struct dtc_bounds all;
	size_t type_bytes = 0;

	if (!find_bounds(convertor->type, convertor->count, &all))
		*why = "the bounds of its instances overflow";
	else
		*why = write_memory(convertor, &all, room, text);
	if (!*why)
		*why = write_type(convertor->type, room, &type_bytes, text);
	if (*why)
		return false;
	*length = (uint32_t)(TYPE_AT + type_bytes);
	return true;
}

/* ---- reading --------------------------------------------------------------------------- */

const char *dtc_offer_read(const void *bytes, size_t length, struct dtc_offer *offer)
{
	const unsigned char *at = bytes;

	if (length <= TYPE_AT)
		return "is too short";
	if (dtc_ipc_handle_read(at + HANDLE_AT, DTCONV_IPC_HANDLE_BYTES, &offer->memory))
		return "has a handle that is none";
	offer->handle = at + HANDLE_AT;
	offer->origin = dtc_word_take(at, 0);
	offer->count = dtc_word_take(at, 1);
	offer->type = at + TYPE_AT;
	offer->type_bytes = length - TYPE_AT;
	return NULL;
}

/* All of [origin + low, origin + high) is in the range. Modulo 2^64 a negative number is too large. */
static bool lies_in_range(const struct dtc_offer *offer, const struct dtc_bounds *all)
{
	const uint64_t low = offer->origin + (uint64_t)(int64_t)all->true_lb;
	const uint64_t bytes =
		(uint64_t)(int64_t)all->true_ub - (uint64_t)(int64_t)all->true_lb;

	return low <= offer->memory.bytes && bytes <= offer->memory.bytes - low;
}

const char *dtc_offer_check(const struct dtc_offer *offer, const struct dtconv_type *type,
			    uint64_t bytes, uint64_t hash)
{
	struct dtc_bounds all;
	uint64_t its;

	if (!find_bounds(type, offer->count, &all))
		return "has too many instances";
	if (all.size != bytes)
		return "has another length than its message";
	if (!dtc_signature_hash_start(type->signature, offer->count, bytes, &its) ||
	    its != hash)
		return "has other basic types than its message";
	if (!lies_in_range(offer, &all))
		return "leaves the range of its handle";
	return NULL;
}
