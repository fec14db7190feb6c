/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compiling in the background, and the on-disk cache of the results. A cached file is named by a hash of the whole
 * source, the options (architecture included) and the version of NVRTC.
 */
#include "config.h"

#include "compiler.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "kernels/images/images.h"

/* What goes before the source: the numbers of a shape, and at most DTC_GPU_RUNS runs. */
#define TEXT_BYTES 16384

/* ---- one order ------------------------------------------------------------------------- */

/* The whole source, from dtc_alloc, or NULL. */
static char *write_source(const struct dtc_cuda_compiler *compiler,
			  const struct dtc_cuda_order *order)
{
	const char *source = dtc_gpu_source();
	char *whole = dtc_alloc(compiler->context, TEXT_BYTES + strlen(source));
	struct dtc_text text;

	if (!whole)
		return NULL;
	dtc_text_init(&text, whole, TEXT_BYTES + strlen(source));
	order->write(order, &text);
	dtc_text_puts(&text, source);
	if (text.length < text.capacity)
		return whole;
	dtc_free(compiler->context, whole);
	return NULL;
}

static struct dtc_file_key key_of(const struct dtc_cuda_compiler *compiler,
				  const struct dtc_nvrtc_options *options,
				  const char *source)
{
	struct dtc_file_key key;
	struct dtc_sha256 sum;
	char version[32];

	snprintf(version, sizeof(version), "NVRTC %d.%d", compiler->nvrtc.major,
		 compiler->nvrtc.minor);
	dtc_sha256_begin(&sum);
	/* With their ends, so that no two lists of texts are the same bytes. */
	dtc_sha256_add(&sum, version, strlen(version) + 1);
	for (size_t i = 0; i < DTC_NVRTC_OPTIONS; i++)
		dtc_sha256_add(&sum, options->list[i], strlen(options->list[i]) + 1);
	dtc_sha256_add(&sum, source, strlen(source) + 1);
	dtc_sha256_end(&sum, key.digest);
	return key;
}

static void *compile_source(struct dtc_cuda_compiler *compiler,
			    const struct dtc_nvrtc_options *options,
			    const struct dtc_file_key *key, const char *source)
{
	size_t bytes;
	void *image = dtc_nvrtc_compile(&compiler->nvrtc, compiler->context, source,
					options, &bytes);

	if (!image)
		return NULL;
	dtc_context_count(compiler->context, DTC_COUNT_KERNELS_COMPILED, 1);
	dtc_file_cache_put(&compiler->cache, key, image, bytes);
	return image;
}

static void *make_image(struct dtc_cuda_compiler *compiler,
			const struct dtc_cuda_order *order)
{
	struct dtc_nvrtc_options options;
	size_t bytes;

	if (dtc_nvrtc_find(&compiler->nvrtc, compiler->context, compiler->driver_version))
		return NULL;
	char *source = write_source(compiler, order);
	if (!source)
		return NULL;
	dtc_nvrtc_set_options(&options, order->arch);
	const struct dtc_file_key key = key_of(compiler, &options, source);
	void *image = dtc_file_cache_get(&compiler->cache, &key, &bytes);
	if (image)
		dtc_context_count(compiler->context, DTC_COUNT_KERNELS_CACHED, 1);
	else
		image = compile_source(compiler, &options, &key, source);
	dtc_free(compiler->context, source);
	return image;
}

/* ---- the thread ------------------------------------------------------------------------ */

static struct dtc_cuda_order *next_order(struct dtc_cuda_compiler *compiler)
{
	struct dtc_cuda_order *order = NULL;

	pthread_mutex_lock(&compiler->lock);
	while (!compiler->first && !compiler->ending)
		pthread_cond_wait(&compiler->work, &compiler->lock);
	if (!compiler->ending) {
		order = compiler->first;
		compiler->first = order->next;
		if (!compiler->first)
			compiler->last = &compiler->first;
	}
	pthread_mutex_unlock(&compiler->lock);
	return order;
}

static void *work(void *arg)
{
	struct dtc_cuda_compiler *compiler = arg;
	struct dtc_cuda_order *order;

	dtc_file_cache_open(&compiler->cache, compiler->context, "kernels");
	while ((order = next_order(compiler)))
		order->done(order, make_image(compiler, order));
	dtc_file_cache_close(&compiler->cache);
	return NULL;
}

void dtc_cuda_compiler_init(struct dtc_cuda_compiler *compiler,
			    struct dtconv_context *context, int driver_version)
{
	compiler->context = context;
	compiler->driver_version = driver_version;
	compiler->last = &compiler->first;
	dtc_nvrtc_init(&compiler->nvrtc);
	pthread_mutex_init(&compiler->lock, NULL);
	pthread_cond_init(&compiler->work, NULL);
}

void dtc_cuda_compiler_close(struct dtc_cuda_compiler *compiler)
{
	pthread_mutex_lock(&compiler->lock);
	compiler->ending = true;
	pthread_cond_signal(&compiler->work);
	pthread_mutex_unlock(&compiler->lock);
	if (compiler->running)
		pthread_join(compiler->thread, NULL);
	dtc_nvrtc_close(&compiler->nvrtc);
	pthread_cond_destroy(&compiler->work);
	pthread_mutex_destroy(&compiler->lock);
}

bool dtc_cuda_compiler_order(struct dtc_cuda_compiler *compiler,
			     struct dtc_cuda_order *order)
{
	pthread_mutex_lock(&compiler->lock);
	if (!compiler->running)
		compiler->running =
			!dtc_thread_start(&compiler->thread, work, compiler);
	bool ordered = compiler->running;
	if (ordered) {
		order->next = NULL;
		*compiler->last = order;
		compiler->last = &order->next;
		pthread_cond_signal(&compiler->work);
	}
	pthread_mutex_unlock(&compiler->lock);
	return ordered;
}
