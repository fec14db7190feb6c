/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The backends and vendors of this build: constant tables whose entries configure chooses.
 */
#include "config.h"

#include "backend.h"

#include <string.h>

#include "base/base.h"
#include "base/context.h"
#include "memory/vendor.h"
#ifdef HAVE_CUDA
#include "cuda/cuda.h"
#endif

const struct dtc_backend_ops *const dtc_backends[] = {
	&dtc_host_backend,
#ifdef HAVE_CUDA
	&dtc_cuda_copy_backend,
	&dtc_cuda_kernel_backend,
	&dtc_cuda_staged_backend,
	&dtc_cuda_pipeline_backend,
	&dtc_cuda_bar_backend,
#endif
	NULL,
};

_Static_assert(DTC_ARRAY_LENGTH(dtc_backends) - 1 <= DTC_BACKENDS_MAX,
	       "a counter in the context for each backend");

const struct dtc_vendor_ops *const dtc_vendors[] = {
#ifdef HAVE_CUDA
	&dtc_cuda_vendor,
#endif
	NULL,
};

const char *dtconv_backend_name(size_t index)
{
	return index < DTC_ARRAY_LENGTH(dtc_backends) - 1 ? dtc_backends[index]->name
							  : NULL;
}

int dtc_backend_index(const char *name)
{
	for (int i = 0; dtc_backends[i]; i++)
		if (!strcmp(dtc_backends[i]->name, name))
			return i;
	return -1;
}
