/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An open adapter: one port with one address, and a protection domain for all of its channels.
 */
#ifndef DTC_VERBS_DEVICE_H
#define DTC_VERBS_DEVICE_H

#include <infiniband/verbs.h>
#include <stdatomic.h>

#include <dtconv/verbs.h>

#include "transport_glue/transport.h"

struct dtconv_verbs {
	struct dtconv_transport transport; /* first: it is the object */
	struct dtconv_context *context;
	struct ibv_context *device;
	struct ibv_pd *domain;
	struct ibv_device_attr limits;
	struct ibv_port_attr port;
	union ibv_gid gid;
	struct dtconv_verbs_params params; /* as used */
	_Atomic size_t channels;
};

static inline bool dtc_verbs_is_infiniband(const struct dtconv_verbs *verbs)
{
	return verbs->port.link_layer != IBV_LINK_LAYER_ETHERNET;
}

/* The status of a call of the driver that has failed with that errno. */
int dtc_verbs_status(int error);

/* The transport without an adapter. */
extern const struct dtconv_transport dtc_verbs_transport;

#endif
