/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A random script in streams: what it has, and what the files that play it call of one another. Its steps have
 * names that begin with step_; test/cuda/test_order chooses among them.
 */
#ifndef TEST_CUDA_ORDER_SCRIPT_H
#define TEST_CUDA_ORDER_SCRIPT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/fixture.h"
#include "support/gpu.h"
#include "support/ref_typemap.h"

#define STREAMS  3       /* of those that jobs are given to */
#define CONSUMER STREAMS /* the line of who reads results */
#define LINES    (STREAMS + 1)
#define NOBODY   (-1) /* no stream: the caller sees to the order */

#define SUBJECTS 2
#define PLACES   2 /* for users, and for packed bytes, of a subject */
#define TRAYS    6
#define SPINS    64
#define JOBS     8
#define PARTS    5
#define ENTRIES  6
#define EFFECTS  40
#define GUARD    STAGE_GUARD

/* Bytes that a stream owns at a time. */
struct place {
	char name[8];
	struct arena arena;
	unsigned char *model; /* when all that has been given is done */
	size_t bytes;
	int owner;     /* the line that it was given to last */
	int writer;    /* the number of the job that writes it last, 0: somebody else */
	bool used;     /* a tray that holds something */
	bool in_graph; /* and gets it again with each replay */
};

/* A type, and memory for it. */
struct subject {
	struct stage stage;
	struct ref_typemap map;
	size_t origin; /* of displacement 0 */
	size_t unit; /* bytes of its numbers, also in external32; 0: they are not alike */
	bool adds;   /* they are integers */
	struct place users[PLACES], packed[PLACES];
};

enum how { EXTERNAL32 = 1, SUM = 2, CHECKSUM = 4 };

/* What a step does to the bytes. */
struct effect {
	enum { SET, COPY, MOVE } kind;
	struct place *to, *from;
	size_t to_at, from_at, bytes;
	unsigned char value;
	/* MOVE: bytes of the stream from a position on; packed, it begins at to_at or from_at. */
	const struct subject *subject;
	bool unpacks;
	unsigned how;
	size_t position;
};

enum shape { WHOLE, BLOCKING, FRAGMENTS, CLONES, SHAPES };

struct plan {
	const struct subject *subject;
	struct place *user, *packed;
	size_t at; /* where the stream begins in packed memory */
	bool unpacks, hints;
	unsigned how;
	int line;
	enum shape shape;
	const char *backends;
};

/* What has been started and not been asked for yet. */
struct job {
	int number; /* 0: none */
	int line;
	struct dtconv_convertor *parts[PARTS];
	size_t expected[PARTS];
	int count;
	struct dtconv_batch *batch;
	size_t batch_bytes;
	struct place *touched[2 * ENTRIES];
	int touches;
	bool summed;
	uint32_t crc;
};

struct release {
	uint64_t *word;
	double due;
};

struct script {
	struct choices choices;
	struct dtconv_context *context;
	struct dtconv_representation external32;
	int streams;
	CUstream lines[LINES];
	CUevent events[LINES];
	struct subject subjects[SUBJECTS];
	int subject_count;
	struct place trays[TRAYS];
	struct arena spring; /* random bytes of a device's, and what they are */
	unsigned char *spring_bytes;
	size_t largest;
	unsigned char *seen; /* scratch, as large as the largest place */
	struct job jobs[JOBS];
	int jobs_made;
	bool begun; /* the context may have been given a job */
	/* What holds streams up, and the thread that lets them go. */
	struct arena words;
	struct release releases[SPINS];
	int spins, released;
	bool over;
	pthread_t releaser;
	/* The capture. */
	bool capturing, dropped;
	int origin, branch;
	struct effect effects[EFFECTS];
	int effect_count;
	CUgraphExec exec;
	struct dtconv_batch *kept[EFFECTS];
	int kept_count;
};


/* ---- log.c: what is told of a script that fails ----------------------------------------- */

/* Before any process is made that writes to one of them. False if memory is short. */
bool logs_open(int count);
/* Those that were not finished. */
void logs_print(int count);

/* The one that the process writes to from now on. */
void log_choose(int number);
void log_open(uint64_t seed);
/* The script is finished. */
void log_close(void);
__attribute__((format(printf, 1, 2))) void note(const char *format, ...);

/* What the library says of the last call that failed. */
const char *context_error(const struct script *s);
void must(const struct script *s, int status);

/* ---- places.c: memory, and what should be in it ------------------------------------------ */

void fill_random(struct choices *choices, unsigned char *bytes, size_t count);
void place_open(struct script *s, struct place *place, enum arena_kind kind,
		size_t bytes);
void place_close(struct place *place);
CUdeviceptr place_address(const struct place *place, size_t at);
bool place_is_host(const struct place *place);
/* Whether the processor sees it. */
bool place_is_plain(const struct place *place);

struct subject *choose_subject(struct script *s);
/* In a capture, none of ordinary memory: NULL if there is no other. */
struct place *choose_place_of(struct script *s, struct place places[]);

void place_compare(const struct place *place, const unsigned char *seen,
		   const char *when);
/* It has come to rest. */
void place_check(const struct script *s, const struct place *place, const char *when);

void effect_apply(const struct script *s, const struct effect *effect);
/* Now, or whenever the graph is launched. */
void take_effect(struct script *s, const struct effect *effect);

/* ---- in_flight.c: jobs that have been started --------------------------------------------- */

/* Room for a job that is not in flight yet. */
struct job *job_new(struct script *s, int line);
void job_touch(struct job *job, struct place *place);
/* It is in flight if anything of it is. */
void job_enlist(struct script *s, struct job *job);

int end_of_part(struct dtconv_convertor *part, bool asks, size_t *moved);
void end_batch(struct script *s, struct job *job, bool asks);
void end_any_job(struct script *s);
void end_all_jobs(struct script *s);
void end_jobs_of(struct script *s, const struct place *place);
/* Those that are in no stream's order. */
void end_loose_jobs_of(struct script *s, const struct place *place);

/* ---- lines.c: streams and their order ------------------------------------------------------ */

void lines_open(struct script *s, bool captures);
void lines_close(struct script *s);
void lines_synchronize(struct script *s);
int choose_line(struct script *s);
void line_follow(struct script *s, int from, int to);

/* The kernel that streams are held up by, once a process. */
void hold_load(void);
void holds_start(struct script *s);
void holds_stop(struct script *s);
/* For some milliseconds, by a kernel or by a word that is waited for. */
void hold_line(struct script *s, int line);
void nap_us(long microseconds);

/* From now on the place is the line's. Ordinary memory is a job's until that is done, in its own stream, too. */
void hand_over(struct script *s, struct place *place, int line);
/* Nobody uses it any more. What is not ordinary memory has no need of the library's word. */
void come_to_rest(struct script *s, struct place *place);
/* For the driver, which in no order knows what threads do with ordinary memory. */
void hand_to_driver(struct script *s, struct place *place, int line);
void driver_has_copied(struct script *s, const struct place *place);

/* ---- plans.c: what a job is to do ---------------------------------------------------------- */

/* False if there is nothing to move that may be moved now. */
bool choose_plan(struct script *s, struct plan *plan);
void plan_note(const struct plan *plan);
enum dtconv_memory_kind plan_kind_said(const struct plan *plan,
				       const struct place *place);
struct dtconv_convertor *plan_bind(const struct script *s, const struct plan *plan);
/* Between ordinary memory the processor moves, in no stream's order. */
void plan_order(struct script *s, struct plan *plan);
struct place *plan_result(const struct plan *plan);
void plan_has_moved(struct script *s, const struct plan *plan, size_t position,
		    size_t bytes);

/* ---- opening.c: the beginning and the end -------------------------------------------------- */

void script_open(struct script *s, uint64_t seed, bool captures);
/* What consumers have read is there before the library is asked for anything. */
void script_finish(struct script *s);
void script_close(struct script *s);

/* ---- jobs.c -------------------------------------------------------------------------------- */

/* Jobs without a stream are in the way of nothing else: the first one of all loads the kernels. */
void jobs_settle(struct script *s);
void step_job(struct script *s);
void step_batch(struct script *s);

/* ---- application.c ------------------------------------------------------------------------- */

void step_produce(struct script *s);
/* Who has nothing in common with the job but an event reads what there is. */
void step_consume(struct script *s);

/* ---- graphs.c ------------------------------------------------------------------------------ */

void step_capture(struct script *s);
void step_replay(struct script *s);

#endif
