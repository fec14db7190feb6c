/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sockets of channels: Unix sockets for packets with file descriptors, which tell who the other process is, and TCP
 * for packets alone. Nothing blocks, and every descriptor is closed on exec.
 */
#ifndef DTC_SOCK_H
#define DTC_SOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/base.h"

struct dtconv_context;
struct msghdr;

/* Descriptors that a packet may carry. */
#define DTC_SOCK_FILES 2

struct dtc_sock_files {
	int fds[DTC_SOCK_FILES];
	size_t count;
};

struct dtc_sock_peer {
	pid_t pid; /* -1: unknown */
	uid_t uid;
};

/*
 * Who is at the other end of a Unix socket. DTCONV_ERR_INVAL if it is no connected Unix socket of packets,
 * DTCONV_ERR_PEER if it is a process of another user and @any_user is not set.
 */
int dtc_sock_check(struct dtconv_context *context, int fd, bool any_user,
		   const char *caller, struct dtc_sock_peer *peer);

/* Another descriptor of a socket; negative: a status. */
int dtc_sock_duplicate(struct dtconv_context *context, int fd, const char *caller);

/* Descriptors of any message: @room has CMSG_SPACE for @count of them, aligned as a header. */
void dtc_sock_put_files(struct msghdr *message, void *room, const int *fds, size_t count);

/* Those that came with a message; @fds has as many places as its control memory has. */
size_t dtc_sock_take_files(struct msghdr *message, int *fds);

/* False if it could not be sent: the peer is gone, or its queue is full. */
DTC_PRIVATE_API bool dtc_sock_send(int fd, const void *packet,
				   const struct dtc_sock_files *files);

enum dtc_sock_news {
	DTC_SOCK_NOTHING,
	DTC_SOCK_PACKET,
	DTC_SOCK_BAD, /* of a wrong length, or with too many descriptors; they are closed */
	DTC_SOCK_NO_FILES, /* this process could not take its descriptors: it has too many */
	DTC_SOCK_END
};

/* Packets that a poll of a connection reads at most, so that a peer that floods its socket delays no other channel. */
#define DTC_SOCK_BATCH 32

/* Receive a packet of DTC_WIRE_PACKET_BYTES. The caller owns the descriptors. */
DTC_PRIVATE_API enum dtc_sock_news dtc_sock_receive(int fd, void *packet,
						    struct dtc_sock_files *files);

/* The same, but the packet and its descriptors stay in the socket. */
enum dtc_sock_news dtc_sock_peek(int fd, void *packet);

DTC_PRIVATE_API void dtc_sock_close_files(struct dtc_sock_files *files);

/* Of a connected TCP socket: no delays, notice of machines that vanish, and no wake-up for a part of a packet. */
void dtc_sock_tune(int fd);

/*
 * @address: a path, a name that begins with '@' and is in no file system, or tcp:ADDRESS:PORT with a number of IPv4 or,
 * in brackets, IPv6. Over TCP connecting goes on when this returns.
 */
int dtc_sock_listen(struct dtconv_context *context, const char *address,
		    const char *caller, int *fd);
int dtc_sock_connect(struct dtconv_context *context, const char *address,
		     const char *caller, int *fd);

/* Whether an address is one of TCP. */
bool dtc_sock_names_tcp(const char *address);

/* Remove the path of an address, if it is one. */
void dtc_sock_remove(const char *address);

#endif
