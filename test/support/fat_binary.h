/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CUDA's fat binaries, as far as tests look into them: a head, then entries with an image each. The layout
 * is what fatbinary of CUDA 12 and 13 writes; NVIDIA documents none.
 */
#ifndef TEST_SUPPORT_FAT_BINARY_H
#define TEST_SUPPORT_FAT_BINARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FAT_MAGIC 0xba55ed50u

struct fat_head {
	uint32_t magic;
	uint16_t version, head_bytes;
	uint64_t bytes; /* of all entries */
};

enum fat_kind { FAT_PTX = 1, FAT_ELF = 2 };

/* How the image of an entry is packed. */
#define FAT_LZ4  UINT64_C(0x2000)
#define FAT_ZSTD UINT64_C(0x8000)

struct fat_entry {
	uint16_t kind, version;
	uint32_t head_bytes;
	uint64_t bytes; /* behind the entry's head, padded */
	uint32_t packed_bytes, options;
	uint16_t minor, major;
	uint32_t arch; /* 90: sm_90, compute_90 */
	uint32_t name, name_bytes;
	uint64_t flags, unused, image_bytes;
};

_Static_assert(sizeof(struct fat_head) == 16 && sizeof(struct fat_entry) == 64,
	       "fat binaries have no padding");

static inline bool fat_is(const void *image)
{
	const uint32_t magic = FAT_MAGIC;

	return !memcmp(image, &magic, sizeof(magic));
}

/* The entry at @offset bytes behind the head, NULL: none. Copied, because nothing is aligned. */
static inline const char *fat_entry_at(const void *image, uint64_t offset,
				       struct fat_entry *entry)
{
	const char *bytes = image;
	struct fat_head head;

	memcpy(&head, bytes, sizeof(head));
	if (offset + sizeof(*entry) > head.bytes)
		return NULL;
	bytes += head.head_bytes + offset;
	memcpy(entry, bytes, sizeof(*entry));
	return bytes;
}

#endif
