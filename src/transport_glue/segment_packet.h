/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets of a segment that is sent to another process: little-endian, of one length. One function reads them; what it
 * accepts is safe to use as numbers.
 */
#ifndef DTC_SEGMENT_PACKET_H
#define DTC_SEGMENT_PACKET_H

#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "segment_state.h"

#define DTC_SEGMENT_PACKET_MAPPINGS 32

/* Words: magic and version; first and total; count; bytes reserved; the id; two words for each mapping. */
#define DTC_SEGMENT_PACKET_BYTES (8 * (6 + 2 * DTC_SEGMENT_PACKET_MAPPINGS))

struct dtc_segment_packet_mapping {
	uint64_t bytes; /* more than 0 */
	uint64_t number;
};

struct dtc_segment_packet {
	uint32_t first; /* of its mappings in the segment */
	uint32_t count; /* 0 only if there are none */
	uint32_t total; /* of the segment */
	uint64_t reserved;
	unsigned char id[DTC_SEGMENT_ID_BYTES];
	struct dtc_segment_packet_mapping mappings[DTC_SEGMENT_PACKET_MAPPINGS];
};

/* Write it into DTC_SEGMENT_PACKET_BYTES. */
void dtc_segment_packet_write(const struct dtc_segment_packet *packet, void *bytes);

/* NULL, or what is wrong. */
const char *dtc_segment_packet_read(const void *bytes, size_t length,
				    struct dtc_segment_packet *packet);

#endif
