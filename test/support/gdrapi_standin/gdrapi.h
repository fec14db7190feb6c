/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of libgdrapi's interface that the stand-in has, in our own words: the header is
 * seldom installed, and the library is opened by name.
 */
#ifndef TEST_SUPPORT_GDRAPI_STANDIN_GDRAPI_H
#define TEST_SUPPORT_GDRAPI_STANDIN_GDRAPI_H

#include <stddef.h>
#include <stdint.h>

typedef struct gdr *gdr_t;

typedef struct {
	unsigned long h;
} gdr_mh_t;

struct gdr_info {
	uint64_t va; /* device address of the first page */
	uint64_t mapped_size;
	uint32_t page_size;
	uint64_t tm_cycles;
	uint32_t cycles_per_ms;
	unsigned mapped : 1;
	unsigned wc_mapping : 1;
	int mapping_type; /* 0: none, 1: write-combining */
};

gdr_t gdr_open(void);
int gdr_close(gdr_t gdr);
int gdr_pin_buffer(gdr_t gdr, unsigned long address, size_t size, uint64_t token,
		   uint32_t space, gdr_mh_t *handle);
int gdr_pin_buffer_v2(gdr_t gdr, unsigned long address, size_t size, uint32_t flags,
		      gdr_mh_t *handle);
int gdr_unpin_buffer(gdr_t gdr, gdr_mh_t handle);
int gdr_get_callback_flag(gdr_t gdr, gdr_mh_t handle, int *flag);
int gdr_get_info(gdr_t gdr, gdr_mh_t handle, struct gdr_info *info);
int gdr_get_info_v2(gdr_t gdr, gdr_mh_t handle, struct gdr_info *info);
int gdr_map(gdr_t gdr, gdr_mh_t handle, void **mapping, size_t size);
int gdr_map_v2(gdr_t gdr, gdr_mh_t handle, void **mapping, size_t size, int flags);
int gdr_unmap(gdr_t gdr, gdr_mh_t handle, void *mapping, size_t size);
int gdr_copy_to_mapping(gdr_mh_t handle, void *mapping, const void *source, size_t size);
int gdr_copy_from_mapping(gdr_mh_t handle, void *target, const void *mapping,
			  size_t size);
void gdr_runtime_get_version(int *major, int *minor);
int gdr_driver_get_version(gdr_t gdr, int *major, int *minor);

/* ---- how a test steers it ---- */

enum gdrapi_call { GDRAPI_PIN, GDRAPI_MAP, GDRAPI_INFO, GDRAPI_UNPIN, GDRAPI_CALLS };

struct gdrapi_standin {
	/* Every call from now on answers error; 0: works again. Not for unpin. */
	void (*refuse)(enum gdrapi_call call, int error);
	/* What mappings are said to be: see struct gdr_info. Below 0: no name, and not combining. */
	void (*set_mapping_type)(int type);
	size_t (*calls)(enum gdrapi_call call);
	size_t (*connections)(void); /* open ones */
	size_t (*pins)(void);        /* that were not undone */
};

/* Symbol gdrapi_standin_control. */
const struct gdrapi_standin *gdrapi_standin_control(void);

#endif
