/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tool that listens to NVTX: writes what it hears into a text that the test looks up by name.
 */
#include <nvtx3/nvToolsExt.h>

#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT extern char nvtx_heard[4096];
char nvtx_heard[4096];

static void hear(const char *text)
{
	size_t length = strlen(nvtx_heard);

	snprintf(nvtx_heard + length, sizeof(nvtx_heard) - length, "%s;", text);
}

static nvtxDomainHandle_t NVTX_API create(const char *name)
{
	hear(name);
	return (nvtxDomainHandle_t)nvtx_heard;
}

static void NVTX_API destroy(nvtxDomainHandle_t domain)
{
	(void)domain;
	hear("destroy");
}

static int NVTX_API push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *range)
{
	char text[120];

	(void)domain;
	snprintf(text, sizeof(text), "%s %llu", range->message.ascii,
		 (unsigned long long)range->payload.ullValue);
	hear(text);
	return 0;
}

static int NVTX_API pop(nvtxDomainHandle_t domain)
{
	(void)domain;
	hear("pop");
	return 0;
}

static void set(NvtxFunctionTable table, int function, void *listener)
{
	memcpy(table[function], &listener, sizeof(listener));
}

EXPORT int NVTX_API InitializeInjectionNvtx2(NvtxGetExportTableFunc_t find);

int NVTX_API InitializeInjectionNvtx2(NvtxGetExportTableFunc_t find)
{
	const NvtxExportTableCallbacks *callbacks =
		(const NvtxExportTableCallbacks *)find(NVTX_ETID_CALLBACKS);
	NvtxFunctionTable table = NULL;
	unsigned size = 0;

	if (!callbacks ||
	    !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size))
		return 0;
	set(table, NVTX_CBID_CORE2_DomainCreateA, (void *)(uintptr_t)create);
	set(table, NVTX_CBID_CORE2_DomainDestroy, (void *)(uintptr_t)destroy);
	set(table, NVTX_CBID_CORE2_DomainRangePushEx, (void *)(uintptr_t)push);
	set(table, NVTX_CBID_CORE2_DomainRangePop, (void *)(uintptr_t)pop);
	return 1;
}
