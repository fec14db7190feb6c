/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Segments go to another process as a list of mappings, with a descriptor each, in packets of a Unix socket. The
 * receiver keeps what it has mapped already and maps the rest.
 */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"
#include "base/log.h"
#include "segment_packet.h"
#include "segment_state.h"
#include "sock.h"

/* A packet and its descriptors. */
struct parcel {
	struct dtc_segment_packet packet;
	int fds[DTC_SEGMENT_PACKET_MAPPINGS];
	size_t files;
};

/* Room for its descriptors, aligned as the kernel wants it. */
union control {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int) * DTC_SEGMENT_PACKET_MAPPINGS)];
};

static void close_files(struct parcel *parcel)
{
	for (size_t i = 0; i < parcel->files; i++)
		close(parcel->fds[i]);
	parcel->files = 0;
}

/* Whatever the socket's mode: until it is ready, or the other end is closed. */
static void await_socket(int fd, short events)
{
	struct pollfd file = { .fd = fd, .events = events };

	while (poll(&file, 1, -1) < 0 && errno == EINTR)
		;
}

static int lost_peer(struct dtconv_context *context, const char *caller)
{
	return DTC_FAIL(context, DTCONV_ERR_PEER,
			"%s: the other process has closed the socket", caller);
}

/* ---- sending --------------------------------------------------------------------------- */

static int judge_sending(struct dtconv_segment *segment, ssize_t sent)
{
	const char *caller = segment->range.caller;

	if (sent == DTC_SEGMENT_PACKET_BYTES)
		return 0;
	if (errno == ETOOMANYREFS)
		return DTC_FAIL(segment->context, DTCONV_ERR_LIMIT,
				"%s: this user has too many file descriptors in flight",
				caller);
	return lost_peer(segment->context, caller);
}

static int send_parcel(struct dtconv_segment *segment, int fd,
		       const struct parcel *parcel)
{
	unsigned char bytes[DTC_SEGMENT_PACKET_BYTES];
	union control control;
	struct iovec content = { bytes, sizeof(bytes) };
	struct msghdr message = { .msg_iov = &content, .msg_iovlen = 1 };
	ssize_t sent;

	dtc_segment_packet_write(&parcel->packet, bytes);
	if (parcel->files)
		dtc_sock_put_files(&message, &control, parcel->fds, parcel->files);
	do {
		await_socket(fd, POLLOUT);
		sent = sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (sent < 0 && (errno == EINTR || errno == EAGAIN));
	return judge_sending(segment, sent);
}

static int pack_mapping(struct dtconv_segment *segment, size_t index,
			struct parcel *parcel)
{
	const struct dtc_segment_mapping *mapping =
		dtc_segment_mapping_at(segment, index);
	int *fd = &parcel->fds[parcel->files];
	const int status =
		segment->range.ops->export(&segment->range, &mapping->memory, fd);

	if (status)
		return dtc_segment_fail(segment, status, "export memory");
	parcel->packet.mappings[parcel->files++] = (struct dtc_segment_packet_mapping){
		.bytes = mapping->memory.bytes,
		.number = mapping->number,
	};
	return 0;
}

/* The mappings from @first on that one packet takes. */
static int send_some(struct dtconv_segment *segment, int fd, size_t first)
{
	const size_t total = segment->mappings.count;
	struct parcel parcel = {
		.packet = { .first = (uint32_t)first,
			    .total = (uint32_t)total,
			    .count = (uint32_t)DTC_MIN(total - first,
						       DTC_SEGMENT_PACKET_MAPPINGS),
			    .reserved = segment->range.bytes }
	};
	int status = 0;

	memcpy(parcel.packet.id, segment->id, sizeof(segment->id));
	for (size_t i = 0; !status && i < parcel.packet.count; i++)
		status = pack_mapping(segment, first + i, &parcel);
	if (!status)
		status = send_parcel(segment, fd, &parcel);
	close_files(&parcel);
	return status;
}

static int send_all(struct dtconv_segment *segment, int fd)
{
	size_t first = 0;
	int status;

	if (!segment->range.is_shareable)
		return DTC_FAIL(segment->context, DTCONV_ERR_UNSUPPORTED,
				"%s: memory of device %d cannot be shared by file "
				"descriptors",
				segment->range.caller, segment->range.device);
	do {
		status = send_some(segment, fd, first);
		first += DTC_SEGMENT_PACKET_MAPPINGS;
	} while (!status && first < segment->mappings.count);
	return status;
}

int dtconv_segment_send(struct dtconv_segment *segment, int fd)
{
	struct dtc_sock_peer peer;

	if (!segment)
		return DTCONV_ERR_INVAL;
	int status =
		dtc_sock_check(segment->context, fd, segment->any_user, __func__, &peer);
	if (status)
		return status;
	dtc_segment_lock(segment, __func__);
	status = send_all(segment, fd);
	dtc_segment_unlock(segment);
	return status;
}

/* ---- receiving ------------------------------------------------------------------------- */

/* What a receive knows while packets come. */
struct receipt {
	struct dtconv_context *context;
	const char *caller;
	int fd;
	struct dtconv_segment_params params;
	struct dtconv_segment *segment; /* NULL before the first packet of a new one */
	size_t done;                    /* mappings */
};

static int refuse_packet(const struct receipt *receipt, const char *why)
{
	return DTC_FAIL(receipt->context, DTCONV_ERR_FORMAT,
			"%s: what the other process has sent is no segment: %s",
			receipt->caller, why);
}

static int judge_packet(const struct receipt *receipt, const void *bytes, ssize_t length,
			const struct msghdr *message, struct parcel *parcel)
{
	const char *why;

	if (length <= 0)
		return lost_peer(receipt->context, receipt->caller);
	if (message->msg_flags & MSG_CTRUNC)
		return DTC_FAIL(receipt->context, DTCONV_ERR_LIMIT,
				"%s: this process cannot take so many file descriptors",
				receipt->caller);
	why = dtc_segment_packet_read(bytes, (size_t)length, &parcel->packet);
	if (!why && message->msg_flags & MSG_TRUNC)
		why = "a packet is too long";
	if (!why && parcel->files != parcel->packet.count)
		why = "a packet has not one descriptor for each mapping";
	if (!why && parcel->packet.first != receipt->done)
		why = "packets are not in order";
	return why ? refuse_packet(receipt, why) : 0;
}

static int receive_parcel(const struct receipt *receipt, struct parcel *parcel)
{
	unsigned char bytes[DTC_SEGMENT_PACKET_BYTES];
	union control control;
	struct iovec content = { bytes, sizeof(bytes) };
	struct msghdr message;
	ssize_t length;

	do {
		message = (struct msghdr){ .msg_iov = &content,
					   .msg_iovlen = 1,
					   .msg_control = &control,
					   .msg_controllen = sizeof(control) };
		await_socket(receipt->fd, POLLIN);
		length = recvmsg(receipt->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	} while (length < 0 && (errno == EINTR || errno == EAGAIN));
	parcel->files = length < 0 ? 0 : dtc_sock_take_files(&message, parcel->fds);
	const int status = judge_packet(receipt, bytes, length, &message, parcel);
	if (status)
		close_files(parcel);
	return status;
}

/* Whether the mapping is there from an earlier time. */
static bool is_known(const struct dtconv_segment *segment, size_t index,
		     const struct dtc_segment_packet_mapping *given)
{
	if (index >= segment->mappings.count)
		return false;
	const struct dtc_segment_mapping *mapping =
		dtc_segment_mapping_at(segment, index);
	return mapping->number == given->number && mapping->memory.bytes == given->bytes;
}

static int take_mapping(struct receipt *receipt, const struct parcel *parcel, size_t i)
{
	const struct dtc_segment_packet_mapping *given = &parcel->packet.mappings[i];
	struct dtconv_segment *segment = receipt->segment;
	int status = 0;

	if (!is_known(segment, receipt->done, given)) {
		status = dtc_segment_cut(segment, receipt->done);
		if (!status)
			status = dtc_segment_import_memory(segment, parcel->fds[i],
							   (size_t)given->bytes,
							   given->number);
	}
	receipt->done += !status;
	return status;
}

/* The segment of the first packet, which is new or the one that is to be brought up to date. */
static int open_segment(struct receipt *receipt, const struct dtc_segment_packet *packet)
{
	int status;

	if (receipt->segment &&
	    !memcmp(receipt->segment->id, packet->id, sizeof(packet->id)))
		return 0;
	if (receipt->segment)
		return DTC_FAIL(receipt->context, DTCONV_ERR_INVAL,
				"%s: the other process has sent another segment than "
				"*segment (argument 4)",
				receipt->caller);
	status = dtc_segment_open(receipt->context, receipt->params.device,
				  (size_t)packet->reserved, receipt->params.flags,
				  receipt->caller, &receipt->segment);
	if (status)
		return status;
	receipt->segment->is_received = true;
	memcpy(receipt->segment->id, packet->id, sizeof(packet->id));
	return 0;
}

static int take_parcel(struct receipt *receipt, const struct parcel *parcel)
{
	int status = 0;

	dtc_segment_lock(receipt->segment, receipt->caller);
	for (size_t i = 0; !status && i < parcel->packet.count; i++)
		status = take_mapping(receipt, parcel, i);
	if (!status && receipt->done == parcel->packet.total)
		status = dtc_segment_cut(receipt->segment, receipt->done);
	dtc_segment_unlock(receipt->segment);
	return status;
}

/* All packets of a list: each says how long the list is. */
static int receive_all(struct receipt *receipt)
{
	struct parcel parcel;
	int status;

	do {
		status = receive_parcel(receipt, &parcel);
		if (status)
			return status;
		status = receipt->done ? 0 : open_segment(receipt, &parcel.packet);
		if (!status)
			status = take_parcel(receipt, &parcel);
		close_files(&parcel);
	} while (!status && receipt->done < parcel.packet.total);
	return status;
}

static int read_params(struct receipt *receipt, const struct dtconv_segment_params *given)
{
	struct dtconv_segment_params *params = &receipt->params;

	*params = (struct dtconv_segment_params){ .device = given ? 0 : -1 };
	if (given && given->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(receipt->context, receipt->caller, "params",
					    "dtconv_segment_params");
	if (given)
		memcpy(params, given, DTC_MIN(given->struct_size, sizeof(*params)));
	if (params->flags & ~(unsigned)DTCONV_SEGMENT_ANY_USER)
		return DTC_FAIL(receipt->context, DTCONV_ERR_INVAL,
				"%s: params.flags is 0x%x; only DTCONV_SEGMENT_ANY_USER "
				"is defined here",
				receipt->caller, params->flags);
	if (params->start_bytes || params->reserve_bytes)
		return DTC_FAIL(
			receipt->context, DTCONV_ERR_INVAL,
			"%s: params.start_bytes or params.reserve_bytes is not 0, "
			"but the sender has chosen the sizes",
			receipt->caller);
	return 0;
}

int dtconv_segment_receive(struct dtconv_context *context, int fd,
			   const struct dtconv_segment_params *given,
			   struct dtconv_segment **segment)
{
	struct receipt receipt = { .context = context, .caller = __func__, .fd = fd };
	struct dtc_sock_peer peer;

	if (!context || !segment)
		return DTCONV_ERR_INVAL;
	receipt.segment = *segment;
	int status = read_params(&receipt, given);
	if (!status && *segment && !(*segment)->is_received)
		status = DTC_FAIL(context, DTCONV_ERR_STATE,
				  "%s: *segment (argument 4) was created in this process",
				  __func__);
	if (!status)
		status = dtc_sock_check(context, fd,
					receipt.params.flags & DTCONV_SEGMENT_ANY_USER,
					__func__, &peer);
	if (!status)
		status = receive_all(&receipt);
	if (!status)
		*segment = receipt.segment;
	else if (receipt.segment != *segment)
		(void)dtc_segment_close(receipt.segment, __func__);
	return status;
}
