/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A run on a device: opens it, prints its name, and runs the questions.
 */
#include "config.h"

#include "bench/gpu/session.h"

#include <stdlib.h>
#include <string.h>

#include "bench/commit.h"
#include "bench/gpu/ends.h"
#include "bench/gpu/layouts.h"
#include "bench/gpu/path.h"
#include "bench/gpu/run.h"
#include "bench/harness/output.h"
#include "bench/harness/table.h"

/* The most important questions first, because time may run out. */
static const struct question {
	unsigned bits; /* enum bench_gpu_question */
	const char *name;
	void (*ask)(struct session *session);
} questions[] = {
	{ BENCH_GPU_SMALL, "small", question_small },
	{ BENCH_GPU_LAYOUTS | BENCH_GPU_ROOF, "layouts", question_layouts },
	{ BENCH_GPU_HALO, "halo", question_halo },
	{ BENCH_GPU_COPY, "copy", question_copy },
	{ BENCH_GPU_LINK, "link", question_link },
	{ BENCH_GPU_FRESH, "fresh", question_fresh },
	{ BENCH_GPU_KV, "kv", question_kv },
	{ BENCH_GPU_HOST, "host", question_host },
	{ BENCH_GPU_CROSSOVER, "crossover", question_crossover },
	{ BENCH_GPU_STAGING, "staging", question_staging },
	{ BENCH_GPU_PEER, "peer", question_peer },
	{ BENCH_GPU_TYPED, "typed", question_typed },
	{ BENCH_GPU_DUPLEX, "duplex", question_duplex },
	{ BENCH_GPU_SPECIAL, "special", question_special },
};

#define QUESTIONS (sizeof(questions) / sizeof(*questions))

static void write_device(FILE *json, const struct gpu *gpu)
{
	fputs("{\"device\":", json);
	json_string(json, gpu->name);
	fprintf(json, ",\"driver\":\"%d.%d\",\"commit\":", gpu->version / 1000,
		gpu->version % 1000 / 10);
	json_string(json, BENCH_COMMIT);
	fputs(",\"peer\":", json);
	json_string(json, gpu->peer_absent[0] ? gpu->peer_absent : "yes");
	fputs("}\n", json);
}

static bool find_device(struct session *s, char *why, size_t room)
{
	s->gpu = calloc(1, sizeof(*s->gpu));
	if (!s->gpu) {
		snprintf(why, room, "no memory");
		return false;
	}
	if (gpu_open(s->gpu)) {
		snprintf(why, room, "%s", s->gpu->problem);
		return false;
	}
	printf("device: %s, driver of CUDA %d.%d\n", s->gpu->name, s->gpu->version / 1000,
	       s->gpu->version % 1000 / 10);
	if (s->json)
		write_device(s->json, s->gpu);
	return true;
}

static int open_device(struct session *s)
{
	char why[sizeof(s->gpu->problem)];

	if (find_device(s, why, sizeof(why)))
		return 0;
	fprintf(stderr, "dtconv bench: --gpu: %s\n", why);
	return 1;
}

bool gpu_session_find_memory(struct session *s, struct end_memory *memory, char *why,
			     size_t room)
{
	if (!find_device(s, why, room))
		return false;
	*memory = gpu_end_memory(s->gpu);
	return true;
}

int gpu_session_run(struct session *s)
{
	int status = open_device(s);

	for (size_t i = 0; i < QUESTIONS && !status; i++) {
		if (!(s->options->gpu & questions[i].bits))
			continue;
		size_t from = s->results.count;

		questions[i].ask(s);
		path_print_reasons(&s->results, from);
		run_drop_engines(s);
		session_progress_end(s);
	}
	if (status)
		return status;
	printf("\n");
	if (s->left_out)
		printf("%zu rows omitted: the time limit has passed (--seconds)\n",
		       s->left_out);
	if (s->options->plot &&
	    output_plot(s->options, &s->results, s->gpu->name, gpu_plot_draw))
		s->unwritten = true;
	summary_checks(stdout, &s->results);
	return 0;
}

void gpu_session_close(struct session *s)
{
	if (!s->gpu)
		return;
	gpu_close(s->gpu);
	free(s->gpu);
	s->gpu = NULL;
}

/* Its rows, if it has names for them. */
static void list_question(const struct session *s, const struct question *question)
{
	if (question->bits == BENCH_GPU_COPY)
		list_copy(s);
	else if (question->bits == BENCH_GPU_LINK)
		list_link(s);
	else
		printf("%s\n", question->name);
}

int gpu_session_list(const struct session *s)
{
	for (size_t i = 0; i < QUESTIONS; i++)
		if (s->options->gpu & questions[i].bits &&
		    !(questions[i].bits & BENCH_GPU_LAYOUTS))
			list_question(s, &questions[i]);
	if (!(s->options->gpu & (BENCH_GPU_LAYOUTS | BENCH_GPU_ROOF)))
		return 0;
	for (const struct bench_layout *l = bench_layouts_gpu; l->name; l++)
		if (bench_matches(s->layouts, l->name))
			printf("%s\n", l->name);
	for (const struct bench_layout *l = bench_layouts_applications; l->name; l++)
		if (bench_matches(s->layouts, l->name))
			printf("%s\n", l->name);
	return 0;
}
