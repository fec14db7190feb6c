/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Headers as a lying peer sends them: of every kind, with numbers that are often right.
 */
#ifndef TEST_TRANSPORT_RANDOM_HEADER_H
#define TEST_TRANSPORT_RANDOM_HEADER_H

#include "support/choices.h"
#include "transport_glue/wire.h"

/* Mostly small numbers: what is nearly right goes deepest. */
static inline uint64_t random_number(struct choices *choices, uint64_t bytes,
				     uint64_t fragments)
{
	const uint64_t special[] = { 0,         1,          bytes,     bytes + 1,
				     fragments, UINT64_MAX, INT64_MAX, 1ull << 32 };

	return chance(choices, 3) ? special[choose(choices, 8)] : choose(choices, 9) * 4;
}

/* For a peer with so many fragments of so many bytes. */
static inline struct dtc_wire_header random_header(struct choices *choices,
						   uint64_t bytes, uint64_t fragments)
{
	return (struct dtc_wire_header){
		.kind = (enum dtc_wire_kind)(1 + choose(choices, 7)),
		.slot = (uint32_t)choose(choices, chance(choices, 10) ? 300 : 3),
		.tag = choose(choices, 3),
		.hash = random_number(choices, bytes, fragments),
		.offset = chance(choices, 2) ? 0
					     : random_number(choices, bytes, fragments),
		.length = random_number(choices, bytes, fragments),
		.status = chance(choices, 2) ? 0 : -(int)choose(choices, 20),
		.fragment = (uint32_t)choose(choices, chance(choices, 8) ? 1u << 31 : 5),
		.offer = (uint32_t)(chance(choices, 8)
					    ? choose(choices, DTC_WIRE_OFFER_BYTES + 2)
					    : 0)
	};
}

#endif
