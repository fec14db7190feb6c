/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libgdrapi (gdrcopy), which maps device memory into the BAR so that the CPU can load and store it. The library is
 * opened with dlopen on first use. Its interface is declared here in our own words, because its header is seldom
 * installed.
 */
#ifndef DTC_CUDA_GDRCOPY_H
#define DTC_CUDA_GDRCOPY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dtc_text;
struct dtconv_context;

/* Memory is pinned in pages of this size. */
#define DTC_GDR_PAGE ((uintptr_t)65536)

struct dtc_gdr_connection;

/* A pinned range. */
struct dtc_gdr_pin {
	unsigned long handle;
};

enum dtc_gdr_mapping_type {
	DTC_GDR_MAPPING_UNKNOWN, /* not mapped, or the library is too old to say */
	DTC_GDR_MAPPING_COMBINING,
	DTC_GDR_MAPPING_CACHING,
	DTC_GDR_MAPPING_DEVICE /* takes aligned words only */
};

struct dtc_gdr_info {
	uint64_t address; /* of the device; a mapping begins there */
	uint64_t mapped_bytes;
	uint32_t page_bytes;
	uint64_t cycles; /* no longer used, nor is the next one */
	uint32_t cycles_per_ms;
	unsigned mapped : 1;
	unsigned combining : 1;
	int type;
	unsigned char newer[128]; /* what later libraries may add */
};

/*
 * Every function that is used: its name without the prefix, what it answers, what it takes. Those that
 * answer an int answer 0 or an errno. A library that lacks a needed one is none for us.
 */
#define DTC_GDR_NEEDED(X)                                                           \
	X(open, struct dtc_gdr_connection *, (void))                                \
	X(close, int, (struct dtc_gdr_connection *))                                \
	X(pin_buffer, int,                                                          \
	  (struct dtc_gdr_connection *, unsigned long address, size_t bytes,        \
	   uint64_t token, uint32_t space, struct dtc_gdr_pin *))                   \
	X(unpin_buffer, int, (struct dtc_gdr_connection *, struct dtc_gdr_pin))     \
	X(get_info_v2, int,                                                         \
	  (struct dtc_gdr_connection *, struct dtc_gdr_pin, struct dtc_gdr_info *)) \
	X(map, int,                                                                 \
	  (struct dtc_gdr_connection *, struct dtc_gdr_pin, void **, size_t bytes)) \
	X(unmap, int,                                                               \
	  (struct dtc_gdr_connection *, struct dtc_gdr_pin, void *, size_t bytes))

#define DTC_GDR_WANTED(X) X(runtime_get_version, void, (int *major, int *minor))

#define DTC_GDR_MEMBER(name, result, arguments) result(*name) arguments;

struct dtc_gdr {
	DTC_GDR_NEEDED(DTC_GDR_MEMBER)
	DTC_GDR_WANTED(DTC_GDR_MEMBER)
	pthread_mutex_t lock; /* held while it is looked for */
	_Atomic bool looked;
	const char *reason; /* why it cannot be used; NULL if it can, once looked for */
	void *library;
	struct dtc_gdr_connection *connection;
};

void dtc_gdr_init(struct dtc_gdr *gdr);

/* Disconnect and forget the library. Nothing is pinned any more. */
void dtc_gdr_close(struct dtc_gdr *gdr);

/* Look for the library, the first time. NULL if it can be used; else why not, in a few words. */
const char *dtc_gdr_find(struct dtc_gdr *gdr, struct dtconv_context *context);

/* Look for it, and tell a user what was found. */
void dtc_gdr_describe(struct dtc_gdr *gdr, struct dtconv_context *context,
		      struct dtc_text *text);

#endif
