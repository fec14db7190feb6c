/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared memory between two processes. A fragment is not copied: the sender packs into its slab, which the receiver
 * has mapped, a header in the sender's ring says so, and the receiver unpacks from there and returns the fragment with
 * a header in its own ring. The socket carries the first packets, rings as a bell for a process that sleeps, and
 * shows when the other one is gone.
 *
 * The other process may be malicious. Each header is copied out of shared memory once and then checked; fragments are
 * named by number, and whatever a number leads to was computed here.
 */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "fragment.h"
#include "pool.h"
#include "shm_memory.h"
#include "slab.h"
#include "sock.h"
#include "transport.h"

#define ENTRIES 4096

/*
 * Under way at most: of each slot a MESSAGE and an END, an answer to each of the peer's, each of the own fragments,
 * and a return of each of the peer's.
 */
_Static_assert(ENTRIES >= 3 * DTC_WIRE_SLOTS + 2 * DTC_WIRE_FRAGMENTS_MAX,
	       "headers always find room");

/* In so many polls of a quiet ring the socket is read once: a system call. */
#define QUIET_POLLS 64

enum state {
	GREETING, /* the peer's first packet has not come */
	READY,
	GONE, /* the socket has ended; headers are still in the ring */
	ENDED
};

/* A fragment of the peer's slab. */
struct import {
	struct shm *shm;
	bool is_here; /* between DATA and RETURN */
};

struct shm {
	struct dtconv_context *context;
	const struct dtc_transport_user *user;
	enum state state;
	int status; /* while GONE: why */
	int socket;
	int watch; /* an epoll descriptor of the socket */
	/* This process's side. */
	struct dtc_shm_mapping own;
	uint64_t pushed;
	int device; /* that the slab is registered with; -1: none */
	bool uses_devices;
	bool takes_offers; /* and the own ring has room for them */
	size_t fragments;
	struct dtconv_fragment **out; /* by number; NULL: not out */
	/* The peer's. */
	struct dtc_shm_mapping ring, slab;
	uint32_t entries;
	uint64_t popped, rung;
	struct dtc_wire_packet hello;
	struct import *imports;
	size_t here;
	unsigned quiet;
};

static struct dtc_shm_ring *own_ring(const struct shm *shm)
{
	return shm->own.base;
}

static const struct dtc_shm_ring *peer_ring(const struct shm *shm)
{
	return shm->ring.base;
}

/* ---- ending ---------------------------------------------------------------------------- */

static void send_packet(const struct shm *shm, enum dtc_wire_packet_kind kind, int status)
{
	const struct dtc_wire_packet packet = { .kind = kind,
						.version = DTC_WIRE_VERSION,
						.status = status };
	unsigned char bytes[DTC_WIRE_PACKET_BYTES];

	dtc_wire_write_packet(&packet, bytes);
	(void)dtc_sock_send(shm->socket, bytes, NULL);
}

/* The peer no longer gives fragments back. */
static void flush(struct shm *shm)
{
	for (size_t i = 0; i < shm->fragments; i++) {
		struct dtconv_fragment *fragment = shm->out[i];

		shm->out[i] = NULL;
		dtconv_fragment_sent(fragment, DTCONV_ERR_PEER);
	}
}

/* A socket at its end is always readable, so no thread may sleep on it any more. */
static void hang_up(void *connection, int status)
{
	struct shm *shm = connection;

	if (shm->state == ENDED)
		return;
	send_packet(shm, DTC_WIRE_BYE, status);
	(void)epoll_ctl(shm->watch, EPOLL_CTL_DEL, shm->socket, NULL);
	shm->state = ENDED;
	flush(shm);
}

/* The reason is the error text. */
static void end(struct shm *shm, int status)
{
	if (shm->state == ENDED)
		return;
	hang_up(shm, status);
	shm->user->lost(shm->user->user, status);
}

static void break_protocol(struct shm *shm, const char *what)
{
	if (shm->state != ENDED)
		end(shm, DTC_FAIL(shm->context, DTCONV_ERR_FORMAT,
				  "channel: the peer breaks the protocol: %s", what));
}

/* ---- the own ring ---------------------------------------------------------------------- */

/*
 * The peer announces its sleep and then looks at the ring; this pushes and then looks whether it sleeps: both in
 * sequentially consistent order, so one of them sees the other.
 */
static void wake_peer(struct shm *shm)
{
	const uint64_t asleep = atomic_load(&peer_ring(shm)->asleep);

	if (!(asleep & 1) || asleep == shm->rung)
		return;
	shm->rung = asleep;
	send_packet(shm, DTC_WIRE_BELL, 0);
}

static bool push(struct shm *shm, const struct dtc_wire_header *header)
{
	struct dtc_shm_ring *ring = own_ring(shm);
	struct dtc_shm_entry *entry = &ring->entries[shm->pushed % ENTRIES];
	uint64_t words[DTC_WIRE_HEADER_WORDS];

	/* Also if the peer's number is nonsense. */
	if (shm->pushed -
		    atomic_load_explicit(&peer_ring(shm)->popped, memory_order_acquire) >=
	    ENTRIES)
		return false;
	dtc_wire_write_header(header, words);
	for (size_t i = 0; i < DTC_WIRE_HEADER_WORDS; i++)
		atomic_store_explicit(&entry->words[i], words[i], memory_order_relaxed);
	atomic_store(&ring->pushed, ++shm->pushed);
	wake_peer(shm);
	return true;
}

static int post(void *connection, const struct dtc_wire_header *header,
		struct dtconv_fragment *fragment)
{
	struct shm *shm = connection;
	struct dtc_wire_header posted = *header;

	if (shm->state != READY)
		return DTCONV_ERR_PEER;
	if (fragment) {
		posted.fragment = fragment->index;
		shm->out[fragment->index] = fragment;
	}
	if (push(shm, &posted))
		return 0;
	/* A peer that pops has room: this one sends what it may not, or does not count. The next poll ends it. */
	if (fragment)
		shm->out[fragment->index] = NULL;
	shm->state = GONE;
	shm->status = DTCONV_ERR_FORMAT;
	return DTCONV_ERR_PEER;
}

/* ---- the peer's ring ------------------------------------------------------------------- */

/* A dtconv_release_fn: return a fragment. */
static void return_fragment(void *arg, int status)
{
	struct import *import = arg;
	struct shm *shm = import->shm;
	const struct dtc_wire_header header = { .kind = DTC_WIRE_RETURN,
						.status = status,
						.fragment = (uint32_t)(import -
								       shm->imports) };

	import->is_here = false;
	shm->here--;
	(void)post(shm, &header, NULL);
}

static void take_data(struct shm *shm, const struct dtc_wire_header *header)
{
	if (header->fragment >= shm->hello.fragments ||
	    header->length > shm->hello.fragment_bytes) {
		break_protocol(shm, "a fragment is outside of its memory");
		return;
	}
	struct import *import = &shm->imports[header->fragment];
	const char *bytes =
		(const char *)shm->slab.base + header->fragment * shm->hello.stride;
	if (import->is_here) {
		break_protocol(shm, "a fragment comes twice before it is returned");
		return;
	}
	import->is_here = true;
	shm->here++;
	if (shm->user->arrive(shm->user->user, header, bytes, return_fragment, import))
		return;
	import->is_here = false;
	shm->here--;
	break_protocol(shm, "a fragment belongs to no message");
}

static void take_return(struct shm *shm, const struct dtc_wire_header *header)
{
	struct dtconv_fragment *fragment =
		header->fragment < shm->fragments ? shm->out[header->fragment] : NULL;

	if (!fragment) {
		break_protocol(shm, "it returns a fragment that it does not have");
		return;
	}
	shm->out[header->fragment] = NULL;
	if (header->status)
		(void)DTC_FAIL(shm->context, header->status,
			       "channel: the receiver could not unpack a fragment: %s",
			       dtconv_strerror(header->status));
	dtconv_fragment_sent(fragment, header->status);
}

static void take_header(struct shm *shm, const struct dtc_wire_header *header)
{
	if (header->kind == DTC_WIRE_DATA)
		take_data(shm, header);
	else if (header->kind == DTC_WIRE_RETURN)
		take_return(shm, header);
	else if (!shm->user->arrive(shm->user->user, header, NULL, NULL, NULL))
		break_protocol(shm, "a header does not fit the state of its message");
}

/* Take one header. False if there is none. */
static bool pop(struct shm *shm)
{
	const struct dtc_shm_ring *ring = peer_ring(shm);
	const uint64_t pushed = atomic_load_explicit(&ring->pushed, memory_order_acquire);
	uint64_t words[DTC_WIRE_HEADER_WORDS];
	struct dtc_wire_header header;

	if (pushed == shm->popped)
		return false;
	if (pushed - shm->popped > shm->entries) {
		break_protocol(shm, "its ring has more headers than entries");
		return false;
	}
	const struct dtc_shm_entry *entry =
		&ring->entries[shm->popped & (shm->entries - 1)];
	for (size_t i = 0; i < DTC_WIRE_HEADER_WORDS; i++)
		words[i] = atomic_load_explicit(&entry->words[i], memory_order_relaxed);
	atomic_store_explicit(&own_ring(shm)->popped, ++shm->popped,
			      memory_order_release);
	if (dtc_wire_read_header(words, sizeof(words), &header))
		break_protocol(shm, "a header has no meaning");
	else
		take_header(shm, &header);
	return true;
}

/* ---- the socket ------------------------------------------------------------------------ */

static int map_slab(struct shm *shm, int fd)
{
	const size_t bytes = (size_t)shm->hello.slab_bytes;

	if (shm->hello.is_device_slab)
		return dtc_shm_import(shm->context, fd, bytes, shm->device, &shm->slab);
	return dtc_shm_map(shm->context, fd, bytes, shm->uses_devices, &shm->slab);
}

static int map_peer(struct shm *shm, const struct dtc_sock_files *files)
{
	const struct dtc_wire_packet *hello = &shm->hello;
	int status = dtc_shm_map(shm->context, files->fds[0],
				 dtc_shm_ring_bytes(hello->entries, hello->takes_offers),
				 false, &shm->ring);

	if (!status)
		status = map_slab(shm, files->fds[1]);
	if (status)
		return status;
	shm->imports = dtc_alloc_zeroed(shm->context,
					hello->fragments * sizeof(shm->imports[0]));
	if (!shm->imports)
		return DTC_FAIL(shm->context, DTCONV_ERR_NOMEM,
				"channel: cannot allocate the list of the peer's "
				"fragments");
	for (size_t i = 0; i < hello->fragments; i++)
		shm->imports[i].shm = shm;
	if (shm->uses_devices && !hello->is_device_slab)
		dtc_shm_pin(shm->context, &shm->slab, shm->device);
	return 0;
}

static void take_hello(struct shm *shm, const struct dtc_wire_packet *packet,
		       const struct dtc_sock_files *files)
{
	if (packet->transport != DTC_WIRE_SHM) {
		end(shm, DTC_FAIL(shm->context, DTCONV_ERR_UNSUPPORTED,
				  "channel: the peer uses another transport than shm"));
		return;
	}
	if (shm->state != GREETING || files->count != DTC_SOCK_FILES) {
		break_protocol(shm, "its first packet comes twice or lacks descriptors");
		return;
	}
	shm->hello = *packet;
	shm->entries = packet->entries;
	int status = map_peer(shm, files);
	if (status) {
		end(shm, status);
		return;
	}
	shm->state = READY;
	shm->user->ready(shm->user->user);
}

/* Its headers, if there are any, come first. */
static void depart(struct shm *shm, int status)
{
	shm->state = GONE;
	shm->status = status;
}

static void take_packet(struct shm *shm, const unsigned char *bytes,
			const struct dtc_sock_files *files)
{
	struct dtc_wire_packet packet;
	int status = dtc_wire_read_packet(bytes, DTC_WIRE_PACKET_BYTES, &packet);

	if (status == DTCONV_ERR_UNSUPPORTED)
		end(shm, DTC_FAIL(shm->context, status,
				  "channel: the peer speaks version %u, this library "
				  "version %d",
				  packet.version, DTC_WIRE_VERSION));
	else if (status)
		break_protocol(shm, "a packet has no meaning");
	else if (packet.kind == DTC_WIRE_HELLO)
		take_hello(shm, &packet, files);
	else if (packet.kind == DTC_WIRE_BYE)
		depart(shm, packet.status);
	else if (packet.kind == DTC_WIRE_ADDRESS)
		break_protocol(shm, "shared memory has no address");
}

static void read_socket(struct shm *shm)
{
	unsigned char bytes[DTC_WIRE_PACKET_BYTES];
	struct dtc_sock_files files;

	for (int i = 0;
	     i < DTC_SOCK_BATCH && (shm->state == GREETING || shm->state == READY); i++) {
		switch (dtc_sock_receive(shm->socket, bytes, &files)) {
		case DTC_SOCK_NOTHING:
			return;
		case DTC_SOCK_PACKET:
			take_packet(shm, bytes, &files);
			dtc_sock_close_files(&files);
			break;
		case DTC_SOCK_BAD:
			break_protocol(shm, "a packet has the wrong length");
			break;
		case DTC_SOCK_NO_FILES:
			end(shm,
			    DTC_FAIL(shm->context, DTCONV_ERR_LIMIT,
				     "channel: this process has no file descriptor left "
				     "for the peer's memory"));
			break;
		case DTC_SOCK_END:
			depart(shm, DTCONV_ERR_PEER);
			break;
		}
	}
}

/* ---- polling and sleeping -------------------------------------------------------------- */

/* The reason of an end that no sentence has told yet. */
static void end_gone(struct shm *shm)
{
	const char *what = shm->status == DTCONV_ERR_FORMAT
				   ? "one side broke the protocol"
			   : shm->status == DTCONV_ERR_CANCELED ? "it closed the channel"
			   : shm->status == DTCONV_ERR_PEER
				   ? "its process has ended or dropped the socket"
				   : dtconv_strerror(shm->status);
	int status = shm->status == DTCONV_ERR_FORMAT ||
				     shm->status == DTCONV_ERR_UNSUPPORTED
			     ? shm->status
			     : DTCONV_ERR_PEER;

	end(shm, DTC_FAIL(shm->context, status,
			  "channel: the connection to the peer has ended: %s", what));
}

static bool wake_up(struct shm *shm)
{
	const uint64_t asleep =
		atomic_load_explicit(&own_ring(shm)->asleep, memory_order_relaxed);

	if (!(asleep & 1))
		return false;
	atomic_store(&own_ring(shm)->asleep, asleep + 1);
	return true;
}

static size_t poll(void *connection, size_t budget)
{
	struct shm *shm = connection;
	size_t happened = 0;

	if (shm->state == ENDED)
		return 0;
	if (wake_up(shm) || shm->state == GREETING || ++shm->quiet >= QUIET_POLLS) {
		shm->quiet = 0;
		read_socket(shm);
	}
	while ((shm->state == READY || shm->state == GONE) && shm->imports &&
	       happened < budget && pop(shm))
		happened++;
	if (shm->state == GONE && happened < budget) {
		end_gone(shm);
		happened++;
	}
	return happened;
}

static int arm(void *connection)
{
	struct shm *shm = connection;

	if (shm->state == ENDED || shm->state == GREETING)
		return 0;
	if (shm->state == GONE)
		return DTCONV_ERR_AGAIN;
	const uint64_t asleep =
		atomic_load_explicit(&own_ring(shm)->asleep, memory_order_relaxed);
	atomic_store(&own_ring(shm)->asleep, asleep | 1);
	if (atomic_load(&peer_ring(shm)->pushed) == shm->popped)
		return 0;
	(void)wake_up(shm);
	return DTCONV_ERR_AGAIN;
}

static int file_of(const void *connection)
{
	return ((const struct shm *)connection)->watch;
}

static bool is_pinned(const void *connection)
{
	return ((const struct shm *)connection)->slab.is_pinned;
}

/* ---- offers ---------------------------------------------------------------------------- */

/* Only if both processes take them: then both know what they agree to. */
static bool has_offers(const struct shm *shm)
{
	return shm->takes_offers && shm->hello.takes_offers && shm->ring.base;
}

static void *offer_room(void *connection, uint32_t slot)
{
	struct shm *shm = connection;

	return has_offers(shm) ? dtc_shm_offer(shm->own.base, ENTRIES, slot) : NULL;
}

static const void *offer_of(const void *connection, uint32_t slot)
{
	const struct shm *shm = connection;

	return has_offers(shm) ? dtc_shm_offer(shm->ring.base, shm->entries, slot) : NULL;
}

/* ---- opening and closing --------------------------------------------------------------- */

static void close_shm(void *connection)
{
	struct shm *shm = connection;

	assert(!shm->here);
	dtc_shm_unmap(&shm->slab);
	dtc_shm_unmap(&shm->ring);
	dtc_shm_unmap(&shm->own);
	dtc_free(shm->context, shm->imports);
	dtc_free(shm->context, shm->out);
	if (shm->watch >= 0)
		close(shm->watch);
	close(shm->socket);
}

static void free_shm(void *connection)
{
	struct shm *shm = connection;

	dtc_free(shm->context, shm);
}

/* The pool has one slab. */
static void greet(struct shm *shm, const struct dtc_slab *slab, int ring,
		  const char *caller)
{
	const struct dtc_wire_packet hello = {
		.kind = DTC_WIRE_HELLO,
		.version = DTC_WIRE_VERSION,
		.transport = DTC_WIRE_SHM,
		.entries = ENTRIES,
		.fragments = (uint32_t)slab->plan->fragments,
		.fragment_bytes = slab->plan->fragment_bytes,
		.stride = slab->plan->stride,
		.slab_bytes = slab->plan->bytes,
		.is_device_slab = slab->plan->kind == DTCONV_MEMORY_DEVICE,
		.takes_offers = shm->takes_offers
	};
	const struct dtc_sock_files files = { .fds = { ring, slab->what.fd },
					      .count = DTC_SOCK_FILES };
	unsigned char bytes[DTC_WIRE_PACKET_BYTES];

	dtc_wire_write_packet(&hello, bytes);
	/* A peer that is gone already is found by the first poll. */
	if (!dtc_sock_send(shm->socket, bytes, &files))
		DTC_LOG(shm->context, DTCONV_LOG_DEBUG,
			"%s: the peer has left before it was greeted", caller);
}

static int watch(struct shm *shm, const char *caller)
{
	struct epoll_event event = { .events = EPOLLIN };

	shm->watch = epoll_create1(EPOLL_CLOEXEC);
	if (shm->watch >= 0 && !epoll_ctl(shm->watch, EPOLL_CTL_ADD, shm->socket, &event))
		return 0;
	return DTC_FAIL(shm->context, DTCONV_ERR_AGAIN,
			"%s: cannot watch the socket of a channel: %s", caller,
			strerror(errno));
}

static int start(void *connection, struct dtconv_pool *pool, const char *caller)
{
	const struct dtc_slab *slab = dtc_pool_first_slab(pool);
	struct shm *shm = connection;
	int ring;

	shm->uses_devices = slab->plan->kind != DTCONV_MEMORY_HOST;
	shm->device = slab->memory.vendor ? slab->memory.device : slab->plan->device;
	shm->fragments = slab->plan->fragments;
	shm->out = dtc_alloc_zeroed(shm->context, shm->fragments * sizeof(shm->out[0]));
	if (!shm->out)
		return DTC_FAIL(shm->context, DTCONV_ERR_NOMEM,
				"%s: cannot allocate the list of fragments", caller);
	int status = watch(shm, caller);
	if (!status)
		status = dtc_shm_make_ring(shm->context, ENTRIES, shm->takes_offers,
					   caller, &shm->own, &ring);
	if (status)
		return status;
	greet(shm, slab, ring, caller);
	close(ring);
	return 0;
}

static int open_shm(const struct dtc_transport_params *params, void **connection)
{
	struct shm *shm = dtc_alloc_zeroed(params->context, sizeof(*shm));

	if (!shm)
		return DTC_FAIL(params->context, DTCONV_ERR_NOMEM,
				"%s: cannot allocate a connection", params->caller);
	shm->context = params->context;
	shm->user = params->user;
	shm->socket = params->socket;
	shm->watch = -1;
	shm->takes_offers = params->takes_offers;
	*connection = shm;
	return 0;
}

const struct dtconv_transport dtc_transport_shm = { .abi = DTC_TRANSPORT_ABI,
						    .flags = DTC_TRANSPORT_FILES |
							     DTC_TRANSPORT_SHARED |
							     DTC_TRANSPORT_OFFERS |
							     DTC_TRANSPORT_DEVICES,
						    .name = "shm",
						    .open = open_shm,
						    .start = start,
						    .post = post,
						    .poll = poll,
						    .arm = arm,
						    .fd = file_of,
						    .hang_up = hang_up,
						    .is_pinned = is_pinned,
						    .offer_room = offer_room,
						    .offer_of = offer_of,
						    .close = close_shm,
						    .free = free_shm };
