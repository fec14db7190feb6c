/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One message from a stage's source to its target: an engine, a pool, a link, a send and a receive, and what their
 * callbacks have seen.
 */
#ifndef TEST_TRANSPORT_SCENE_H
#define TEST_TRANSPORT_SCENE_H

#include "loopback.h"
#include "support/fixture.h"
#include "support/seen.h"

struct scene {
	struct dtconv_engine *engine;
	struct dtconv_pool *pool;
	unsigned source; /* number of the link in the engine */
	struct loopback link;
	struct stage stage;
	struct dtconv_convertor *packs, *unpacks;
	struct dtconv_send_params send_params;
	struct dtconv_recv_params recv_params;
	struct dtconv_send *send;
	struct dtconv_recv *recv;
	struct seen sent, received;
};

struct scene_pool {
	size_t fragments, fragment_bytes;
};

/* Everything but the operations. */
void scene_open(struct scene *scene, const char *text, size_t count,
		struct scene_pool pool, const struct loopback_faults *faults,
		uint64_t seed);

/* Nothing may be left over. */
void scene_close(struct scene *scene);

/* Start the receive and the send. */
void scene_start(struct scene *scene);

/*
 * Make progress until both are done and the link is idle. A send that is done without having emitted everything, or
 * lost packets, end the receive with PEER, as a network would.
 */
void scene_drive(struct scene *scene);

/* All fragments are free, and every operation is done once with that status; right bytes if it is 0. */
void scene_check(struct scene *scene, int sent, int received);

size_t scene_progress(struct scene *scene);
void scene_pool_is_whole(struct scene *scene);

#endif
