/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtconv info --json: the library's build, this machine, the thresholds and the devices.
 * dtconv-info(1) documents the keys.
 */
#include "config.h"

#include "info.h"

#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "tools.h"

/* ---- the build and the CPU ------------------------------------------------------------ */

/* Words between spaces. */
static void write_words(struct tool_json *json, const char *key, const char *words)
{
	char word[sizeof(((struct dtconv_context_attr *)0)->kernel_sets)];

	tool_json_open_array(json, key);
	while (*words) {
		size_t length = strcspn(words, " ");

		snprintf(word, sizeof(word), "%.*s", (int)length, words);
		tool_json_string(json, NULL, word);
		words += length + strspn(words + length, " ");
	}
	tool_json_close_array(json);
}

static void write_machine(struct tool_json *json, const struct dtconv_context_attr *attr)
{
	tool_json_string(json, "version", DTCONV_VERSION_STRING);
	tool_json_string(json, "library_version", dtconv_version());
	tool_json_string(json, "compiler", attr->compiler);
	tool_json_string(json, "processor", attr->processor);
	tool_json_string(json, "kernels", attr->kernels);
	write_words(json, "kernel_sets", attr->kernel_sets);
	tool_json_whole(json, "threads", attr->threads);
	tool_json_string(json, "machine", attr->machine);
	tool_json_string(json, "tuning_file", attr->tuning_path);
	tool_json_bool(json, "tuning_is_read", attr->tuning_read);
	tool_json_string(json, "tuning_state", attr->tuning_state);
}

/* ---- thresholds and backends ---------------------------------------------------------- */

static int write_thresholds(struct tool_json *json, struct dtconv_context *context,
			    size_t count)
{
	struct dtconv_threshold threshold = { .struct_size = sizeof(threshold) };
	int status = 0;

	tool_json_open_object(json, "thresholds");
	for (size_t i = 0; i < count && !status; i++) {
		status = dtconv_context_query_threshold(context, i, NULL, &threshold);
		if (status)
			break;
		tool_json_open_object(json, threshold.name);
		tool_json_whole(json, "value", threshold.value);
		tool_json_whole(json, "default", threshold.default_value);
		tool_json_whole(json, "least", threshold.least);
		tool_json_whole(json, "most", threshold.most);
		tool_json_string(json, "what", threshold.what);
		tool_json_close_object(json);
	}
	tool_json_close_object(json);
	return status;
}

/* What a backend is, and whether it is forbidden, does not depend on the layout. */
static int write_backends(struct tool_json *json, struct dtconv_context *context)
{
	const struct dtconv_type *byte = dtconv_type_predefined(context, DTCONV_BYTE);
	struct dtconv_explanation e = { .struct_size = sizeof(e) };
	const char *name;
	int status = 0;

	tool_json_open_array(json, "backends");
	for (size_t i = 0; (name = dtconv_backend_name(i)) && !status; i++) {
		status = dtconv_explain_backend(byte, 1, DTCONV_MEMORY_HOST,
						DTCONV_MEMORY_HOST, name, &e);
		if (status)
			break;
		tool_json_open_object(json, NULL);
		tool_json_string(json, "name", name);
		tool_json_string(json, "what", e.what);
		tool_json_bool(json, "forbidden", e.forbidden);
		tool_json_close_object(json);
	}
	tool_json_close_array(json);
	return status;
}

/* ---- devices -------------------------------------------------------------------------- */

/* null if the driver does not report it. */
static void write_capability(struct tool_json *json, const char *key, int value)
{
	if (value < 0)
		tool_json_null(json, key);
	else
		tool_json_bool(json, key, value);
}

static void write_capabilities(struct tool_json *json,
			       const struct dtconv_device_attr *attr)
{
	tool_json_open_object(json, "supports");
	write_capability(json, "unified_addressing", attr->unified_addressing);
	write_capability(json, "vmm", attr->vmm);
	write_capability(json, "vmm_host_numa", attr->vmm_host_numa);
	write_capability(json, "posix_fd_handles", attr->posix_fd_handles);
	write_capability(json, "fabric_handles", attr->fabric_handles);
	write_capability(json, "multicast", attr->multicast);
	write_capability(json, "gpudirect_rdma", attr->gpudirect_rdma);
	write_capability(json, "gpudirect_rdma_vmm", attr->gpudirect_rdma_vmm);
	write_capability(json, "dma_buf", attr->dma_buf);
	tool_json_close_object(json);
}

/* The thresholds that hold for devices of that name. */
static int write_figures(struct tool_json *json, struct dtconv_context *context,
			 size_t thresholds, const char *device)
{
	struct dtconv_threshold threshold = { .struct_size = sizeof(threshold) };
	int status = 0;

	tool_json_open_object(json, "thresholds");
	for (size_t i = 0; i < thresholds && !status; i++) {
		status = dtconv_context_query_threshold(context, i, device, &threshold);
		if (!status && threshold.is_device)
			tool_json_whole(json, threshold.name, threshold.value);
	}
	tool_json_close_object(json);
	return status;
}

static int write_device(struct tool_json *json, struct dtconv_context *context,
			size_t thresholds, size_t ordinal)
{
	struct dtconv_device_attr attr = { .struct_size = sizeof(attr) };
	char capability[32];
	int status = dtconv_context_query_device(context, ordinal, &attr);

	if (status)
		return status;
	snprintf(capability, sizeof(capability), "%d.%d", attr.compute_major,
		 attr.compute_minor);
	tool_json_open_object(json, NULL);
	tool_json_whole(json, "ordinal", ordinal);
	tool_json_string(json, "name", attr.name);
	tool_json_whole(json, "cuda_driver", (uint64_t)attr.driver_version);
	tool_json_string(json, "compute_capability", capability);
	tool_json_whole(json, "bytes", attr.bytes);
	write_capabilities(json, &attr);
	status = write_figures(json, context, thresholds, attr.name);
	tool_json_close_object(json);
	return status;
}

/* ---- all of it ------------------------------------------------------------------------ */

int info_print_json(struct dtconv_context *context, const char *why)
{
	struct dtconv_context_attr attr = { .struct_size = sizeof(attr) };
	struct tool_json json = { .out = stdout };
	int status = dtconv_context_query(context, &attr);

	if (status)
		return status;
	tool_json_open_object(&json, NULL);
	write_machine(&json, &attr);
	status = write_thresholds(&json, context, attr.thresholds);
	if (!status)
		status = write_backends(&json, context);
	tool_json_string(&json, "no_devices", why ? why : attr.no_devices);
	tool_json_open_array(&json, "devices");
	for (size_t i = 0; i < attr.devices && !status; i++)
		status = write_device(&json, context, attr.thresholds, i);
	tool_json_close_array(&json);
	tool_json_close_object(&json);
	return status;
}
