/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The protocol between the bench and a peer. A peer is a program of its own, started as
 *
 *     peer SOCKET MEMORY TYPES BYTES
 *
 * with three inherited descriptors: a SOCK_SEQPACKET socket, the shared memory of BYTES bytes
 * that holds the data, and a second file that holds the flattened type (tree.h) of the current
 * row. The peer sends one reply at once (its version, or why it cannot work), then one for each
 * request, and exits when the socket closes.
 */
#ifndef BENCH_PROTOCOL_H
#define BENCH_PROTOCOL_H

#include <stdint.h>

enum peer_command {
	PEER_PREPARE =
		1,   /* build and commit the type; the reply's ns is the time of that */
	PEER_RUN,    /* pack or unpack: `warm` calls untimed, then `calls` timed */
	PEER_RELEASE /* free the type */
};

struct peer_request {
	uint32_t command;
	uint32_t unpack;       /* RUN: 1 to unpack, 0 to pack */
	uint64_t count;        /* PREPARE: instances */
	uint64_t user;         /* PREPARE: offset of displacement 0 in the memory */
	uint64_t packed;       /* PREPARE: offset of packed memory */
	uint64_t packed_bytes; /* PREPARE: length of the stream */
	uint64_t capacity;     /* PREPARE: bytes that may be written there */
	uint64_t tree_words;   /* PREPARE: length of the flattened type */
	uint64_t warm;         /* RUN */
	uint64_t calls;        /* RUN */
	uint32_t processor;    /* 1: report CPU time; 0: elapsed time */
	uint32_t reserved;
};

struct peer_reply {
	int32_t failed; /* 0, or 1 with the reason in text */
	uint32_t reserved;
	double ns;
	char text[176]; /* NUL-terminated */
};

#endif
