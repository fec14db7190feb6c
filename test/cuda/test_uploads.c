/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists that are new with every message: their tables reach the device in time and without waiting for other work,
 * the steady state makes nothing, memory is not used again while a job may read it, and graphs keep what they read.
 */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "copy_backends/cuda/device/arena.h"
#include "copy_backends/cuda/device/completion.h"
#include "copy_backends/cuda/device/image.h"
#include "copy_backends/cuda/device/upload.h"
#include "support/fixture.h"
#include "support/gpu.h"

#define WORDS (1 << 16)

/* A list of words of the user's memory, in any order, and where they are packed. */
struct message {
	size_t count;
	ptrdiff_t *places;
	struct dtconv_type *type;
	struct arena packed;
	struct dtconv_convertor *convertor;
};

static struct arena user;

static void open_user(void)
{
	uint64_t *words = malloc(WORDS * sizeof(*words));

	for (size_t i = 0; i < WORDS; i++)
		words[i] = i * 0x9e3779b97f4a7c15;
	arena_open(&user, ARENA_DEVICE, WORDS * sizeof(*words));
	arena_write(&user, 0, words, WORDS * sizeof(*words));
	free(words);
}

static void close_user(void)
{
	arena_close(&user);
}

static void make_type(struct message *message, struct choices *choices)
{
	for (size_t i = 0; i < message->count; i++)
		message->places[i] = (ptrdiff_t)choose(choices, WORDS);
	fixture_ok(dtconv_type_create_indexed_block(
		message->count, 1, message->places,
		dtconv_type_predefined(fixture_context, DTCONV_DOUBLE), &message->type));
	fixture_ok(dtconv_type_commit(message->type));
}

static void message_open(struct message *message, size_t count, struct choices *choices)
{
	*message = (struct message){ .count = count,
				     .places = malloc(count * sizeof(ptrdiff_t)) };
	arena_open(&message->packed, ARENA_DEVICE, count * sizeof(uint64_t));
	make_type(message, choices);
}

static void message_close(struct message *message)
{
	dtconv_convertor_destroy(message->convertor);
	dtconv_type_unref(message->type);
	arena_close(&message->packed);
	free(message->places);
}

static void pack(const struct message *message)
{
	size_t bytes = message->count * sizeof(uint64_t);

	fixture_ok(dtconv_pack(message->type, 1, user.memory, message->packed.memory,
			       bytes, NULL));
}

static void start(struct message *message, CUstream stream)
{
	const struct dtconv_convertor_params params = fixture_in_stream(stream);

	dtconv_convertor_destroy(message->convertor);
	message->convertor = fixture_packer(message->type, 1, user.memory, &params);
	fixture_ok(dtconv_convertor_start(message->convertor, message->packed.memory,
					  message->count * sizeof(uint64_t), NULL, NULL));
}

static void finish(const struct message *message)
{
	fixture_ok(dtconv_convertor_wait(message->convertor, NULL));
}

static void check(const struct message *message, const char *what)
{
	uint64_t *got = malloc(message->count * sizeof(*got));

	arena_read(&message->packed, 0, got, message->count * sizeof(*got));
	for (size_t i = 0; i < message->count; i++)
		ck_assert_msg(got[i] == (uint64_t)message->places[i] * 0x9e3779b97f4a7c15,
			      "%s: block %zu of %zu is wrong", what, i, message->count);
	free(got);
}

/* Work of a first job: the kernels are loaded. */
static void warm_up(struct choices *choices)
{
	struct message message;

	message_open(&message, 100, choices);
	pack(&message);
	check(&message, "the first job");
	message_close(&message);
}

/* ---- the steady state -------------------------------------------------------------------- */

static const char *const makers[] = { "cuMemAlloc",        "cuMemFree",
				      "cuMemHostRegister", "cuMemHostUnregister",
				      "cuStreamDestroy",   "cuStreamCreateWithPriority",
				      "cuEventDestroy",    "cuEventCreate",
				      "cuCtxSynchronize" };

#define MAKERS (sizeof(makers) / sizeof(makers[0]))

static void count_makers(size_t calls[MAKERS])
{
	for (size_t i = 0; i < MAKERS; i++)
		calls[i] = gpu.standin ? gpu.standin->calls(makers[i]) : 0;
}

/* A new type, its first job, and its release. */
static void one_round(struct message *message, struct choices *choices, CUstream stream)
{
	dtconv_type_unref(message->type);
	make_type(message, choices);
	if (stream) {
		start(message, stream);
		finish(message);
		dtconv_convertor_destroy(message->convertor);
		message->convertor = NULL;
	} else {
		pack(message);
	}
	check(message, "a round");
}

START_TEST(new_lists_make_nothing)
{
	struct choices choices = fixture_choices(1);
	CUstream stream = _i % 2 ? gpu_stream() : NULL;
	size_t before[MAKERS], after[MAKERS];
	struct message message;

	message_open(&message, _i / 2 ? 4096 : 50000, &choices);
	for (int i = 0; i < 70; i++)
		one_round(&message, &choices, stream);
	count_makers(before);
	for (int i = 0; i < 40; i++)
		one_round(&message, &choices, stream);
	count_makers(after);
	for (size_t i = 0; i < MAKERS; i++)
		ck_assert_msg(after[i] == before[i], "%zu calls of %s",
			      after[i] - before[i], makers[i]);
	message_close(&message);
	if (stream)
		MUST(StreamDestroy(stream));
}
END_TEST

/* Lists that go round the ring, and beyond it. */
START_TEST(lists_of_every_length)
{
	struct choices choices = fixture_choices(2);
	static const size_t counts[] = { 9,      1000,   65536,  261000, 262000,
					 262144, 300000, 700000, 1100000 };

	for (size_t round = 0; round < 2; round++)
		for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
			struct message message;

			message_open(&message, counts[i] + round, &choices);
			pack(&message);
			check(&message, "a length");
			message_close(&message);
		}
}
END_TEST

/* ---- order ------------------------------------------------------------------------------- */

/* The upload waits for nothing in the job's stream, and another stream's job of the type only for the upload. */
START_TEST(a_blocked_stream_keeps_nobody_from_its_table)
{
	struct choices choices = fixture_choices(3);
	CUstream blocked = gpu_stream(), other = gpu_stream();
	struct message message;
	struct arena packed;
	struct spin spin;

	warm_up(&choices);
	message_open(&message, 5000, &choices);
	arena_open(&packed, ARENA_DEVICE, message.packed.bytes);
	spin_begin(&spin, blocked);
	start(&message, blocked);
	struct message second = message;
	second.packed = packed;
	second.convertor = NULL;
	start(&second, other);
	finish(&second);
	check(&second, "beside a blocked stream");
	pack(&second);
	check(&second, "without a stream");
	ck_assert_int_eq(dtconv_convertor_test(message.convertor, NULL),
			 DTCONV_INPROGRESS);
	spin_end(&spin);
	finish(&message);
	check(&message, "in the blocked stream");
	dtconv_convertor_destroy(second.convertor);
	message_close(&message);
	arena_close(&packed);
	MUST(StreamDestroy(blocked));
	MUST(StreamDestroy(other));
}
END_TEST

#define STREAMS 4

/* While uploads take their time, the jobs that need them wait on the device, whichever stream began the upload. */
START_TEST(jobs_wait_for_slow_uploads)
{
	struct choices choices = fixture_choices(4 + (uint64_t)_i);
	struct message messages[STREAMS];
	CUstream streams[STREAMS];

	warm_up(&choices);
	if (gpu.standin)
		gpu.standin->set(STANDIN_DELAY_US, 3000);
	for (int i = 0; i < STREAMS; i++)
		streams[i] = gpu_stream();
	for (int round = 0; round < 4; round++) {
		message_open(&messages[0], 3000, &choices);
		for (int i = 1; i < STREAMS; i++) {
			messages[i] = messages[0];
			arena_open(&messages[i].packed, ARENA_DEVICE,
				   3000 * sizeof(uint64_t));
		}
		for (int i = 0; i < STREAMS; i++)
			start(&messages[i], streams[i]);
		for (int i = 0; i < STREAMS; i++) {
			finish(&messages[i]);
			check(&messages[i], "behind a slow upload");
		}
		for (int i = 1; i < STREAMS; i++) {
			dtconv_convertor_destroy(messages[i].convertor);
			arena_close(&messages[i].packed);
		}
		message_close(&messages[0]);
	}
	if (gpu.standin)
		gpu.standin->set(STANDIN_DELAY_US, 20);
	for (int i = 0; i < STREAMS; i++)
		MUST(StreamDestroy(streams[i]));
}
END_TEST

#define ENTRIES 60

/* More parts than travel with the launch. */
START_TEST(a_batch_waits_for_its_part_table)
{
	struct choices choices = fixture_choices(20);
	struct message messages[ENTRIES];
	struct dtconv_batch_entry entries[ENTRIES];
	struct dtconv_batch *batch;

	warm_up(&choices);
	if (gpu.standin)
		gpu.standin->set(STANDIN_DELAY_US, 3000);
	for (int i = 0; i < ENTRIES; i++) {
		message_open(&messages[i], 200, &choices);
		entries[i] = (struct dtconv_batch_entry){
			.type = messages[i].type,
			.count = 1,
			.buffer = user.memory,
			.packed = messages[i].packed.memory,
			.bytes = messages[i].packed.bytes,
			.direction = DTCONV_BATCH_PACK,
		};
	}
	fixture_ok(dtconv_batch_create(fixture_context, entries, ENTRIES, NULL, &batch));
	fixture_ok(dtconv_batch_run(batch, NULL));
	dtconv_batch_destroy(batch);
	if (gpu.standin)
		gpu.standin->set(STANDIN_DELAY_US, 20);
	for (int i = 0; i < ENTRIES; i++) {
		check(&messages[i], "in a batch");
		message_close(&messages[i]);
	}
}
END_TEST

/* A list and one word behind it: unlike parts, which the resident kernel takes. */
static void add_word(struct message *message)
{
	const size_t last = message->count - 1;
	const size_t lengths[] = { 1, 1 };
	const ptrdiff_t displacements[] = { 0, message->places[last] * 8 };
	struct dtconv_type *list;

	fixture_ok(dtconv_type_create_indexed_block(
		last, 1, message->places,
		dtconv_type_predefined(fixture_context, DTCONV_DOUBLE), &list));
	struct dtconv_type *members[] = { list, dtconv_type_predefined(fixture_context,
								       DTCONV_DOUBLE) };
	dtconv_type_unref(message->type);
	fixture_ok(dtconv_type_create_struct(fixture_context, 2, lengths, displacements,
					     members, &message->type));
	dtconv_type_unref(list);
	fixture_ok(dtconv_type_commit(message->type));
}

START_TEST(the_resident_kernel_reads_what_is_there)
{
	struct choices choices = fixture_choices(21);

	warm_up(&choices);
	if (gpu.standin)
		gpu.standin->set(STANDIN_DELAY_US, 3000);
	for (int i = 0; i < 30; i++) {
		struct message message;

		message_open(&message, 401, &choices);
		add_word(&message);
		pack(&message);
		check(&message, "the first job of a list");
		pack(&message);
		check(&message, "the second job of a list");
		message_close(&message);
	}
	if (gpu.standin)
		gpu.standin->set(STANDIN_DELAY_US, 20);
	ck_assert_uint_gt(fixture_counters().resident_jobs, 0);
}
END_TEST

static void choose_resident(void)
{
	fixture_flags = DTCONV_CONTEXT_RESIDENT;
}

static void choose_launches(void)
{
	fixture_flags = 0;
}

/* ---- the library's own stream ------------------------------------------------------------ */

static struct dtc_cuda_context *device_context(void)
{
	return dtc_cuda_of(fixture_context)->contexts;
}

static const struct dtc_cuda_uploads *uploads(void)
{
	return device_context()->parts[DTC_CUDA_PART_upload];
}

/* The stream of the last piece. */
static CUstream last_stream(void)
{
	return uploads()
		->streams[dtc_cuda_upload_last(device_context()) % DTC_CUDA_UPLOADS];
}

static size_t calls_of(const char *name)
{
	return gpu.standin ? gpu.standin->calls(name) : 0;
}

static size_t stream_waits(void)
{
	return calls_of("cuStreamWaitEvent");
}

static void start_alone(struct message *message)
{
	dtconv_convertor_destroy(message->convertor);
	message->convertor = fixture_packer(message->type, 1, user.memory, NULL);
	fixture_ok(dtconv_convertor_start(message->convertor, message->packed.memory,
					  message->count * sizeof(uint64_t), NULL, NULL));
}

/* One message after another: each table goes before its job, into memory that the caches hold. */
START_TEST(a_job_alone_takes_its_table_along)
{
	struct choices choices = fixture_choices(22);
	struct message message;

	warm_up(&choices);
	message_open(&message, 20000, &choices);
	const size_t waits = stream_waits(), records = calls_of("cuEventRecord");
	for (int i = 0; i < 40; i++) {
		one_round(&message, &choices, NULL);
		ck_assert(last_stream() == device_context()->lanes[DTC_CUDA_LANE_PACK]);
		ck_assert_uint_lt(uploads()->filled % DTC_CUDA_UPLOAD_RING_BYTES, 100000);
	}
	ck_assert_uint_eq(stream_waits(), waits);
	ck_assert_uint_eq(calls_of("cuEventRecord"), records);
	message_close(&message);
}
END_TEST

/* Copies must not wait for the work of other jobs, and pieces end in their order. */
START_TEST(tables_of_several_jobs_have_their_stream)
{
	struct choices choices = fixture_choices(23);
	CUstream stream = gpu_stream();
	struct message first, second, third;

	warm_up(&choices);
	message_open(&first, 3000, &choices);
	message_open(&second, 4000, &choices);
	message_open(&third, 5000, &choices);
	if (gpu.standin)
		gpu.standin->set(STANDIN_DELAY_US, 3000);
	const size_t records = calls_of("cuEventRecord");
	start_alone(&first);
	/* Nobody waits for that job, so an event tells of its table. */
	if (gpu.standin)
		ck_assert_uint_eq(calls_of("cuEventRecord"), records + 1);
	ck_assert(last_stream() == device_context()->lanes[DTC_CUDA_LANE_PACK]);
	const uint64_t number = dtc_cuda_upload_last(device_context());
	const size_t waits = stream_waits();
	start_alone(&second);
	ck_assert(last_stream() == uploads()->stream);
	/* The second piece waits for the first one, and its job for it. */
	if (gpu.standin && uploads()->ended < number)
		ck_assert_uint_eq(stream_waits(), waits + 2);
	start(&third, stream);
	ck_assert(last_stream() == uploads()->stream);
	finish(&third);
	finish(&second);
	finish(&first);
	if (gpu.standin)
		gpu.standin->set(STANDIN_DELAY_US, 20);
	check(&first, "the first of three");
	check(&second, "the second of three");
	check(&third, "the third of three");
	message_close(&first);
	message_close(&second);
	message_close(&third);
	MUST(StreamDestroy(stream));
}
END_TEST

/* Jobs of one list, which is on its way in the library's own stream. */
START_TEST(other_streams_wait_for_a_table_in_ours)
{
	struct choices choices = fixture_choices(24 + (uint64_t)_i);
	CUstream stream = gpu_stream();
	struct message message;

	warm_up(&choices);
	message_open(&message, 6000, &choices);
	struct message second = message;
	arena_open(&second.packed, ARENA_DEVICE, message.packed.bytes);
	if (gpu.standin)
		gpu.standin->set(STANDIN_DELAY_US, 3000);
	start_alone(&message);
	start(&second, stream);
	finish(&second);
	check(&second, "in a stream");
	finish(&message);
	check(&message, "in the library's stream");
	if (gpu.standin)
		gpu.standin->set(STANDIN_DELAY_US, 20);
	dtconv_convertor_destroy(second.convertor);
	arena_close(&second.packed);
	message_close(&message);
	MUST(StreamDestroy(stream));
}
END_TEST

/* ---- whose end a job tells --------------------------------------------------------------- */

/* A job that is waited for, and a table for it alone that takes its time. */
struct brief {
	struct dtc_event job;
	struct dtc_cuda_reader reader;
	CUdeviceptr memory;
	uint64_t number;
};

static unsigned char table_bytes[4096];

static void brief_open(struct brief *brief)
{
	struct dtc_cuda_context *context = device_context();
	const struct dtc_cuda_table table = { .source = table_bytes,
					      .bytes = sizeof(table_bytes) };

	for (size_t i = 0; i < sizeof(table_bytes); i++)
		table_bytes[i] = (unsigned char)(i * 7 + 3);
	ck_assert(dtc_cuda_flag_take(context, context->lanes[DTC_CUDA_LANE_PACK],
				     &brief->job));
	brief->reader = (struct dtc_cuda_reader){ .stream = brief->job.stream,
						  .own = &brief->job,
						  .is_brief = true };
	ck_assert_int_eq(
		dtc_cuda_arena_take(context, sizeof(table_bytes), &brief->memory), 0);
	if (gpu.standin)
		gpu.standin->set(STANDIN_DELAY_US, 20000);
	ck_assert_int_eq(dtc_cuda_upload(context, brief->memory, &table, &brief->reader,
					 &brief->number),
			 0);
	if (gpu.standin)
		gpu.standin->set(STANDIN_DELAY_US, 20);
}

static void brief_close(struct brief *brief)
{
	dtc_cuda_flag_put(&brief->job);
	dtc_cuda_arena_put(device_context(), brief->memory);
}

static bool is_under_way(const struct brief *brief)
{
	return uploads()->ended < brief->number;
}

static void await_flag(const struct dtc_event *job)
{
	ck_assert_int_eq(dtc_cuda_flag_write(job), 0);
	while (!dtc_cuda_flag_is_written(job))
		gpu_nap(1);
}

/* Neither records an event nor asks for one. */
START_TEST(a_flag_tells_that_a_table_has_arrived)
{
	struct choices choices = fixture_choices(30);
	struct brief brief;

	warm_up(&choices);
	const size_t records = calls_of("cuEventRecord");
	brief_open(&brief);
	await_flag(&brief.job);
	const size_t queries = calls_of("cuEventQuery") + calls_of("cuStreamQuery");
	ck_assert(dtc_cuda_upload_is_idle(device_context()));
	ck_assert_uint_eq(calls_of("cuEventRecord"), records);
	ck_assert_uint_eq(calls_of("cuEventQuery") + calls_of("cuStreamQuery"), queries);
	brief_close(&brief);
}
END_TEST

/* The slot's next job has written the flag anew. */
START_TEST(an_idle_stream_tells_what_a_flag_no_longer_does)
{
	struct choices choices = fixture_choices(31);
	struct brief brief;
	struct dtc_event next;

	warm_up(&choices);
	brief_open(&brief);
	await_flag(&brief.job);
	dtc_cuda_flag_put(&brief.job);
	ck_assert(dtc_cuda_flag_take(device_context(), brief.job.stream, &next));
	ck_assert_uint_eq(next.slot, brief.job.slot);
	await_flag(&next);
	MUST(StreamSynchronize(brief.job.stream));
	const size_t queries = calls_of("cuStreamQuery");
	ck_assert(dtc_cuda_upload_is_idle(device_context()));
	if (gpu.standin)
		ck_assert_uint_eq(calls_of("cuStreamQuery"), queries + 1);
	brief.job = next;
	brief_close(&brief);
}
END_TEST

/* Another reader, and another upload, have the event recorded: they come behind the table. */
START_TEST(others_are_ordered_behind_a_table_without_an_event)
{
	struct choices choices = fixture_choices(32);
	CUstream stream = gpu_stream();
	const struct dtc_cuda_reader other = { .stream = stream };
	struct brief brief;
	void *got;

	warm_up(&choices);
	MUST(MemHostAlloc(&got, sizeof(table_bytes), 0));
	const size_t records = calls_of("cuEventRecord"), waits = stream_waits();
	brief_open(&brief);
	const struct dtc_cuda_table table = { .source = table_bytes, .bytes = 64 };
	uint64_t number = brief.number;
	const CUresult result =
		_i ? dtc_cuda_upload(device_context(), brief.memory, &table, &other,
				     &number)
		   : dtc_cuda_upload_order(device_context(), number, &other);
	ck_assert_int_eq(result, 0);
	if (gpu.standin) {
		ck_assert_uint_eq(stream_waits(), waits + 1);
		ck_assert_uint_eq(calls_of("cuEventRecord"), records + 1 + (size_t)_i);
	}
	if (_i)
		ck_assert_int_eq(dtc_cuda_upload_wait(device_context(), number), 0);
	ck_assert(!_i || !is_under_way(&brief));
	MUST(MemcpyAsync((CUdeviceptr)(uintptr_t)got, brief.memory, sizeof(table_bytes),
			 stream));
	MUST(StreamSynchronize(stream));
	ck_assert_mem_eq(got, table_bytes, sizeof(table_bytes));
	await_flag(&brief.job);
	brief_close(&brief);
	MUST(MemFreeHost(got));
	MUST(StreamDestroy(stream));
}
END_TEST

/* Nobody will write its flag, and its memory may be used again at once. */
START_TEST(a_job_that_is_given_back_leaves_no_upload)
{
	struct choices choices = fixture_choices(33);
	struct brief brief;

	warm_up(&choices);
	brief_open(&brief);
	struct dtc_event stranger = brief.job;
	stranger.value++;
	ck_assert_int_eq(dtc_cuda_upload_abandon(device_context(), &stranger), 0);
	if (gpu.standin)
		ck_assert(is_under_way(&brief));
	ck_assert_int_eq(dtc_cuda_upload_abandon(device_context(), &brief.job), 0);
	ck_assert(!is_under_way(&brief));
	brief_close(&brief);
}
END_TEST

/* ---- the ring ---------------------------------------------------------------------------- */

#define LONG_LISTS 12

/* The last piece, which has at least so many bytes, lies in the ring as a whole. */
static void expect_whole_piece(uint64_t before, size_t bytes)
{
	const uint64_t end = uploads()->filled;

	ck_assert_uint_ge(end - before, bytes);
	ck_assert_uint_eq((end - bytes) / DTC_CUDA_UPLOAD_RING_BYTES,
			  (end - 1) / DTC_CUDA_UPLOAD_RING_BYTES);
}

/* Tables of more bytes than the ring has, all in flight: none is written over, none begins where it would be cut. */
START_TEST(tables_in_flight_go_round_the_ring)
{
	struct choices choices = fixture_choices(28);
	CUstream stream = gpu_stream();
	struct message messages[LONG_LISTS];

	warm_up(&choices);
	for (size_t i = 0; i < LONG_LISTS; i++)
		message_open(&messages[i], 150000 + 1000 * i, &choices);
	if (gpu.standin)
		gpu.standin->set(STANDIN_DELAY_US, 20000);
	for (size_t i = 0; i < LONG_LISTS; i++) {
		const uint64_t before = uploads()->filled;

		start(&messages[i], stream);
		expect_whole_piece(before, messages[i].count * sizeof(int32_t));
	}
	if (gpu.standin)
		gpu.standin->set(STANDIN_DELAY_US, 20);
	for (size_t i = 0; i < LONG_LISTS; i++) {
		finish(&messages[i]);
		check(&messages[i], "round the ring");
		message_close(&messages[i]);
	}
	MUST(StreamDestroy(stream));
}
END_TEST

/* ---- graphs ------------------------------------------------------------------------------ */

static CUgraphExec capture(struct message *message, CUstream stream)
{
	CUgraphExec exec;
	CUgraph graph;

	MUST(StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	start(message, stream);
	MUST(StreamEndCapture(stream, &graph));
	MUST(GraphInstantiateWithFlags(&exec, graph, 0));
	MUST(GraphDestroy(graph));
	return exec;
}

/*
 * With the upload begun by the captured job, or under way because another one has begun it. A graph may be launched at
 * once, so its table is there.
 */
START_TEST(graphs_keep_their_tables)
{
	struct choices choices = fixture_choices(5);
	CUstream stream = gpu_stream(), other = gpu_stream();
	struct message message;

	warm_up(&choices);
	message_open(&message, 5000, &choices);
	if (gpu.standin)
		gpu.standin->set(STANDIN_DELAY_US, 3000);
	struct message early = message;
	if (_i)
		start(&early, other);
	CUgraphExec exec = capture(&message, stream);
	ck_assert_uint_eq(uploads()->ended, dtc_cuda_upload_last(device_context()));
	if (gpu.standin)
		gpu.standin->set(STANDIN_DELAY_US, 20);
	if (_i)
		finish(&early);
	dtconv_convertor_destroy(early.convertor);
	for (int replay = 0; replay < 3; replay++) {
		gpu_clear(message.packed.memory, message.packed.bytes);
		for (int i = 0; i < 60; i++)
			warm_up(&choices);
		MUST(GraphLaunch(exec, stream));
		MUST(StreamSynchronize(stream));
		check(&message, "a replay");
	}
	MUST(GraphExecDestroy(exec));
	message_close(&message);
	MUST(StreamDestroy(stream));
	MUST(StreamDestroy(other));
}
END_TEST

/* ---- the arena --------------------------------------------------------------------------- */

static CUdeviceptr take(size_t bytes)
{
	CUdeviceptr memory = 0;

	ck_assert_int_eq(dtc_cuda_arena_take(device_context(), bytes, &memory),
			 CUDA_SUCCESS);
	return memory;
}

static void put(CUdeviceptr memory)
{
	dtc_cuda_arena_put(device_context(), memory);
}

#define MOST (DTC_CUDA_ARENA_CHUNK_BYTES - 16 * DTC_CUDA_ARENA_GRAIN_BYTES)

/* So large that a chunk has room for one. */
START_TEST(memory_waits_for_jobs_in_flight)
{
	struct choices choices = fixture_choices(6);
	CUstream stream = gpu_stream();
	struct message early, late;
	struct spin spin;

	warm_up(&choices);
	message_open(&early, 100, &choices);
	message_open(&late, 100, &choices);
	put(take(MOST));
	CUdeviceptr first = take(MOST);
	spin_begin(&spin, stream);
	start(&early, stream);
	put(first);
	CUdeviceptr second = take(MOST);
	ck_assert(second != first);
	spin_end(&spin);
	finish(&early);
	/* A younger job is in flight, which began after the memory was given back. */
	spin_begin(&spin, stream);
	start(&late, stream);
	CUdeviceptr third = take(MOST);
	ck_assert(third == first);
	spin_end(&spin);
	finish(&late);
	put(second);
	put(third);
	message_close(&early);
	message_close(&late);
	MUST(StreamDestroy(stream));
}
END_TEST

/* Pieces do not overlap, whatever the order in which they come and go. */
START_TEST(pieces_are_apart)
{
	struct choices choices = fixture_choices(7);
	CUdeviceptr memory[64] = { 0 };
	size_t bytes[64] = { 0 };

	warm_up(&choices);
	for (int round = 0; round < 5000; round++) {
		size_t i = choose(&choices, 64);

		put(memory[i]);
		bytes[i] = 1 + choose(&choices, chance(&choices, 9) ? 1 << 20 : 20000);
		memory[i] = take(bytes[i]);
		ck_assert_uint_eq(memory[i] % 256, 0);
		for (size_t j = 0; j < 64; j++)
			ck_assert(i == j || !memory[j] ||
				  memory[j] + bytes[j] <= memory[i] ||
				  memory[i] + bytes[i] <= memory[j]);
	}
	for (size_t i = 0; i < 64; i++)
		put(memory[i]);
}
END_TEST

static void await_frees(size_t more_than)
{
	for (int naps = 0; gpu.standin && gpu.standin->calls("cuMemFree") <= more_than;
	     naps++) {
		ck_assert_int_lt(naps, 5000);
		gpu_nap(1);
	}
}

/* What lies idle beyond a limit goes back. */
START_TEST(idle_chunks_go_back)
{
	struct choices choices = fixture_choices(8);

	warm_up(&choices);
	size_t before = gpu.standin ? gpu.standin->calls("cuMemFree") : 0;
	CUdeviceptr first = take(DTC_CUDA_ARENA_IDLE_BYTES / 4 * 3);
	CUdeviceptr second = take(DTC_CUDA_ARENA_IDLE_BYTES / 4 * 3);
	put(first);
	gpu_nap(20);
	if (gpu.standin)
		ck_assert_uint_eq(gpu.standin->calls("cuMemFree"), before);
	put(second);
	await_frees(before);
}
END_TEST

/* After work whose completion cannot be observed, no memory is used again. */
START_TEST(retired_memory_goes_back)
{
	struct choices choices = fixture_choices(9);

	warm_up(&choices);
	size_t before = gpu.standin ? gpu.standin->calls("cuMemFree") : 0;
	CUdeviceptr first = take(100);
	dtc_cuda_arena_retire(device_context());
	CUdeviceptr second = take(100);
	ck_assert(second - first > 100 && first - second > 100);
	gpu_nap(20);
	if (gpu.standin)
		ck_assert_uint_eq(gpu.standin->calls("cuMemFree"), before);
	put(first);
	await_frees(before);
	put(second);
	warm_up(&choices);
}
END_TEST

/* A launch whose end cannot be marked, nor written, may still be running. */
START_TEST(a_stray_job_keeps_its_table)
{
	struct choices choices = fixture_choices(10);
	CUstream stream = gpu_stream();
	struct message message;
	struct spin spin;

	warm_up(&choices);
	message_open(&message, 60000, &choices);
	CUdeviceptr before = take(100);
	put(before);
	spin_begin(&spin, stream);
	const struct dtconv_convertor_params params = fixture_in_stream(stream);
	message.convertor = fixture_packer(message.type, 1, user.memory, &params);
	gpu.standin->inject("cuEventRecord", 2, CUDA_ERROR_OUT_OF_MEMORY);
	gpu.standin->inject("cuStreamWriteValue64", 1, CUDA_ERROR_OUT_OF_MEMORY);
	fixture_ok(dtconv_convertor_start(message.convertor, message.packed.memory,
					  message.packed.bytes, NULL, NULL));
	ck_assert_int_eq(dtconv_convertor_wait(message.convertor, NULL),
			 DTCONV_ERR_BACKEND);
	ck_assert_uint_eq(gpu.standin->fired(), 2);
	gpu.standin->inject_clear();
	dtconv_convertor_destroy(message.convertor);
	message.convertor = NULL;
	dtconv_type_unref(message.type);
	message.type = NULL;
	/* It would be the first that is found. */
	for (int i = 0; i < 2000; i++) {
		CUdeviceptr memory = take(DTC_CUDA_ARENA_GRAIN_BYTES);

		ck_assert(memory - before >= DTC_CUDA_ARENA_CHUNK_BYTES);
		put(memory);
	}
	spin_end(&spin);
	MUST(StreamSynchronize(stream));
	check(&message, "the stray job");
	message_close(&message);
	MUST(StreamDestroy(stream));
}
END_TEST

/* ---- faults ------------------------------------------------------------------------------ */

static const char *const faulty[] = {
	"cuMemAlloc",      "cuMemHostRegister", "cuMemHostGetDevicePointer",
	"cuEventCreate",   "cuMemcpyAsync",     "cuEventRecord",
	"cuEventQuery",    "cuStreamWaitEvent", "cuStreamCreateWithPriority",
	"cuCtxPushCurrent"
};

#define FAULTY (int)(sizeof(faulty) / sizeof(faulty[0]))

/* New lists, each with a fault at the next call: a status and a sentence, and the next list is moved. */
START_TEST(a_fault_fails_one_job)
{
	struct choices choices = fixture_choices(11);
	size_t failed = 0;

	warm_up(&choices);
	for (unsigned nth = 1; nth < 12; nth++) {
		struct message message;

		message_open(&message, nth % 3 ? 2000 : 400000, &choices);
		gpu.standin->inject(faulty[_i], nth, CUDA_ERROR_INVALID_VALUE);
		int status = dtconv_pack(message.type, 1, user.memory,
					 message.packed.memory, message.packed.bytes,
					 NULL);
		bool fired = gpu.standin->fired();
		gpu.standin->inject_clear();
		if (status) {
			ck_assert_int_eq(status, DTCONV_ERR_BACKEND);
			ck_assert_ptr_nonnull(
				strstr(fixture_error(), "CUDA_ERROR_INVALID_VALUE"));
			ck_assert(fired);
			failed++;
		}
		pack(&message);
		check(&message, faulty[_i]);
		message_close(&message);
	}
	if (!strcmp(faulty[_i], "cuMemcpyAsync"))
		ck_assert_uint_ge(failed, 2);
	gpu_must_be_idle(fixture_context, faulty[_i]);
}
END_TEST

/* ---- threads ----------------------------------------------------------------------------- */

#define THREADS 4

struct racer {
	pthread_t thread;
	struct message *shared;
	CUcontext context;
	struct arena packed;
	uint64_t seed;
};

/* Its own lists, and a list that all have from the same moment on. */
static void *race(void *arg)
{
	struct racer *racer = arg;
	struct message mine = *racer->shared;
	struct choices choices;

	MUST(CtxSetCurrent(racer->context));
	choices_from_seed(&choices, racer->seed);
	mine.packed = racer->packed;
	pack(&mine);
	check(&mine, "a shared list");
	for (int i = 0; i < 30; i++) {
		struct message own;

		message_open(&own, 1 + choose(&choices, 9000), &choices);
		pack(&own);
		check(&own, "a list of a thread's");
		message_close(&own);
	}
	return NULL;
}

START_TEST(threads_share_the_ring)
{
	struct choices choices = fixture_choices(12);
	struct racer racers[THREADS];
	struct message shared;

	warm_up(&choices);
	message_open(&shared, 7000, &choices);
	for (int i = 0; i < THREADS; i++) {
		racers[i] = (struct racer){ .shared = &shared, .seed = (uint64_t)i + 77 };
		MUST(CtxGetCurrent(&racers[i].context));
		arena_open(&racers[i].packed, ARENA_DEVICE, shared.packed.bytes);
	}
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(
			pthread_create(&racers[i].thread, NULL, race, &racers[i]), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(racers[i].thread, NULL);
		arena_close(&racers[i].packed);
	}
	message_close(&shared);
}
END_TEST

int main(void)
{
	setenv("CK_FORK", "yes", 0);
	gpu_find();
	Suite *suite = suite_create("uploads");
	TCase *tcase = gpu_case(suite, "uploads", 120);
	tcase_add_checked_fixture(tcase, open_user, close_user);
	tcase_add_loop_test(tcase, new_lists_make_nothing, 0, 4);
	tcase_add_test(tcase, lists_of_every_length);
	tcase_add_test(tcase, a_blocked_stream_keeps_nobody_from_its_table);
	tcase_add_loop_test(tcase, jobs_wait_for_slow_uploads, 0, 3);
	tcase_add_test(tcase, a_batch_waits_for_its_part_table);
	tcase_add_test(tcase, a_job_alone_takes_its_table_along);
	tcase_add_test(tcase, tables_of_several_jobs_have_their_stream);
	tcase_add_loop_test(tcase, other_streams_wait_for_a_table_in_ours, 0, 4);
	tcase_add_test(tcase, a_flag_tells_that_a_table_has_arrived);
	tcase_add_test(tcase, an_idle_stream_tells_what_a_flag_no_longer_does);
	tcase_add_loop_test(tcase, others_are_ordered_behind_a_table_without_an_event, 0,
			    2);
	tcase_add_test(tcase, a_job_that_is_given_back_leaves_no_upload);
	tcase_add_test(tcase, tables_in_flight_go_round_the_ring);
	tcase_add_loop_test(tcase, graphs_keep_their_tables, 0, 2);
	tcase_add_test(tcase, memory_waits_for_jobs_in_flight);
	tcase_add_test(tcase, pieces_are_apart);
	tcase_add_test(tcase, idle_chunks_go_back);
	tcase_add_test(tcase, retired_memory_goes_back);
	tcase_add_test(tcase, threads_share_the_ring);
	if (!gpu_is_real()) {
		tcase_add_test(tcase, a_stray_job_keeps_its_table);
		tcase_add_loop_test(tcase, a_fault_fails_one_job, 0, FAULTY);
	}
	TCase *resident = gpu_case(suite, "resident", 120);
	tcase_add_unchecked_fixture(resident, choose_resident, choose_launches);
	tcase_add_checked_fixture(resident, open_user, close_user);
	tcase_add_test(resident, the_resident_kernel_reads_what_is_there);
	return fixture_run(suite);
}
