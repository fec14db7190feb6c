/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The proof of the secret: CHALLENGE and PROOF packets.
 */
#include "config.h"

#include "gate.h"

#include <string.h>
#include <sys/random.h>

#include <dtconv/status.h>

#include "sock.h"
#include "wire.h"

enum { CONNECTS, LISTENS };

static bool send_packet(int socket, enum dtc_wire_packet_kind kind,
			const unsigned char number[DTC_SHA256_BYTES])
{
	struct dtc_wire_packet packet = { .kind = kind, .version = DTC_WIRE_VERSION };
	unsigned char bytes[DTC_WIRE_PACKET_BYTES];

	memcpy(packet.address, number, DTC_SHA256_BYTES);
	dtc_wire_write_packet(&packet, bytes);
	return dtc_sock_send(socket, bytes, NULL);
}

/* What a role proves: that it knows the secret and both numbers. */
static void prove(const struct dtc_gate *gate, const struct dtc_secret *secret, int role,
		  unsigned char mac[DTC_SHA256_BYTES])
{
	static const char labels[2][16] = { "dtconv connects", "dtconv listens" };
	unsigned char bytes[sizeof(labels[0]) + sizeof(gate->numbers)];

	memcpy(bytes, labels[role], sizeof(labels[0]));
	memcpy(bytes + sizeof(labels[0]), gate->numbers, sizeof(gate->numbers));
	dtc_hmac(secret->key, bytes, sizeof(bytes), mac);
}

/* In a time that does not depend on where they differ. */
static bool is_equal(const unsigned char *a, const unsigned char *b)
{
	unsigned char differs = 0;

	for (size_t i = 0; i < DTC_SHA256_BYTES; i++)
		differs |= a[i] ^ b[i];
	return !differs;
}

bool dtc_gate_init(struct dtc_gate *gate, int socket, bool listens)
{
	unsigned char *own = gate->numbers[listens ? LISTENS : CONNECTS];

	*gate = (struct dtc_gate){ .listens = listens };
	if (getrandom(own, DTC_SHA256_BYTES, GRND_NONBLOCK) != DTC_SHA256_BYTES)
		return false;
	/* The other one speaks when it has seen this. If it has left, the first step finds it. */
	if (listens)
		(void)send_packet(socket, DTC_WIRE_CHALLENGE, own);
	return true;
}

static int take_number(struct dtc_gate *gate, int socket, const struct dtc_secret *secret,
		       const struct dtc_wire_packet *packet)
{
	unsigned char mac[DTC_SHA256_BYTES];

	memcpy(gate->numbers[gate->listens ? CONNECTS : LISTENS], packet->address,
	       DTC_SHA256_BYTES);
	gate->has_number = true;
	if (gate->listens)
		return DTCONV_INPROGRESS;
	prove(gate, secret, CONNECTS, mac);
	return send_packet(socket, DTC_WIRE_CHALLENGE, gate->numbers[CONNECTS]) &&
			       send_packet(socket, DTC_WIRE_PROOF, mac)
		       ? DTCONV_INPROGRESS
		       : DTCONV_ERR_PEER;
}

static int take_proof(struct dtc_gate *gate, int socket, const struct dtc_secret *secret,
		      const struct dtc_wire_packet *packet)
{
	unsigned char mac[DTC_SHA256_BYTES];

	prove(gate, secret, gate->listens ? CONNECTS : LISTENS, mac);
	if (!is_equal(mac, packet->address))
		return DTCONV_ERR_PEER;
	gate->is_open = true;
	if (!gate->listens)
		return 0;
	prove(gate, secret, LISTENS, mac);
	return send_packet(socket, DTC_WIRE_PROOF, mac) ? 0 : DTCONV_ERR_PEER;
}

int dtc_gate_step(struct dtc_gate *gate, int socket, const struct dtc_secret *secret)
{
	unsigned char bytes[DTC_WIRE_PACKET_BYTES];
	struct dtc_sock_files files;
	struct dtc_wire_packet packet;
	int status = gate->is_open ? 0 : DTCONV_INPROGRESS;

	while (status == DTCONV_INPROGRESS) {
		const enum dtc_sock_news news = dtc_sock_receive(socket, bytes, &files);

		if (news == DTC_SOCK_NOTHING)
			return DTCONV_INPROGRESS;
		if (news != DTC_SOCK_PACKET)
			return DTCONV_ERR_PEER;
		status = dtc_wire_read_packet(bytes, sizeof(bytes), &packet);
		if (!status && packet.kind == DTC_WIRE_CHALLENGE && !gate->has_number)
			status = take_number(gate, socket, secret, &packet);
		else if (!status && packet.kind == DTC_WIRE_PROOF && gate->has_number)
			status = take_proof(gate, socket, secret, &packet);
		else if (!status)
			status = packet.kind == DTC_WIRE_BYE ? DTCONV_ERR_PEER
							     : DTCONV_ERR_FORMAT;
	}
	return status;
}
