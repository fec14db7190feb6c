/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In the place of this folder where configure found no CUDA.
 */
#include "config.h"

#include "bench/gpu/figures.h"
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

int gpu_figures_measure(struct gpu_figures *list, size_t room, gpu_progress_fn show,
			char *why, size_t why_room)
{
	(void)list, (void)room, (void)show;
	snprintf(why, why_room, "dtconv was built without CUDA");
	return -1;
}

void gpu_session_list(const struct session *s)
{
	(void)s;
}
