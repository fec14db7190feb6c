/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How two processes show each other over TCP that they have the same secret, before either learns anything else. Each
 * chooses a random number; the one that connects proves itself first, with an HMAC of both numbers, and the one that
 * listens answers with another. The secret itself is never sent, and no proof is good for another connection or role.
 */
#ifndef DTC_GATE_H
#define DTC_GATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/hmac.h"

/* A key of HMAC. */
struct dtc_secret {
	unsigned char key[DTC_HMAC_KEY_BYTES];
};

struct dtc_gate {
	bool listens;    /* this process does */
	bool has_number; /* the peer's has come */
	bool is_open;
	unsigned char numbers[2]
			     [DTC_SHA256_BYTES]; /* of who connects, and of who listens */
};

/* For a socket that has just been connected. False if the system has no random numbers. */
bool dtc_gate_init(struct dtc_gate *gate, int socket, bool listens);

/*
 * Take what the peer has sent: 0 when it has proved itself, DTCONV_INPROGRESS while it has not, DTCONV_ERR_PEER if it has
 * left or has another secret, DTCONV_ERR_FORMAT and DTCONV_ERR_UNSUPPORTED as dtc_wire_read_packet(). No error text.
 */
int dtc_gate_step(struct dtc_gate *gate, int socket, const struct dtc_secret *secret);

#endif
