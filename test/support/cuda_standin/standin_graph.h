/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A graph is the list of work that a capture recorded, in the order of recording, which respects
 * every dependency. Nodes of a capture have no handles.
 */
#ifndef TEST_SUPPORT_CUDA_STANDIN_GRAPH_H
#define TEST_SUPPORT_CUDA_STANDIN_GRAPH_H

#include "support/cuda_standin/standin_internal.h"

CUgraph standin_graph_create(void);
/* The op is the graph's from now on. */
void standin_graph_append(CUgraph graph, struct standin_op *op);
/* A kernel's launch as a piece of work, which is in no stream yet (standin_launch.c). */
CUresult standin_launch_of(const CUDA_KERNEL_NODE_PARAMS *params, struct standin_op **op);
void standin_graph_destroy(CUgraph graph);
void standin_graph_reset(void);

#endif
