/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HMAC with SHA-256 (RFC 2104).
 */
#ifndef DTC_HMAC_H
#define DTC_HMAC_H

#include <stddef.h>

#include "sha256.h"

#define DTC_HMAC_KEY_BYTES 64

/* A secret of any length as HMAC uses it. */
void dtc_hmac_key(const void *secret, size_t length,
		  unsigned char key[DTC_HMAC_KEY_BYTES]);

void dtc_hmac(const unsigned char key[DTC_HMAC_KEY_BYTES], const void *bytes,
	      size_t length, unsigned char mac[DTC_SHA256_BYTES]);

#endif
