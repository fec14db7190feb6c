/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Channels over InfiniBand verbs. In a library of its own: link with libdtconv-verbs (pkg-config dtconv-verbs).
 */
#ifndef DTCONV_VERBS_H
#define DTCONV_VERBS_H

#include <stddef.h>

#include <dtconv/channel.h>
#include <dtconv/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dtconv_context;
struct dtconv_verbs;

/**
 * @defgroup verbs Channels over verbs
 * @brief Have a channel use an InfiniBand or RoCE adapter.
 *
 * @code
 * struct dtconv_verbs *verbs;
 * struct dtconv_channel_params params = { .struct_size = sizeof(params) };
 *
 * dtconv_verbs_open(context, NULL, &verbs);
 * params.transport = dtconv_verbs_transport(verbs);
 * dtconv_channel_connect(engine, address, &params, &channel);
 * @endcode
 *
 * Messages, completion, the end and security are those of @ref channel "Channels". What
 * differs from shared memory:
 *
 * - Both ends must have the same number of fragments, of the same capacity. Each end has as
 *   many again for what arrives.
 * - Staging memory is registered with the device driver and with the adapter: the same pages
 *   (`ulimit -l` must allow it). The peer can send into it. It can neither read nor write it.
 * - The channel's socket carries the addresses of the queue pairs and shows when the other
 *   process is gone. Data never passes through it.
 * - A message is lost only with the connection: adapters resend what is not acknowledged,
 *   6 times, each after params.timeout.
 *
 * Functions may be called by any thread.
 * @{
 */

/** Flags of struct dtconv_verbs_params. */
enum dtconv_verbs_flags {
	DTCONV_VERBS_GID = 1 /**< gid_index is given */
};

/** Which adapter, and how. Zero-initialise, set struct_size, then what differs from the default. */
struct dtconv_verbs_params {
	size_t struct_size; /**< sizeof(struct dtconv_verbs_params) */
	unsigned flags;     /**< of enum dtconv_verbs_flags */
	const char *
		device; /**< as `ibv_devices` calls it; default: the first one with an active port */
	unsigned port; /**< default: its first active port */
	unsigned
		gid_index; /**< default: RoCE: the first RoCE v2 address that is routable; InfiniBand: 0 */
	unsigned
		timeout; /**< 1 to 31: adapters resend after 4.096 us x 2^timeout; default: 18, 1.07 s */
	unsigned service_level; /**< 0 to 15: of InfiniBand, or the priority of RoCE v1 */
	unsigned
		traffic_class; /**< 0 to 255: of RoCE v2, and of InfiniBand with a global route */
};

/**
 * Open an adapter.
 *
 * @param context the context; must outlive the object.
 * @param params  [in] options, copied; NULL for the defaults.
 * @param verbs   [out] the object, owned by the caller.
 * @return 0; DTCONV_ERR_INVAL if an option has an undefined value;
 *         DTCONV_ERR_UNSUPPORTED if there is no such adapter or port, or the port is down or
 *         has no address; DTCONV_ERR_BACKEND if the adapter's driver fails;
 *         DTCONV_ERR_NOMEM; DTCONV_ERR_AGAIN if the system has no file descriptor.
 *
 * Blocks while the driver answers.
 */
DTCONV_API int dtconv_verbs_open(struct dtconv_context *context,
				 const struct dtconv_verbs_params *params,
				 struct dtconv_verbs **verbs);

/**
 * The transport of channels that use the adapter.
 *
 * @param verbs the object; must outlive the channels.
 * @return for dtconv_channel_params.transport; owned by @p verbs. NULL if @p verbs is.
 */
DTCONV_API const struct dtconv_transport *dtconv_verbs_transport(
	const struct dtconv_verbs *verbs);

/** What was opened. */
struct dtconv_verbs_attr {
	size_t struct_size; /**< sizeof(struct dtconv_verbs_attr), set by the caller */
	const char *device; /**< name of the adapter; valid as long as the object */
	unsigned port;      /**< of it */
	unsigned gid_index; /**< of the port's address */
	int is_infiniband;  /**< else Ethernet: RoCE */
	size_t mtu;         /**< bytes of a packet */
	size_t channels;    /**< channels that use the object */
};

/**
 * Read what was opened.
 *
 * @param verbs the object.
 * @param attr  [in,out] struct_size set by the caller, the rest filled in.
 * @return 0; DTCONV_ERR_INVAL if struct_size is 0.
 *
 * Does not block.
 */
DTCONV_API int dtconv_verbs_query(const struct dtconv_verbs *verbs,
				  struct dtconv_verbs_attr *attr);

/**
 * Close an adapter.
 *
 * @param verbs the object, or NULL.
 * @return 0; DTCONV_ERR_STATE if channels use it (nothing happened).
 */
DTCONV_API int dtconv_verbs_close(struct dtconv_verbs *verbs);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
