/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Constructors that select a part of an array: subarray, a box, and darray, the share of one
 * process.
 */
#include "config.h"

#include "build.h"

#include "base/base.h"
#include "base/checked.h"
#include "dimension.h"
#include "signature.h"

#define DTC_NDIMS_MAX 1024

/* ---- dimensions ---------------------------------------------------------------------- */

/* Index of the first array in the stored counts: see struct dtconv_envelope. */
#define SUBARRAY_HEAD 1
#define DARRAY_HEAD 3

static size_t count_at(const struct dtconv_type *type, size_t i)
{
	return (size_t)dtc_ints_get(&type->counts, i);
}

static bool is_subarray(const struct dtconv_type *type)
{
	return type->combiner == DTCONV_COMBINER_SUBARRAY;
}

size_t dtc_dimension_count(const struct dtconv_type *type)
{
	return count_at(type, is_subarray(type) ? 0 : 2);
}

static struct dtc_dimension subarray_dimension(const struct dtconv_type *type, size_t i)
{
	size_t ndims = count_at(type, 0);

	return (struct dtc_dimension){
		.array_size = count_at(type, SUBARRAY_HEAD + i),
		.block = count_at(type, SUBARRAY_HEAD + ndims + i),
		.start = count_at(type, SUBARRAY_HEAD + 2 * ndims + i),
		.count = 1,
		.stride = 1,
	};
}

/* The coordinate of the process in dimension @i of the process grid, which is in C order. */
static size_t grid_index(const struct dtconv_type *type, size_t i)
{
	size_t ndims = count_at(type, 2);
	size_t faster = 1;

	for (size_t j = i + 1; j < ndims; j++)
		faster *= count_at(type, DARRAY_HEAD + 3 * ndims + j);
	return count_at(type, 1) / faster % count_at(type, DARRAY_HEAD + 3 * ndims + i);
}

static size_t default_block(enum dtconv_distribution distribution, size_t gsize, size_t psize)
{
	if (distribution == DTCONV_DISTRIBUTE_CYCLIC)
		return 1;
	return gsize / psize + (gsize % psize != 0);
}

/*
 * Distribute @gsize elements in blocks of @wanted to @psize processes in turn; return the share
 * of one. A block larger than the array is treated as the whole array.
 */
static struct dtc_dimension deal(size_t gsize, size_t wanted, size_t psize, size_t process)
{
	size_t block = DTC_MIN(wanted, gsize);
	size_t blocks = gsize / block;
	size_t rest = gsize % block;
	struct dtc_dimension dimension = {.array_size = gsize, .block = block};

	if (process < blocks) {
		dimension.start = process * block;
		dimension.count = (blocks - process - 1) / psize + 1;
		/*
		 * Cannot overflow if it is used, because then the second block lies inside the
		 * array.
		 */
		dimension.stride = dimension.count > 1 ? psize * block : 1;
	}
	if (rest && blocks % psize == process) {
		dimension.last_start = blocks * block;
		dimension.last_length = rest;
	}
	return dimension;
}

static struct dtc_dimension darray_dimension(const struct dtconv_type *type, size_t i)
{
	size_t ndims = count_at(type, 2);
	size_t gsize = count_at(type, DARRAY_HEAD + i);
	enum dtconv_distribution distribution =
		(enum dtconv_distribution)count_at(type, DARRAY_HEAD + ndims + i);
	size_t block = count_at(type, DARRAY_HEAD + 2 * ndims + i);
	size_t psize = count_at(type, DARRAY_HEAD + 3 * ndims + i);

	if (distribution == DTCONV_DISTRIBUTE_NONE)
		return deal(gsize, gsize, 1, 0);
	if (block == DTCONV_DISTRIBUTE_DFLT_DARG)
		block = default_block(distribution, gsize, psize);
	return deal(gsize, block, psize, grid_index(type, i));
}

struct dtc_dimension dtc_dimension_of(const struct dtconv_type *type, size_t nth)
{
	enum dtconv_order order =
		(enum dtconv_order)count_at(type, type->counts.count - 1);
	size_t ndims = dtc_dimension_count(type);
	size_t i = order == DTCONV_ORDER_FORTRAN ? nth : ndims - 1 - nth;

	return is_subarray(type) ? subarray_dimension(type, i) : darray_dimension(type, i);
}

/* ---- bounds -------------------------------------------------------------------------- */

/* Repeat @bounds over one dimension whose elements are @pitch bytes apart. */
static bool spread(const struct dtc_dimension *dimension, ptrdiff_t pitch,
		   struct dtc_bounds *bounds)
{
	struct dtc_bounds inner = *bounds, block, blocks, last;
	ptrdiff_t stride, start, last_start;

	*bounds = dtc_bounds_empty;
	return dtc_scale_disp(dimension->stride, pitch, &stride) ||
	       dtc_scale_disp(dimension->start, pitch, &start) ||
	       dtc_scale_disp(dimension->last_start, pitch, &last_start) ||
	       dtc_bounds_repeat(&inner, dimension->block, pitch, &block) ||
	       dtc_bounds_repeat(&block, dimension->count, stride, &blocks) ||
	       dtc_bounds_repeat(&inner, dimension->last_length, pitch, &last) ||
	       dtc_bounds_append(bounds, &blocks, start) ||
	       dtc_bounds_append(bounds, &last, last_start);
}

static size_t elements_in(const struct dtc_dimension *dimension)
{
	return dimension->count * dimension->block + dimension->last_length;
}

/*
 * The type's bounds and number of elements. The array's bounds override the elements' markers.
 */
static bool measure(struct dtconv_type *type, const struct dtconv_type *oldtype,
		    size_t *copies)
{
	ptrdiff_t pitch = dtc_bounds_extent(&oldtype->bounds);
	size_t ndims = dtc_dimension_count(type);

	*copies = 1;
	type->bounds = oldtype->bounds;
	for (size_t nth = 0; nth < ndims; nth++) {
		struct dtc_dimension dimension = dtc_dimension_of(type, nth);

		if (spread(&dimension, pitch, &type->bounds) ||
		    dtc_scale_disp(dimension.array_size, pitch, &pitch) ||
		    dtc_mul_size(*copies, elements_in(&dimension), copies))
			return true;
	}
	return dtc_bounds_resize(&type->bounds, 0, pitch) ||
	       dtc_type_pad(type->context, type->combiner, &type->bounds);
}

static int finish_array(struct dtconv_type *type, const char *caller,
			struct dtconv_type *oldtype, struct dtconv_type **newtype)
{
	struct dtconv_context *context = type->context;
	size_t copies;

	dtc_type_add_child(type, oldtype);
	if (measure(type, oldtype, &copies)) {
		dtconv_type_unref(type);
		return dtc_build_overflow(context, caller, "the array's size or extent");
	}
	if (type->bounds.size)
		type->predefined = oldtype->predefined;
	type->signature = dtc_signature_create_repeat(oldtype->signature, copies);
	return dtc_type_finish(type, caller, newtype);
}

/* ---- constructors -------------------------------------------------------------------- */

/* Appends values to a type's counts. */
struct filler {
	struct dtconv_type *type;
	size_t next;
};

static void put(struct filler *filler, size_t value)
{
	int64_t stored = (int64_t)value;

	dtc_ints_store(&filler->type->counts, filler->next++, 1, &stored);
}

static void put_array(struct filler *filler, size_t n, const size_t values[])
{
	for (size_t i = 0; i < n; i++)
		put(filler, values[i]);
}

static int allocate_array(const char *caller, enum dtconv_combiner combiner, size_t head,
			  size_t arrays, size_t ndims, const struct dtconv_type *oldtype,
			  struct dtconv_type **type)
{
	struct dtc_type_plan plan = {.context = oldtype->context,
				     .caller = caller,
				     .combiner = combiner,
				     .bounds = dtc_bounds_empty,
				     .count_count = head + arrays * ndims + 1,
				     .count_width = sizeof(int64_t),
				     .type_count = 1};

	return dtc_type_allocate(&plan, type);
}

/* The cost is quadratic in the number of dimensions, hence the limit. */
static int check_ndims(struct dtconv_context *context, const char *caller, int position,
		       size_t ndims)
{
	if (ndims == 0)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: ndims (argument %d) is 0, but must be at least 1",
				caller, position);
	if (ndims > DTC_NDIMS_MAX)
		return DTC_FAIL(context, DTCONV_ERR_LIMIT,
				"%s: ndims (argument %d) is %zu, at most %d are supported",
				caller, position, ndims, DTC_NDIMS_MAX);
	return 0;
}

static int check_order(struct dtconv_context *context, const char *caller, int position,
		       enum dtconv_order order)
{
	if (order == DTCONV_ORDER_C || order == DTCONV_ORDER_FORTRAN)
		return 0;
	return DTC_FAIL(context, DTCONV_ERR_INVAL,
			"%s: order (argument %d) is %d, neither C nor Fortran", caller, position,
			(int)order);
}

static int check_subarray(struct dtconv_context *context, const char *caller, size_t ndims,
			  const size_t sizes[], const size_t subsizes[],
			  const size_t starts[])
{
	int status = check_ndims(context, caller, 1, ndims);

	if (status)
		return status;
	if (!sizes)
		return dtc_build_null(context, caller, "sizes", 2);
	if (!subsizes)
		return dtc_build_null(context, caller, "subsizes", 3);
	if (!starts)
		return dtc_build_null(context, caller, "starts", 4);
	for (size_t i = 0; i < ndims; i++) {
		if (subsizes[i] < 1 || subsizes[i] > sizes[i])
			return DTC_FAIL(context, DTCONV_ERR_INVAL,
					"%s: subsizes[%zu] (argument 3) is %zu, not between 1 "
					"and sizes[%zu] = %zu",
					caller, i, subsizes[i], i, sizes[i]);
		if (starts[i] > sizes[i] - subsizes[i])
			return DTC_FAIL(context, DTCONV_ERR_INVAL,
					"%s: starts[%zu] (argument 4) is %zu, more than "
					"sizes[%zu] - subsizes[%zu] = %zu",
					caller, i, starts[i], i, i, sizes[i] - subsizes[i]);
	}
	return 0;
}

int dtconv_type_create_subarray(size_t ndims, const size_t sizes[], const size_t subsizes[],
				const size_t starts[], enum dtconv_order order,
				struct dtconv_type *oldtype, struct dtconv_type **newtype)
{
	if (!oldtype || !newtype)
		return DTCONV_ERR_INVAL;
	struct dtconv_context *context = oldtype->context;
	struct filler filler = {0};

	int status = check_subarray(context, __func__, ndims, sizes, subsizes, starts);
	if (!status)
		status = check_order(context, __func__, 5, order);
	if (!status)
		status = allocate_array(__func__, DTCONV_COMBINER_SUBARRAY, SUBARRAY_HEAD, 3,
					ndims, oldtype, &filler.type);
	if (status)
		return status;
	put(&filler, ndims);
	put_array(&filler, ndims, sizes);
	put_array(&filler, ndims, subsizes);
	put_array(&filler, ndims, starts);
	put(&filler, (size_t)order);
	return finish_array(filler.type, __func__, oldtype, newtype);
}

/* The arguments of darray. */
struct share {
	const char *caller;
	struct dtconv_context *context;
	size_t size, rank, ndims;
	const size_t *gsizes;
	const enum dtconv_distribution *distributions;
	const size_t *dargs;
	const size_t *psizes;
};

static int check_share_arrays(const struct share *share)
{
	int status = check_ndims(share->context, share->caller, 3, share->ndims);

	if (status)
		return status;
	if (!share->gsizes)
		return dtc_build_null(share->context, share->caller, "gsizes", 4);
	if (!share->distributions)
		return dtc_build_null(share->context, share->caller, "distributions", 5);
	if (!share->dargs)
		return dtc_build_null(share->context, share->caller, "dargs", 6);
	if (!share->psizes)
		return dtc_build_null(share->context, share->caller, "psizes", 7);
	return 0;
}

static int check_block(const struct share *share, size_t i)
{
	size_t block = share->dargs[i], dealt;
	bool too_small = share->distributions[i] == DTCONV_DISTRIBUTE_BLOCK &&
			 !dtc_mul_size(block, share->psizes[i], &dealt) &&
			 dealt < share->gsizes[i];

	if (block == DTCONV_DISTRIBUTE_DFLT_DARG ||
	    share->distributions[i] == DTCONV_DISTRIBUTE_NONE)
		return 0;
	if (block == 0)
		return DTC_FAIL(
			share->context, DTCONV_ERR_INVAL,
			"%s: dargs[%zu] (argument 6) is 0, but must be at least 1",
			share->caller, i);
	if (too_small)
		return DTC_FAIL(share->context, DTCONV_ERR_INVAL,
				"%s: dargs[%zu] x psizes[%zu] (arguments 6, 7) = %zu x "
				"%zu is less than gsizes[%zu] = %zu, so the blocks do "
				"not cover the dimension",
				share->caller, i, i, block, share->psizes[i], i,
				share->gsizes[i]);
	return 0;
}

static int check_share_dimension(const struct share *share, size_t i)
{
	if (share->gsizes[i] == 0)
		return DTC_FAIL(
			share->context, DTCONV_ERR_INVAL,
			"%s: gsizes[%zu] (argument 4) is 0, but must be at least 1",
			share->caller, i);
	if (share->psizes[i] == 0)
		return DTC_FAIL(
			share->context, DTCONV_ERR_INVAL,
			"%s: psizes[%zu] (argument 7) is 0, but must be at least 1",
			share->caller, i);
	if ((unsigned)share->distributions[i] > DTCONV_DISTRIBUTE_NONE)
		return DTC_FAIL(share->context, DTCONV_ERR_INVAL,
				"%s: distributions[%zu] (argument 5) is %d, neither block, "
				"cyclic nor none",
				share->caller, i, (int)share->distributions[i]);
	if (share->distributions[i] == DTCONV_DISTRIBUTE_NONE && share->psizes[i] != 1)
		return DTC_FAIL(share->context, DTCONV_ERR_INVAL,
				"%s: psizes[%zu] (argument 7) is %zu, but must be 1 for "
				"a dimension that is not distributed",
				share->caller, i, share->psizes[i]);
	return check_block(share, i);
}

static int check_share(const struct share *share)
{
	size_t processes = 1;

	int status = check_share_arrays(share);
	for (size_t i = 0; !status && i < share->ndims; i++) {
		status = check_share_dimension(share, i);
		if (!status && dtc_mul_size(processes, share->psizes[i], &processes))
			return dtc_build_overflow(share->context, share->caller,
						  "the product of psizes (argument 7)");
	}
	if (status)
		return status;
	if (processes != share->size)
		return DTC_FAIL(
			share->context, DTCONV_ERR_INVAL,
			"%s: size (argument 1) is %zu, but the product of psizes is %zu",
			share->caller, share->size, processes);
	if (share->rank >= share->size)
		return DTC_FAIL(share->context, DTCONV_ERR_INVAL,
				"%s: rank (argument 2) is %zu, not less than size = %zu",
				share->caller, share->rank, share->size);
	return 0;
}

int dtconv_type_create_darray(size_t size, size_t rank, size_t ndims, const size_t gsizes[],
			      const enum dtconv_distribution distributions[],
			      const size_t dargs[], const size_t psizes[],
			      enum dtconv_order order, struct dtconv_type *oldtype,
			      struct dtconv_type **newtype)
{
	if (!oldtype || !newtype)
		return DTCONV_ERR_INVAL;
	const struct share share = {__func__, oldtype->context, size,  rank,  ndims,
				    gsizes,   distributions,    dargs, psizes};
	struct filler filler = {0};

	int status = check_share(&share);
	if (!status)
		status = check_order(share.context, __func__, 8, order);
	if (!status)
		status = allocate_array(__func__, DTCONV_COMBINER_DARRAY, DARRAY_HEAD, 4, ndims,
					oldtype, &filler.type);
	if (status)
		return status;
	put(&filler, size);
	put(&filler, rank);
	put(&filler, ndims);
	put_array(&filler, ndims, gsizes);
	for (size_t i = 0; i < ndims; i++)
		put(&filler, (size_t)distributions[i]);
	put_array(&filler, ndims, dargs);
	put_array(&filler, ndims, psizes);
	put(&filler, (size_t)order);
	return finish_array(filler.type, __func__, oldtype, newtype);
}
