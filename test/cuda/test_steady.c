/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The steady state: from the third round on no kind of job makes or destroys anything, in the driver or by
 * the context's allocator, and none waits for a whole stream or device. On the stand-in driver only: a real
 * one does not count its calls.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "copy_backends/backend.h"
#include "copy_backends/cuda/moves/bar_mappings.h"
#include "copy_backends/cuda/moves/staging_ring.h"
#include "support/fixture.h"
#include "support/gpu.h"
#include "support/standin_load.h"

/* ---- what is counted --------------------------------------------------------------------- */

#define STEADY_ROUNDS 5
#define MOST_ENTRIES  512
#define NAME_BYTES    64

struct tally {
	char name[NAME_BYTES];
	size_t calls;
};

/* All entry points called so far; only ever appended to. */
struct tallies {
	struct tally all[MOST_ENTRIES];
	size_t count, allocations;
};

static void note(const char *entry, size_t calls, void *arg)
{
	struct tallies *tallies = arg;

	ck_assert_uint_lt(tallies->count, MOST_ENTRIES);
	struct tally *tally = &tallies->all[tallies->count++];
	snprintf(tally->name, sizeof(tally->name), "%s", entry);
	tally->calls = calls;
}

static void take_tallies(struct tallies *tallies)
{
	tallies->count = 0;
	gpu.standin->each(note, tallies);
	tallies->allocations = fixture_allocations();
}

/* Entry points that make something, give it back, or wait for everything, by their verbs. */
static bool is_maker(const char *entry)
{
	static const char *const verbs[] = { "Alloc",       "Free",        "Create",
					     "Destroy",     "egister",     "Load",
					     "Instantiate", "GraphAdd",    "Retain",
					     "Release",     "Synchronize", "nload",
					     "MemMap",      "MemUnmap" };

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strstr(entry, verbs[i]))
			return true;
	return false;
}

static size_t calls_of(const struct tallies *tallies, const char *name)
{
	for (size_t i = 0; i < tallies->count; i++)
		if (!strcmp(tallies->all[i].name, name))
			return tallies->all[i].calls;
	return 0;
}

/* What the worker thread gives back for jobs that have ended. */
static bool is_free(const char *entry)
{
	return strstr(entry, "Free") || strstr(entry, "Unregister") || strstr(entry, "nload");
}

/* How many calls of makers there have been since, and, apart from them, of those that give back. */
static size_t made_since(const struct tallies *before, size_t *freed, const char **last)
{
	static struct tallies now;
	size_t made = 0;

	take_tallies(&now);
	for (size_t i = 0; i < now.count; i++) {
		size_t calls = now.all[i].calls - calls_of(before, now.all[i].name);

		if (!calls || !is_maker(now.all[i].name))
			continue;
		if (is_free(now.all[i].name)) {
			*freed += calls;
			continue;
		}
		made += calls;
		*last = now.all[i].name;
	}
	return made;
}

/* ---- rounds ------------------------------------------------------------------------------ */

/* More of them where the processor's windows are opened: that is for memory that is met often. */
static int warm_rounds = 2;

struct round {
	const char *name;
	void (*once)(void *arg);
	void *arg;
	bool may_allocate; /* in the host's memory */
};

/* What so many rounds have done: calls of the allocator, events that were made, memory given back. */
struct late {
	size_t allocations, events, frees;
};

static bool is_once(size_t calls)
{
	return calls && calls < STEADY_ROUNDS;
}

static struct late count_rounds(const struct round *round)
{
	static struct tallies before;
	const char *last = "";

	take_tallies(&before);
	for (int i = 0; i < STEADY_ROUNDS; i++)
		round->once(round->arg);
	struct late late = { .allocations = fixture_allocations() - before.allocations,
			     .events = gpu.standin->calls("cuEventCreate") -
				       calls_of(&before, "cuEventCreate") };
	size_t made = made_since(&before, &late.frees, &last);
	ck_assert_msg(made == late.events,
		      "%s: %zu calls that make something in %d rounds, such as %s",
		      round->name, made, STEADY_ROUNDS, last);
	return late;
}

/*
 * Some calls come late, once and not in each round: the worker thread frees memory and its last deferred call
 * after the job that deferred them has ended, and an event is created when more pieces are in flight in a
 * stream than ever before.
 */
static void must_be_steady(const struct round *round)
{
	struct late late;
	int tries = DTC_CUDA_STAGING_SLOTS + 1;

	for (int i = 0; i < warm_rounds; i++)
		round->once(round->arg);
	do
		late = count_rounds(round);
	while ((is_once(late.allocations) || is_once(late.events) || is_once(late.frees)) &&
	       --tries);
	ck_assert_msg(!late.frees, "%s: memory was given back %zu times in %d rounds",
		      round->name, late.frees, STEADY_ROUNDS);
	ck_assert_msg(!late.events, "%s: %zu events were made in %d rounds", round->name,
		      late.events, STEADY_ROUNDS);
	ck_assert_msg(!late.allocations || round->may_allocate,
		      "%s: the allocator was called %zu times in %d rounds", round->name,
		      late.allocations, STEADY_ROUNDS);
}

/* ---- jobs -------------------------------------------------------------------------------- */

static const char *const texts[] = {
	"vector(200, 3, 5, double)",
	"indexed([1,2,1,3,1,2,1,2,1,5],[0,9,20,30,40,50,60,70,80,90],double)",
	"vector(25000, 3, 5, double)", /* several pieces */
};

#define TEXTS (int)(sizeof(texts) / sizeof(texts[0]))

/* How a job is asked for. */
enum way {
	ONE_SHOT,
	FRAGMENT, /* by a convertor that is kept */
	STARTED,
	STARTED_IN_STREAM,
	WAYS,
	PLAIN = WAYS /* at once, without parameters */
};

static const char *const ways[] = { "at once", "by a convertor", "started",
				    "started in a stream", "plain" };

struct job {
	struct dtconv_type *type;
	struct arena user, packed;
	size_t bytes;
	bool packs;
	enum way way;
	struct dtconv_convertor_params params;
	struct dtconv_convertor *convertor;
	CUstream stream;
};

static size_t user_bytes(const struct dtconv_type *type)
{
	const struct dtconv_type_attr attr = fixture_attr(type);
	return (size_t)attr.true_extent;
}

static void job_open(struct job *job, const char *text, enum arena_kind user,
		     enum arena_kind packed)
{

	job->type = fixture_type(text);
	const struct dtconv_type_attr attr = fixture_attr(job->type);
	job->bytes = attr.size;
	arena_open(&job->user, user, user_bytes(job->type));
	arena_open(&job->packed, packed, job->bytes);
	job->params.struct_size = sizeof(job->params);
	if (job->way == STARTED_IN_STREAM) {
		job->stream = gpu_stream();
		job->params.flags |= DTCONV_CONVERTOR_STREAM;
		job->params.stream = job->stream;
	}
	ck_assert_int_eq(
		job->packs ? dtconv_convertor_create_pack(job->type, 1, job->user.memory,
							  &job->convertor)
			   : dtconv_convertor_create_unpack(
				     job->type, 1, job->user.memory, &job->convertor),
		0);
	fixture_ok(dtconv_convertor_configure(job->convertor, &job->params));
}

static void job_close(struct job *job)
{
	dtconv_convertor_destroy(job->convertor);
	if (job->stream)
		MUST(StreamDestroy(job->stream));
	arena_close(&job->user);
	arena_close(&job->packed);
	dtconv_type_unref(job->type);
}

/* As the caller without parameters does, and with them, which takes a convertor for the call. */
static int move_at_once(struct job *job, size_t *moved)
{
	char *user = (char *)job->user.memory, *packed = (char *)job->packed.memory;

	if (job->way == PLAIN)
		return job->packs ? dtconv_pack(job->type, 1, user, packed, job->bytes,
						moved)
				  : dtconv_unpack(job->type, 1, user, packed, job->bytes,
						  moved);
	if (job->packs)
		return dtconv_pack_with(job->type, 1, user, packed, job->bytes,
					&job->params, moved);
	return dtconv_unpack_with(job->type, 1, user, packed, job->bytes, &job->params,
				  moved);
}

static int move_fragment(struct job *job, size_t *moved)
{
	if (job->packs)
		return dtconv_convertor_pack(job->convertor, job->packed.memory,
					     job->bytes, moved);
	return dtconv_convertor_unpack(job->convertor, job->packed.memory, job->bytes,
				       moved);
}

static int start_and_wait(struct job *job, size_t *moved)
{
	int status = dtconv_convertor_start(job->convertor, job->packed.memory,
					    job->bytes, NULL, NULL);

	return status ? status : dtconv_convertor_wait(job->convertor, moved);
}

static void job_once(void *arg)
{
	struct job *job = arg;
	size_t moved = 0;
	int status;

	fixture_ok(dtconv_convertor_seek(job->convertor, 0));
	if (job->way == ONE_SHOT || job->way == PLAIN)
		status = move_at_once(job, &moved);
	else if (job->way == FRAGMENT)
		status = move_fragment(job, &moved);
	else
		status = start_and_wait(job, &moved);
	ck_assert_msg(!status, "%s", fixture_error());
	ck_assert_uint_eq(moved, job->bytes);
}

static void check_job(struct job *job, const char *text, enum arena_kind user,
		      enum arena_kind packed, const char *what)
{
	char name[300];
	const struct round round = { name, job_once, job, job->way == ONE_SHOT };

	snprintf(name, sizeof(name), "%s %s, %s to %s, %s, %.40s", what,
		 job->packs ? "pack" : "unpack", arena_kind_names[user],
		 arena_kind_names[packed], ways[job->way], text);
	job_open(job, text, user, packed);
	must_be_steady(&round);
	job_close(job);
}

/* ---- backends ---------------------------------------------------------------------------- */

static const struct {
	enum arena_kind kind;
	enum dtconv_memory_kind told;
} places[] = {
	{ ARENA_HOST, DTCONV_MEMORY_HOST },
	{ ARENA_PINNED, DTCONV_MEMORY_PINNED },
	{ ARENA_DEVICE, DTCONV_MEMORY_DEVICE },
};

#define PLACES (int)(sizeof(places) / sizeof(places[0]))

/* The library looks for a driver when it first meets memory. */
static void meet_driver(void)
{
	static char met;
	struct dtconv_memory_attr attr = { .struct_size = sizeof(attr) };

	fixture_ok(dtconv_memory_query(fixture_context, &met, &attr));
}

static bool can(const struct dtc_backend_ops *backend, int user, int packed, enum way way)
{
	const struct dtc_question question = { .context = fixture_context,
					       .user_kind = places[user].told,
					       .packed_kind = places[packed].told,
					       .on_stream = way == STARTED_IN_STREAM };
	const char *reason;

	return backend->can(&question, &reason);
}

static void check_ways(const struct dtc_backend_ops *backend, int user, int packed)
{
	for (enum way way = 0; way < WAYS; way++)
		for (int i = 0; i < 2 * TEXTS && can(backend, user, packed, way); i++) {
			struct job job = { .packs = i % 2, .way = way };

			job.params.backends = backend->name;
			check_job(&job, texts[i / 2], places[user].kind,
				  places[packed].kind, backend->name);
		}
}

START_TEST(every_backend_comes_to_a_steady_state)
{
	int pairs = 0;

	if (!strcmp(dtc_backends[_i]->name, "cuda_bar")) {
		ck_assert(standin_load_gdrapi());
		warm_rounds = DTC_CUDA_BAR_MAPPING_USES + 2;
	}
	meet_driver();
	for (int user = 0; user < PLACES; user++)
		for (int packed = 0; packed < PLACES; packed++) {
			check_ways(dtc_backends[_i], user, packed);
			pairs += can(dtc_backends[_i], user, packed, ONE_SHOT);
		}
	ck_assert_msg(pairs, "%s moves nothing here", dtc_backends[_i]->name);
}
END_TEST

START_TEST(jobs_without_parameters_come_to_a_steady_state)
{
	for (int i = 0; i < 2 * TEXTS; i++) {
		struct job job = { .packs = i % 2, .way = PLAIN };

		check_job(&job, texts[i / 2], places[_i / PLACES].kind,
			  places[_i % PLACES].kind, "plain");
	}
}
END_TEST

/* ---- representations, operations, checksums ---------------------------------------------- */

static const struct {
	const char *name;
	bool external32;
	enum dtconv_op op;
	unsigned flags;
} kinds[] = {
	{ "external32", true, DTCONV_OP_REPLACE, 0 },
	{ "sum", false, DTCONV_OP_SUM, 0 },
	{ "checksum", false, DTCONV_OP_REPLACE, DTCONV_CONVERTOR_CRC32C },
};

#define KINDS (int)(sizeof(kinds) / sizeof(kinds[0]))

static void check_typed(int kind, bool packs, enum way way, enum arena_kind packed)
{
	for (int text = 0; text < TEXTS; text++) {
		struct dtconv_representation external32;
		struct job job = { .packs = packs, .way = way };

		fixture_ok(dtconv_representation_find("external32", &external32));
		job.params.representation = kinds[kind].external32 ? &external32 : NULL;
		job.params.op = kinds[kind].op;
		job.params.flags = kinds[kind].flags;
		check_job(&job, texts[text], ARENA_DEVICE, packed, kinds[kind].name);
	}
}

START_TEST(typed_jobs_come_to_a_steady_state)
{
	for (int place = 0; place < PLACES; place++)
		for (enum way way = 0; way < WAYS; way++)
			for (int packs = 0; packs < 2; packs++)
				check_typed(_i, packs, way, places[place].kind);
}
END_TEST

/* ---- copies and batches ------------------------------------------------------------------ */

struct copying {
	struct dtconv_type *from, *to;
	struct arena source, target;
	struct dtconv_copier *copier, *combiner;
};

static void combine_started_once(void *arg)
{
	const struct copying *copying = arg;

	fixture_ok(dtconv_copier_start_at(copying->combiner, 12, 1000, NULL, NULL));
	fixture_ok(dtconv_copier_wait(copying->combiner, NULL));
}

static void copy_started_once(void *arg)
{
	const struct copying *copying = arg;

	fixture_ok(dtconv_copier_start(copying->copier, NULL, NULL));
	fixture_ok(dtconv_copier_wait(copying->copier, NULL));
}

static void copy_once(void *arg)
{
	struct copying *copying = arg;

	fixture_ok(dtconv_copy(copying->from, 1, copying->source.memory, copying->to, 1,
			       copying->target.memory, NULL));
}

START_TEST(copies_come_to_a_steady_state)
{
	enum arena_kind source = places[_i / PLACES].kind,
			target = places[_i % PLACES].kind;
	static const char *const sizes[] = { "200", "20000" };
	const struct dtconv_copier_params max = { .struct_size = sizeof(max),
						  .op = DTCONV_OP_MAX };
	char name[120], text[80];

	for (int size = 0; size < 2; size++) {
		struct copying copying;
		const struct round round = { name, copy_once, &copying, false };
		const struct round started = { name, copy_started_once, &copying, false };
		/* From a device to the host in pieces, through a buffer. */
		const struct round combined = { name, combine_started_once, &copying,
						target == ARENA_HOST };

		snprintf(text, sizeof(text), "vector(%s, 6, 9, double)", sizes[size]);
		copying.from = fixture_type(text);
		snprintf(text, sizeof(text), "contiguous(3, vector(%s, 2, 3, double))",
			 sizes[size]);
		copying.to = fixture_type(text);
		snprintf(name, sizeof(name), "copy from %s to %s of %s",
			 arena_kind_names[source], arena_kind_names[target], text);
		arena_open(&copying.source, source, user_bytes(copying.from));
		arena_open(&copying.target, target, user_bytes(copying.to));
		fixture_ok(dtconv_copier_create(copying.from, 1, copying.source.memory,
						copying.to, 1, copying.target.memory,
						NULL, &copying.copier));
		fixture_ok(dtconv_copier_create(copying.from, 1, copying.source.memory,
						copying.to, 1, copying.target.memory,
						&max, &copying.combiner));
		must_be_steady(&round);
		must_be_steady(&started);
		must_be_steady(&combined);
		dtconv_copier_destroy(copying.copier);
		dtconv_copier_destroy(copying.combiner);
		arena_close(&copying.source);
		arena_close(&copying.target);
		dtconv_type_unref(copying.from);
		dtconv_type_unref(copying.to);
	}
}
END_TEST

static void batch_once(void *arg)
{
	fixture_ok(dtconv_batch_run(arg, NULL));
}

static void batch_started_once(void *arg)
{
	fixture_ok(dtconv_batch_start(arg, NULL, NULL));
	fixture_ok(dtconv_batch_wait(arg, NULL));
}

#define ENTRIES 18

/* Both directions between all places, each with another layout. */
static void open_entries(struct job jobs[], struct dtconv_batch_entry entries[])
{
	for (int i = 0; i < ENTRIES; i++) {
		jobs[i] = (struct job){ .packs = i < ENTRIES / 2 };
		job_open(&jobs[i], texts[i % TEXTS], places[i / PLACES % PLACES].kind,
			 places[(i + i / PLACES) % PLACES].kind);
		entries[i] = (struct dtconv_batch_entry){
			.type = jobs[i].type,
			.count = 1,
			.buffer = jobs[i].user.memory,
			.packed = jobs[i].packed.memory,
			.bytes = jobs[i].bytes,
			.direction = jobs[i].packs ? DTCONV_BATCH_PACK
						   : DTCONV_BATCH_UNPACK,
		};
	}
}

static void check_batch(const struct dtconv_batch_entry entries[],
			const struct dtconv_batch_params *params)
{
	struct dtconv_batch *batch;

	fixture_ok(
		dtconv_batch_create(fixture_context, entries, ENTRIES, params, &batch));
	must_be_steady(&(struct round){ "batch", batch_once, batch, false });
	must_be_steady(
		&(struct round){ "started batch", batch_started_once, batch, false });
	dtconv_batch_destroy(batch);
}

START_TEST(batches_come_to_a_steady_state)
{
	struct dtconv_batch_params params = { .struct_size = sizeof(params) };
	struct dtconv_batch_entry entries[ENTRIES];
	struct job jobs[ENTRIES];

	CUstream stream = gpu_stream();
	open_entries(jobs, entries);
	check_batch(entries, &params);
	params.flags = DTCONV_BATCH_STREAM;
	params.stream = stream;
	check_batch(entries, &params);
	for (int i = 0; i < ENTRIES; i++)
		job_close(&jobs[i]);
	MUST(StreamDestroy(stream));
}
END_TEST

/* ---- the test itself --------------------------------------------------------------------- */

/* A first job makes something, and that is seen. */
START_TEST(what_a_first_job_makes_is_seen)
{
	static struct tallies before;
	struct job job = { .packs = true, .way = ONE_SHOT };
	const char *last = "";
	size_t freed = 0;

	job_open(&job, texts[0], ARENA_DEVICE, ARENA_DEVICE);
	take_tallies(&before);
	job_once(&job);
	ck_assert_uint_gt(made_since(&before, &freed, &last), 0);
	ck_assert_uint_gt(fixture_allocations(), before.allocations);
	job_close(&job);
}
END_TEST

static int count_backends(void)
{
	int count = 0;

	while (dtc_backends[count])
		count++;
	return count;
}

int main(void)
{
	setenv("CK_FORK", "yes", 1);
	gpu_find();
	if (gpu_is_real()) {
		puts("a real driver does not count its calls");
		return 77;
	}
	Suite *suite = suite_create("steady");
	TCase *steady = gpu_case(suite, "steady", 60);
	tcase_add_test(steady, what_a_first_job_makes_is_seen);
	/* The first one is the host. */
	tcase_add_loop_test(steady, every_backend_comes_to_a_steady_state, 1,
			    count_backends());
	tcase_add_loop_test(steady, jobs_without_parameters_come_to_a_steady_state, 0,
			    PLACES * PLACES);
	tcase_add_loop_test(steady, typed_jobs_come_to_a_steady_state, 0, KINDS);
	tcase_add_loop_test(steady, copies_come_to_a_steady_state, 0, PLACES * PLACES);
	tcase_add_test(steady, batches_come_to_a_steady_state);
	return fixture_run(suite);
}
