/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What one process tells the other: headers of messages and fragments, and packets of the connection. Both have a
 * fixed length and are little-endian. One function reads each of them; what it accepts is safe to use as numbers, and
 * nothing else of a peer's bytes is ever used.
 */
#ifndef DTC_WIRE_H
#define DTC_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

/* Changes with every change of the format. Experimental: no version talks to another. */
#define DTC_WIRE_VERSION 3

/* ---- headers --------------------------------------------------------------------------- */

#define DTC_WIRE_HEADER_BYTES 40
#define DTC_WIRE_HEADER_WORDS (DTC_WIRE_HEADER_BYTES / 8)

/* Messages of one direction that are announced and not finished. */
#define DTC_WIRE_SLOTS 256

/* Room for the offer of a message: a multiple of a cache line. */
#define DTC_WIRE_OFFER_BYTES ((size_t)16 << 10)

enum dtc_wire_kind {
	DTC_WIRE_MESSAGE =
		1, /* sender: a message begins: tag, hash of its signature, its length, that of its offer */
	DTC_WIRE_DATA, /* sender: a fragment of it: offset and length */
	DTC_WIRE_END, /* sender: no more fragments follow although some are missing; status */
	DTC_WIRE_GO,     /* receiver: it has a receive */
	DTC_WIRE_REFUSE, /* receiver: it does not fit its receive; status */
	DTC_WIRE_RETURN, /* receiver: a fragment may be used again; status */
	DTC_WIRE_TAKEN /* receiver: it has copied the message itself, as offered, or failed to; status */
};

struct dtc_wire_header {
	enum dtc_wire_kind kind;
	uint32_t slot; /* of the message; not of RETURN */
	uint64_t tag;
	uint64_t hash;
	uint64_t offset;
	uint64_t length;
	int status;        /* 0 or negative */
	uint32_t fragment; /* the transport's: DATA and RETURN */
	uint32_t
		offer; /* MESSAGE: bytes of its offer, at most DTC_WIRE_OFFER_BYTES; 0: none */
};

/* Write it into DTC_WIRE_HEADER_BYTES. Members that the kind does not have are left out. */
DTC_PRIVATE_API void dtc_wire_write_header(const struct dtc_wire_header *header,
					   void *bytes);

/* DTCONV_ERR_FORMAT if it is none of this version; no error text. */
DTC_PRIVATE_API int dtc_wire_read_header(const void *bytes, size_t length,
					 struct dtc_wire_header *header);

/* ---- packets --------------------------------------------------------------------------- */

#define DTC_WIRE_PACKET_BYTES 64

/* Bounds of what a peer may announce. */
#define DTC_WIRE_ENTRIES_MIN   1024
#define DTC_WIRE_ENTRIES_MAX   65536
#define DTC_WIRE_FRAGMENTS_MAX 1024
#define DTC_WIRE_SLAB_MAX      (UINT64_C(1) << 40)

enum dtc_wire_packet_kind {
	DTC_WIRE_HELLO = 1, /* the first: the transport, and what it has in memory */
	DTC_WIRE_BYE,       /* the last: why the connection ends; in all versions */
	DTC_WIRE_BELL,      /* shm: look at the ring */
	DTC_WIRE_ADDRESS,   /* after HELLO: a piece of the transport's address */
	DTC_WIRE_CHALLENGE, /* over TCP, before HELLO: a random number */
	DTC_WIRE_PROOF,     /* that its sender knows the secret */
	DTC_WIRE_ACCEPT     /* mpi, ucx: after the peer's HELLO: there is memory for what it sends */
};

enum dtc_wire_transport {
	DTC_WIRE_SHM = 1,
	DTC_WIRE_VERBS,
	DTC_WIRE_UCX,
	DTC_WIRE_MPI,
	DTC_WIRE_OTHER = 255 /* of no library: the tests' */
};

/* Bytes of an address in a packet, and in all. */
#define DTC_WIRE_ADDRESS_PIECE 48
#define DTC_WIRE_ADDRESS_MAX   4096

struct dtc_wire_packet {
	enum dtc_wire_packet_kind kind;
	unsigned version;
	int status;      /* BYE: negative */
	uint64_t posted; /* BYE: headers before it, where the network does not keep their order with the socket's */
	/* HELLO. All but shm have no ring, and no memory that the peer maps. */
	enum dtc_wire_transport transport;
	uint32_t entries;   /* shm: of the ring; a power of two */
	uint32_t fragments; /* that this process sends from */
	uint64_t fragment_bytes;
	uint64_t stride, slab_bytes; /* shm */
	bool is_device_slab;         /* shm: memory of a device */
	bool takes_offers; /* shm: the process copies messages itself, and has room for offers behind its ring */
	/* HELLO: of the address that follows. ADDRESS: of this piece, which is as long as it can be. */
	uint32_t address_bytes, address_offset;
	unsigned char address[DTC_WIRE_ADDRESS_PIECE]; /* CHALLENGE and PROOF: 32 bytes */
};

DTC_PRIVATE_API void dtc_wire_write_packet(const struct dtc_wire_packet *packet,
					   void *bytes);

/*
 * DTCONV_ERR_FORMAT if it is no packet; DTCONV_ERR_UNSUPPORTED if it is one of another version, which is then filled
 * in. No error text.
 */
DTC_PRIVATE_API int dtc_wire_read_packet(const void *bytes, size_t length,
					 struct dtc_wire_packet *packet);

#endif
