/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unix sockets of type SOCK_SEQPACKET: a packet arrives whole or not at all, with its descriptors, and the end of the
 * other process shows as the end of the socket. Of a TCP socket a packet is taken when all of it has come.
 */
#include "config.h"

#include "sock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/base.h"
#include "base/log.h"
#include "wire.h"

#define BACKLOG 64

/* ---- the peer -------------------------------------------------------------------------- */

static int option(int fd, int level, int name)
{
	int value = -1;
	socklen_t bytes = sizeof(value);

	return getsockopt(fd, level, name, &value, &bytes) ? -1 : value;
}

static bool is_packet_socket(int fd)
{
	return option(fd, SOL_SOCKET, SO_TYPE) == SOCK_SEQPACKET &&
	       option(fd, SOL_SOCKET, SO_DOMAIN) == AF_UNIX;
}

int dtc_sock_check(struct dtconv_context *context, int fd, bool any_user,
		   const char *caller, struct dtc_sock_peer *peer)
{
	struct ucred who;
	socklen_t bytes = sizeof(who);

	if (!is_packet_socket(fd))
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: descriptor %d is no Unix socket of type "
				"SOCK_SEQPACKET",
				caller, fd);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &bytes) || who.pid <= 0)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: socket %d is not connected", caller, fd);
	if (!any_user && who.uid != geteuid())
		return DTC_FAIL(
			context, DTCONV_ERR_PEER,
			"%s: process %ld at the other end is user %ld's, not user "
			"%ld's; the flag ANY_USER would allow it",
			caller, (long)who.pid, (long)who.uid, (long)geteuid());
	*peer = (struct dtc_sock_peer){ .pid = who.pid, .uid = who.uid };
	return 0;
}

int dtc_sock_duplicate(struct dtconv_context *context, int fd, const char *caller)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (copy >= 0)
		return copy;
	return DTC_FAIL(context, errno == EBADF ? DTCONV_ERR_INVAL : DTCONV_ERR_AGAIN,
			"%s: cannot duplicate descriptor %d (argument 2): %s", caller, fd,
			strerror(errno));
}

/* ---- packets --------------------------------------------------------------------------- */

/* Room for the descriptors of one packet, aligned as the kernel wants it. */
union control {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int) * DTC_SOCK_FILES)];
};

void dtc_sock_put_files(struct msghdr *message, void *room, const int *fds, size_t count)
{
	const size_t bytes = sizeof(int) * count;

	memset(room, 0, CMSG_SPACE(bytes));
	message->msg_control = room;
	message->msg_controllen = (socklen_t)CMSG_SPACE(bytes);
	struct cmsghdr *header = CMSG_FIRSTHDR(message);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = (socklen_t)CMSG_LEN(bytes);
	memcpy(CMSG_DATA(header), fds, bytes);
}

bool dtc_sock_send(int fd, const void *packet, const struct dtc_sock_files *files)
{
	union control control;
	struct iovec bytes = { (void *)(uintptr_t)packet, DTC_WIRE_PACKET_BYTES };
	struct msghdr message = { .msg_iov = &bytes, .msg_iovlen = 1 };
	ssize_t sent;

	if (files && files->count)
		dtc_sock_put_files(&message, &control, files->fds, files->count);
	do
		sent = sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent == DTC_WIRE_PACKET_BYTES;
}

/* The macro of musl mixes signed and unsigned numbers. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
static struct cmsghdr *next_header(struct msghdr *message, struct cmsghdr *header)
{
	return CMSG_NXTHDR(message, header);
}
#pragma GCC diagnostic pop

size_t dtc_sock_take_files(struct msghdr *message, int *fds)
{
	struct cmsghdr *header = CMSG_FIRSTHDR(message);
	size_t count = 0;

	for (; header; header = next_header(message, header)) {
		if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
			continue;
		count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(header), count * sizeof(int));
	}
	return count;
}

void dtc_sock_close_files(struct dtc_sock_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		close(files->fds[i]);
	files->count = 0;
}

/*
 * A peer that closes its end while packets of ours are unread is reported once as an error, before the packets that it
 * has sent.
 */
static ssize_t receive(int fd, struct msghdr *message, int flags)
{
	ssize_t taken;
	int resets = 0;

	do
		taken = recvmsg(fd, message, flags | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (taken < 0 && (errno == EINTR || (errno == ECONNRESET && !resets++)));
	return taken;
}

/* A stream has the beginning of a packet, of which more will come unless it has ended. */
static bool is_part_of_packet(int fd)
{
	unsigned char bytes[DTC_WIRE_PACKET_BYTES];
	struct pollfd file = { .fd = fd, .events = POLLRDHUP };

	if (option(fd, SOL_SOCKET, SO_TYPE) != SOCK_STREAM)
		return false;
	const ssize_t there = recv(fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
	return there > 0 && there < DTC_WIRE_PACKET_BYTES && poll(&file, 1, 0) == 0;
}

static enum dtc_sock_news judge(ssize_t taken, const struct msghdr *message)
{
	if (taken < 0)
		return errno == EAGAIN || errno == EWOULDBLOCK ? DTC_SOCK_NOTHING
							       : DTC_SOCK_END;
	if (taken == DTC_WIRE_PACKET_BYTES && !(message->msg_flags & MSG_TRUNC))
		return DTC_SOCK_PACKET;
	return taken ? DTC_SOCK_BAD : DTC_SOCK_END;
}

enum dtc_sock_news dtc_sock_receive(int fd, void *packet, struct dtc_sock_files *files)
{
	union control control;
	struct iovec bytes = { packet, DTC_WIRE_PACKET_BYTES };
	struct msghdr message = { .msg_iov = &bytes,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };

	files->count = 0;
	if (is_part_of_packet(fd))
		return DTC_SOCK_NOTHING;
	const ssize_t taken = receive(fd, &message, 0);
	enum dtc_sock_news news = judge(taken, &message);
	if (taken >= 0)
		files->count = dtc_sock_take_files(&message, files->fds);
	if (news == DTC_SOCK_PACKET && message.msg_flags & MSG_CTRUNC)
		news = files->count < DTC_SOCK_FILES ? DTC_SOCK_NO_FILES : DTC_SOCK_BAD;
	if (news != DTC_SOCK_PACKET)
		dtc_sock_close_files(files);
	return news;
}

enum dtc_sock_news dtc_sock_peek(int fd, void *packet)
{
	struct iovec bytes = { packet, DTC_WIRE_PACKET_BYTES };
	struct msghdr message = { .msg_iov = &bytes, .msg_iovlen = 1 };

	if (is_part_of_packet(fd))
		return DTC_SOCK_NOTHING;
	return judge(receive(fd, &message, MSG_PEEK), &message);
}

/* ---- addresses ------------------------------------------------------------------------- */

#define TCP_PREFIX "tcp:"

/* A machine that has vanished is noticed after half a minute. */
#define IDLE_S        15
#define PROBE_S       5
#define PROBES        3
#define UNANSWERED_MS (1000 * (IDLE_S + PROBE_S * PROBES))

union name {
	struct sockaddr any;
	struct sockaddr_un local;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

bool dtc_sock_names_tcp(const char *address)
{
	return !strncmp(address, TCP_PREFIX, strlen(TCP_PREFIX));
}

static bool read_port(const char *text, in_port_t *port)
{
	char *end;
	const unsigned long value = strtoul(text, &end, 10);

	*port = htons((uint16_t)value);
	return *text >= '0' && *text <= '9' && !*end && value <= UINT16_MAX;
}

/* ADDRESS:PORT; names of machines are not looked up. */
static bool read_tcp(const char *text, union name *name, socklen_t *bytes)
{
	const char *colon = strrchr(text, ':');
	char host[INET6_ADDRSTRLEN + 2];
	in_port_t port;

	if (!colon || (size_t)(colon - text) >= sizeof(host) ||
	    !read_port(colon + 1, &port))
		return false;
	memcpy(host, text, (size_t)(colon - text));
	host[colon - text] = 0;
	char *bracket = strchr(host, ']');
	*name = (union name){ .v6 = { .sin6_family = AF_INET6, .sin6_port = port } };
	*bytes = sizeof(name->v6);
	if (*host == '[' && bracket && !bracket[1]) {
		*bracket = 0;
		return inet_pton(AF_INET6, host + 1, &name->v6.sin6_addr) == 1;
	}
	*name = (union name){ .v4 = { .sin_family = AF_INET, .sin_port = port } };
	*bytes = sizeof(name->v4);
	return inet_pton(AF_INET, host, &name->v4.sin_addr) == 1;
}

static int name_address(struct dtconv_context *context, const char *address,
			const char *caller, union name *name, socklen_t *bytes)
{
	const size_t length = strlen(address);

	if (dtc_sock_names_tcp(address)) {
		if (read_tcp(address + strlen(TCP_PREFIX), name, bytes))
			return 0;
		return DTC_FAIL(
			context, DTCONV_ERR_INVAL,
			"%s: address (argument 2) %s is not tcp:ADDRESS:PORT with "
			"the numbers of an IPv4 or, in brackets, IPv6 address",
			caller, address);
	}
	*name = (union name){ .local = { .sun_family = AF_UNIX } };
	if (length < 2 || length >= sizeof(name->local.sun_path))
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: address (argument 2) has %zu characters; 2 to %zu "
				"are possible",
				caller, length, sizeof(name->local.sun_path) - 1);
	memcpy(name->local.sun_path, address, length);
	if (*address == '@')
		name->local.sun_path[0] = 0;
	*bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length +
			     (*address != '@'));
	return 0;
}

static void set_option(int fd, int level, int name, int value)
{
	/* Each makes a connection better; it works without. */
	(void)setsockopt(fd, level, name, &value, sizeof(value));
}

void dtc_sock_tune(int fd)
{
	set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set_option(fd, SOL_SOCKET, SO_RCVLOWAT, DTC_WIRE_PACKET_BYTES);
	set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, IDLE_S);
	set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, PROBE_S);
	set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, PROBES);
	set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, UNANSWERED_MS);
}

static int make_socket(struct dtconv_context *context, const union name *name,
		       const char *caller, int *fd)
{
	const int type = name->any.sa_family == AF_UNIX ? SOCK_SEQPACKET : SOCK_STREAM;

	*fd = socket(name->any.sa_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd >= 0)
		return 0;
	return DTC_FAIL(context, DTCONV_ERR_AGAIN, "%s: cannot create a socket: %s",
			caller, strerror(errno));
}

int dtc_sock_listen(struct dtconv_context *context, const char *address,
		    const char *caller, int *fd)
{
	union name name;
	socklen_t bytes;
	int status = name_address(context, address, caller, &name, &bytes);

	if (!status)
		status = make_socket(context, &name, caller, fd);
	if (status)
		return status;
	/* A port whose last connections have not timed out is no longer in use. */
	if (name.any.sa_family != AF_UNIX)
		set_option(*fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (!bind(*fd, &name.any, bytes)) {
		if (!listen(*fd, BACKLOG))
			return 0;
		dtc_sock_remove(address);
	}
	status = DTC_FAIL(context,
			  errno == EADDRINUSE ? DTCONV_ERR_STATE : DTCONV_ERR_INVAL,
			  "%s: cannot listen at %s (argument 2): %s", caller, address,
			  strerror(errno));
	close(*fd);
	return status;
}

int dtc_sock_connect(struct dtconv_context *context, const char *address,
		     const char *caller, int *fd)
{
	union name name;
	socklen_t bytes;
	int status = name_address(context, address, caller, &name, &bytes);

	if (!status)
		status = make_socket(context, &name, caller, fd);
	if (status)
		return status;
	if (name.any.sa_family != AF_UNIX)
		dtc_sock_tune(*fd);
	if (!connect(*fd, &name.any, bytes) || errno == EINPROGRESS)
		return 0;
	status = DTC_FAIL(context, errno == EAGAIN ? DTCONV_ERR_AGAIN : DTCONV_ERR_PEER,
			  "%s: cannot connect to %s (argument 2): %s", caller, address,
			  strerror(errno));
	close(*fd);
	return status;
}

void dtc_sock_remove(const char *address)
{
	if (*address != '@' && !dtc_sock_names_tcp(address))
		(void)unlink(address);
}
