/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "cpu_sets.h"

#include <stdio.h>

#include "kernels/cpu/generation.h"

/* other_maker.c, compiled for each set. */
extern const struct dtc_cpu_kernels other_maker_generic, other_maker_avx2,
	other_maker_avx512, other_generation_avx512;

static const struct dtc_cpu_kernels *const other_maker_sets[] = {
#ifdef DTC_CPU_AVX2
	&other_maker_generic,
	&other_maker_avx2,
#endif
#ifdef DTC_CPU_AVX512
	&other_maker_avx512,
	&other_generation_avx512,
#endif
	NULL,
};

static bool is_of_other_maker(const struct dtc_cpu_kernels *set)
{
	for (int i = 0; other_maker_sets[i]; i++)
		if (other_maker_sets[i] == set)
			return true;
	return false;
}

static bool is_of_other_generation(const struct dtc_cpu_kernels *set)
{
#ifdef DTC_CPU_AVX512
	return set == &other_generation_avx512;
#else
	(void)set;
	return false;
#endif
}

const struct dtc_cpu_kernels *cpu_set(int i)
{
	for (int k = 0; dtc_cpu_sets[k]; k++)
		if (dtc_cpu_runs(dtc_cpu_sets[k]) && i-- == 0)
			return dtc_cpu_sets[k];
	for (int k = 0; other_maker_sets[k]; k++)
		if (dtc_cpu_find(other_maker_sets[k]->name) && i-- == 0)
			return other_maker_sets[k];
	return NULL;
}

int cpu_set_count(void)
{
	int count = 0;

	while (cpu_set(count))
		count++;
	return count;
}

bool splits_lines(const struct dtc_cpu_kernels *set)
{
#if defined(__x86_64__)
	const bool amd = (bool)__builtin_cpu_is("amd") != is_of_other_maker(set);

	if (is_of_other_generation(set))
		return DTC_MOVES_WHOLE_LINES;
	return amd && !DTC_MOVES_WHOLE_LINES;
#else
	(void)set;
	return false;
#endif
}

static const char *paths_text(const struct dtc_cpu_kernels *set)
{
	if (is_of_other_generation(set))
		return " (AMD's other generation)";
	return is_of_other_maker(set) ? " (other makers' CPUs)" : "";
}

const char *cpu_set_text(const struct dtc_cpu_kernels *set)
{
	static char text[64];

	snprintf(text, sizeof(text), "%s%s", set->name, paths_text(set));
	return text;
}
