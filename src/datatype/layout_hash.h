/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hashes of layouts: of the displacements of the packed stream's bytes, in order. How a program
 * spells them makes no difference.
 */
#ifndef DTC_LAYOUT_HASH_H
#define DTC_LAYOUT_HASH_H

#include "datatype/layout.h"

/* The hash of @count instances, at a cost that does not depend on @count. */
uint64_t dtc_layout_hash(const struct dtc_layout *layout, uint64_t count);

#endif
