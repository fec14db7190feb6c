/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The address of a connection, as the socket carries it: where two queue pairs are. Of fixed length and little-endian;
 * one function reads it, and what it accepts is safe to connect to.
 */
#ifndef DTC_VERBS_ADDRESS_H
#define DTC_VERBS_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DTC_VERBS_ADDRESS_BYTES 48

/* Data and everything else go over queue pairs of their own. */
enum dtc_verbs_lane_name { DTC_VERBS_CONTROL, DTC_VERBS_DATA, DTC_VERBS_LANES };

struct dtc_verbs_address {
	bool is_infiniband;
	unsigned mtu; /* of enum ibv_mtu */
	uint16_t lid; /* InfiniBand */
	uint8_t gid[16];
	struct {
		uint32_t number, first_packet; /* 24 bits */
	} pairs[DTC_VERBS_LANES];
};

void dtc_verbs_write_address(const struct dtc_verbs_address *address, void *bytes);

/* False if it is none. */
bool dtc_verbs_read_address(const void *bytes, size_t length,
			    struct dtc_verbs_address *address);

#endif
