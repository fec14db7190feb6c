/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writing and reading handles: 64-bit words in little-endian order, and byte strings between them. The checksum finds
 * damage. It protects against no one, so every number is checked as well.
 */
#include "config.h"

#include "ipc_handle.h"

#include <string.h>

#include <dtconv/ipc.h>

#include "words.h"

/* "dtcvipc", and the version in the last byte. */
#define MAGIC (UINT64_C(0x63706976637464) | (uint64_t)DTC_IPC_VERSION << 56)

/* Numbers of words. */
enum {
	WORD_MAGIC,
	WORD_PROCESS,
	WORD_START,
	WORD_SPACE,
	WORD_BOOT,
	WORD_DEVICE = WORD_BOOT + DTC_BOOT_BYTES / 8,
	WORD_BASE = WORD_DEVICE + DTC_IPC_DEVICE_BYTES / 8,
	WORD_ALLOCATION_BYTES,
	WORD_OFFSET,
	WORD_BYTES,
	WORD_ID,
	WORD_DRIVER,
	WORD_RESERVED = WORD_DRIVER + DTC_IPC_DRIVER_BYTES / 8,
	WORD_CHECKSUM = WORD_RESERVED + 2,
	WORDS
};

_Static_assert(8 * WORDS == DTCONV_IPC_HANDLE_BYTES, "the public size");

/* FNV-1a: one changed byte always changes it. */
static uint64_t checksum_of(const void *bytes)
{
	const unsigned char *at = bytes;
	uint64_t sum = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < 8 * WORD_CHECKSUM; i++)
		sum = (sum ^ at[i]) * UINT64_C(0x100000001b3);
	return sum;
}

void dtc_ipc_handle_write(const struct dtc_ipc_handle *handle, void *bytes)
{
	const struct dtc_ipc_allocation *allocation = &handle->allocation;

	memset(bytes, 0, DTCONV_IPC_HANDLE_BYTES);
	dtc_word_put(bytes, WORD_MAGIC, MAGIC);
	dtc_word_put(bytes, WORD_PROCESS, handle->owner.id);
	dtc_word_put(bytes, WORD_START, handle->owner.start);
	dtc_word_put(bytes, WORD_SPACE, handle->owner.space);
	memcpy((char *)bytes + 8 * WORD_BOOT, handle->owner.boot, DTC_BOOT_BYTES);
	memcpy((char *)bytes + 8 * WORD_DEVICE, allocation->device, DTC_IPC_DEVICE_BYTES);
	dtc_word_put(bytes, WORD_BASE, allocation->base);
	dtc_word_put(bytes, WORD_ALLOCATION_BYTES, allocation->bytes);
	dtc_word_put(bytes, WORD_OFFSET, handle->offset);
	dtc_word_put(bytes, WORD_BYTES, handle->bytes);
	dtc_word_put(bytes, WORD_ID, allocation->id);
	memcpy((char *)bytes + 8 * WORD_DRIVER, allocation->driver, DTC_IPC_DRIVER_BYTES);
	dtc_word_put(bytes, WORD_CHECKSUM, checksum_of(bytes));
}

static void take_all(const void *bytes, struct dtc_ipc_handle *handle)
{
	struct dtc_ipc_allocation *allocation = &handle->allocation;

	handle->owner.id = dtc_word_take(bytes, WORD_PROCESS);
	handle->owner.start = dtc_word_take(bytes, WORD_START);
	handle->owner.space = dtc_word_take(bytes, WORD_SPACE);
	memcpy(handle->owner.boot, (const char *)bytes + 8 * WORD_BOOT, DTC_BOOT_BYTES);
	memcpy(allocation->device, (const char *)bytes + 8 * WORD_DEVICE,
	       DTC_IPC_DEVICE_BYTES);
	allocation->base = dtc_word_take(bytes, WORD_BASE);
	allocation->bytes = dtc_word_take(bytes, WORD_ALLOCATION_BYTES);
	handle->offset = dtc_word_take(bytes, WORD_OFFSET);
	handle->bytes = dtc_word_take(bytes, WORD_BYTES);
	allocation->id = dtc_word_take(bytes, WORD_ID);
	memcpy(allocation->driver, (const char *)bytes + 8 * WORD_DRIVER,
	       DTC_IPC_DRIVER_BYTES);
}

/* Addresses of the allocation and of the range exist on this machine. */
static bool has_addresses(const struct dtc_ipc_allocation *allocation)
{
	return allocation->base && allocation->bytes &&
	       allocation->bytes <= PTRDIFF_MAX && allocation->base <= UINTPTR_MAX &&
	       allocation->bytes <= UINTPTR_MAX - allocation->base;
}

/* An address past the end would be that of other memory. */
static bool has_range(const struct dtc_ipc_handle *handle)
{
	const uint64_t bytes = handle->allocation.bytes;

	return handle->offset < bytes && handle->bytes <= bytes - handle->offset;
}

const char *dtc_ipc_handle_read(const void *bytes, size_t length,
				struct dtc_ipc_handle *handle)
{
	if (length != DTCONV_IPC_HANDLE_BYTES)
		return "has another length";
	if (dtc_word_take(bytes, WORD_MAGIC) != MAGIC)
		return "is none, or of another version of the library";
	if (dtc_word_take(bytes, WORD_CHECKSUM) != checksum_of(bytes))
		return "is damaged: its checksum is wrong";
	if (dtc_word_take(bytes, WORD_RESERVED) ||
	    dtc_word_take(bytes, WORD_RESERVED + 1))
		return "has reserved bits";
	take_all(bytes, handle);
	if (!handle->owner.id || !handle->allocation.id)
		return "names no process or no allocation";
	if (!has_addresses(&handle->allocation))
		return "names an allocation beyond the address space";
	if (!has_range(handle))
		return "names a range outside its allocation";
	return NULL;
}
