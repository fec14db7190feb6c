/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The dtconv program: tells its version.
 */
#include "config.h"

#include <stdio.h>

#include <dtconv/version.h>

int main(void)
{
	printf("dtconv %s\n", dtconv_version());
	return 0;
}
