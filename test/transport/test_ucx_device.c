/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Channels over UCX between buffers on a device. Where the receiver's staging memory is registered with the device,
 * fragments go by rendezvous into that memory; where it is not, UCX may send them eagerly. Staging memory of the device
 * goes by a UCX that knows it, or that seems to.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dtconv/ucx.h>

#include "device_message.h"
#include "exchange.h"
#include "support/fixture.h"
#include "support/gpu.h"
#include "ucx_faults.h"

static struct party parties[2];

/* Where staging memory is. */
static enum dtconv_memory_kind staging;

static int open_end(struct party *party, int socket)
{
	const struct dtconv_ucx_params ucx = { .struct_size = sizeof(ucx),
					       .transports = BED_UCX };

	party->context = fixture_context;
	fixture_ok(dtconv_ucx_open(fixture_context, &ucx,
				   (struct dtconv_ucx **)(void *)&party->bed));
	const struct dtconv_channel_params params = { .struct_size = sizeof(params),
						      .kind = staging,
						      .device = -1,
						      .fragments = 3,
						      .fragment_bytes = 4096,
						      .transport =
							      bed_transport(party->bed) };
	fixture_ok(dtconv_engine_create(fixture_context, NULL, &party->engine));
	return dtconv_channel_open(party->engine, socket, &params, &party->channel);
}

/* The same, and whether the driver registers what end 1 has. */
static void pass(bool is_from_device, bool is_to_device, bool is_registered)
{
	int sockets[2];

	ucx_faults = (struct ucx_faults){ 0 };
	staging = DTCONV_MEMORY_PINNED;
	party_sockets(sockets);
	fixture_ok(open_end(&parties[0], sockets[0]));
	if (!is_registered)
		gpu.standin->inject("cuMemHostRegister", 1, CUDA_ERROR_OUT_OF_MEMORY);
	fixture_ok(open_end(&parties[1], sockets[1]));
	device_message_pass(parties, is_from_device, is_to_device);
	if (is_registered) {
		ck_assert(party_query(&parties[1]).peer_is_pinned);
		ck_assert_uint_ge(ucx_faults.calls[UCX_RECEIVE],
				  DEVICE_MESSAGE_BYTES / 4096);
		ck_assert_uint_eq(ucx_faults.released, 0);
	} else {
		ck_assert_uint_ge(ucx_faults.released, 1);
	}
	party_close(&parties[0]);
	party_close(&parties[1]);
}

START_TEST(fragments_go_into_memory_that_the_device_reads)
{
	pass(_i & 1, _i & 2, true);
}
END_TEST

START_TEST(fragments_may_come_eagerly_where_the_device_reads_none)
{
	if (gpu.standin)
		pass(_i & 1, _i & 2, false);
}
END_TEST

/* An end whose staging memory would be a device's, which this UCX does not know. */
static void expect_refusal(struct party *party, int socket)
{
	fixture_status(open_end(party, socket), DTCONV_ERR_UNSUPPORTED);
	ck_assert(strstr(fixture_error(), "cannot carry staging memory of devices"));
	fixture_ok(dtconv_engine_destroy(party->engine));
	bed_close(party->bed);
}

START_TEST(staging_memory_may_be_a_device_s)
{
	int sockets[2];

	ucx_faults = (struct ucx_faults){ 0 };
	if (gpu.standin)
		ucx_faults.device_memory = gpu.standin->peek;
	staging = DTCONV_MEMORY_DEVICE;
	party_sockets(sockets);
	int status = open_end(&parties[0], sockets[0]);
	if (status == DTCONV_ERR_UNSUPPORTED && !gpu.standin) {
		/* A GPU, but a UCX without CUDA. */
		fixture_ok(dtconv_engine_destroy(parties[0].engine));
		bed_close(parties[0].bed);
		close(sockets[0]);
		close(sockets[1]);
		return;
	}
	fixture_ok(status);
	fixture_ok(open_end(&parties[1], sockets[1]));
	device_message_pass(parties, _i & 1, _i & 2);
	ck_assert(party_query(&parties[1]).peer_is_pinned);
	ck_assert_uint_ge(ucx_faults.calls[UCX_RECEIVE], DEVICE_MESSAGE_BYTES / 4096);
	/* Each fragment is sent from a device and received by one. */
	if (gpu.standin)
		ck_assert_uint_ge(ucx_faults.on_devices,
				  2 + 2 * (DEVICE_MESSAGE_BYTES / 4096));
	party_close(&parties[0]);
	party_close(&parties[1]);
}
END_TEST

START_TEST(a_ucx_that_does_not_know_devices_refuses_them)
{
	int sockets[2];

	if (!gpu.standin)
		return;
	ucx_faults = (struct ucx_faults){ 0 };
	staging = DTCONV_MEMORY_DEVICE;
	party_sockets(sockets);
	expect_refusal(&parties[0], sockets[0]);
	ck_assert_uint_eq(ucx_faults.mapped, 0);
	close(sockets[0]);
	close(sockets[1]);
}
END_TEST

int main(void)
{
	gpu_open_in_program();
	Suite *suite = suite_create("channels over UCX and devices");
	TCase *device = gpu_case(suite, "device", 120);

	tcase_add_loop_test(device, fragments_go_into_memory_that_the_device_reads, 0, 4);
	tcase_add_loop_test(device,
			    fragments_may_come_eagerly_where_the_device_reads_none, 0, 4);
	tcase_add_loop_test(device, staging_memory_may_be_a_device_s, 0, 4);
	tcase_add_test(device, a_ucx_that_does_not_know_devices_refuses_them);
	int failed = fixture_run(suite);
	gpu_close();
	return failed;
}
