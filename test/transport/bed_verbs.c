/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Adapters for tests. On real ones, ends alternate between the two, so that every connection leaves its adapter.
 */
#include "config.h"

#include "bed_verbs.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <dtconv/verbs.h>

#include "exchange.h"

#define MUST(holds) exchange_must(holds, #holds)

static unsigned end, beds;

const struct verbs_standin *bed_standin(void)
{
	const struct verbs_standin *(*control)(void);

	*(void **)&control = dlsym(RTLD_DEFAULT, "verbs_standin_control");
	return control ? control() : NULL;
}

/* With DTCONV_TEST_NAMESPACE, in a network namespace of its own. */
void bed_swap(void)
{
	end = 1;
	beds = 0;
	MUST(!getenv("DTCONV_TEST_NAMESPACE") || !unshare(CLONE_NEWNET));
}

const char *bed_adapter(void)
{
	static char names[2][32];
	const char *given = getenv("DTCONV_TEST_VERBS");

	if (!given)
		return NULL;
	MUST(sscanf(given, "%31s %31s", names[0], names[1]) == 2);
	return names[end];
}

struct bed *bed_open(struct dtconv_context *context)
{
	const struct dtconv_verbs_params params = { .struct_size = sizeof(params),
						    .device = bed_adapter() };
	struct dtconv_verbs *verbs;

	MUST(!dtconv_verbs_open(context, &params, &verbs));
	end = !end;
	beds++;
	return (struct bed *)verbs;
}

const struct dtconv_transport *bed_transport(const struct bed *bed)
{
	return dtconv_verbs_transport((const struct dtconv_verbs *)bed);
}

/* Keys were right and receives were posted in time. */
void bed_close(struct bed *bed)
{
	const struct verbs_standin *standin = bed_standin();

	if (!bed)
		return;
	MUST(!dtconv_verbs_close((struct dtconv_verbs *)bed));
	beds--;
	if (!standin)
		return;
	MUST(beds || !standin->live());
	MUST(!standin->faults());
}

bool bed_maps_peer(void)
{
	return false;
}

/* A real adapter needs some microseconds. */
void bed_pause(void)
{
	const struct timespec moment = { .tv_nsec = 20000 };
	const struct verbs_standin *standin = bed_standin();

	if (standin)
		standin->settle();
	else
		nanosleep(&moment, NULL);
}
