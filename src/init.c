/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Assembles a context from what the layers contribute. This is the only file that may include
 * all layers.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/context.h"
#include "base/context_create.h"
#include "base/log.h"
#include "base/text.h"
#include "base/threads.h"
#include "base/tuning.h"
#include "copy_backends/backend.h"
#include "copy_backends/backend_set.h"
#include "copy_backends/counters.h"
#include "copy_backends/memory/vendor.h"
#include "copy_backends/mover.h"
#include "datatype/type.h"
#include "kernels/cpu/kernels.h"
#include "transport_glue/ipc_cache.h"

#include <dtconv/version.h>

/* The kernels that the environment selects, or else the best ones. */
static const struct dtc_cpu_kernels *choose_kernels(struct dtconv_context *context)
{
	const char *name = getenv("DTCONV_CPU");
	const struct dtc_cpu_kernels *asked = name ? dtc_cpu_find(name) : NULL;

	if (name && !asked)
		DTC_LOG(context, DTCONV_LOG_WARN,
			"environment variable DTCONV_CPU is '%.40s', not a kernel set of this build that "
			"this CPU supports; 'dtconv info' lists them",
			name);
	return asked ? asked : dtc_cpu_best();
}

int dtconv_context_create(const struct dtconv_context_params *params,
			  struct dtconv_context **context)
{
	if (!context)
		return DTCONV_ERR_INVAL;
	struct dtconv_context *created;

	int status = dtc_context_create(params, &created);
	if (status)
		return status;
	created->cpu = choose_kernels(created);
	dtc_tuning_read(created, created->cpu->name);
	dtc_threads_tune(created);
	dtc_backend_set_read_environment(created);
	/* Only the host backend has movers. */
	if (!dtc_is_host_forbidden(created, 0))
		created->make_mover = dtc_mover_create;
	status = dtc_predefined_create(created);
	if (status) {
		dtc_predefined_destroy(created);
		dtc_context_destroy(created);
		return status;
	}
	*context = created;
	return 0;
}

void dtconv_context_destroy(struct dtconv_context *context)
{
	if (!context)
		return;
	dtc_counters_log(context);
	uint64_t live = atomic_load_explicit(&context->live_types, memory_order_relaxed);
	if (live) {
		DTC_LOG(context, DTCONV_LOG_ERROR,
			"dtconv_context_destroy: %" PRIu64
			" types of the context are still referenced; its memory is leaked",
			live);
		return;
	}
	/* Destroy types first, because their layouts hold memory of the vendors. */
	dtc_predefined_destroy(context);
	dtc_ipc_cache_destroy(context);
	for (size_t i = 0; dtc_vendors[i]; i++)
		dtc_vendors[i]->close(context);
	dtc_context_destroy(context);
}

/* ---- capabilities ---------------------------------------------------------------------- */

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown"
#endif

#if defined(__x86_64__)
#define PROCESSOR "x86-64"
#elif defined(__i386__)
#define PROCESSOR "x86-32"
#elif defined(__aarch64__)
#define PROCESSOR "aarch64"
#else
#define PROCESSOR "other"
#endif

static const char promised[] =
	"not searched for, because DTCONV_CONTEXT_HOST_MEMORY is set";

/* The driver may have been loaded since the last look. */
static size_t count_devices(struct dtconv_context *context, const char **why)
{
	*why = "the library was built without CUDA";
	if (context->devices.none) {
		*why = promised;
		return 0;
	}
	(void)dtc_memory_has_driver(context);
	return dtc_vendors[0] ? (size_t)dtc_vendors[0]->count_devices(context, why) : 0;
}

static void list_kernel_sets(char *names, size_t capacity)
{
	struct dtc_text text;

	dtc_text_init(&text, names, capacity);
	for (size_t i = 0; dtc_cpu_sets[i]; i++)
		if (dtc_cpu_runs(dtc_cpu_sets[i]))
			dtc_text_printf(&text, "%s%s", text.length ? " " : "",
					dtc_cpu_sets[i]->name);
}

int dtconv_context_query(struct dtconv_context *context, struct dtconv_context_attr *attr)
{
	if (!context || !attr)
		return DTCONV_ERR_INVAL;
	if (attr->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(context, __func__, "attr", "dtconv_context_attr");
	const struct dtc_tuning_file *file = &context->tuning_file;
	struct dtconv_context_attr now = {
		.struct_size = attr->struct_size,
		.compiler = COMPILER,
		.processor = PROCESSOR,
		.kernels = context->cpu->name,
		.tuning_path = file->path[0] ? file->path : NULL,
		.tuning_state = dtc_tuning_state(file),
		.tuning_read = file->origin == DTC_TUNING_READ,
		.threads = context->threads.most,
		.thresholds = DTC_THRESHOLD_COUNT,
	};

	list_kernel_sets(now.kernel_sets, sizeof(now.kernel_sets));
	dtc_tuning_machine(context->cpu->name, now.machine, sizeof(now.machine));
	now.devices = count_devices(context, &now.no_devices);
	memcpy(attr, &now, DTC_MIN(attr->struct_size, sizeof(now)));
	return 0;
}

int dtconv_context_query_device(struct dtconv_context *context, size_t ordinal,
				struct dtconv_device_attr *attr)
{
	struct dtconv_device_attr now = { .name = "" };
	const char *why;

	if (!context || !attr)
		return DTCONV_ERR_INVAL;
	if (attr->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(context, __func__, "attr", "dtconv_device_attr");
	size_t devices = count_devices(context, &why);
	if (ordinal >= devices)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: ordinal (argument 2) is %zu, there are %zu devices",
				__func__, ordinal, devices);
	if (!dtc_vendors[0]->query_device(context, (int)ordinal, &now))
		return DTC_FAIL(context, DTCONV_ERR_BACKEND,
				"%s: the driver returns no attributes of device %zu",
				__func__, ordinal);
	now.struct_size = attr->struct_size;
	memcpy(attr, &now, DTC_MIN(attr->struct_size, sizeof(now)));
	return 0;
}

/* ---- descriptions ---------------------------------------------------------------------- */

static void describe_build(struct dtc_text *text)
{
	dtc_text_printf(text, "libdtconv %s\n", dtconv_version());
	dtc_text_printf(text, "compiler: %s\n", COMPILER);
}

static void describe_cpu(const struct dtconv_context *context, struct dtc_text *text)
{
	dtc_text_printf(text, "architecture: %s\n", PROCESSOR);
	dtc_text_printf(text, "kernels: %s (of", context->cpu->name);
	for (size_t i = 0; dtc_cpu_sets[i]; i++)
		dtc_text_printf(text, " %s%s", dtc_cpu_sets[i]->name,
				dtc_cpu_runs(dtc_cpu_sets[i])
					? ""
					: ", not supported by this CPU");
	dtc_text_printf(text, ")\n");
}

static void describe_threads(struct dtc_text *text, const struct dtc_threads *threads)
{
	dtc_text_printf(text, "threads per call: %zu (%s)\n", threads->most,
			dtc_threads_origin(threads));
}

static void describe_backends(struct dtconv_context *context, struct dtc_text *text)
{
	for (size_t i = 0; dtc_backends[i]; i++)
		dtc_text_printf(text, "backend %s: %s%s\n", dtc_backends[i]->name,
				dtc_backends[i]->what,
				dtc_is_forbidden(context->forbidden, i)
					? " (disabled by DTCONV_BACKENDS)"
					: "");
	if (context->devices.none) {
		dtc_text_printf(text, "devices: %s\n", promised);
		return;
	}
	/* The driver may have been loaded since the last look. */
	(void)dtc_memory_has_driver(context);
	for (size_t i = 0; dtc_vendors[i]; i++)
		dtc_vendors[i]->describe(context, text);
	if (!dtc_vendors[0])
		dtc_text_printf(text, "CUDA: not in this build\n");
}

int dtconv_context_format_info(struct dtconv_context *context, char *buffer, size_t capacity,
			       size_t *length)
{
	if (!context || !length)
		return DTCONV_ERR_INVAL;
	struct dtc_text text;

	dtc_text_init(&text, buffer, capacity);
	describe_build(&text);
	describe_cpu(context, &text);
	describe_threads(&text, &context->threads);
	dtc_tuning_describe(context, context->cpu->name, &text);
	describe_backends(context, &text);
	return dtc_text_finish(&text, length);
}
