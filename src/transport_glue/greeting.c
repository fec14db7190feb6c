/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The first packets of a connection. Pieces of an address come in order, so what has come is a number of bytes.
 */
#include "config.h"

#include "greeting.h"

#include <string.h>

#include <dtconv/status.h>

#include "sock.h"

static bool send_packet(int socket, const struct dtc_wire_packet *packet)
{
	unsigned char bytes[DTC_WIRE_PACKET_BYTES];

	dtc_wire_write_packet(packet, bytes);
	return dtc_sock_send(socket, bytes, NULL);
}

bool dtc_greeting_send(int socket, const struct dtc_wire_packet *hello,
		       const void *address, size_t bytes)
{
	struct dtc_wire_packet packet = *hello;

	assert(bytes <= DTC_WIRE_ADDRESS_MAX);
	packet.kind = DTC_WIRE_HELLO;
	packet.version = DTC_WIRE_VERSION;
	packet.address_bytes = (uint32_t)bytes;
	if (!send_packet(socket, &packet))
		return false;
	for (size_t at = 0; at < bytes; at += DTC_WIRE_ADDRESS_PIECE) {
		packet = (struct dtc_wire_packet){ .kind = DTC_WIRE_ADDRESS,
						   .version = DTC_WIRE_VERSION,
						   .address_offset = (uint32_t)at,
						   .address_bytes = (uint32_t)bytes };
		memcpy(packet.address, (const char *)address + at,
		       DTC_MIN(bytes - at, (size_t)DTC_WIRE_ADDRESS_PIECE));
		if (!send_packet(socket, &packet))
			return false;
	}
	return true;
}

int dtc_greeting_take(struct dtc_greeting *greeting, const struct dtc_wire_packet *packet)
{
	if (packet->kind == DTC_WIRE_HELLO && !greeting->is_begun) {
		greeting->is_begun = true;
		greeting->hello = *packet;
	} else if (packet->kind == DTC_WIRE_ADDRESS && greeting->is_begun &&
		   packet->address_bytes == greeting->hello.address_bytes &&
		   packet->address_offset == greeting->bytes) {
		const size_t left = packet->address_bytes - greeting->bytes;
		const size_t piece = DTC_MIN(left, (size_t)DTC_WIRE_ADDRESS_PIECE);

		memcpy(greeting->address + greeting->bytes, packet->address, piece);
		greeting->bytes += piece;
	} else {
		return DTCONV_ERR_FORMAT;
	}
	return greeting->bytes < greeting->hello.address_bytes ? DTCONV_INPROGRESS : 0;
}
