/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Channels in a process that runs out of memory or of file descriptors, at each place where it asks for some: every
 * operation ends with a status at both ends, and nothing is left over.
 */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "exchange.h"
#include "process.h"
#include "support/allocators.h"
#include "support/fixture.h"

/* More than any of these tests needs. */
#define ROUNDS 2000

/* ---- two ends and some messages ---------------------------------------------------------------- */

#define MESSAGES 8
#define INTS     300

struct message {
	bool is_begun;
	int calls, status;
};

struct end {
	struct dtconv_context *context;
	struct dtconv_engine *engine;
	struct dtconv_channel *channel;
	struct dtconv_type *column;
	struct message sends[MESSAGES], recvs[MESSAGES];
	int sent[MESSAGES][2 * INTS], received[MESSAGES][INTS];
};

static struct end ends[2];

static void see(void *arg, int status, size_t moved)
{
	struct message *message = arg;

	(void)moved;
	message->calls++;
	message->status = status;
}

static void open_context(struct end *end, struct ration *ration)
{
	const struct dtconv_context_params params = {
		.struct_size = sizeof(params),
		.allocator = allocator_of_rations(ration)
	};

	memset(end, 0, sizeof(*end));
	ration->left = -1;
	fixture_ok(dtconv_context_create(&params, &end->context));
	end->column = fixture_type_in(end->context, "resized(int, 0, 8)");
	fixture_ok(dtconv_engine_create(end->context, NULL, &end->engine));
	for (int m = 0; m < MESSAGES; m++)
		for (int i = 0; i < INTS; i++) {
			end->sent[m][2 * i] = m * 1000 + i;
			end->received[m][i] = -1;
		}
}

static void close_context(struct end *end, const struct ration *ration)
{
	fixture_ok(dtconv_engine_destroy(end->engine));
	dtconv_type_unref(end->column);
	dtconv_context_destroy(end->context);
	ck_assert_uint_eq(atomic_load(&ration->live), 0);
}

static const struct dtconv_channel_params *memory(void)
{
	static const struct dtconv_channel_params params = {
		.struct_size = sizeof(params),
		.flags = DTCONV_CHANNEL_DIRECT,
		.kind = DTCONV_MEMORY_HOST,
		.fragments = 2,
		.fragment_bytes = 512
	};

	return &params;
}

/* Odd messages are eager, even ones are not. Every message has a tag of its own, so that none takes another's place. */
static void begin(struct end *end, int m)
{
	const size_t count = m % 2 ? 20 : INTS;
	struct dtconv_type *number = dtconv_type_predefined(end->context, DTCONV_INT);

	end->sends[m].is_begun = !dtconv_channel_send(end->channel, (uint64_t)m,
						      end->column, count, end->sent[m],
						      see, &end->sends[m]);
	end->recvs[m].is_begun = !dtconv_channel_recv(end->channel, (uint64_t)m, number,
						      INTS, end->received[m], see,
						      &end->recvs[m]);
}

static void progress(int rounds)
{
	while (rounds--)
		for (int i = 0; i < 2; i++)
			fixture_ok(dtconv_engine_progress(ends[i].engine, 0, NULL));
}

static void close_channel(struct end *end)
{
	struct dtconv_channel_attr attr = { .struct_size = sizeof(attr) };

	if (!end->channel)
		return;
	fixture_ok(dtconv_channel_close(end->channel));
	for (int i = 0; i < ROUNDS; i++) {
		progress(1);
		fixture_ok(dtconv_channel_query(end->channel, &attr));
		if (!attr.operations)
			break;
	}
	ck_assert_uint_eq(attr.operations, 0);
	ck_assert_uint_eq(attr.free, attr.fragments);
	fixture_ok(dtconv_channel_destroy(end->channel));
}

/* What has begun at both ends has ended at both, although no channel was closed. */
static void check_pairs(void)
{
	for (int i = 0; i < 2; i++)
		for (int m = 0; m < MESSAGES; m++) {
			const struct message *sent = &ends[i].sends[m];
			const struct message *received = &ends[!i].recvs[m];

			if (!sent->is_begun || !received->is_begun)
				continue;
			ck_assert_int_eq(sent->calls, 1);
			ck_assert_int_eq(received->calls, 1);
			ck_assert_int_eq(!sent->status, !received->status);
		}
}

/* Once or never, and right if it is a success. */
static void check(const struct end *end)
{
	for (int m = 0; m < MESSAGES; m++) {
		const struct message *sent = &end->sends[m], *received = &end->recvs[m];
		const int count = m % 2 ? 20 : INTS;

		ck_assert_int_eq(sent->calls, sent->is_begun);
		ck_assert_int_eq(received->calls, received->is_begun);
		for (int i = 0; received->is_begun && !received->status && i < count; i++)
			ck_assert_int_eq(end->received[m][i], m * 1000 + i);
	}
}

static size_t count_successes(void)
{
	size_t count = 0;

	for (int i = 0; i < 2; i++)
		for (int m = 0; m < MESSAGES; m++)
			count += ends[i].recvs[m].calls && !ends[i].recvs[m].status;
	return count;
}

/* ---- memory ------------------------------------------------------------------------------------ */

/* The allocation with that number is refused, and with @for_ever all after it. False: there are not so many. */
static bool starve(long number, bool for_ever)
{
	static struct ration rations[2];
	const size_t files = process_files();
	int sockets[2], opened;

	for (int i = 0; i < 2; i++)
		open_context(&ends[i], &rations[i]);
	rations[0].refused = 0;
	rations[0].for_ever = for_ever;
	party_sockets(sockets);
	atomic_store(&rations[0].left, number);
	opened = dtconv_channel_open(ends[0].engine, sockets[0], memory(),
				     &ends[0].channel);
	fixture_ok(dtconv_channel_open(ends[1].engine, sockets[1], memory(),
				       &ends[1].channel));
	if (opened) {
		ck_assert_int_eq(opened, DTCONV_ERR_NOMEM);
		close(sockets[0]);
	}
	for (int m = 0; m < MESSAGES; m++) {
		if (!opened)
			begin(&ends[0], m);
		begin(&ends[1], m);
	}
	progress(300);
	const bool was_refused = rations[0].refused;
	if (!was_refused)
		ck_assert_uint_eq(count_successes(), 2 * MESSAGES);
	check_pairs();
	rations[0].for_ever = false;
	atomic_store(&rations[0].left, -1);
	close_channel(&ends[0]);
	close_channel(&ends[1]);
	for (int i = 0; i < 2; i++) {
		check(&ends[i]);
		close_context(&ends[i], &rations[i]);
	}
	ck_assert_uint_eq(process_files(), files);
	ck_assert_uint_eq(process_mappings(), 0);
	return was_refused;
}

START_TEST(every_allocation_may_be_refused)
{
	long number = 0;

	while (starve(number, _i))
		number++;
	ck_assert_int_gt(number, 20);
}
END_TEST

/* ---- file descriptors ---------------------------------------------------------------------------- */

static struct rlimit before;

/* From now on the process gets so many descriptors. */
static void allow_files(size_t count)
{
	struct rlimit limit;
	int fd = 0;

	getrlimit(RLIMIT_NOFILE, &before);
	for (size_t unused = 0; unused < count; fd++)
		unused += fcntl(fd, F_GETFD) < 0;
	while (fcntl(fd, F_GETFD) >= 0)
		fd++;
	limit = before;
	limit.rlim_cur = (rlim_t)fd;
	ck_assert(!setrlimit(RLIMIT_NOFILE, &limit));
}

static void allow_all_files(void)
{
	ck_assert(!setrlimit(RLIMIT_NOFILE, &before));
}

static bool is_file_status(int status)
{
	return !status || status == DTCONV_ERR_AGAIN || status == DTCONV_ERR_NOMEM;
}

/* From where on there are few: from the start, or when the channels are open. */
enum since { SINCE_START, SINCE_OPEN };

/* What both ends had is given back. */
static void close_both(const struct ration rations[2], size_t files)
{
	for (int i = 0; i < 2; i++)
		close_channel(&ends[i]);
	for (int i = 0; i < 2; i++) {
		check(&ends[i]);
		close_context(&ends[i], &rations[i]);
	}
	ck_assert_uint_eq(process_files(), files);
	ck_assert_uint_eq(process_mappings(), 0);
}

/* Two ends of a socket pair. Whether all was well. */
static bool open_with_files(size_t allowed, enum since since)
{
	static struct ration rations[2];
	const size_t files = process_files();
	int sockets[2];

	for (int i = 0; i < 2; i++)
		open_context(&ends[i], &rations[i]);
	party_sockets(sockets);
	if (since == SINCE_START)
		allow_files(allowed);
	for (int i = 0; i < 2; i++) {
		const int status = dtconv_channel_open(ends[i].engine, sockets[i],
						       memory(), &ends[i].channel);
		ck_assert_msg(is_file_status(status), "status %d", status);
		ck_assert(!status == !!ends[i].channel);
		if (status)
			close(sockets[i]);
	}
	if (since == SINCE_OPEN)
		allow_files(allowed);
	for (int i = 0; i < 2; i++)
		for (int m = 0; ends[i].channel && m < MESSAGES; m++)
			begin(&ends[i], m);
	progress(300);
	const size_t successes = count_successes();
	allow_all_files();
	/* Where one end cannot have the other's memory, both know. */
	for (int i = 0; i < 2 && successes < 2 * MESSAGES; i++) {
		struct dtconv_channel_attr attr = { .struct_size = sizeof(attr) };

		if (!ends[i].channel)
			continue;
		fixture_ok(dtconv_channel_query(ends[i].channel, &attr));
		ck_assert_int_eq(attr.state, DTCONV_CHANNEL_ENDED);
		ck_assert(attr.status == DTCONV_ERR_LIMIT ||
			  attr.status == DTCONV_ERR_PEER);
	}
	close_both(rations, files);
	return successes == 2 * MESSAGES;
}

START_TEST(every_descriptor_may_be_refused)
{
	size_t allowed = 0;

	while (!open_with_files(allowed, (enum since)_i))
		ck_assert_uint_lt(allowed++, 100);
	ck_assert_uint_ge(allowed, _i == SINCE_START ? 6 : 2);
}
END_TEST

/* The same with a listener. The end that connects is told, or goes on when there are descriptors again. */
static bool listen_with_files(size_t allowed, enum since since)
{
	static struct ration rations[2];
	const size_t files = process_files();
	struct dtconv_listener *listener = NULL;
	char address[64];

	snprintf(address, sizeof(address), "@dtconv-starved-%d", (int)getpid());
	for (int i = 0; i < 2; i++)
		open_context(&ends[i], &rations[i]);
	if (since == SINCE_START)
		allow_files(allowed);
	int status = dtconv_channel_listen(ends[0].engine, address, memory(), &listener);
	ck_assert_msg(is_file_status(status), "status %d", status);
	if (!status) {
		status = dtconv_channel_connect(ends[1].engine, address, memory(),
						&ends[1].channel);
		ck_assert_msg(is_file_status(status), "status %d", status);
	}
	if (since == SINCE_OPEN)
		allow_files(allowed);
	for (int i = 0; !status && i < 20; i++) {
		progress(1);
		const int accepted = dtconv_channel_accept(listener, &ends[0].channel);
		ck_assert_msg(is_file_status(accepted), "status %d", accepted);
		if (!accepted)
			break;
	}
	for (int i = 0; i < 2; i++)
		for (int m = 0; ends[i].channel && m < MESSAGES; m++)
			begin(&ends[i], m);
	progress(300);
	const size_t successes = count_successes();
	allow_all_files();
	if (ends[1].channel && successes < 2 * MESSAGES) {
		struct dtconv_channel_attr attr = { .struct_size = sizeof(attr) };

		fixture_ok(dtconv_channel_query(ends[1].channel, &attr));
		ck_assert_int_eq(attr.state, DTCONV_CHANNEL_ENDED);
	}
	fixture_ok(dtconv_listener_destroy(listener));
	close_both(rations, files);
	return successes == 2 * MESSAGES;
}

START_TEST(a_listener_runs_out_of_descriptors)
{
	size_t allowed = 0;

	while (!listen_with_files(allowed, (enum since)_i))
		ck_assert_uint_lt(allowed++, 100);
	ck_assert_uint_ge(allowed, _i == SINCE_START ? 6 : 4);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("channel starved");
	TCase *memory_case = fixture_case(suite, "memory", 300);
	TCase *files = fixture_case(suite, "files", 120);

	tcase_add_loop_test(memory_case, every_allocation_may_be_refused, 0, 2);
	tcase_add_loop_test(files, every_descriptor_may_be_refused, 0, 2);
	tcase_add_loop_test(files, a_listener_runs_out_of_descriptors, 0, 2);
	return fixture_run(suite);
}
