/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unix sockets of type SOCK_SEQPACKET: a packet arrives whole or not at all, with its descriptors, and the end of the
 * other process shows as the end of the socket.
 */
#include "config.h"

#include "sock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/base.h"
#include "base/log.h"
#include "wire.h"

#define BACKLOG 64

/* ---- the peer -------------------------------------------------------------------------- */

static bool is_packet_socket(int fd)
{
	int type = 0, domain = 0;
	socklen_t bytes = sizeof(type);

	return !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) &&
	       type == SOCK_SEQPACKET &&
	       !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) &&
	       domain == AF_UNIX;
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
			"%ld's; DTCONV_CHANNEL_ANY_USER would allow it",
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

bool dtc_sock_send(int fd, const void *packet, const struct dtc_sock_files *files)
{
	union control control;
	struct iovec bytes = { (void *)(uintptr_t)packet, DTC_WIRE_PACKET_BYTES };
	struct msghdr message = { .msg_iov = &bytes, .msg_iovlen = 1 };
	ssize_t sent;

	if (files && files->count) {
		const size_t room = sizeof(int) * files->count;

		memset(&control, 0, sizeof(control));
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(room);
		struct cmsghdr *header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(room);
		memcpy(CMSG_DATA(header), files->fds, room);
	}
	do
		sent = sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent == DTC_WIRE_PACKET_BYTES;
}

static void take_files(struct msghdr *message, struct dtc_sock_files *files)
{
	struct cmsghdr *header = CMSG_FIRSTHDR(message);

	for (; header; header = CMSG_NXTHDR(message, header)) {
		if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
			continue;
		const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(files->fds, CMSG_DATA(header), count * sizeof(int));
		files->count = count;
	}
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
	const ssize_t taken = receive(fd, &message, 0);
	enum dtc_sock_news news = judge(taken, &message);
	if (taken >= 0)
		take_files(&message, files);
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

	return judge(receive(fd, &message, MSG_PEEK), &message);
}

/* ---- addresses ------------------------------------------------------------------------- */

static int name_address(struct dtconv_context *context, const char *address,
			const char *caller, struct sockaddr_un *name, socklen_t *bytes)
{
	const size_t length = strlen(address);

	*name = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (length < 2 || length >= sizeof(name->sun_path))
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: address (argument 2) has %zu characters; 2 to %zu "
				"are possible",
				caller, length, sizeof(name->sun_path) - 1);
	memcpy(name->sun_path, address, length);
	if (*address == '@')
		name->sun_path[0] = 0;
	*bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length +
			     (*address != '@'));
	return 0;
}

static int make_socket(struct dtconv_context *context, const char *caller, int *fd)
{
	*fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd >= 0)
		return 0;
	return DTC_FAIL(context, DTCONV_ERR_AGAIN, "%s: cannot create a socket: %s",
			caller, strerror(errno));
}

int dtc_sock_listen(struct dtconv_context *context, const char *address,
		    const char *caller, int *fd)
{
	struct sockaddr_un name;
	socklen_t bytes;
	int status = name_address(context, address, caller, &name, &bytes);

	if (!status)
		status = make_socket(context, caller, fd);
	if (status)
		return status;
	if (!bind(*fd, (struct sockaddr *)&name, bytes)) {
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
	struct sockaddr_un name;
	socklen_t bytes;
	int status = name_address(context, address, caller, &name, &bytes);

	if (!status)
		status = make_socket(context, caller, fd);
	if (status)
		return status;
	if (!connect(*fd, (struct sockaddr *)&name, bytes))
		return 0;
	status = DTC_FAIL(context, errno == EAGAIN ? DTCONV_ERR_AGAIN : DTCONV_ERR_PEER,
			  "%s: cannot connect to %s (argument 2): %s", caller, address,
			  strerror(errno));
	close(*fd);
	return status;
}

void dtc_sock_remove(const char *address)
{
	if (*address != '@')
		(void)unlink(address);
}
