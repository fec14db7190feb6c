/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NVTX ranges. NVTX is a header: on its first call it looks for a tool and keeps the result in a variable of the
 * process, which is NVTX's state and not ours.
 */
#include "config.h"

#include "nvtx_ranges.h"

#include <stdlib.h>

#ifdef HAVE_NVTX

/* Most of it runs once at most, and is 3.7 KB shorter so. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("Os")
#endif
#include <nvtx3/nvToolsExt.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif

/* NVTX itself would load a tool into programs with more rights than their user, too. */
void *dtc_cuda_nvtx_open(void)
{
	return secure_getenv("NVTX_INJECTION64_PATH") ? nvtxDomainCreateA("dtconv")
						      : NULL;
}

void dtc_cuda_nvtx_close(void *listener)
{
	if (listener)
		nvtxDomainDestroy(listener);
}

void dtc_cuda_nvtx_push(void *listener, const struct dtc_job *job)
{
	const nvtxEventAttributes_t range = {
		.version = NVTX_VERSION,
		.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
		.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64,
		.payload = { .ullValue = job->bytes },
		.messageType = NVTX_MESSAGE_TYPE_ASCII,
		.message = { .ascii = job->caller },
	};

	nvtxDomainRangePushEx(listener, &range);
}

void dtc_cuda_nvtx_pop(void *listener)
{
	nvtxDomainRangePop(listener);
}

void dtc_cuda_nvtx_mark(void *listener, const char *text)
{
	const nvtxEventAttributes_t mark = { .version = NVTX_VERSION,
					     .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
					     .messageType = NVTX_MESSAGE_TYPE_ASCII,
					     .message = { .ascii = text } };

	nvtxDomainMarkEx(listener, &mark);
}

#else

void *dtc_cuda_nvtx_open(void)
{
	return NULL;
}

void dtc_cuda_nvtx_close(void *listener)
{
	(void)listener;
}

void dtc_cuda_nvtx_push(void *listener, const struct dtc_job *job)
{
	(void)listener;
	(void)job;
}

void dtc_cuda_nvtx_pop(void *listener)
{
	(void)listener;
}

void dtc_cuda_nvtx_mark(void *listener, const char *text)
{
	(void)listener;
	(void)text;
}

#endif
