/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The CRC-32C of packed bytes. All blocks have the same number of whole tiles. The first
 * block's tiles may begin before the bytes, because leading zeros do not change a remainder. In
 * a tile each thread has a piece. A multiplication shifts its remainder to the next tile, and
 * later past other threads and blocks.
 */
#ifndef DTC_KERNELS_GPU_CHECKSUM_CU_H
#define DTC_KERNELS_GPU_CHECKSUM_CU_H

/* The layout of shared memory. */
DTC_GPU_FN uint32_t *dtc_gpu_crc_rows(void *shared)
{
	return (uint32_t *)shared + DTC_GPU_CRC_ENTRIES * DTC_GPU_LANES;
}

DTC_GPU_FN uint32_t *dtc_gpu_crc_sums(void *shared)
{
	return dtc_gpu_crc_rows(shared) + DTC_GPU_CRC_ROWS * 256;
}

/* The table entries for groups of bits that begin at bits 0, 6, 12, 17, 22 and 27. */
DTC_GPU_FN uint32_t dtc_gpu_crc_bits_of_entry(uint32_t entry)
{
	if (entry < 64)
		return entry;
	if (entry < 128)
		return (entry - 64) << 6;
	return (entry & 31) << (12 + (entry - 128) / 32 * 5);
}

/* An entry is the sum of the entries of its single bits. */
DTC_GPU_FN uint32_t dtc_gpu_crc_make_entry(const struct dtc_gpu_crc_params *p,
					   uint32_t entry)
{
	uint32_t bits = dtc_gpu_crc_bits_of_entry(entry), sum = 0;

	DTC_GPU_UNROLL
	for (uint32_t i = 0; i < 32; i++)
		sum ^= bits >> i & 1 ? p->constants.bits[i] : 0;
	return sum;
}

/*
 * Each thread computes one entry and stores a copy for every lane. Neighbouring threads begin
 * with different lanes.
 */
DTC_GPU_FN void dtc_gpu_crc_tables(const struct dtc_gpu_crc_params *p, void *shared,
				   struct dtc_gpu_at at)
{
	const uint32_t groups = DTC_GPU_LANES / 4;
	struct dtc_gpu_bytes16 *lanes =
		(struct dtc_gpu_bytes16 *)shared + at.thread * groups;
	uint32_t entry = dtc_gpu_crc_make_entry(p, at.thread);
	struct dtc_gpu_bytes16 four = { { entry, entry, entry, entry } };

	DTC_GPU_UNROLL
	for (uint32_t i = 0; i < groups; i++)
		lanes[(at.thread + i) % groups] = four;
	for (uint32_t row = 0; row < DTC_GPU_CRC_ROWS; row++) {
		uint32_t sum = 0;

		DTC_GPU_UNROLL
		for (uint32_t bit = 0; bit < 8; bit++)
			sum ^= at.thread >> bit & 1 ? p->constants.rows[row][bit] : 0;
		dtc_gpu_crc_rows(shared)[row * 256 + at.thread] = sum;
	}
}

/* The entries of a lane: the base address, and the lane's byte offset. */
struct dtc_gpu_crc_lane {
	const char *entries;
	uint32_t offset;
};

/*
 * The entry for bits [first, first + some) of @x, in the group that begins at @entry. All but
 * @x are constants.
 */
DTC_GPU_FN uint32_t dtc_gpu_crc_entry(struct dtc_gpu_crc_lane lane, uint32_t entry,
				      uint32_t x, uint32_t first, uint32_t some)
{
	uint32_t index = first < 7 ? x << (7 - first) : x >> (first - 7);
	const void *from =
		lane.entries + ((index & ((1u << some) - 1) << 7) | lane.offset);

	return ((const uint32_t *)from)[DTC_GPU_LANES * entry];
}

/* The remainder of @crc followed by 4 zero bytes. */
DTC_GPU_FN uint32_t dtc_gpu_crc_forward(struct dtc_gpu_crc_lane lane, uint32_t crc)
{
	return dtc_gpu_crc_entry(lane, 0, crc, 0, 6) ^
	       dtc_gpu_crc_entry(lane, 64, crc, 6, 6) ^
	       dtc_gpu_crc_entry(lane, 128, crc, 12, 5) ^
	       dtc_gpu_crc_entry(lane, 160, crc, 17, 5) ^
	       dtc_gpu_crc_entry(lane, 192, crc, 22, 5) ^
	       dtc_gpu_crc_entry(lane, 224, crc, 27, 5);
}

/*
 * The product of two polynomials, in 64 bits. Integer multiplication with masks of every fourth
 * bit: at most eight products meet at a position, which fit into four bits, and the lowest of
 * these is their sum modulo 2.
 */
DTC_GPU_FN uint64_t dtc_gpu_crc_product(uint32_t a, uint32_t b)
{
	const uint64_t fourth = 0x1111111111111111u;
	uint64_t product = 0;

	DTC_GPU_UNROLL
	for (uint32_t r = 0; r < 4; r++) {
		uint64_t sum = 0;

		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < 4; i++)
			sum ^= (uint64_t)(a & (uint32_t)fourth << i) *
			       (b & (uint32_t)fourth << ((r - i) & 3));
		product |= sum & fourth << r;
	}
	return product;
}

/* The product, reduced. */
DTC_GPU_FN uint32_t dtc_gpu_crc_multiply(struct dtc_gpu_crc_lane lane, uint32_t a,
					 uint32_t b)
{
	uint64_t product = dtc_gpu_crc_product(a, b) << 1;

	return (uint32_t)(product >> 32) ^ dtc_gpu_crc_forward(lane, (uint32_t)product);
}

/*
 * Shift from the end of a thread's piece of one tile to the beginning of its piece of the next.
 */
DTC_GPU_FN uint32_t dtc_gpu_crc_skip(const uint32_t *rows, uint32_t crc)
{
	return rows[crc & 0xff] ^ rows[256 + (crc >> 8 & 0xff)] ^
	       rows[512 + (crc >> 16 & 0xff)] ^ rows[768 + (crc >> 24)];
}

/* Clear the first @bytes < 16. */
DTC_GPU_FN void dtc_gpu_crc_cut_head(struct dtc_gpu_bytes16 *value, uint32_t bytes)
{
	DTC_GPU_UNROLL
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t cut = bytes > 4 * i ? bytes - 4 * i : 0;

		if (cut)
			value->w[i] &= cut < 4 ? ~0u << (8 * cut) : 0;
	}
}

/*
 * Load word @place of all blocks' tiles. The words before the first byte do not exist and count
 * as zeros.
 */
DTC_GPU_FN void dtc_gpu_crc_load(const struct dtc_gpu_crc_params *p, uint64_t place,
				 uint64_t end, struct dtc_gpu_bytes16 *value)
{
	struct dtc_gpu_bytes16 zero = { { 0, 0, 0, 0 } };

	*value = zero;
	if (place < p->skipped)
		return;
	dtc_gpu_load16(p->begin + (place - p->skipped), value);
	if (place == p->skipped)
		dtc_gpu_crc_cut_head(value, p->head);
	if (place + 16 == end)
		dtc_gpu_cut(value, 16 - p->tail);
}

/* Load a piece. The common case, in which all of its words exist, is tested once. */
DTC_GPU_FN void dtc_gpu_crc_load_piece(const struct dtc_gpu_crc_params *p, uint64_t place,
				       uint64_t end, struct dtc_gpu_bytes16 word[])
{
	uint64_t address = p->begin + (place - p->skipped);

	if (place > p->skipped && place + DTC_GPU_CRC_PIECE < end) {
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < DTC_GPU_CRC_PIECE / 16; k++)
			dtc_gpu_load16(address + 16 * k, &word[k]);
		return;
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_CRC_PIECE / 16; k++)
		dtc_gpu_crc_load(p, place + 16 * k, end, &word[k]);
}

DTC_GPU_FN struct dtc_gpu_crc_lane dtc_gpu_crc_lane_of(const void *shared,
						       struct dtc_gpu_at at)
{
	struct dtc_gpu_crc_lane lane;

	lane.entries = (const char *)shared;
	lane.offset = at.thread % DTC_GPU_LANES * 4;
	return lane;
}

DTC_GPU_FN void dtc_gpu_crc_pieces(const struct dtc_gpu_crc_params *p, void *shared,
				   struct dtc_gpu_at at)
{
	const struct dtc_gpu_crc_lane lane = dtc_gpu_crc_lane_of(shared, at);
	uint64_t bytes = (uint64_t)p->tiles * DTC_GPU_CRC_TILE;
	uint64_t end = at.blocks * bytes;
	uint64_t place = at.block * bytes + at.thread * DTC_GPU_CRC_PIECE;
	uint32_t crc = 0;

	DTC_GPU_NO_UNROLL
	for (uint32_t tile = 0; tile < p->tiles; tile++, place += DTC_GPU_CRC_TILE) {
		struct dtc_gpu_bytes16 word[DTC_GPU_CRC_PIECE / 16];

		dtc_gpu_crc_load_piece(p, place, end, word);
		crc = dtc_gpu_crc_skip(dtc_gpu_crc_rows(shared), crc);
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < DTC_GPU_CRC_PIECE / 4; k++)
			crc = dtc_gpu_crc_forward(lane, crc ^ word[k / 4].w[k % 4]);
	}
	crc = dtc_gpu_crc_multiply(lane, crc, p->constants.threads[at.thread % 16]);
	dtc_gpu_crc_sums(shared)[at.thread] =
		dtc_gpu_crc_multiply(lane, crc, p->constants.groups[at.thread / 16]);
}

/* The remainder of the block, shifted past the blocks behind it. */
DTC_GPU_FN uint32_t dtc_gpu_crc_of_block(const struct dtc_gpu_crc_params *p, void *shared,
					 struct dtc_gpu_crc_lane lane, uint32_t behind)
{
	const struct dtc_gpu_bytes16 *sums =
		(const struct dtc_gpu_bytes16 *)dtc_gpu_crc_sums(shared);
	struct dtc_gpu_bytes16 all = sums[0];

	DTC_GPU_UNROLL_BY(9)
	for (uint32_t i = 1; i < DTC_GPU_BLOCK / 4; i++) {
		struct dtc_gpu_bytes16 more = sums[i];

		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < 4; k++)
			all.w[k] ^= more.w[k];
	}
	uint32_t crc = all.w[0] ^ all.w[1] ^ all.w[2] ^ all.w[3];
	DTC_GPU_NO_UNROLL
	for (uint32_t i = 0; behind >> i; i++)
		if (behind >> i & 1)
			crc = dtc_gpu_crc_multiply(lane, crc, p->blocks[i]);
	return crc;
}

/* The last block to arrive takes the sum of all remainders, and resets it to 0. */
DTC_GPU_FN void dtc_gpu_crc_join(const struct dtc_gpu_crc_params *p, void *shared,
				 struct dtc_gpu_at at)
{
	if (at.thread)
		return;
	dtc_gpu_xor(p->counter + 4,
		    dtc_gpu_crc_of_block(p, shared, dtc_gpu_crc_lane_of(shared, at),
					 at.blocks - 1 - at.block));
	dtc_gpu_fence_system();
	if (dtc_gpu_count_up(p->counter, at.blocks - 1) != at.blocks - 1)
		return;
	dtc_gpu_fence_system();
	dtc_gpu_store8(p->result, dtc_gpu_take(p->counter + 4), 0);
}

#endif
