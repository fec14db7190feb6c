/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the parts of `dtconv info`.
 */
#ifndef DTCONV_TOOLS_INFO_H
#define DTCONV_TOOLS_INFO_H

struct dtconv_context;

/* Print one JSON object; @why says why there is no device, or is NULL. Returns a status of the library. */
int info_print_json(struct dtconv_context *context, const char *why);

#endif
