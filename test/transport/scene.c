/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The scene of a message.
 */
#include "config.h"

#include "scene.h"

/* More than any of these messages needs. */
#define PATIENCE 1000000

static int emit(void *arg, struct dtconv_fragment *fragment, uint64_t offset,
		size_t bytes, unsigned flags)
{
	struct scene *scene = arg;

	return loopback_emit(&scene->link, fragment, offset, bytes, flags);
}

static void see_sent(void *arg, int status, size_t moved)
{
	struct scene *scene = arg;

	see(&scene->sent, status, moved);
}

void scene_open(struct scene *scene, const char *text, size_t count,
		struct scene_pool pool, const struct loopback_faults *faults,
		uint64_t seed)
{
	const size_t stride = (pool.fragment_bytes + 255) / 256 * 256;
	const struct dtconv_pool_params pool_params = {
		.struct_size = sizeof(pool_params),
		.kind = DTCONV_MEMORY_HOST,
		.fragment_bytes = pool.fragment_bytes,
		.slab_bytes = pool.fragments * stride
	};

	memset(scene, 0, sizeof(*scene));
	fixture_open(&scene->stage, text, count);
	fixture_ok(dtconv_engine_create(fixture_context, NULL, &scene->engine));
	fixture_ok(dtconv_pool_create(fixture_context, &pool_params, &scene->pool));
	loopback_open(&scene->link, faults, seed);
	scene->link.expected = scene->stage.stream;
	scene->link.bytes = scene->stage.bytes;
	const struct dtconv_source source = { .fd = -1,
					      .poll = loopback_poll,
					      .arg = &scene->link };
	fixture_ok(dtconv_engine_attach(scene->engine, &source, &scene->source));
	scene->packs = fixture_pack(&scene->stage);
	scene->unpacks = fixture_unpack(&scene->stage);
	scene->send_params =
		(struct dtconv_send_params){ .struct_size = sizeof(scene->send_params),
					     .pool = scene->pool,
					     .emit = emit,
					     .done = see_sent,
					     .arg = scene };
	scene->recv_params =
		(struct dtconv_recv_params){ .struct_size = sizeof(scene->recv_params),
					     .done = see,
					     .arg = &scene->received };
}

void scene_close(struct scene *scene)
{
	scene_pool_is_whole(scene);
	fixture_ok(dtconv_send_destroy(scene->send));
	fixture_ok(dtconv_recv_destroy(scene->recv));
	fixture_ok(dtconv_engine_destroy(scene->engine));
	fixture_ok(dtconv_pool_destroy(scene->pool));
	ck_assert(loopback_close(&scene->link));
	dtconv_convertor_destroy(scene->packs);
	dtconv_convertor_destroy(scene->unpacks);
	fixture_close(&scene->stage);
}

void scene_start(struct scene *scene)
{
	fixture_ok(dtconv_recv_start(scene->engine, &scene->recv_params, scene->unpacks,
				     &scene->recv));
	scene->link.recv = scene->recv;
	fixture_ok(dtconv_send_start(scene->engine, &scene->send_params, scene->packs,
				     &scene->send));
}

size_t scene_progress(struct scene *scene)
{
	size_t worked;

	fixture_ok(dtconv_engine_progress(scene->engine, 0, &worked));
	return worked;
}

static bool is_done(struct scene *scene)
{
	return scene->sent.calls && scene->received.calls &&
	       loopback_is_idle(&scene->link);
}

/* Nothing comes any more. */
static bool is_cut_off(struct scene *scene)
{
	return scene->sent.calls && !scene->received.calls &&
	       loopback_is_idle(&scene->link);
}

void scene_drive(struct scene *scene)
{
	int quiet = 0;

	for (int i = 0; !is_done(scene); i++) {
		ck_assert_int_lt(i, PATIENCE);
		size_t worked = scene_progress(scene);
		quiet = worked ? 0 : quiet + 1;
		if (quiet > 2 && is_cut_off(scene))
			(void)dtconv_recv_fail(scene->recv, DTCONV_ERR_PEER);
	}
}

void scene_pool_is_whole(struct scene *scene)
{
	struct dtconv_pool_attr attr = { .struct_size = sizeof(attr) };

	fixture_ok(dtconv_pool_query(scene->pool, &attr));
	ck_assert_uint_eq(attr.out, 0);
	ck_assert_uint_eq(attr.free + attr.abandoned, attr.fragments);
}

void scene_check(struct scene *scene, int sent, int received)
{
	const size_t bytes = scene->stage.bytes;

	scene_pool_is_whole(scene);
	ck_assert_int_eq(scene->sent.calls, 1);
	ck_assert_int_eq(scene->received.calls, 1);
	ck_assert_int_eq(scene->sent.status, sent);
	ck_assert_int_eq(scene->received.status, received);
	ck_assert_uint_eq(scene->link.wrong, 0);
	ck_assert_uint_eq(scene->link.emitted, scene->link.sent);
	ck_assert_uint_eq(scene->link.parts, scene->link.released);
	if (!sent) {
		ck_assert_uint_eq(scene->sent.moved, bytes);
		ck_assert_uint_eq(scene->link.emitted_bytes, bytes);
	}
	if (received)
		return;
	ck_assert_uint_eq(scene->received.moved, bytes);
	stage_deliver(&scene->stage, 0, bytes);
	fixture_arrived(&scene->stage);
}
