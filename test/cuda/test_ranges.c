/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tool that listens to NVTX hears a range for each job, closed again also where the job fails.
 */
#include "config.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fixture.h"
#include "support/gpu.h"

static char *heard;

static int pack(struct dtconv_type *type, const struct arena *user,
		const struct arena *packed)
{
	return dtconv_pack(type, 1, user->memory, packed->memory, 1600, NULL);
}

START_TEST(every_job_is_a_range)
{
	struct dtconv_type *type = fixture_type("vector(200, 1, 2, double)");
	struct arena user, packed;

	arena_open(&user, ARENA_DEVICE, 10000);
	arena_open(&packed, ARENA_DEVICE, 10000);
	heard[0] = '\0';
	ck_assert_int_eq(pack(type, &user, &packed), 0);
	ck_assert_int_eq(pack(type, &user, &packed), 0);
	ck_assert_str_eq(heard, "dtconv;dtconv_pack 1600;pop;dtconv_pack 1600;pop;");
	if (gpu.standin) {
		heard[0] = '\0';
		gpu.standin->inject("cuLaunchKernel", 1, CUDA_ERROR_OUT_OF_MEMORY);
		ck_assert_int_eq(pack(type, &user, &packed), DTCONV_ERR_BACKEND);
		gpu.standin->inject_clear();
		ck_assert_str_eq(heard, "dtconv_pack 1600;pop;");
	}
	arena_close(&user);
	arena_close(&packed);
	dtconv_type_unref(type);
}
END_TEST

int main(void)
{
	setenv("CK_FORK", "no", 1);
	gpu_find();
#ifdef HAVE_NVTX
	void *listener = dlopen(LISTENER, RTLD_NOW);
	heard = listener ? dlsym(listener, "nvtx_heard") : NULL;
	if (!heard) {
		puts(dlerror());
		return 1;
	}
	setenv("NVTX_INJECTION64_PATH", LISTENER, 1);
#else
	puts("configure found no header of NVTX");
	return 77;
#endif
	gpu_open();
	Suite *suite = suite_create("ranges");
	TCase *ranges = fixture_case(suite, "ranges", 30);

	tcase_add_test(ranges, every_job_is_a_range);
	return fixture_run(suite);
}
