/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packed memory in several buffers.
 */
#ifndef DTC_PACKED_IOV_H
#define DTC_PACKED_IOV_H

#include <stddef.h>
#include <sys/uio.h>

/* The bytes of all entries, SIZE_MAX if they are more. */
size_t dtc_iov_bytes(const struct iovec iov[], size_t iov_count);

#endif
