/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process that owns device memory and does what a test tells it: allocate, free, export, fill, read. It is forked
 * before there is a driver, because a forked one does not work.
 */
#ifndef TEST_CUDA_MEMORY_OWNER_H
#define TEST_CUDA_MEMORY_OWNER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <dtconv/ipc.h>

#define OWNER_SLOTS 128

struct owner {
	pid_t process;
	int socket;
};

/* What the owner answers to an export. */
struct owner_export {
	struct dtconv_ipc_handle handle;
	uint64_t address; /* in the owner */
};

/* Memory is allocated on this device. */
void owner_start(struct owner *owner, int device);

/* Ends it; fails the case if it has left anything with the stand-in driver. */
void owner_end(struct owner *owner);

/* Ends it as a crash does, with its memory. */
void owner_kill(struct owner *owner);

void owner_allocate(const struct owner *owner, int slot, size_t bytes);
void owner_free(const struct owner *owner, int slot);
struct owner_export owner_export(const struct owner *owner, int slot, size_t offset,
				 size_t bytes);
/* All bytes of the memory. */
void owner_fill(const struct owner *owner, int slot, unsigned char value);
void owner_write(const struct owner *owner, int slot, const void *bytes, size_t count);
void owner_read(const struct owner *owner, int slot, void *bytes, size_t count);

#endif
