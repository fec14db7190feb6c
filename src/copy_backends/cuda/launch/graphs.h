/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Launching through CUDA graphs. Each kernel has a graph of one node, whose parameters are set before each launch,
 * because the device starts a graph sooner than a plain launch. The worker makes a graph when its kernel is first
 * used. Until then, and while another thread uses the graphs, launches are plain.
 */
#ifndef DTC_CUDA_GRAPHS_H
#define DTC_CUDA_GRAPHS_H

#include "copy_backends/backend.h"
#include "copy_backends/cuda/device/device_context.h"
#include "kernels/launch/launch.h"

struct dtc_cuda_submission;

enum dtc_cuda_graph_state {
	DTC_CUDA_GRAPH_NONE,
	DTC_CUDA_GRAPH_WANTED, /* the worker has been asked, or could not make it */
	DTC_CUDA_GRAPH_READY
};

struct dtc_cuda_graph {
	_Atomic int
		state; /* enum dtc_cuda_graph_state; what follows is there when it is ready */
	CUgraph graph;
	CUgraphNode node;
	CUgraphExec exec;
};

struct dtc_cuda_graphs {
	atomic_flag taken; /* by a thread that launches: graphs are for one at a time */
	struct dtc_cuda_graph all[DTC_GPU_KERNELS];
};

static inline struct dtc_cuda_graphs *dtc_cuda_graphs_of(
	const struct dtc_cuda_context *context)
{
	return context->parts[DTC_CUDA_PART_graphs];
}

/* Have the kernel's graph made, if launches go by graphs. */
void dtc_cuda_graphs_want(struct dtc_cuda_context *context, enum dtc_gpu_kernel kernel);

/* What a launch takes less than a plain one. */
double dtc_cuda_graphs_gain_ns(const struct dtc_question *question);

/* Launch it so; false: it is to be launched plainly. */
bool dtc_cuda_graphs_launch(const struct dtc_cuda_submission *submission,
			    struct dtc_gpu_launch *launch);

#endif
