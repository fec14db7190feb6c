/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The version of the library as it was built. The header's macros say what a program was compiled
 * with; this function says what it runs with, and the two may differ.
 */
#include "config.h"

#include <dtconv/version.h>

const char *dtconv_version(void)
{
	return DTCONV_VERSION_STRING;
}
