/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Channels over UCX. In a library of its own: link with libdtconv-ucx (pkg-config dtconv-ucx).
 */
#ifndef DTCONV_UCX_H
#define DTCONV_UCX_H

#include <stddef.h>

#include <dtconv/channel.h>
#include <dtconv/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dtconv_context;
struct dtconv_transport;
struct dtconv_ucx;

/**
 * @defgroup ucx Channels over UCX
 * @brief Have a channel use the networks of UCX.
 *
 * @code
 * struct dtconv_ucx *ucx;
 * struct dtconv_channel_params params = { .struct_size = sizeof(params) };
 *
 * dtconv_ucx_open(context, NULL, &ucx);
 * params.transport = dtconv_ucx_transport(ucx);
 * dtconv_channel_connect(engine, address, &params, &channel);
 * @endcode
 *
 * Messages, completion, the end and security are those of @ref channel "Channels". What
 * differs from shared memory:
 *
 * - The channel's socket carries the addresses of UCX workers and shows when the other
 *   process is gone. Data never passes through it.
 * - Headers and fragments are active messages. UCX is told what memory fragments are and how
 *   they are registered, so it never asks a device driver.
 * - Staging memory may be a device's (dtconv_channel_params.kind), if UCX was built with CUDA and
 *   its transports include cuda: fragments then go from device to device, over NVLink where
 *   there is one. Otherwise opening such a channel fails with DTCONV_ERR_UNSUPPORTED. The
 *   device's context has to be current in threads that make progress.
 * - If the receiver's staging memory is registered with a device, fragments go by rendezvous
 *   into that memory. Otherwise UCX may send them eagerly; then they are unpacked from UCX's
 *   own memory, which is released when that has ended.
 * - The two ends may have fragments of different number and size.
 * - Which networks UCX uses is up to its environment (UCX_TLS, UCX_NET_DEVICES), unless
 *   dtconv_ucx_params say so.
 *
 * Functions may be called by any thread.
 * @{
 */

/** How to open UCX. Zero-initialise, set struct_size, then what differs from the default. */
struct dtconv_ucx_params {
	size_t struct_size; /**< sizeof(struct dtconv_ucx_params) */
	const char *
		transports; /**< as UCX_TLS, for example "rc,sm,self"; default: the environment's */
	const char *devices; /**< as UCX_NET_DEVICES; default: the environment's */
};

/**
 * Open UCX.
 *
 * @param context the context; must outlive the object.
 * @param params  [in] options, copied; NULL for the defaults.
 * @param ucx     [out] the object, owned by the caller.
 * @return 0; DTCONV_ERR_INVAL if struct_size is 0; DTCONV_ERR_BACKEND if UCX refuses, for
 *         example because it has no such transport; DTCONV_ERR_NOMEM.
 *
 * Blocks while UCX looks for networks (milliseconds to seconds).
 */
DTCONV_API int dtconv_ucx_open(struct dtconv_context *context,
			       const struct dtconv_ucx_params *params,
			       struct dtconv_ucx **ucx);

/**
 * What to set dtconv_channel_params.transport to.
 *
 * @param ucx the object.
 * @return the transport, which is a part of the object; NULL if @p ucx is NULL.
 */
DTCONV_API const struct dtconv_transport *dtconv_ucx_transport(
	const struct dtconv_ucx *ucx);

/**
 * Close UCX.
 *
 * @param ucx the object, or NULL.
 * @return 0; DTCONV_ERR_STATE if channels over it are not destroyed (nothing happened).
 *
 * Listeners whose options name it must be destroyed first. Blocks while UCX closes networks.
 */
DTCONV_API int dtconv_ucx_close(struct dtconv_ucx *ucx);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
