/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UCX for tests, over the transports that the program is compiled for, or those of DTCONV_TEST_UCX.
 */
#include "config.h"

#include "bed.h"

#include <stdlib.h>
#include <time.h>

#include <dtconv/ucx.h>

#include "exchange.h"

#define MUST(holds) exchange_must(holds, #holds)

/* UCX 1.13 forgets what it has allocated for shared memory whose owner is gone. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:libuct.so\n";
}

struct bed *bed_open(struct dtconv_context *context)
{
	const char *given = getenv("DTCONV_TEST_UCX");
	const struct dtconv_ucx_params params = { .struct_size = sizeof(params),
						  .transports = given ? given : BED_UCX };
	struct dtconv_ucx *ucx;

	MUST(!dtconv_ucx_open(context, &params, &ucx));
	return (struct bed *)ucx;
}

const struct dtconv_transport *bed_transport(const struct bed *bed)
{
	return dtconv_ucx_transport((const struct dtconv_ucx *)bed);
}

void bed_close(struct bed *bed)
{
	MUST(!dtconv_ucx_close((struct dtconv_ucx *)bed));
}

void bed_swap(void)
{
}

bool bed_maps_peer(void)
{
	return false;
}

/* The kernel, or the other process, has something to do. */
void bed_pause(void)
{
	const struct timespec moment = { .tv_nsec = 50000 };

	nanosleep(&moment, NULL);
}
