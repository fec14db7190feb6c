/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Graphs made by captures or of kernels that nothing depends on, and their launches: every launch
 * submits copies of the recorded work to one stream.
 */
#include "support/cuda_standin/standin_graph.h"

struct CUgraph_st {
	struct standin_object object;
	struct standin_op *first;
	struct standin_op *last;
	size_t count;
};

struct CUgraphExec_st {
	struct standin_object object;
	struct standin_op *first;
};

struct CUgraphNode_st {
	struct standin_object object;
	CUgraph graph;
	size_t place; /* in the graph's list */
};

CUgraph standin_graph_create(void)
{
	return standin_object(OBJECT_GRAPH, sizeof(struct CUgraph_st), true);
}

void standin_graph_append(CUgraph graph, struct standin_op *op)
{
	op->next = NULL;
	if (graph->last)
		graph->last->next = op;
	else
		graph->first = op;
	graph->last = op;
	graph->count++;
}

static void free_list(struct standin_op **first)
{
	while (*first) {
		struct standin_op *op = *first;
		*first = op->next;
		standin_op_free(op);
	}
}

void standin_graph_destroy(CUgraph graph)
{
	free_list(&graph->first);
	graph->object.alive = false;
}

static void exec_destroy(CUgraphExec exec)
{
	free_list(&exec->first);
	exec->object.alive = false;
}

void standin_graph_reset(void)
{
	for (struct standin_object *object = standin_objects; object;
	     object = object->next) {
		if (object->kind == OBJECT_GRAPH && object->alive)
			standin_graph_destroy((CUgraph)object);
		else if (object->kind == OBJECT_GRAPH_EXEC && object->alive)
			exec_destroy((CUgraphExec)object);
	}
}

ENTRY(cuGraphCreate, 0, (CUgraph * graph, unsigned flags), (graph, flags))
{
	if (!graph || flags)
		return CUDA_ERROR_INVALID_VALUE;
	*graph = standin_graph_create();
	return CUDA_SUCCESS;
}

ENTRY(cuGraphAddKernelNode_v2, 0,
      (CUgraphNode * node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
       const CUDA_KERNEL_NODE_PARAMS *params),
      (node, graph, dependencies, count, params))
{
	struct standin_op *op;

	(void)dependencies;
	if (!node || !graph || !params)
		return CUDA_ERROR_INVALID_VALUE;
	standin_insist(graph, OBJECT_GRAPH, "a graph's handle");
	if (count)
		return CUDA_ERROR_NOT_SUPPORTED;
	CUresult result = standin_launch_of(params, &op);
	if (result)
		return result;
	*node = standin_object(OBJECT_GRAPH_NODE, sizeof **node, false);
	(*node)->graph = graph;
	(*node)->place = graph->count;
	standin_graph_append(graph, op);
	return CUDA_SUCCESS;
}

ENTRY(cuGraphDestroy, 0, (CUgraph graph), (graph))
{
	if (!graph)
		return CUDA_ERROR_INVALID_VALUE;
	standin_insist(graph, OBJECT_GRAPH, "a graph's handle");
	standin_graph_destroy(graph);
	return CUDA_SUCCESS;
}

/* The number of nodes; there are no handles to give out. */
ENTRY(cuGraphGetNodes, 0, (CUgraph graph, CUgraphNode *nodes, size_t *count),
      (graph, nodes, count))
{
	if (!graph || !count)
		return CUDA_ERROR_INVALID_VALUE;
	standin_insist(graph, OBJECT_GRAPH, "a graph's handle");
	*count = graph->count;
	return nodes ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

static CUresult instantiate(CUgraphExec *exec, CUgraph graph)
{
	if (!exec || !graph)
		return CUDA_ERROR_INVALID_VALUE;
	standin_insist(graph, OBJECT_GRAPH, "a graph's handle");
	CUgraphExec created = standin_object(OBJECT_GRAPH_EXEC, sizeof *created, true);
	struct standin_op **end = &created->first;
	for (const struct standin_op *op = graph->first; op; op = op->next) {
		*end = standin_op_copy(op);
		end = &(*end)->next;
	}
	*exec = created;
	return CUDA_SUCCESS;
}

ENTRY(cuGraphInstantiateWithFlags, UNSAFE_IN_CAPTURE,
      (CUgraphExec * exec, CUgraph graph, unsigned long long flags), (exec, graph, flags))
{
	return flags & ~(unsigned long long)CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY
		       ? CUDA_ERROR_NOT_SUPPORTED
		       : instantiate(exec, graph);
}

STREAM_ENTRY(cuGraphInstantiateWithParams, _ptsz, UNSAFE_IN_CAPTURE,
	     (CUgraphExec * exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params),
	     (exec, graph, params))
{
	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	params->hErrNode_out = NULL;
	params->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
	return instantiate(exec, graph);
}

/* The next launch has them; what was launched before keeps its own. */
ENTRY(cuGraphExecKernelNodeSetParams_v2, 0,
      (CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params),
      (exec, node, params))
{
	struct standin_op *op;

	if (!exec || !node || !params)
		return CUDA_ERROR_INVALID_VALUE;
	standin_insist(exec, OBJECT_GRAPH_EXEC, "an executable graph's handle");
	standin_insist(node, OBJECT_GRAPH_NODE, "a node's handle");
	standin_insist(node->graph, OBJECT_GRAPH, "a graph's handle");
	struct standin_op **at = &exec->first;
	for (size_t i = 0; *at && i < node->place; i++)
		at = &(*at)->next;
	CUresult result = *at ? standin_launch_of(params, &op) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	op->next = (*at)->next;
	standin_op_free(*at);
	*at = op;
	return CUDA_SUCCESS;
}

STREAM_ENTRY(cuGraphUpload, _ptsz, 0, (CUgraphExec exec, CUstream handle), (exec, handle))
{
	CUstream stream;
	CUresult result = standin_stream_of(handle, &stream);
	standin_insist(exec, OBJECT_GRAPH_EXEC, "an executable graph's handle");
	return result || exec ? result : CUDA_ERROR_INVALID_VALUE;
}

STREAM_ENTRY(cuGraphLaunch, _ptsz, 0, (CUgraphExec exec, CUstream handle), (exec, handle))
{
	CUstream stream;
	CUresult result = standin_stream_of(handle, &stream);
	if (result || !exec)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	standin_insist(exec, OBJECT_GRAPH_EXEC, "an executable graph's handle");
	for (const struct standin_op *op = exec->first; result == CUDA_SUCCESS && op;
	     op = op->next)
		result = standin_submit(stream, standin_op_copy(op));
	return result;
}

ENTRY(cuGraphExecDestroy, 0, (CUgraphExec exec), (exec))
{
	if (!exec)
		return CUDA_ERROR_INVALID_VALUE;
	standin_insist(exec, OBJECT_GRAPH_EXEC, "an executable graph's handle");
	exec_destroy(exec);
	return CUDA_SUCCESS;
}
