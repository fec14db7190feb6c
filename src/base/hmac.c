/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HMAC: two hashes, each of the key and what it protects.
 */
#include "config.h"

#include "hmac.h"

#include <string.h>

void dtc_hmac_key(const void *secret, size_t length,
		  unsigned char key[DTC_HMAC_KEY_BYTES])
{
	struct dtc_sha256 sum;

	memset(key, 0, DTC_HMAC_KEY_BYTES);
	if (length <= DTC_HMAC_KEY_BYTES) {
		memcpy(key, secret, length);
		return;
	}
	dtc_sha256_begin(&sum);
	dtc_sha256_add(&sum, secret, length);
	dtc_sha256_end(&sum, key);
}

/* The hash of the key, each byte of it changed by @change, and the bytes. */
static void hash_with_key(const unsigned char key[DTC_HMAC_KEY_BYTES],
			  unsigned char change, const void *bytes, size_t length,
			  unsigned char digest[DTC_SHA256_BYTES])
{
	unsigned char changed[DTC_HMAC_KEY_BYTES];
	struct dtc_sha256 sum;

	for (size_t i = 0; i < sizeof(changed); i++)
		changed[i] = key[i] ^ change;
	dtc_sha256_begin(&sum);
	dtc_sha256_add(&sum, changed, sizeof(changed));
	dtc_sha256_add(&sum, bytes, length);
	dtc_sha256_end(&sum, digest);
}

void dtc_hmac(const unsigned char key[DTC_HMAC_KEY_BYTES], const void *bytes,
	      size_t length, unsigned char mac[DTC_SHA256_BYTES])
{
	unsigned char inner[DTC_SHA256_BYTES];

	hash_with_key(key, 0x36, bytes, length, inner);
	hash_with_key(key, 0x5c, inner, sizeof(inner), mac);
}
