/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The assembler: makes a context out of what the layers contribute, and the only file that
 * may include them all.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "context.h"
#include "copy_backends/allowed.h"
#include "copy_backends/backend.h"
#include "copy_backends/memory/vendor.h"
#include "copy_backends/mover.h"
#include "copy_backends/tally.h"
#include "datatype/type.h"
#include "kernels/cpu.h"
#include "log.h"
#include "text.h"

#include <dtconv/version.h>

/* The kernels that the environment asks for, or else the best. */
static const struct dtc_cpu_kernels *choose_kernels(struct dtconv_context *context)
{
	const char *name = getenv("DTCONV_CPU");
	const struct dtc_cpu_kernels *asked = name ? dtc_cpu_find(name) : NULL;

	if (name && !asked)
		DTC_LOG(context, DTCONV_LOG_WARN,
			"environment variable DTCONV_CPU is '%.40s', which this build or processor does "
			"not have; dtconv info lists those it has",
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
	dtc_allowed_read_environment(created);
	/* Movers are the processor's. */
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
	dtc_tally_tell(context);
	uint64_t live = atomic_load_explicit(&context->live_types, memory_order_relaxed);
	if (live) {
		DTC_LOG(context, DTCONV_LOG_ERROR,
			"dtconv_context_destroy: %" PRIu64
			" types of the context are still referenced, its memory is lost",
			live);
		return;
	}
	/* Types give back what vendors keep of them, so they go first. */
	dtc_predefined_destroy(context);
	for (size_t i = 0; dtc_vendors[i]; i++)
		dtc_vendors[i]->close(context);
	dtc_context_destroy(context);
}

static void describe_build(struct dtc_text *text)
{
	dtc_text_printf(text, "libdtconv %s\n", dtconv_version());
#if defined(__clang__)
	dtc_text_printf(text, "compiler: clang %s\n", __clang_version__);
#elif defined(__GNUC__)
	dtc_text_printf(text, "compiler: gcc %s\n", __VERSION__);
#endif
}

static void describe_cpu(const struct dtconv_context *context, struct dtc_text *text)
{
#if defined(__x86_64__) || defined(__i386__)
	dtc_text_printf(text, "processor: x86-%zu\n", 8 * sizeof(void *));
#elif defined(__aarch64__)
	dtc_text_printf(text, "processor: aarch64\n");
#else
	dtc_text_printf(text, "processor: other\n");
#endif
	dtc_text_printf(text, "kernels: %s (of", context->cpu->name);
	for (size_t i = 0; dtc_cpu_sets[i]; i++)
		dtc_text_printf(text, " %s%s", dtc_cpu_sets[i]->name,
				dtc_cpu_runs(dtc_cpu_sets[i]) ? "" : ", not here");
	dtc_text_printf(text, ")\n");
}

static void describe_threads(struct dtc_text *text, const struct dtc_threads *threads)
{
	dtc_text_printf(text, "threads of a move: %zu (%s)\n", threads->most,
			dtc_threads_origin(threads));
}

static void describe_backends(struct dtconv_context *context, struct dtc_text *text)
{
	for (size_t i = 0; dtc_backends[i]; i++)
		dtc_text_printf(text, "backend %s: %s%s\n", dtc_backends[i]->name,
				dtc_backends[i]->what,
				dtc_is_forbidden(context->forbidden, i) ?
					" (forbidden by DTCONV_BACKENDS)" :
					"");
	if (context->devices.none) {
		dtc_text_printf(text, "devices: not looked for, as the caller has promised host memory\n");
		return;
	}
	/* It may have come since the context last looked. */
	(void)dtc_memory_has_driver(context);
	for (size_t i = 0; dtc_vendors[i]; i++)
		dtc_vendors[i]->describe(context, text);
	if (!dtc_vendors[0])
		dtc_text_printf(
			text,
			"CUDA: not in this build, which was made without its headers\n");
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
