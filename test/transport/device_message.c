/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Passing a message, and comparing what has arrived.
 */
#include "config.h"

#include "device_message.h"

#include <string.h>

#include "support/fixture.h"
#include "support/gpu.h"

/* More than any of these messages needs. */
#define PATIENCE 1000000

#define USER (2 * DEVICE_MESSAGE_BYTES)

struct seen {
	int calls, status;
};

static void see(void *arg, int status, size_t moved)
{
	struct seen *seen = arg;

	(void)moved;
	seen->calls++;
	seen->status = status;
}

static void await(struct party parties[2], const struct seen *sent,
		  const struct seen *received)
{
	for (int i = 0; !sent->calls || !received->calls; i++) {
		ck_assert_int_lt(i, PATIENCE);
		(void)party_progress(&parties[0]);
		(void)party_progress(&parties[1]);
		bed_pause();
	}
	ck_assert_int_eq(sent->status, 0);
	ck_assert_int_eq(received->status, 0);
}

void device_message_pass(struct party parties[2], bool is_from_device, bool is_to_device)
{
	static unsigned char bytes[USER], got[USER];
	struct dtconv_type *type =
		fixture_type_in(parties[0].context, "vector(3000, 1, 2, double)");
	struct seen sent = { 0 }, received = { 0 };
	struct arena from, to;

	for (size_t i = 0; i < USER; i++)
		bytes[i] = (unsigned char)(i * 7 + i / 251);
	arena_open(&from, is_from_device ? ARENA_DEVICE : ARENA_HOST, USER);
	arena_open(&to, is_to_device ? ARENA_DEVICE : ARENA_HOST, USER);
	arena_write(&from, 0, bytes, USER);
	memset(got, 0, USER);
	arena_write(&to, 0, got, USER);
	fixture_ok(dtconv_channel_recv(parties[1].channel, 1, type, 1, to.memory, see,
				       &received));
	fixture_ok(dtconv_channel_send(parties[0].channel, 1, type, 1, from.memory, see,
				       &sent));
	await(parties, &sent, &received);
	arena_read(&to, 0, got, USER);
	for (size_t i = 0; i < USER; i++)
		ck_assert_uint_eq(got[i], i % 16 < 8 ? bytes[i] : 0);
	arena_close(&from);
	arena_close(&to);
	dtconv_type_unref(type);
}
