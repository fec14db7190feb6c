/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The version of the library at run time. The header's macros give the version that a program
 * was compiled with; the two may differ.
 */
#include "config.h"

#include <dtconv/version.h>

const char *dtconv_version(void)
{
	return DTCONV_VERSION_STRING;
}
