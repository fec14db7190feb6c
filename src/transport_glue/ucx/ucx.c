/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The public functions: opening and closing UCX.
 */
#include "config.h"

#include "ucx.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"

int dtc_ucx_fail(struct dtconv_context *context, ucs_status_t status, const char *caller,
		 const char *call)
{
	return DTC_FAIL(context,
			status == UCS_ERR_NO_MEMORY ? DTCONV_ERR_NOMEM
						    : DTCONV_ERR_BACKEND,
			"%s: %s failed: %s", caller, call, ucs_status_string(status));
}

/* Whether shared memory is among the transports; UCX warns of options of those that are not. */
static bool has_shared_memory(const struct dtconv_ucx_params *params)
{
	static const char *const names[] = { "all", "sm", "shm", "mm", "posix", "sysv" };
	const char *given = params->transports ? params->transports : getenv("UCX_TLS");
	bool is_named = !given;

	for (size_t i = 0; given && i < sizeof(names) / sizeof(names[0]); i++)
		is_named |= strstr(given, names[i]) != NULL;
	return is_named;
}

/*
 * Options that the caller gives go before the environment's. Shared memory notices that its peer is gone only if it is
 * told to.
 */
static ucs_status_t configure(ucp_config_t *config,
			      const struct dtconv_ucx_params *params)
{
	ucs_status_t status = UCS_OK;

	if (has_shared_memory(params))
		status = ucp_config_modify(config, "MM_ERROR_HANDLING", "y");
	if (status == UCS_OK && params->transports)
		status = ucp_config_modify(config, "TLS", params->transports);
	if (status == UCS_OK && params->devices)
		status = ucp_config_modify(config, "NET_DEVICES", params->devices);
	return status;
}

static ucs_status_t init_ucp(const struct dtconv_ucx_params *params, ucp_context_h *ucp)
{
	const ucp_params_t features = { .field_mask = UCP_PARAM_FIELD_FEATURES,
					.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP };
	ucp_config_t *config;
	ucs_status_t status = ucp_config_read(NULL, NULL, &config);

	if (status != UCS_OK)
		return status;
	status = configure(config, params);
	if (status == UCS_OK)
		status = ucp_init(&features, config, ucp);
	ucp_config_release(config);
	return status;
}

/* UCX was built with CUDA, and its transports of that are not left out. */
static bool knows_devices(ucp_context_h ucp)
{
	ucp_context_attr_t attr = { .field_mask = UCP_ATTR_FIELD_MEMORY_TYPES };

	return ucp_context_query(ucp, &attr) == UCS_OK &&
	       attr.memory_types & UCS_BIT(UCS_MEMORY_TYPE_CUDA);
}

int dtconv_ucx_open(struct dtconv_context *context, const struct dtconv_ucx_params *given,
		    struct dtconv_ucx **ucx)
{
	struct dtconv_ucx_params params = { .struct_size = sizeof(params) };

	if (!context || !ucx)
		return DTCONV_ERR_INVAL;
	if (given && given->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(context, __func__, "params",
					    "dtconv_ucx_params");
	if (given)
		memcpy(&params, given, DTC_MIN(given->struct_size, sizeof(params)));
	struct dtconv_ucx *made = dtc_alloc_zeroed(context, sizeof(*made));
	if (!made)
		return DTC_FAIL(context, DTCONV_ERR_NOMEM,
				"%s: cannot allocate the object", __func__);
	made->transport = dtc_ucx_transport;
	made->context = context;
	ucs_status_t status = init_ucp(&params, &made->ucp);
	if (status != UCS_OK) {
		dtc_free(context, made);
		return dtc_ucx_fail(context, status, __func__, "ucp_init");
	}
	if (knows_devices(made->ucp))
		made->transport.flags |= DTC_TRANSPORT_DEVICES;
	*ucx = made;
	return 0;
}

const struct dtconv_transport *dtconv_ucx_transport(const struct dtconv_ucx *ucx)
{
	return ucx ? &ucx->transport : NULL;
}

int dtconv_ucx_close(struct dtconv_ucx *ucx)
{
	if (!ucx)
		return 0;
	const size_t connections = atomic_load(&ucx->connections);

	if (connections)
		return DTC_FAIL(ucx->context, DTCONV_ERR_STATE,
				"%s: %zu channels are not destroyed", __func__,
				connections);
	ucp_cleanup(ucx->ucp);
	dtc_free(ucx->context, ucx);
	return 0;
}
