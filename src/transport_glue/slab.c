/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Setting up and tearing down the memory of a slab: map, touch, pin, register; and the same in reverse.
 */
#include "config.h"

#include "slab.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"

#define HUGE_PAGE ((size_t)2 << 20)

/* From linux/mempolicy.h, which not every C library ships. */
#define POLICY_BIND 2

/* ---- mapping --------------------------------------------------------------------------- */

static int no_memory(const struct dtc_slab *slab, const char *caller, const char *what)
{
	return DTC_FAIL(slab->plan->context, DTCONV_ERR_NOMEM,
			"%s: cannot %s a slab of %zu bytes: %s", caller, what,
			slab->plan->bytes, strerror(errno));
}

/*
 * The file's pages are allocated here: a page that is missing when it is first touched would end the process with
 * SIGBUS.
 */
static int make_file(struct dtc_slab *slab, const char *caller)
{
	struct dtconv_slab *what = &slab->what;

	what->fd = memfd_create("dtconv-pool", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (what->fd < 0)
		return no_memory(slab, caller, "create the memfd of");
	int error = posix_fallocate(what->fd, 0, (off_t)slab->plan->bytes);
	/* Sealed against shrinking: other processes may map it without risk of SIGBUS. */
	if (!error &&
	    fcntl(what->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		error = errno;
	if (!error)
		return 0;
	close(what->fd);
	what->fd = -1;
	errno = error;
	return no_memory(slab, caller, "allocate the memfd of");
}

static void *map(const struct dtc_slab *slab, void *where, size_t bytes)
{
	const int fixed = where ? MAP_FIXED : 0;
	const bool is_file = slab->what.fd >= 0;

	return mmap(where, bytes, PROT_READ | PROT_WRITE,
		    fixed | (is_file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS),
		    slab->what.fd, 0);
}

/* Huge pages need an aligned address: reserve more and keep the aligned part. */
static void *map_aligned(const struct dtc_slab *slab, size_t bytes)
{
	const size_t room = bytes + HUGE_PAGE;
	char *reserved = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (reserved == MAP_FAILED)
		return MAP_FAILED;
	size_t before = (size_t)(-(uintptr_t)reserved % HUGE_PAGE);
	void *mapped = map(slab, reserved + before, bytes);
	if (mapped == MAP_FAILED) {
		munmap(reserved, room);
		return MAP_FAILED;
	}
	if (before)
		munmap(reserved, before);
	munmap(reserved + before + bytes, room - before - bytes);
	return mapped;
}

/* A node or huge pages that the system does not give cost speed only. */
static void advise(const struct dtc_slab *slab, void *base)
{
	const struct dtc_slab_plan *plan = slab->plan;
	unsigned long nodes[16] = { 0 };
	const size_t width = 8 * sizeof(nodes[0]), node = (size_t)plan->numa_node;

	if (plan->flags & DTCONV_POOL_HUGE)
		(void)madvise(base, plan->bytes, MADV_HUGEPAGE);
	if (!(plan->flags & DTCONV_POOL_NUMA) || node >= width * DTC_ARRAY_LENGTH(nodes))
		return;
	nodes[node / width] = 1ul << node % width;
	if (syscall(SYS_mbind, base, plan->bytes, POLICY_BIND, nodes,
		    width * DTC_ARRAY_LENGTH(nodes), 0))
		DTC_LOG(plan->context, DTCONV_LOG_WARN,
			"pool: cannot allocate memory on NUMA node %d: %s",
			plan->numa_node, strerror(errno));
}

static void touch(char *base, size_t bytes)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (size_t at = 0; at < bytes; at += page)
		*(volatile char *)(base + at) = 0;
}

static int map_host(struct dtc_slab *slab, const char *caller)
{
	const struct dtc_slab_plan *plan = slab->plan;
	int status = plan->flags & DTCONV_POOL_SHARED ? make_file(slab, caller) : 0;

	if (status)
		return status;
	void *base = plan->flags & DTCONV_POOL_HUGE ? map_aligned(slab, plan->bytes)
						    : map(slab, NULL, plan->bytes);
	if (base == MAP_FAILED) {
		status = no_memory(slab, caller, "map");
		if (slab->what.fd >= 0)
			close(slab->what.fd);
		slab->what.fd = -1;
		return status;
	}
	advise(slab, base);
	touch(base, plan->bytes);
	slab->what.base = base;
	return 0;
}

static int allocate(struct dtc_slab *slab, const char *caller)
{
	const struct dtc_slab_plan *plan = slab->plan;

	slab->memory = (struct dtc_slab_memory){ .bytes = plan->bytes,
						 .device = plan->device,
						 .caller = caller };
	int status = plan->flags & DTCONV_POOL_SHARED
			     ? dtc_slab_memory_share(plan->context, &slab->memory,
						     &slab->what.fd)
			     : dtc_slab_memory_allocate(plan->context, &slab->memory);
	slab->what.base = slab->memory.base;
	slab->what.device = slab->memory.device;
	if (status == DTCONV_ERR_UNSUPPORTED && slab->memory.why)
		return DTC_FAIL(plan->context, status,
				"%s: device %d cannot share memory with other processes: "
				"%s",
				caller, slab->memory.device, slab->memory.why);
	if (status == DTCONV_ERR_UNSUPPORTED)
		return DTC_FAIL(
			plan->context, status,
			"%s: params.kind is DEVICE, but no CUDA context of device %d "
			"can be used",
			caller, plan->device);
	if (status)
		return DTC_FAIL(
			plan->context, status,
			"%s: cannot allocate a slab of %zu bytes on device %d: %s",
			caller, plan->bytes, plan->device,
			slab->memory.why ? slab->memory.why : dtconv_strerror(status));
	return 0;
}

static int map_slab(struct dtc_slab *slab, const char *caller)
{
	const struct dtc_slab_plan *plan = slab->plan;

	slab->what = (struct dtconv_slab){ .bytes = plan->bytes,
					   .kind = plan->kind == DTCONV_MEMORY_DEVICE
							   ? DTCONV_MEMORY_DEVICE
							   : DTCONV_MEMORY_HOST,
					   .device = -1,
					   .fd = -1 };
	return plan->kind == DTCONV_MEMORY_DEVICE ? allocate(slab, caller)
						  : map_host(slab, caller);
}

/* ---- registering ----------------------------------------------------------------------- */

int dtc_slab_pin(struct dtc_slab *slab, int device, const char *caller,
		 const char **refusal)
{
	slab->memory = (struct dtc_slab_memory){ .base = slab->what.base,
						 .bytes = slab->what.bytes,
						 .device = device,
						 .caller = caller };
	int status = dtc_slab_memory_pin(slab->plan->context, &slab->memory);
	if (status) {
		if (status != DTCONV_ERR_UNSUPPORTED)
			*refusal = slab->memory.why ? slab->memory.why
						    : dtconv_strerror(status);
		return status;
	}
	slab->what.kind = DTCONV_MEMORY_PINNED;
	atomic_store(&slab->is_pinned, true);
	return 0;
}

static int register_slab(struct dtc_slab *slab, const char *caller)
{
	const struct dtc_slab_plan *plan = slab->plan;

	for (size_t i = 0; i < plan->registrar_count; i++) {
		const struct dtconv_registrar *registrar = &plan->registrars[i];

		slab->handles[i] = NULL;
		int status =
			registrar->reg(registrar->arg, &slab->what, &slab->handles[i]);
		if (status)
			return DTC_FAIL(
				plan->context, status < 0 ? status : DTCONV_ERR_INVAL,
				"%s: registrar %zu (%s) refused a slab of %zu bytes: %s",
				caller, i, registrar->name, plan->bytes,
				dtconv_strerror(status));
		slab->registered = i + 1;
	}
	return 0;
}

static void unregister_slab(struct dtc_slab *slab)
{
	for (; slab->registered; slab->registered--) {
		const size_t i = slab->registered - 1;
		const struct dtconv_registrar *registrar = &slab->plan->registrars[i];

		registrar->dereg(registrar->arg, &slab->what, slab->handles[i]);
	}
}

/* The memory is unmapped when the driver has unregistered it; the file descriptor is not needed for that. */
static void unmap_slab(struct dtc_slab *slab)
{
	/* Of host memory that is not pinned nothing has been noted. */
	slab->memory.base = slab->what.base;
	slab->memory.bytes = slab->what.bytes;
	dtc_slab_memory_release(&slab->memory, slab->plan->ledger);
	if (slab->what.fd >= 0)
		close(slab->what.fd);
	atomic_store(&slab->is_pinned, false);
	slab->what.fd = -1;
	slab->what.base = NULL;
}

int dtconv_slab_dma_buf(struct dtconv_context *context, const struct dtconv_slab *slab,
			int *fd)
{
	if (!context || !slab || !fd)
		return DTCONV_ERR_INVAL;
	if (slab->kind != DTCONV_MEMORY_DEVICE)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: slab (argument 2) is not memory of a device",
				__func__);
	struct dtc_slab_memory memory = { .base = slab->base,
					  .bytes = slab->bytes,
					  .device = slab->device,
					  .caller = __func__ };
	int status = dtc_slab_memory_export(context, &memory);
	if (status)
		return DTC_FAIL(context, status,
				"%s: device %d does not export its memory as a DMA-BUF: "
				"%s",
				__func__, slab->device,
				memory.why ? memory.why : dtconv_strerror(status));
	*fd = memory.fd;
	return 0;
}

/* ---- all of it ------------------------------------------------------------------------- */

struct dtc_slab *dtc_slab_create(const struct dtc_slab_plan *plan, size_t number)
{
	struct dtc_slab *slab = dtc_alloc_zeroed(
		plan->context,
		sizeof(*slab) + plan->fragments * sizeof(slab->fragments[0]));

	if (!slab)
		return NULL;
	slab->plan = plan;
	slab->number = number;
	for (size_t i = 0; i < plan->fragments; i++) {
		slab->fragments[i].slab = slab;
		slab->fragments[i].index = (uint32_t)(number * plan->fragments + i);
	}
	return slab;
}

int dtc_slab_open(struct dtc_slab *slab, const char *caller, const char **refusal)
{
	const struct dtc_slab_plan *plan = slab->plan;
	int status = map_slab(slab, caller);

	if (status)
		return status;
	if (plan->kind == DTCONV_MEMORY_PINNED)
		(void)dtc_slab_pin(slab, plan->device, caller, refusal);
	status = register_slab(slab, caller);
	if (status) {
		dtc_slab_close(slab);
		return status;
	}
	for (size_t i = 0; i < plan->fragments; i++) {
		slab->fragments[i].address = (char *)slab->what.base + i * plan->stride;
		atomic_store(&slab->fragments[i].state, DTC_FRAGMENT_FREE);
	}
	atomic_store(&slab->abandoned, 0);
	return 0;
}

void dtc_slab_close(struct dtc_slab *slab)
{
	unregister_slab(slab);
	unmap_slab(slab);
}
