/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as the address of a peer's queue pairs. What is accepted is within the bounds of verbs, safe to connect to,
 * and is written as the same bytes again. Nothing is read past the length that was given: each input lies in memory of
 * its own.
 */
#include "config.h"

#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "transport_glue/verbs/address.h"

#define MAX_24BIT 0xffffffu

static void check_pairs(const struct dtc_verbs_address *address)
{
	for (size_t i = 0; i < DTC_VERBS_LANES; i++)
		if (address->pairs[i].number < 2 ||
		    address->pairs[i].number > MAX_24BIT ||
		    address->pairs[i].first_packet > MAX_24BIT)
			fuzz_fail("queue pair %u with packet %u is accepted",
				  address->pairs[i].number,
				  address->pairs[i].first_packet);
	if (address->pairs[0].number == address->pairs[1].number)
		fuzz_fail("two lanes over queue pair %u are accepted",
			  address->pairs[0].number);
}

static void read_address(const uint8_t *bytes, size_t length)
{
	unsigned char again[DTC_VERBS_ADDRESS_BYTES];
	struct dtc_verbs_address address;

	if (!dtc_verbs_read_address(bytes, length, &address))
		return;
	if (length != DTC_VERBS_ADDRESS_BYTES)
		fuzz_fail("an address of %zu bytes is accepted", length);
	if (address.mtu < IBV_MTU_256 || address.mtu > IBV_MTU_4096)
		fuzz_fail("packets of size %u are accepted", address.mtu);
	check_pairs(&address);
	dtc_verbs_write_address(&address, again);
	if (memcmp(bytes, again, sizeof(again)))
		fuzz_fail("an address is accepted, and written differently");
}

/* The first byte: odd: the version, at which the reader looks first, is right. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct dtc_verbs_address none;
	unsigned char right[DTC_VERBS_ADDRESS_BYTES];

	if (!size || size > 1 + 2 * DTC_VERBS_ADDRESS_BYTES)
		return 0;
	const size_t length = size - 1;
	uint8_t *bytes = malloc(length ? length : 1);
	if (!bytes)
		fuzz_fail("no memory");
	memcpy(bytes, data + 1, length);
	dtc_verbs_write_address(&none, right);
	if (length && data[0] & 1)
		bytes[0] = right[0];
	read_address(bytes, length);
	free(bytes);
	return 0;
}
