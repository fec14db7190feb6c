/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Headers and packets, bit by bit: they are read as written, and with any bit changed they are refused or are written as
 * the same bytes again, so that no word which a kind lacks is ignored. The ends of ranges.
 */
#include "config.h"

#include <string.h>

#include <dtconv/status.h>

#include "support/fixture.h"
#include "transport_glue/wire.h"

/* ---- headers --------------------------------------------------------------------------- */

/* One of each kind, with all that the kind has. */
static const struct dtc_wire_header headers[] = {
	{ .kind = DTC_WIRE_MESSAGE,
	  .slot = 255,
	  .tag = UINT64_C(0x8123456789abcdef),
	  .hash = UINT64_C(0xfedcba9876543218),
	  .length = 123456,
	  .offer = 160 },
	{ .kind = DTC_WIRE_DATA,
	  .slot = 7,
	  .offset = UINT64_C(0x8000000000000001),
	  .length = 4096,
	  .fragment = UINT32_C(0x80000003) },
	{ .kind = DTC_WIRE_END, .slot = 9, .status = DTCONV_ERR_CANCELED },
	{ .kind = DTC_WIRE_GO, .slot = 128 },
	{ .kind = DTC_WIRE_REFUSE, .slot = 1, .status = DTCONV_ERR_FORMAT },
	{ .kind = DTC_WIRE_RETURN, .status = DTCONV_ERR_PEER, .fragment = 1023 },
	{ .kind = DTC_WIRE_TAKEN, .slot = 3 },
};

static void expect_same_header(const unsigned char *bytes)
{
	unsigned char again[DTC_WIRE_HEADER_BYTES];
	struct dtc_wire_header header;

	fixture_ok(dtc_wire_read_header(bytes, sizeof(again), &header));
	dtc_wire_write_header(&header, again);
	ck_assert_mem_eq(again, bytes, sizeof(again));
}

START_TEST(a_header_is_read_as_written)
{
	unsigned char bytes[DTC_WIRE_HEADER_BYTES];
	struct dtc_wire_header read;

	dtc_wire_write_header(&headers[_i], bytes);
	expect_same_header(bytes);
	fixture_ok(dtc_wire_read_header(bytes, sizeof(bytes), &read));
	ck_assert_int_eq(read.kind, headers[_i].kind);
	ck_assert_uint_eq(read.slot, headers[_i].slot);
	ck_assert_int_eq(read.status, headers[_i].status);
	for (size_t length = 0; length < sizeof(bytes); length++)
		ck_assert_int_eq(dtc_wire_read_header(bytes, length, &read),
				 DTCONV_ERR_FORMAT);
}
END_TEST

START_TEST(no_bit_of_a_header_is_ignored)
{
	unsigned char bytes[DTC_WIRE_HEADER_BYTES];
	struct dtc_wire_header read;

	dtc_wire_write_header(&headers[_i], bytes);
	for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
		bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
		const int status = dtc_wire_read_header(bytes, sizeof(bytes), &read);
		if (status)
			ck_assert_int_eq(status, DTCONV_ERR_FORMAT);
		else
			expect_same_header(bytes);
		bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
	}
}
END_TEST

/* Case: bytes by which a fragment exceeds what an offset can be. */
START_TEST(the_end_of_a_fragment_does_not_overflow)
{
	const struct dtc_wire_header header = { .kind = DTC_WIRE_DATA,
						.offset = UINT64_MAX - 4096,
						.length = 4096 + (uint64_t)_i };
	unsigned char bytes[DTC_WIRE_HEADER_BYTES];
	struct dtc_wire_header read;

	dtc_wire_write_header(&header, bytes);
	ck_assert_int_eq(dtc_wire_read_header(bytes, sizeof(bytes), &read),
			 _i ? DTCONV_ERR_FORMAT : 0);
}
END_TEST

/* ---- packets --------------------------------------------------------------------------- */

static const struct dtc_wire_packet packets[] = {
	{ .kind = DTC_WIRE_HELLO,
	  .transport = DTC_WIRE_SHM,
	  .entries = 2048,
	  .fragments = 4,
	  .fragment_bytes = 4000,
	  .stride = 4096,
	  .slab_bytes = 16384,
	  .takes_offers = true },
	{ .kind = DTC_WIRE_HELLO,
	  .transport = DTC_WIRE_UCX,
	  .fragments = 16,
	  .fragment_bytes = 65536,
	  .address_bytes = 300 },
	{ .kind = DTC_WIRE_BELL },
	{ .kind = DTC_WIRE_ADDRESS,
	  .address_bytes = 100,
	  .address_offset = 48,
	  .address = { 1, 2, 3, [47] = 255 } },
	{ .kind = DTC_WIRE_CHALLENGE, .address = { 9, [31] = 129 } },
	{ .kind = DTC_WIRE_PROOF, .address = { [0] = 128, [31] = 1 } },
	{ .kind = DTC_WIRE_ACCEPT },
	{ .kind = DTC_WIRE_BYE, .status = DTCONV_ERR_PEER, .posted = UINT64_C(1) << 63 },
};

/* All but the end, which is read in any version, whatever else it has. */
#define STRICT ((int)(sizeof(packets) / sizeof(packets[0])) - 1)

static void write_packet(int i, unsigned char *bytes)
{
	struct dtc_wire_packet packet = packets[i];

	packet.version = DTC_WIRE_VERSION;
	dtc_wire_write_packet(&packet, bytes);
}

static void expect_same_packet(const unsigned char *bytes)
{
	unsigned char again[DTC_WIRE_PACKET_BYTES];
	struct dtc_wire_packet packet;

	fixture_ok(dtc_wire_read_packet(bytes, sizeof(again), &packet));
	dtc_wire_write_packet(&packet, again);
	ck_assert_mem_eq(again, bytes, sizeof(again));
}

START_TEST(a_packet_is_read_as_written)
{
	unsigned char bytes[DTC_WIRE_PACKET_BYTES];
	struct dtc_wire_packet read;

	write_packet(_i, bytes);
	expect_same_packet(bytes);
	fixture_ok(dtc_wire_read_packet(bytes, sizeof(bytes), &read));
	ck_assert_int_eq(read.kind, packets[_i].kind);
	ck_assert_int_eq(read.status, packets[_i].status);
	ck_assert_uint_eq(read.posted, packets[_i].posted);
	for (size_t length = 0; length < sizeof(bytes); length++)
		ck_assert_int_eq(dtc_wire_read_packet(bytes, length, &read),
				 DTCONV_ERR_FORMAT);
}
END_TEST

/* A bit of the version makes it one of another version. */
START_TEST(no_bit_of_a_packet_is_ignored)
{
	unsigned char bytes[DTC_WIRE_PACKET_BYTES];
	struct dtc_wire_packet read;

	write_packet(_i, bytes);
	for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
		bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
		const int status = dtc_wire_read_packet(bytes, sizeof(bytes), &read);
		if (bit / 16 == 2)
			ck_assert_int_eq(status, DTCONV_ERR_UNSUPPORTED);
		else if (status)
			ck_assert_int_eq(status, DTCONV_ERR_FORMAT);
		else if (read.kind != DTC_WIRE_BYE)
			expect_same_packet(bytes);
		bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
	}
}
END_TEST

/* The last piece of an address has four bytes. */
START_TEST(nothing_follows_an_address)
{
	struct dtc_wire_packet packet = { .kind = DTC_WIRE_ADDRESS,
					  .version = DTC_WIRE_VERSION,
					  .address_bytes = 100,
					  .address_offset = 96 };
	unsigned char bytes[DTC_WIRE_PACKET_BYTES];

	packet.address[_i] = 1;
	dtc_wire_write_packet(&packet, bytes);
	ck_assert_int_eq(dtc_wire_read_packet(bytes, sizeof(bytes), &packet),
			 _i < 4 ? 0 : DTCONV_ERR_FORMAT);
}
END_TEST

int main(void)
{
	const int kinds = sizeof(headers) / sizeof(headers[0]);
	Suite *suite = suite_create("wire");
	TCase *header = fixture_case(suite, "headers", 20);
	TCase *packet = fixture_case(suite, "packets", 20);

	tcase_add_loop_test(header, a_header_is_read_as_written, 0, kinds);
	tcase_add_loop_test(header, no_bit_of_a_header_is_ignored, 0, kinds);
	tcase_add_loop_test(header, the_end_of_a_fragment_does_not_overflow, 0, 2);
	tcase_add_loop_test(packet, a_packet_is_read_as_written, 0, STRICT + 1);
	tcase_add_loop_test(packet, no_bit_of_a_packet_is_ignored, 0, STRICT);
	tcase_add_loop_test(packet, nothing_follows_an_address, 0,
			    DTC_WIRE_ADDRESS_PIECE);
	return fixture_run(suite);
}
