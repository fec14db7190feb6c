/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the parts of `dtconv info` hand each other.
 */
#ifndef DTCONV_TOOLS_INFO_H
#define DTCONV_TOOLS_INFO_H

struct dtconv_context;

/* Print one JSON object; @why says why there is no device, or is NULL. Answers a status of the library. */
int info_print_json(struct dtconv_context *context, const char *why);

#endif
