/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bed of verbs: the stand-in, which tests may steer, or two adapters that DTCONV_TEST_VERBS names.
 */
#ifndef TEST_TRANSPORT_BED_VERBS_H
#define TEST_TRANSPORT_BED_VERBS_H

#include "bed.h"
#include "support/verbs_standin/standin.h"

/* NULL on real adapters. */
const struct verbs_standin *bed_standin(void);

/* The name of this end's adapter, or NULL. */
const char *bed_adapter(void);

#endif
