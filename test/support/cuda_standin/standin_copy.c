/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies and fills. All are boxes of rows. Addresses are checked when the call is made, which
 * fails if they do not exist, and again when the work runs. Host memory that is not registered
 * with CUDA is staged or waited for, as in the manual's chapter on synchronous behaviour.
 */
#include <string.h>

#include "support/cuda_standin/standin_internal.h"

#define MAX_PITCH 0x7fffffff

struct side {
	CUdeviceptr address;
	size_t pitch; /* from row to row */
	size_t slice; /* from plane to plane */
};

struct box {
	struct side target;
	struct side source;
	size_t width; /* bytes */
	size_t height;
	size_t depth;
};

struct fill {
	struct side target;
	size_t width; /* elements */
	size_t height;
	unsigned value;
	unsigned element; /* bytes */
};

/* ---- Doing it ---- */

static bool copy_row(CUdeviceptr target, CUdeviceptr source, size_t bytes)
{
	while (bytes) {
		size_t to_bytes, from_bytes;
		unsigned char *to = standin_translate(target, &to_bytes);
		const unsigned char *from = standin_translate(source, &from_bytes);
		if (!to || !from)
			return false;
		size_t now = to_bytes < from_bytes ? to_bytes : from_bytes;
		now = now < bytes ? now : bytes;
		memmove(to, from, now);
		target += now;
		source += now;
		bytes -= now;
	}
	return true;
}

static bool copy_box(const struct box *box)
{
	for (size_t z = 0; z < box->depth; z++)
		for (size_t y = 0; y < box->height; y++)
			if (!copy_row(box->target.address + z * box->target.slice +
					      y * box->target.pitch,
				      box->source.address + z * box->source.slice +
					      y * box->source.pitch,
				      box->width))
				return false;
	return true;
}

static void run_copy(struct standin_op *op)
{
	if (!copy_box((const struct box *)op->payload))
		standin_poison(op->stream->context, CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* The source's bytes follow the box. */
static void run_staged_copy(struct standin_op *op)
{
	struct box *box = (struct box *)op->payload;
	box->source.address = (CUdeviceptr)(box + 1);
	run_copy(op);
}

static void fill_elements(unsigned char *to, const struct fill *fill, size_t count)
{
	if (fill->element == 1)
		memset(to, (int)fill->value, count);
	else
		for (size_t x = 0; x < count; x++)
			memcpy(to + x * fill->element, &fill->value,
			       fill->element); /* little-endian hosts only */
}

static bool fill_row(const struct fill *fill, CUdeviceptr target)
{
	for (size_t left = fill->width; left;) {
		size_t bytes;
		unsigned char *to = standin_translate(target, &bytes);
		size_t now = bytes / fill->element;
		if (!to || !now)
			return false;
		now = now < left ? now : left;
		fill_elements(to, fill, now);
		target += now * fill->element;
		left -= now;
	}
	return true;
}

static void run_fill(struct standin_op *op)
{
	const struct fill *fill = (const struct fill *)op->payload;
	for (size_t y = 0; y < fill->height; y++)
		if (!fill_row(fill, fill->target.address + y * fill->target.pitch))
			standin_poison(op->stream->context, CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* ---- Checking and submitting ---- */

static bool side_reachable(const struct side *side, const struct box *box, bool device)
{
	for (size_t z = 0; z < box->depth; z++)
		for (size_t y = 0; y < box->height; y++)
			if (!standin_reachable(side->address + z * side->slice +
						       y * side->pitch,
					       box->width, device))
				return false;
	return true;
}

static bool is_pageable(CUdeviceptr address)
{
	return !standin_region_at(address) && !standin_arena_owns(address);
}

static bool is_host(CUdeviceptr address)
{
	const struct standin_region *region = standin_region_at(address);
	return is_pageable(address) || (region && (region->kind == REGION_HOST ||
						   region->kind == REGION_REGISTERED));
}

/* Pageable memory is read before the call returns if it is one row, and waited for otherwise. */
static struct standin_op *copy_op(const struct box *box, bool *waits)
{
	if (!is_pageable(box->source.address))
		return standin_op(box, sizeof *box, run_copy);
	if (box->height > 1 || box->depth > 1) {
		*waits = true;
		return standin_op(box, sizeof *box, run_copy);
	}
	struct standin_op *op =
		standin_op(NULL, sizeof *box + box->width, run_staged_copy);
	memcpy(op->payload, box, sizeof *box);
	memcpy(op->payload + sizeof *box, (const void *)box->source.address, box->width);
	return op;
}

enum direction { ANY_WAY, TO_DEVICE, TO_HOST, ON_DEVICE };

/* Seen on an H200: memory of pools and mappings that a context's kernels may not touch, its copies may not. */
static bool is_closed(CUcontext context, CUdeviceptr address)
{
	const struct standin_region *region = standin_region_at(address);
	return region &&
	       (region->kind == REGION_ASYNC || region->kind == REGION_MAPPED) &&
	       region->device >= 0 && region->device != context->device &&
	       !standin_may_touch(context, region);
}

static CUresult submit_box(const struct box *box, enum direction way, bool waits,
			   CUstream handle)
{
	CUstream stream;
	CUresult result = standin_stream_of(handle, &stream);
	if (result)
		return result;
	if (!side_reachable(&box->target, box, way == TO_DEVICE || way == ON_DEVICE) ||
	    !side_reachable(&box->source, box, way == TO_HOST || way == ON_DEVICE))
		return CUDA_ERROR_INVALID_VALUE;
	if (!box->width || !box->height || !box->depth)
		return CUDA_SUCCESS;
	if (is_closed(stream->context, box->target.address) ||
	    is_closed(stream->context, box->source.address))
		return CUDA_ERROR_INVALID_VALUE;
	waits |= is_pageable(box->target.address) ||
		 (is_host(box->target.address) && is_host(box->source.address));
	struct standin_op *op = stream->capture ? standin_op(box, sizeof *box, run_copy)
						: copy_op(box, &waits);
	const bool captured = stream->capture;
	op->is_synchronous = waits && !captured;
	result = standin_submit(stream, op);
	return result || !waits || captured ? result : standin_wait_stream(stream);
}

static CUresult submit_row(CUdeviceptr target, CUdeviceptr source, size_t bytes,
			   enum direction way, bool waits, CUstream handle)
{
	const struct box box = { { target, 0, 0 }, { source, 0, 0 }, bytes, 1, 1 };
	return submit_box(&box, way, waits, handle);
}

#define SYNC (NEEDS_CONTEXT | UNSAFE_IN_CAPTURE)

/* ---- Rows ---- */

STREAM_ENTRY(cuMemcpy, _ptds, SYNC,
	     (CUdeviceptr target, CUdeviceptr source, size_t bytes),
	     (target, source, bytes))
{
	return submit_row(target, source, bytes, ANY_WAY, true, NULL);
}

STREAM_ENTRY(cuMemcpyAsync, _ptsz, 0,
	     (CUdeviceptr target, CUdeviceptr source, size_t bytes, CUstream stream),
	     (target, source, bytes, stream))
{
	return submit_row(target, source, bytes, ANY_WAY, false, stream);
}

STREAM_ENTRY(cuMemcpyHtoD_v2, _ptds, SYNC,
	     (CUdeviceptr target, const void *source, size_t bytes),
	     (target, source, bytes))
{
	return submit_row(target, (CUdeviceptr)source, bytes, TO_DEVICE, true, NULL);
}

STREAM_ENTRY(cuMemcpyHtoDAsync_v2, _ptsz, 0,
	     (CUdeviceptr target, const void *source, size_t bytes, CUstream stream),
	     (target, source, bytes, stream))
{
	return submit_row(target, (CUdeviceptr)source, bytes, TO_DEVICE, false, stream);
}

STREAM_ENTRY(cuMemcpyDtoH_v2, _ptds, SYNC,
	     (void *target, CUdeviceptr source, size_t bytes), (target, source, bytes))
{
	return submit_row((CUdeviceptr)target, source, bytes, TO_HOST, true, NULL);
}

STREAM_ENTRY(cuMemcpyDtoHAsync_v2, _ptsz, 0,
	     (void *target, CUdeviceptr source, size_t bytes, CUstream stream),
	     (target, source, bytes, stream))
{
	return submit_row((CUdeviceptr)target, source, bytes, TO_HOST, false, stream);
}

STREAM_ENTRY(cuMemcpyDtoD_v2, _ptds, SYNC,
	     (CUdeviceptr target, CUdeviceptr source, size_t bytes),
	     (target, source, bytes))
{
	return submit_row(target, source, bytes, ON_DEVICE, false, NULL);
}

STREAM_ENTRY(cuMemcpyDtoDAsync_v2, _ptsz, 0,
	     (CUdeviceptr target, CUdeviceptr source, size_t bytes, CUstream stream),
	     (target, source, bytes, stream))
{
	return submit_row(target, source, bytes, ON_DEVICE, false, stream);
}

static bool is_active(CUcontext context)
{
	return context && context->object.kind == OBJECT_CONTEXT && context->active;
}

STREAM_ENTRY(cuMemcpyPeer, _ptds, SYNC,
	     (CUdeviceptr target, CUcontext target_context, CUdeviceptr source,
	      CUcontext source_context, size_t bytes),
	     (target, target_context, source, source_context, bytes))
{
	if (!is_active(target_context) || !is_active(source_context))
		return CUDA_ERROR_INVALID_CONTEXT;
	return submit_row(target, source, bytes, ON_DEVICE, false, NULL);
}

STREAM_ENTRY(cuMemcpyPeerAsync, _ptsz, 0,
	     (CUdeviceptr target, CUcontext target_context, CUdeviceptr source,
	      CUcontext source_context, size_t bytes, CUstream stream),
	     (target, target_context, source, source_context, bytes, stream))
{
	if (!is_active(target_context) || !is_active(source_context))
		return CUDA_ERROR_INVALID_CONTEXT;
	return submit_row(target, source, bytes, ON_DEVICE, false, stream);
}

/* ---- Boxes ---- */

/* One side of a 2-D or 3-D description: its kind of memory, where it is, how far rows are apart. */
struct description {
	CUmemorytype type;
	const void *host;
	CUdeviceptr device;
	size_t pitch;
	size_t height;
	size_t x;
	size_t y;
	size_t z;
};

static CUresult describe(struct side *side, bool *device, const struct description *from,
			 const struct box *box)
{
	const size_t pitch = from->pitch ? from->pitch : box->width + from->x;
	const size_t height = from->height ? from->height : box->height + from->y;
	if (from->type != CU_MEMORYTYPE_HOST && from->type != CU_MEMORYTYPE_DEVICE &&
	    from->type != CU_MEMORYTYPE_UNIFIED)
		return CUDA_ERROR_INVALID_VALUE;
	if (pitch > MAX_PITCH || pitch < box->width + from->x ||
	    (box->depth > 1 && height < box->height + from->y))
		return CUDA_ERROR_INVALID_VALUE;
	const bool is_host = from->type == CU_MEMORYTYPE_HOST;
	side->address = is_host ? (CUdeviceptr)from->host : from->device;
	side->pitch = pitch;
	side->slice = pitch * height;
	side->address += from->z * side->slice + from->y * pitch + from->x;
	*device = from->type == CU_MEMORYTYPE_DEVICE;
	return CUDA_SUCCESS;
}

static CUresult submit_described(struct box *box, const struct description *target,
				 const struct description *source, bool waits,
				 CUstream stream)
{
	bool to_device, from_device;
	CUresult result = describe(&box->target, &to_device, target, box);
	if (result == CUDA_SUCCESS)
		result = describe(&box->source, &from_device, source, box);
	if (result)
		return result;
	const enum direction way = to_device && from_device ? ON_DEVICE
				   : to_device              ? TO_DEVICE
				   : from_device            ? TO_HOST
							    : ANY_WAY;
	return submit_box(box, way, waits, stream);
}

static CUresult copy_2d(const CUDA_MEMCPY2D *copy, bool waits, CUstream stream)
{
	if (!copy)
		return CUDA_ERROR_INVALID_VALUE;
	struct box box = { .width = copy->WidthInBytes,
			   .height = copy->Height,
			   .depth = 1 };
	const struct description target = { copy->dstMemoryType,
					    copy->dstHost,
					    copy->dstDevice,
					    copy->dstPitch,
					    0,
					    copy->dstXInBytes,
					    copy->dstY,
					    0 };
	const struct description source = { copy->srcMemoryType,
					    copy->srcHost,
					    copy->srcDevice,
					    copy->srcPitch,
					    0,
					    copy->srcXInBytes,
					    copy->srcY,
					    0 };
	return submit_described(&box, &target, &source, waits, stream);
}

static CUresult copy_3d(const CUDA_MEMCPY3D *copy, bool waits, CUstream stream)
{
	if (!copy || copy->srcLOD || copy->dstLOD || copy->reserved0 || copy->reserved1)
		return CUDA_ERROR_INVALID_VALUE;
	struct box box = { .width = copy->WidthInBytes,
			   .height = copy->Height,
			   .depth = copy->Depth };
	const struct description target = { copy->dstMemoryType, copy->dstHost,
					    copy->dstDevice,     copy->dstPitch,
					    copy->dstHeight,     copy->dstXInBytes,
					    copy->dstY,          copy->dstZ };
	const struct description source = { copy->srcMemoryType, copy->srcHost,
					    copy->srcDevice,     copy->srcPitch,
					    copy->srcHeight,     copy->srcXInBytes,
					    copy->srcY,          copy->srcZ };
	return submit_described(&box, &target, &source, waits, stream);
}

STREAM_ENTRY(cuMemcpy2D_v2, _ptds, SYNC, (const CUDA_MEMCPY2D *copy), (copy))
{
	return copy_2d(copy, true, NULL);
}

STREAM_ENTRY(cuMemcpy2DUnaligned_v2, _ptds, SYNC, (const CUDA_MEMCPY2D *copy), (copy))
{
	return copy_2d(copy, true, NULL);
}

STREAM_ENTRY(cuMemcpy2DAsync_v2, _ptsz, 0, (const CUDA_MEMCPY2D *copy, CUstream stream),
	     (copy, stream))
{
	return copy_2d(copy, false, stream);
}

STREAM_ENTRY(cuMemcpy3D_v2, _ptds, SYNC, (const CUDA_MEMCPY3D *copy), (copy))
{
	return copy_3d(copy, true, NULL);
}

STREAM_ENTRY(cuMemcpy3DAsync_v2, _ptsz, 0, (const CUDA_MEMCPY3D *copy, CUstream stream),
	     (copy, stream))
{
	return copy_3d(copy, false, stream);
}

/* ---- Fills ---- */

static CUresult submit_fill(const struct fill *fill, bool waits, CUstream handle)
{
	CUstream stream;
	CUresult result = standin_stream_of(handle, &stream);
	if (result)
		return result;
	for (size_t y = 0; y < fill->height; y++)
		if (fill->target.address % fill->element ||
		    !standin_reachable(fill->target.address + y * fill->target.pitch,
				       fill->width * fill->element, true))
			return CUDA_ERROR_INVALID_VALUE;
	const struct standin_region *region = standin_region_at(fill->target.address);
	waits &= region &&
		 region->kind ==
			 REGION_HOST; /* others are asynchronous, says the manual */
	result = standin_submit(stream, standin_op(fill, sizeof *fill, run_fill));
	return result || !waits || stream->capture ? result : standin_wait_stream(stream);
}

static CUresult fill_row_of(CUdeviceptr target, unsigned value, unsigned element,
			    size_t count, bool waits, CUstream stream)
{
	const struct fill fill = { { target, 0, 0 }, count, 1, value, element };
	return submit_fill(&fill, waits, stream);
}

STREAM_ENTRY(cuMemsetD8_v2, _ptds, SYNC,
	     (CUdeviceptr target, unsigned char value, size_t count),
	     (target, value, count))
{
	return fill_row_of(target, value, 1, count, true, NULL);
}

STREAM_ENTRY(cuMemsetD8Async, _ptsz, 0,
	     (CUdeviceptr target, unsigned char value, size_t count, CUstream stream),
	     (target, value, count, stream))
{
	return fill_row_of(target, value, 1, count, false, stream);
}

STREAM_ENTRY(cuMemsetD16_v2, _ptds, SYNC,
	     (CUdeviceptr target, unsigned short value, size_t count),
	     (target, value, count))
{
	return fill_row_of(target, value, 2, count, true, NULL);
}

STREAM_ENTRY(cuMemsetD16Async, _ptsz, 0,
	     (CUdeviceptr target, unsigned short value, size_t count, CUstream stream),
	     (target, value, count, stream))
{
	return fill_row_of(target, value, 2, count, false, stream);
}

STREAM_ENTRY(cuMemsetD32_v2, _ptds, SYNC,
	     (CUdeviceptr target, unsigned value, size_t count), (target, value, count))
{
	return fill_row_of(target, value, 4, count, true, NULL);
}

STREAM_ENTRY(cuMemsetD32Async, _ptsz, 0,
	     (CUdeviceptr target, unsigned value, size_t count, CUstream stream),
	     (target, value, count, stream))
{
	return fill_row_of(target, value, 4, count, false, stream);
}
