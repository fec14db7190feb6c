/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stand-in libgdrapi.so.2 on top of the stand-in libcuda: whole 64 KiB pages of one allocation
 * are pinned, up to a limit, and mapped where the host may touch them. A pin whose memory was
 * freed is stale: it can be undone, and nothing else.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "support/cuda_standin/standin.h"

#pragma GCC visibility push(default)
#include "support/gdrapi_standin/gdrapi.h"
#pragma GCC visibility pop

#define GPU_PAGE ((size_t)65536)

struct pin {
	struct gdr *gdr;
	struct pin *next;
	uint64_t first; /* device address */
	size_t bytes;
	uint64_t buffer_id;
	int mapped;
};

struct gdr {
	const struct standin *driver;
	struct pin *pins;
};

/* ---- Steering ---- */

static _Atomic int refusals[GDRAPI_CALLS];
static _Atomic size_t counts[GDRAPI_CALLS];
static _Atomic size_t connections, pins;
static _Atomic int mapping_type = 1;

static int begin(enum gdrapi_call call)
{
	counts[call]++;
	return refusals[call];
}

static void refuse(enum gdrapi_call call, int error)
{
	refusals[call] = error;
}

static void set_mapping_type(int type)
{
	mapping_type = type;
}

static size_t calls(enum gdrapi_call call)
{
	return counts[call];
}

static size_t connections_open(void)
{
	return connections;
}

static size_t pins_alive(void)
{
	return pins;
}

const struct gdrapi_standin *gdrapi_standin_control(void)
{
	static const struct gdrapi_standin control = { refuse, set_mapping_type, calls,
						       connections_open, pins_alive };
	return &control;
}

/* ---- The library ---- */

static struct pin *pin_of(gdr_mh_t handle)
{
	return (struct pin *)handle.h;
}

static const struct standin *driver(void)
{
	const struct standin *(*control)(void) = NULL;
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	if (library) {
		*(void **)&control = dlsym(library, "standin_control");
		dlclose(library);
	}
	return control ? control() : NULL;
}

gdr_t gdr_open(void)
{
	const struct standin *found = driver();
	if (!found || !found->get(STANDIN_GDR))
		return NULL;
	struct gdr *gdr = calloc(1, sizeof *gdr);
	if (gdr) {
		gdr->driver = found;
		connections++;
	}
	return gdr;
}

int gdr_close(gdr_t gdr)
{
	while (gdr->pins)
		gdr_unpin_buffer(gdr, (gdr_mh_t){ (unsigned long)gdr->pins });
	free(gdr);
	connections--;
	return 0;
}

static size_t pinned_bytes(const struct gdr *gdr)
{
	size_t bytes = 0;
	for (const struct pin *pin = gdr->pins; pin; pin = pin->next)
		bytes += pin->bytes;
	return bytes;
}

int gdr_pin_buffer_v2(gdr_t gdr, unsigned long address, size_t size, uint32_t flags,
		      gdr_mh_t *handle)
{
	struct standin_pages pages;
	const int error = begin(GDRAPI_PIN);
	if (error)
		return error;
	if (!gdr || !handle || !size || flags > 1)
		return EINVAL;
	if (!gdr->driver->pages(address, size, &pages))
		return EINVAL;
	const size_t limit = (size_t)gdr->driver->get(STANDIN_GDR_PIN_MIB) << 20;
	if (pages.bytes > limit || pinned_bytes(gdr) > limit - pages.bytes)
		return ENOMEM;
	struct pin *pin = calloc(1, sizeof *pin);
	if (!pin)
		return ENOMEM;
	*pin = (struct pin){ gdr,         gdr->pins,       pages.address,
			     pages.bytes, pages.buffer_id, 0 };
	gdr->pins = pin;
	pins++;
	handle->h = (unsigned long)pin;
	return 0;
}

int gdr_pin_buffer(gdr_t gdr, unsigned long address, size_t size, uint64_t token,
		   uint32_t space, gdr_mh_t *handle)
{
	(void)token;
	(void)space;
	return gdr_pin_buffer_v2(gdr, address, size, 0, handle);
}

int gdr_unpin_buffer(gdr_t gdr, gdr_mh_t handle)
{
	struct pin **link = &gdr->pins;
	begin(GDRAPI_UNPIN);
	while (*link && *link != pin_of(handle))
		link = &(*link)->next;
	if (!*link)
		return EINVAL;
	struct pin *pin = *link;
	*link = pin->next;
	free(pin);
	pins--;
	return 0;
}

/* The host's view of the pinned pages; NULL if their memory is gone. */
static unsigned char *pages_of(const struct pin *pin)
{
	struct standin_pages pages;
	if (!pin->gdr->driver->pages(pin->first, 0, &pages) ||
	    pages.buffer_id != pin->buffer_id)
		return NULL;
	return pages.host;
}

int gdr_get_callback_flag(gdr_t gdr, gdr_mh_t handle, int *flag)
{
	(void)gdr;
	*flag = !pages_of(pin_of(handle));
	return 0;
}

int gdr_get_info_v2(gdr_t gdr, gdr_mh_t handle, struct gdr_info *info)
{
	const struct pin *pin = pin_of(handle);
	const int error = begin(GDRAPI_INFO);
	(void)gdr;
	if (error || !pages_of(pin))
		return error ? error : EINVAL;
	memset(info, 0, sizeof *info);
	info->va = pin->first;
	info->mapped_size = pin->bytes;
	info->page_size = (uint32_t)GPU_PAGE;
	info->mapped = pin->mapped != 0;
	info->wc_mapping = pin->mapped && mapping_type >= 0 && mapping_type < 2;
	info->mapping_type = pin->mapped && mapping_type > 0 ? mapping_type : 0;
	return 0;
}

int gdr_get_info(gdr_t gdr, gdr_mh_t handle, struct gdr_info *info)
{
	return gdr_get_info_v2(gdr, handle, info);
}

#ifndef GDRAPI_WITHOUT_MAP
int gdr_map_v2(gdr_t gdr, gdr_mh_t handle, void **mapping, size_t size, int flags)
{
	struct pin *pin = pin_of(handle);
	unsigned char *pages = pages_of(pin);
	const int error = begin(GDRAPI_MAP);
	(void)gdr;
	if (error)
		return error;
	if (pin->mapped)
		return EAGAIN;
	if (!pages || !mapping || flags ||
	    (size + GPU_PAGE - 1) / GPU_PAGE * GPU_PAGE > pin->bytes)
		return EINVAL;
	*mapping = pages;
	pin->mapped = 1;
	return 0;
}

int gdr_map(gdr_t gdr, gdr_mh_t handle, void **mapping, size_t size)
{
	return gdr_map_v2(gdr, handle, mapping, size, 0);
}
#endif

int gdr_unmap(gdr_t gdr, gdr_mh_t handle, void *mapping, size_t size)
{
	struct pin *pin = pin_of(handle);
	(void)gdr;
	(void)mapping;
	(void)size;
	if (!pin->mapped)
		return EINVAL;
	pin->mapped = 0;
	return 0;
}

int gdr_copy_to_mapping(gdr_mh_t handle, void *mapping, const void *source, size_t size)
{
	if (!pin_of(handle)->mapped)
		return EINVAL;
	memcpy(mapping, source, size);
	return 0;
}

int gdr_copy_from_mapping(gdr_mh_t handle, void *target, const void *mapping, size_t size)
{
	if (!pin_of(handle)->mapped)
		return EINVAL;
	memcpy(target, mapping, size);
	return 0;
}

void gdr_runtime_get_version(int *major, int *minor)
{
	*major = 2;
	*minor = 5;
}

int gdr_driver_get_version(gdr_t gdr, int *major, int *minor)
{
	(void)gdr;
	gdr_runtime_get_version(major, minor);
	return 0;
}
