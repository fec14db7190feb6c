/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The CRC-32C of packed bytes. A block has as many whole tiles as all others, of which the first
 * one's may begin before the bytes: zeros in front change no remainder. In a tile each thread has a
 * piece; what it knows of one tile goes to the next by a multiplication, and so on through threads and
 * blocks.
 */
#ifndef DTC_KERNELS_GPU_CHECKSUM_CU_H
#define DTC_KERNELS_GPU_CHECKSUM_CU_H

#define DTC_GPU_CRC_POLYNOMIAL 0x82f63b78u

/* Shared memory: a table of 256 for each row, then the threads' remainders. */
DTC_GPU_FN uint32_t *dtc_gpu_crc_sums(void *shared)
{
	return (uint32_t *)shared + DTC_GPU_CRC_ROWS * 256;
}

/* What the lowest 8 bits of @x are in a row's table. */
DTC_GPU_FN uint32_t dtc_gpu_crc_entry(const uint32_t *table, uint32_t row, uint32_t x)
{
	return table[row * 256 + (x & 0xff)];
}

/* The product of two polynomials, reduced. */
DTC_GPU_FN uint32_t dtc_gpu_crc_multiply(uint32_t a, uint32_t b)
{
	uint32_t product = 0;

	DTC_GPU_UNROLL_BY(8)
	for (uint32_t i = 0; i < 32; i++) {
		product ^= a >> 31 ? b : 0;
		b = b >> 1 ^ (b & 1 ? DTC_GPU_CRC_POLYNOMIAL : 0);
		a <<= 1;
	}
	return product;
}

/* Each row is linear in its index, so it follows from the eight powers of two. */
DTC_GPU_FN void dtc_gpu_crc_tables(const struct dtc_gpu_crc_params *p, void *shared,
				   struct dtc_gpu_at at)
{
	uint32_t *table = (uint32_t *)shared;

	for (uint32_t row = 0; row < DTC_GPU_CRC_ROWS; row++) {
		uint32_t entry = 0;

		DTC_GPU_UNROLL
		for (uint32_t bit = 0; bit < 8; bit++)
			entry ^= at.thread >> bit & 1 ? p->constants.rows[row][bit] : 0;
		table[row * 256 + at.thread] = entry;
	}
}

/* The remainder so far, followed by 8 bytes. */
DTC_GPU_FN uint32_t dtc_gpu_crc_step(const uint32_t *table, uint32_t crc, uint32_t low,
				     uint32_t high)
{
	crc ^= low;
	return dtc_gpu_crc_entry(table, 7, crc) ^ dtc_gpu_crc_entry(table, 6, crc >> 8) ^
	       dtc_gpu_crc_entry(table, 5, crc >> 16) ^
	       dtc_gpu_crc_entry(table, 4, crc >> 24) ^
	       dtc_gpu_crc_entry(table, 3, high) ^
	       dtc_gpu_crc_entry(table, 2, high >> 8) ^
	       dtc_gpu_crc_entry(table, 1, high >> 16) ^
	       dtc_gpu_crc_entry(table, 0, high >> 24);
}

/* From the end of a thread's piece of one tile to the beginning of its piece of the next. */
DTC_GPU_FN uint32_t dtc_gpu_crc_skip(const uint32_t *table, uint32_t crc)
{
	return dtc_gpu_crc_entry(table, 8, crc) ^ dtc_gpu_crc_entry(table, 9, crc >> 8) ^
	       dtc_gpu_crc_entry(table, 10, crc >> 16) ^
	       dtc_gpu_crc_entry(table, 11, crc >> 24);
}

/* Zeros in the first @bytes < 16. */
DTC_GPU_FN void dtc_gpu_crc_cut_head(struct dtc_gpu_bytes16 *value, uint32_t bytes)
{
	DTC_GPU_UNROLL
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t cut = bytes > 4 * i ? bytes - 4 * i : 0;

		if (cut)
			value->w[i] &= cut < 4 ? ~0u << (8 * cut) : 0;
	}
}

/* The word at @place of all blocks' tiles, of which the first ones are not there. */
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

DTC_GPU_FN void dtc_gpu_crc_pieces(const struct dtc_gpu_crc_params *p, void *shared,
				   struct dtc_gpu_at at)
{
	const uint32_t *table = (const uint32_t *)shared;
	uint64_t bytes = (uint64_t)p->tiles * DTC_GPU_CRC_TILE;
	uint64_t end = at.blocks * bytes;
	uint64_t place = at.block * bytes + at.thread * DTC_GPU_CRC_PIECE;
	uint32_t crc = 0;

	DTC_GPU_NO_UNROLL
	for (uint32_t tile = 0; tile < p->tiles; tile++, place += DTC_GPU_CRC_TILE) {
		struct dtc_gpu_bytes16 word[DTC_GPU_CRC_PIECE / 16];

		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < DTC_GPU_CRC_PIECE / 16; k++)
			dtc_gpu_crc_load(p, place + 16 * k, end, &word[k]);
		crc = dtc_gpu_crc_skip(table, crc);
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < DTC_GPU_CRC_PIECE / 16; k++) {
			crc = dtc_gpu_crc_step(table, crc, word[k].w[0], word[k].w[1]);
			crc = dtc_gpu_crc_step(table, crc, word[k].w[2], word[k].w[3]);
		}
	}
	crc = dtc_gpu_crc_multiply(crc, p->constants.threads[at.thread % 16]);
	dtc_gpu_crc_sums(shared)[at.thread] =
		dtc_gpu_crc_multiply(crc, p->constants.groups[at.thread / 16]);
}

/* The block's remainder, with the blocks behind it as zeros. */
DTC_GPU_FN uint32_t dtc_gpu_crc_of_block(const struct dtc_gpu_crc_params *p,
					 const uint32_t *sums, uint32_t behind)
{
	uint32_t crc = 0;

	DTC_GPU_UNROLL_BY(8)
	for (uint32_t i = 0; i < DTC_GPU_BLOCK; i++)
		crc ^= sums[i];
	DTC_GPU_NO_UNROLL
	for (uint32_t i = 0; behind >> i; i++)
		if (behind >> i & 1)
			crc = dtc_gpu_crc_multiply(crc, p->blocks[i]);
	return crc;
}

/* The last block to come finds all remainders in the sum, and leaves nothing there. */
DTC_GPU_FN void dtc_gpu_crc_join(const struct dtc_gpu_crc_params *p, void *shared,
				 struct dtc_gpu_at at)
{
	if (at.thread)
		return;
	dtc_gpu_xor(p->counter + 4, dtc_gpu_crc_of_block(p, dtc_gpu_crc_sums(shared),
							 at.blocks - 1 - at.block));
	dtc_gpu_fence_system();
	if (dtc_gpu_count_up(p->counter, at.blocks - 1) != at.blocks - 1)
		return;
	dtc_gpu_fence_system();
	dtc_gpu_store8(p->result, dtc_gpu_take(p->counter + 4), 0);
}

#endif
