/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads a stand-in for a vendor's library by its path in the build folder, for all: whoever opens
 * libcuda.so.1 or libgdrapi.so.2 later finds it by that name, without any environment.
 */
#ifndef TEST_SUPPORT_STANDIN_LOAD_H
#define TEST_SUPPORT_STANDIN_LOAD_H

#include "support/cuda_standin/standin.h"

/* The control table of the stand-in libcuda.so.1; NULL if this tree has none (no cuda.h). */
const struct standin *standin_load(void);

/* The stand-in for NVRTC, or NULL; see nvrtc_standin/nvrtc.h. */
struct nvrtc_standin;
const struct nvrtc_standin *standin_load_nvrtc(void);

/* Whether the stand-in libgdrapi.so.2 is loaded. It asks libcuda, which is loaded first. */
int standin_load_gdrapi(void);

/* The same for a library that has everything but gdr_map. */
int standin_load_gdrapi_without_map(void);

#endif
