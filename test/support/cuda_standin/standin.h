/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control interface of the stand-in libcuda.so.1: faults, missing entry points, options,
 * broken contexts, counts of calls, leaks. The library exports one table of functions, so that
 * a program that loads it with dlopen needs no symbols of it.
 */
#ifndef TEST_SUPPORT_CUDA_STANDIN_STANDIN_H
#define TEST_SUPPORT_CUDA_STANDIN_STANDIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The options with their initial values. Before cuInit, the environment variable
 * CUDA_STANDIN_<NAME> sets the same. Options of devices are read at each query.
 */
#define STANDIN_OPTIONS(X)                                                               \
	X(VERSION, 13000)   /* newer entry points are absent */                          \
	X(DEVICES, 2)       /* at most STANDIN_DEVICES_MAX */                            \
	X(COMPUTE, 90)      /* compute capability, major * 10 + minor */                 \
	X(MEMORY_MIB, 8192) /* of each device */                                         \
	X(INIT_RESULT, 0)   /* what cuInit answers */                                    \
	X(SEED, 1)          /* of delays and of the order of completions */              \
	X(DELAY_US, 20) /* longest random delay; up to 100, of one operation in eight */ \
	X(SYNCHRONOUS, 0)    /* work that can run has run when its call returns */       \
	X(WAIT_STREAMS, 8)   /* that many streams in wait-values stop others' kernels */ \
	X(SPIN_KERNELS, 128) /* that many kernels run at once */                         \
	X(QUEUED, 1024)      /* a stream with so much work makes its callers wait */     \
	X(PEERS, 1)          /* devices reach each other */                              \
	X(VMM, 1)            /* virtual memory management is supported */                \
	X(MEM_OPS, 1)        /* 64-bit stream memory operations are supported */         \
	X(GPU_DIRECT, 1)     /* GPUDirect RDMA, with the host's flush */                 \
	X(DMA_BUF, 1)        /* device memory is exported as dma-buf */                  \
	X(POOLS, 1)          /* stream-ordered pools are supported */                    \
	X(GDR, 1)            /* gdr_open finds the kernel module (libgdrapi) */          \
	X(GDR_PIN_MIB, 256)  /* the most that gdr_pin_buffer pins */

#define STANDIN_DEVICES_MAX 8

enum standin_option {
#define STANDIN_OPTION_NAME(name, value) STANDIN_##name,
	STANDIN_OPTIONS(STANDIN_OPTION_NAME)
#undef STANDIN_OPTION_NAME
		STANDIN_OPTION_COUNT
};

/* A kernel of a test: the parameters are the bytes of its one by-value argument. */
struct standin_kernel {
	const char *name;
	size_t params_bytes;
	/* What it does, on an internal thread; a negative answer is an illegal address. */
	int (*run)(const void *params, uint32_t grid, uint32_t block,
		   size_t shared_bytes);
	/* Optional: until it answers true the kernel is running and occupies its stream. */
	bool (*done)(const void *params);
	/* It blocks inside run and gets a thread of its own. */
	bool resident;
};

/* Whole 64 KiB pages of device memory, as another driver of the same device sees them. */
struct standin_pages {
	unsigned long long address;
	size_t bytes;
	unsigned long long buffer_id;
	unsigned char *host;
};

struct standin {
	/*
	 * The nth (from 1) call from now on of an entry point, named without version (cuMemAlloc)
	 * or "*" for any, answers result and does nothing else. Rules add up. Fired ones are
	 * counted by fired(). CUDA_ERROR_ILLEGAL_ADDRESS and CUDA_ERROR_LAUNCH_FAILED also break
	 * the current context, as poison() does.
	 */
	void (*inject)(const char *entry, unsigned nth, int result);
	void (*inject_clear)(void);
	unsigned (*fired)(void);

	/* cuGetProcAddress does not find it. */
	void (*absent)(const char *entry, bool is_absent);

	/* Calls of one entry point since the start or reset; each() goes over those called. */
	size_t (*calls)(const char *entry);
	void (*each)(void (*visit)(const char *entry, size_t calls, void *arg),
		     void *arg);

	void (*set)(enum standin_option option, long value);
	long (*get)(enum standin_option option);

	/* The context (a CUcontext) fails with this result from now on; its work never ends. */
	void (*poison)(void *context, int result);

	/* Added for good, reset or not; the table is copied, the name is not. */
	void (*add_kernel)(const struct standin_kernel *kernel);

	/* Work submitted and not complete, on all streams. */
	size_t (*pending)(void);

	/*
	 * What exists and nobody destroyed: the number, and a line for each (may be cut
	 * short). What a context with an error holds is not counted.
	 */
	size_t (*leaks)(char *text, size_t size);

	/* Everything as at start: no objects, no rules, no counts; uninitialised. Pending work is
	 * thrown away. Every handle is dead. Threads must have left the library. */
	void (*reset)(void);

	/* What jobs see at a device address; NULL if there is no such memory. */
	void *(*peek)(unsigned long long address, size_t bytes);

	/* The pages that hold these bytes, which lie in the pages of one allocation; none: the page of the
	 * address. False if there is no such device memory. */
	bool (*pages)(unsigned long long address, size_t bytes,
		      struct standin_pages *pages);
};

/* The exported symbol. */
const struct standin *standin_control(void);

/*
 * Kernels that are always there. Each takes one struct by value.
 *   standin_copy   copies bytes, as a kernel would: through device addresses;
 *   standin_spin   runs until the word, in mapped host memory, is not 0;
 *   standin_count  counts bytes up, as often as it then says, until the word at @stop is not 0;
 *   standin_fault  touches an illegal address;
 *   store_flag     stores a value in a word: the kernel of dtconv bench.
 */
struct standin_copy_params {
	uint64_t target;
	uint64_t source;
	uint64_t bytes;
};

struct standin_flag_params {
	uint64_t word;
	uint64_t value;
};

struct standin_spin_params {
	uint64_t word;
};

struct standin_count_params {
	uint64_t stop;   /* a word in mapped host memory */
	uint64_t places; /* addresses of bytes, 8 bytes each */
	uint64_t counts; /* of 4 bytes each */
	uint64_t count;  /* of places */
};

struct standin_fault_params {
	uint64_t unused;
};

#endif
