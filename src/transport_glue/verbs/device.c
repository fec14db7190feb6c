/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opening an adapter: which device, which port, which of its addresses.
 */
#include "config.h"

#include "device.h"

#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"

#define DEFAULT_TIMEOUT 18

int dtc_verbs_status(int error)
{
	switch (error) {
	case ENOMEM:
		return DTCONV_ERR_NOMEM;
	case EMFILE:
	case ENFILE:
	case EAGAIN:
		return DTCONV_ERR_AGAIN;
	case ENOSYS: /* a kernel without RDMA */
		return DTCONV_ERR_UNSUPPORTED;
	default:
		return DTCONV_ERR_BACKEND;
	}
}

/* ---- parameters ------------------------------------------------------------------------ */

static int check_params(struct dtconv_context *context,
			const struct dtconv_verbs_params *params, const char *caller)
{
	if (params->flags & ~(unsigned)DTCONV_VERBS_GID)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: params.flags has unknown bits: 0x%x", caller,
				params->flags);
	if (params->port > UINT8_MAX)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: params.port is %u; adapters have at most 255",
				caller, params->port);
	if (params->gid_index > UINT8_MAX)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: params.gid_index is %u; a queue pair takes at most "
				"255",
				caller, params->gid_index);
	if (params->timeout > 31)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: params.timeout is %u, not 1 to 31", caller,
				params->timeout);
	if (params->service_level > 15)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: params.service_level is %u, not 0 to 15", caller,
				params->service_level);
	if (params->traffic_class > 255)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: params.traffic_class is %u, not 0 to 255", caller,
				params->traffic_class);
	return 0;
}

static int read_params(struct dtconv_context *context,
		       const struct dtconv_verbs_params *given, const char *caller,
		       struct dtconv_verbs_params *params)
{
	*params = (struct dtconv_verbs_params){ .struct_size = sizeof(*params) };
	if (given && given->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(context, caller, "params",
					    "dtconv_verbs_params");
	if (given)
		memcpy(params, given, DTC_MIN(given->struct_size, sizeof(*params)));
	if (!params->timeout)
		params->timeout = DEFAULT_TIMEOUT;
	return check_params(context, params, caller);
}

/* ---- the port -------------------------------------------------------------------------- */

static bool is_active(struct dtconv_verbs *verbs, unsigned port)
{
	return !ibv_query_port(verbs->device, (uint8_t)port, &verbs->port) &&
	       verbs->port.state == IBV_PORT_ACTIVE;
}

static bool find_port(struct dtconv_verbs *verbs)
{
	unsigned port = verbs->params.port;

	if (port)
		return port <= verbs->limits.phys_port_cnt && is_active(verbs, port);
	for (port = 1; port <= verbs->limits.phys_port_cnt; port++)
		if (is_active(verbs, port)) {
			verbs->params.port = port;
			return true;
		}
	return false;
}

/* Not link-local: it leaves the wire's segment. */
static bool is_routable(const struct ibv_gid_entry *entry)
{
	return entry->gid_type == IBV_GID_TYPE_ROCE_V2 &&
	       !(entry->gid.raw[0] == 0xfe && (entry->gid.raw[1] & 0xc0) == 0x80);
}

static bool read_gid(struct dtconv_verbs *verbs, unsigned index,
		     struct ibv_gid_entry *entry)
{
	return !ibv_query_gid_ex(verbs->device, verbs->params.port, index, entry, 0);
}

/* RoCE v2 of any kind, if none is routable. */
static bool find_roce(struct dtconv_verbs *verbs, struct ibv_gid_entry *entry)
{
	const unsigned count =
		DTC_MIN((unsigned)verbs->port.gid_tbl_len, (unsigned)UINT8_MAX + 1);
	int fallback = -1;

	for (unsigned i = 0; i < count; i++) {
		if (!read_gid(verbs, i, entry))
			continue;
		if (is_routable(entry))
			return true;
		if (fallback < 0 && entry->gid_type == IBV_GID_TYPE_ROCE_V2)
			fallback = (int)i;
	}
	return fallback >= 0 && read_gid(verbs, (unsigned)fallback, entry);
}

static int find_gid(struct dtconv_verbs *verbs, const char *caller)
{
	const bool is_given = verbs->params.flags & DTCONV_VERBS_GID;
	struct ibv_gid_entry entry;
	bool is_found;

	if (!is_given && !dtc_verbs_is_infiniband(verbs))
		is_found = find_roce(verbs, &entry);
	else
		is_found = read_gid(verbs, verbs->params.gid_index, &entry);
	if (!is_found && is_given)
		return DTC_FAIL(verbs->context, DTCONV_ERR_UNSUPPORTED,
				"%s: port %u of %s has no address at params.gid_index %u",
				caller, verbs->params.port, verbs->params.device,
				verbs->params.gid_index);
	if (!is_found)
		return DTC_FAIL(
			verbs->context, DTCONV_ERR_UNSUPPORTED,
			"%s: port %u of %s has no RoCE v2 address: give its network "
			"interface an IP address",
			caller, verbs->params.port, verbs->params.device);
	verbs->params.gid_index = entry.gid_index;
	verbs->gid = entry.gid;
	return 0;
}

/* ---- the device ------------------------------------------------------------------------ */

/* Whether it can be used: it stays open then. */
static bool try_device(struct dtconv_verbs *verbs, struct ibv_device *device, int *error)
{
	errno = 0;
	verbs->device = ibv_open_device(device);
	if (!verbs->device) {
		*error = errno ? errno : EIO;
		return false;
	}
	*error = ibv_query_device(verbs->device, &verbs->limits);
	if (!*error && find_port(verbs)) {
		verbs->params.device = ibv_get_device_name(verbs->device->device);
		return true;
	}
	ibv_close_device(verbs->device);
	verbs->device = NULL;
	return false;
}

static int tell_why(const struct dtconv_verbs *verbs, int count, bool is_there, int error,
		    const char *caller)
{
	const char *name = verbs->params.device;

	if (error)
		return DTC_FAIL(verbs->context, dtc_verbs_status(error),
				"%s: the driver of %s cannot open it: %s", caller,
				name ? name : "an adapter", strerror(error));
	if (name && !is_there)
		return DTC_FAIL(verbs->context, DTCONV_ERR_UNSUPPORTED,
				"%s: there is no adapter %s; `ibv_devices` lists %d",
				caller, name, count);
	return DTC_FAIL(verbs->context, DTCONV_ERR_UNSUPPORTED,
			"%s: none of %d adapters has the port asked for in state active",
			caller, count);
}

static int find_device(struct dtconv_verbs *verbs, const char *caller)
{
	const char *name = verbs->params.device;
	int count = 0, error = 0;
	bool is_there = false;

	errno = 0;
	struct ibv_device **list = ibv_get_device_list(&count);
	if (!list)
		return DTC_FAIL(verbs->context, dtc_verbs_status(errno),
				"%s: this system lists no RDMA adapters: %s", caller,
				strerror(errno));
	for (int i = 0; i < count && !verbs->device; i++) {
		if (name && strcmp(name, ibv_get_device_name(list[i])))
			continue;
		is_there = true;
		(void)try_device(verbs, list[i], &error);
	}
	ibv_free_device_list(list);
	return verbs->device ? 0 : tell_why(verbs, count, is_there, error, caller);
}

static int open_domain(struct dtconv_verbs *verbs, const char *caller)
{
	errno = 0;
	verbs->domain = ibv_alloc_pd(verbs->device);
	if (verbs->domain)
		return 0;
	return DTC_FAIL(verbs->context, dtc_verbs_status(errno),
			"%s: %s has no protection domain: %s", caller,
			verbs->params.device, strerror(errno));
}

static void free_verbs(struct dtconv_verbs *verbs)
{
	if (verbs->domain)
		ibv_dealloc_pd(verbs->domain);
	if (verbs->device)
		ibv_close_device(verbs->device);
	dtc_free(verbs->context, verbs);
}

int dtconv_verbs_open(struct dtconv_context *context,
		      const struct dtconv_verbs_params *given,
		      struct dtconv_verbs **verbs)
{
	struct dtconv_verbs_params params;

	if (!context || !verbs)
		return DTCONV_ERR_INVAL;
	int status = read_params(context, given, __func__, &params);
	if (status)
		return status;
	struct dtconv_verbs *made = dtc_alloc_zeroed(context, sizeof(*made));
	if (!made)
		return DTC_FAIL(context, DTCONV_ERR_NOMEM,
				"%s: cannot allocate an adapter", __func__);
	made->transport = dtc_verbs_transport;
	made->context = context;
	made->params = params;
	status = find_device(made, __func__);
	if (!status)
		status = find_gid(made, __func__);
	if (!status)
		status = open_domain(made, __func__);
	if (status) {
		free_verbs(made);
		return status;
	}
	DTC_LOG(context, DTCONV_LOG_INFO, "verbs: %s port %u, %s, address %u",
		made->params.device, made->params.port,
		dtc_verbs_is_infiniband(made) ? "InfiniBand" : "RoCE",
		made->params.gid_index);
	*verbs = made;
	return 0;
}

const struct dtconv_transport *dtconv_verbs_transport(const struct dtconv_verbs *verbs)
{
	return verbs ? &verbs->transport : NULL;
}

int dtconv_verbs_query(const struct dtconv_verbs *verbs, struct dtconv_verbs_attr *attr)
{
	if (!verbs || !attr)
		return DTCONV_ERR_INVAL;
	if (attr->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(verbs->context, __func__, "attr",
					    "dtconv_verbs_attr");
	const struct dtconv_verbs_attr now = {
		.struct_size = attr->struct_size,
		.device = verbs->params.device,
		.port = verbs->params.port,
		.gid_index = verbs->params.gid_index,
		.is_infiniband = dtc_verbs_is_infiniband(verbs),
		.mtu = (size_t)128 << verbs->port.active_mtu,
		.channels = atomic_load(&verbs->channels)
	};

	memcpy(attr, &now, DTC_MIN(attr->struct_size, sizeof(now)));
	return 0;
}

int dtconv_verbs_close(struct dtconv_verbs *verbs)
{
	if (!verbs)
		return 0;
	const size_t channels = atomic_load(&verbs->channels);

	if (channels)
		return DTC_FAIL(verbs->context, DTCONV_ERR_STATE,
				"%s: %zu channels use the adapter", __func__, channels);
	free_verbs(verbs);
	return 0;
}
