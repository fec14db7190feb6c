/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How two processes introduce themselves on a socket: HELLO, and then the transport's address in pieces. For transports
 * whose connection is made from what lies in such an address.
 */
#ifndef DTC_GREETING_H
#define DTC_GREETING_H

#include "base/base.h"
#include "wire.h"

/* What the peer has told so far. Zero-initialise. */
struct dtc_greeting {
	bool is_begun;
	struct dtc_wire_packet hello;
	size_t bytes; /* of the address that have come; all of it: hello.address_bytes */
	unsigned char address[DTC_WIRE_ADDRESS_MAX];
};

/*
 * Send the first packets. @hello has transport, fragments and fragment_bytes; the address @bytes, at most
 * DTC_WIRE_ADDRESS_MAX. False if the peer is gone already, or takes nothing.
 */
DTC_PRIVATE_API bool dtc_greeting_send(int socket, const struct dtc_wire_packet *hello,
				       const void *address, size_t bytes);

/*
 * Take a packet that dtc_wire_read_packet() has accepted: 0 when the peer's address is complete, DTCONV_INPROGRESS if
 * more follows, DTCONV_ERR_FORMAT if it is none of these packets or comes twice. No error text.
 */
DTC_PRIVATE_API int dtc_greeting_take(struct dtc_greeting *greeting,
				      const struct dtc_wire_packet *packet);

#endif
