/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The doorbell of the resident kernel, as the host and the device see it.
 * copy_backends/cuda/launch/resident.h describes the protocol.
 */
#ifndef DTC_KERNELS_GPU_RESIDENT_H
#define DTC_KERNELS_GPU_RESIDENT_H

#include "kernels/gpu/params.h"

/*
 * A command is words of 32 bits: which kernel and how many words, the blocks that it would be launched
 * with, its parameters. Every word travels with the command's number in one store, so that words may
 * arrive in any order.
 */
#define DTC_GPU_COMMAND_HEAD  2u
#define DTC_GPU_COMMAND_WORDS (DTC_GPU_COMMAND_HEAD + DTC_GPU_PARAMS_BYTES / 4)

/* Word 0: the kernel below, the number of words above. */
#define DTC_GPU_COMMAND(kernel, words) ((uint32_t)(words) << 16 | (uint32_t)(kernel))
#define DTC_GPU_COMMAND_KERNEL(head)   ((head)&0xffffu)
#define DTC_GPU_COMMAND_LENGTH(head)   ((head) >> 16)

/* A word below, the command's number above. */
#define DTC_GPU_CELL(number, word) ((uint64_t)(number) << 32 | (word))

/* Numbers are 1 to this. */
#define DTC_GPU_LAST_NUMBER 0xfffffffeu

/* Words that a warp sees at one look, two cells a lane. */
#define DTC_GPU_FIRST_WORDS 63u

/* In host memory that the device sees. */
struct dtc_gpu_bell {
	uint64_t cancel; /* not 0: leave */
	uint64_t cells[DTC_GPU_COMMAND_WORDS];
	uint64_t apart[16]; /* what follows is in another cache line */
	uint64_t
		left; /* number of the first command that the exiting kernel did not take; 0: a kernel is running */
};

struct dtc_gpu_resident_params {
	uint64_t bell;    /* the device's address of struct dtc_gpu_bell */
	uint64_t idle_ns; /* leave after so long without a command */
	uint64_t life_ns; /* leave when so old, at the first look that finds no command */
	uint32_t number;  /* of the first command */
	uint32_t reserved;
};

/* Shared memory that a command may ask for. */
#define DTC_GPU_RESIDENT_SHARED 1024u

#endif
