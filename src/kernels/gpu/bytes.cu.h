/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves single words, and pieces of up to 16 bytes at any alignment. Loads are of aligned words
 * that hold at least one of the requested bytes; stores write exactly the requested bytes.
 */
#ifndef DTC_KERNELS_GPU_BYTES_CU_H
#define DTC_KERNELS_GPU_BYTES_CU_H

/* The values of enum dtc_direction. */
#define DTC_GPU_PACK   0
#define DTC_GPU_UNPACK 1

/* The coordinates of a thread in the launch. */
struct dtc_gpu_at {
	uint32_t thread;
	uint32_t block;
	uint32_t blocks;
};

/*
 * ---- aligned words; @word is a constant, except in typed kernels
 * ----------------------------------
 */

DTC_GPU_FN void dtc_gpu_load_word(uint64_t address, uint32_t word, struct dtc_gpu_bytes16 *to)
{
	if (word == 16)
		dtc_gpu_load16(address, to);
	else if (word == 8)
		dtc_gpu_load8_into(address, to);
	else if (word == 4)
		to->w[0] = dtc_gpu_load4(address);
	else if (word == 2)
		to->w[0] = dtc_gpu_load2(address);
	else
		to->w[0] = dtc_gpu_load1(address);
}

DTC_GPU_FN void dtc_gpu_store_word(uint64_t address, uint32_t word,
				   const struct dtc_gpu_bytes16 *value)
{
	if (word == 16)
		dtc_gpu_store16(address, value);
	else if (word == 8)
		dtc_gpu_store8(address, value->w[0], value->w[1]);
	else if (word == 4)
		dtc_gpu_store4(address, value->w[0]);
	else if (word == 2)
		dtc_gpu_store2(address, value->w[0]);
	else
		dtc_gpu_store1(address, value->w[0]);
}

/*
 * ---- words in shared memory, whose alignment equals the word
 * ---------------------------------
 */

DTC_GPU_FN void dtc_gpu_keep(void *shared, uint32_t index, uint32_t word,
			     const struct dtc_gpu_bytes16 *value)
{
	if (word == 16)
		((struct dtc_gpu_bytes16 *)shared)[index] = *value;
	else if (word == 8)
		((uint64_t *)shared)[index] = (uint64_t)value->w[1] << 32 | value->w[0];
	else if (word == 4)
		((uint32_t *)shared)[index] = value->w[0];
	else if (word == 2)
		((uint16_t *)shared)[index] = (uint16_t)value->w[0];
	else
		((uint8_t *)shared)[index] = (uint8_t)value->w[0];
}

DTC_GPU_FN void dtc_gpu_recall(const void *shared, uint32_t index, uint32_t word,
			       struct dtc_gpu_bytes16 *value)
{
	if (word == 16) {
		*value = ((const struct dtc_gpu_bytes16 *)shared)[index];
	} else if (word == 8) {
		uint64_t both = ((const uint64_t *)shared)[index];

		value->w[0] = (uint32_t)both;
		value->w[1] = (uint32_t)(both >> 32);
	} else if (word == 4) {
		value->w[0] = ((const uint32_t *)shared)[index];
	} else if (word == 2) {
		value->w[0] = ((const uint16_t *)shared)[index];
	} else {
		value->w[0] = ((const uint8_t *)shared)[index];
	}
}

/* ---- shifts of 16 bytes by bytes ------------------------------------------------------------ */

/* Bytes [by, by + 16) of high:low, by < 16. */
DTC_GPU_FN struct dtc_gpu_bytes16 dtc_gpu_shift_down(const struct dtc_gpu_bytes16 *low,
						     const struct dtc_gpu_bytes16 *high,
						     uint32_t by)
{
	uint32_t bits = (by & 3) * 8;
	uint32_t a0 = by & 8 ? low->w[2] : low->w[0];
	uint32_t a1 = by & 8 ? low->w[3] : low->w[1];
	uint32_t a2 = by & 8 ? high->w[0] : low->w[2];
	uint32_t a3 = by & 8 ? high->w[1] : low->w[3];
	uint32_t a4 = by & 8 ? high->w[2] : high->w[0];
	uint32_t a5 = by & 8 ? high->w[3] : high->w[1];
	uint32_t b0 = by & 4 ? a1 : a0;
	uint32_t b1 = by & 4 ? a2 : a1;
	uint32_t b2 = by & 4 ? a3 : a2;
	uint32_t b3 = by & 4 ? a4 : a3;
	uint32_t b4 = by & 4 ? a5 : a4;
	struct dtc_gpu_bytes16 shifted;

	shifted.w[0] = dtc_gpu_funnel(b0, b1, bits);
	shifted.w[1] = dtc_gpu_funnel(b1, b2, bits);
	shifted.w[2] = dtc_gpu_funnel(b2, b3, bits);
	shifted.w[3] = dtc_gpu_funnel(b3, b4, bits);
	return shifted;
}

/* The first 16 bytes of @value with @by bytes of zero before it, by < 16. */
DTC_GPU_FN struct dtc_gpu_bytes16 dtc_gpu_shift_up(const struct dtc_gpu_bytes16 *value,
						   uint32_t by)
{
	struct dtc_gpu_bytes16 zero = { { 0, 0, 0, 0 } };

	return by ? dtc_gpu_shift_down(&zero, value, 16 - by) : *value;
}

/* Set the bytes from @bytes on to zero. */
DTC_GPU_FN void dtc_gpu_cut(struct dtc_gpu_bytes16 *value, uint32_t bytes)
{
	DTC_GPU_UNROLL
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t kept = bytes > 4 * i ? bytes - 4 * i : 0;

		if (kept < 4)
			value->w[i] &= (1u << (8 * kept)) - 1;
	}
}

DTC_GPU_FN void dtc_gpu_merge(struct dtc_gpu_bytes16 *into, const struct dtc_gpu_bytes16 *more)
{
	DTC_GPU_UNROLL
	for (uint32_t i = 0; i < 4; i++)
		into->w[i] |= more->w[i];
}

/*
 * ---- unaligned loads
 * --------------------------------------------------------------------------
 */

/*
 * The aligned words that contain a piece. Fetching and use are separate, so that loads overlap.
 */
struct dtc_gpu_fetched {
	struct dtc_gpu_bytes16 low, high;
	uint32_t offset; /* of the first byte */
	uint32_t bytes;
};

/* Begin to load @bytes <= 16. 0 bytes need no load. */
DTC_GPU_FN void dtc_gpu_fetch(uint64_t address, uint32_t bytes, struct dtc_gpu_fetched *fetched)
{
	uint32_t offset = (uint32_t)address & 15;
	uint64_t line = address - offset;
	struct dtc_gpu_bytes16 zero = { { 0, 0, 0, 0 } };

	fetched->offset = offset;
	fetched->bytes = bytes;
	fetched->low = zero;
	fetched->high = zero;
	if (bytes)
		dtc_gpu_load16(line, &fetched->low);
	if (offset + bytes > 16)
		dtc_gpu_load16(line + 16, &fetched->high);
}

/* The fetched bytes, followed by zeros. */
DTC_GPU_FN struct dtc_gpu_bytes16 dtc_gpu_fetched_value(const struct dtc_gpu_fetched *fetched)
{
	struct dtc_gpu_bytes16 value =
		dtc_gpu_shift_down(&fetched->low, &fetched->high, fetched->offset);

	dtc_gpu_cut(&value, fetched->bytes);
	return value;
}

DTC_GPU_FN struct dtc_gpu_bytes16 dtc_gpu_gather(uint64_t address, uint32_t bytes)
{
	struct dtc_gpu_fetched fetched;

	dtc_gpu_fetch(address, bytes, &fetched);
	return dtc_gpu_fetched_value(&fetched);
}

/*
 * ---- unaligned stores
 * -------------------------------------------------------------------------
 */

/* The bytes that are still to be stored, and their address. */
struct dtc_gpu_rest {
	uint64_t address;
	struct dtc_gpu_bytes16 value;
	uint32_t bytes;
};

/* If @asked, store one word of constant size and advance behind it. */
DTC_GPU_FN void dtc_gpu_store_next(struct dtc_gpu_rest *rest, uint32_t word, int asked)
{
	struct dtc_gpu_bytes16 zero = { { 0, 0, 0, 0 } };

	if (!asked)
		return;
	dtc_gpu_store_word(rest->address, word, &rest->value);
	rest->value = dtc_gpu_shift_down(&rest->value, &zero, word);
	rest->address += word;
	rest->bytes -= word;
}

/*
 * Store the first @bytes <= @most of @value in as few aligned words as possible: increasing
 * sizes up to the first address that @most divides, then decreasing ones. The threads of a warp
 * take this path together, even if their lengths differ.
 */
DTC_GPU_FN void dtc_gpu_scatter_most(uint64_t address, struct dtc_gpu_bytes16 value,
				     uint32_t bytes, uint32_t most)
{
	struct dtc_gpu_rest rest = { address, value, bytes };

	if (bytes == most && !((uint32_t)address & (most - 1))) {
		dtc_gpu_store_word(address, most, &value);
		return;
	}
	DTC_GPU_UNROLL
	for (uint32_t word = 1; word < 16; word *= 2)
		if (word < most)
			dtc_gpu_store_next(&rest, word,
					   ((uint32_t)rest.address & word) && rest.bytes >= word);
	DTC_GPU_UNROLL
	for (uint32_t word = 8; word > 0; word /= 2)
		if (word < most)
			dtc_gpu_store_next(&rest, word, (rest.bytes & word) != 0);
}

/* Store the first @bytes of @value. */
DTC_GPU_FN void dtc_gpu_scatter(uint64_t address, struct dtc_gpu_bytes16 value, uint32_t bytes)
{
	dtc_gpu_scatter_most(address, value, bytes, 16);
}

/*
 * Prefetch the sector of a byte of the run [low, high) if the run covers only a part of the
 * sector.
 */
DTC_GPU_FN void dtc_gpu_expect(uint64_t address, uint64_t low, uint64_t high)
{
	uint64_t sector = address & ~(uint64_t)(DTC_GPU_SECTOR - 1);

	if (sector < low || sector + DTC_GPU_SECTOR > high)
		dtc_gpu_ask_for(address);
}

/* ---- completion ------------------------------------------------------------------------------- */

/*
 * All threads of a block have stored their data and passed the barrier. The fence before the
 * flag does two things: it acquires the stores that other blocks have counted, and releases all
 * of them with the flag.
 */
DTC_GPU_FN void dtc_gpu_finish(const struct dtc_gpu_done *done, struct dtc_gpu_at at)
{
	if (!done->flag || at.thread)
		return;
	if (at.blocks > 1) {
		dtc_gpu_fence_system();
		if (dtc_gpu_count_up(done->counter, at.blocks - 1) != at.blocks - 1)
			return;
	}
	dtc_gpu_fence_system();
	dtc_gpu_store_flag(done->flag, done->value);
}

#endif
