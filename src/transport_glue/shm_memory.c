/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Making, checking and mapping memfds. A file that its owner could make shorter would let him end this process with
 * SIGBUS, so only files that are sealed against it are mapped.
 */
#include "config.h"

#include "shm_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <dtconv/status.h>

#include "base/log.h"

/* From linux/fcntl.h, since Linux 5.1. */
#define SEAL_FUTURE_WRITE 0x10

/* From linux/magic.h: some systems have no headers of the kernel. */
#define TMPFS_TYPE 0x01021994

/* Of st_blocks. */
#define BLOCK_BYTES 512

static int no_ring(struct dtconv_context *context, const char *caller, int error)
{
	return DTC_FAIL(context,
			error == EMFILE || error == ENFILE ? DTCONV_ERR_AGAIN
							   : DTCONV_ERR_NOMEM,
			"%s: cannot create the shared memory of a channel: %s", caller,
			strerror(error));
}

/* Older systems lack the last seal: then others could write to the ring, which harms only what they receive. */
static int seal(int fd)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

	if (!fcntl(fd, F_ADD_SEALS, seals | SEAL_FUTURE_WRITE) ||
	    !fcntl(fd, F_ADD_SEALS, seals))
		return 0;
	return errno;
}

int dtc_shm_make_ring(struct dtconv_context *context, size_t entries, bool has_offers,
		      const char *caller, struct dtc_shm_mapping *mapping, int *made)
{
	const size_t bytes = dtc_shm_ring_bytes(entries, has_offers);
	int fd = memfd_create("dtconv-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *base = MAP_FAILED;

	if (fd < 0)
		return no_ring(context, caller, errno);
	int error = posix_fallocate(fd, 0, (off_t)bytes);
	if (!error) {
		base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		error = base == MAP_FAILED ? errno : seal(fd);
	}
	if (error) {
		if (base != MAP_FAILED)
			munmap(base, bytes);
		close(fd);
		return no_ring(context, caller, error);
	}
	*mapping = (struct dtc_shm_mapping){ .base = base, .bytes = bytes };
	*made = fd;
	return 0;
}

/*
 * A memfd of ordinary pages that cannot become shorter and has them all: reading a hole would allocate, in this
 * process's name, what its owner has announced.
 */
static bool is_safe(int fd, size_t bytes)
{
	const int seals = fcntl(fd, F_GET_SEALS);
	struct statfs system;
	struct stat file;

	return seals >= 0 && seals & F_SEAL_SHRINK && !fstatfs(fd, &system) &&
	       system.f_type == TMPFS_TYPE && !fstat(fd, &file) &&
	       S_ISREG(file.st_mode) && file.st_size >= 0 &&
	       (uint64_t)file.st_size >= bytes &&
	       (uint64_t)file.st_blocks * BLOCK_BYTES >= bytes;
}

int dtc_shm_map(struct dtconv_context *context, int fd, size_t bytes, bool is_writable,
		struct dtc_shm_mapping *mapping)
{
	const int access = is_writable ? PROT_READ | PROT_WRITE : PROT_READ;

	if (!is_safe(fd, bytes))
		return DTC_FAIL(
			context, DTCONV_ERR_FORMAT,
			"channel: the peer's shared memory is no memfd of %zu bytes "
			"that are all allocated and sealed against shrinking",
			bytes);
	void *base = mmap(NULL, bytes, access, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
		return DTC_FAIL(
			context, DTCONV_ERR_NOMEM,
			"channel: cannot map %zu bytes of the peer's shared memory: "
			"%s",
			bytes, strerror(errno));
	*mapping = (struct dtc_shm_mapping){ .base = base, .bytes = bytes };
	return 0;
}

void dtc_shm_pin(struct dtconv_context *context, struct dtc_shm_mapping *mapping,
		 int device)
{
	mapping->slab = (struct dtc_slab_memory){ .base = mapping->base,
						  .bytes = mapping->bytes,
						  .device = device,
						  .caller = "channel" };
	int status = dtc_slab_memory_pin(context, &mapping->slab);

	mapping->is_pinned = !status;
	if (status && status != DTCONV_ERR_UNSUPPORTED)
		DTC_LOG(context, DTCONV_LOG_WARN,
			"channel: the device driver refuses to register %zu bytes of the peer's "
			"memory (%s); devices read it through staging buffers",
			mapping->bytes,
			mapping->slab.why ? mapping->slab.why : dtconv_strerror(status));
}

int dtc_shm_import(struct dtconv_context *context, int fd, size_t bytes, int device,
		   struct dtc_shm_mapping *mapping)
{
	mapping->slab = (struct dtc_slab_memory){ .bytes = bytes,
						  .device = device,
						  .caller = "channel" };
	const int status = dtc_slab_memory_import(context, &mapping->slab, fd);

	if (status)
		return DTC_FAIL(
			context, status,
			"channel: cannot map %zu bytes of the peer's device memory for "
			"device %d: %s",
			bytes, device,
			mapping->slab.why ? mapping->slab.why
					  : "this process has no context of the device");
	mapping->base = mapping->slab.base;
	mapping->bytes = bytes;
	mapping->is_pinned = true;
	return 0;
}

/* Memory that a device may still read stays mapped. */
void dtc_shm_unmap(struct dtc_shm_mapping *mapping)
{
	if (!mapping->base)
		return;
	/* Of memory that is not pinned nothing has been noted. */
	mapping->slab.base = mapping->base;
	mapping->slab.bytes = mapping->bytes;
	dtc_slab_memory_release(&mapping->slab, NULL);
	mapping->base = NULL;
}
