/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Words that a stream writes or waits for. A stream that waits holds up no other, unless so many
 * wait that the hardware starts no more kernels (standin_scheduler.c).
 */
#include <string.h>

#include "support/cuda_standin/standin_internal.h"

struct word {
	CUdeviceptr address;
	uint64_t value;
	unsigned flags;
	unsigned bytes;
};

static uint64_t load(const struct word *word, bool *known)
{
	size_t there;
	const void *at = standin_translate(word->address, &there);
	*known = at && there >= word->bytes;
	if (!*known)
		return 0;
	return word->bytes == 4 ? __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE)
				: __atomic_load_n((const uint64_t *)at, __ATOMIC_ACQUIRE);
}

/* Cyclic: the difference is taken in the word's own width. */
static bool at_least(uint64_t found, const struct word *word)
{
	return word->bytes == 4 ? (int32_t)((uint32_t)found - (uint32_t)word->value) >= 0
				: (int64_t)(found - word->value) >= 0;
}

static bool word_arrived(struct standin_op *op)
{
	const struct word *word = (const struct word *)op->payload;
	const uint64_t mask = word->bytes == 4 ? UINT32_MAX : UINT64_MAX;
	bool known;
	const uint64_t found = load(word, &known);
	if (!known)
		return true; /* run_wait says that it is illegal */
	switch (word->flags & 3) {
	case CU_STREAM_WAIT_VALUE_GEQ:
		return at_least(found, word);
	case CU_STREAM_WAIT_VALUE_EQ:
		return found == (word->value & mask);
	case CU_STREAM_WAIT_VALUE_AND:
		return found & word->value & mask;
	default: /* CU_STREAM_WAIT_VALUE_NOR */
		return ~(found | word->value) & mask;
	}
}

static void run_wait(struct standin_op *op)
{
	bool known;
	load((const struct word *)op->payload, &known);
	if (!known)
		standin_poison(op->stream->context, CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void run_write(struct standin_op *op)
{
	const struct word *word = (const struct word *)op->payload;
	size_t there;
	void *at = standin_translate(word->address, &there);
	if (!at || there < word->bytes)
		standin_poison(op->stream->context, CUDA_ERROR_ILLEGAL_ADDRESS);
	else if (word->bytes == 4)
		__atomic_store_n((uint32_t *)at, (uint32_t)word->value, __ATOMIC_RELEASE);
	else
		__atomic_store_n((uint64_t *)at, word->value, __ATOMIC_RELEASE);
}

static CUresult check_word(const struct word *word, unsigned known_flags)
{
	if (word->bytes == 8 && !standin_get(STANDIN_MEM_OPS))
		return CUDA_ERROR_NOT_SUPPORTED;
	if (word->flags & CU_STREAM_WAIT_VALUE_FLUSH && known_flags & 3)
		return CUDA_ERROR_NOT_SUPPORTED; /* CAN_FLUSH_REMOTE_WRITES is 0 */
	if (word->flags & ~known_flags || word->address % word->bytes ||
	    !standin_reachable(word->address, word->bytes, true))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUresult submit_wait(CUstream stream, const struct word *word)
{
	CUresult result = check_word(word, 3);
	if (result)
		return result;
	struct standin_op *op = standin_op(word, sizeof *word, run_wait);
	op->ready = word_arrived;
	op->is_wait_value = true;
	return standin_submit(stream, op);
}

static CUresult submit_write(CUstream stream, const struct word *word)
{
	CUresult result = check_word(word, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER);
	return result ? result
		      : standin_submit(stream, standin_op(word, sizeof *word, run_write));
}

static CUresult on_stream(CUstream handle, const struct word *word,
			  CUresult (*submit)(CUstream stream, const struct word *word))
{
	CUstream stream;
	CUresult result = standin_stream_of(handle, &stream);
	return result ? result : submit(stream, word);
}

STREAM_ENTRY(cuStreamWaitValue32_v2, _ptsz, 0,
	     (CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags),
	     (stream, address, value, flags))
{
	return on_stream(stream, &(struct word){ address, value, flags, 4 }, submit_wait);
}

STREAM_ENTRY(cuStreamWaitValue64_v2, _ptsz, 0,
	     (CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags),
	     (stream, address, value, flags))
{
	return on_stream(stream, &(struct word){ address, value, flags, 8 }, submit_wait);
}

STREAM_ENTRY(cuStreamWriteValue32_v2, _ptsz, 0,
	     (CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags),
	     (stream, address, value, flags))
{
	return on_stream(stream, &(struct word){ address, value, flags, 4 },
			 submit_write);
}

STREAM_ENTRY(cuStreamWriteValue64_v2, _ptsz, 0,
	     (CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags),
	     (stream, address, value, flags))
{
	return on_stream(stream, &(struct word){ address, value, flags, 8 },
			 submit_write);
}

static CUresult submit_one(CUstream stream, const CUstreamBatchMemOpParams *op)
{
	const bool wide = op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 ||
			  op->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
	/* Waits and writes are described by the same members in the same places. */
	const struct word word = { op->waitValue.address,
				   wide ? op->waitValue.value64 : op->waitValue.value,
				   op->waitValue.flags, wide ? 8 : 4 };
	switch (op->operation) {
	case CU_STREAM_MEM_OP_WAIT_VALUE_32:
	case CU_STREAM_MEM_OP_WAIT_VALUE_64:
		return submit_wait(stream, &word);
	case CU_STREAM_MEM_OP_WRITE_VALUE_32:
	case CU_STREAM_MEM_OP_WRITE_VALUE_64:
		return submit_write(stream, &word);
	case CU_STREAM_MEM_OP_BARRIER:
		return CUDA_SUCCESS; /* work is done in order anyway */
	case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
		return CUDA_ERROR_NOT_SUPPORTED;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

STREAM_ENTRY(cuStreamBatchMemOp_v2, _ptsz, 0,
	     (CUstream handle, unsigned count, CUstreamBatchMemOpParams *ops,
	      unsigned flags),
	     (handle, count, ops, flags))
{
	CUstream stream;
	CUresult result = standin_stream_of(handle, &stream);
	if (result)
		return result;
	if (!ops || !count || count > 256 || flags)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; result == CUDA_SUCCESS && i < count; i++)
		result = submit_one(stream, &ops[i]);
	return result;
}
