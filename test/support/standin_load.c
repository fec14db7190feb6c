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

const struct nvrtc_standin *standin_load_nvrtc(void)
{
	void *library = dlopen(STANDIN_FOLDER "/nvrtc_standin/libnvrtc.so.13",
			       RTLD_NOW | RTLD_GLOBAL);
	const struct nvrtc_standin *(*control)(void) = NULL;
	if (library)
		*(void **)&control = dlsym(library, "nvrtc_standin_control");
	return control ? control() : NULL;
}

static int load_gdrapi(const char *path)
{
	return standin_load() && dlopen(path, RTLD_NOW | RTLD_GLOBAL);
}

int standin_load_gdrapi(void)
{
	return load_gdrapi(STANDIN_FOLDER "/gdrapi_standin/libgdrapi.so.2");
}

int standin_load_gdrapi_without_map(void)
{
	return load_gdrapi(STANDIN_FOLDER "/gdrapi_standin/without_map/libgdrapi.so.2");
}
