/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Single numbers at any alignment, and their conversion.
 */
#ifndef DTC_KERNELS_GPU_NUMBER_VALUE_CU_H
#define DTC_KERNELS_GPU_NUMBER_VALUE_CU_H

/*
 * ---- single numbers at any alignment
 * -----------------------------------------------------------
 */

/* @bytes is a power of two; numbers that are not aligned to it cost more. */
DTC_GPU_CALLED struct dtc_gpu_bytes16 dtc_gpu_load_number(uint64_t address,
							  uint32_t bytes)
{
	struct dtc_gpu_bytes16 value = { { 0, 0, 0, 0 } };

	if ((uint32_t)address & (bytes - 1))
		return dtc_gpu_gather(address, bytes);
	dtc_gpu_load_word(address, bytes, &value);
	return value;
}

DTC_GPU_CALLED void dtc_gpu_store_number(uint64_t address, uint32_t bytes,
					 struct dtc_gpu_bytes16 value)
{
	if ((uint32_t)address & (bytes - 1))
		dtc_gpu_scatter(address, value, bytes);
	else
		dtc_gpu_store_word(address, bytes, &value);
}

/* ---- numbers of 4 and 8 bytes, aligned to 4 ------------------------------------------------------ */

/* A number of @bytes in words of @word. */
DTC_GPU_FN uint64_t dtc_gpu_load_part(uint64_t address, uint32_t bytes, uint32_t word)
{
	if (bytes == 4)
		return dtc_gpu_load4(address);
	if (word == 8)
		return dtc_gpu_load8(address);
	return (uint64_t)dtc_gpu_load4(address + 4) << 32 | dtc_gpu_load4(address);
}

DTC_GPU_FN void dtc_gpu_store_part(uint64_t address, uint32_t bytes, uint32_t word,
				   uint64_t part)
{
	if (bytes == 4) {
		dtc_gpu_store4(address, (uint32_t)part);
	} else if (word == 8) {
		dtc_gpu_store8(address, (uint32_t)part, (uint32_t)(part >> 32));
	} else {
		dtc_gpu_store4(address, (uint32_t)part);
		dtc_gpu_store4(address + 4, (uint32_t)(part >> 32));
	}
}

DTC_GPU_FN uint64_t dtc_gpu_swapped(uint64_t part, uint32_t swap)
{
	struct dtc_gpu_bytes16 value = { { (uint32_t)part, (uint32_t)(part >> 32), 0,
					   0 } };

	dtc_gpu_swap_short(&value, swap);
	return dtc_gpu_pair(value.w);
}

/* ---- conversion ---------------------------------------------------------------------------------- */

/* Resize an integer of @from <= 8 bytes to @to bytes; returns whether it fits. */
DTC_GPU_FN int dtc_gpu_resize(struct dtc_gpu_bytes16 *value, uint32_t from, uint32_t to,
			      int is_signed)
{
	uint32_t unused = 64 - 8 * from, lost = 64 - 8 * to;
	uint64_t up = dtc_gpu_pair(value->w) << unused;
	uint64_t number = is_signed ? (uint64_t)((int64_t)up >> unused) : up >> unused;
	uint64_t cut = number << lost;

	dtc_gpu_set_pair(value->w, number);
	return (is_signed ? (uint64_t)((int64_t)cut >> lost) : cut >> lost) == number;
}

/* Convert from memory to the stream; clears @fits if the number does not fit. */
DTC_GPU_FN void dtc_gpu_encode_number(const struct dtc_gpu_number *number,
				      struct dtc_gpu_bytes16 *value, int *fits)
{
	if (number->native_bytes != number->wire_bytes)
		*fits &= dtc_gpu_resize(value, number->native_bytes, number->wire_bytes,
					number->is_signed);
	dtc_gpu_swap(value, number->swap);
}

DTC_GPU_FN void dtc_gpu_decode_number(const struct dtc_gpu_number *number,
				      struct dtc_gpu_bytes16 *value, int *fits)
{
	dtc_gpu_swap(value, number->swap);
	if (number->native_bytes != number->wire_bytes)
		*fits &= dtc_gpu_resize(value, number->wire_bytes, number->native_bytes,
					number->is_signed);
}

#endif
