/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the questions to a device share: their engines, one case verified and timed, and how its results
 * are found again.
 */
#ifndef BENCH_GPU_RUN_H
#define BENCH_GPU_RUN_H

#include "bench/gpu/find.h"
#include "bench/gpu/way.h"
#include "bench/harness/session.h"

typedef void (*way_maker)(struct engine *engine, const char *name, struct gpu *gpu,
			  const struct route *route);

/* One more engine of the question, if the options want it; NULL if not. */
struct engine *run_add(struct session *session, way_maker make, const char *name,
		       const struct route *route);
/* The peer, for a question that needs it; NULL: the question is answered, with the reason. */
struct gpu *run_other_device(struct session *session, const char *question);
/* The question is over. */
void run_drop_engines(struct session *session);

enum run_clock { RUN_WALL, RUN_DEVICE, RUN_CLOCKS };

/*
 * Verify a case with every engine that can do it, then time those by each clock of the set
 * (bits), in turn, and record the results. A layout that is not two-dimensional is not a
 * failure.
 */
void run_case(struct session *session, struct bench_case *c, unsigned clocks);

/* Make a row of a table at so many packed bytes and run it; rows after the deadline are left out. */
void run_layout(struct session *session, const struct bench_layout *layout, size_t bytes,
		unsigned clocks);

/* The layout of a name in the device's table. */
const struct bench_layout *run_find_layout(const char *name);

/* The questions. Each prints its table. */
void question_layouts(struct session *session);
void question_staging(struct session *session);
void question_crossover(struct session *session);
void question_host(struct session *session);
void question_small(struct session *session);
void question_halo(struct session *session);
void question_copy(struct session *session);
void list_copy(const struct session *session); /* its rows */
void question_link(struct session *session);
void list_link(const struct session *session);
void question_fresh(struct session *session);
void question_kv(struct session *session);
void question_peer(struct session *session);
void question_typed(struct session *session);
void question_duplex(struct session *session);
void question_special(struct session *session);

/* duplex.c, for the question peer: both directions between two devices at once. The sizes end with a 0. */
void duplex_between_devices(struct session *session, const size_t *sizes);

/* questions.c: a number of a column, or a dash where there is none. */
void print_number(double value, int width, int decimals);
/* Engines that are not on this machine, and why. */
void print_absent(const struct session *session);
/* PyTorch in a process of its own, on the device. */
void run_add_torch(struct session *session);

#endif
