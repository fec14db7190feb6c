/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A transport in a shared object of its own: it copies fragments through the channel's socket. It uses nothing of
 * libdtconv but what is exported.
 */
#ifndef TEST_TRANSPORT_SOCKET_TRANSPORT_H
#define TEST_TRANSPORT_SOCKET_TRANSPORT_H

#include <dtconv/channel.h>

/* What goes wrong. */
enum socket_fault {
	SOCKET_NO_FAULT,
	SOCKET_FAULT_ABI,      /* of another version of libdtconv */
	SOCKET_FAULT_OPEN,     /* there is no network */
	SOCKET_FAULT_REGISTER, /* it refuses memory */
	SOCKET_FAULT_START
};

/* Until the next call. */
DTCONV_API const struct dtconv_transport *socket_transport(enum socket_fault fault);

/* Connections that are not freed, and slabs that are registered. */
DTCONV_API size_t socket_transport_live(void);

#endif
