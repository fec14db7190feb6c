/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The assembler: makes a context out of what the layers contribute, and the only file that
 * may include them all.
 */
#include "config.h"

#include <inttypes.h>

#include "context.h"
#include "copy_backends/backend.h"
#include "datatype/type.h"
#include "log.h"
#include "text.h"

#include <dtconv/version.h>

int dtconv_context_create(const struct dtconv_context_params *params,
			  struct dtconv_context **context)
{
	if (!context)
		return DTCONV_ERR_INVAL;
	struct dtconv_context *created;

	int status = dtc_context_create(params, &created);
	if (status)
		return status;
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
	uint64_t live = atomic_load_explicit(&context->live_types, memory_order_relaxed);
	if (live) {
		DTC_LOG(context, DTCONV_LOG_ERROR,
			"dtconv_context_destroy: %" PRIu64
			" types of the context are still referenced, its memory is lost",
			live);
		return;
	}
	dtc_predefined_destroy(context);
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

static void describe_cpu(struct dtc_text *text)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_cpu_init();
	dtc_text_printf(text,
			"processor: x86-%zu, AVX2 %s, AVX-512 %s; kernels: generic\n",
			8 * sizeof(void *), __builtin_cpu_supports("avx2") ? "yes" : "no",
			__builtin_cpu_supports("avx512f") ? "yes" : "no");
#elif defined(__aarch64__)
	dtc_text_printf(text, "processor: aarch64; kernels: generic\n");
#else
	dtc_text_printf(text, "processor: other; kernels: generic\n");
#endif
}

static void describe_threads(struct dtc_text *text, const struct dtc_threads *threads)
{
	dtc_text_printf(text, "threads of a move: %zu (%s)\n", threads->most,
			dtc_threads_origin(threads));
}

static void describe_backends(struct dtc_text *text)
{
	for (size_t i = 0; dtc_backends[i]; i++)
		dtc_text_printf(text, "backend %s: %s\n", dtc_backends[i]->name,
				dtc_backends[i]->what);
	dtc_text_printf(text, "backend cuda: not in this version of the library\n");
}

int dtconv_context_format_info(struct dtconv_context *context, char *buffer, size_t capacity,
			       size_t *length)
{
	if (!context || !length)
		return DTCONV_ERR_INVAL;
	struct dtc_text text;

	dtc_text_init(&text, buffer, capacity);
	describe_build(&text);
	describe_cpu(&text);
	describe_threads(&text, &context->threads);
	describe_backends(&text);
	return dtc_text_finish(&text, length);
}
