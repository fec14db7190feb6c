/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CUDA graphs of one kernel node each.
 */
#include "config.h"

#include "graphs.h"

#include "base/context.h"
#include "base/log.h"
#include "copy_backends/cuda/device/worker.h"
#include "copy_backends/cuda/driver/nvtx_ranges.h"
#include "kernel_module.h"
#include "submission.h"

/* Measured on an H200: 9.2 and 7.8 us until the host knows. */
#define GAIN_NS 1400.0

double dtc_cuda_graphs_gain_ns(const struct dtc_question *question)
{
	return question->layout->program->context->devices.graphs && !question->on_stream ? GAIN_NS
											 : 0;
}

static CUDA_KERNEL_NODE_PARAMS node_params(const struct dtc_cuda_context *context,
					   const struct dtc_gpu_launch *launch,
					   void **params)
{
	return (CUDA_KERNEL_NODE_PARAMS){
		.func = dtc_cuda_kernel_module_of(context)->functions[launch->kernel],
		.gridDimX = launch->grid,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = DTC_GPU_BLOCK,
		.blockDimY = 1,
		.blockDimZ = 1,
		.sharedMemBytes = launch->shared_bytes,
		.kernelParams = params
	};
}

/* ---- making, in the worker --------------------------------------------------------------- */

static CUresult make(struct dtc_cuda_context *context, enum dtc_gpu_kernel kernel)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	struct dtc_cuda_graph *graph = &dtc_cuda_graphs_of(context)->all[kernel];
	struct dtc_gpu_launch launch = { .kernel = kernel, .grid = 1 };
	void *params[] = { &launch.params };
	const CUDA_KERNEL_NODE_PARAMS node = node_params(context, &launch, params);

	CUresult result = driver->GraphCreate(&graph->graph, 0);
	if (!result)
		result = driver->GraphAddKernelNode(&graph->node, graph->graph, NULL, 0,
						    &node);
	if (!result)
		result = driver->GraphInstantiateWithFlags(&graph->exec, graph->graph, 0);
	return result;
}

/* The context is synchronised first, as before kernels are loaded. */
static void make_graph(struct dtc_cuda_context *context, CUdeviceptr kernel)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;

	CUresult result = dtc_cuda_context_synchronise(context);
	if (!result)
		result = make(context, (enum dtc_gpu_kernel)kernel);
	if (result)
		DTC_LOG(context->cuda->context, DTCONV_LOG_WARN,
			"device %d: cannot create a graph of kernel %s (%s); it is "
			"launched directly",
			context->device,
			dtc_gpu_kernel_label((enum dtc_gpu_kernel)kernel),
			dtc_cuda_result_name(driver, result));
	else
		atomic_store_explicit(&dtc_cuda_graphs_of(context)->all[kernel].state,
				      DTC_CUDA_GRAPH_READY, memory_order_release);
}

void dtc_cuda_graphs_want(struct dtc_cuda_context *context, enum dtc_gpu_kernel kernel)
{
	_Atomic int *state = &dtc_cuda_graphs_of(context)->all[kernel].state;
	int none = DTC_CUDA_GRAPH_NONE;

	if (!context->cuda->context->devices.graphs ||
	    atomic_load(state) != DTC_CUDA_GRAPH_NONE)
		return;
	/* Who sees that it is wanted finds it counted. */
	atomic_fetch_add(&context->loads, 1);
	if (atomic_compare_exchange_strong(state, &none, DTC_CUDA_GRAPH_WANTED) &&
	    !dtc_cuda_worker_load(context, make_graph, (CUdeviceptr)kernel))
		atomic_store(state, DTC_CUDA_GRAPH_NONE);
	atomic_fetch_sub(&context->loads, 1);
}

static void close_graphs(struct dtc_cuda_context *context)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;

	for (unsigned i = 0; i < DTC_GPU_KERNELS; i++) {
		struct dtc_cuda_graph *graph = &dtc_cuda_graphs_of(context)->all[i];

		if (graph->exec)
			driver->GraphExecDestroy(graph->exec);
		if (graph->graph)
			driver->GraphDestroy(graph->graph);
	}
}

const struct dtc_cuda_feature dtc_cuda_graphs_feature = {
	.name = "graphs",
	.bytes = sizeof(struct dtc_cuda_graphs),
	.close = close_graphs,
};

/* ---- launching --------------------------------------------------------------------------- */

/* The node's kernel is one of the current context, says the driver by a crash where there is none. */
static CUresult launch_graph(const struct dtc_cuda_submission *submission,
			     struct dtc_gpu_launch *launch)
{
	const struct dtc_cuda_driver *driver = submission->driver;
	struct dtc_cuda_graph *graph =
		&dtc_cuda_graphs_of(submission->context)->all[launch->kernel];
	void *params[] = { &launch->params };
	const CUDA_KERNEL_NODE_PARAMS node =
		node_params(submission->context, launch, params);

	CUcontext popped;

	CUresult result = driver->CtxPushCurrent(submission->context->handle);
	if (result)
		return result;
	result = driver->GraphExecKernelNodeSetParams(graph->exec, graph->node, &node);
	if (!result)
		result = driver->GraphLaunch(graph->exec, submission->stream);
	driver->CtxPopCurrent(&popped);
	return result;
}

bool dtc_cuda_graphs_launch(const struct dtc_cuda_submission *submission,
			    struct dtc_gpu_launch *launch)
{
	struct dtc_cuda_context *context = submission->context;
	struct dtc_cuda_graphs *graphs = dtc_cuda_graphs_of(context);

	if (!context->cuda->context->devices.graphs ||
	    !dtc_cuda_context_is_lane(context, submission->stream))
		return false;
	if (atomic_load_explicit(&graphs->all[launch->kernel].state,
				 memory_order_acquire) != DTC_CUDA_GRAPH_READY) {
		dtc_cuda_graphs_want(context, launch->kernel);
		return false;
	}
	if (atomic_flag_test_and_set_explicit(&graphs->taken, memory_order_acquire))
		return false;
	CUresult result = launch_graph(submission, launch);
	atomic_flag_clear_explicit(&graphs->taken, memory_order_release);
	/* What was refused is not in the stream. */
	if (result)
		return false;
	dtc_context_count(context->cuda->context, DTC_COUNT_GRAPH_LAUNCHES, 1);
	dtc_cuda_nvtx_note(context->cuda->listener, "graph");
	return true;
}
