/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links: what is posted, what arrives, and how they end.
 */
#include "config.h"

#include "link.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "transport_glue/fragment.h"
#include "transport_glue/fragment_table.h"

/* Receives of headers that are posted at a time. */
#define INBOX 32

/*
 * Sends of headers under way at most: of each slot a MESSAGE and an END, an answer to each of the peer's, each of the
 * own fragments, a return of each of the peer's, and three packets.
 */
#define OUTBOX (3 * DTC_WIRE_SLOTS + 2 * DTC_WIRE_FRAGMENTS_MAX + 3)

enum state {
	GREETING, /* the peer has not introduced itself, or has no memory for what this process sends */
	READY,
	GONE, /* the connection is over, which the channel has not been told yet */
	ENDED
};

struct envelope {
	unsigned char bytes[DTC_WIRE_PACKET_BYTES]; /* a header or a packet */
	MPI_Request request;
};

struct dtc_mpi_link {
	struct dtc_mpi_link *next; /* of those that leave */
	struct dtconv_mpi *mpi;
	struct dtconv_context *context;
	const struct dtc_transport_user *user;
	int rank, number;
	int first_tag;
	enum state state;
	int status;       /* GONE: why; ENDED: what the peer is told */
	char reason[192]; /* GONE */
	bool is_started;
	bool is_deaf; /* a header may have been lost, so BYE may never be heard */
	bool has_said_bye, has_heard_bye;
	struct dtc_fragment_table table;
	MPI_Request *leaving, *landing; /* by number: of fragments */
	struct envelope *outbox;
	size_t said, taken;          /* of the outbox: sends begun and ended */
	size_t heard;                /* of the inbox */
	struct dtc_wire_header data; /* whose fragment has not arrived */
	bool waits_for_data;
	struct envelope inbox[INBOX];
};

bool dtc_mpi_may_call(const struct dtconv_mpi *mpi)
{
	return mpi->level == MPI_THREAD_MULTIPLE ||
	       pthread_equal(mpi->thread, pthread_self());
}

/* ---- ending ---------------------------------------------------------------------------- */

/* The next poll tells the channel. */
static void go(struct dtc_mpi_link *link, int status, const char *reason)
{
	if (link->state >= GONE)
		return;
	link->state = GONE;
	link->status = status;
	snprintf(link->reason, sizeof(link->reason), "%s", reason);
}

/*
 * Whether a call of MPI has failed. The link ends then, but still takes what comes: the peer cannot end while MPI has
 * not delivered what it has sent.
 */
static bool failed(struct dtc_mpi_link *link, int error, const char *call)
{
	char text[MPI_MAX_ERROR_STRING] = "", reason[sizeof(link->reason)];
	int length;

	if (error == MPI_SUCCESS)
		return false;
	(void)MPI_Error_string(error, text, &length);
	snprintf(reason, sizeof(reason), "%s failed: %.150s", call, text);
	go(link, DTCONV_ERR_PEER, reason);
	return true;
}

static void break_protocol(struct dtc_mpi_link *link, const char *what)
{
	go(link, DTCONV_ERR_FORMAT, what);
}

/* ---- sending headers ------------------------------------------------------------------- */

/* Whether a send has ended, also if by a failure: then MPI no longer reads its bytes. */
static bool is_sent(struct dtc_mpi_link *link, MPI_Request *request)
{
	int is_done = 0;

	return failed(link, MPI_Test(request, &is_done, MPI_STATUS_IGNORE), "MPI_Test") ||
	       is_done;
}

static void take_sent(struct dtc_mpi_link *link)
{
	while (link->taken != link->said &&
	       is_sent(link, &link->outbox[link->taken % OUTBOX].request))
		link->taken++;
}

static struct envelope *next_envelope(struct dtc_mpi_link *link)
{
	if (link->said - link->taken == OUTBOX)
		take_sent(link);
	if (link->said - link->taken < OUTBOX)
		return &link->outbox[link->said % OUTBOX];
	break_protocol(link, "the peer takes no headers");
	return NULL;
}

static bool send_envelope(struct dtc_mpi_link *link, struct envelope *envelope, int bytes)
{
	if (failed(link,
		   MPI_Isend(envelope->bytes, bytes, MPI_BYTE, link->rank,
			     link->first_tag + DTC_MPI_TAG_HEADERS, link->mpi->comm,
			     &envelope->request),
		   "MPI_Isend"))
		return false;
	atomic_fetch_add(&link->mpi->unreceived, 1);
	link->said++;
	take_sent(link);
	return true;
}

static bool send_packet(struct dtc_mpi_link *link, const struct dtc_wire_packet *packet)
{
	struct envelope *envelope = next_envelope(link);

	if (!envelope)
		return false;
	dtc_wire_write_packet(packet, envelope->bytes);
	return send_envelope(link, envelope, DTC_WIRE_PACKET_BYTES);
}

static bool send_header(struct dtc_mpi_link *link, const struct dtc_wire_header *header)
{
	struct envelope *envelope = next_envelope(link);

	if (!envelope)
		return false;
	dtc_wire_write_header(header, envelope->bytes);
	return send_envelope(link, envelope, DTC_WIRE_HEADER_BYTES);
}

static bool send_fragment(struct dtc_mpi_link *link, struct dtconv_fragment *fragment,
			  uint64_t bytes)
{
	const uint32_t number = dtc_departure_post(&link->table, fragment);

	if (!failed(link,
		    MPI_Isend(fragment->address, (int)bytes, MPI_BYTE, link->rank,
			      link->first_tag + (int)number, link->mpi->comm,
			      &link->leaving[number]),
		    "MPI_Isend")) {
		atomic_fetch_add(&link->mpi->unreceived, 1);
		return true;
	}
	dtc_departure_undo(&link->table, number);
	return false;
}

/* The fragment first, so that the receiver never waits for one that MPI has refused. */
static int post(void *connection, const struct dtc_wire_header *header,
		struct dtconv_fragment *fragment)
{
	struct dtc_mpi_link *link = connection;
	struct dtc_wire_header posted = *header;

	if (link->state != READY || !dtc_mpi_may_call(link->mpi))
		return DTCONV_ERR_PEER;
	if (fragment && !send_fragment(link, fragment, header->length))
		return DTCONV_ERR_PEER;
	if (fragment)
		posted.fragment = fragment->index;
	/* A fragment without its header is lost, but MPI has it. */
	return send_header(link, &posted) || fragment ? 0 : DTCONV_ERR_PEER;
}

/* ---- own fragments --------------------------------------------------------------------- */

/* Those that the peer has returned before MPI says that it has sent them. */
static void take_lingering(struct dtc_mpi_link *link)
{
	for (size_t i = 0; link->table.lingering && i < link->table.departure_count;
	     i++) {
		const struct dtc_departure *departure = &link->table.departures[i];

		if (departure->is_read && departure->is_returned &&
		    is_sent(link, &link->leaving[i]))
			dtc_departure_was_read(&link->table, (uint32_t)i);
	}
}

static void take_return(struct dtc_mpi_link *link, const struct dtc_wire_header *header)
{
	if (!dtc_departure_return(&link->table, header->fragment, header->status)) {
		break_protocol(link, "it returns a fragment that it does not have");
		return;
	}
	if (header->status)
		(void)DTC_FAIL(link->context, header->status,
			       "channel: the receiver could not unpack a fragment: %s",
			       dtconv_strerror(header->status));
	if (is_sent(link, &link->leaving[header->fragment]))
		dtc_departure_was_read(&link->table, header->fragment);
}

/* ---- the peer's fragments -------------------------------------------------------------- */

static bool post_landing(struct dtc_mpi_link *link, size_t number)
{
	return !failed(link,
		       MPI_Irecv(link->table.landings[number].address,
				 (int)link->table.landing_bytes, MPI_BYTE, link->rank,
				 link->first_tag + (int)number, link->mpi->comm,
				 &link->landing[number]),
		       "MPI_Irecv");
}

/* A dtconv_release_fn: return a fragment. */
static void return_fragment(void *arg, int status)
{
	struct dtc_landing *landing = arg;
	struct dtc_mpi_link *link = landing->connection;
	const struct dtc_wire_header header = { .kind = DTC_WIRE_RETURN,
						.status = status,
						.fragment = dtc_landing_clear(
							&link->table, landing) };

	if (link->state == READY && dtc_mpi_may_call(link->mpi) &&
	    post_landing(link, header.fragment))
		(void)post(link, &header, NULL);
}

/* Its header has come: wait for the fragment itself. */
static void take_data(struct dtc_mpi_link *link, const struct dtc_wire_header *header)
{
	if (!dtc_landing_is_free(&link->table, header->fragment, header->length)) {
		break_protocol(link,
			       "a fragment is too long, or comes twice before it is "
			       "returned");
		return;
	}
	link->data = *header;
	link->waits_for_data = true;
}

static bool take_fragment(struct dtc_mpi_link *link)
{
	const struct dtc_wire_header *header = &link->data;
	int is_done = 0, bytes;
	MPI_Status status;

	if (failed(link, MPI_Test(&link->landing[header->fragment], &is_done, &status),
		   "MPI_Test"))
		link->waits_for_data = false;
	if (!is_done)
		return false;
	link->waits_for_data = false;
	atomic_fetch_sub(&link->mpi->unreceived, 1);
	(void)MPI_Get_count(&status, MPI_BYTE, &bytes);
	if (link->state == ENDED)
		return true;
	if ((uint64_t)bytes != header->length) {
		break_protocol(link,
			       "a fragment has not the length that its header says");
		return true;
	}
	struct dtc_landing *landing = dtc_landing_fill(&link->table, header->fragment);
	if (!link->user->arrive(link->user->user, header, landing->address,
				return_fragment, landing)) {
		(void)dtc_landing_clear(&link->table, landing);
		break_protocol(link, "a fragment belongs to no message");
	}
	return true;
}

/* ---- what arrives ---------------------------------------------------------------------- */

static void take_header(struct dtc_mpi_link *link, const struct dtc_wire_header *header)
{
	if (header->kind == DTC_WIRE_DATA)
		take_data(link, header);
	else if (link->state == ENDED)
		return;
	else if (link->state == GREETING)
		break_protocol(link, "a header comes before the first packet");
	else if (header->kind == DTC_WIRE_RETURN)
		take_return(link, header);
	else if (!link->user->arrive(link->user->user, header, NULL, NULL, NULL))
		break_protocol(link, "a header does not fit the state of its message");
}

/* Memory for what the peer sends, and all receives posted; then it is told that it may. */
static void take_hello(struct dtc_mpi_link *link, const struct dtc_wire_packet *hello)
{
	static const struct dtc_wire_packet accept = { .kind = DTC_WIRE_ACCEPT,
						       .version = DTC_WIRE_VERSION };
	int status = DTCONV_ERR_NOMEM;

	if (link->state != GREETING || link->landing ||
	    hello->transport != DTC_WIRE_MPI || hello->fragment_bytes > INT_MAX) {
		break_protocol(link, "its first packet comes twice, or is another "
				     "transport's");
		return;
	}
	link->landing =
		dtc_alloc(link->context, hello->fragments * sizeof(link->landing[0]));
	if (link->landing)
		status = dtc_fragment_table_land(&link->table, hello->fragments,
						 (size_t)hello->fragment_bytes, NULL,
						 link);
	if (status) {
		go(link, status, dtc_fragment_table_reason(status));
		return;
	}
	for (size_t i = 0; i < hello->fragments; i++)
		link->landing[i] = MPI_REQUEST_NULL;
	for (size_t i = 0; i < hello->fragments; i++)
		if (!post_landing(link, i))
			return;
	(void)send_packet(link, &accept);
}

static void take_accept(struct dtc_mpi_link *link)
{
	if (link->state != GREETING || !link->landing) {
		break_protocol(link, "it accepts twice, or before its first packet");
		return;
	}
	link->state = READY;
	link->user->ready(link->user->user);
}

static void take_bye(struct dtc_mpi_link *link, int status)
{
	link->has_heard_bye = true;
	if (status == DTCONV_ERR_FORMAT || status == DTCONV_ERR_UNSUPPORTED)
		go(link, status,
		   status == DTCONV_ERR_FORMAT ? "one side broke the protocol"
					       : dtconv_strerror(status));
	else
		go(link, DTCONV_ERR_PEER,
		   status == DTCONV_ERR_CANCELED ? "it closed the channel"
						 : dtconv_strerror(status));
}

static void take_packet(struct dtc_mpi_link *link, const unsigned char *bytes)
{
	struct dtc_wire_packet packet;
	int status = dtc_wire_read_packet(bytes, DTC_WIRE_PACKET_BYTES, &packet);

	if (status == DTCONV_ERR_UNSUPPORTED)
		go(link, status, "it speaks another version of the protocol");
	else if (status)
		break_protocol(link, "a packet has no meaning");
	else if (packet.kind == DTC_WIRE_BYE)
		take_bye(link, packet.status);
	else if (link->state == ENDED)
		return;
	else if (packet.kind == DTC_WIRE_HELLO)
		take_hello(link, &packet);
	else if (packet.kind == DTC_WIRE_ACCEPT)
		take_accept(link);
	else
		break_protocol(link, "a packet is another transport's");
}

static void post_inbox(struct dtc_mpi_link *link, struct envelope *envelope)
{
	if (failed(link,
		   MPI_Irecv(envelope->bytes, DTC_WIRE_PACKET_BYTES, MPI_BYTE, link->rank,
			     link->first_tag + DTC_MPI_TAG_HEADERS, link->mpi->comm,
			     &envelope->request),
		   "MPI_Irecv"))
		link->is_deaf = true;
}

/* Take a header, a packet or a fragment. False if none has arrived. */
static bool take_next(struct dtc_mpi_link *link)
{
	struct envelope *oldest = &link->inbox[link->heard % INBOX];
	unsigned char bytes[DTC_WIRE_PACKET_BYTES];
	struct dtc_wire_header header;
	int is_done = 0, length;
	MPI_Status status;

	if (link->waits_for_data)
		return take_fragment(link);
	if (oldest->request == MPI_REQUEST_NULL)
		return false;
	if (failed(link, MPI_Test(&oldest->request, &is_done, &status), "MPI_Test")) {
		link->is_deaf = true;
		return false;
	}
	if (!is_done)
		return false;
	atomic_fetch_sub(&link->mpi->unreceived, 1);
	(void)MPI_Get_count(&status, MPI_BYTE, &length);
	memcpy(bytes, oldest->bytes, sizeof(bytes));
	link->heard++;
	post_inbox(link, oldest);
	if (length == DTC_WIRE_PACKET_BYTES)
		take_packet(link, bytes);
	else if (length != DTC_WIRE_HEADER_BYTES ||
		 dtc_wire_read_header(bytes, (size_t)length, &header))
		break_protocol(link, "a header has no meaning");
	else
		take_header(link, &header);
	return true;
}

/* ---- polling --------------------------------------------------------------------------- */

static void say_bye(struct dtc_mpi_link *link)
{
	const struct dtc_wire_packet bye = { .kind = DTC_WIRE_BYE,
					     .version = DTC_WIRE_VERSION,
					     .status = link->status };

	link->has_said_bye = send_packet(link, &bye);
}

static void hang_up(void *connection, int status)
{
	struct dtc_mpi_link *link = connection;

	if (link->state == ENDED)
		return;
	link->state = ENDED;
	link->status = status;
	dtc_departures_end(&link->table);
	if (!link->is_started)
		return;
	if (dtc_mpi_may_call(link->mpi))
		say_bye(link);
}

static void end(struct dtc_mpi_link *link)
{
	const int status = link->status;

	hang_up(link, status);
	link->user->lost(link->user->user,
			 DTC_FAIL(link->context, status,
				  "channel: the connection to rank %d has ended: %s",
				  link->rank, link->reason));
}

/* What does not depend on the channel. True if something happened. */
static size_t step(struct dtc_mpi_link *link, size_t budget)
{
	size_t happened = 0;

	if (link->state == ENDED && !link->has_said_bye)
		say_bye(link);
	take_sent(link);
	take_lingering(link);
	while (happened < budget && link->state != GONE && !link->has_heard_bye &&
	       take_next(link))
		happened++;
	return happened;
}

static size_t poll(void *connection, size_t budget)
{
	struct dtc_mpi_link *link = connection;
	size_t happened = 0;

	if (dtc_mpi_may_call(link->mpi))
		happened = step(link, budget);
	else
		go(link, DTCONV_ERR_STATE,
		   "below MPI_THREAD_MULTIPLE the thread that created the dtconv_mpi "
		   "has to make progress");
	if (link->state == GONE) {
		end(link);
		happened++;
	}
	return happened;
}

static int arm(void *connection)
{
	const struct dtc_mpi_link *link = connection;

	return link->state == GONE ? DTCONV_ERR_AGAIN : 0;
}

/* MPI has no descriptor. */
static int file_of(const void *connection)
{
	(void)connection;
	return -1;
}

static bool is_pinned(const void *connection)
{
	return dtc_landings_are_pinned(&((const struct dtc_mpi_link *)connection)->table);
}

/* ---- opening --------------------------------------------------------------------------- */

static int open_link(const struct dtc_transport_params *params, void **connection)
{
	const struct dtc_mpi_endpoint *endpoint = params->endpoint;
	struct dtconv_mpi *mpi = (struct dtconv_mpi *)(uintptr_t)params->transport;

	struct dtc_mpi_link *link = dtc_alloc_zeroed(params->context, sizeof(*link));
	if (link)
		link->outbox =
			dtc_alloc(params->context, OUTBOX * sizeof(link->outbox[0]));
	if (!link || !link->outbox) {
		dtc_free(params->context, link);
		return DTC_FAIL(params->context, DTCONV_ERR_NOMEM,
				"%s: cannot allocate a connection", params->caller);
	}
	link->mpi = mpi;
	link->context = params->context;
	link->user = params->user;
	link->rank = endpoint->rank;
	*connection = link;
	return 0;
}

/* Both sides count the links between them, so the next one of each is the same. */
static int take_number(struct dtc_mpi_link *link, const char *caller)
{
	struct dtconv_mpi *mpi = link->mpi;

	pthread_mutex_lock(&mpi->lock);
	const size_t number = (size_t)mpi->linked[link->rank];
	if (number < mpi->links_max) {
		mpi->linked[link->rank]++;
		mpi->channels++;
	}
	pthread_mutex_unlock(&mpi->lock);
	if (number >= mpi->links_max)
		return DTC_FAIL(
			link->context, DTCONV_ERR_LIMIT,
			"%s: %zu channels to rank %d were made, and MPI has no tags "
			"for more",
			caller, number, link->rank);
	link->number = (int)number;
	link->first_tag = (int)number * DTC_MPI_TAGS;
	return 0;
}

static int start(void *connection, struct dtconv_pool *pool, const char *caller)
{
	struct dtc_mpi_link *link = connection;
	int status = dtc_fragment_table_open(&link->table, link->context, pool, caller);

	if (status)
		return status;
	const struct dtc_wire_packet hello =
		dtc_fragment_table_hello(&link->table, DTC_WIRE_MPI);
	link->leaving = dtc_alloc(link->context,
				  link->table.departure_count * sizeof(link->leaving[0]));
	if (!link->leaving)
		return DTC_FAIL(link->context, DTCONV_ERR_NOMEM,
				"%s: cannot allocate the list of fragments", caller);
	for (size_t i = 0; i < link->table.departure_count; i++)
		link->leaving[i] = MPI_REQUEST_NULL;
	status = take_number(link, caller);
	if (status)
		return status;
	for (size_t i = 0; i < INBOX; i++)
		link->inbox[i].request = MPI_REQUEST_NULL;
	link->is_started = true;
	/* What MPI refuses is told by the first poll. */
	for (size_t i = 0; i < INBOX; i++)
		post_inbox(link, &link->inbox[i]);
	(void)send_packet(link, &hello);
	return 0;
}

/* ---- closing --------------------------------------------------------------------------- */

static void close_link(void *connection)
{
	hang_up(connection, DTCONV_ERR_CANCELED);
}

static void free_link(struct dtc_mpi_link *link)
{
	dtc_fragment_table_close(&link->table);
	dtc_free(link->context, link->landing);
	dtc_free(link->context, link->leaving);
	dtc_free(link->context, link->outbox);
	dtc_free(link->context, link);
}

/* Its channel is gone. What is under way needs it for longer. */
static void leave(void *connection)
{
	struct dtc_mpi_link *link = connection;
	struct dtconv_mpi *mpi = link->mpi;

	if (!link->is_started) {
		free_link(link);
		return;
	}
	pthread_mutex_lock(&mpi->lock);
	link->next = mpi->leaving;
	mpi->leaving = link;
	mpi->channels--;
	pthread_mutex_unlock(&mpi->lock);
}

/* Nothing of it is under way, and the peer sends nothing more. */
static bool has_ended(const struct dtc_mpi_link *link)
{
	return link->said == link->taken && link->has_said_bye && link->has_heard_bye;
}

/* Unless it has received something. */
static void cancel(struct dtc_mpi_link *link, MPI_Request *request)
{
	int is_cancelled = 1;
	MPI_Status status;

	if (*request == MPI_REQUEST_NULL)
		return;
	(void)MPI_Cancel(request);
	if (MPI_Wait(request, &status) == MPI_SUCCESS)
		(void)MPI_Test_cancelled(&status, &is_cancelled);
	if (!is_cancelled)
		atomic_fetch_sub(&link->mpi->unreceived, 1);
}

static void cancel_receives(struct dtc_mpi_link *link)
{
	for (size_t i = 0; i < INBOX; i++)
		cancel(link, &link->inbox[i].request);
	for (size_t i = 0; i < link->table.landing_count; i++)
		cancel(link, &link->landing[i]);
}

/* The list is taken as a whole, because MPI is not called with a lock held. */
size_t dtc_mpi_poll_leaving(struct dtconv_mpi *mpi)
{
	struct dtc_mpi_link *links, *next, *rest = NULL, **last = &rest;
	size_t happened = 0;

	pthread_mutex_lock(&mpi->lock);
	links = mpi->leaving;
	mpi->leaving = NULL;
	pthread_mutex_unlock(&mpi->lock);
	for (; links; links = next) {
		next = links->next;
		happened += step(links, DTCONV_ENGINE_BUDGET);
		if (has_ended(links)) {
			cancel_receives(links);
			free_link(links);
			happened++;
			continue;
		}
		*last = links;
		last = &links->next;
	}
	pthread_mutex_lock(&mpi->lock);
	*last = mpi->leaving;
	mpi->leaving = rest;
	pthread_mutex_unlock(&mpi->lock);
	return happened;
}

size_t dtc_mpi_count_leaving(const struct dtconv_mpi *mpi)
{
	size_t count = 0;

	for (const struct dtc_mpi_link *link = mpi->leaving; link; link = link->next)
		count++;
	return count;
}

bool dtc_mpi_forget_absent(struct dtconv_mpi *mpi, const int *theirs)
{
	bool is_all_heard = true;

	for (struct dtc_mpi_link *link = mpi->leaving; link; link = link->next) {
		is_all_heard &= !link->is_deaf && link->has_said_bye;
		link->has_said_bye = true;
		if (link->is_deaf || link->number >= theirs[link->rank])
			link->has_heard_bye = true;
	}
	return is_all_heard;
}

/* Such a link has said HELLO and BYE. */
void dtc_mpi_receive_unanswered(struct dtconv_mpi *mpi, int rank, int number)
{
	unsigned char bytes[DTC_WIRE_PACKET_BYTES];

	for (int i = 0; i < 2; i++)
		if (MPI_Recv(bytes, sizeof(bytes), MPI_BYTE, rank,
			     number * DTC_MPI_TAGS + DTC_MPI_TAG_HEADERS, mpi->comm,
			     MPI_STATUS_IGNORE) == MPI_SUCCESS)
			atomic_fetch_sub(&mpi->unreceived, 1);
}

const struct dtconv_transport dtc_mpi_transport = { .abi = DTC_TRANSPORT_ABI,
						    .name = "mpi",
						    .open = open_link,
						    .start = start,
						    .post = post,
						    .poll = poll,
						    .arm = arm,
						    .fd = file_of,
						    .hang_up = hang_up,
						    .is_pinned = is_pinned,
						    .close = close_link,
						    .free = leave };
