/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CPU loads and stores through a BAR mapping of device memory, made by libgdrapi. The library
 * packs and unpacks there as in host memory.
 */
#include "config.h"

#include "bench/gpu/way.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <dtconv/dtconv.h>

#include "bench/harness/arena.h"
#include "bench/layouts/layout.h"

/* The used part of version 2 of gdrapi.h. */
struct gdr_handle {
	unsigned long h;
};

struct gdr_info {
	uint64_t va;
	uint64_t mapped_size;
	uint32_t page_size;
	uint64_t tm_cycles;
	uint32_t cycles_per_ms;
	unsigned mapped : 1;
	unsigned wc_mapping : 1;
	int mapping_type;
	unsigned char newer[128]; /* reserved for later libraries */
};

struct gdr_calls {
	void *(*open)(void);
	int (*close)(void *gdr);
	int (*pin)(void *gdr, unsigned long address, size_t bytes, uint64_t token,
		   uint32_t space, struct gdr_handle *handle);
	int (*unpin)(void *gdr, struct gdr_handle handle);
	int (*map)(void *gdr, struct gdr_handle handle, void **mapping, size_t bytes);
	int (*unmap)(void *gdr, struct gdr_handle handle, void *mapping, size_t bytes);
	int (*info)(void *gdr, struct gdr_handle handle, struct gdr_info *info);
};

#define PAGE ((size_t)64 << 10)

/* The mapping of one row's user buffer. */
struct bar {
	struct gdr_calls calls;
	void *gdr;
	struct gdr_handle handle;
	void *mapping;
	size_t bytes;
	unsigned char *user; /* where the mapping begins */
};

static bool find_call(void *library, const char *name, void *call)
{
	void *symbol = dlsym(library, name);

	memcpy(call, &symbol, sizeof(symbol));
	return symbol;
}

static bool find_calls(struct gdr_calls *calls)
{
	void *library = dlopen("libgdrapi.so.2", RTLD_NOW | RTLD_LOCAL);

	return library && find_call(library, "gdr_open", &calls->open) &&
	       find_call(library, "gdr_close", &calls->close) &&
	       find_call(library, "gdr_pin_buffer", &calls->pin) &&
	       find_call(library, "gdr_unpin_buffer", &calls->unpin) &&
	       find_call(library, "gdr_map", &calls->map) &&
	       find_call(library, "gdr_unmap", &calls->unmap) &&
	       find_call(library, "gdr_get_info_v2", &calls->info);
}

static void close_bar(struct bar *bar)
{
	if (bar->mapping)
		bar->calls.unmap(bar->gdr, bar->handle, bar->mapping, bar->bytes);
	if (bar->bytes)
		bar->calls.unpin(bar->gdr, bar->handle);
	if (bar->gdr)
		bar->calls.close(bar->gdr);
	free(bar);
}

static int open_bar(struct bar *bar, const unsigned char *user, size_t bytes)
{
	unsigned long first = (unsigned long)(uintptr_t)user;
	struct gdr_info info = { 0 };

	bar->gdr = find_calls(&bar->calls) ? bar->calls.open() : NULL;
	if (!bar->gdr || bar->calls.pin(bar->gdr, first, bytes, 0, 0, &bar->handle))
		return -1;
	/* Pins and mappings consist of whole pages, and begin with the first one. */
	bar->bytes = first % PAGE + bytes;
	if (bar->calls.map(bar->gdr, bar->handle, &bar->mapping, bar->bytes) ||
	    bar->calls.info(bar->gdr, bar->handle, &info))
		return -1;
	bar->user = (unsigned char *)bar->mapping + ((uintptr_t)user - info.va);
	return 0;
}

static int prepare(struct engine *e, struct way *w)
{
	struct bar *bar = calloc(1, sizeof(*bar));
	const struct arena *a = e->arena;

	if (bar && !open_bar(bar, w->user, a->region_bytes - (a->user - a->region))) {
		w->bar = bar;
		return 0;
	}
	if (bar)
		close_bar(bar);
	e->absent = true;
	engine_problem(e, "the device memory cannot be mapped through the BAR");
	return -1;
}

static void release(struct way *w)
{
	close_bar(w->bar);
	w->bar = NULL;
}

/* Stores to the mapping pass through write-combining buffers, which a fence empties. */
static int once(struct engine *e, struct way *w, enum bench_op op)
{
	const struct dtconv_convertor_params host = { .struct_size = sizeof(host),
						      .user_memory = DTCONV_MEMORY_HOST,
						      .packed_memory =
							      DTCONV_MEMORY_HOST };
	const struct bench_case *c = e->c;
	struct bar *bar = w->bar;
	int status;

	if (op == BENCH_PACK)
		status = dtconv_pack_with(c->type, c->count, bar->user, w->packed,
					  c->bytes, &host, NULL);
	else
		status = dtconv_unpack_with(c->type, c->count, bar->user, w->packed,
					    c->bytes, &host, NULL);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return way_problem(e, e->context, status);
}

void way_bar(struct engine *e, const char *name, struct gpu *gpu,
	     const struct route *route)
{
	static const struct way_ops ops = { .prepare = prepare,
					    .once = once,
					    .release = release };
	struct gdr_calls calls;
	void *gdr;

	way_new(e, name, gpu, &ops, route);
	gdr = find_calls(&calls) ? calls.open() : NULL;
	if (gdr) {
		calls.close(gdr);
		return;
	}
	e->absent = true;
	engine_problem(e, "libgdrapi or its kernel module (gdrdrv) was not found");
}
