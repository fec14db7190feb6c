/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One message between two ends in this thread, with buffers on a device at either end, at both or at none.
 */
#ifndef TEST_TRANSPORT_DEVICE_MESSAGE_H
#define TEST_TRANSPORT_DEVICE_MESSAGE_H

#include "exchange.h"

#define DEVICE_MESSAGE_BYTES ((size_t)3000 * 8)

/* From end 0 to end 1, whose channels are open: blocks of 8 bytes with 8 between two. Fails the running case. */
void device_message_pass(struct party parties[2], bool is_from_device, bool is_to_device);

#endif
