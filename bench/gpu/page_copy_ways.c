/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who copies from pages to pages. All are timed until the host sees completion: it polls a flag that a kernel behind the
 * plain kernels, the driver's copies and the two calls in a stream stores.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include <dtconv/dtconv.h>

#include "bench/gpu/page_copy.h"
#include "bench/gpu/plain.h"

static void take_next(struct page_copy *copy)
{
	copy->next = (copy->next + 1) % copy->table_count;
}

/* ---- dtconv ---------------------------------------------------------------------------- */

static struct dtconv_pages describe(const struct page_copy *copy,
				    const struct page_side *side)
{
	return (struct dtconv_pages){
		.struct_size = sizeof(struct dtconv_pages),
		.table = (const void *)(uintptr_t)page_table(side, copy->next),
		.count = side->pages,
		.pool_pages = side->pool_pages,
		.page_bytes = side->tokens * copy->row_bytes,
		.row_bytes = copy->row_bytes,
		.row_stride = side->row_stride,
		.offset = (ptrdiff_t)(side->row_stride - copy->row_bytes),
		.layer_count = copy->planes,
		.layer_stride = (ptrdiff_t)page_plane_bytes(side)
	};
}

static int once_pages(struct engine *e, struct way *w, enum bench_op op)
{
	struct page_copy *copy = w->pages;

	(void)op;
	take_next(copy);
	const struct dtconv_pages from = describe(copy, &copy->from);
	const struct dtconv_pages to = describe(copy, &copy->to);
	return way_problem(e, e->context,
			   dtconv_pages_copy(e->context, &from, copy->from.pool, &to,
					     copy->to.pool, 0, SIZE_MAX, NULL));
}

void way_page_copy(struct engine *e, const char *name, struct gpu *gpu,
		   const struct route *route)
{
	static const struct way_ops ops = { .once = once_pages };

	way_new(e, name, gpu, &ops, route);
}

/* ---- packed and unpacked --------------------------------------------------------------- */

static void order(struct dtconv_pages *pages, const struct gpu *gpu)
{
	pages->flags = DTCONV_PAGES_STREAM;
	pages->stream = gpu->stream;
}

static int once_twice(struct engine *e, struct way *w, enum bench_op op)
{
	struct page_copy *copy = w->pages;
	const size_t bytes = page_copy_bytes(copy);

	(void)op;
	take_next(copy);
	struct dtconv_pages from = describe(copy, &copy->from);
	struct dtconv_pages to = describe(copy, &copy->to);
	order(&from, w->gpu);
	order(&to, w->gpu);
	int status = dtconv_pages_pack(e->context, &from, copy->from.pool, 0,
				       copy->packed, bytes, NULL);
	if (!status)
		status = dtconv_pages_unpack(e->context, &to, copy->to.pool, 0,
					     copy->packed, bytes, NULL);
	return status ? way_problem(e, e->context, status) : plain_await(e, w->gpu, true);
}

void way_page_copy_twice(struct engine *e, const char *name, struct gpu *gpu,
			 const struct route *route)
{
	static const struct way_ops ops = { .once = once_twice };

	way_new(e, name, gpu, &ops, route);
}

/* ---- as many bytes --------------------------------------------------------------------- */

static int once_raw(struct engine *e, struct way *w, enum bench_op op)
{
	const struct page_copy *copy = w->pages;

	(void)op;
	return plain_await(e, w->gpu,
			   GPU_CALL(w->gpu,
				    MemcpyAsync(gpu_address(copy->to.pool),
						gpu_address(copy->from.pool),
						page_copy_bytes(copy), w->gpu->stream)));
}

void way_page_copy_raw(struct engine *e, const char *name, struct gpu *gpu,
		       const struct route *route)
{
	static const struct way_ops ops = { .once = once_raw };

	way_new(e, name, gpu, &ops, route);
	e->raw = true;
}

/* ---- a plain kernel -------------------------------------------------------------------- */

/* One word a thread, or several at the distance of a block of threads. */
const char page_copy_source[] =
	"#define PLACE(SIDE, table) \\\n"
	"	((long long)(i / PLANE) * SIDE##_POOL + (long long)__ldg(table + i % PLANE / SIDE##_PAGE) * SIDE##_STRIDE + \\\n"
	"	 i % PLANE % SIDE##_PAGE / SIDE##_ROW * SIDE##_PITCH + i % PLANE % SIDE##_PAGE % SIDE##_ROW + SIDE##_SHIFT)\n"
	"#define ENTRY(UNROLL) \\\n"
	"extern \"C\" __global__ void copy_##UNROLL(uint4 *from, uint4 *to, const int *from_table, const int *to_table) { \\\n"
	"	unsigned at = blockIdx.x * (blockDim.x * UNROLL) + threadIdx.x; \\\n"
	"	uint4 w[UNROLL]; \\\n"
	"	_Pragma(\"unroll\") for (unsigned k = 0; k < UNROLL; k++) { \\\n"
	"		unsigned i = at + k * blockDim.x; \\\n"
	"		if (i < WORDS) w[k] = from[PLACE(FROM, from_table)]; \\\n"
	"	} \\\n"
	"	_Pragma(\"unroll\") for (unsigned k = 0; k < UNROLL; k++) { \\\n"
	"		unsigned i = at + k * blockDim.x; \\\n"
	"		if (i < WORDS) to[PLACE(TO, to_table)] = w[k]; \\\n"
	"	} \\\n"
	"}\n"
	"ENTRY(1)\nENTRY(2)\nENTRY(4)\nENTRY(8)\n";

#define WORD 16

struct page_kernels {
	CUmodule module;
	CUdeviceptr tables[2]; /* of the message */
	struct plain_kernel best;
};

/* Its options, behind those of the other side. */
static int define_side(const struct page_copy *copy, const struct page_side *side,
		       const char *name, char texts[][48], int count)
{
	const size_t page = side->tokens * copy->row_bytes;
	const size_t stride = side->tokens * side->row_stride;
	const struct {
		const char *name;
		size_t bytes;
	} all[] = { { "PAGE", page },
		    { "ROW", copy->row_bytes },
		    { "STRIDE", stride },
		    { "PITCH", side->row_stride },
		    { "POOL", page_plane_bytes(side) },
		    { "SHIFT", side->row_stride - copy->row_bytes } };

	for (size_t i = 0; i < 6; i++)
		snprintf(texts[count++], sizeof(texts[0]), "-D%s_%s=%zuu", name,
			 all[i].name, all[i].bytes / WORD);
	return count;
}

static bool compile(struct engine *e, struct way *w)
{
	const struct page_copy *copy = w->pages;
	char texts[15][48];
	const char *options[15];
	int arch, count = 3;

	if (!plain_arch(w->gpu, &arch))
		return plain_refused(e, w->gpu);
	snprintf(texts[0], sizeof(texts[0]), "--gpu-architecture=sm_%d", arch);
	snprintf(texts[1], sizeof(texts[1]), "-DWORDS=%zuu",
		 page_copy_bytes(copy) / WORD);
	snprintf(texts[2], sizeof(texts[2]), "-DPLANE=%zuu",
		 copy->tokens * copy->row_bytes / WORD);
	count = define_side(copy, &copy->from, "FROM", texts, count);
	count = define_side(copy, &copy->to, "TO", texts, count);
	for (int i = 0; i < count; i++)
		options[i] = texts[i];
	return plain_load(e, w->gpu, page_copy_source, options, count,
			  &w->page_kernels->module);
}

/* The next message's tables, and where the kernel finds them. */
static void give(struct way *w, void *arguments[4])
{
	struct page_copy *copy = w->pages;
	struct page_kernels *k = w->page_kernels;

	take_next(copy);
	k->tables[0] = page_table(&copy->from, copy->next);
	k->tables[1] = page_table(&copy->to, copy->next);
	arguments[0] = &copy->from.pool;
	arguments[1] = &copy->to.pool;
	arguments[2] = &k->tables[0];
	arguments[3] = &k->tables[1];
}

static bool choose(struct engine *e, struct way *w)
{
	struct page_kernels *k = w->page_kernels;
	const uint64_t words = page_copy_bytes(w->pages) / WORD;
	void *arguments[4];
	double best = 0;

	give(w, arguments);
	for (unsigned unroll = 1; unroll <= 8; unroll *= 2) {
		CUfunction function;
		char name[16];

		snprintf(name, sizeof(name), "copy_%u", unroll);
		if (!GPU_CALL(w->gpu, ModuleGetFunction(&function, k->module, name)))
			break;
		plain_try(w->gpu, function, (words + unroll - 1) / unroll, arguments,
			  &k->best, &best);
	}
	return best > 0 || plain_refused(e, w->gpu);
}

static void release_plain(struct way *w)
{
	struct page_kernels *k = w->page_kernels;

	if (!k)
		return;
	if (k->module)
		GPU_CALL(w->gpu, ModuleUnload(k->module));
	free(k);
	w->page_kernels = NULL;
}

static int prepare_plain(struct engine *e, struct way *w)
{
	w->page_kernels = calloc(1, sizeof(*w->page_kernels));
	if (!w->page_kernels) {
		engine_problem(e, "no memory");
		return -1;
	}
	if (compile(e, w) && choose(e, w))
		return 0;
	release_plain(w);
	return -1;
}

static int once_plain(struct engine *e, struct way *w, enum bench_op op)
{
	void *arguments[4];

	(void)op;
	give(w, arguments);
	return plain_await(e, w->gpu,
			   plain_queue(w->gpu, &w->page_kernels->best, arguments));
}

void way_page_copy_plain(struct engine *e, const char *name, struct gpu *gpu,
			 const struct route *route)
{
	static const struct way_ops ops = { .prepare = prepare_plain,
					    .once = once_plain,
					    .release = release_plain };

	way_new(e, name, gpu, &ops, route);
	plain_need_compiler(e);
}
