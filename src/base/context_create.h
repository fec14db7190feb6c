/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creation and destruction of what layer 0 owns of a context.
 */
#ifndef DTC_CONTEXT_CREATE_H
#define DTC_CONTEXT_CREATE_H

#include <dtconv/context.h>

/* Create and destroy what layer 0 owns; init.c adds the rest. */
int dtc_context_create(const struct dtconv_context_params *params,
		       struct dtconv_context **context);
void dtc_context_destroy(struct dtconv_context *context);

#endif
