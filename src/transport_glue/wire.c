/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading and writing headers and packets. Words that a kind does not have must be 0, so that a later version may
 * use them.
 */
#include "config.h"

#include "wire.h"

#include <string.h>

#include <dtconv/status.h>

#include "words.h"

#define HEADER_MAGIC UINT16_C(0xd7c0)
#define PACKET_MAGIC UINT32_C(0x76637464) /* "dtcv" */

#define LOWEST_STATUS DTCONV_ERR_LIMIT

static bool is_status(int32_t status)
{
	return status >= LOWEST_STATUS && status <= 0;
}

/* ---- headers --------------------------------------------------------------------------- */

/* Word 0: magic, version, kind, slot. 1: tag. 2: hash or offset. 3: length. 4: status; fragment, or bytes of the offer. */
void dtc_wire_write_header(const struct dtc_wire_header *header, void *bytes)
{
	const bool is_message = header->kind == DTC_WIRE_MESSAGE;
	const bool is_data = header->kind == DTC_WIRE_DATA;
	const bool is_return = header->kind == DTC_WIRE_RETURN;
	const uint32_t high = is_message             ? header->offer
			      : is_data || is_return ? header->fragment
						     : 0;

	dtc_word_put(bytes, 0,
		     HEADER_MAGIC | (uint64_t)DTC_WIRE_VERSION << 16 |
			     (uint64_t)header->kind << 24 |
			     (uint64_t)(is_return ? 0 : header->slot) << 32);
	dtc_word_put(bytes, 1, is_message ? header->tag : 0);
	dtc_word_put(bytes, 2, is_message ? header->hash : is_data ? header->offset : 0);
	dtc_word_put(bytes, 3, is_message || is_data ? header->length : 0);
	dtc_word_put(bytes, 4, (uint32_t)header->status | (uint64_t)high << 32);
}

static bool is_data_range(const struct dtc_wire_header *header)
{
	return header->length && header->length <= SIZE_MAX &&
	       header->length <= UINT64_MAX - header->offset;
}

/* Whether the members and the unused words are right for the kind. */
static bool fits_kind(const struct dtc_wire_header *header, const uint64_t words[])
{
	const bool has_status = is_status(header->status);

	switch (header->kind) {
	case DTC_WIRE_MESSAGE:
		return !header->status && header->offer <= DTC_WIRE_OFFER_BYTES &&
		       header->length <= SIZE_MAX && (header->length || !header->offer);
	case DTC_WIRE_DATA:
		return !words[1] && !header->status && is_data_range(header);
	case DTC_WIRE_END:
	case DTC_WIRE_TAKEN:
		return !words[1] && !words[2] && !words[3] && !header->fragment &&
		       has_status;
	case DTC_WIRE_GO:
		return !words[1] && !words[2] && !words[3] && !words[4];
	case DTC_WIRE_REFUSE:
		return !words[1] && !words[2] && !words[3] && !header->fragment &&
		       has_status && header->status;
	case DTC_WIRE_RETURN:
		return !words[1] && !words[2] && !words[3] && !header->slot && has_status;
	}
	return false;
}

int dtc_wire_read_header(const void *bytes, size_t length, struct dtc_wire_header *header)
{
	uint64_t words[DTC_WIRE_HEADER_WORDS];

	if (length < DTC_WIRE_HEADER_BYTES)
		return DTCONV_ERR_FORMAT;
	for (size_t i = 0; i < DTC_WIRE_HEADER_WORDS; i++)
		words[i] = dtc_word_take(bytes, i);
	if ((words[0] & 0xffff) != HEADER_MAGIC ||
	    (words[0] >> 16 & 0xff) != DTC_WIRE_VERSION)
		return DTCONV_ERR_FORMAT;
	const unsigned kind = words[0] >> 24 & 0xff;
	if (kind < DTC_WIRE_MESSAGE || kind > DTC_WIRE_TAKEN)
		return DTCONV_ERR_FORMAT;
	*header = (struct dtc_wire_header){ .kind = (enum dtc_wire_kind)kind,
					    .slot = (uint32_t)(words[0] >> 32),
					    .tag = words[1],
					    .hash = words[2],
					    .offset = words[2],
					    .length = words[3],
					    .status = (int32_t)(uint32_t)words[4],
					    .fragment = (uint32_t)(words[4] >> 32),
					    .offer = (uint32_t)(words[4] >> 32) };
	if (header->slot >= DTC_WIRE_SLOTS || !fits_kind(header, words))
		return DTCONV_ERR_FORMAT;
	return 0;
}

/* ---- packets --------------------------------------------------------------------------- */

#define PACKET_WORDS (DTC_WIRE_PACKET_BYTES / 8)

_Static_assert(DTC_WIRE_ADDRESS_PIECE == 8 * (PACKET_WORDS - 2), "words 2 to 7");

/*
 * Word 0: magic, version, kind. 1: status, entries. 2: fragments, transport (8 bits), address_bytes. 3 to 5: bytes (of
 * BYE 3: posted). 6: of HELLO whether the slab is a device's, and 2 if offers are taken. 7: 0. Of ADDRESS, CHALLENGE and PROOF 1: address_offset, address_bytes, or 0. 2 to 7: the piece or
 * number.
 */
void dtc_wire_write_packet(const struct dtc_wire_packet *packet, void *bytes)
{
	dtc_word_put(bytes, 0,
		     PACKET_MAGIC | (uint64_t)(uint16_t)packet->version << 32 |
			     (uint64_t)packet->kind << 48);
	if (packet->kind >= DTC_WIRE_ADDRESS) {
		dtc_word_put(bytes, 1,
			     packet->address_offset | (uint64_t)packet->address_bytes
							      << 32);
		memcpy((char *)bytes + 16, packet->address, sizeof(packet->address));
		return;
	}
	dtc_word_put(bytes, 1,
		     (uint32_t)packet->status | (uint64_t)packet->entries << 32);
	dtc_word_put(bytes, 2,
		     packet->fragments | (uint64_t)packet->transport << 32 |
			     (uint64_t)packet->address_bytes << 40);
	dtc_word_put(bytes, 3,
		     packet->kind == DTC_WIRE_BYE ? packet->posted
						  : packet->fragment_bytes);
	dtc_word_put(bytes, 4, packet->stride);
	dtc_word_put(bytes, 5, packet->slab_bytes);
	dtc_word_put(bytes, 6,
		     packet->is_device_slab | (uint64_t)packet->takes_offers << 1);
	dtc_word_put(bytes, 7, 0);
}

static bool is_shm(const struct dtc_wire_packet *packet)
{
	return packet->entries >= DTC_WIRE_ENTRIES_MIN &&
	       packet->entries <= DTC_WIRE_ENTRIES_MAX &&
	       !(packet->entries & (packet->entries - 1)) &&
	       packet->fragment_bytes <= packet->stride &&
	       packet->slab_bytes <= DTC_WIRE_SLAB_MAX &&
	       packet->slab_bytes <= SIZE_MAX &&
	       packet->stride <= packet->slab_bytes / packet->fragments &&
	       !packet->address_bytes;
}

static bool is_hello(const struct dtc_wire_packet *packet)
{
	if (!packet->fragments || packet->fragments > DTC_WIRE_FRAGMENTS_MAX ||
	    !packet->fragment_bytes || packet->fragment_bytes > DTC_WIRE_SLAB_MAX ||
	    packet->fragment_bytes > SIZE_MAX)
		return false;
	if (packet->transport == DTC_WIRE_SHM)
		return is_shm(packet);
	return packet->transport && !packet->entries && !packet->stride &&
	       !packet->slab_bytes && packet->address_bytes <= DTC_WIRE_ADDRESS_MAX;
}

/* A piece is full, or it is the last and its tail is 0. */
static bool is_piece(const struct dtc_wire_packet *packet)
{
	const uint32_t offset = packet->address_offset;

	if (packet->address_bytes > DTC_WIRE_ADDRESS_MAX ||
	    offset >= packet->address_bytes || offset % DTC_WIRE_ADDRESS_PIECE)
		return false;
	for (size_t i = packet->address_bytes - offset; i < sizeof(packet->address); i++)
		if (packet->address[i])
			return false;
	return true;
}

/* 32 bytes. */
static bool is_number(const uint64_t words[])
{
	return !(words[1] | words[6] | words[7]);
}

static bool fits_packet_kind(const struct dtc_wire_packet *packet, const uint64_t words[])
{
	switch (packet->kind) {
	case DTC_WIRE_HELLO:
		return !packet->status &&
		       words[6] <= (packet->transport == DTC_WIRE_SHM ? 3 : 0) &&
		       !words[7] && is_hello(packet);
	case DTC_WIRE_BYE:
		return is_status(packet->status) && packet->status;
	case DTC_WIRE_BELL:
	case DTC_WIRE_ACCEPT:
		return !(words[1] | words[2] | words[3] | words[4] | words[5] | words[6] |
			 words[7]);
	case DTC_WIRE_ADDRESS:
		return is_piece(packet);
	case DTC_WIRE_CHALLENGE:
	case DTC_WIRE_PROOF:
		return is_number(words);
	}
	return false;
}

static void take_members(const void *bytes, const uint64_t words[],
			 struct dtc_wire_packet *packet)
{
	if (packet->kind >= DTC_WIRE_ADDRESS) {
		packet->address_offset = (uint32_t)words[1];
		packet->address_bytes = (uint32_t)(words[1] >> 32);
		memcpy(packet->address, (const char *)bytes + 16,
		       sizeof(packet->address));
		return;
	}
	packet->status = (int32_t)(uint32_t)words[1];
	packet->entries = (uint32_t)(words[1] >> 32);
	packet->fragments = (uint32_t)words[2];
	packet->transport = (enum dtc_wire_transport)(words[2] >> 32 & 0xff);
	packet->address_bytes = (uint32_t)(words[2] >> 40);
	if (packet->kind == DTC_WIRE_BYE)
		packet->posted = words[3];
	else
		packet->fragment_bytes = words[3];
	packet->stride = words[4];
	packet->slab_bytes = words[5];
	packet->is_device_slab = words[6] & 1;
	packet->takes_offers = words[6] & 2;
}

int dtc_wire_read_packet(const void *bytes, size_t length, struct dtc_wire_packet *packet)
{
	uint64_t words[PACKET_WORDS];

	if (length < DTC_WIRE_PACKET_BYTES)
		return DTCONV_ERR_FORMAT;
	for (size_t i = 0; i < PACKET_WORDS; i++)
		words[i] = dtc_word_take(bytes, i);
	if ((words[0] & UINT32_MAX) != PACKET_MAGIC)
		return DTCONV_ERR_FORMAT;
	const unsigned kind = (unsigned)(words[0] >> 48);
	if (kind < DTC_WIRE_HELLO || kind > DTC_WIRE_ACCEPT)
		return DTCONV_ERR_FORMAT;
	*packet = (struct dtc_wire_packet){ .kind = (enum dtc_wire_packet_kind)kind,
					    .version = (uint16_t)(words[0] >> 32) };
	take_members(bytes, words, packet);
	if (packet->version != DTC_WIRE_VERSION && packet->kind != DTC_WIRE_BYE)
		return DTCONV_ERR_UNSUPPORTED;
	return fits_packet_kind(packet, words) ? 0 : DTCONV_ERR_FORMAT;
}
