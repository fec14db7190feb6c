/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who moves a message whose list is new: all costs count, from the caller's displacements until the host sees
 * completion and nothing of the message is left.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include <dtconv/dtconv.h>

#include "bench/gpu/fresh.h"
#include "bench/gpu/plain.h"

/* ---- dtconv ---------------------------------------------------------------------------- */

static int make_type(struct engine *e, const struct fresh *fresh, const ptrdiff_t *list,
		     struct dtconv_type **type)
{
	struct dtconv_type *byte = dtconv_type_predefined(e->context, DTCONV_BYTE);
	int status = dtconv_type_create_hindexed_block(fresh->blocks, fresh->block, list,
						       byte, type);

	dtconv_type_unref(byte);
	return status ? status : dtconv_type_commit(*type);
}

static int once(struct engine *e, struct way *w, enum bench_op op)
{
	struct fresh *fresh = w->fresh;
	struct dtconv_type *type = NULL;
	int status = make_type(e, fresh, fresh_next(fresh), &type);

	if (!status && op == BENCH_PACK)
		status = dtconv_pack(type, 1, fresh->user, fresh->packed,
				     fresh_bytes(fresh), NULL);
	else if (!status)
		status = dtconv_unpack(type, 1, fresh->user, fresh->packed,
				       fresh_bytes(fresh), NULL);
	dtconv_type_unref(type);
	return way_problem(e, e->context, status);
}

void way_fresh(struct engine *e, const char *name, struct gpu *gpu,
	       const struct route *route)
{
	static const struct way_ops ops = { .once = once };

	way_new(e, name, gpu, &ops, route);
}

/* ---- lists of pages -------------------------------------------------------------------- */

static struct dtconv_pages describe_pages(const struct fresh *fresh, CUdeviceptr table)
{
	return (struct dtconv_pages){
		.struct_size = sizeof(struct dtconv_pages),
		.table = (const void *)(uintptr_t)table,
		.count = fresh_pages(fresh),
		.pool_pages = fresh->pool / fresh->planes,
		.page_bytes = fresh->block,
		.layer_count = fresh->planes,
		.layer_stride = (ptrdiff_t)(fresh->pool / fresh->planes * fresh->block)
	};
}

static int once_pages(struct engine *e, struct way *w, enum bench_op op)
{
	struct fresh *fresh = w->fresh;
	const struct dtconv_pages pages = describe_pages(fresh, fresh_next_table(fresh));
	int status = op == BENCH_PACK
			     ? dtconv_pages_pack(e->context, &pages, fresh->user, 0,
						 fresh->packed, fresh_bytes(fresh), NULL)
			     : dtconv_pages_unpack(e->context, &pages, fresh->user, 0,
						   fresh->packed, fresh_bytes(fresh),
						   NULL);

	return way_problem(e, e->context, status);
}

void way_pages(struct engine *e, const char *name, struct gpu *gpu,
	       const struct route *route)
{
	static const struct way_ops ops = { .once = once_pages };

	way_new(e, name, gpu, &ops, route);
}

/* ---- as many bytes --------------------------------------------------------------------- */

static int once_copy(struct engine *e, struct way *w, enum bench_op op)
{
	const struct fresh *fresh = w->fresh;
	const CUdeviceptr user = gpu_address(fresh->user),
			  packed = gpu_address(fresh->packed);
	const uint64_t value = *w->gpu->flag + 1;

	if (!GPU_CALL(w->gpu, MemcpyAsync(op == BENCH_PACK ? packed : user,
					  op == BENCH_PACK ? user : packed,
					  fresh_bytes(fresh), w->gpu->stream)) ||
	    !gpu_store_flag(w->gpu, value)) {
		plain_refused(e, w->gpu);
		return -1;
	}
	gpu_wait_flag(w->gpu, value);
	return 0;
}

void way_pages_copy(struct engine *e, const char *name, struct gpu *gpu,
		    const struct route *route)
{
	static const struct way_ops ops = { .once = once_copy };

	way_new(e, name, gpu, &ops, route);
	e->raw = true;
}

/* ---- a plain kernel -------------------------------------------------------------------- */

/* One word a thread, or several at the distance of a block of threads; BLOCK words in a block of the list. */
const char fresh_source[] =
	"typedef WORD word;\n"
	"static __device__ __forceinline__ long long place(unsigned i, const int *list) {\n"
	"#ifdef PAGES\n"
	"	unsigned plane = i / (PAGES * BLOCK), in = i % (PAGES * BLOCK);\n"
	"	return ((long long)plane * POOL + __ldg(list + in / BLOCK)) * BLOCK + in % BLOCK;\n"
	"#else\n"
	"	return (long long)__ldg(list + i / BLOCK) + i % BLOCK;\n"
	"#endif\n"
	"}\n"
	"#define ENTRIES(UNROLL) \\\n"
	"extern \"C\" __global__ void pack_##UNROLL(word *packed, word *user, const int *list) { \\\n"
	"	unsigned at = blockIdx.x * (blockDim.x * UNROLL) + threadIdx.x; \\\n"
	"	word w[UNROLL]; \\\n"
	"	_Pragma(\"unroll\") for (unsigned k = 0; k < UNROLL; k++) \\\n"
	"		if (at + k * blockDim.x < WORDS) w[k] = user[place(at + k * blockDim.x, list)]; \\\n"
	"	_Pragma(\"unroll\") for (unsigned k = 0; k < UNROLL; k++) \\\n"
	"		if (at + k * blockDim.x < WORDS) packed[at + k * blockDim.x] = w[k]; \\\n"
	"} \\\n"
	"extern \"C\" __global__ void unpack_##UNROLL(word *packed, word *user, const int *list) { \\\n"
	"	unsigned at = blockIdx.x * (blockDim.x * UNROLL) + threadIdx.x; \\\n"
	"	word w[UNROLL]; \\\n"
	"	_Pragma(\"unroll\") for (unsigned k = 0; k < UNROLL; k++) \\\n"
	"		if (at + k * blockDim.x < WORDS) w[k] = packed[at + k * blockDim.x]; \\\n"
	"	_Pragma(\"unroll\") for (unsigned k = 0; k < UNROLL; k++) \\\n"
	"		if (at + k * blockDim.x < WORDS) user[place(at + k * blockDim.x, list)] = w[k]; \\\n"
	"}\n"
	"ENTRIES(1)\nENTRIES(2)\nENTRIES(4)\nENTRIES(8)\n";

struct fresh_kernels {
	CUmodule module;
	CUdeviceptr list; /* on the device, in words; pages: the table of the message */
	int32_t *pinned;  /* what is uploaded to it; pages: nothing is */
	size_t word;
	struct plain_kernel best[2]; /* by operation */
};

static void release_plain(struct way *w)
{
	struct fresh_kernels *k = w->fresh_kernels;

	if (!k)
		return;
	if (k->pinned && k->list)
		GPU_CALL(w->gpu, MemFree(k->list));
	if (k->module)
		GPU_CALL(w->gpu, ModuleUnload(k->module));
	free(k);
	w->fresh_kernels = NULL;
}

static const char *name_word(struct fresh_kernels *k, size_t block)
{
	k->word = block % 16 ? 8 : 16;
	return k->word == 16 ? "uint4" : "unsigned long long";
}

static bool compile(struct engine *e, struct way *w)
{
	struct fresh_kernels *k = w->fresh_kernels;
	const struct fresh *fresh = w->fresh;
	char texts[6][48];
	const char *const options[] = { texts[0], texts[1], texts[2],
					texts[3], texts[4], texts[5] };
	int arch;

	if (!plain_arch(w->gpu, &arch))
		return plain_refused(e, w->gpu);
	snprintf(texts[0], sizeof(texts[0]), "--gpu-architecture=sm_%d", arch);
	snprintf(texts[1], sizeof(texts[1]), "-DWORD=%s", name_word(k, fresh->block));
	snprintf(texts[2], sizeof(texts[2]), "-DWORDS=%zuu",
		 fresh_bytes(fresh) / k->word);
	snprintf(texts[3], sizeof(texts[3]), "-DBLOCK=%zuu", fresh->block / k->word);
	if (!fresh->planes)
		return plain_load(e, w->gpu, fresh_source, options, 4, &k->module);
	snprintf(texts[4], sizeof(texts[4]), "-DPAGES=%zuu", fresh_pages(fresh));
	snprintf(texts[5], sizeof(texts[5]), "-DPOOL=%zuu", fresh->pool / fresh->planes);
	return plain_load(e, w->gpu, fresh_source, options, 6, &k->module);
}

static bool find_lists(struct engine *e, struct way *w)
{
	struct fresh_kernels *k = w->fresh_kernels;
	size_t bytes = w->fresh->blocks * sizeof(*k->pinned);

	if (w->fresh->planes)
		return true;
	k->pinned =
		(int32_t *)(void *)gpu_memory(w->gpu, PLACE_PINNED, ROLE_PACKED, bytes);
	return (k->pinned && GPU_CALL(w->gpu, MemAlloc(&k->list, bytes))) ||
	       plain_refused(e, w->gpu);
}

/*
 * Displacements become places in words; the copy is in the stream, before the kernel. Tables of pages are on the
 * device already.
 */
static bool queue_list(struct way *w)
{
	struct fresh_kernels *k = w->fresh_kernels;
	size_t blocks = w->fresh->blocks;
	int shift = k->word == 16 ? 4 : 3;

	if (w->fresh->planes) {
		k->list = fresh_next_table(w->fresh);
		return true;
	}
	const ptrdiff_t *list = fresh_next(w->fresh);
	for (size_t i = 0; i < blocks; i++)
		k->pinned[i] = (int32_t)(list[i] >> shift);
	return GPU_CALL(w->gpu, MemcpyAsync(k->list, gpu_address(k->pinned),
					    blocks * sizeof(*k->pinned), w->gpu->stream));
}

static void give(struct way *w, void *arguments[3])
{
	arguments[0] = &w->fresh->packed;
	arguments[1] = &w->fresh->user;
	arguments[2] = &w->fresh_kernels->list;
}

static bool choose(struct engine *e, struct way *w, enum bench_op op)
{
	struct fresh_kernels *k = w->fresh_kernels;
	uint64_t words = fresh_bytes(w->fresh) / k->word;
	void *arguments[3];
	double best = 0;

	give(w, arguments);
	for (unsigned unroll = 1; unroll <= 8; unroll *= 2) {
		CUfunction function;
		char name[16];

		snprintf(name, sizeof(name), "%s_%u", bench_op_name(op), unroll);
		if (!GPU_CALL(w->gpu, ModuleGetFunction(&function, k->module, name)))
			break;
		plain_try(w->gpu, function, (words + unroll - 1) / unroll, arguments,
			  &k->best[op], &best);
	}
	return best > 0 || plain_refused(e, w->gpu);
}

static int prepare_plain(struct engine *e, struct way *w)
{
	w->fresh_kernels = calloc(1, sizeof(*w->fresh_kernels));
	if (!w->fresh_kernels) {
		engine_problem(e, "no memory");
		return -1;
	}
	if (compile(e, w) && find_lists(e, w) &&
	    (queue_list(w) || plain_refused(e, w->gpu)) && choose(e, w, BENCH_PACK) &&
	    choose(e, w, BENCH_UNPACK))
		return 0;
	release_plain(w);
	return -1;
}

static int once_plain(struct engine *e, struct way *w, enum bench_op op)
{
	uint64_t value = *w->gpu->flag + 1;
	void *arguments[3];

	give(w, arguments);
	if (!queue_list(w) ||
	    !plain_queue(w->gpu, &w->fresh_kernels->best[op], arguments) ||
	    !gpu_store_flag(w->gpu, value)) {
		plain_refused(e, w->gpu);
		return -1;
	}
	gpu_wait_flag(w->gpu, value);
	return 0;
}

void way_fresh_plain(struct engine *e, const char *name, struct gpu *gpu,
		     const struct route *route)
{
	static const struct way_ops ops = { .prepare = prepare_plain,
					    .once = once_plain,
					    .release = release_plain };

	way_new(e, name, gpu, &ops, route);
	plain_need_compiler(e);
}
