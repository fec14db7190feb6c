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
#include "process.h"
#include "random_header.h"
#include "support/fixture.h"
#include "transport_glue/shm_memory.h"
#include "transport_glue/sock.h"

#define ENTRIES    1024
#define FRAGMENTS  4
#define BYTES      256
#define SLAB_BYTES ((size_t)FRAGMENTS * BYTES)

/* A liar's end of the socket. */
struct liar {
	int socket, ring_file, slab_file;
	struct dtc_shm_mapping ring, slab;
	/* The honest side's memory, as every peer gets it. */
	struct dtc_wire_packet hello;
	struct dtc_sock_files files;
};

static struct party party;
static struct liar liar;

static struct dtc_wire_packet honest_hello(void)
{
	return (struct dtc_wire_packet){ .kind = DTC_WIRE_HELLO,
					 .version = DTC_WIRE_VERSION,
					 .transport = DTC_WIRE_SHM,
					 .entries = ENTRIES,
					 .fragments = FRAGMENTS,
					 .fragment_bytes = BYTES,
					 .stride = BYTES,
					 .slab_bytes = SLAB_BYTES };
}

static int make_file(size_t bytes, unsigned seals)
{
	int fd = memfd_create("liar", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	ck_assert(!bytes || !posix_fallocate(fd, 0, (off_t)bytes));
	ck_assert(!seals || !fcntl(fd, F_ADD_SEALS, seals));
	return fd;
}

static void open_liar(void)
{
	const struct party_memory memory = { FRAGMENTS, BYTES };
	unsigned char bytes[DTC_WIRE_PACKET_BYTES];
	int sockets[2];

	memset(&liar, 0, sizeof(liar));
	party_sockets(sockets);
	party_open(&party, fixture_context, sockets[0], memory);
	liar.socket = sockets[1];
	ck_assert_int_eq(dtc_sock_receive(liar.socket, bytes, &liar.files),
			 DTC_SOCK_PACKET);
	ck_assert_int_eq(dtc_wire_read_packet(bytes, sizeof(bytes), &liar.hello), 0);
	ck_assert_uint_eq(liar.files.count, 2);
	fixture_ok(dtc_shm_make_ring(fixture_context, ENTRIES, false, "liar", &liar.ring,
				     &liar.ring_file));
	liar.slab_file = make_file(SLAB_BYTES, F_SEAL_SHRINK);
}

static void send_hello(const struct dtc_wire_packet *hello, size_t files)
{
	const struct dtc_sock_files sent = { .fds = { liar.ring_file, liar.slab_file },
					     .count = files };
	unsigned char bytes[DTC_WIRE_PACKET_BYTES];

	dtc_wire_write_packet(hello, bytes);
	ck_assert(dtc_sock_send(liar.socket, bytes, &sent));
}

static void close_liar(void)
{
	party_close(&party);
	dtc_shm_unmap(&liar.ring);
	dtc_shm_unmap(&liar.slab);
	close(liar.ring_file);
	close(liar.slab_file);
	dtc_sock_close_files(&liar.files);
	close(liar.socket);
}

static struct dtc_shm_ring *ring_of(void)
{
	return liar.ring.base;
}

static void progress(int times)
{
	while (times--)
		(void)party_progress(&party);
}

static void expect_end(int status)
{
	progress(4);
	ck_assert_int_eq(party_query(&party).state, DTCONV_CHANNEL_ENDED);
	ck_assert_int_eq(party_query(&party).status, status);
}

/* ---- packets ------------------------------------------------------------------------------------ */

START_TEST(a_wrong_first_packet_ends_the_channel)
{
	struct dtc_wire_packet hello = honest_hello();
	size_t files = 2;
	int status = DTCONV_ERR_FORMAT;

	open_liar();
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
		hello.fragment_bytes = BYTES + 1;
		break;
	case 7:
		hello.entries = ENTRIES + 1;
		break;
	case 8: /* longer than the file */
		hello.entries = 2 * ENTRIES;
		break;
	case 9: /* the same, with pages behind its end */
		hello.slab_bytes = SLAB_BYTES + 4096;
		ck_assert(!fallocate(liar.slab_file, FALLOC_FL_KEEP_SIZE, 0, 8192));
		break;
	case 10: /* may be made shorter */
		close(liar.slab_file);
		liar.slab_file = make_file(SLAB_BYTES, 0);
		break;
	case 11: /* has no pages */
		close(liar.slab_file);
		liar.slab_file = make_file(0, 0);
		ck_assert(!ftruncate(liar.slab_file, SLAB_BYTES));
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
	send_hello(&hello, files);
	expect_end(status);
	if (_i < 8)
		ck_assert_uint_eq(process_mappings(), mappings);
	close_liar();
}
END_TEST

START_TEST(two_first_packets_end_the_channel)
{
	const struct dtc_wire_packet hello = honest_hello();

	open_liar();
	send_hello(&hello, 2);
	progress(2);
	ck_assert_int_eq(party_query(&party).state, DTCONV_CHANNEL_OPEN);
	const struct dtc_shm_ring *ring = ring_of();
	ck_assert_uint_eq(atomic_load(&ring->popped), 0);
	send_hello(&hello, 2);
	progress(100);
	expect_end(DTCONV_ERR_FORMAT);
	close_liar();
}
END_TEST

/* Nobody but its owner can write to a ring or make a file shorter. */
START_TEST(memory_that_is_given_away_is_sealed)
{
	struct dtc_shm_mapping mapping = { 0 };

	open_liar();
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(ftruncate(liar.files.fds[i], 0), -1);
	ck_assert_ptr_eq(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
			      liar.files.fds[0], 0),
			 MAP_FAILED);
	fixture_ok(dtc_shm_map(fixture_context, liar.files.fds[0],
			       dtc_shm_ring_bytes(liar.hello.entries, false), false, &mapping));
	dtc_shm_unmap(&mapping);
	close_liar();
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
	const struct dtc_wire_packet hello = honest_hello();
	size_t sent, again = 0;

	open_liar();
	send_hello(&hello, 2);
	progress(2);
	send_bell(&sent);
	ck_assert_uint_gt(sent, 2 * DTC_SOCK_BATCH);
	for (int i = 0; !again; i++) {
		ck_assert_int_lt(i, 1000);
		progress(1);
		send_bell(&again);
	}
	ck_assert_uint_le(again, DTC_SOCK_BATCH);
	/* All of them are taken in the end. */
	for (int i = 0; again != sent; i++) {
		ck_assert_int_lt(i, 100);
		progress(1000);
		send_bell(&again);
	}
	ck_assert_int_eq(party_query(&party).state, DTCONV_CHANNEL_OPEN);
	close_liar();
}
END_TEST

/* ---- headers -------------------------------------------------------------------------------------- */

static void push_words(const uint64_t words[])
{
	struct dtc_shm_ring *ring = ring_of();
	const uint64_t pushed = atomic_load(&ring->pushed);

	for (size_t i = 0; i < DTC_WIRE_HEADER_WORDS; i++)
		atomic_store(&ring->entries[pushed % ENTRIES].words[i], words[i]);
	atomic_store(&ring->pushed, pushed + 1);
}

static void push_random(struct choices *choices)
{
	const struct dtc_wire_header header = random_header(choices, BYTES, FRAGMENTS);
	uint64_t words[DTC_WIRE_HEADER_WORDS];

	dtc_wire_write_header(&header, words);
	if (chance(choices, 12))
		words[choose(choices, DTC_WIRE_HEADER_WORDS)] ^= UINT64_C(1)
								 << choose(choices, 64);
	push_words(words);
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
	struct choices choices = fixture_choices((uint64_t)_i);
	const struct dtc_wire_packet hello = honest_hello();
	const size_t files = process_files();

	for (int round = 0; round < (fixture_everything() ? 3000 : 150); round++) {
		open_liar();
		ended = begun = 0;
		send_hello(&hello, 2);
		progress(2);
		ck_assert_int_eq(party_query(&party).state, DTCONV_CHANNEL_OPEN);
		/* What the honest side has posted counts as taken. */
		fixture_ok(dtc_shm_map(fixture_context, liar.files.fds[0],
				       dtc_shm_ring_bytes(liar.hello.entries, false), false,
				       &liar.slab));
		for (int i = 0; i < 40; i++) {
			if (chance(&choices, 4))
				begin_random(&choices);
			push_random(&choices);
			const struct dtc_shm_ring *theirs = liar.slab.base;
			if (!chance(&choices, 30))
				atomic_store(&ring_of()->popped,
					     atomic_load(&theirs->pushed));
			else
				atomic_store(&ring_of()->popped,
					     random_number(&choices, BYTES, FRAGMENTS));
			if (chance(&choices, 200))
				atomic_store(&ring_of()->pushed,
					     random_number(&choices, BYTES, FRAGMENTS));
			progress(1);
		}
		close_liar();
		ck_assert_uint_eq(ended, begun);
	}
	ck_assert_uint_eq(process_files(), files);
	ck_assert_uint_eq(process_mappings(), 0);
}
END_TEST

/* ---- steps that do not fit ------------------------------------------------------------------------- */

#define INTS 200 /* of the honest side's messages: more than a fragment has */

static int numbers[INTS], places[INTS];

static void push_header(struct dtc_wire_header header)
{
	uint64_t words[DTC_WIRE_HEADER_WORDS];

	dtc_wire_write_header(&header, words);
	push_words(words);
	progress(3);
}

static void push_message(uint64_t tag, uint64_t length)
{
	const struct dtconv_type *number =
		dtconv_type_predefined(fixture_context, DTCONV_INT);
	struct dtc_wire_header header = { .kind = DTC_WIRE_MESSAGE,
					  .tag = tag,
					  .length = length };

	ck_assert(dtc_signature_hash_start(number->signature, INTS, (size_t)length,
					   &header.hash));
	push_header(header);
}

static void push_data(uint64_t offset, uint64_t length, uint32_t fragment)
{
	push_header((struct dtc_wire_header){ .kind = DTC_WIRE_DATA,
					      .offset = offset,
					      .length = length,
					      .fragment = fragment });
}

static void push_kind(enum dtc_wire_kind kind, int status)
{
	push_header((struct dtc_wire_header){ .kind = kind, .status = status });
}

/* What is honest until the last step. Slot 0, and receives with tag 1. */
static void take_steps(int which)
{
	switch (which) {
	case 0: /* bytes again */
		push_message(1, 3 * BYTES);
		push_data(0, BYTES, 0);
		push_data(0, BYTES, 1);
		break;
	case 1: /* bytes in front of others */
		push_message(1, 3 * BYTES);
		push_data(BYTES, BYTES, 0);
		break;
	case 2: /* more than there are */
		push_message(1, BYTES);
		push_data(0, BYTES / 2, 0);
		push_data(BYTES / 2, BYTES, 1);
		break;
	case 3: /* of no message */
		push_data(0, BYTES, 0);
		break;
	case 4: /* a part of a message that nobody has asked for */
		push_message(2, BYTES);
		push_data(0, BYTES / 2, 0);
		break;
	case 5: /* the slot is in use */
		push_message(2, BYTES);
		push_message(2, BYTES);
		break;
	case 6: /* the same, received */
		push_message(1, BYTES);
		push_message(2, BYTES);
		break;
	case 7: /* the fragment has not come back: its message waits */
		push_message(2, BYTES);
		push_data(0, BYTES, 0);
		push_header((struct dtc_wire_header){
			.kind = DTC_WIRE_MESSAGE, .slot = 1, .tag = 2, .length = BYTES });
		push_header((struct dtc_wire_header){
			.kind = DTC_WIRE_DATA, .slot = 1, .length = BYTES });
		break;
	case 8: /* there are not so many */
		push_message(1, BYTES);
		push_data(0, BYTES, FRAGMENTS);
		break;
	case 9: /* longer than a fragment */
		push_message(1, 3 * BYTES);
		push_data(0, BYTES + 1, 0);
		break;
	case 10: /* the end of nothing */
		push_kind(DTC_WIRE_END, DTCONV_ERR_NOMEM);
		break;
	case 11: /* the end of what nobody has asked for */
		push_message(2, BYTES);
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
		push_header((struct dtc_wire_header){ .kind = DTC_WIRE_GO, .slot = 1 });
		break;
	case 15: /* a fragment that it does not have */
		push_kind(DTC_WIRE_RETURN, 0);
		break;
	default: /* the same, and there is none of that number */
		push_header((struct dtc_wire_header){ .kind = DTC_WIRE_RETURN,
						      .fragment = UINT32_MAX });
	}
}

START_TEST(a_step_that_does_not_fit_ends_the_channel)
{
	const struct dtc_wire_packet hello = honest_hello();
	struct dtconv_type *number = dtconv_type_predefined(fixture_context, DTCONV_INT);

	open_liar();
	send_hello(&hello, 2);
	progress(2);
	ended = 0;
	fixture_ok(dtconv_channel_recv(party.channel, 1, number, INTS, places, count_end,
				       NULL));
	fixture_ok(dtconv_channel_send(party.channel, 1, number, INTS, numbers, count_end,
				       NULL));
	progress(5);
	ck_assert_int_eq(party_query(&party).state, DTCONV_CHANNEL_OPEN);
	take_steps(_i);
	expect_end(DTCONV_ERR_FORMAT);
	close_liar();
	ck_assert_uint_eq(ended, 2);
}
END_TEST

/* Pages that the peer takes away are zeros then, and no signal. */
START_TEST(a_fragment_whose_pages_are_gone_is_zeros)
{
	const struct dtc_wire_packet hello = honest_hello();
	struct dtconv_type *number = dtconv_type_predefined(fixture_context, DTCONV_INT);

	open_liar();
	send_hello(&hello, 2);
	progress(2);
	ended = 0;
	memset(places, 1, sizeof(places));
	fixture_ok(dtconv_channel_recv(party.channel, 1, number, INTS, places, count_end,
				       NULL));
	ck_assert(!fallocate(liar.slab_file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			     0, SLAB_BYTES));
	push_message(1, BYTES);
	push_data(0, BYTES, 0);
	progress(10);
	ck_assert_uint_eq(ended, 1);
	for (size_t i = 0; i < BYTES / sizeof(int); i++)
		ck_assert_int_eq(places[i], 0);
	/* Of its ring a process takes none away. */
	ck_assert_int_eq(fallocate(liar.files.fds[0],
				   FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096),
			 -1);
	close_liar();
}
END_TEST

/* ---- what a peer sees -------------------------------------------------------------------------------- */

/* The gaps of a type and what lies around its buffer never leave. */
START_TEST(a_peer_sees_packed_bytes_only)
{
	enum { SECRET = 0xa5, ROWS = 40 };
	static unsigned char rows[ROWS][32];
	const struct dtc_wire_packet hello = honest_hello();
	struct dtconv_type *column = fixture_type("vector(40, 8, 32, byte)");

	memset(rows, SECRET, sizeof(rows));
	for (int i = 0; i < ROWS; i++)
		memset(rows[i], 1, 8);
	open_liar();
	send_hello(&hello, 2);
	ended = 0;
	fixture_ok(
		dtconv_channel_send(party.channel, 1, column, 1, rows, count_end, NULL));
	/* A long message goes when it is asked for. */
	const struct dtc_wire_header go = { .kind = DTC_WIRE_GO };
	uint64_t words[DTC_WIRE_HEADER_WORDS];
	progress(5);
	dtc_wire_write_header(&go, words);
	push_words(words);
	progress(20);
	fixture_ok(dtc_shm_map(fixture_context, liar.files.fds[1],
			       (size_t)liar.hello.slab_bytes, false, &liar.slab));
	const unsigned char *seen = liar.slab.base;
	size_t packed = 0;
	for (size_t i = 0; i < liar.hello.slab_bytes; i++) {
		ck_assert_int_le(seen[i], 1);
		packed += seen[i];
	}
	ck_assert_uint_eq(packed, ROWS * 8);
	close_liar();
	ck_assert_uint_eq(ended, 1);
	dtconv_type_unref(column);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hostile peer");
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
	return fixture_run(suite);
}
