/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Driver copies, which are the upper bound of the speed, and an empty kernel.
 */
#include "config.h"

#include "bench/gpu/way.h"

#include <string.h>

#include "bench/layouts/layout.h"

static int answer(struct engine *e, const struct way *w, bool took)
{
	if (took)
		return 0;
	engine_problem(e, "%s", w->gpu->problem);
	w->gpu->problem[0] = '\0';
	return -1;
}

/* ---- as many bytes --------------------------------------------------------------------- */

static int queue_copy(struct engine *e, struct way *w, enum bench_op op)
{
	const void *from = op == BENCH_PACK ? w->flat : w->packed;
	void *to = op == BENCH_PACK ? w->packed : w->flat;

	return answer(e, w,
		      GPU_CALL(w->gpu, MemcpyAsync(gpu_address(to), gpu_address(from),
						   e->c->bytes, w->gpu->stream)));
}

static int finish_stream(struct engine *e, struct way *w)
{
	return answer(e, w, GPU_CALL(w->gpu, StreamSynchronize(w->gpu->stream)));
}

static int copy(struct engine *e, struct way *w, enum bench_op op)
{
	return queue_copy(e, w, op) ? -1 : finish_stream(e, w);
}

void way_copy(struct engine *e, const char *name, struct gpu *gpu,
	      const struct route *route)
{
	static const struct way_ops ops = { .once = copy, .queue = queue_copy };

	way_new(e, name, gpu, &ops, route);
	e->raw = true;
}

/* ---- two dimensions -------------------------------------------------------------------- */

static CUDA_MEMCPY2D one_way(CUdeviceptr from, size_t from_pitch, CUdeviceptr to,
			     size_t to_pitch, const struct bench_case *c)
{
	return (CUDA_MEMCPY2D){ .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
				.srcDevice = from,
				.srcPitch = from_pitch,
				.dstMemoryType = CU_MEMORYTYPE_UNIFIED,
				.dstDevice = to,
				.dstPitch = to_pitch,
				.WidthInBytes = c->block,
				.Height = c->bytes / c->block };
}

static int prepare_copy2d(struct engine *e, struct way *w)
{
	const struct bench_case *c = e->c;
	CUdeviceptr user = gpu_address(w->user), packed = gpu_address(w->packed);

	w->copies[BENCH_PACK] = one_way(user, c->pitch, packed, c->block, c);
	w->copies[BENCH_UNPACK] = one_way(packed, c->block, user, c->pitch, c);
	return 0;
}

static int queue_copy2d(struct engine *e, struct way *w, enum bench_op op)
{
	return answer(e, w,
		      GPU_CALL(w->gpu, Memcpy2DAsync(&w->copies[op], w->gpu->stream)));
}

static int copy2d(struct engine *e, struct way *w, enum bench_op op)
{
	return queue_copy2d(e, w, op) ? -1 : finish_stream(e, w);
}

void way_copy2d(struct engine *e, const char *name, struct gpu *gpu,
		const struct route *route)
{
	static const struct way_ops ops = { .prepare = prepare_copy2d,
					    .once = copy2d,
					    .queue = queue_copy2d };

	way_new(e, name, gpu, &ops, route);
}

/* ---- nothing at all -------------------------------------------------------------------- */

static int flag(struct engine *e, struct way *w, enum bench_op op)
{
	uint64_t value = *w->gpu->flag + 1;

	(void)op;
	if (answer(e, w, gpu_store_flag(w->gpu, value)))
		return -1;
	gpu_wait_flag(w->gpu, value);
	return 0;
}

void way_flag(struct engine *e, const char *name, struct gpu *gpu,
	      const struct route *route)
{
	static const struct way_ops ops = { .once = flag };

	way_new(e, name, gpu, &ops, route);
}
