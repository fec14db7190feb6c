/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replaces this folder if configure found no CUDA.
 */
#include "config.h"

#include "bench/gpu/session.h"

#include <errno.h>

#include "bench/gpu/ends.h"
#include "bench/gpu/figures.h"
#include "bench/gpu/start.h"
#include "bench/harness/session.h"

#define WITHOUT_CUDA "dtconv was built without CUDA"

static int refuse(void)
{
	fprintf(stderr, "dtconv bench: --gpu: %s\n", WITHOUT_CUDA);
	return 1;
}

int gpu_session_run(struct session *s)
{
	(void)s;
	return refuse();
}

void gpu_session_close(struct session *s)
{
	(void)s;
}

int gpu_figures_measure(struct gpu_figures *list, size_t room, gpu_progress_fn show,
			char *why, size_t why_room)
{
	(void)list, (void)room, (void)show;
	snprintf(why, why_room, "%s", WITHOUT_CUDA);
	return -1;
}

int gpu_plot_draw(FILE *file, const struct results *results, const char *device)
{
	(void)file, (void)results, (void)device;
	errno = ENOTSUP;
	return -1;
}

int gpu_start(char *why, size_t room)
{
	snprintf(why, room, "%s", WITHOUT_CUDA);
	return -1;
}

bool gpu_session_find_memory(struct session *s, struct end_memory *memory, char *why,
			     size_t room)
{
	(void)s, (void)memory;
	snprintf(why, room, "%s", WITHOUT_CUDA);
	return false;
}

struct gpu *gpu_ends_open(struct end_memory *memory, char *why, size_t room)
{
	(void)memory;
	snprintf(why, room, "%s", WITHOUT_CUDA);
	return NULL;
}

void gpu_ends_close(struct gpu *gpu)
{
	(void)gpu;
}

int gpu_session_list(const struct session *s)
{
	(void)s;
	return refuse();
}
