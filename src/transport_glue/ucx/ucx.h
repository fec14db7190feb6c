/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What channels over UCX have in common: UCX itself, and the numbers that its objects are known by.
 */
#ifndef DTC_UCX_H
#define DTC_UCX_H

#include <dtconv/ucx.h>

#include <stdatomic.h>

#include <ucp/api/ucp.h>

#include "transport_glue/transport.h"

struct dtconv_ucx {
	struct dtconv_transport
		transport; /* first: it is the object that channels name */
	struct dtconv_context *context;
	ucp_context_h ucp;
	_Atomic size_t connections;
};

/* The functions of a transport. */
extern const struct dtconv_transport dtc_ucx_transport;

/* A status of ours for one of UCX's, whose text is logged: what failed in @call. */
int dtc_ucx_fail(struct dtconv_context *context, ucs_status_t status, const char *caller,
		 const char *call);

#endif
