/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ways in which bytes get from a user's buffer to a packed one and back, as engines of the
 * bench: several modes of dtconv, and driver copies.
 */
#ifndef BENCH_GPU_WAY_H
#define BENCH_GPU_WAY_H

#include "bench/gpu/gpu.h"
#include "bench/harness/engine.h"

struct bar;
struct copy_halo;
struct fresh;
struct fresh_kernels;
struct fused;
struct halo;
struct layout_copy;
struct page_copy;
struct page_kernels;
struct plain_pair;
struct roof;
struct torch;
struct way;

struct way_ops {
	/* NULL: nothing to do. These return 0, or -1 with an error text in engine->problem. */
	int (*prepare)(struct engine *engine, struct way *way);
	/* One operation; returns when the host has seen its completion. */
	int (*once)(struct engine *engine, struct way *way, enum bench_op op);
	/* Queue one operation on the stream; NULL: unsupported. */
	int (*queue)(struct engine *engine, struct way *way, enum bench_op op);
	/* Called after a queued operation has completed; NULL: nothing to do. */
	int (*finish)(struct engine *engine, struct way *way);
	/* NULL: nothing to do. */
	void (*release)(struct way *way);
	/*
	 * Measures its own time by either clock, as engine_ops.run does; NULL: way.c measures
	 * it.
	 */
	int (*timed)(struct engine *engine, struct way *way, enum bench_op op,
		     size_t warm, size_t calls, double *ns);
	/* Destroys the engine; NULL: nothing to do. */
	void (*end)(struct way *way);
};

/* The state of an engine of this file. */
struct way {
	const struct way_ops *ops;
	struct gpu *gpu;
	struct gpu *by; /* the device whose kernels and streams move: gpu, or its other */
	enum gpu_place user_place, packed_place;
	unsigned char *user, *packed, *flat, *staging; /* of the row in work */
	size_t most_bytes; /* larger rows are skipped; 0: no limit */
	size_t fragment;   /* fragment length, if the stream is cut; 0: whole */
	bool mirrored;     /* copy the arena there and back, to verify */
	bool device_clock; /* time by events */
	bool checked[2];   /* a raw copy of as many bytes was verified, by op */
	size_t checked_bytes;
	struct dtconv_convertor *convertors[2];
	CUDA_MEMCPY2D copies[2];
	CUgraphExec graphs[2];
	const struct dtconv_convertor_params
		*params; /* of convertors; NULL: as they are */
	/*
	 * Verifies the result instead of the oracle, which covers unconverted bytes only; NULL:
	 * use the oracle.
	 */
	int (*judge)(struct engine *engine, struct way *way, enum bench_op op);
	struct dtconv_context *own_context; /* and the case's type in it; or NULL */
	struct dtconv_type *own_type;
	struct bar *bar;     /* of bar.c */
	struct halo *pieces; /* of halo.c */
	struct copy_halo *faces; /* of copy_halo.c */
	struct roof *roof;   /* of roof.c */
	struct plain_pair *pair; /* of duplex.c */
	struct torch *torch; /* of torch.c */
	struct fused *fused; /* of layout_copy_ways.c */
	/* The memory, instead of a row's, of copies between layouts and of fresh lists; or NULL. */
	struct layout_copy *copying;
	struct fresh *fresh;
	struct fresh_kernels *fresh_kernels; /* of fresh_ways.c */
	struct page_copy *pages;             /* the memory of copies of pages; or NULL */
	struct page_kernels *page_kernels;   /* of page_copy_ways.c */
};

/* Which buffers are where. */
struct route {
	enum gpu_place user, packed;
	size_t fragment;
};

/* One-shot calls; in fragments if the route has a fragment length. */
void way_dtconv(struct engine *engine, const char *name, struct gpu *gpu,
		const struct route *route);
/* One convertor, bound again for each call, with declared memory kinds. */
void way_convertor(struct engine *engine, const char *name, struct gpu *gpu,
		   const struct route *route);
/* The same by start and test; in the way's own context if it has one. */
extern const struct way_ops way_started_ops;
void way_started(struct engine *engine, const char *name, struct gpu *gpu,
		 const struct route *route);
/* A graph of one job, launched for each call. */
void way_graph(struct engine *engine, const char *name, struct gpu *gpu,
	       const struct route *route);
/* One-shot calls in a context that launches in graphs. */
void way_graphs(struct engine *engine, const char *name, struct gpu *gpu,
		const struct route *route);
/* One-shot calls in a context with a resident kernel. */
void way_resident(struct engine *engine, const char *name, struct gpu *gpu,
		  const struct route *route);
/* Packed to device memory first, then one copy; the reverse to unpack. */
void way_staged(struct engine *engine, const char *name, struct gpu *gpu,
		const struct route *route);
/* The driver's copy of as many contiguous bytes. */
void way_copy(struct engine *engine, const char *name, struct gpu *gpu,
	      const struct route *route);
/* The driver's two-dimensional copy, if the layout is strided blocks. */
void way_copy2d(struct engine *engine, const char *name, struct gpu *gpu,
		const struct route *route);
/* An empty kernel that stores a flag: no kernel's completion can be seen earlier. */
void way_flag(struct engine *engine, const char *name, struct gpu *gpu,
	      const struct route *route);
/* CPU stores through a BAR mapping of device memory; absent without gdrapi. */
void way_bar(struct engine *engine, const char *name, struct gpu *gpu,
	     const struct route *route);

/* PyTorch's copies of strided tensors, by that program; absent without PyTorch. */
void way_torch(struct engine *engine, const char *name, struct gpu *gpu,
	       const struct route *route, const char *program);

/* Plain kernels compiled for the row's layout, the best of them; fails without NVRTC. */
void way_roof(struct engine *engine, const char *name, struct gpu *gpu,
	      const struct route *route);
/* Which of the kernels it is, for a prepared row. */
void roof_describe(const struct way *way, enum bench_op op, char *text, size_t room);

/* For files that define a way of their own. */
struct way *way_new(struct engine *engine, const char *name, struct gpu *gpu,
		    const struct way_ops *ops, const struct route *route);
int way_problem(struct engine *engine, struct dtconv_context *context, int status);

static inline struct way *way_of(const struct engine *engine)
{
	return engine->state;
}

#endif
