/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels: their table, and running one so that an illegal address ends the kernel and not the
 * process.
 */
#include <setjmp.h>
#include <signal.h>
#include <string.h>

#include "support/cuda_standin/standin_internal.h"
#include "support/cuda_standin/standin_shim.h"

#define KERNELS 64

static struct standin_kernel added[KERNELS];
static size_t added_count;

/* ---- Built in ---- */

static int run_copy(const void *params, uint32_t grid, uint32_t block,
		    size_t shared_bytes)
{
	const struct standin_copy_params *copy = params;
	(void)grid;
	(void)block;
	(void)shared_bytes;
	memcpy((void *)copy->target, (const void *)copy->source, copy->bytes);
	return 0;
}

static int run_nothing(const void *params, uint32_t grid, uint32_t block,
		       size_t shared_bytes)
{
	(void)params;
	(void)grid;
	(void)block;
	(void)shared_bytes;
	return 0;
}

static int run_fault(const void *params, uint32_t grid, uint32_t block,
		     size_t shared_bytes)
{
	(void)params;
	(void)grid;
	(void)block;
	(void)shared_bytes;
	return -1;
}

static int run_flag(const void *params, uint32_t grid, uint32_t block,
		    size_t shared_bytes)
{
	const struct standin_flag_params *flag = params;

	(void)grid;
	(void)block;
	(void)shared_bytes;
	__atomic_store_n((uint64_t *)flag->word, flag->value, __ATOMIC_RELEASE);
	return 0;
}

static void count_up(const uint64_t *places, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		uint8_t *byte = (uint8_t *)places[i];
		const uint8_t value = __atomic_load_n(byte, __ATOMIC_RELAXED);
		__atomic_store_n(byte, (uint8_t)(value + 1), __ATOMIC_RELAXED);
	}
}

static int run_count(const void *params, uint32_t grid, uint32_t block,
		     size_t shared_bytes)
{
	const struct standin_count_params *race = params;
	uint32_t rounds = 0;
	(void)grid;
	(void)block;
	(void)shared_bytes;
	do {
		count_up((const uint64_t *)race->places, race->count);
		rounds++;
	} while (!__atomic_load_n((const uint64_t *)race->stop, __ATOMIC_ACQUIRE));
	for (uint64_t i = 0; i < race->count; i++)
		((uint32_t *)race->counts)[i] = rounds;
	return 0;
}

static bool word_is_set(const void *params)
{
	const struct standin_spin_params *spin = params;
	return __atomic_load_n((const uint32_t *)spin->word, __ATOMIC_ACQUIRE);
}

static bool flag_has_come(const void *params)
{
	const struct standin_flag_params *flag = params;

	return __atomic_load_n((const uint64_t *)flag->word, __ATOMIC_ACQUIRE) >=
	       flag->value;
}

static const struct standin_kernel built_in[] = {
	{ "standin_copy", sizeof(struct standin_copy_params), run_copy, NULL, false },
	{ "store_flag", sizeof(struct standin_flag_params), run_flag, NULL, false },
	{ "await_flag", sizeof(struct standin_flag_params), run_nothing, flag_has_come,
	  false },
	{ "standin_spin", sizeof(struct standin_spin_params), run_nothing, word_is_set,
	  false },
	{ "standin_count", sizeof(struct standin_count_params), run_count, NULL, true },
	{ "standin_fault", sizeof(struct standin_fault_params), run_fault, NULL, false },
};

/* ---- The table ---- */

void standin_add_kernel(const struct standin_kernel *kernel)
{
	if (added_count == KERNELS)
		standin_crash(kernel->name, "more kernels than the stand-in keeps");
	added[added_count++] = *kernel;
}

static const struct standin_kernel *find_in(const struct standin_kernel *kernels,
					    size_t count, const char *name)
{
	for (size_t i = count; i-- > 0;) /* the one added last hides the others */
		if (!strcmp(kernels[i].name, name))
			return &kernels[i];
	return NULL;
}

/* Kernels of the library under test: their source, compiled for the host. */
static const struct standin_kernel shim_kernel = { .name = "shim" };
static const struct standin_kernel waiting_kernel = { .name = "shim", .resident = true };

const struct standin_kernel *standin_kernel_find(const char *name, size_t *params_bytes)
{
	const struct standin_kernel *kernel = find_in(added, added_count, name);
	if (!kernel)
		kernel = find_in(built_in, sizeof built_in / sizeof *built_in, name);
	if (kernel)
		*params_bytes = kernel->params_bytes;
	else if (shim_knows && shim_knows(name, params_bytes))
		kernel = shim_waits(name) ? &waiting_kernel : &shim_kernel;
	return kernel;
}

/* ---- Illegal addresses ---- */

static _Thread_local sigjmp_buf *way_out;
static struct sigaction before[2];

static void on_fault(int number, siginfo_t *info, void *machine)
{
	if (way_out)
		siglongjmp(*way_out, 1);
	/* Not a kernel's: whoever handled it before does. */
	const struct sigaction *old = &before[number == SIGBUS];
	if (old->sa_flags & SA_SIGINFO)
		old->sa_sigaction(number, info, machine);
	else if (old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN)
		old->sa_handler(number);
	else
		sigaction(number, old,
			  NULL); /* and the access, repeated, ends the process */
}

static void install_handlers(void)
{
	struct sigaction action = { .sa_sigaction = on_fault,
				    .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK };
	sigemptyset(&action.sa_mask);
	sigaction(SIGSEGV, &action, &before[0]);
	sigaction(SIGBUS, &action, &before[1]);
}

static int run_once(const char *name, const struct standin_kernel *kernel,
		    const void *params, uint32_t grid, uint32_t block,
		    size_t shared_bytes)
{
	if (kernel == &shim_kernel || kernel == &waiting_kernel)
		return shim_run(name, grid, block, shared_bytes, params);
	return kernel->run(params, grid, block, shared_bytes);
}

int standin_run_guarded(const char *name, const struct standin_kernel *kernel,
			const void *params, uint32_t grid, uint32_t block,
			size_t shared_bytes)
{
	static pthread_once_t installed = PTHREAD_ONCE_INIT;
	sigjmp_buf here;
	volatile int result = -1;
	/* Resident kernels run in threads of their own. */
	pthread_once(&installed, install_handlers);
	if (!sigsetjmp(here, 0)) {
		way_out = &here;
		result = run_once(name, kernel, params, grid, block, shared_bytes);
	}
	way_out = NULL;
	return result;
}
