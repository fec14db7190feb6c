/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Offers: what a sender tells of a message in its own device memory, so that the receiver can copy it from there: a
 * handle of the memory, where in it the message lies, and its type. The bytes come from another process, so nothing in
 * them is trusted.
 */
#ifndef DTC_OFFER_H
#define DTC_OFFER_H

#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "ipc_handle.h"
#include "wire.h"

struct dtconv_convertor;
struct dtconv_type;

/* An offer that has been read. */
struct dtc_offer {
	const unsigned char *handle;  /* DTCONV_IPC_HANDLE_BYTES, for dtconv_ipc_open() */
	struct dtc_ipc_handle memory; /* the same, read */
	uint64_t origin;              /* of displacement 0 in the range, modulo 2^64 */
	uint64_t count;               /* of instances */
	const unsigned char *type;    /* serialised */
	size_t type_bytes;
};

/*
 * Offer what the convertor packs, which is not nothing: write it to @room of DTC_WIRE_OFFER_BYTES and tell its length.
 * False: it cannot be offered, and @why is the reason, as the end of a sentence, in @text of DTC_OFFER_TEXT bytes or
 * elsewhere. That is no error.
 */
#define DTC_OFFER_TEXT 300
bool dtc_offer_write(const struct dtconv_convertor *convertor, void *room,
		     uint32_t *length, char *text, const char **why);

/*
 * Read an offer, which stays where it is. NULL: its handle is one, and there is a type behind it. Otherwise what is
 * wrong, as the end of a sentence.
 */
const char *dtc_offer_read(const void *bytes, size_t length, struct dtc_offer *offer);

/*
 * Whether @type, which has been made from the offer, fits what its message has announced, a length and a hash, and
 * whether all of its bytes lie in the range of the handle. NULL: so it is. Otherwise what is wrong.
 */
const char *dtc_offer_check(const struct dtc_offer *offer, const struct dtconv_type *type,
			    uint64_t bytes, uint64_t hash);

#endif
