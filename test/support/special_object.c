/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls the compiler. Does not depend on Check, because the stand-in for NVRTC uses it too.
 */
#include "support/special_object.h"

#include <stdio.h>
#include <stdlib.h>

static int write_source(const char *path, const char *text, size_t length)
{
	FILE *file = fopen(path, "w");

	if (!file)
		return -1;
	fwrite(text, 1, length, file);
	fputs("\n#include \"support/gpu_shim_special.h\"\n", file);
	return fclose(file);
}

int special_object_compile(const char *text, size_t length, const char *object)
{
	char source[512], command[4096];

	snprintf(source, sizeof(source), "%s.c", object);
	if (write_source(source, text, length))
		return -1;
	snprintf(command, sizeof(command), "%s -w -fPIC -shared -o '%s' '%s'",
		 SPECIAL_COMPILER, object, source);
	int status = system(command);
	remove(source);
	return status;
}
