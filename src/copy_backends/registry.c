/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The backends of this build: a constant table, entries chosen by configure.
 */
#include "config.h"

#include "backend.h"

const struct dtc_backend_ops *const dtc_backends[] = {&dtc_host_backend, NULL};
