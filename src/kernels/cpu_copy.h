/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copying one block whose length is only known at run time, without a call for the short
 * ones. Two words that overlap inside the block cover every length between their sizes.
 */
#ifndef DTC_KERNELS_CPU_COPY_H
#define DTC_KERNELS_CPU_COPY_H

#include <stdint.h>
#include <string.h>

#define DTC_COPY_ENDS(type)                                                                \
	do {                                                                               \
		type head, tail;                                                           \
		memcpy(&head, from, sizeof(head));                                         \
		memcpy(&tail, from + bytes - sizeof(tail), sizeof(tail));                  \
		memcpy(to, &head, sizeof(head));                                           \
		memcpy(to + bytes - sizeof(tail), &tail, sizeof(tail));                    \
	} while (0)

struct dtc_16_bytes {
	uint64_t words[2];
};

struct dtc_32_bytes {
	uint64_t words[4];
};

static inline void dtc_copy_short(char *restrict to, const char *restrict from, size_t bytes)
{
	if (bytes >= 8) {
		if (bytes <= 16)
			DTC_COPY_ENDS(uint64_t);
		else if (bytes <= 32)
			DTC_COPY_ENDS(struct dtc_16_bytes);
		else if (bytes <= 64)
			DTC_COPY_ENDS(struct dtc_32_bytes);
		else
			memcpy(to, from, bytes);
	} else if (bytes >= 4) {
		DTC_COPY_ENDS(uint32_t);
	} else if (bytes >= 2) {
		DTC_COPY_ENDS(uint16_t);
	} else if (bytes) {
		*to = *from;
	}
}

#endif
