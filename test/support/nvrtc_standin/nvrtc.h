/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a test steers the stand-in libnvrtc.so.13.
 */
#ifndef TEST_SUPPORT_NVRTC_STANDIN_NVRTC_H
#define TEST_SUPPORT_NVRTC_STANDIN_NVRTC_H

#include <stddef.h>

enum nvrtc_call {
	NVRTC_CREATE,
	NVRTC_COMPILE,
	NVRTC_GET_SIZE,
	NVRTC_GET_IMAGE,
	NVRTC_CALLS
};

struct nvrtc_standin {
	/* The calls answer that from now on, and do nothing else; 0: they do what they should. */
	void (*refuse)(enum nvrtc_call call, int result);
	/* The version is 13 and this. */
	void (*set_minor)(int minor);
	/* Images are for another device. */
	void (*spoil)(int spoilt);
	size_t (*calls)(enum nvrtc_call call);
	size_t (*programs_alive)(void);
};

/* The exported symbol. */
const struct nvrtc_standin *nvrtc_standin_control(void);

#endif
