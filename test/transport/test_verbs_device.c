/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Channels over verbs whose staging memory is a device's: the adapter reaches it as a DMA-BUF, or, where it takes none,
 * through a peer module of the device driver. Where it has neither, the channel is refused with a sentence.
 */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <dtconv/pool.h>
#include <dtconv/verbs.h>

#include "bed_verbs.h"
#include "device_message.h"
#include "exchange.h"
#include "process.h"
#include "support/fixture.h"
#include "support/gpu.h"

static const struct verbs_standin *standin;
static struct party parties[2];

/* What a pool says of a registrar's refusal is not all that the registrar has said. */
static struct dtconv_context *context;
static char said[4096];

static void hear(void *arg, enum dtconv_log_level level, const char *file, int line,
		 const char *text)
{
	(void)arg, (void)level, (void)file, (void)line;
	strncat(said, text, sizeof(said) - strlen(said) - 1);
}

static void reset(void)
{
	const struct dtconv_context_params params = { .struct_size = sizeof(params),
						      .log = hear,
						      .log_level = DTCONV_LOG_ERROR };

	fixture_ok(dtconv_context_create(&params, &context));
	said[0] = 0;
	standin = bed_standin();
	ck_assert_ptr_nonnull(standin);
	standin->reset();
	standin->set_device_memory(gpu.standin->peek);
}

/* ---- two ends -------------------------------------------------------------------------------- */

static int open_end(struct party *party, int socket)
{
	party->context = context;
	party->bed = bed_open(context);
	const struct dtconv_channel_params params = { .struct_size = sizeof(params),
						      .kind = DTCONV_MEMORY_DEVICE,
						      .device = -1,
						      .fragments = 3,
						      .fragment_bytes = 4096,
						      .transport =
							      bed_transport(party->bed) };
	fixture_ok(dtconv_engine_create(context, NULL, &party->engine));
	return dtconv_channel_open(party->engine, socket, &params, &party->channel);
}

static void open_ends(void)
{
	int sockets[2];

	party_sockets(sockets);
	for (int i = 0; i < 2; i++)
		fixture_ok(open_end(&parties[i], sockets[i]));
}

/* Nothing is left. */
static void finish(void)
{
	ck_assert_uint_eq(standin->live(), 0);
	dtconv_context_destroy(context);
}

static void close_ends(void)
{
	for (int i = 0; i < 2; i++)
		party_close(&parties[i]);
	finish();
}

/* ---- messages -------------------------------------------------------------------------------- */

START_TEST(fragments_go_from_device_to_device)
{
	reset();
	open_ends();
	device_message_pass(parties, _i & 1, _i & 2);
	ck_assert(party_query(&parties[1]).peer_is_pinned);
	/* The slab of each end; headers are the host's. */
	ck_assert_uint_eq(standin->calls(VERBS_REG_DMABUF), 2);
	ck_assert_uint_eq(standin->calls(VERBS_REG_MR), 2);
	close_ends();
}
END_TEST

START_TEST(a_peer_module_does_where_no_dma_buf_is_taken)
{
	reset();
	standin->set_adapter(&(struct verbs_adapter){ .has_peer_module = 1 });
	standin->refuse(VERBS_REG_DMABUF, 0, EOPNOTSUPP);
	open_ends();
	device_message_pass(parties, true, true);
	ck_assert_uint_eq(standin->calls(VERBS_REG_MR), 4);
	close_ends();
}
END_TEST

/* By the adapter, or by the driver, which exports nothing. */
START_TEST(an_adapter_that_cannot_reach_devices_refuses_them)
{
	const size_t files = process_files();
	int sockets[2];

	reset();
	if (_i)
		gpu.standin->set(STANDIN_DMA_BUF, 0);
	else
		standin->refuse(VERBS_REG_DMABUF, 0, EOPNOTSUPP);
	party_sockets(sockets);
	ck_assert_int_eq(open_end(&parties[0], sockets[0]), DTCONV_ERR_UNSUPPORTED);
	ck_assert(strstr(said, "standin0 cannot register"));
	ck_assert(strstr(said, "bytes of device 0, neither as a DMA-BUF"));
	ck_assert(strstr(said, "kind PINNED needs neither"));
	ck_assert_uint_eq(standin->calls(VERBS_REG_DMABUF), _i ? 0 : 1);
	fixture_ok(dtconv_engine_destroy(parties[0].engine));
	bed_close(parties[0].bed);
	close(sockets[0]);
	close(sockets[1]);
	finish();
	ck_assert_uint_eq(process_files(), files);
	gpu.standin->set(STANDIN_DMA_BUF, 1);
}
END_TEST

/* ---- slabs ----------------------------------------------------------------------------------- */

START_TEST(only_slabs_of_devices_are_exported)
{
	const struct dtconv_slab host = { .kind = DTCONV_MEMORY_PINNED, .bytes = 4096 };
	int fd = -1;

	ck_assert_int_eq(dtconv_slab_dma_buf(NULL, &host, &fd), DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_slab_dma_buf(fixture_context, NULL, &fd),
			 DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_slab_dma_buf(fixture_context, &host, NULL),
			 DTCONV_ERR_INVAL);
	fixture_status(dtconv_slab_dma_buf(fixture_context, &host, &fd),
		       DTCONV_ERR_INVAL);
	ck_assert(strstr(fixture_error(), "not memory of a device"));
	ck_assert_int_eq(fd, -1);
}
END_TEST

int main(void)
{
	gpu_open_in_program();
	Suite *suite = suite_create("channels over verbs and devices");
	TCase *device = gpu_case(suite, "device", 120);

	if (gpu.standin) {
		tcase_add_loop_test(device, fragments_go_from_device_to_device, 0, 4);
		tcase_add_test(device, a_peer_module_does_where_no_dma_buf_is_taken);
		tcase_add_loop_test(
			device, an_adapter_that_cannot_reach_devices_refuses_them, 0, 2);
	}
	tcase_add_test(device, only_slabs_of_devices_are_exported);
	int failed = fixture_run(suite);
	gpu_close();
	return failed;
}
