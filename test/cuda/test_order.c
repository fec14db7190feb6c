/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random scripts in streams of the application's: what it gives its streams, jobs among that, and who reads what
 * comes of it, between buffers of every kind of memory. Each step has its effect on plain bytes too, one after
 * the other; buffers go from stream to stream by events, so that every byte is defined and any other order shows.
 * A script is its seed: DTCONV_TEST_SEED plays that one alone. Knows nothing of how bytes are moved.
 */
#include "config.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "support/fixture.h"
#include "support/gpu.h"
#include "support/layouts.h"
#include "support/random_type.h"
#include "support/ref_element.h"
#include "support/standin_load.h"

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

/* ---- what a script has ----------------------------------------------------------------- */

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

static CUfunction spin_function;

/* ---- what is told of a script that fails ------------------------------------------------- */

#define LOG_BYTES 24000

/* Of the script that a process is at; the parent prints what was not finished. */
struct log {
	size_t length;
	bool unfinished;
	char text[LOG_BYTES];
};

static struct log *logs, *current;

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
	const size_t room = sizeof(current->text) - current->length;
	va_list arguments;

	va_start(arguments, format);
	int length = vsnprintf(current->text + current->length, room, format, arguments);
	va_end(arguments);
	current->length += (size_t)length < room ? (size_t)length : room - 1;
}

static void log_open(uint64_t seed)
{
	current->length = 0;
	current->unfinished = true;
	note("DTCONV_TEST_SEED=%llu\n", (unsigned long long)seed);
}

static void print_logs(int count)
{
	for (int i = 0; i < count; i++)
		if (logs[i].unfinished)
			fprintf(stderr, "%s\n", logs[i].text);
}

static const char *error(const struct script *s)
{
	static char text[512];

	text[0] = 0;
	dtconv_context_error(s->context, text, sizeof(text));
	return text;
}

static void must(const struct script *s, int status)
{
	ck_assert_msg(!status, "%s: %s", dtconv_strerror(status), error(s));
}

#define MUST(call) gpu_must(gpu.call, #call)

/* ---- places ------------------------------------------------------------------------------ */

static CUdeviceptr address(const struct place *place, size_t at)
{
	return (CUdeviceptr)(uintptr_t)place->arena.memory + at;
}

static void fill_random(struct choices *choices, unsigned char *bytes, size_t count)
{
	uint64_t value = choose(choices, SIZE_MAX);

	for (size_t i = 0; i < count; i++) {
		if (i % 8 == 0)
			value = choices_mix(value + 1);
		bytes[i] = (unsigned char)(value >> i % 8 * 8);
	}
}

static enum arena_kind choose_kind(struct script *s)
{
	const char *without = getenv("DTCONV_TEST_WITHOUT");
	enum arena_kind kind;

	do
		kind = (enum arena_kind)choose(&s->choices, ARENA_KINDS);
	while (without && !strcmp(without, arena_kind_names[kind]));
	return kind;
}

static void place_open(struct script *s, struct place *place, enum arena_kind kind,
		       size_t bytes)
{
	*place = (struct place){ .bytes = bytes, .model = malloc(bytes) };
	ck_assert_ptr_nonnull(place->model);
	arena_open(&place->arena, kind, bytes);
	fill_random(&s->choices, place->model, bytes);
	arena_write(&place->arena, 0, place->model, bytes);
	if (s->largest < bytes)
		s->largest = bytes;
}

static void place_close(struct place *place)
{
	arena_close(&place->arena);
	free(place->model);
}

static bool is_host(const struct place *place)
{
	return place->arena.kind == ARENA_HOST;
}

/* Whether the processor sees it. */
static bool is_plain(const struct place *place)
{
	return place->arena.kind <= ARENA_MANAGED;
}

static size_t first_wrong(const struct place *place, const unsigned char *seen)
{
	size_t at = 0;

	while (at < place->bytes && seen[at] == place->model[at])
		at++;
	return at;
}

static void compare(const struct place *place, const unsigned char *seen,
		    const char *when)
{
	const size_t at = first_wrong(place, seen);

	if (at < place->bytes)
		ck_abort_msg("byte %zu of %zu of %s (%s) is %#x and should be %#x %s", at,
			     place->bytes, place->name,
			     arena_kind_names[place->arena.kind], seen[at],
			     place->model[at], when);
}

/* It has come to rest. */
static void check(const struct script *s, const struct place *place, const char *when)
{
	arena_read(&place->arena, 0, s->seen, place->bytes);
	compare(place, s->seen, when);
}

/* ---- the model ------------------------------------------------------------------------- */

static void move_typed(const struct script *s, const struct effect *effect)
{
	const struct subject *subject = effect->subject;
	const struct dtconv_representation *external32 =
		effect->how & EXTERNAL32 ? &s->external32 : NULL;
	const size_t bytes = subject->stage.bytes, count = subject->stage.count;
	unsigned char *scratch = calloc(bytes, 1);

	ck_assert_ptr_nonnull(scratch);
	if (effect->unpacks) {
		memset(scratch + effect->position, 1, effect->bytes);
		ref_stream_apply(&subject->map, count, external32,
				 effect->how & SUM ? DTCONV_OP_SUM : DTCONV_OP_REPLACE,
				 effect->from->model + effect->from_at, scratch,
				 effect->to->model + subject->origin);
	} else {
		ref_stream_encode(&subject->map, count, external32,
				  effect->from->model + subject->origin, scratch);
		memcpy(effect->to->model + effect->to_at + effect->position,
		       scratch + effect->position, effect->bytes);
	}
	free(scratch);
}

static void move_native(const struct effect *effect)
{
	const struct subject *subject = effect->subject;

	for (size_t i = effect->position; i < effect->position + effect->bytes; i++) {
		const size_t user =
			(size_t)((ptrdiff_t)subject->origin + subject->stage.map[i]);

		if (effect->unpacks)
			effect->to->model[user] =
				effect->from->model[effect->from_at + i];
		else
			effect->to->model[effect->to_at + i] = effect->from->model[user];
	}
}

static void apply(const struct script *s, const struct effect *effect)
{
	effect->to->writer = 0;
	if (effect->kind == SET)
		memset(effect->to->model + effect->to_at, effect->value, effect->bytes);
	else if (effect->kind == COPY)
		memcpy(effect->to->model + effect->to_at,
		       effect->from ? effect->from->model + effect->from_at
				    : s->spring_bytes + effect->from_at,
		       effect->bytes);
	else if (effect->how & (EXTERNAL32 | SUM))
		move_typed(s, effect);
	else
		move_native(effect);
}

/* Now, or whenever the graph is launched. */
static void take_effect(struct script *s, const struct effect *effect)
{
	if (!s->capturing) {
		apply(s, effect);
		return;
	}
	ck_assert_int_lt(s->effect_count, EFFECTS);
	s->effects[s->effect_count++] = *effect;
}

/* ---- streams that are held up -------------------------------------------------------------- */

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void nap_us(long microseconds)
{
	nanosleep(&(struct timespec){ .tv_nsec = microseconds * 1000 }, NULL);
}

/* A thread of its own: some calls wait until a stream goes on. */
static void *let_go(void *arg)
{
	struct script *s = arg;

	for (;;) {
		const bool over = __atomic_load_n(&s->over, __ATOMIC_ACQUIRE);
		const int spins = __atomic_load_n(&s->spins, __ATOMIC_ACQUIRE);
		const double now = seconds();

		for (int i = 0; i < spins; i++)
			if (over || s->releases[i].due <= now)
				__atomic_store_n(s->releases[i].word, 1,
						 __ATOMIC_RELEASE);
		if (over)
			return NULL;
		nap_us(200);
	}
}

/* For some milliseconds, by a kernel or by a word that is waited for. */
static void hold(struct script *s, int line)
{
	const long us = (long)choose(&s->choices, 4000);
	const int number = s->spins;

	if (number == SPINS || s->capturing)
		return;
	uint64_t *word = (uint64_t *)(void *)s->words.memory + number;
	note("stream %d is held up for %ld us\n", line, us);
	s->releases[number] = (struct release){ word, seconds() + (double)us * 1e-6 };
	if (chance(&s->choices, 3))
		MUST(StreamWaitValue64(s->lines[line], (CUdeviceptr)(uintptr_t)word, 1,
				       CU_STREAM_WAIT_VALUE_EQ));
	else
		spin_launch(spin_function, word, s->lines[line]);
	__atomic_store_n(&s->spins, number + 1, __ATOMIC_RELEASE);
}

/* ---- jobs in flight ------------------------------------------------------------------------ */

static struct job *free_job(struct script *s)
{
	for (int i = 0; i < JOBS; i++)
		if (!s->jobs[i].number)
			return &s->jobs[i];
	return NULL;
}

static bool touches(const struct job *job, const struct place *place)
{
	for (int i = 0; i < job->touches; i++)
		if (job->number && job->touched[i] == place)
			return true;
	return false;
}

static int end_of_part(struct dtconv_convertor *part, bool asks, size_t *moved)
{
	int status;

	if (!asks)
		return dtconv_convertor_wait(part, moved);
	while ((status = dtconv_convertor_test(part, moved)) == DTCONV_INPROGRESS)
		nap_us(50);
	return status;
}

static void end_parts(struct script *s, struct job *job, bool asks)
{
	for (int i = 0; i < job->count; i++) {
		size_t moved = SIZE_MAX;

		must(s, end_of_part(job->parts[i], asks, &moved));
		ck_assert_uint_eq(moved, job->expected[i]);
	}
	if (job->summed) {
		uint32_t crc = 0;

		must(s, dtconv_convertor_crc32c(job->parts[0], &crc));
		ck_assert_msg(crc == job->crc, "the checksum of job %d is wrong",
			      job->number);
	}
}

static void end_batch(struct script *s, struct job *job, bool asks)
{
	size_t moved = SIZE_MAX;
	int status;

	if (asks)
		while ((status = dtconv_batch_test(job->batch, &moved)) ==
		       DTCONV_INPROGRESS)
			nap_us(50);
	else
		status = dtconv_batch_wait(job->batch, &moved);
	must(s, status);
	ck_assert_uint_eq(moved, job->batch_bytes);
}

static void forget_job(struct job *job)
{
	for (int i = 0; i < job->count; i++)
		dtconv_convertor_destroy(job->parts[i]);
	dtconv_batch_destroy(job->batch);
	*job = (struct job){ .number = 0 };
}

/* What it has written the processor sees now, if nobody was to write there later. */
static void look_at_once(const struct job *job)
{
	for (int i = 0; i < job->touches; i++)
		if (job->touched[i]->writer == job->number && is_plain(job->touched[i]))
			compare(job->touched[i], job->touched[i]->arena.memory,
				"when its job has ended");
}

/* A job in flight that is destroyed has ended. */
static void end_job(struct script *s, struct job *job)
{
	const size_t way = choose(&s->choices, 5);

	note("job %d is %s\n", job->number,
	     way == 0   ? "destroyed"
	     : way == 1 ? "asked for"
			: "waited for");
	if (way && job->batch)
		end_batch(s, job, way == 1);
	else if (way)
		end_parts(s, job, way == 1);
	if (way)
		look_at_once(job);
	forget_job(job);
}

static void end_jobs_of(struct script *s, const struct place *place)
{
	for (int i = 0; i < JOBS; i++)
		if (touches(&s->jobs[i], place))
			end_job(s, &s->jobs[i]);
}

/* Those that are in no stream's order. */
static void end_loose_jobs_of(struct script *s, const struct place *place)
{
	for (int i = 0; i < JOBS; i++)
		if (s->jobs[i].line == NOBODY && touches(&s->jobs[i], place))
			end_job(s, &s->jobs[i]);
}

/* ---- order --------------------------------------------------------------------------------- */

static void follow(struct script *s, int from, int to)
{
	MUST(EventRecord(s->events[from], s->lines[from]));
	MUST(StreamWaitEvent(s->lines[to], s->events[from], 0));
}

/* From now on the place is the line's. Ordinary memory is a job's until that is done, in its own stream, too. */
static void hand_over(struct script *s, struct place *place, int line)
{
	if (is_host(place))
		end_jobs_of(s, place);
	else
		end_loose_jobs_of(s, place);
	if (place->owner == line)
		return;
	note("%s goes from stream %d to %d\n", place->name, place->owner, line);
	follow(s, place->owner, line);
	place->owner = line;
}

/* Nobody uses it any more. What is not ordinary memory has no need of the library's word. */
static void come_to_rest(struct script *s, struct place *place)
{
	if (is_host(place) || chance(&s->choices, 2))
		end_jobs_of(s, place);
	else
		end_loose_jobs_of(s, place);
	MUST(StreamSynchronize(s->lines[place->owner]));
}

/* For the driver, which in no order knows what threads do with ordinary memory. */
static void hand_to_driver(struct script *s, struct place *place, int line)
{
	if (is_host(place))
		come_to_rest(s, place);
	hand_over(s, place, line);
}

static void driver_has_copied(struct script *s, const struct place *place)
{
	if (is_host(place))
		MUST(StreamSynchronize(s->lines[place->owner]));
}

/* ---- steps of the application's --------------------------------------------------------------- */

static int choose_line(struct script *s)
{
	if (!s->capturing)
		return (int)choose(&s->choices, (size_t)s->streams);
	return chance(&s->choices, 2) && s->branch != CONSUMER ? s->branch : s->origin;
}

static struct subject *choose_subject(struct script *s)
{
	return &s->subjects[choose(&s->choices, (size_t)s->subject_count)];
}

/* In a capture, none of ordinary memory. */
static struct place *choose_from(struct script *s, struct place places[])
{
	const size_t first = choose(&s->choices, PLACES);

	for (size_t i = 0; i < PLACES; i++)
		if (!s->capturing || !is_host(&places[(first + i) % PLACES]))
			return &places[(first + i) % PLACES];
	return NULL;
}

static struct place *choose_place(struct script *s)
{
	struct subject *subject = choose_subject(s);

	return choose_from(s, chance(&s->choices, 2) ? subject->users : subject->packed);
}

/* Some bytes of it, mostly all. */
static void choose_range(struct script *s, const struct place *place, size_t *at,
			 size_t *bytes)
{
	*at = chance(&s->choices, 3) ? choose(&s->choices, place->bytes) : 0;
	*bytes = chance(&s->choices, 3) ? 1 + choose(&s->choices, place->bytes - *at)
					: place->bytes - *at;
}

static void write_from_host(struct script *s, struct place *place)
{
	struct effect effect = { .kind = COPY, .to = place };

	choose_range(s, place, &effect.to_at, &effect.bytes);
	note("the processor writes %s\n", place->name);
	come_to_rest(s, place);
	apply(s, &effect);
	if (is_plain(place))
		memcpy(place->arena.memory + effect.to_at, s->spring_bytes, effect.bytes);
	else
		arena_write(&place->arena, effect.to_at, s->spring_bytes, effect.bytes);
}

static void produce(struct script *s)
{
	struct place *place = choose_place(s);
	const int line = choose_line(s);
	struct effect effect = { .kind = chance(&s->choices, 3) ? SET : COPY,
				 .to = place };

	if (!place)
		return;
	if (!s->capturing && chance(&s->choices, 10)) {
		write_from_host(s, place);
		return;
	}
	choose_range(s, place, &effect.to_at, &effect.bytes);
	effect.value = (unsigned char)choose(&s->choices, 256);
	if (is_host(place))
		effect.kind = COPY;
	effect.from_at = choose(&s->choices, s->largest);
	if (!s->capturing && chance(&s->choices, 2))
		hold(s, line);
	hand_to_driver(s, place, line);
	note("stream %d %s %zu bytes of %s (%s) at %zu\n", line,
	     effect.kind == SET ? "sets" : "writes", effect.bytes, place->name,
	     arena_kind_names[place->arena.kind], effect.to_at);
	if (effect.kind == SET)
		MUST(MemsetD8Async(address(place, effect.to_at), effect.value,
				   effect.bytes, s->lines[line]));
	else
		MUST(MemcpyAsync(address(place, effect.to_at),
				 (CUdeviceptr)(uintptr_t)s->spring.memory +
					 effect.from_at,
				 effect.bytes, s->lines[line]));
	take_effect(s, &effect);
	driver_has_copied(s, place);
}

/* A tray that is empty now; NULL if there is none and nobody may wait. */
static struct place *choose_tray(struct script *s)
{
	const size_t first = choose(&s->choices, TRAYS);

	for (size_t i = 0; i < TRAYS; i++)
		if (!s->trays[(first + i) % TRAYS].used)
			return &s->trays[(first + i) % TRAYS];
	struct place *tray = &s->trays[first];
	if (s->capturing || tray->in_graph)
		return NULL;
	come_to_rest(s, tray);
	check(s, tray, "when another is to come");
	return tray;
}

/* Who has nothing in common with the job but an event reads what there is. */
static void consume(struct script *s)
{
	struct place *place = choose_place(s), *tray = choose_tray(s);
	const int line = s->capturing ? s->branch : CONSUMER;

	if (!place || !tray)
		return;
	const struct effect effect = {
		.kind = COPY, .to = tray, .from = place, .bytes = place->bytes
	};
	tray->used = true;
	tray->in_graph = s->capturing;
	hand_to_driver(s, place, line);
	hand_over(s, tray, line);
	note("stream %d reads %s (%s) to %s\n", line, place->name,
	     arena_kind_names[place->arena.kind], tray->name);
	MUST(MemcpyAsync(address(tray, 0), address(place, 0), place->bytes,
			 s->lines[line]));
	take_effect(s, &effect);
	driver_has_copied(s, place);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static const char *choose_backends(struct script *s)
{
	static const char *const lists[] = {
		"cuda_kernel",  "cuda_copy",  "cuda_staged",  "cuda_relay", "cuda_bar",
		"^cuda_kernel", "^cuda_copy", "^cuda_staged", "host",
	};

	return lists[choose(&s->choices, sizeof(lists) / sizeof(lists[0]))];
}

static unsigned choose_how(struct script *s, const struct plan *plan)
{
	unsigned how = 0;

	if (plan->subject->unit && chance(&s->choices, 5))
		how |= EXTERNAL32;
	if (plan->subject->adds && plan->unpacks && chance(&s->choices, 3))
		how |= SUM;
	if (plan->shape != CLONES && !s->capturing && chance(&s->choices, 6))
		how |= CHECKSUM;
	return how;
}

static size_t choose_packed_at(struct script *s)
{
	return chance(&s->choices, 2) ? choose(&s->choices, 2 * GUARD + 1)
				      : choose(&s->choices, 3) * GUARD;
}

static bool choose_plan(struct script *s, struct plan *plan)
{
	struct subject *subject = choose_subject(s);

	*plan = (struct plan){ .subject = subject,
			       .user = choose_from(s, subject->users),
			       .packed = choose_from(s, subject->packed),
			       .at = choose_packed_at(s),
			       .unpacks = chance(&s->choices, 2),
			       .hints = chance(&s->choices, 8),
			       .line = choose_line(s) };
	if (!plan->user || !plan->packed)
		return false;
	if (chance(&s->choices, 2))
		plan->shape = (enum shape)choose(&s->choices, SHAPES);
	if (s->capturing && plan->shape == FRAGMENTS)
		plan->shape = WHOLE;
	if (plan->shape != FRAGMENTS && chance(&s->choices, 4))
		plan->backends = choose_backends(s);
	if (!s->capturing && chance(&s->choices, 8))
		plan->line = NOBODY;
	plan->how = choose_how(s, plan);
	return true;
}

static enum dtconv_memory_kind kind_said(const struct plan *plan,
					 const struct place *place)
{
	static const enum dtconv_memory_kind kinds[ARENA_KINDS] = {
		[ARENA_HOST] = DTCONV_MEMORY_HOST,
		[ARENA_REGISTERED] = DTCONV_MEMORY_PINNED,
		[ARENA_PINNED] = DTCONV_MEMORY_PINNED,
		[ARENA_MANAGED] = DTCONV_MEMORY_MANAGED,
		[ARENA_DEVICE] = DTCONV_MEMORY_DEVICE,
		[ARENA_ASYNC] = DTCONV_MEMORY_DEVICE,
	};

	return plan->hints ? kinds[place->arena.kind] : DTCONV_MEMORY_UNKNOWN;
}

static struct dtconv_convertor_params params_of(const struct script *s,
						const struct plan *plan)
{
	return (struct dtconv_convertor_params){
		.struct_size = sizeof(struct dtconv_convertor_params),
		.representation = plan->how & EXTERNAL32 ? &s->external32 : NULL,
		.op = plan->how & SUM ? DTCONV_OP_SUM : DTCONV_OP_REPLACE,
		.flags = (plan->how & CHECKSUM ? DTCONV_CONVERTOR_CRC32C : 0u) |
			 (plan->line != NOBODY ? DTCONV_CONVERTOR_STREAM : 0u),
		.user_memory = kind_said(plan, plan->user),
		.packed_memory = kind_said(plan, plan->packed),
		.stream = plan->line != NOBODY ? s->lines[plan->line] : NULL,
		.backends = plan->backends,
	};
}

static struct dtconv_convertor *bind(const struct script *s, const struct plan *plan)
{
	const struct stage *stage = &plan->subject->stage;
	const struct dtconv_convertor_params params = params_of(s, plan);
	unsigned char *user = plan->user->arena.memory + plan->subject->origin;
	struct dtconv_convertor *convertor;

	must(s, plan->unpacks ? dtconv_convertor_create_unpack(stage->type, stage->count,
							       user, &convertor)
			      : dtconv_convertor_create_pack(stage->type, stage->count,
							     user, &convertor));
	must(s, dtconv_convertor_configure(convertor, &params));
	return convertor;
}

/* Between ordinary memory the processor moves, in no stream's order. */
static void order_places(struct script *s, struct plan *plan)
{
	if (is_host(plan->user) && is_host(plan->packed))
		plan->line = NOBODY;
	if (plan->line == NOBODY) {
		come_to_rest(s, plan->user);
		come_to_rest(s, plan->packed);
		end_jobs_of(s, plan->user);
		end_jobs_of(s, plan->packed);
		return;
	}
	hand_over(s, plan->user, plan->line);
	hand_over(s, plan->packed, plan->line);
}

static void touch(struct job *job, struct place *place)
{
	job->touched[job->touches++] = place;
}

static struct place *result_of(const struct plan *plan)
{
	return plan->unpacks ? plan->user : plan->packed;
}

static void has_moved(struct script *s, const struct plan *plan, size_t position,
		      size_t bytes)
{
	const struct effect effect = {
		.kind = MOVE,
		.to = plan->unpacks ? plan->user : plan->packed,
		.from = plan->unpacks ? plan->packed : plan->user,
		.to_at = plan->unpacks ? 0 : plan->at,
		.from_at = plan->unpacks ? plan->at : 0,
		.bytes = bytes,
		.subject = plan->subject,
		.unpacks = plan->unpacks,
		.how = plan->how,
		.position = position,
	};

	take_effect(s, &effect);
}

/* What was refused, because no backend is left that could, has moved nothing. */
static bool is_refused(struct script *s, const struct plan *plan, int status,
		       size_t moved)
{
	if (status != DTCONV_ERR_UNSUPPORTED || !plan->backends)
		return false;
	note("  refused: %s\n", error(s));
	ck_assert_uint_eq(moved, 0);
	return true;
}

/* A part of the job in flight, unless it has ended at once or was refused. */
static void start_part(struct script *s, const struct plan *plan, struct job *job,
		       struct dtconv_convertor *part, size_t position, size_t bytes)
{
	size_t moved = SIZE_MAX;
	int status = DTCONV_INPROGRESS;

	must(s, dtconv_convertor_start(part,
				       plan->packed->arena.memory + plan->at + position,
				       bytes, NULL, NULL));
	/* A capture's job has ended; whether there is a backend is known at once. */
	if (s->capturing)
		status = dtconv_convertor_wait(part, &moved);
	else if (plan->backends)
		status = dtconv_convertor_test(part, &moved);
	if (is_refused(s, plan, status, moved)) {
		dtconv_convertor_destroy(part);
		return;
	}
	has_moved(s, plan, position, bytes);
	if (status == DTCONV_INPROGRESS) {
		job->expected[job->count] = bytes;
		job->parts[job->count++] = part;
		return;
	}
	must(s, status);
	ck_assert_uint_eq(moved, bytes);
	dtconv_convertor_destroy(part);
}

/* Ends of parts, in order; elements that are not bytes' stay whole where clones have them. */
static int choose_cuts(struct script *s, const struct plan *plan, size_t cuts[PARTS])
{
	const size_t bytes = plan->subject->stage.bytes;
	const bool typed = (plan->how & (EXTERNAL32 | SUM)) && plan->shape == CLONES;
	const size_t unit = typed ? plan->subject->unit : 1;
	const int parts = 2 + (int)choose(&s->choices, PARTS - 1);
	size_t at = 0;

	for (int i = 0; i < parts; i++) {
		at += choose(&s->choices, (bytes - at) / unit + 1) * unit;
		cuts[i] = i == parts - 1 ? bytes : at;
	}
	return parts;
}

static void shuffle(struct script *s, int order[], int count)
{
	for (int i = 0; i < count; i++)
		order[i] = i;
	for (int i = count - 1; i > 0 && chance(&s->choices, 2); i--) {
		int other = (int)choose(&s->choices, (size_t)i + 1), kept = order[i];

		order[i] = order[other];
		order[other] = kept;
	}
}

/* All in flight at once, each by a convertor of its own. */
static void start_clones(struct script *s, const struct plan *plan, struct job *job,
			 struct dtconv_convertor *first)
{
	size_t cuts[PARTS];
	int order[PARTS], parts = choose_cuts(s, plan, cuts);

	shuffle(s, order, parts);
	for (int i = 0; i < parts; i++) {
		const size_t from = order[i] ? cuts[order[i] - 1] : 0;
		struct dtconv_convertor *clone;

		note("  bytes %zu to %zu\n", from, cuts[order[i]]);
		must(s, dtconv_convertor_clone(first, &clone));
		must(s, dtconv_convertor_seek(clone, from));
		start_part(s, plan, job, clone, from, cuts[order[i]] - from);
	}
	dtconv_convertor_destroy(first);
}

/* One after the other, by one convertor, anywhere; the job has then ended. */
static void move_fragments(struct script *s, const struct plan *plan,
			   struct dtconv_convertor *convertor)
{
	size_t cuts[PARTS], moved;
	int order[PARTS], parts = choose_cuts(s, plan, cuts);

	shuffle(s, order, parts);
	for (int i = 0; i < parts; i++) {
		const size_t from = order[i] ? cuts[order[i] - 1] : 0,
			     bytes = cuts[order[i]] - from;

		note("  bytes %zu to %zu\n", from, from + bytes);
		must(s, dtconv_convertor_seek(convertor, from));
		must(s, dtconv_convertor_start(
				convertor, plan->packed->arena.memory + plan->at + from,
				bytes, NULL, NULL));
		must(s, end_of_part(convertor, chance(&s->choices, 2), &moved));
		ck_assert_uint_eq(moved, bytes);
	}
	has_moved(s, plan, 0, plan->subject->stage.bytes);
}

static void move_blocking(struct script *s, const struct plan *plan,
			  struct dtconv_convertor *convertor)
{
	unsigned char *packed = plan->packed->arena.memory + plan->at;
	const size_t bytes = plan->subject->stage.bytes;
	size_t moved = SIZE_MAX;
	int status = plan->unpacks
			     ? dtconv_convertor_unpack(convertor, packed, bytes, &moved)
			     : dtconv_convertor_pack(convertor, packed, bytes, &moved);

	if (is_refused(s, plan, status, moved))
		return;
	must(s, status);
	ck_assert_uint_eq(moved, bytes);
	has_moved(s, plan, 0, bytes);
}

static uint32_t checksum_of(const struct plan *plan)
{
	return dtconv_crc32c(0, plan->packed->model + plan->at,
			     plan->subject->stage.bytes);
}

/* Of a job that has ended. */
static void check_sum(struct script *s, const struct plan *plan,
		      const struct dtconv_convertor *convertor)
{
	uint32_t crc;

	if (!(plan->how & CHECKSUM))
		return;
	must(s, dtconv_convertor_crc32c(convertor, &crc));
	ck_assert_msg(crc == checksum_of(plan), "the checksum is wrong");
}

/* Of one that was started. */
static void expect_sum(const struct plan *plan, struct job *job)
{
	job->summed = job->count && plan->how & CHECKSUM;
	if (job->summed)
		job->crc = checksum_of(plan);
}

static void note_plan(const struct plan *plan)
{
	static const char *const shapes[SHAPES] = { "as a whole", "and waits",
						    "in fragments", "by clones" };

	note("stream %d %s %s (%s) %s %s (%s) + %zu %s%s%s%s%s%s%s\n", plan->line,
	     plan->unpacks ? "unpacks" : "packs", plan->user->name,
	     arena_kind_names[plan->user->arena.kind], plan->unpacks ? "from" : "to",
	     plan->packed->name, arena_kind_names[plan->packed->arena.kind], plan->at,
	     shapes[plan->shape], plan->how & EXTERNAL32 ? ", external32" : "",
	     plan->how & SUM ? ", sum" : "", plan->how & CHECKSUM ? ", checksum" : "",
	     plan->hints ? ", told the kinds" : "", plan->backends ? ", by " : "",
	     plan->backends ? plan->backends : "");
}

static void end_any_job(struct script *s)
{
	const size_t first = choose(&s->choices, JOBS);

	for (size_t i = 0; i < JOBS; i++)
		if (s->jobs[(first + i) % JOBS].number) {
			end_job(s, &s->jobs[(first + i) % JOBS]);
			return;
		}
}

/* Room for a job that is not in flight yet. */
static struct job *new_job(struct script *s, int line)
{
	if (!free_job(s))
		end_any_job(s);
	struct job *job = free_job(s);
	*job = (struct job){ .line = line };
	return job;
}

/* It is in flight if anything of it is. */
static void enlist(struct script *s, struct job *job)
{
	if (!job->count && !job->batch)
		return;
	job->number = ++s->jobs_made;
	note("  job %d\n", job->number);
}

static void move(struct script *s, struct plan *plan, struct job *job)
{
	const size_t bytes = plan->subject->stage.bytes;
	struct dtconv_convertor *convertor = bind(s, plan);

	if (plan->shape == WHOLE) {
		start_part(s, plan, job, convertor, 0, bytes);
		expect_sum(plan, job);
		return;
	}
	if (plan->shape == CLONES) {
		start_clones(s, plan, job, convertor);
		return;
	}
	if (plan->shape == BLOCKING)
		move_blocking(s, plan, convertor);
	else
		move_fragments(s, plan, convertor);
	if (!plan->backends)
		check_sum(s, plan, convertor);
	dtconv_convertor_destroy(convertor);
}

static void give_job(struct script *s)
{
	struct plan plan;

	if (!choose_plan(s, &plan))
		return;
	if (plan.line != NOBODY && chance(&s->choices, 4))
		hold(s, plan.line);
	order_places(s, &plan);
	note_plan(&plan);
	struct job *job = new_job(s, plan.line);
	touch(job, plan.user);
	touch(job, plan.packed);
	move(s, &plan, job);
	enlist(s, job);
	if (job->number)
		result_of(&plan)->writer = job->number;
}

/* ---- batches --------------------------------------------------------------------------------- */

static bool has_place(const struct plan plans[], int count, const struct place *place)
{
	for (int i = 0; i < count; i++)
		if (plans[i].user == place || plans[i].packed == place)
			return true;
	return false;
}

/* Moves that have nothing in common. */
static int choose_plans(struct script *s, struct plan plans[ENTRIES])
{
	const int line = choose_line(s), most = 1 + (int)choose(&s->choices, ENTRIES);
	int count = 0;

	for (int i = 0; i < most; i++) {
		struct plan *plan = &plans[count];

		if (!choose_plan(s, plan) || has_place(plans, count, plan->user) ||
		    has_place(plans, count, plan->packed))
			continue;
		plan->how = 0;
		plan->backends = NULL;
		plan->shape = WHOLE;
		plan->line = line;
		count++;
	}
	return count;
}

static struct dtconv_batch_entry entry_of(const struct plan *plan)
{
	const struct stage *stage = &plan->subject->stage;

	return (struct dtconv_batch_entry){
		.type = stage->type,
		.count = stage->count,
		.buffer = plan->user->arena.memory + plan->subject->origin,
		.packed = plan->packed->arena.memory + plan->at,
		.bytes = stage->bytes,
		.direction = plan->unpacks ? DTCONV_BATCH_UNPACK : DTCONV_BATCH_PACK,
		.user_memory = kind_said(plan, plan->user),
		.packed_memory = kind_said(plan, plan->packed),
	};
}

static void make_batch(struct script *s, struct job *job, struct plan plans[], int count)
{
	const struct dtconv_batch_params params = { .struct_size = sizeof(params),
						    .flags = DTCONV_BATCH_STREAM,
						    .stream = s->lines[plans[0].line] };
	struct dtconv_batch_entry entries[ENTRIES];

	for (int i = 0; i < count; i++) {
		entries[i] = entry_of(&plans[i]);
		job->batch_bytes += entries[i].bytes;
		touch(job, plans[i].user);
		touch(job, plans[i].packed);
	}
	must(s, dtconv_batch_create(s->context, entries, (size_t)count, &params,
				    &job->batch));
}

/* An entry between ordinary memory is the processor's, at once: its memory is at rest before. */
static void order_batch(struct script *s, struct plan plans[], int count)
{
	for (int i = 0; i < count; i++) {
		const int line = plans[i].line;

		note_plan(&plans[i]);
		order_places(s, &plans[i]);
		if (plans[i].line == NOBODY) {
			hand_over(s, plans[i].user, line);
			hand_over(s, plans[i].packed, line);
		}
		plans[i].line = line;
	}
}

static void give_batch(struct script *s)
{
	struct plan plans[ENTRIES];
	int count = choose_plans(s, plans);

	if (!count)
		return;
	const int line = plans[0].line;
	note("stream %d: a batch of %d\n", line, count);
	order_batch(s, plans, count);
	if (chance(&s->choices, 4))
		hold(s, line);
	struct job *job = new_job(s, line);
	make_batch(s, job, plans, count);
	must(s, dtconv_batch_start(job->batch, NULL, NULL));
	for (int i = 0; i < count; i++)
		has_moved(s, &plans[i], 0, plans[i].subject->stage.bytes);
	if (s->capturing) {
		end_batch(s, job, false);
		s->kept[s->kept_count++] = job->batch;
		*job = (struct job){ .number = 0 };
		return;
	}
	enlist(s, job);
	for (int i = 0; i < count; i++)
		result_of(&plans[i])->writer = job->number;
}

/* ---- graphs ------------------------------------------------------------------------------------ */

/* In a capture this is refused, and what has been captured is thrown away. */
static void try_ordinary_memory(struct script *s)
{
	struct subject *subject = choose_subject(s);
	struct plan plan = { .subject = subject,
			     .user = choose_from(s, subject->users),
			     .packed = choose_from(s, subject->packed),
			     .line = s->origin,
			     .how = CHECKSUM,
			     .unpacks = chance(&s->choices, 2) };
	size_t moved;

	if (!plan.user || !plan.packed)
		return;
	note("a checksum is refused: ");
	note_plan(&plan);
	struct dtconv_convertor *convertor = bind(s, &plan);
	must(s, dtconv_convertor_start(convertor, plan.packed->arena.memory,
				       subject->stage.bytes, NULL, NULL));
	ck_assert_int_eq(dtconv_convertor_wait(convertor, &moved),
			 DTCONV_ERR_UNSUPPORTED);
	dtconv_convertor_destroy(convertor);
	s->dropped = true;
}

/* Everything is the origin's. */
static void gather(struct script *s, int line)
{
	for (int i = 0; i < s->subject_count; i++)
		for (int j = 0; j < PLACES; j++) {
			s->subjects[i].users[j].owner = line;
			s->subjects[i].packed[j].owner = line;
		}
	for (int i = 0; i < TRAYS; i++)
		s->trays[i].owner = line;
}

static void synchronize(struct script *s)
{
	for (int i = 0; i < LINES; i++)
		if (i < s->streams || i == CONSUMER)
			MUST(StreamSynchronize(s->lines[i]));
}

static void end_all_jobs(struct script *s)
{
	for (int i = 0; i < JOBS; i++)
		if (s->jobs[i].number)
			end_job(s, &s->jobs[i]);
}

static void begin_capture(struct script *s)
{
	static const CUstreamCaptureMode modes[] = { CU_STREAM_CAPTURE_MODE_GLOBAL,
						     CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
						     CU_STREAM_CAPTURE_MODE_RELAXED };

	end_all_jobs(s);
	synchronize(s);
	s->origin = (int)choose(&s->choices, (size_t)s->streams);
	s->branch = chance(&s->choices, 2) ? CONSUMER
					   : (int)choose(&s->choices, (size_t)s->streams);
	gather(s, s->origin);
	note("a capture begins in streams %d and %d\n", s->origin, s->branch);
	MUST(StreamBeginCapture(s->lines[s->origin], modes[choose(&s->choices, 3)]));
	s->capturing = true;
	if (s->branch != s->origin)
		follow(s, s->origin, s->branch);
}

static void end_capture(struct script *s)
{
	CUgraph graph;

	if (s->branch != s->origin)
		follow(s, s->branch, s->origin);
	gather(s, s->origin);
	s->capturing = false;
	MUST(StreamEndCapture(s->lines[s->origin], &graph));
	if (!s->dropped && s->effect_count)
		MUST(GraphInstantiateWithFlags(&s->exec, graph, 0));
	MUST(GraphDestroy(graph));
	for (int i = 0; i < TRAYS; i++)
		s->trays[i].used = s->trays[i].in_graph = s->exec && s->trays[i].in_graph;
	note("the capture has ended\n");
}

static void capture(struct script *s)
{
	int steps = 1 + (int)choose(&s->choices, 6);

	for (int i = 0; i < TRAYS; i++)
		if (s->trays[i].used) {
			come_to_rest(s, &s->trays[i]);
			check(s, &s->trays[i], "before a capture");
			s->trays[i].used = false;
		}
	begin_capture(s);
	for (int i = 0; i < steps && !s->dropped; i++)
		switch (choose(&s->choices, 8)) {
		case 0:
		case 1:
			produce(s);
			break;
		case 2:
			consume(s);
			break;
		case 3:
			give_batch(s);
			break;
		case 4:
			if (chance(&s->choices, 4))
				try_ordinary_memory(s);
			break;
		default:
			give_job(s);
		}
	end_capture(s);
}

static void replay(struct script *s)
{
	const int line = (int)choose(&s->choices, (size_t)s->streams);

	if (!s->exec)
		return;
	for (int i = 0; i < TRAYS; i++)
		if (s->trays[i].in_graph && chance(&s->choices, 2)) {
			come_to_rest(s, &s->trays[i]);
			check(s, &s->trays[i], "before a replay");
		}
	for (int i = 0; i < s->effect_count; i++) {
		hand_over(s, s->effects[i].to, line);
		if (s->effects[i].from)
			hand_over(s, s->effects[i].from, line);
	}
	if (chance(&s->choices, 2))
		hold(s, line);
	note("stream %d replays the graph\n", line);
	MUST(GraphLaunch(s->exec, s->lines[line]));
	for (int i = 0; i < s->effect_count; i++)
		apply(s, &s->effects[i]);
}

/* ---- a script ---------------------------------------------------------------------------------- */

static const char *const numbers[] = {
	"hvector(150, 1, 2, int8)",
	"vector(100, 1, 2, int16)",
	"hvector(100, 1, 3, int16)",
	"vector(300, 1, 2, int32)",
	"vector(100, 3, 5, int32)",
	"hvector(80, 1, 7, int32)",
	"vector(60, 1, 2, int64)",
	"vector(40, 2, 3, double)",
	"hvector(60, 3, 40, double)",
	"indexed_block(1, [9, 3, 0, 5, 14, 30, 22, 26, 18, 40, 44, 36, 50, 61], int16)",
	"indexed([3, 1, 7, 2, 5, 20, 1], [0, 4, 6, 15, 19, 26, 50], int32)",
	"subarray([8, 9, 10], [3, 4, 5], [1, 2, 3], c, int32)",
	"contiguous(12, resized(vector(12, 1, 32, int32), 0, 4))",
	"contiguous(900, int64)",
};

static const char *const large[] = {
	"vector(1500, 3, 5, int32)",      "hvector(900, 55, 99, int8)",
	"contiguous(50000, int64)",       "vector(200, 500, 700, double)",
	"vector(2, 70000, 90000, int32)",
};

static struct dtconv_type *parse(struct script *s, const char *text)
{
	struct dtconv_type *type;

	must(s, dtconv_type_parse(s->context, text, strlen(text), &type));
	must(s, dtconv_type_commit(type));
	return type;
}

static struct dtconv_type *choose_type(struct script *s)
{
	const struct random_limits limits = { .max_span = 8192,
					      .distinct = true,
					      .instances = 3 };
	struct dtconv_type *type;

	switch (choose(&s->choices, 20)) {
	case 0:
		return parse(
			s, large[choose(&s->choices, sizeof(large) / sizeof(large[0]))]);
	case 1:
	case 2:
	case 3:
		return parse(s, layouts[choose(&s->choices, (size_t)layout_count)].text);
	case 4:
	case 5:
	case 6:
	case 7:
	case 8:
		must(s, random_type(s->context, choose(&s->choices, SIZE_MAX), &limits,
				    &type));
		return type;
	default:
		return parse(s, numbers[choose(&s->choices,
					       sizeof(numbers) / sizeof(numbers[0]))]);
	}
}

/* Sizes that external32 has too. */
static void look_at_numbers(struct subject *subject)
{
	const int leaf = (int)ref_typemap_leaf(&subject->map);

	switch (leaf) {
	case DTCONV_INT:
	case DTCONV_SHORT:
	case DTCONV_INT8:
	case DTCONV_INT16:
	case DTCONV_INT32:
	case DTCONV_INT64:
		subject->adds = true;
		subject->unit = subject->map.entries[0].size;
		break;
	case DTCONV_FLOAT:
	case DTCONV_DOUBLE:
		subject->unit = subject->map.entries[0].size;
		break;
	default:
		break;
	}
}

/* False if the type is none that can be unpacked into one order of bytes alone. */
static bool stage_subject(struct script *s, struct subject *subject)
{
	struct dtconv_type *type = choose_type(s);
	const size_t count = 1 + choose(&s->choices, 3),
		     shift = choose(&s->choices, 2) * choose(&s->choices, 64);

	*subject = (struct subject){ .unit = 0 };
	ck_assert_int_eq(ref_typemap_build(type, DTCONV_PADDING_STRUCT, 0, &subject->map),
			 0);
	if (subject->map.count && !ref_typemap_overlaps(&subject->map, count) &&
	    !stage_open(&subject->stage, type, count, shift, shift, 1))
		return true;
	ref_typemap_free(&subject->map);
	dtconv_type_unref(type);
	return false;
}

static void subject_open(struct script *s, struct subject *subject, int number)
{
	while (!stage_subject(s, subject))
		continue;
	const struct stage *stage = &subject->stage;
	char *text = random_type_text(stage->type);
	note("%d: %zu x %s\n", number, stage->count, text);
	free(text);
	look_at_numbers(subject);
	subject->origin = (size_t)(stage->source - stage->source_memory);
	for (int i = 0; i < PLACES; i++) {
		place_open(s, &subject->users[i], choose_kind(s), stage->memory_bytes);
		place_open(s, &subject->packed[i], choose_kind(s),
			   stage->bytes + 3 * GUARD);
		snprintf(subject->users[i].name, sizeof(subject->users[i].name), "U%d%c",
			 number, 'a' + i);
		snprintf(subject->packed[i].name, sizeof(subject->packed[i].name),
			 "P%d%c", number, 'a' + i);
	}
}

static void subject_close(struct subject *subject)
{
	for (int i = 0; i < PLACES; i++) {
		place_close(&subject->users[i]);
		place_close(&subject->packed[i]);
	}
	ref_typemap_free(&subject->map);
	fixture_close(&subject->stage);
}

static CUstream choose_stream(struct script *s, bool captures)
{
	CUstream stream;

	if (!captures && chance(&s->choices, 12))
		return chance(&s->choices, 2) ? CU_STREAM_LEGACY : CU_STREAM_PER_THREAD;
	MUST(StreamCreate(&stream, chance(&s->choices, 4) ? 0 : CU_STREAM_NON_BLOCKING));
	return stream;
}

static void open_lines(struct script *s, bool captures)
{
	s->streams = 1 + (int)choose(&s->choices, STREAMS);
	for (int i = 0; i < LINES; i++) {
		MUST(EventCreate(&s->events[i], CU_EVENT_DISABLE_TIMING));
		if (i < s->streams)
			s->lines[i] = choose_stream(s, captures);
		else
			MUST(StreamCreate(&s->lines[i], CU_STREAM_NON_BLOCKING));
	}
}

static bool is_made(CUstream stream)
{
	return stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD;
}

static void close_lines(struct script *s)
{
	for (int i = 0; i < LINES; i++) {
		MUST(EventDestroy(s->events[i]));
		if (is_made(s->lines[i]))
			MUST(StreamDestroy(s->lines[i]));
	}
}

static void open_context(struct script *s)
{
	static const unsigned flags[] = { 0,
					  0,
					  0,
					  DTCONV_CONTEXT_RESIDENT,
					  DTCONV_CONTEXT_GRAPHS,
					  DTCONV_CONTEXT_SPECIALISE };
	const struct dtconv_context_params params = {
		.struct_size = sizeof(params),
		.flags = flags[choose(&s->choices, sizeof(flags) / sizeof(flags[0]))],
		.threads = choose(&s->choices, 4),
	};

	/* Which takes a real compiler too long. */
	if (gpu.standin && chance(&s->choices, 2))
		setenv("DTCONV_SPECIALISE", "wait", 1);
	if (!(params.flags & DTCONV_CONTEXT_SPECIALISE))
		unsetenv("DTCONV_SPECIALISE");
	must(s, dtconv_context_create(&params, &s->context));
	unsetenv("DTCONV_SPECIALISE");
	ck_assert_int_eq(dtconv_representation_find("external32", &s->external32), 0);
	note("flags %u, %zu threads\n", params.flags, params.threads);
}

static void open_delays(struct script *s, uint64_t seed)
{
	static const long delays[] = { 0, 20, 20, 100, 500 };
	const long delay =
		delays[choose(&s->choices, sizeof(delays) / sizeof(delays[0]))];

	if (!gpu.standin)
		return;
	gpu.standin->set(STANDIN_SEED, (long)(seed % 100000));
	gpu.standin->set(STANDIN_DELAY_US, delay);
	note("delays up to %ld us\n", delay);
}

static void open_memory(struct script *s)
{
	s->subject_count = 1 + (int)choose(&s->choices, SUBJECTS);
	for (int i = 0; i < s->subject_count; i++)
		subject_open(s, &s->subjects[i], i);
	for (int i = 0; i < TRAYS; i++) {
		place_open(s, &s->trays[i], ARENA_DEVICE, s->largest);
		snprintf(s->trays[i].name, sizeof(s->trays[i].name), "T%d", i);
	}
	s->spring_bytes = malloc(2 * s->largest);
	s->seen = malloc(s->largest);
	ck_assert(s->spring_bytes && s->seen);
	fill_random(&s->choices, s->spring_bytes, 2 * s->largest);
	arena_open(&s->spring, ARENA_DEVICE, 2 * s->largest);
	arena_write(&s->spring, 0, s->spring_bytes, 2 * s->largest);
	arena_open(&s->words, ARENA_PINNED, SPINS * sizeof(uint64_t));
	memset(s->words.memory, 0, SPINS * sizeof(uint64_t));
}

/* Jobs without a stream are in the way of nothing else: the first one of all loads the kernels. */
static void settle(struct script *s)
{
	struct plan plan = { .subject = &s->subjects[0],
			     .user = &s->subjects[0].users[0],
			     .packed = &s->subjects[0].packed[0],
			     .shape = BLOCKING,
			     .line = NOBODY };
	struct dtconv_convertor *convertor = bind(s, &plan);

	note("settled: ");
	note_plan(&plan);
	move_blocking(s, &plan, convertor);
	dtconv_convertor_destroy(convertor);
	must(s, dtconv_pack(s->subjects[0].stage.type, 1,
			    s->trays[0].arena.memory + plan.subject->origin,
			    s->trays[1].arena.memory, s->largest, NULL));
	arena_read(&s->trays[1].arena, 0, s->trays[1].model, s->trays[1].bytes);
}

static void script_open(struct script *s, uint64_t seed, bool captures)
{
	open_context(s);
	open_delays(s, seed);
	open_memory(s);
	open_lines(s, captures);
	if (!chance(&s->choices, 3))
		settle(s);
	ck_assert_int_eq(pthread_create(&s->releaser, NULL, let_go, s), 0);
}

static void check_trays(struct script *s)
{
	for (int i = 0; i < TRAYS; i++)
		check(s, &s->trays[i], "in the end");
}

static void check_places(struct script *s)
{
	for (int i = 0; i < s->subject_count; i++)
		for (int j = 0; j < PLACES; j++) {
			check(s, &s->subjects[i].users[j], "in the end");
			check(s, &s->subjects[i].packed[j], "in the end");
		}
}

/* What consumers have read is there before the library is asked for anything. */
static void finish(struct script *s)
{
	note("the end\n");
	if (chance(&s->choices, 2)) {
		synchronize(s);
		check_trays(s);
	}
	end_all_jobs(s);
	synchronize(s);
	check_trays(s);
	check_places(s);
}

static void script_close(struct script *s)
{
	__atomic_store_n(&s->over, true, __ATOMIC_RELEASE);
	pthread_join(s->releaser, NULL);
	if (s->exec)
		MUST(GraphExecDestroy(s->exec));
	for (int i = 0; i < s->kept_count; i++)
		dtconv_batch_destroy(s->kept[i]);
	for (int i = 0; i < s->subject_count; i++)
		subject_close(&s->subjects[i]);
	for (int i = 0; i < TRAYS; i++)
		place_close(&s->trays[i]);
	arena_close(&s->spring);
	arena_close(&s->words);
	free(s->spring_bytes);
	free(s->seen);
	close_lines(s);
	dtconv_context_destroy(s->context);
}

static void step(struct script *s)
{
	switch (choose(&s->choices, 12)) {
	case 0:
	case 1:
	case 2:
		produce(s);
		break;
	case 3:
	case 4:
		consume(s);
		break;
	case 5:
		end_any_job(s);
		break;
	case 6:
	case 7:
		give_batch(s);
		break;
	case 8:
		if (s->exec) {
			replay(s);
			break;
		} /* fallthrough */
	default:
		give_job(s);
	}
}

static void play(uint64_t seed)
{
	struct script *s = calloc(1, sizeof(*s));

	ck_assert_ptr_nonnull(s);
	log_open(seed);
	choices_from_seed(&s->choices, choices_mix(seed));
	const bool captures = chance(&s->choices, 4);
	const int steps = 4 + (int)choose(&s->choices, 20);
	const int captured = captures ? (int)choose(&s->choices, 6) : -1;
	script_open(s, seed, captures);
	for (int i = 0; i < steps; i++) {
		if (i == captured)
			capture(s);
		step(s);
	}
	finish(s);
	script_close(s);
	free(s);
	current->unfinished = false;
}

/* ------------------------------------------------------------------------------------------------ */

#define TOGETHER 4 /* scripts of a process */

static uint64_t alone; /* the script that is asked for, or 0 */

static void open_device(void)
{
	gpu_open();
	/* A real compiler crashes beside a driver that is none. */
	if (gpu.standin)
		standin_load_nvrtc();
	spin_function = spin_load();
}

START_TEST(every_byte_is_what_the_order_says)
{
	current = &logs[_i];
	for (int i = 0; i < TOGETHER && !alone; i++)
		play((uint64_t)_i * TOGETHER + (uint64_t)i + 1);
	if (alone)
		play(alone);
}
END_TEST

static int cases(void)
{
	if (alone)
		return 1;
	if (fixture_everything())
		return 1000;
	return gpu_is_real() ? 15 : 40;
}

int main(void)
{
	setenv("CK_FORK", "yes", 0);
	setenv("DTCONV_CACHE", "none", 1);
	gpu_find();
	alone = random_seed(0);
	const int count = cases();
	logs = mmap(NULL, (size_t)count * sizeof(*logs), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (logs == MAP_FAILED)
		return 1;
	Suite *suite = suite_create("order");
	TCase *tcase = tcase_create("scripts");
	tcase_add_checked_fixture(tcase, open_device, NULL);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, every_byte_is_what_the_order_says, 0, count);
	suite_add_tcase(suite, tcase);
	int result = fixture_run(suite);
	print_logs(count);
	return result;
}
