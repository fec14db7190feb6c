/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels for one shape, compiled for the host by the compiler that built this tree.
 */
#ifndef TEST_SUPPORT_SPECIAL_OBJECT_H
#define TEST_SUPPORT_SPECIAL_OBJECT_H

#include <stddef.h>

/*
 * Compile what dtc_gpu_special_write has written, @length characters of it, into a shared object for the
 * shim. Answers 0, or what the compiler answered.
 */
int special_object_compile(const char *text, size_t length, const char *object);

#endif
