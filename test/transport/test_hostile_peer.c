/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A peer that lies: wrong packets, memory that it could take away, and headers of every kind in every state. The
 * channel ends with a status or goes on; everything ends once and comes back. What the peer can see are the bytes of
 * its messages.
 */
#include "config.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "datatype/signature.h"
#include "datatype/type.h"
#include "exchange.h"
#include "liar.h"
#include "transport_glue/ipc_handle.h"
#include "transport_glue/words.h"
#include "process.h"
#include "random_header.h"
#include "support/fixture.h"

/* ---- packets ------------------------------------------------------------------------------------ */

START_TEST(a_wrong_first_packet_ends_the_channel)
{
	struct dtc_wire_packet hello = liar_hello();
	size_t files = 2;
	int status = DTCONV_ERR_FORMAT;

	liar_open();
	switch (_i) {
	case 0:
		files = 1;
		break;
	case 1:
		files = 0;
		break;
	case 2:
		hello.version++;
		status = DTCONV_ERR_UNSUPPORTED;
		break;
	case 3:
		hello.fragments = 0;
		break;
	case 4:
		hello.fragments++;
		break;
	case 5:
		hello.stride = UINT64_MAX;
		break;
	case 6:
		hello.fragment_bytes = LIAR_BYTES + 1;
		break;
	case 7:
		hello.entries = LIAR_ENTRIES + 1;
		break;
	case 8: /* longer than the file */
		hello.entries = 2 * LIAR_ENTRIES;
		break;
	case 9: /* the same, with pages behind its end */
		hello.slab_bytes = LIAR_SLAB_BYTES + 4096;
		ck_assert(!fallocate(liar.slab_file, FALLOC_FL_KEEP_SIZE, 0, 8192));
		break;
	case 10: /* may be made shorter */
		close(liar.slab_file);
		liar.slab_file = liar_make_file(LIAR_SLAB_BYTES, 0);
		break;
	case 11: /* has no pages */
		close(liar.slab_file);
		liar.slab_file = liar_make_file(0, 0);
		ck_assert(!ftruncate(liar.slab_file, LIAR_SLAB_BYTES));
		ck_assert(!fcntl(liar.slab_file, F_ADD_SEALS, F_SEAL_SHRINK));
		break;
	case 12: /* no file of memory at all */
		close(liar.slab_file);
		liar.slab_file = dup(liar.socket);
		break;
	default:
		hello.kind = DTC_WIRE_BYE;
		hello.status = DTCONV_ERR_LIMIT;
		files = 0;
		status = DTCONV_ERR_PEER;
	}
	const size_t mappings = process_mappings();
	liar_greet(&hello, files);
	liar_expect_end(status);
	if (_i < 8)
		ck_assert_uint_eq(process_mappings(), mappings);
	liar_close();
}
END_TEST

START_TEST(two_first_packets_end_the_channel)
{
	const struct dtc_wire_packet hello = liar_hello();

	liar_open();
	liar_greet(&hello, 2);
	liar_progress(2);
	ck_assert_int_eq(party_query(&party).state, DTCONV_CHANNEL_OPEN);
	const struct dtc_shm_ring *ring = liar_ring();
	ck_assert_uint_eq(atomic_load(&ring->popped), 0);
	liar_greet(&hello, 2);
	liar_progress(100);
	liar_expect_end(DTCONV_ERR_FORMAT);
	liar_close();
}
END_TEST

/* Nobody but its owner can write to a ring or make a file shorter. */
START_TEST(memory_that_is_given_away_is_sealed)
{
	struct dtc_shm_mapping mapping = { 0 };

	liar_open();
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(ftruncate(liar.files.fds[i], 0), -1);
	ck_assert_ptr_eq(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
			      liar.files.fds[0], 0),
			 MAP_FAILED);
	fixture_ok(dtc_shm_map(fixture_context, liar.files.fds[0],
			       dtc_shm_ring_bytes(liar.hello.entries, false), false,
			       &mapping));
	dtc_shm_unmap(&mapping);
	liar_close();
}
END_TEST

static void send_bell(size_t *sent)
{
	const struct dtc_wire_packet packet = { .kind = DTC_WIRE_BELL,
						.version = DTC_WIRE_VERSION };
	unsigned char bytes[DTC_WIRE_PACKET_BYTES];

	dtc_wire_write_packet(&packet, bytes);
	*sent = 0;
	while (dtc_sock_send(liar.socket, bytes, NULL))
		++*sent;
}

/* A poll takes a bounded number of them, and the channel goes on. */
START_TEST(a_flood_of_packets_does_not_hold_a_poll)
{
	const struct dtc_wire_packet hello = liar_hello();
	size_t sent, again = 0;

	liar_open();
	liar_greet(&hello, 2);
	liar_progress(2);
	send_bell(&sent);
	ck_assert_uint_gt(sent, 2 * DTC_SOCK_BATCH);
	for (int i = 0; !again; i++) {
		ck_assert_int_lt(i, 1000);
		liar_progress(1);
		send_bell(&again);
	}
	ck_assert_uint_le(again, DTC_SOCK_BATCH);
	/* All of them are taken in the end. */
	for (int i = 0; again != sent; i++) {
		ck_assert_int_lt(i, 100);
		liar_progress(1000);
		send_bell(&again);
	}
	ck_assert_int_eq(party_query(&party).state, DTCONV_CHANNEL_OPEN);
	liar_close();
}
END_TEST

/* ---- headers -------------------------------------------------------------------------------------- */

static void push_random(struct choices *choices)
{
	const struct dtc_wire_header header =
		random_header(choices, LIAR_BYTES, LIAR_FRAGMENTS);
	uint64_t words[DTC_WIRE_HEADER_WORDS];

	dtc_wire_write_header(&header, words);
	if (chance(choices, 12))
		words[choose(choices, DTC_WIRE_HEADER_WORDS)] ^= UINT64_C(1)
								 << choose(choices, 64);
	liar_push_words(words);
}

static size_t ended, begun;

static void count_end(void *arg, int status, size_t moved)
{
	(void)arg, (void)status, (void)moved;
	ended++;
}

static void begin_random(struct choices *choices)
{
	static char buffer[2048];
	struct dtconv_type *byte = dtconv_type_predefined(fixture_context, DTCONV_BYTE);
	const uint64_t tag = choose(choices, 3);
	const size_t count = choose(choices, chance(choices, 2) ? 64 : 2048);

	int status = chance(choices, 2)
			     ? dtconv_channel_send(party.channel, tag, byte, count,
						   buffer, count_end, NULL)
			     : dtconv_channel_recv(party.channel, tag, byte, count,
						   buffer, count_end, NULL);
	begun += !status;
}

/* Each case is some hundred conversations; a conversation ends with the first header that is wrong. */
START_TEST(headers_of_any_kind_in_any_state_do_no_harm)
{
	exchange_flags = _i & 1 ? DTCONV_CHANNEL_DIRECT : 0;
	struct choices choices = fixture_choices((uint64_t)_i);
	const struct dtc_wire_packet hello = liar_hello();
	const size_t files = process_files();

	for (int round = 0; round < (fixture_everything() ? 3000 : 150); round++) {
		liar_open();
		ended = begun = 0;
		liar_greet(&hello, 2);
		liar_progress(2);
		ck_assert_int_eq(party_query(&party).state, DTCONV_CHANNEL_OPEN);
		/* What the honest side has posted counts as taken. */
		fixture_ok(dtc_shm_map(fixture_context, liar.files.fds[0],
				       dtc_shm_ring_bytes(liar.hello.entries, false),
				       false, &liar.slab));
		for (int i = 0; i < 40; i++) {
			if (chance(&choices, 4))
				begin_random(&choices);
			push_random(&choices);
			const struct dtc_shm_ring *theirs = liar.slab.base;
			if (!chance(&choices, 30))
				atomic_store(&liar_ring()->popped,
					     atomic_load(&theirs->pushed));
			else
				atomic_store(&liar_ring()->popped,
					     random_number(&choices, LIAR_BYTES,
							   LIAR_FRAGMENTS));
			if (chance(&choices, 200))
				atomic_store(&liar_ring()->pushed,
					     random_number(&choices, LIAR_BYTES,
							   LIAR_FRAGMENTS));
			liar_progress(1);
		}
		liar_close();
		ck_assert_uint_eq(ended, begun);
	}
	ck_assert_uint_eq(process_files(), files);
	ck_assert_uint_eq(process_mappings(), 0);
}
END_TEST

/* ---- steps that do not fit ------------------------------------------------------------------------- */

#define INTS 200 /* of the honest side's messages: more than a fragment has */

static int numbers[INTS], places[INTS];

static void push_message(uint64_t tag, uint64_t length)
{
	const struct dtconv_type *number =
		dtconv_type_predefined(fixture_context, DTCONV_INT);
	struct dtc_wire_header header = { .kind = DTC_WIRE_MESSAGE,
					  .tag = tag,
					  .length = length };

	ck_assert(dtc_signature_hash_start(number->signature, INTS, (size_t)length,
					   &header.hash));
	liar_push(header);
}

static void push_data(uint64_t offset, uint64_t length, uint32_t fragment)
{
	liar_push((struct dtc_wire_header){ .kind = DTC_WIRE_DATA,
					    .offset = offset,
					    .length = length,
					    .fragment = fragment });
}

static void push_kind(enum dtc_wire_kind kind, int status)
{
	liar_push((struct dtc_wire_header){ .kind = kind, .status = status });
}

/* What is honest until the last step. Slot 0, and receives with tag 1. */
static void take_steps(int which)
{
	switch (which) {
	case 0: /* bytes again */
		push_message(1, 3 * LIAR_BYTES);
		push_data(0, LIAR_BYTES, 0);
		push_data(0, LIAR_BYTES, 1);
		break;
	case 1: /* bytes in front of others */
		push_message(1, 3 * LIAR_BYTES);
		push_data(LIAR_BYTES, LIAR_BYTES, 0);
		break;
	case 2: /* more than there are */
		push_message(1, LIAR_BYTES);
		push_data(0, LIAR_BYTES / 2, 0);
		push_data(LIAR_BYTES / 2, LIAR_BYTES, 1);
		break;
	case 3: /* of no message */
		push_data(0, LIAR_BYTES, 0);
		break;
	case 4: /* a part of a message that nobody has asked for */
		push_message(2, LIAR_BYTES);
		push_data(0, LIAR_BYTES / 2, 0);
		break;
	case 5: /* the slot is in use */
		push_message(2, LIAR_BYTES);
		push_message(2, LIAR_BYTES);
		break;
	case 6: /* the same, received */
		push_message(1, LIAR_BYTES);
		push_message(2, LIAR_BYTES);
		break;
	case 7: /* the fragment has not come back: its message waits */
		push_message(2, LIAR_BYTES);
		push_data(0, LIAR_BYTES, 0);
		liar_push((struct dtc_wire_header){ .kind = DTC_WIRE_MESSAGE,
						    .slot = 1,
						    .tag = 2,
						    .length = LIAR_BYTES });
		liar_push((struct dtc_wire_header){
			.kind = DTC_WIRE_DATA, .slot = 1, .length = LIAR_BYTES });
		break;
	case 8: /* there are not so many */
		push_message(1, LIAR_BYTES);
		push_data(0, LIAR_BYTES, LIAR_FRAGMENTS);
		break;
	case 9: /* longer than a fragment */
		push_message(1, 3 * LIAR_BYTES);
		push_data(0, LIAR_BYTES + 1, 0);
		break;
	case 10: /* the end of nothing */
		push_kind(DTC_WIRE_END, DTCONV_ERR_NOMEM);
		break;
	case 11: /* the end of what nobody has asked for */
		push_message(2, LIAR_BYTES);
		push_kind(DTC_WIRE_END, DTCONV_ERR_NOMEM);
		break;
	case 12: /* an answer twice */
		push_kind(DTC_WIRE_GO, 0);
		push_kind(DTC_WIRE_GO, 0);
		break;
	case 13: /* two answers */
		push_kind(DTC_WIRE_GO, 0);
		push_kind(DTC_WIRE_REFUSE, DTCONV_ERR_TRUNCATE);
		break;
	case 14: /* an answer to nothing */
		liar_push((struct dtc_wire_header){ .kind = DTC_WIRE_GO, .slot = 1 });
		break;
	case 15: /* a fragment that it does not have */
		push_kind(DTC_WIRE_RETURN, 0);
		break;
	default: /* the same, and there is none of that number */
		liar_push((struct dtc_wire_header){ .kind = DTC_WIRE_RETURN,
						    .fragment = UINT32_MAX });
	}
}

START_TEST(a_step_that_does_not_fit_ends_the_channel)
{
	const struct dtc_wire_packet hello = liar_hello();
	struct dtconv_type *number = dtconv_type_predefined(fixture_context, DTCONV_INT);

	liar_open();
	liar_greet(&hello, 2);
	liar_progress(2);
	ended = 0;
	fixture_ok(dtconv_channel_recv(party.channel, 1, number, INTS, places, count_end,
				       NULL));
	fixture_ok(dtconv_channel_send(party.channel, 1, number, INTS, numbers, count_end,
				       NULL));
	liar_progress(5);
	ck_assert_int_eq(party_query(&party).state, DTCONV_CHANNEL_OPEN);
	take_steps(_i);
	liar_expect_end(DTCONV_ERR_FORMAT);
	liar_close();
	ck_assert_uint_eq(ended, 2);
}
END_TEST

/* Pages that the peer takes away are zeros then, and no signal. */
START_TEST(a_fragment_whose_pages_are_gone_is_zeros)
{
	const struct dtc_wire_packet hello = liar_hello();
	struct dtconv_type *number = dtconv_type_predefined(fixture_context, DTCONV_INT);

	liar_open();
	liar_greet(&hello, 2);
	liar_progress(2);
	ended = 0;
	memset(places, 1, sizeof(places));
	fixture_ok(dtconv_channel_recv(party.channel, 1, number, INTS, places, count_end,
				       NULL));
	ck_assert(!fallocate(liar.slab_file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			     0, LIAR_SLAB_BYTES));
	push_message(1, LIAR_BYTES);
	push_data(0, LIAR_BYTES, 0);
	liar_progress(10);
	ck_assert_uint_eq(ended, 1);
	for (size_t i = 0; i < LIAR_BYTES / sizeof(int); i++)
		ck_assert_int_eq(places[i], 0);
	/* Of its ring a process takes none away. */
	ck_assert_int_eq(fallocate(liar.files.fds[0],
				   FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096),
			 -1);
	liar_close();
}
END_TEST

/* ---- what a peer sees -------------------------------------------------------------------------------- */

/* The gaps of a type and what lies around its buffer never leave. */
START_TEST(a_peer_sees_packed_bytes_only)
{
	enum { SECRET = 0xa5, ROWS = 40 };
	static unsigned char rows[ROWS][32];
	const struct dtc_wire_packet hello = liar_hello();
	struct dtconv_type *column = fixture_type("vector(40, 8, 32, byte)");

	memset(rows, SECRET, sizeof(rows));
	for (int i = 0; i < ROWS; i++)
		memset(rows[i], 1, 8);
	liar_open();
	liar_greet(&hello, 2);
	ended = 0;
	fixture_ok(
		dtconv_channel_send(party.channel, 1, column, 1, rows, count_end, NULL));
	/* A long message goes when it is asked for. */
	const struct dtc_wire_header go = { .kind = DTC_WIRE_GO };
	uint64_t words[DTC_WIRE_HEADER_WORDS];
	liar_progress(5);
	dtc_wire_write_header(&go, words);
	liar_push_words(words);
	liar_progress(20);
	fixture_ok(dtc_shm_map(fixture_context, liar.files.fds[1],
			       (size_t)liar.hello.slab_bytes, false, &liar.slab));
	const unsigned char *seen = liar.slab.base;
	size_t packed = 0;
	for (size_t i = 0; i < liar.hello.slab_bytes; i++) {
		ck_assert_int_le(seen[i], 1);
		packed += seen[i];
	}
	ck_assert_uint_eq(packed, ROWS * 8);
	liar_close();
	ck_assert_uint_eq(ended, 1);
	dtconv_type_unref(column);
}
END_TEST

/* ---- offers ------------------------------------------------------------------------------------------ */

#define OFFER_MAX 1000
#define INT_BYTES (INTS * sizeof(int))
#define TYPE_AT   (16 + DTCONV_IPC_HANDLE_BYTES)

/* An offer of 200 ints at byte 100 of an allocation of 5000, of a process that there is not. */
struct lie {
	unsigned char bytes[OFFER_MAX];
	uint32_t length;
	uint64_t message; /* its length */
};

static void write_offer(struct lie *lie, const char *words, uint64_t count,
			uint64_t origin)
{
	const struct dtc_ipc_handle handle = {
		.owner = { .id = 1234, .start = 5678 },
		.allocation = { .base = 0x7000000, .bytes = 5000, .id = 9 },
		.offset = 100,
		.bytes = INT_BYTES
	};
	struct dtconv_type *type = fixture_type(words);
	size_t length;

	dtc_word_put(lie->bytes, 0, origin);
	dtc_word_put(lie->bytes, 1, count);
	dtc_ipc_handle_write(&handle, lie->bytes + 16);
	fixture_ok(dtconv_type_serialise(type, lie->bytes + TYPE_AT, OFFER_MAX - TYPE_AT,
					 &length));
	lie->length = (uint32_t)(TYPE_AT + length);
	lie->message = INT_BYTES;
	dtconv_type_unref(type);
}

static void push_offer(const struct lie *lie)
{
	const struct dtconv_type *number =
		dtconv_type_predefined(fixture_context, DTCONV_INT);
	struct dtc_wire_header header = { .kind = DTC_WIRE_MESSAGE,
					  .tag = 1,
					  .length = lie->message,
					  .offer = lie->length };

	ck_assert(dtc_signature_hash_start(number->signature, INTS, (size_t)lie->message,
					   &header.hash));
	memcpy(dtc_shm_offer(liar.ring.base, LIAR_ENTRIES, 0), lie->bytes, lie->length);
	liar_push(header);
}

/* A receive of ints into memory of the host, which takes no direct message: the answer to an honest offer is GO. */
static void open_for_offers(void)
{
	struct dtconv_type *number = dtconv_type_predefined(fixture_context, DTCONV_INT);

	liar_open();
	const struct dtc_wire_packet hello = liar_hello();
	liar_greet(&hello, 2);
	liar_progress(2);
	ended = 0;
	fixture_ok(dtconv_channel_recv(party.channel, 1, number, INTS, places, count_end,
				       NULL));
	liar_progress(2);
}

static bool is_answered(void)
{
	bool is_one;

	fixture_ok(dtc_shm_map(fixture_context, liar.files.fds[0],
			       dtc_shm_ring_bytes(liar.hello.entries,
						  liar.hello.takes_offers),
			       false, &liar.slab));
	is_one = atomic_load(&((struct dtc_shm_ring *)liar.slab.base)->pushed) == 1;
	dtc_shm_unmap(&liar.slab);
	return is_one;
}

/* Each number is the right one but for one lie. */
static void lie_once(struct lie *lie, int which)
{
	switch (which) {
	case 0:
		write_offer(lie, "int", INTS + 1, 0);
		break;
	case 1:
		write_offer(lie, "int", UINT64_MAX, 0);
		break;
	case 2: /* of as many bytes */
		write_offer(lie, "int", UINT64_C(1) << 62 | INTS, 0);
		break;
	case 3: /* behind the range */
		write_offer(lie, "int", INTS, 1);
		break;
	case 4: /* before it */
		write_offer(lie, "int", INTS, UINT64_MAX);
		break;
	case 5:
		write_offer(lie, "int", INTS, UINT64_C(1) << 63);
		break;
	case 6: /* the last byte is outside */
		write_offer(lie, "resized(contiguous(100, int), 0, 401)", 2, 0);
		break;
	case 7: /* the first one is */
		write_offer(lie, "resized(contiguous(100, int), 0, -400)", 2, 396);
		break;
	case 8:
		/* a quarter of the address space */
		write_offer(
			lie,
			sizeof(void *) > 4
				? "resized(contiguous(100, int), 0, 4611686018427387904)"
				: "resized(contiguous(100, int), 0, 1073741824)",
			2, 0);
		break;
	case 9: /* another basic type */
		write_offer(lie, "float", INTS, 0);
		break;
	case 10: /* no type */
		write_offer(lie, "int", INTS, 0);
		lie->length = TYPE_AT;
		break;
	case 11:
		write_offer(lie, "int", INTS, 0);
		lie->length = 1;
		break;
	case 12: /* the handle is damaged */
		write_offer(lie, "int", INTS, 0);
		lie->bytes[16 + 70] ^= 1;
		break;
	default: /* the message is shorter than what is offered */
		write_offer(lie, "int", INTS, 0);
		lie->message -= 4;
	}
}

START_TEST(an_offer_that_lies_ends_the_channel)
{
	struct lie lie;

	exchange_flags = DTCONV_CHANNEL_DIRECT;
	open_for_offers();
	lie_once(&lie, _i);
	push_offer(&lie);
	liar_expect_end(DTCONV_ERR_FORMAT);
	liar_close();
	ck_assert_uint_eq(ended, 1);
}
END_TEST

/* A type that cannot be the same here may be that of an honest process with other rules: then it is staged. */
START_TEST(an_offer_of_no_use_is_answered)
{
	static const char *const types[] = { "int", "contiguous(200, int)",
					     "resized(contiguous(100, int), 0, -400)" };
	struct lie lie;

	exchange_flags = DTCONV_CHANNEL_DIRECT;
	open_for_offers();
	write_offer(&lie, types[_i % 3], (uint64_t[]){ INTS, 1, 2 }[_i % 3],
		    (uint64_t[]){ 0, 0, 400 }[_i % 3]);
	if (_i == 3)
		lie.bytes[TYPE_AT] ^= 1;
	push_offer(&lie);
	ck_assert_int_eq(party_query(&party).state, DTCONV_CHANNEL_OPEN);
	ck_assert(is_answered());
	for (uint32_t i = 0; i < INT_BYTES; i += 200)
		push_data(i, 200, 0);
	liar_progress(5);
	ck_assert_uint_eq(ended, 1);
	ck_assert_uint_eq(party_query(&party).received, 1);
	ck_assert_uint_eq(party_query(&party).received_direct, 0);
	liar_close();
}
END_TEST

/* Both processes have to agree, and what is offered does not come unasked. */
START_TEST(an_offer_that_does_not_fit_the_state_ends_the_channel)
{
	struct dtc_wire_packet hello;
	struct lie lie;

	exchange_flags = _i ? DTCONV_CHANNEL_DIRECT : 0;
	liar_open();
	hello = liar_hello();
	hello.takes_offers = _i == 2;
	liar_greet(&hello, 2);
	liar_progress(2);
	write_offer(&lie, "int", INTS, 0);
	lie.message = 200;
	if (_i)
		push_offer(&lie);
	else
		liar_push((struct dtc_wire_header){
			.kind = DTC_WIRE_MESSAGE, .length = 8, .offer = lie.length });
	if (_i == 2) {
		ck_assert_int_eq(party_query(&party).state, DTCONV_CHANNEL_OPEN);
		push_data(0, 200, 0);
	}
	liar_expect_end(DTCONV_ERR_FORMAT);
	liar_close();
}
END_TEST

/* The receiver cannot have copied what was not offered to it. */
START_TEST(a_message_that_was_not_offered_is_not_taken)
{
	struct dtconv_type *number = dtconv_type_predefined(fixture_context, DTCONV_INT);

	exchange_flags = DTCONV_CHANNEL_DIRECT;
	open_for_offers();
	fixture_ok(dtconv_channel_send(party.channel, 1, number, INTS, numbers, count_end,
				       NULL));
	liar_progress(5);
	liar_push(
		(struct dtc_wire_header){ .kind = DTC_WIRE_TAKEN, .slot = (uint32_t)_i });
	liar_expect_end(DTCONV_ERR_FORMAT);
	liar_close();
	ck_assert_uint_eq(ended, 2);
}
END_TEST

/* Bytes of an honest offer are changed, one to four of them: the channel goes on or ends, and nothing else happens. */
START_TEST(damaged_offers_do_no_harm)
{
	struct choices choices = fixture_choices((uint64_t)_i + 5000);
	const size_t files = process_files();
	struct lie lie;

	exchange_flags = DTCONV_CHANNEL_DIRECT;
	for (int round = 0; round < (fixture_everything() ? 20000 : 1000); round++) {
		open_for_offers();
		write_offer(&lie, "struct([1, 2], [0, 12], [int, vector(2, 1, 2, int)])",
			    40, 0);
		if (chance(&choices, 2))
			write_offer(&lie, "vector(10, 4, 4, int)", 5, 0);
		for (size_t i = choose(&choices, 4) + 1; i; i--) {
			const size_t at =
				chance(&choices, 8)
					? choose(&choices, TYPE_AT)
					: TYPE_AT +
						  choose(&choices, lie.length - TYPE_AT);

			lie.bytes[at] = (unsigned char)choose(&choices, 256);
		}
		if (chance(&choices, 8))
			lie.length = (uint32_t)choose(&choices, OFFER_MAX) + 1;
		push_offer(&lie);
		const struct dtconv_channel_attr attr = party_query(&party);
		ck_assert(attr.state == DTCONV_CHANNEL_OPEN
				  ? !attr.status
				  : attr.status == DTCONV_ERR_FORMAT);
		liar_close();
		ck_assert_uint_eq(ended, 1);
	}
	ck_assert_uint_eq(process_files(), files);
	ck_assert_uint_eq(process_mappings(), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hostile peer");
	TCase *offers = fixture_case(suite, "offers", 300);
	TCase *packets = fixture_case(suite, "packets", 60);
	TCase *headers = fixture_case(suite, "headers", 300);

	tcase_add_loop_test(packets, a_wrong_first_packet_ends_the_channel, 0, 14);
	tcase_add_test(packets, two_first_packets_end_the_channel);
	tcase_add_test(packets, memory_that_is_given_away_is_sealed);
	tcase_add_test(packets, a_flood_of_packets_does_not_hold_a_poll);
	tcase_add_loop_test(headers, headers_of_any_kind_in_any_state_do_no_harm, 0, 4);
	tcase_add_loop_test(headers, a_step_that_does_not_fit_ends_the_channel, 0, 17);
	tcase_add_test(headers, a_fragment_whose_pages_are_gone_is_zeros);
	tcase_add_test(headers, a_peer_sees_packed_bytes_only);
	tcase_add_loop_test(offers, an_offer_that_lies_ends_the_channel, 0, 14);
	tcase_add_loop_test(offers, an_offer_of_no_use_is_answered, 0, 4);
	tcase_add_loop_test(offers, an_offer_that_does_not_fit_the_state_ends_the_channel,
			    0, 3);
	tcase_add_loop_test(offers, a_message_that_was_not_offered_is_not_taken, 0, 2);
	tcase_add_loop_test(offers, damaged_offers_do_no_harm, 0, 2);
	return fixture_run(suite);
}
