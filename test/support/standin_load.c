/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the stand-ins are is known when this file is compiled. They stay loaded.
 */
#include <dlfcn.h>

#include "support/standin_load.h"

const struct standin *standin_load(void)
{
	void *library = dlopen(STANDIN_FOLDER "/cuda_standin/libcuda.so.1",
			       RTLD_NOW | RTLD_GLOBAL);
	const struct standin *(*control)(void) = NULL;
	if (library)
		*(void **)&control = dlsym(library, "standin_control");
	return control ? control() : NULL;
}

int standin_load_gdrapi(void)
{
	return standin_load() && dlopen(STANDIN_FOLDER "/gdrapi_standin/libgdrapi.so.2",
					RTLD_NOW | RTLD_GLOBAL);
}
