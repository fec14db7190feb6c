/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as what a peer of a channel may send: headers, packets, the packets with which a connection begins, and what
 * comes over a socket before the peer has proved that it knows the secret. What is accepted is within the bounds that
 * the rest relies on, and is written as the same bytes again; no gate opens. Nothing is read past the length that was
 * given: each input lies in memory of its own.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <dtconv/ipc.h>
#include <dtconv/status.h>

#include "fuzz/fuzz.h"
#include "datatype/signature.h"
#include "datatype/type.h"
#include "transport_glue/gate.h"
#include "transport_glue/greeting.h"
#include "transport_glue/offer.h"
#include "transport_glue/wire.h"
#include "transport_glue/words.h"

/* The first byte of an input; the others have magic and version written over what they begin with. */
enum mode { HEADER, HEADER_WITH_MAGIC, PACKET, PACKET_WITH_MAGIC, GREETING, GATE, MODES };

/* From this first byte on it is an offer, whose handle is written by the target: a checksum is not guessed. */
#define OFFER 0xf0

static bool is_status(int status)
{
	return status <= 0 && status >= DTCONV_ERR_LIMIT;
}

/* ---- headers -------------------------------------------------------------------------------- */

static void check_header(const struct dtc_wire_header *header)
{
	if (header->kind < DTC_WIRE_MESSAGE || header->kind > DTC_WIRE_TAKEN)
		fuzz_fail("kind %d is accepted", (int)header->kind);
	if (header->slot >= DTC_WIRE_SLOTS)
		fuzz_fail("slot %u is accepted", header->slot);
	if (!is_status(header->status))
		fuzz_fail("status %d is accepted", header->status);
	if (header->kind == DTC_WIRE_REFUSE && !header->status)
		fuzz_fail("a refusal without a reason is accepted");
	if (header->kind == DTC_WIRE_MESSAGE &&
	    (header->offer > DTC_WIRE_OFFER_BYTES || (header->offer && !header->length)))
		fuzz_fail("an offer of %u bytes for a message of %llu is accepted",
			  header->offer, (unsigned long long)header->length);
	if (header->length > SIZE_MAX)
		fuzz_fail("a length beyond size_t is accepted");
	if (header->kind == DTC_WIRE_DATA &&
	    (!header->length || header->offset + header->length < header->offset))
		fuzz_fail("offset %llu and length %llu are accepted",
			  (unsigned long long)header->offset,
			  (unsigned long long)header->length);
}

static void read_header(const uint8_t *bytes, size_t length)
{
	unsigned char again[DTC_WIRE_HEADER_BYTES];
	struct dtc_wire_header header;
	const int status = dtc_wire_read_header(bytes, length, &header);

	if (status && status != DTCONV_ERR_FORMAT)
		fuzz_fail("a header is refused with status %d", status);
	if (status)
		return;
	if (length < DTC_WIRE_HEADER_BYTES)
		fuzz_fail("a header of %zu bytes is accepted", length);
	check_header(&header);
	dtc_wire_write_header(&header, again);
	if (memcmp(bytes, again, sizeof(again)))
		fuzz_fail("a header of kind %d is accepted, and written differently",
			  (int)header.kind);
}

/* ---- packets -------------------------------------------------------------------------------- */

static void check_hello(const struct dtc_wire_packet *packet)
{
	if (!packet->fragments || packet->fragments > DTC_WIRE_FRAGMENTS_MAX ||
	    !packet->fragment_bytes || packet->fragment_bytes > SIZE_MAX ||
	    packet->address_bytes > DTC_WIRE_ADDRESS_MAX)
		fuzz_fail("a first packet beyond its bounds is accepted");
	if (packet->transport != DTC_WIRE_SHM)
		return;
	if (packet->entries < DTC_WIRE_ENTRIES_MIN ||
	    packet->entries > DTC_WIRE_ENTRIES_MAX ||
	    packet->entries & (packet->entries - 1))
		fuzz_fail("a ring of %u entries is accepted", packet->entries);
	/* Of any fragment: fits, without overflow. */
	if (packet->slab_bytes > DTC_WIRE_SLAB_MAX ||
	    packet->stride > packet->slab_bytes ||
	    (packet->fragments - 1) * packet->stride + packet->fragment_bytes >
		    packet->slab_bytes)
		fuzz_fail("a fragment outside of its slab is accepted");
}

static void check_packet(const struct dtc_wire_packet *packet)
{
	if (packet->kind == DTC_WIRE_HELLO)
		check_hello(packet);
	if (packet->kind == DTC_WIRE_BYE && (!is_status(packet->status) || !packet->status))
		fuzz_fail("an end with status %d is accepted", packet->status);
	if (packet->kind == DTC_WIRE_ADDRESS &&
	    (packet->address_bytes > DTC_WIRE_ADDRESS_MAX ||
	     packet->address_offset >= packet->address_bytes))
		fuzz_fail("a piece outside of its address is accepted");
}

static int read_packet(const uint8_t *bytes, size_t length,
		       struct dtc_wire_packet *packet)
{
	unsigned char again[DTC_WIRE_PACKET_BYTES];
	const int status = dtc_wire_read_packet(bytes, length, packet);

	if (status == DTCONV_ERR_UNSUPPORTED) {
		if (packet->version == DTC_WIRE_VERSION)
			fuzz_fail("this version is not supported");
		return status;
	}
	if (status && status != DTCONV_ERR_FORMAT)
		fuzz_fail("a packet is refused with status %d", status);
	if (status)
		return status;
	if (length < DTC_WIRE_PACKET_BYTES)
		fuzz_fail("a packet of %zu bytes is accepted", length);
	check_packet(packet);
	dtc_wire_write_packet(packet, again);
	/* The end is read in any version, so its other words are not looked at. */
	if (packet->kind != DTC_WIRE_BYE && memcmp(bytes, again, sizeof(again)))
		fuzz_fail("a packet of kind %d is accepted, and written differently",
			  (int)packet->kind);
	return 0;
}

/* ---- the beginning of a connection ----------------------------------------------------------- */

static void check_greeting(const struct dtc_greeting *greeting, int status)
{
	if (greeting->bytes > greeting->hello.address_bytes ||
	    greeting->bytes > sizeof(greeting->address))
		fuzz_fail("%zu bytes of an address of %u", greeting->bytes,
			  greeting->hello.address_bytes);
	if (!status && (!greeting->is_begun ||
			greeting->bytes != greeting->hello.address_bytes))
		fuzz_fail("an address is complete before it is");
}

static void read_greeting(const uint8_t *bytes, size_t length)
{
	static struct dtc_greeting greeting;
	struct dtc_wire_packet packet;

	greeting = (struct dtc_greeting){ .is_begun = false };
	for (; length >= DTC_WIRE_PACKET_BYTES; length -= DTC_WIRE_PACKET_BYTES) {
		if (read_packet(bytes, length, &packet))
			return;
		const size_t before = greeting.bytes;
		const int status = dtc_greeting_take(&greeting, &packet);
		if (status && status != DTCONV_INPROGRESS && status != DTCONV_ERR_FORMAT)
			fuzz_fail("a packet is taken with status %d", status);
		if (status < 0)
			return;
		if (packet.kind == DTC_WIRE_ADDRESS && packet.address_offset != before)
			fuzz_fail("a piece of an address is taken out of order");
		check_greeting(&greeting, status);
		bytes += DTC_WIRE_PACKET_BYTES;
	}
}

/* ---- proofs ---------------------------------------------------------------------------------- */

/* A stream is sent as a whole, packets are one by one. */
static void send_all(int socket, const uint8_t *bytes, size_t length, bool is_stream)
{
	while (length) {
		const size_t piece = is_stream || length < DTC_WIRE_PACKET_BYTES
					     ? length
					     : DTC_WIRE_PACKET_BYTES;

		if (send(socket, bytes, piece, MSG_DONTWAIT | MSG_NOSIGNAL) !=
		    (ssize_t)piece)
			return;
		bytes += piece;
		length -= piece;
	}
}

static void pass_gate(const uint8_t *bytes, size_t length, bool listens, bool is_stream)
{
	static const struct dtc_secret secret = { .key = "of this test" };
	struct dtc_gate gate;
	int sockets[2];

	if (socketpair(AF_UNIX, is_stream ? SOCK_STREAM : SOCK_SEQPACKET, 0, sockets))
		fuzz_fail("there are no sockets");
	if (!dtc_gate_init(&gate, sockets[0], listens))
		fuzz_fail("there are no random numbers");
	send_all(sockets[1], bytes, length, is_stream);
	int status = dtc_gate_step(&gate, sockets[0], &secret);
	if (status == DTCONV_INPROGRESS) {
		/* Then it can only wait for more, which does not come. */
		(void)shutdown(sockets[1], SHUT_WR);
		status = dtc_gate_step(&gate, sockets[0], &secret);
	}
	if (status != DTCONV_ERR_PEER && status != DTCONV_ERR_FORMAT &&
	    status != DTCONV_ERR_UNSUPPORTED)
		fuzz_fail("a gate ends with status %d", status);
	if (gate.is_open)
		fuzz_fail("a gate is open");
	close(sockets[0]);
	close(sockets[1]);
}

/* ---- offers ---------------------------------------------------------------------------------- */

/* The numbers of an offer, and the length of its message. */
enum { ORIGIN, COUNT, MEMORY, RANGE_OFFSET, RANGE, LENGTH, NUMBERS };

/* Where the bytes of all instances begin and end; false if that overflows. */
static bool find_bounds(const struct dtconv_type_attr *attr, const uint64_t numbers[],
			int64_t *low, int64_t *high)
{
	int64_t first, last;

	if (__builtin_mul_overflow(numbers[COUNT] - 1, attr->extent, &last) ||
	    __builtin_add_overflow((int64_t)numbers[ORIGIN], attr->true_lb, &first) ||
	    __builtin_add_overflow(first, last, &last))
		return false;
	*low = first < last ? first : last;
	return !__builtin_add_overflow(first < last ? last : first, attr->true_extent,
				       high);
}

static void check_offer(const struct dtconv_type *type, const uint64_t numbers[])
{
	struct dtconv_type_attr attr = { .struct_size = sizeof(attr) };
	uint64_t bytes;
	int64_t low, high;

	if (dtconv_type_query(type, &attr) ||
	    __builtin_mul_overflow(attr.size, numbers[COUNT], &bytes) ||
	    bytes != numbers[LENGTH])
		fuzz_fail("an offer of another length is accepted");
	if (numbers[LENGTH] && (!find_bounds(&attr, numbers, &low, &high) || low < 0 ||
				(uint64_t)high > numbers[RANGE]))
		fuzz_fail("an offer outside of its range is accepted");
}

/* The hash of a message is that of its bytes as bytes: only offers of bytes can be right. */
static uint64_t hash_of(uint64_t length)
{
	const struct dtconv_type *byte =
		dtconv_type_predefined(fuzz_context(), DTCONV_BYTE);
	uint64_t hash = 0;

	(void)dtc_signature_hash_start(byte->signature, length, length, &hash);
	return hash;
}

static void read_offer(const uint8_t *bytes, size_t length)
{
	static unsigned char offer[DTC_WIRE_OFFER_BYTES];
	const size_t type_at = 16 + DTCONV_IPC_HANDLE_BYTES;
	uint64_t numbers[NUMBERS];
	struct dtc_offer read;
	struct dtconv_type *type;

	if (length < sizeof(numbers) ||
	    length - sizeof(numbers) > sizeof(offer) - type_at)
		return;
	memcpy(numbers, bytes, sizeof(numbers));
	const struct dtc_ipc_handle handle = { .allocation = { .bytes = numbers[MEMORY],
							       .id = 1 },
					       .offset = numbers[RANGE_OFFSET],
					       .bytes = numbers[RANGE] };
	dtc_word_put(offer, 0, numbers[ORIGIN]);
	dtc_word_put(offer, 1, numbers[COUNT]);
	dtc_ipc_handle_write(&handle, offer + 16);
	const size_t type_bytes = length - sizeof(numbers);
	memcpy(offer + type_at, bytes + sizeof(numbers), type_bytes);
	if (dtc_offer_read(offer, type_at + type_bytes, &read))
		return;
	if (read.type_bytes != type_bytes || !type_bytes)
		fuzz_fail("an offer has %zu bytes of a type, not %zu", read.type_bytes,
			  type_bytes);
	if (dtconv_type_deserialise(fuzz_context(), read.type, read.type_bytes, &type))
		return;
	if (!dtc_offer_check(&read, type, numbers[LENGTH], hash_of(numbers[LENGTH])))
		check_offer(type, numbers);
	dtconv_type_unref(type);
	fuzz_expect_no_types();
}

/* ---- the target ------------------------------------------------------------------------------ */

/* Magic and version of a header or a packet; its kind stays. */
static void write_magic(uint8_t *bytes, size_t length, bool is_packet)
{
	static const struct dtc_wire_header header = { .kind = DTC_WIRE_GO };
	static const struct dtc_wire_packet packet = { .kind = DTC_WIRE_BELL,
						       .version = DTC_WIRE_VERSION };
	unsigned char right[DTC_WIRE_PACKET_BYTES];

	if (is_packet)
		dtc_wire_write_packet(&packet, right);
	else
		dtc_wire_write_header(&header, right);
	memcpy(bytes, right, length < 3 ? length : is_packet && length >= 6 ? 6 : 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dtc_wire_packet packet;

	if (!size || size > 1 + 100 * DTC_WIRE_PACKET_BYTES)
		return 0;
	const enum mode mode = (enum mode)(data[0] % MODES);
	const size_t length = size - 1;
	uint8_t *bytes = malloc(length ? length : 1);

	if (!bytes)
		fuzz_fail("no memory");
	memcpy(bytes, data + 1, length);
	if (data[0] >= OFFER) {
		read_offer(bytes, length);
		free(bytes);
		return 0;
	}
	if (mode == HEADER_WITH_MAGIC || mode == PACKET_WITH_MAGIC)
		write_magic(bytes, length, mode == PACKET_WITH_MAGIC);
	for (size_t at = 0; mode >= GREETING && at < length; at += DTC_WIRE_PACKET_BYTES)
		write_magic(bytes + at, length - at, true);
	if (mode == HEADER || mode == HEADER_WITH_MAGIC)
		read_header(bytes, length);
	else if (mode == GREETING)
		read_greeting(bytes, length);
	else if (mode == GATE)
		pass_gate(bytes, length, data[0] / MODES & 1, data[0] / MODES & 2);
	else
		(void)read_packet(bytes, length, &packet);
	free(bytes);
	return 0;
}
