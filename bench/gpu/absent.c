/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In the place of this folder where configure found no CUDA.
 */
#include "config.h"

#include "bench/harness/session_internal.h"

int gpu_session_run(struct session *s)
{
	(void)s;
	fprintf(stderr, "dtconv bench: --gpu: dtconv was built without CUDA\n");
	return 1;
}

void gpu_session_close(struct session *s)
{
	(void)s;
}

void gpu_session_list(const struct session *s)
{
	(void)s;
}
