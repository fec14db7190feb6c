/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading and writing addresses. Bytes 0: version. 1: 1 for InfiniBand. 2: packet size. 4: LID. 8 to 23: GID. Then
 * number and first packet of each queue pair. What is left is 0.
 */
#include "config.h"

#include "address.h"

#include <endian.h>
#include <infiniband/verbs.h>
#include <string.h>

#define ADDRESS_VERSION 1
#define NUMBERS         24
#define MAX_24BIT       0xffffffu

_Static_assert(NUMBERS + 8 * DTC_VERBS_LANES <= DTC_VERBS_ADDRESS_BYTES,
	       "an address fits");

static void put(unsigned char *bytes, uint32_t value)
{
	value = htole32(value);
	memcpy(bytes, &value, sizeof(value));
}

static uint32_t take(const unsigned char *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return le32toh(value);
}

void dtc_verbs_write_address(const struct dtc_verbs_address *address, void *given)
{
	unsigned char *bytes = given;

	memset(bytes, 0, DTC_VERBS_ADDRESS_BYTES);
	bytes[0] = ADDRESS_VERSION;
	bytes[1] = address->is_infiniband;
	bytes[2] = (unsigned char)address->mtu;
	put(bytes + 4, address->lid);
	memcpy(bytes + 8, address->gid, sizeof(address->gid));
	for (size_t i = 0; i < DTC_VERBS_LANES; i++) {
		put(bytes + NUMBERS + 8 * i, address->pairs[i].number);
		put(bytes + NUMBERS + 8 * i + 4, address->pairs[i].first_packet);
	}
}

/* Queue pairs 0 and 1 are the subnet's management. */
static bool are_pairs(const struct dtc_verbs_address *address)
{
	for (size_t i = 0; i < DTC_VERBS_LANES; i++)
		if (address->pairs[i].number < 2 ||
		    address->pairs[i].number > MAX_24BIT ||
		    address->pairs[i].first_packet > MAX_24BIT)
			return false;
	return address->pairs[0].number != address->pairs[1].number;
}

bool dtc_verbs_read_address(const void *given, size_t length,
			    struct dtc_verbs_address *address)
{
	const unsigned char *bytes = given;

	if (length != DTC_VERBS_ADDRESS_BYTES || bytes[0] != ADDRESS_VERSION ||
	    bytes[1] > 1 || bytes[2] < IBV_MTU_256 || bytes[2] > IBV_MTU_4096 ||
	    bytes[3] || take(bytes + 4) > UINT16_MAX)
		return false;
	for (size_t i = NUMBERS + 8 * DTC_VERBS_LANES; i < length; i++)
		if (bytes[i])
			return false;
	*address = (struct dtc_verbs_address){ .is_infiniband = bytes[1],
					       .mtu = bytes[2],
					       .lid = (uint16_t)take(bytes + 4) };
	memcpy(address->gid, bytes + 8, sizeof(address->gid));
	for (size_t i = 0; i < DTC_VERBS_LANES; i++) {
		address->pairs[i].number = take(bytes + NUMBERS + 8 * i);
		address->pairs[i].first_packet = take(bytes + NUMBERS + 8 * i + 4);
	}
	return are_pairs(address);
}
