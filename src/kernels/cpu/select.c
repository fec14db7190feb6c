/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sets of CPU kernels, and the choice among those that this CPU supports.
 */
#include "config.h"

#include "kernels.h"

#include <string.h>

#include "block.h"
#include "sets.h"

const struct dtc_cpu_kernels *const dtc_cpu_sets[] = {
	&dtc_cpu_generic,
#ifdef DTC_CPU_AVX2
	&dtc_cpu_avx2,
#endif
#ifdef DTC_CPU_AVX512
	&dtc_cpu_avx512,
#endif
#ifdef DTC_CPU_NEON
	&dtc_cpu_neon,
#endif
	NULL,
};

bool dtc_cpu_runs(const struct dtc_cpu_kernels *kernels)
{
#ifdef DTC_CPU_AVX2
	if (kernels == &dtc_cpu_avx2)
		return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
#endif
#ifdef DTC_CPU_AVX512
	if (kernels == &dtc_cpu_avx512)
		return __builtin_cpu_supports("avx512bw") &&
		       __builtin_cpu_supports("avx512vl") &&
		       __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("bmi2");
#endif
#ifdef DTC_CPU_NEON
	if (kernels == &dtc_cpu_neon)
		return true;
#endif
	return kernels == &dtc_cpu_generic;
}

const struct dtc_cpu_kernels *dtc_cpu_find(const char *name)
{
	for (size_t i = 0; dtc_cpu_sets[i]; i++)
		if (strcmp(dtc_cpu_sets[i]->name, name) == 0 && dtc_cpu_runs(dtc_cpu_sets[i]))
			return dtc_cpu_sets[i];
	return NULL;
}

const struct dtc_cpu_kernels *dtc_cpu_best(void)
{
	const struct dtc_cpu_kernels *best = &dtc_cpu_generic;

	for (size_t i = 0; dtc_cpu_sets[i]; i++)
		if (dtc_cpu_runs(dtc_cpu_sets[i]))
			best = dtc_cpu_sets[i];
	return best;
}

/* The commonest lengths first, because a branch costs as much as a move. */
DTC_INLINE void copy_short_run(char *to, const char *from, size_t bytes)
{
	if (bytes == 8)
		*(dtc_8_bytes *)to = *(const dtc_8_bytes *)from;
	else if (bytes == 16)
		*(dtc_16_bytes *)to = *(const dtc_16_bytes *)from;
	else if (bytes == 4)
		*(dtc_4_bytes *)to = *(const dtc_4_bytes *)from;
	else
		dtc_copy_block(to, from, bytes);
}

void dtc_cpu_pack_runs(const struct dtc_short_run runs[], size_t count, const char *user,
		       char *packed)
{
	for (size_t i = 0; i < count; i++) {
		copy_short_run(packed, user + runs[i].disp, runs[i].bytes);
		packed += runs[i].bytes;
	}
}

void dtc_cpu_unpack_runs(const struct dtc_short_run runs[], size_t count, char *user,
			 const char *packed)
{
	for (size_t i = 0; i < count; i++) {
		copy_short_run(user + runs[i].disp, packed, runs[i].bytes);
		packed += runs[i].bytes;
	}
}

void dtc_cpu_run(const struct dtc_cpu_kernels *kernels, char *to, const char *from,
		 size_t bytes)
{
	if (bytes > DTC_BLOCK_WORDS * sizeof(dtc_word))
		kernels->run(to, from, bytes);
	else
		dtc_copy_block(to, from, bytes);
}
