/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contestants of a copy from one layout to another. All are timed until the host sees completion: it
 * polls a flag that a kernel behind the plain kernels and the driver's copies stores.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench/gpu/fused.h"
#include "bench/gpu/layout_copy.h"
#include "bench/gpu/plain.h"
#include "bench/gpu/roof_tables.h"

/* The kernel, its module and tables; the pointers that it is given. */
struct fused {
	struct gpu *by;
	struct pattern patterns[2];
	CUmodule module;
	CUdeviceptr tables[2]; /* 0: none */
	unsigned char *sides[2];
	struct plain_kernel best;
};

/* ---- dtconv ---------------------------------------------------------------------------- */

static int copy_once(struct engine *e, struct way *w, enum bench_op op)
{
	const struct copy_side *source = &w->copying->source,
			       *target = &w->copying->target;

	(void)op;
	return way_problem(e, e->context,
			   dtconv_copy(source->c.type, source->c.count, copy_zero(source),
				       target->c.type, target->c.count, copy_zero(target),
				       NULL));
}

void way_copying(struct engine *e, const char *name, struct gpu *gpu,
		 const struct route *route)
{
	static const struct way_ops ops = { .once = copy_once };

	way_new(e, name, gpu, &ops, route);
}

/* ---- packed and unpacked --------------------------------------------------------------- */

static void release_twice(struct way *w)
{
	for (int op = BENCH_PACK; op <= BENCH_UNPACK; op++) {
		dtconv_convertor_destroy(w->convertors[op]);
		w->convertors[op] = NULL;
	}
}

static int prepare_twice(struct engine *e, struct way *w)
{
	const struct copy_side *source = &w->copying->source,
			       *target = &w->copying->target;
	struct gpu *const devices[] = { w->copying->by, w->copying->to };
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .flags = DTCONV_CONVERTOR_STREAM,
						  .user_memory = DTCONV_MEMORY_DEVICE,
						  .packed_memory = DTCONV_MEMORY_DEVICE };
	int status = dtconv_convertor_create_pack(source->c.type, source->c.count,
						  copy_zero(source),
						  &w->convertors[BENCH_PACK]);

	if (!status)
		status = dtconv_convertor_create_unpack(target->c.type, target->c.count,
							copy_zero(target),
							&w->convertors[BENCH_UNPACK]);
	for (int op = BENCH_PACK; op <= BENCH_UNPACK && !status; op++) {
		params.stream = devices[op]->stream;
		status = dtconv_convertor_configure(w->convertors[op], &params);
	}
	if (status)
		release_twice(w);
	return way_problem(e, e->context, status);
}

static int start(struct way *w, enum bench_op op, void *packed)
{
	int status = dtconv_convertor_seek(w->convertors[op], 0);

	return status ? status
		      : dtconv_convertor_start(w->convertors[op], packed,
					       w->copying->bytes, NULL, NULL);
}

static int await_both(struct engine *e, struct way *w, int status)
{
	for (int op = BENCH_PACK; op <= BENCH_UNPACK && !status; op++)
		status = dtconv_convertor_wait(w->convertors[op], NULL);
	return way_problem(e, e->context, status);
}

static int copy_twice(struct engine *e, struct way *w, enum bench_op op)
{
	int status = start(w, BENCH_PACK, w->copying->packed);

	(void)op;
	if (!status)
		status = start(w, BENCH_UNPACK, w->copying->packed);
	return await_both(e, w, status);
}

void way_copying_twice(struct engine *e, const char *name, struct gpu *gpu,
		       const struct route *route)
{
	static const struct way_ops ops = { .prepare = prepare_twice,
					    .once = copy_twice,
					    .release = release_twice };

	way_new(e, name, gpu, &ops, route);
}

/* Behind the pack, and the unpack behind it. */
static bool queue_hop(const struct layout_copy *copy)
{
	struct gpu *by = copy->by;

	return GPU_CALL(by, MemcpyAsync(gpu_address(copy->delivered),
					gpu_address(copy->packed), copy->bytes,
					by->stream)) &&
	       GPU_CALL(by, EventRecord(by->end, by->stream)) &&
	       GPU_CALL(by, StreamWaitEvent(copy->to->stream, by->end, 0));
}

static int copy_hops(struct engine *e, struct way *w, enum bench_op op)
{
	const struct layout_copy *copy = w->copying;
	int status = start(w, BENCH_PACK, copy->packed);

	(void)op;
	if (!status && !queue_hop(copy)) {
		plain_refused(e, copy->by);
		return -1;
	}
	if (!status)
		status = start(w, BENCH_UNPACK, copy->delivered);
	return await_both(e, w, status);
}

void way_copying_hops(struct engine *e, const char *name, struct gpu *gpu,
		      const struct route *route)
{
	static const struct way_ops ops = { .prepare = prepare_twice,
					    .once = copy_hops,
					    .release = release_twice };

	way_new(e, name, gpu, &ops, route);
}

/* ---- a plain kernel -------------------------------------------------------------------- */

void fused_close(struct fused *fused)
{
	if (!fused)
		return;
	struct gpu *gpu = fused->by;

	gpu_enter(gpu);
	for (int side = 0; side < 2; side++) {
		pattern_release(&fused->patterns[side]);
		if (fused->tables[side])
			GPU_CALL(gpu, MemFree(fused->tables[side]));
	}
	if (fused->module)
		GPU_CALL(gpu, ModuleUnload(fused->module));
	gpu_leave(gpu);
	free(fused);
}

static bool find_patterns(struct engine *e, const struct layout_copy *copy,
			  struct fused *fused)
{
	const struct copy_side *sides[] = { &copy->source, &copy->target };
	const char *why;

	for (int side = 0; side < 2; side++) {
		unsigned char *zero = copy_zero(sides[side]);

		if (pattern_find(&sides[side]->c, zero, &fused->patterns[side], &why)) {
			engine_problem(e, "%s", why);
			return false;
		}
		fused->sides[side] = zero + fused->patterns[side].first;
	}
	fused_share_word(&fused->patterns[0], &fused->patterns[1]);
	return true;
}

static bool compile(struct engine *e, const struct layout_copy *copy, struct fused *fused)
{
	size_t most = copy->source.region_bytes > copy->target.region_bytes
			      ? copy->source.region_bytes
			      : copy->target.region_bytes;
	char *text = fused_write(&fused->patterns[0], &fused->patterns[1],
				 most / fused->patterns[0].word > INT32_MAX);
	char arch_option[40];
	const char *options[] = { arch_option };
	bool done = false;
	int arch;

	if (!text) {
		engine_problem(e, "no memory for the text of a kernel");
	} else if (!plain_arch(copy->by, &arch)) {
		plain_refused(e, copy->by);
	} else {
		snprintf(arch_option, sizeof(arch_option), "--gpu-architecture=sm_%d",
			 arch);
		done = plain_load(e, copy->by, text, options, 1, &fused->module);
	}
	free(text);
	return done;
}

static bool upload_table(struct engine *e, struct gpu *gpu, struct fused *fused, int side)
{
	const struct pattern *p = &fused->patterns[side];
	struct roof_table table;
	bool done;

	if (p->kind == PATTERN_GRID)
		return true;
	table = roof_make_places(p);
	done = table.memory &&
	       plain_upload(e, gpu, table.memory, table.bytes, &fused->tables[side]);
	if (!table.memory)
		engine_problem(e, "cannot allocate a table of displacements");
	free(table.memory);
	return done;
}

static void give(struct fused *fused, void *arguments[4])
{
	for (int side = 0; side < 2; side++) {
		arguments[side] = &fused->sides[side];
		arguments[2 + side] = &fused->tables[side];
	}
}

static bool choose(struct engine *e, struct gpu *gpu, struct fused *fused)
{
	uint64_t words = pattern_words(&fused->patterns[0]);
	void *arguments[4];
	double best = 0;

	give(fused, arguments);
	for (unsigned unroll = 1; unroll <= 8; unroll *= 2) {
		CUfunction function;
		char name[16];

		snprintf(name, sizeof(name), "copy_%u", unroll);
		if (!GPU_CALL(gpu, ModuleGetFunction(&function, fused->module, name)))
			break;
		plain_try(gpu, function, (words + unroll - 1) / unroll, arguments,
			  &fused->best, &best);
	}
	return best > 0 || plain_refused(e, gpu);
}

struct fused *fused_open(struct engine *e, const struct layout_copy *copy)
{
	struct fused *fused = calloc(1, sizeof(*fused));

	if (!fused) {
		engine_problem(e, "no memory");
		return NULL;
	}
	struct gpu *by = fused->by = copy->by;
	bool ready = (gpu_enter(by) || plain_refused(e, by)) &&
		     find_patterns(e, copy, fused) && compile(e, copy, fused) &&
		     upload_table(e, by, fused, 0) && upload_table(e, by, fused, 1) &&
		     choose(e, by, fused);
	gpu_leave(by);
	if (ready)
		return fused;
	fused_close(fused);
	return NULL;
}

bool fused_queue(struct fused *fused)
{
	void *arguments[4];

	give(fused, arguments);
	return plain_queue(fused->by, &fused->best, arguments);
}

static void release_fused(struct way *w)
{
	fused_close(w->fused);
	w->fused = NULL;
}

static int prepare_fused(struct engine *e, struct way *w)
{
	w->fused = fused_open(e, w->copying);
	return w->fused ? 0 : -1;
}

static int copy_fused(struct engine *e, struct way *w, enum bench_op op)
{
	(void)op;
	return plain_await(e, w->fused->by, fused_queue(w->fused));
}

void way_copying_fused(struct engine *e, const char *name, struct gpu *gpu,
		       const struct route *route)
{
	static const struct way_ops ops = { .prepare = prepare_fused,
					    .once = copy_fused,
					    .release = release_fused };

	way_new(e, name, gpu, &ops, route);
	plain_need_compiler(e);
}

/* ---- the driver's copies --------------------------------------------------------------- */

static int copy_2d(struct engine *e, struct way *w, enum bench_op op)
{
	const struct layout_copy *copy = w->copying;
	const CUDA_MEMCPY2D rows = { .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
				     .srcDevice = gpu_address(copy_zero(&copy->source)),
				     .srcPitch = copy->pitches[0],
				     .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
				     .dstDevice = gpu_address(copy_zero(&copy->target)),
				     .dstPitch = copy->pitches[1],
				     .WidthInBytes = copy->block,
				     .Height = copy->bytes / copy->block };

	(void)op;
	return plain_await(e, w->gpu,
			   GPU_CALL(w->gpu, Memcpy2DAsync(&rows, w->gpu->stream)));
}

void way_copying_2d(struct engine *e, const char *name, struct gpu *gpu,
		    const struct route *route)
{
	static const struct way_ops ops = { .once = copy_2d };

	way_new(e, name, gpu, &ops, route);
}

static int copy_raw(struct engine *e, struct way *w, enum bench_op op)
{
	const struct layout_copy *copy = w->copying;
	struct gpu *by = copy->by;

	(void)op;
	return plain_await(e, by,
			   GPU_CALL(by, MemcpyAsync(gpu_address(copy->target.device),
						    gpu_address(copy->source.device),
						    copy->bytes, by->stream)));
}

void way_copying_raw(struct engine *e, const char *name, struct gpu *gpu,
		     const struct route *route)
{
	static const struct way_ops ops = { .once = copy_raw };

	way_new(e, name, gpu, &ops, route);
	e->raw = true;
}
