/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies from one layout to another in device memory: the two sides, the contestants, and who is right.
 */
#ifndef BENCH_GPU_LAYOUT_COPY_H
#define BENCH_GPU_LAYOUT_COPY_H

#include "bench/gpu/way.h"
#include "bench/layouts/layout.h"

struct session;

/* Memory of one side: guard, arrays, guard; displacement 0 is at @zero bytes. */
struct copy_side {
	struct bench_case c;
	enum gpu_place place;
	size_t region_bytes, zero;
	unsigned char *host;   /* what the device's memory holds before a copy */
	unsigned char *device; /* the region there */
};

struct layout_copy {
	struct gpu *gpu;
	struct gpu *by, *to; /* the devices of the source and the target */
	struct copy_side source, target;
	unsigned char *expected;  /* what the target's region holds afterwards */
	unsigned char *packed;    /* on the source's device: room for the packed stream */
	unsigned char *delivered; /* the same on the target's, if that is another one */
	size_t bytes;             /* packed */
	size_t block, pitches[2]; /* of strided blocks on both sides; block 0: others */
	struct layout_copy *back; /* made at the same time; or NULL */
	bool borrows;             /* its sides' memory is that of @back */
};

static inline unsigned char *copy_zero(const struct copy_side *side)
{
	return side->device + side->zero;
}

/*
 * Find memory for both sides, whose cases are made and committed and whose places are chosen, and fill it. Returns 0, or
 * -1 with a sentence in @why; to be closed in either event.
 */
int layout_copy_open(struct layout_copy *copy, struct gpu *gpu, uint64_t seed, char *why,
		     size_t room);
/*
 * The way back of an open copy, to be made at the same time: from the memory of its target to that of its source. The cases
 * of both are made, and touch different bytes. As above; to be closed before the other one.
 */
int layout_copy_open_back(struct layout_copy *copy, struct layout_copy *back, char *why,
			  size_t room);
/* The place of a side whose case is made, without memory of its own. */
void layout_copy_share(struct copy_side *side, const struct copy_side *whole);
void layout_copy_close(struct layout_copy *copy);

/* Let a prepared contestant copy once, both ways if there is one back; all bytes of both sides must then be right. */
int layout_copy_verify(struct layout_copy *copy, struct engine *engine);

/*
 * Prepare the contestants of the session that can do this copy, verify them, time those that are right, and record all as
 * results of @op.
 */
void layout_copy_measure(struct session *session, const char *name, const char *op,
			 struct layout_copy *copy);

/*
 * The rows that the options want, between two places, at a set of sizes (bits of enum bench_size). At 256 MiB long
 * lists, and over a link all but some rows, have to be asked for by their size.
 */
void layout_copy_run_rows(struct session *session, enum gpu_place from, enum gpu_place to,
			  unsigned sizes);
#define LAYOUT_COPY_OP "copy"
/* How many rows there are a size, and their names. */
size_t layout_copy_rows(void);
void layout_copy_list(const struct session *session);

/* The best plain kernel for a copy on the source's device; NULL with a sentence in the engine's problem. */
struct fused *fused_open(struct engine *engine, const struct layout_copy *copy);
bool fused_queue(struct fused *fused);
void fused_close(struct fused *fused);

/* The halo of a box into another box of the device, or those of two boxes on two devices into each other; prints its table. */
#define COPY_HALO_NAME "halo128"
#define LINK_HALO_NAME "halo256"
void copy_halo_run(struct session *session);
void link_halo_run(struct session *session);

/* The contestants, ways whose field @copying is set before they are prepared. */
void way_copying(struct engine *engine, const char *name, struct gpu *gpu,
		 const struct route *route); /* dtconv_copy */
void way_copying_twice(
	struct engine *engine, const char *name, struct gpu *gpu,
	const struct route *route); /* packed, then unpacked, in one stream */
void way_copying_hops(
	struct engine *engine, const char *name, struct gpu *gpu,
	const struct route
		*route); /* packed, copied to the target's device, unpacked there */
void way_copying_fused(struct engine *engine, const char *name, struct gpu *gpu,
		       const struct route *route); /* the best plain kernel */
void way_copying_2d(struct engine *engine, const char *name, struct gpu *gpu,
		    const struct route *route); /* the driver's two-dimensional copy */
void way_copying_raw(struct engine *engine, const char *name, struct gpu *gpu,
		     const struct route *route); /* as many contiguous bytes */

#endif
