/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unpacks images with the system's own libraries: the driver's way is not to be had without a device.
 */
#include "config.h"

#include "kernels/unpack.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "support/fat_binary.h"
#include "support/marks.h"

#define LZ4  "liblz4.so.1"
#define ZSTD "libzstd.so.1"

/* POSIX lets dlsym's answer be a function; C needs a detour. */
static bool find(const char *library, const char *name, void *function)
{
	void *open = dlopen(library, RTLD_NOW);
	void *symbol = open ? dlsym(open, name) : NULL;

	memcpy(function, &symbol, sizeof(symbol));
	return symbol != NULL;
}

static struct fat_entry only_entry(const struct dtc_gpu_image *image, const char **at)
{
	struct fat_entry entry, next;

	*at = fat_entry_at(image->data, 0, &entry);
	ck_assert_ptr_nonnull(*at);
	ck_assert_ptr_null(
		fat_entry_at(image->data, entry.head_bytes + entry.bytes, &next));
	ck_assert_uint_le(sizeof(struct fat_head) + entry.head_bytes + entry.bytes,
			  image->bytes);
	return entry;
}

const char *unpack_lacks(const struct dtc_gpu_image *image)
{
	struct fat_entry entry;
	void *function;

	if (!fat_is(image->data) || !fat_entry_at(image->data, 0, &entry))
		return NULL;
	if (entry.flags & FAT_LZ4 && !find(LZ4, "LZ4_decompress_safe", &function))
		return LZ4;
	if (entry.flags & FAT_ZSTD && !find(ZSTD, "ZSTD_decompress", &function))
		return ZSTD;
	return NULL;
}

static size_t unpack_lz4(const char *from, const struct fat_entry *entry, char *to)
{
	int (*decompress)(const char *source, char *target, int source_bytes,
			  int target_bytes);

	if (!find(LZ4, "LZ4_decompress_safe", &decompress))
		return 0;
	return (size_t)decompress(from, to, (int)entry->packed_bytes,
				  (int)entry->image_bytes);
}

static size_t unpack_zstd(const char *from, const struct fat_entry *entry, char *to)
{
	size_t (*decompress)(void *target, size_t target_bytes, const void *source,
			     size_t source_bytes);

	if (!find(ZSTD, "ZSTD_decompress", &decompress))
		return 0;
	return decompress(to, entry->image_bytes, from, entry->packed_bytes);
}

static struct unpacked copy(const void *bytes, size_t count)
{
	struct unpacked unpacked = { calloc(count + 1, 1), count };

	ck_assert_ptr_nonnull(unpacked.bytes);
	if (bytes)
		memcpy(unpacked.bytes, bytes, count);
	return unpacked;
}

struct unpacked unpack(const struct dtc_gpu_image *image)
{
	const char *at;

	if (!fat_is(image->data))
		return copy(image->data, image->bytes);
	struct fat_entry entry = only_entry(image, &at);
	ck_assert_uint_eq(entry.arch, image->arch);
	ck_assert_int_eq(entry.kind, image->is_ptx ? FAT_PTX : FAT_ELF);
	at += entry.head_bytes;
	if (!(entry.flags & (FAT_LZ4 | FAT_ZSTD)))
		return copy(at, entry.bytes);
	struct unpacked unpacked = copy(NULL, entry.image_bytes);
	ck_assert_uint_eq(entry.flags & FAT_LZ4 ? unpack_lz4(at, &entry, unpacked.bytes)
						: unpack_zstd(at, &entry, unpacked.bytes),
			  entry.image_bytes);
	return unpacked;
}

void unpack_end(struct unpacked *unpacked)
{
	free(unpacked->bytes);
}
