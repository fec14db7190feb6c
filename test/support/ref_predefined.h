/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The expected size, alignment, members and names of predefined types, taken from this compiler
 * and not from the library.
 */
#ifndef TEST_SUPPORT_REF_PREDEFINED_H
#define TEST_SUPPORT_REF_PREDEFINED_H

#include <stddef.h>

#include <dtconv/dtconv.h>

/** A predefined type. A basic type is its own first member and has no second. */
struct ref_predefined {
	const char *name;              /**< in the text form */
	size_t size;                   /**< bytes of data */
	size_t extent;                 /**< bytes from one to the next in an array */
	size_t alignment;              /**< as a member of a C struct */
	enum dtconv_predefined first;  /**< first member */
	enum dtconv_predefined second; /**< second, else DTCONV_PREDEFINED_COUNT */
	size_t second_disp;            /**< where the second lies */
};

/** Indexed by enum dtconv_predefined. */
extern const struct ref_predefined ref_predefined[DTCONV_PREDEFINED_COUNT];

#endif
