/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hand-made peer.
 */
#include "config.h"

#include "liar.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/fixture.h"

struct party party;
struct liar liar;

struct dtc_wire_packet liar_hello(void)
{
	return (struct dtc_wire_packet){ .kind = DTC_WIRE_HELLO,
					 .version = DTC_WIRE_VERSION,
					 .transport = DTC_WIRE_SHM,
					 .entries = LIAR_ENTRIES,
					 .fragments = LIAR_FRAGMENTS,
					 .fragment_bytes = LIAR_BYTES,
					 .stride = LIAR_BYTES,
					 .slab_bytes = LIAR_SLAB_BYTES,
					 .takes_offers = exchange_flags &
							 DTCONV_CHANNEL_DIRECT };
}

int liar_make_file(size_t bytes, unsigned seals)
{
	int fd = memfd_create("liar", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	ck_assert(!bytes || !posix_fallocate(fd, 0, (off_t)bytes));
	ck_assert(!seals || !fcntl(fd, F_ADD_SEALS, seals));
	return fd;
}

void liar_open(void)
{
	const struct party_memory memory = { LIAR_FRAGMENTS, LIAR_BYTES };
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
	fixture_ok(dtc_shm_make_ring(fixture_context, LIAR_ENTRIES,
				     exchange_flags & DTCONV_CHANNEL_DIRECT, "liar",
				     &liar.ring, &liar.ring_file));
	liar.slab_file = liar_make_file(LIAR_SLAB_BYTES, F_SEAL_SHRINK);
}

void liar_greet(const struct dtc_wire_packet *hello, size_t files)
{
	const struct dtc_sock_files sent = { .fds = { liar.ring_file, liar.slab_file },
					     .count = files };
	unsigned char bytes[DTC_WIRE_PACKET_BYTES];

	dtc_wire_write_packet(hello, bytes);
	ck_assert(dtc_sock_send(liar.socket, bytes, &sent));
}

static void close_file(int fd)
{
	if (fd >= 0)
		close(fd);
}

void liar_close(void)
{
	party_close(&party);
	dtc_shm_unmap(&liar.ring);
	dtc_shm_unmap(&liar.slab);
	close(liar.ring_file);
	close(liar.slab_file);
	dtc_sock_close_files(&liar.files);
	close_file(liar.socket);
}

struct dtc_shm_ring *liar_ring(void)
{
	return liar.ring.base;
}

void liar_progress(int times)
{
	while (times--)
		(void)party_progress(&party);
}

void liar_expect_end(int status)
{
	liar_progress(4);
	ck_assert_int_eq(party_query(&party).state, DTCONV_CHANNEL_ENDED);
	ck_assert_int_eq(party_query(&party).status, status);
}

void liar_push_words(const uint64_t words[])
{
	struct dtc_shm_ring *ring = liar_ring();
	const uint64_t pushed = atomic_load(&ring->pushed);

	for (size_t i = 0; i < DTC_WIRE_HEADER_WORDS; i++)
		atomic_store(&ring->entries[pushed % LIAR_ENTRIES].words[i], words[i]);
	atomic_store(&ring->pushed, pushed + 1);
}

void liar_push(struct dtc_wire_header header)
{
	uint64_t words[DTC_WIRE_HEADER_WORDS];

	dtc_wire_write_header(&header, words);
	liar_push_words(words);
	liar_progress(3);
}
