/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The doorbell of the resident kernel, shared by host and device.
 * copy_backends/cuda/launch/resident.h describes the protocol.
 */
#ifndef DTC_KERNELS_GPU_RESIDENT_H
#define DTC_KERNELS_GPU_RESIDENT_H

#include "kernels/gpu/params.h"

/*
 * A command is a sequence of 32-bit words: the kernel and the number of words, the grid of the
 * corresponding launch, the parameters. Every word is stored together with the command's
 * number, so words may arrive in any order.
 */
#define DTC_GPU_COMMAND_HEAD  2u
#define DTC_GPU_COMMAND_WORDS (DTC_GPU_COMMAND_HEAD + DTC_GPU_PARAMS_BYTES / 4)

/* Word 0: the kernel in the low half, the number of words in the high half. */
#define DTC_GPU_COMMAND(kernel, words) ((uint32_t)(words) << 16 | (uint32_t)(kernel))
#define DTC_GPU_COMMAND_KERNEL(head)   ((head)&0xffffu)
#define DTC_GPU_COMMAND_LENGTH(head)   ((head) >> 16)

/* The word in the low half, the command's number in the high half. */
#define DTC_GPU_CELL(number, word) ((uint64_t)(number) << 32 | (word))

/* Commands are numbered from 1 to this. */
#define DTC_GPU_LAST_NUMBER 0xfffffffeu

/* Words that a warp reads in one poll, two cells per lane. */
#define DTC_GPU_FIRST_WORDS 63u

/* The doorbell, in mapped host memory. */
struct dtc_gpu_bell {
	uint64_t cancel; /* not 0: leave */
	uint64_t cells[DTC_GPU_COMMAND_WORDS];
	uint64_t apart[16]; /* puts what follows into another cache line */
	/* The first command that the exiting kernel did not take; 0: a kernel is running. */
	uint64_t left;
};

struct dtc_gpu_resident_params {
	uint64_t bell;    /* device address of struct dtc_gpu_bell */
	uint64_t idle_ns; /* exit after this time without a command */
	uint64_t life_ns; /* exit after this time, at the first poll without a command */
	uint32_t number;  /* number of the first command */
	uint32_t reserved;
};

/* The most shared memory that a command may use. */
#define DTC_GPU_RESIDENT_SHARED 1024u

#endif
