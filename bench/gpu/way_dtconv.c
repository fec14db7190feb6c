/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several modes of dtconv. By the host's clock they time the blocking call; by the device's, a
 * started operation on the bench's stream.
 */
#include "config.h"

#include "bench/gpu/way.h"

#include <dtconv/dtconv.h>

#include "bench/layouts/layout.h"

/* ---- convertors ------------------------------------------------------------------------ */

static enum dtconv_memory_kind kind_of(enum gpu_place place)
{
	switch (place) {
	case PLACE_HOST:
		return DTCONV_MEMORY_HOST;
	case PLACE_PINNED:
	case PLACE_REGISTERED:
		return DTCONV_MEMORY_PINNED;
	default:
		return DTCONV_MEMORY_DEVICE;
	}
}

static struct dtconv_context *context_of(const struct engine *e, const struct way *w)
{
	return w->own_context ? w->own_context : e->context;
}

static int create(struct engine *e, struct way *w, enum bench_op op)
{
	const struct bench_case *c = e->c;
	struct dtconv_type *type = w->own_type ? w->own_type : c->type;

	if (op == BENCH_PACK)
		return dtconv_convertor_create_pack(type, c->count, w->user,
						    &w->convertors[op]);
	return dtconv_convertor_create_unpack(type, c->count, w->user,
					      &w->convertors[op]);
}

static void release_convertors(struct way *w)
{
	for (int op = BENCH_PACK; op <= BENCH_UNPACK; op++) {
		dtconv_convertor_destroy(w->convertors[op]);
		w->convertors[op] = NULL;
	}
}

static int prepare_convertors(struct engine *e, struct way *w)
{
	struct dtconv_convertor_params params = { .struct_size = sizeof(params) };
	int status = 0;

	if (w->params)
		params = *w->params;
	params.flags |= DTCONV_CONVERTOR_STREAM;
	params.user_memory = kind_of(w->user_place);
	params.packed_memory = kind_of(w->packed_place);
	params.stream = w->by->stream;

	for (int op = BENCH_PACK; op <= BENCH_UNPACK && !status; op++) {
		status = create(e, w, (enum bench_op)op);
		if (!status)
			status = dtconv_convertor_configure(w->convertors[op], &params);
	}
	if (status)
		release_convertors(w);
	return way_problem(e, context_of(e, w), status);
}

/* Start at the beginning of the stream, with declared memory kinds. */
static int start(struct engine *e, struct way *w, enum bench_op op, void *packed)
{
	int status = dtconv_convertor_seek(w->convertors[op], 0);

	if (!status)
		status = dtconv_convertor_start(w->convertors[op], packed, e->c->bytes,
						NULL, NULL);
	return status;
}

static int queue_convertor(struct engine *e, struct way *w, enum bench_op op)
{
	return way_problem(e, context_of(e, w), start(e, w, op, w->packed));
}

/* Whichever of the two is in flight. */
static int finish_convertor(struct engine *e, struct way *w)
{
	for (int op = BENCH_PACK; op <= BENCH_UNPACK; op++) {
		int status = dtconv_convertor_wait(w->convertors[op], NULL);

		if (status && status != DTCONV_ERR_STATE)
			return way_problem(e, context_of(e, w), status);
	}
	return 0;
}

/* ---- one-shot calls, whole or in fragments --------------------------------------------- */

static int one_shot(struct engine *e, struct way *w, enum bench_op op)
{
	const struct bench_case *c = e->c;
	int status;

	if (op == BENCH_PACK)
		status = dtconv_pack(c->type, c->count, w->user, w->packed, c->bytes,
				     NULL);
	else
		status = dtconv_unpack(c->type, c->count, w->user, w->packed, c->bytes,
				       NULL);
	return way_problem(e, e->context, status);
}

static int in_fragments(struct engine *e, struct way *w, enum bench_op op)
{
	struct dtconv_convertor *convertor = w->convertors[op];
	int status = dtconv_convertor_seek(convertor, 0);
	size_t at = 0;

	while (!status && at < e->c->bytes) {
		size_t moved = 0;

		status = op == BENCH_PACK
				 ? dtconv_convertor_pack(convertor, w->packed + at,
							 w->fragment, &moved)
				 : dtconv_convertor_unpack(convertor, w->packed + at,
							   e->c->bytes - at < w->fragment
								   ? e->c->bytes - at
								   : w->fragment,
							   &moved);
		if (!status && !moved)
			status = DTCONV_ERR_TRUNCATE;
		at += moved;
	}
	return way_problem(e, e->context, status);
}

void way_dtconv(struct engine *e, const char *name, struct gpu *gpu,
		const struct route *route)
{
	static const struct way_ops whole = { .prepare = prepare_convertors,
					      .once = one_shot,
					      .queue = queue_convertor,
					      .finish = finish_convertor,
					      .release = release_convertors };
	static const struct way_ops fragments = { .prepare = prepare_convertors,
						  .once = in_fragments,
						  .release = release_convertors };

	way_new(e, name, gpu, route->fragment ? &fragments : &whole, route);
}

/* ---- a convertor that is kept ---------------------------------------------------------- */

static int rebound(struct engine *e, struct way *w, enum bench_op op)
{
	const struct bench_case *c = e->c;
	struct dtconv_convertor *convertor = w->convertors[op];
	size_t moved;
	int status;

	if (op == BENCH_PACK) {
		status = dtconv_convertor_rebind_pack(convertor, c->type, c->count,
						      w->user);
		if (!status)
			status = dtconv_convertor_pack(convertor, w->packed, c->bytes,
						       &moved);
	} else {
		status = dtconv_convertor_rebind_unpack(convertor, c->type, c->count,
							w->user);
		if (!status)
			status = dtconv_convertor_unpack(convertor, w->packed, c->bytes,
							 &moved);
	}
	return way_problem(e, e->context, status);
}

void way_convertor(struct engine *e, const char *name, struct gpu *gpu,
		   const struct route *route)
{
	static const struct way_ops ops = { .prepare = prepare_convertors,
					    .once = rebound,
					    .queue = queue_convertor,
					    .finish = finish_convertor,
					    .release = release_convertors };

	way_new(e, name, gpu, &ops, route);
}

static int started(struct engine *e, struct way *w, enum bench_op op)
{
	int status = start(e, w, op, w->packed);

	if (!status)
		do
			status = dtconv_convertor_test(w->convertors[op], NULL);
		while (status == DTCONV_INPROGRESS);
	return way_problem(e, context_of(e, w), status);
}

const struct way_ops way_started_ops = { .prepare = prepare_convertors,
					 .once = started,
					 .queue = queue_convertor,
					 .finish = finish_convertor,
					 .release = release_convertors };

void way_started(struct engine *e, const char *name, struct gpu *gpu,
		 const struct route *route)
{
	way_new(e, name, gpu, &way_started_ops, route);
}

/* ---- device memory in between ---------------------------------------------------------- */

static int prepare_staged(struct engine *e, struct way *w)
{
	w->staging = gpu_memory(w->gpu, PLACE_DEVICE, ROLE_PACKED, e->c->bytes);
	if (w->staging)
		return prepare_convertors(e, w);
	engine_problem(e, "%s", w->gpu->problem);
	return -1;
}

static int queue_staged(struct engine *e, struct way *w, enum bench_op op)
{
	struct gpu *gpu = w->gpu;
	int status = 0;
	bool took = true;

	if (op == BENCH_UNPACK)
		took = GPU_CALL(gpu, MemcpyAsync(gpu_address(w->staging),
						 gpu_address(w->packed), e->c->bytes,
						 gpu->stream));
	if (took)
		status = start(e, w, op, w->staging);
	if (took && !status && op == BENCH_PACK)
		took = GPU_CALL(gpu, MemcpyAsync(gpu_address(w->packed),
						 gpu_address(w->staging), e->c->bytes,
						 gpu->stream));
	if (!took)
		engine_problem(e, "%s", gpu->problem);
	return took ? way_problem(e, e->context, status) : -1;
}

static int staged(struct engine *e, struct way *w, enum bench_op op)
{
	if (queue_staged(e, w, op))
		return -1;
	if (GPU_CALL(w->gpu, StreamSynchronize(w->gpu->stream)))
		return finish_convertor(e, w);
	engine_problem(e, "%s", w->gpu->problem);
	return -1;
}

void way_staged(struct engine *e, const char *name, struct gpu *gpu,
		const struct route *route)
{
	static const struct way_ops ops = { .prepare = prepare_staged,
					    .once = staged,
					    .queue = queue_staged,
					    .finish = finish_convertor,
					    .release = release_convertors };

	way_new(e, name, gpu, &ops, route);
}

/* ---- a graph --------------------------------------------------------------------------- */

static bool record_graph(struct engine *e, struct way *w, enum bench_op op)
{
	struct gpu *gpu = w->gpu;
	CUgraph graph = NULL;
	int status;
	bool took;

	if (!GPU_CALL(gpu, StreamBeginCapture(gpu->stream,
					      CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)))
		return false;
	status = start(e, w, op, w->packed);
	if (!status)
		status = dtconv_convertor_wait(w->convertors[op], NULL);
	took = GPU_CALL(gpu, StreamEndCapture(gpu->stream, &graph));
	if (way_problem(e, e->context, status))
		took = false;
	else if (took)
		took = GPU_CALL(gpu, GraphInstantiateWithFlags(&w->graphs[op], graph, 0));
	if (graph)
		GPU_CALL(gpu, GraphDestroy(graph));
	return took;
}

static void release_graphs(struct way *w)
{
	for (int op = BENCH_PACK; op <= BENCH_UNPACK; op++) {
		if (w->graphs[op])
			GPU_CALL(w->gpu, GraphExecDestroy(w->graphs[op]));
		w->graphs[op] = NULL;
	}
	release_convertors(w);
}

/* Run a job before the capture, because the first one allocates. */
static int prepare_graph(struct engine *e, struct way *w)
{
	e->problem[0] = '\0';
	if (prepare_convertors(e, w) || one_shot(e, w, BENCH_PACK))
		return -1;
	if (record_graph(e, w, BENCH_PACK) && record_graph(e, w, BENCH_UNPACK))
		return 0;
	if (!e->problem[0])
		engine_problem(e, "%s", w->gpu->problem);
	release_graphs(w);
	return -1;
}

static int launched(struct engine *e, struct way *w, enum bench_op op)
{
	if (GPU_CALL(w->gpu, GraphLaunch(w->graphs[op], w->gpu->stream)) &&
	    GPU_CALL(w->gpu, StreamSynchronize(w->gpu->stream)))
		return 0;
	engine_problem(e, "%s", w->gpu->problem);
	return -1;
}

void way_graph(struct engine *e, const char *name, struct gpu *gpu,
	       const struct route *route)
{
	static const struct way_ops ops = { .prepare = prepare_graph,
					    .once = launched,
					    .release = release_graphs };

	way_new(e, name, gpu, &ops, route);
}
