/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The layouts of the bench: each has a type, the size of its memory and a hand loop. They do
 * not depend on engines or clocks.
 */
#ifndef BENCH_LAYOUT_H
#define BENCH_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dtconv/dtconv.h>

#include "bench/hand/hand.h"

#define BENCH_NAME_ROOM 48

/* The sizes in which a layout can be requested, as bits. */
enum bench_size {
	BENCH_SIZE_APP = 1u << 0, /* the application's own parameter sets */
	BENCH_SIZE_16K = 1u << 1,
	BENCH_SIZE_256K = 1u << 2,
	BENCH_SIZE_4M = 1u << 3,
	BENCH_SIZE_64M = 1u << 4,
	BENCH_SIZE_1G = 1u << 5,
	/* of device memory */
	BENCH_SIZE_64K = 1u << 6,
	BENCH_SIZE_1M = 1u << 7,
	BENCH_SIZE_16M = 1u << 8,
	BENCH_SIZE_256M = 1u << 9
};
#define BENCH_SIZES_TO_4M  (BENCH_SIZE_16K | BENCH_SIZE_256K | BENCH_SIZE_4M)
#define BENCH_SIZES_TO_64M (BENCH_SIZES_TO_4M | BENCH_SIZE_64M)
#define BENCH_SIZES_TO_1G  (BENCH_SIZES_TO_64M | BENCH_SIZE_1G)
#define BENCH_SIZES_GPU \
	(BENCH_SIZE_64K | BENCH_SIZE_1M | BENCH_SIZE_16M | BENCH_SIZE_256M)

/* The packed bytes of a size; 0 for BENCH_SIZE_APP. */
size_t bench_size_bytes(enum bench_size size);

/* A hand loop with its shape, called once for each instance. pack is NULL if there is none. */
struct hand_loop {
	hand_pack_fn pack;
	hand_unpack_fn unpack;
	void *shape;           /* owned, one allocation */
	size_t instances;      /* calls a pack */
	size_t instance_bytes; /* from the arena of one call to that of the next */
	size_t packed_bytes; /* from the packed memory of one call to that of the next */
	size_t first_byte;     /* of the first call's arena, from displacement 0 */
};

/* One layout at one size. */
struct bench_case {
	char name[BENCH_NAME_ROOM];
	struct dtconv_type *type; /* committed, owned */
	size_t count;
	size_t bytes;       /* packed bytes of all instances */
	size_t arena_bytes; /* memory from displacement 0 on that belongs to the arrays */
	size_t below;       /* bytes of data before displacement 0 */
	size_t block,
		pitch; /* bytes, of evenly strided blocks; 0: another kind of layout */
	bool disjoint; /* no elements overlap */
	struct hand_loop hand;
};

/*
 * Creates types without status checks on every line: after the first failure every call returns
 * NULL and does nothing. Types passed in are consumed.
 */
struct bench_build {
	struct dtconv_context *context;
	uint64_t seed;
	int status; /* of the first failure */
};

struct bench_layout {
	const char *name;
	/*
	 * Fill in a case. `variant` is the application's parameter set; `target` is the
	 * requested packed size, 0 for the unscaled set. The caller fills in name, count x size
	 * and bounds afterwards. Returns 0, or a status.
	 */
	int (*make)(struct bench_build *build, const struct bench_layout *layout,
		    int variant, size_t target, struct bench_case *c);
	unsigned sizes;   /* enum bench_size bits */
	int variants;     /* parameter sets; 0 for classic layouts */
	int scaled_from;  /* the parameter set that scaled rows repeat */
	size_t parameter; /* the meaning depends on `make`: block bytes, axis, family member */
};

/* The tables, each ends with a NULL name. */
extern const struct bench_layout bench_layouts_applications[];
extern const struct bench_layout bench_layouts_classic[];
extern const struct bench_layout bench_layouts_small[];

/*
 * Create one row. Returns 0; or a status, with an error text in `why`. The caller releases the
 * case in either event.
 */
int bench_case_make(struct dtconv_context *context, uint64_t seed,
		    const struct bench_layout *layout, int variant, enum bench_size size,
		    struct bench_case *c, char *why, size_t capacity);

/*
 * The same at any packed size, by repeating the layout's own set. Assumes that no elements
 * overlap.
 */
int bench_case_make_bytes(struct dtconv_context *context, uint64_t seed,
			  const struct bench_layout *layout, size_t bytes,
			  struct bench_case *c, char *why, size_t capacity);

/* The same for a type in text form; it has no hand loop. */
int bench_case_parse(struct dtconv_context *context, const char *text, size_t count,
		     struct bench_case *c, char *why, size_t capacity);

/* For a case whose type was created elsewhere: commit it and determine its memory. */
int bench_case_finish(struct bench_case *c);

void bench_case_release(struct bench_case *c);

/*
 * A row's name. An application's parameter sets are numbered (WRF_x_vec.0). A scaled or classic
 * row has the name of its layout, because its bytes give the size.
 */
void bench_row_name(const struct bench_layout *layout, int variant, enum bench_size size,
		    char *name, size_t capacity);

/* ---- for the families ---------------------------------------------------------------- */

struct dtconv_type *build_named(struct bench_build *b, enum dtconv_predefined which);
struct dtconv_type *build_contiguous(struct bench_build *b, size_t count,
				     struct dtconv_type *old);
struct dtconv_type *build_vector(struct bench_build *b, size_t count, size_t blocklength,
				 ptrdiff_t stride, struct dtconv_type *old);
struct dtconv_type *build_hvector(struct bench_build *b, size_t count, size_t blocklength,
				  ptrdiff_t stride, struct dtconv_type *old);
struct dtconv_type *build_resized(struct bench_build *b, struct dtconv_type *old,
				  ptrdiff_t lb, size_t extent);
struct dtconv_type *build_indexed(struct bench_build *b, size_t count,
				  const size_t *lengths, const ptrdiff_t *displacements,
				  struct dtconv_type *old);
struct dtconv_type *build_hindexed(struct bench_build *b, size_t count,
				   const size_t *lengths, const ptrdiff_t *displacements,
				   struct dtconv_type *old);
struct dtconv_type *build_subarray(struct bench_build *b, size_t ndims,
				   const size_t *sizes, const size_t *subsizes,
				   const size_t *starts, struct dtconv_type *old);
/* Block lengths of 1; the members are consumed. */
struct dtconv_type *build_struct(struct bench_build *b, size_t count,
				 const ptrdiff_t *displacements,
				 struct dtconv_type *const *members);
/* indexed_block with the displacements `scale` x list[]. */
struct dtconv_type *build_picked(struct bench_build *b, size_t count, size_t blocklength,
				 const uint32_t *list, struct dtconv_type *old);

/* A hand loop that is called once. */
struct hand_loop build_loop(hand_pack_fn pack, hand_unpack_fn unpack, void *shape);

/* Memory for shapes and lists. A failure is recorded in the build. */
void *build_alloc(struct bench_build *b, size_t count, size_t bytes);

/*
 * The last step of every application family: the type of one parameter set, whose arrays take
 * `arrays_bytes` and whose packed size is `packed`, repeated to about `target`.
 */
int build_repeat(struct bench_build *b, struct bench_case *c, struct dtconv_type *type,
		 size_t arrays_bytes, size_t packed, size_t target);

/*
 * The last step of every classic family: the type, the count, its memory, and one call of the
 * hand loop.
 */
int build_once(struct bench_build *b, struct bench_case *c, struct dtconv_type *type,
	       size_t count, size_t arena_bytes);

/* target / packed, rounded, at least 1; 1 if target is 0. */
size_t build_times(size_t target, size_t packed);

/* Random numbers: the same seed gives the same layout on every machine. */
uint64_t bench_random(uint64_t *state);
/* Uniform in [0, limit). */
size_t bench_random_below(uint64_t *state, size_t limit);
/*
 * `count` distinct indices below `limit`, in random or ascending order. The caller frees them.
 * NULL without memory, which is recorded in the build.
 */
uint32_t *bench_random_list(struct bench_build *b, size_t count, size_t limit,
			    bool sorted);

#endif
