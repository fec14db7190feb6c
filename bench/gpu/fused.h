/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plain kernels that copy from one layout to another in one pass, with all numbers constant.
 */
#ifndef BENCH_GPU_FUSED_H
#define BENCH_GPU_FUSED_H

#include "bench/gpu/pattern.h"

/* The largest word that fits both becomes the word of each. */
void fused_share_word(struct pattern *source, struct pattern *target);

/*
 * The text of the entries copy_1, copy_2, copy_4 and copy_8, named by the words a thread. Each is given the addresses
 * of the first words of source and target, then their tables (roof_make_places) or NULL for a grid. @far: places in words
 * need 64 bits. The caller frees it; NULL: no memory.
 */
char *fused_write(const struct pattern *source, const struct pattern *target, bool far);

#endif
