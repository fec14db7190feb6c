/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a type to its program.
 */
#ifndef DTC_LOWER_H
#define DTC_LOWER_H

struct dtc_program;
struct dtconv_type;

/* Lower a type: its normalised program, or NULL if memory ran out. */
struct dtc_program *dtc_lower(struct dtconv_type *type);

#endif
