/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fixture of the stand-in's own suites.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "standin/standin_fixture.h"
#include "support/suite.h"

#define WORDS 256

const struct standin *standin;
CUcontext standin_context;
CUstream standin_stream;

static CUmodule module;
static uint32_t *words;
static size_t word_count;

static void start_bare(void)
{
	standin = standin_control();
	standin->reset();
	standin->set(STANDIN_DELAY_US, 10);
}

static void start(void)
{
	start_bare();
	ck_works(cuInit(0));
	ck_works(cuDevicePrimaryCtxRetain(&standin_context, 0));
	ck_works(cuCtxSetCurrent(standin_context));
	ck_works(cuStreamCreate(&standin_stream, CU_STREAM_NON_BLOCKING));
	ck_works(cuModuleLoadData(&module, "an image"));
	ck_works(cuMemAllocHost((void **)&words, WORDS * sizeof *words));
	word_count = 0;
}

static void nothing_leaks(void)
{
	static char text[4096];
	const size_t leaks = standin->leaks(text, sizeof text);
	ck_assert_msg(!leaks, "left behind:\n%s", text);
}

/* A context that a case has broken leaks what is in it: such a case ends with reset(). */
static void stop(void)
{
	unsigned flags;
	int active;
	if (cuDevicePrimaryCtxGetState(0, &flags, &active) || !active)
		return;
	ck_works(cuCtxSetCurrent(standin_context));
	ck_works(cuMemFreeHost(words));
	ck_works(cuModuleUnload(module));
	ck_works(cuStreamDestroy(standin_stream));
	ck_works(cuDevicePrimaryCtxRelease(0));
	ck_works(cuCtxSetCurrent(NULL));
	nothing_leaks();
}

TCase *standin_tcase(Suite *suite, const char *name)
{
	TCase *tcase = tcase_create(name);
	tcase_add_checked_fixture(tcase, start, stop);
	suite_add_tcase(suite, tcase);
	return tcase;
}

TCase *standin_bare_tcase(Suite *suite, const char *name)
{
	TCase *tcase = tcase_create(name);
	tcase_add_checked_fixture(tcase, start_bare, NULL);
	suite_add_tcase(suite, tcase);
	return tcase;
}

int standin_run(Suite *suite)
{
	return suite_run(suite);
}

CUfunction standin_function(const char *name)
{
	CUfunction function;
	ck_works(cuModuleGetFunction(&function, module, name));
	return function;
}

CUresult standin_launch(const char *name, void *params, CUstream stream)
{
	void *list[] = { params };
	return cuLaunchKernel(standin_function(name), 1, 1, 1, 32, 1, 1, 0, stream, list,
			      NULL);
}

volatile uint32_t *standin_word(void)
{
	ck_assert_uint_lt(word_count, WORDS);
	words[word_count] = 0;
	return &words[word_count++];
}

void standin_release(volatile uint32_t *word)
{
	__atomic_store_n(word, 1, __ATOMIC_RELEASE);
}

void standin_spin(volatile uint32_t *word, CUstream stream)
{
	struct standin_spin_params params = { (uint64_t)(uintptr_t)word };
	ck_works(standin_launch("standin_spin", &params, stream));
}

struct errand {
	void (*call)(void *arg);
	void *arg;
	CUcontext context;
	atomic_bool done;
};

static void *run_errand(void *arg)
{
	struct errand *errand = arg;
	cuCtxSetCurrent(errand->context);
	errand->call(errand->arg);
	atomic_store(&errand->done, true);
	return NULL;
}

static void sleep_us(long us)
{
	nanosleep(&(struct timespec){ 0, us * 1000 }, NULL);
}

bool standin_blocks(void (*call)(void *arg), void *arg, volatile uint32_t *word)
{
	struct errand errand = { .call = call, .arg = arg };
	pthread_t thread;
	cuCtxGetCurrent(&errand.context);
	ck_assert_int_eq(pthread_create(&thread, NULL, run_errand, &errand), 0);
	for (int i = 0; i < 50 && !atomic_load(&errand.done); i++)
		sleep_us(1000);
	const bool blocks = !atomic_load(&errand.done);
	if (blocks)
		standin_release(word);
	pthread_join(thread, NULL);
	return blocks;
}

void standin_in_thread(void (*call)(void *arg), void *arg)
{
	struct errand errand = { .call = call, .arg = arg };
	pthread_t thread;
	ck_assert_int_eq(pthread_create(&thread, NULL, run_errand, &errand), 0);
	pthread_join(thread, NULL);
}

static unsigned char pattern(unsigned seed, size_t i)
{
	return (unsigned char)(seed * 37 + i * 11 + (i >> 8));
}

CUdeviceptr standin_filled(size_t bytes, unsigned seed)
{
	CUdeviceptr address;
	unsigned char *host = malloc(bytes);
	ck_assert_ptr_nonnull(host);
	for (size_t i = 0; i < bytes; i++)
		host[i] = pattern(seed, i);
	ck_works(cuMemAlloc(&address, bytes));
	ck_works(cuMemcpyHtoD(address, host, bytes));
	free(host);
	return address;
}

bool standin_holds(CUdeviceptr address, size_t bytes, unsigned seed)
{
	unsigned char *host = malloc(bytes);
	ck_assert_ptr_nonnull(host);
	ck_works(cuMemcpyDtoH(host, address, bytes));
	bool same = true;
	for (size_t i = 0; i < bytes; i++)
		same &= host[i] == pattern(seed, i);
	free(host);
	return same;
}
