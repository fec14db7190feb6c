/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every public path into device memory, in surroundings that a program may put it in: a kernel that
 * does not end, a capture of another thread, no current context, a consumer in another stream, a kernel that owns
 * the gaps of what is unpacked. A path is a row of a table; each goes through each of them before the kernels
 * are loaded, which a busy device keeps away, and when they are. Knows nothing of how bytes are moved.
 */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/fixture.h"
#include "support/gpu.h"

/* ---- jobs ------------------------------------------------------------------------------ */

struct job;

enum how { NATIVE, CHECKSUM, EXTERNAL32, SUM };

struct path {
	const char *name;
	void (*begin)(struct job *job);
	void (*end)(struct job *job); /* of what is started; else NULL */
	enum arena_kind user, packed;
	bool unpacks;
	bool ordered; /* in a stream of the caller's */
	bool idle;    /* moves nothing */
	bool waits;   /* may wait for the device */
	enum how how;
	const char *text;     /* of the type; NULL: TYPE */
	const char *from;     /* of the type that is copied from, or NULL */
	const char *backends; /* NULL: all */
};

#define INSTANCES 2
#define TYPE      "vector(100, 3, 5, int32)"
#define STRIDED   "vector(60, 5, 9, int32)"
#define IRREGULAR \
	"contiguous(15, resized(indexed([1,2,3,1,2,4,5,2], [0,2,5,9,11,14,19,30], int32), 0, 160))"
#define TRANSPOSED "contiguous(20, resized(vector(15, 1, 20, int32), 0, 4))"
#define LONG_TYPE "vector(7000, 3, 5, int32)"

struct job {
	const struct path *path;
	size_t width; /* of a number */
	struct stage stage, source;
	struct arena user, packed, from;
	unsigned char *stream;   /* as it is packed */
	unsigned char *expected; /* what is unpacked, as if packed again */
	unsigned char *image;    /* of the result */
	struct dtconv_representation external32;
	CUstream caller;
	struct dtconv_convertor *convertor;
	struct dtconv_batch *batch;
	struct dtconv_copier *copier;
};

static void must(const struct job *job, int status)
{
	ck_assert_msg(!status, "%s: %s: %s", job->path->name, dtconv_strerror(status),
		      fixture_error());
}

static void stage(struct stage *stage, const char *text, size_t shift)
{
	ck_assert_msg(!stage_open(stage, fixture_type(text), INSTANCES, shift, shift, 7),
		      "%s cannot be staged", text);
}

/* The bytes of each number in the other order. */
static void turn(unsigned char *bytes, size_t count, size_t width)
{
	for (size_t at = 0; at + width <= count; at += width)
		for (size_t i = 0; i < width / 2; i++) {
			unsigned char first = bytes[at + i];

			bytes[at + i] = bytes[at + width - 1 - i];
			bytes[at + width - 1 - i] = first;
		}
}

/* One more arrival of the stream is added to what is expected, each number modulo its width. */
static void add(struct job *job)
{
	const unsigned char *arriving = job->stage.stream;
	unsigned carry = 0;

	for (size_t i = 0; i < job->stage.bytes; i++) {
		carry = (i % job->width ? carry : 0) + job->expected[i] + arriving[i];
		job->expected[i] = (unsigned char)carry;
		carry >>= 8;
	}
}

/* What lies in the user's memory before the move, as it would be packed. */
static void expect_guards(struct job *job)
{
	const struct stage *stage = &job->stage;

	for (size_t i = 0; i < stage->bytes; i++)
		job->expected[i] = stage_guard_byte(
			(size_t)(stage->target + stage->map[i] - stage->target_memory));
}

static void expect(struct job *job)
{
	const struct stage *from = job->path->from ? &job->source : &job->stage;

	memcpy(job->stream, from->stream, from->bytes);
	memcpy(job->expected, from->stream, from->bytes);
	if (job->path->how == EXTERNAL32)
		turn(job->stream, from->bytes, job->width);
	if (job->path->how == SUM)
		expect_guards(job);
}

/* All memory as it is before the move. */
static void fill(struct job *job)
{
	struct stage *stage = &job->stage;

	expect(job);
	stage_blank(stage);
	memset(job->image, 0, stage->bytes);
	arena_write(&job->user, 0,
		    job->path->unpacks ? stage->target_memory : stage->source_memory,
		    stage->memory_bytes);
	arena_write(&job->packed, 0, job->path->unpacks ? job->stream : job->image,
		    stage->bytes);
	if (job->path->from)
		arena_write(&job->from, 0, job->source.source_memory,
			    job->source.memory_bytes);
}

static void job_open_type(struct job *job, const struct path *path, CUstream caller,
			  const char *text, size_t width, size_t shift)
{
	*job = (struct job){ .path = path, .caller = caller, .width = width };
	stage(&job->stage, text, shift);
	job->stream = malloc(job->stage.bytes);
	job->expected = malloc(job->stage.bytes);
	job->image = malloc(job->stage.memory_bytes + job->stage.bytes);
	ck_assert(job->stream && job->expected && job->image);
	arena_open(&job->user, path->user, job->stage.memory_bytes);
	arena_open(&job->packed, path->packed, job->stage.bytes);
	if (path->from) {
		stage(&job->source, path->from, 0);
		arena_open(&job->from, ARENA_DEVICE, job->source.memory_bytes);
	}
	fixture_ok(dtconv_representation_find("external32", &job->external32));
	fill(job);
}

static void job_open(struct job *job, const struct path *path, CUstream caller)
{
	job_open_type(job, path, caller, path->text ? path->text : TYPE, sizeof(int32_t),
		      0);
}

static void job_close(struct job *job)
{
	arena_close(&job->user);
	arena_close(&job->packed);
	if (job->path->from) {
		arena_close(&job->from);
		fixture_close(&job->source);
	}
	free(job->stream);
	free(job->expected);
	free(job->image);
	fixture_close(&job->stage);
}

static void move(struct job *job)
{
	job->path->begin(job);
	if (job->path->end)
		job->path->end(job);
	if (job->path->how == SUM)
		add(job);
}

static const struct arena *result_of(const struct job *job)
{
	return job->path->unpacks ? &job->user : &job->packed;
}

static size_t result_bytes(const struct job *job)
{
	return job->path->unpacks ? job->stage.memory_bytes : job->stage.bytes;
}

static void check_packed(const struct job *job)
{
	for (size_t i = 0; i < job->stage.bytes; i++)
		ck_assert_msg(job->image[i] == job->stream[i],
			      "%s: packed byte %zu is wrong", job->path->name, i);
}

/* What was unpacked is in its place, and nothing else was touched. */
static void check_unpacked(struct job *job)
{
	struct stage seen = job->stage;

	seen.stream = job->expected;
	memcpy(seen.target_memory, job->image, seen.memory_bytes);
	stage_deliver(&seen, 0, seen.bytes);
	size_t wrong = stage_first_wrong(&seen);
	ck_assert_msg(wrong == STAGE_RIGHT, "%s: the byte at displacement %td is wrong",
		      job->path->name, stage_displacement(&seen, wrong));
}

/* The image is right. */
static void check_image(struct job *job)
{
	if (job->path->unpacks)
		check_unpacked(job);
	else
		check_packed(job);
}

static void check(struct job *job)
{
	if (job->path->idle)
		return;
	arena_read(result_of(job), 0, job->image, result_bytes(job));
	check_image(job);
}

/* Everything that the path needs is there from now on. */
static void settle(struct job *job)
{
	for (int round = 0; round < 2; round++) {
		move(job);
		check(job);
		fill(job);
	}
}

/* ---- paths ----------------------------------------------------------------------------- */

static unsigned char *user_of(const struct job *job)
{
	const struct stage *stage = &job->stage;

	return job->user.memory + (job->path->unpacks
					   ? stage->target - stage->target_memory
					   : stage->source - stage->source_memory);
}

static struct dtconv_convertor_params params_of(const struct job *job)
{
	const struct path *path = job->path;

	return (struct dtconv_convertor_params){
		.struct_size = sizeof(struct dtconv_convertor_params),
		.representation = path->how == EXTERNAL32 ? &job->external32 : NULL,
		.op = path->how == SUM ? DTCONV_OP_SUM : DTCONV_OP_REPLACE,
		.flags = (path->how == CHECKSUM ? DTCONV_CONVERTOR_CRC32C : 0u) |
			 (path->ordered ? DTCONV_CONVERTOR_STREAM : 0u),
		.stream = path->ordered ? job->caller : NULL,
		.backends = path->backends,
	};
}

static void one_shot(struct job *job)
{
	const size_t bytes = job->stage.bytes;
	size_t moved;

	if (job->path->unpacks)
		must(job, dtconv_unpack(job->stage.type, INSTANCES, user_of(job),
					job->packed.memory, bytes, &moved));
	else
		must(job, dtconv_pack(job->stage.type, INSTANCES, user_of(job),
				      job->packed.memory, bytes, &moved));
	ck_assert_uint_eq(moved, bytes);
}

static void at_positions(struct job *job)
{
	const size_t cut = job->stage.bytes / 3 + 1, bytes = job->stage.bytes;
	unsigned char *packed = job->packed.memory;

	for (size_t at = 0, moved; at < bytes; at += moved) {
		size_t some = cut < bytes - at ? cut : bytes - at;

		if (job->path->unpacks)
			must(job,
			     dtconv_unpack_at(job->stage.type, INSTANCES, user_of(job),
					      at, packed + at, some, &moved));
		else
			must(job, dtconv_pack_at(job->stage.type, INSTANCES, user_of(job),
						 at, packed + at, some, &moved));
		ck_assert_uint_eq(moved, some);
	}
}

static void in_buffers(struct job *job)
{
	const size_t cut = job->stage.bytes / 3 + 1, bytes = job->stage.bytes;
	unsigned char *packed = job->packed.memory;
	const struct iovec iov[] = { { packed, cut }, { packed + cut, bytes - cut } };
	size_t moved;

	if (job->path->unpacks)
		must(job, dtconv_unpack_iov(job->stage.type, INSTANCES, user_of(job), iov,
					    2, &moved));
	else
		must(job, dtconv_pack_iov(job->stage.type, INSTANCES, user_of(job), iov,
					  2, &moved));
	ck_assert_uint_eq(moved, bytes);
}

static void one_shot_with(struct job *job)
{
	const struct dtconv_convertor_params params = params_of(job);
	const size_t bytes = job->stage.bytes;
	size_t moved;

	if (job->path->unpacks)
		must(job, dtconv_unpack_with(job->stage.type, INSTANCES, user_of(job),
					     job->packed.memory, bytes, &params, &moved));
	else
		must(job, dtconv_pack_with(job->stage.type, INSTANCES, user_of(job),
					   job->packed.memory, bytes, &params, &moved));
	ck_assert_uint_eq(moved, bytes);
}

static void copied(struct job *job)
{
	const struct stage *source = &job->source;
	size_t moved;

	must(job, dtconv_copy(source->type, INSTANCES,
			      job->from.memory + (source->source - source->source_memory),
			      job->stage.type, INSTANCES, user_of(job), &moved));
	ck_assert_uint_eq(moved, source->bytes);
}

static void copy_start(struct job *job)
{
	const struct dtconv_copier_params params = {
		.struct_size = sizeof(params),
		.flags = job->path->ordered ? DTCONV_COPIER_STREAM : 0,
		.stream = job->path->ordered ? job->caller : NULL,
	};
	const struct stage *source = &job->source;

	must(job, dtconv_copier_create(source->type, INSTANCES,
				       job->from.memory +
					       (source->source - source->source_memory),
				       job->stage.type, INSTANCES, user_of(job), &params,
				       &job->copier));
	must(job, dtconv_copier_start(job->copier, NULL, NULL));
}

static void copy_await(struct job *job)
{
	size_t moved;

	must(job, dtconv_copier_wait(job->copier, &moved));
	ck_assert_uint_eq(moved, job->source.bytes);
	dtconv_copier_destroy(job->copier);
}

static void copy_ask(struct job *job)
{
	size_t moved;
	int status;

	while ((status = dtconv_copier_test(job->copier, &moved)) == DTCONV_INPROGRESS)
		gpu_nap(1);
	must(job, status);
	ck_assert_uint_eq(moved, job->source.bytes);
	dtconv_copier_destroy(job->copier);
}

static void bind(struct job *job, size_t instances)
{
	if (job->path->unpacks)
		must(job, dtconv_convertor_create_unpack(job->stage.type, instances,
							 user_of(job), &job->convertor));
	else
		must(job, dtconv_convertor_create_pack(job->stage.type, instances,
						       user_of(job), &job->convertor));
	const struct dtconv_convertor_params params = params_of(job);
	must(job, dtconv_convertor_configure(job->convertor, &params));
}

static void next(struct job *job, size_t at, size_t bytes)
{
	size_t moved;

	if (job->path->unpacks)
		must(job, dtconv_convertor_unpack(job->convertor, job->packed.memory + at,
						  bytes, &moved));
	else
		must(job, dtconv_convertor_pack(job->convertor, job->packed.memory + at,
						bytes, &moved));
	ck_assert_uint_eq(moved, bytes);
}

static void release(struct job *job)
{
	uint32_t crc = 0;

	if (job->path->how == CHECKSUM) {
		must(job, dtconv_convertor_crc32c(job->convertor, &crc));
		ck_assert_msg(crc == dtconv_crc32c(0, job->stream, job->stage.bytes),
			      "%s: the checksum is wrong", job->path->name);
	}
	dtconv_convertor_destroy(job->convertor);
}

static void by_convertor(struct job *job)
{
	bind(job, INSTANCES);
	next(job, 0, job->stage.bytes);
	release(job);
}

/* They cut elements. */
static size_t fragment_of(const struct job *job)
{
	return job->stage.bytes / 3 / 2 * 2 + 1;
}

static void next_fragment(struct job *job, size_t at)
{
	const size_t rest = job->stage.bytes - at, most = fragment_of(job);

	next(job, at, rest < most ? rest : most);
}

static void in_fragments(struct job *job)
{
	bind(job, INSTANCES);
	for (size_t at = 0; at < job->stage.bytes; at += fragment_of(job))
		next_fragment(job, at);
	release(job);
}

static void backwards(struct job *job)
{
	const size_t fragment = fragment_of(job);

	bind(job, INSTANCES);
	for (size_t i = (job->stage.bytes + fragment - 1) / fragment; i-- > 0;) {
		must(job, dtconv_convertor_seek(job->convertor, i * fragment));
		next_fragment(job, i * fragment);
	}
	release(job);
}

static void by_clone(struct job *job)
{
	const size_t begun = fragment_of(job);
	struct dtconv_convertor *clone;

	bind(job, INSTANCES);
	next(job, 0, begun);
	must(job, dtconv_convertor_clone(job->convertor, &clone));
	dtconv_convertor_destroy(job->convertor);
	job->convertor = clone;
	next(job, begun, job->stage.bytes - begun);
	release(job);
}

static void rebound(struct job *job)
{
	const struct stage *stage = &job->stage;

	bind(job, 1);
	if (job->path->unpacks)
		must(job, dtconv_convertor_rebind_unpack(job->convertor, stage->type,
							 INSTANCES, user_of(job)));
	else
		must(job, dtconv_convertor_rebind_pack(job->convertor, stage->type,
						       INSTANCES, user_of(job)));
	next(job, 0, stage->bytes);
	release(job);
}

static void start(struct job *job)
{
	bind(job, INSTANCES);
	must(job, dtconv_convertor_start(job->convertor, job->packed.memory,
					 job->stage.bytes, NULL, NULL));
}

static void await(struct job *job)
{
	size_t moved;

	must(job, dtconv_convertor_wait(job->convertor, &moved));
	ck_assert_uint_eq(moved, job->stage.bytes);
	release(job);
}

static void ask(struct job *job)
{
	size_t moved;
	int status;

	while ((status = dtconv_convertor_test(job->convertor, &moved)) ==
	       DTCONV_INPROGRESS)
		gpu_nap(1);
	must(job, status);
	ck_assert_uint_eq(moved, job->stage.bytes);
	release(job);
}

/* An entry for each instance. */
static void make_batch(struct job *job)
{
	const struct dtconv_batch_params params = {
		.struct_size = sizeof(params),
		.flags = job->path->ordered ? DTCONV_BATCH_STREAM : 0,
		.stream = job->path->ordered ? job->caller : NULL,
	};
	struct dtconv_type_attr attr = { .struct_size = sizeof(attr) };
	struct dtconv_batch_entry entries[INSTANCES];

	must(job, dtconv_type_query(job->stage.type, &attr));
	for (size_t i = 0; i < INSTANCES; i++)
		entries[i] = (struct dtconv_batch_entry){
			.type = job->stage.type,
			.count = 1,
			.buffer = user_of(job) + (ptrdiff_t)i * attr.extent,
			.packed = job->packed.memory + i * attr.size,
			.bytes = attr.size,
			.direction = job->path->unpacks ? DTCONV_BATCH_UNPACK
							: DTCONV_BATCH_PACK,
		};
	must(job, dtconv_batch_create(fixture_context, entries, INSTANCES, &params,
				      &job->batch));
}

static void batch_run(struct job *job)
{
	size_t moved;

	make_batch(job);
	must(job, dtconv_batch_run(job->batch, &moved));
	ck_assert_uint_eq(moved, job->stage.bytes);
	dtconv_batch_destroy(job->batch);
}

static void batch_start(struct job *job)
{
	make_batch(job);
	must(job, dtconv_batch_start(job->batch, NULL, NULL));
}

static void batch_await(struct job *job)
{
	size_t moved;

	must(job, dtconv_batch_wait(job->batch, &moved));
	ck_assert_uint_eq(moved, job->stage.bytes);
	dtconv_batch_destroy(job->batch);
}

static void memory_asked(struct job *job)
{
	struct dtconv_memory_attr user = { .struct_size = sizeof(user) }, packed = user;

	must(job, dtconv_memory_query(fixture_context, job->user.memory, &user));
	must(job, dtconv_memory_query(fixture_context, job->packed.memory, &packed));
	ck_assert_int_eq(user.kind, DTCONV_MEMORY_DEVICE);
	ck_assert_int_eq(user.device, 0);
	ck_assert_int_eq(packed.kind, DTCONV_MEMORY_PINNED);
}

static void explained(struct job *job)
{
	char text[8000];
	size_t length;

	must(job, dtconv_explain(job->stage.type, INSTANCES, DTCONV_MEMORY_DEVICE,
				 DTCONV_MEMORY_DEVICE, text, sizeof(text), &length));
	ck_assert_uint_gt(length, 0);
}

static void context_made(struct job *job)
{
	struct dtconv_context *context;

	must(job, dtconv_context_create(NULL, &context));
	dtconv_context_destroy(context);
}

static void context_used(struct job *job)
{
	const char *text = TYPE;
	struct dtconv_context *context;
	struct dtconv_type *type;

	must(job, dtconv_context_create(NULL, &context));
	must(job, dtconv_type_parse(context, text, strlen(text), &type));
	must(job, dtconv_type_commit(type));
	must(job, dtconv_pack(type, INSTANCES, user_of(job), job->packed.memory,
			      job->stage.bytes, NULL));
	dtconv_type_unref(type);
	dtconv_context_destroy(context);
}

#define INSIDE    .user = ARENA_DEVICE, .packed = ARENA_DEVICE
#define TO_PINNED .user = ARENA_DEVICE, .packed = ARENA_PINNED
#define TO_HOST   .user = ARENA_DEVICE, .packed = ARENA_HOST
#define UNPACKS   .unpacks = true

static const struct path paths[] = {
	{ "pack", one_shot, INSIDE },
	{ "unpack", one_shot, INSIDE, UNPACKS },
	{ "pack at positions", at_positions, INSIDE },
	{ "unpack at positions", at_positions, INSIDE, UNPACKS },
	{ "pack into buffers", in_buffers, INSIDE },
	{ "unpack from buffers", in_buffers, INSIDE, UNPACKS },
	{ "pack in a stream", one_shot_with, INSIDE, .ordered = true },
	{ "unpack in a stream", one_shot_with, INSIDE, UNPACKS, .ordered = true },
	{ "pack by convertor", by_convertor, INSIDE },
	{ "unpack by convertor", by_convertor, INSIDE, UNPACKS },
	{ "pack in fragments", in_fragments, INSIDE },
	{ "unpack in fragments", in_fragments, INSIDE, UNPACKS },
	{ "pack backwards", backwards, INSIDE },
	{ "unpack backwards", backwards, INSIDE, UNPACKS },
	{ "pack by clone", by_clone, INSIDE },
	{ "unpack by clone", by_clone, INSIDE, UNPACKS },
	{ "pack rebound", rebound, INSIDE },
	{ "unpack rebound", rebound, INSIDE, UNPACKS },
	{ "start to pack, wait", start, await, INSIDE },
	{ "start to unpack, wait", start, await, INSIDE, UNPACKS },
	{ "start to pack, test", start, ask, INSIDE },
	{ "start to unpack, test", start, ask, INSIDE, UNPACKS },
	{ "start to pack in a stream, wait", start, await, INSIDE, .ordered = true },
	{ "start to unpack in a stream, wait", start, await, INSIDE, UNPACKS,
	  .ordered = true },
	{ "start to pack in a stream, test", start, ask, INSIDE, .ordered = true },
	{ "start to unpack in a stream, test", start, ask, INSIDE, UNPACKS,
	  .ordered = true },
	{ "copy", copied, INSIDE, UNPACKS, .from = STRIDED },
	{ "copy a transposed layout", copied, INSIDE, UNPACKS, .from = TRANSPOSED },
	{ "copy an irregular layout", copied, INSIDE, UNPACKS, .from = IRREGULAR },
	{ "start to copy, wait", copy_start, copy_await, INSIDE, UNPACKS,
	  .from = STRIDED },
	{ "start to copy, test", copy_start, copy_ask, INSIDE, UNPACKS, .from = STRIDED },
	{ "start to copy in a stream, wait", copy_start, copy_await, INSIDE, UNPACKS,
	  .from = STRIDED, .ordered = true },
	{ "start to copy in a stream, test", copy_start, copy_ask, INSIDE, UNPACKS,
	  .from = IRREGULAR, .ordered = true },
	{ "start to copy a transposed layout", copy_start, copy_await, INSIDE, UNPACKS,
	  .from = TRANSPOSED },
	{ "pack with a checksum", one_shot_with, INSIDE, .how = CHECKSUM },
	{ "pack by convertor with a checksum", by_convertor, INSIDE, .how = CHECKSUM },
	{ "unpack by convertor with a checksum", by_convertor, INSIDE, UNPACKS,
	  .how = CHECKSUM },
	{ "unpack in fragments with a checksum", in_fragments, INSIDE, UNPACKS,
	  .how = CHECKSUM },
	{ "start to pack with a checksum", start, await, INSIDE, .ordered = true,
	  .how = CHECKSUM },
	{ "pack to host memory with a checksum", by_convertor, TO_HOST, .how = CHECKSUM },
	{ "pack external32", one_shot_with, INSIDE, .how = EXTERNAL32 },
	{ "unpack external32", one_shot_with, INSIDE, UNPACKS, .how = EXTERNAL32 },
	{ "pack external32 in fragments", in_fragments, INSIDE, .how = EXTERNAL32 },
	{ "unpack external32 in fragments", in_fragments, INSIDE, UNPACKS,
	  .how = EXTERNAL32 },
	{ "pack external32 to host memory", one_shot_with, TO_HOST, .how = EXTERNAL32 },
	{ "unpack external32 from host memory", one_shot_with, TO_HOST, UNPACKS,
	  .how = EXTERNAL32 },
	{ "start to pack external32", start, await, INSIDE, .ordered = true,
	  .how = EXTERNAL32 },
	{ "start to unpack external32", start, await, INSIDE, UNPACKS, .ordered = true,
	  .how = EXTERNAL32 },
	{ "sum", one_shot_with, INSIDE, UNPACKS, .how = SUM },
	{ "sum in fragments", in_fragments, INSIDE, UNPACKS, .how = SUM },
	{ "sum from host memory", one_shot_with, TO_HOST, UNPACKS, .how = SUM },
	{ "sum from pinned memory", one_shot_with, TO_PINNED, UNPACKS, .how = SUM },
	{ "start to sum", start, await, INSIDE, UNPACKS, .ordered = true, .how = SUM },
	{ "run a batch that packs", batch_run, INSIDE },
	{ "run a batch that unpacks", batch_run, INSIDE, UNPACKS },
	{ "start a batch that packs", batch_start, batch_await, INSIDE, .ordered = true },
	{ "start a batch that unpacks", batch_start, batch_await, INSIDE, UNPACKS,
	  .ordered = true },
	{ "run a batch to host memory", batch_run, TO_HOST },
	{ "pack to host memory", one_shot, TO_HOST },
	{ "unpack from host memory", one_shot, TO_HOST, UNPACKS },
	{ "pack host memory", one_shot, .user = ARENA_HOST, .packed = ARENA_DEVICE },
	{ "unpack to host memory", one_shot, .user = ARENA_HOST, .packed = ARENA_DEVICE,
	  UNPACKS },
	{ "pack to host memory in pieces", one_shot_with, TO_HOST, .text = LONG_TYPE,
	  .backends = "cuda_staged" },
	{ "unpack from host memory in pieces", one_shot_with, TO_HOST, UNPACKS,
	  .text = LONG_TYPE, .backends = "cuda_staged" },
	{ "start to pack to host memory", start, await, TO_HOST, .text = LONG_TYPE },
	{ "start to unpack from host memory", start, ask, TO_HOST, UNPACKS,
	  .text = LONG_TYPE },
	{ "start to pack to host memory in a stream", start, await, TO_HOST,
	  .ordered = true },
	{ "start to unpack from host memory in a stream", start, await, TO_HOST, UNPACKS,
	  .ordered = true },
	{ "start to unpack from host memory in a stream, in pieces", start, await,
	  TO_HOST, UNPACKS, .ordered = true, .text = LONG_TYPE,
	  .backends = "cuda_staged" },
	{ "pack to pinned memory", one_shot, TO_PINNED },
	{ "unpack from pinned memory", one_shot, TO_PINNED, UNPACKS },
	{ "pack to pinned memory by relay", one_shot_with, TO_PINNED, .text = LONG_TYPE,
	  .backends = "cuda_relay" },
	{ "unpack from pinned memory by relay", one_shot_with, TO_PINNED, UNPACKS,
	  .text = LONG_TYPE, .backends = "cuda_relay" },
	{ "start to pack to pinned memory", start, await, TO_PINNED, .ordered = true },
	{ "start to pack to pinned memory by relay", start, await, TO_PINNED,
	  .ordered = true, .text = LONG_TYPE, .backends = "cuda_relay" },
	{ "start to unpack from pinned memory by relay", start, await, TO_PINNED, UNPACKS,
	  .ordered = true, .text = LONG_TYPE, .backends = "cuda_relay" },
	{ "start to pack pinned memory", start, await, .user = ARENA_PINNED,
	  .packed = ARENA_PINNED, .ordered = true },
	{ "start to unpack to pinned memory", start, await, .user = ARENA_PINNED,
	  .packed = ARENA_PINNED, UNPACKS, .ordered = true },
	{ "pack by copies", one_shot_with, INSIDE, .backends = "cuda_copy" },
	{ "unpack by copies", one_shot_with, INSIDE, UNPACKS, .backends = "cuda_copy" },
	{ "pack a mapped range", one_shot, .user = ARENA_VMM, .packed = ARENA_DEVICE },
	{ "unpack to a mapped range", one_shot, .user = ARENA_VMM, .packed = ARENA_VMM,
	  UNPACKS },
	{ "pack memory of a pool", one_shot, .user = ARENA_ASYNC, .packed = ARENA_ASYNC },
	{ "pack managed memory", one_shot, .user = ARENA_MANAGED,
	  .packed = ARENA_DEVICE },
	{ "unpack to managed memory", one_shot, .user = ARENA_MANAGED,
	  .packed = ARENA_HOST, UNPACKS },
	{ "pack registered memory", one_shot, .user = ARENA_REGISTERED,
	  .packed = ARENA_DEVICE },
	{ "ask for memory", memory_asked, TO_PINNED, .idle = true },
	{ "explain", explained, INSIDE, .idle = true },
	{ "make a context", context_made, INSIDE, .idle = true },
	{ "use a context of its own", context_used, INSIDE, .waits = true },
};

#define PATHS (int)(sizeof(paths) / sizeof(paths[0]))

static bool starts_behind(const struct path *path)
{
	if (!path->end || !path->ordered)
		return false;
	return path->packed != ARENA_HOST || path->backends || !path->unpacks;
}

/* A case for each path, as the first job and settled. */
static void open_case(struct job *job, int number)
{
	job_open(job, &paths[number / 2], gpu_stream());
	if (number % 2)
		settle(job);
}

/* ---- a kernel that does not end --------------------------------------------------------- */

/* Jobs that go one after the other, while the device is busy: the first of them has waited for the kernels. */
#define TOGETHER 16

static void move_all(struct job jobs[], int count)
{
	struct spin spin;

	spin_begin(&spin, gpu_stream());
	for (int i = 0; i < count; i++) {
		move(&jobs[i]);
		ck_assert_msg(gpu.StreamQuery(spin.stream) == CUDA_ERROR_NOT_READY,
			      "%s: the kernel has ended", jobs[i].path->name);
	}
	spin_end(&spin);
	for (int i = 0; i < count; i++) {
		check(&jobs[i]);
		job_close(&jobs[i]);
	}
}

START_TEST(paths_end_under_a_spinning_kernel)
{
	struct job job;

	if (paths[_i].waits)
		return;
	job_open(&job, &paths[_i], gpu_stream());
	settle(&job);
	move_all(&job, 1);
}
END_TEST

START_TEST(they_do_before_the_kernels_are_loaded)
{
	struct job jobs[TOGETHER];
	int count = 0;

	for (int i = _i * TOGETHER; i < PATHS && i < (_i + 1) * TOGETHER; i++)
		if (!paths[i].waits)
			job_open(&jobs[count++], &paths[i], gpu_stream());
	move_all(jobs, count);
}
END_TEST

/* ---- a capture of another thread --------------------------------------------------------- */

struct capture {
	pthread_t thread;
	pthread_barrier_t open, over;
	CUcontext context;
	CUstream stream;
	struct arena memory;
	CUresult used, ended;
};

static void *capture(void *arg)
{
	struct capture *capture = arg;
	CUdeviceptr memory = (CUdeviceptr)(uintptr_t)capture->memory.memory;
	CUgraph graph = NULL;

	MUST(CtxSetCurrent(capture->context));
	MUST(StreamBeginCapture(capture->stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	pthread_barrier_wait(&capture->open);
	pthread_barrier_wait(&capture->over);
	capture->used = gpu.MemsetD8Async(memory, 1, 1, capture->stream);
	capture->ended = gpu.StreamEndCapture(capture->stream, &graph);
	if (graph)
		MUST(GraphDestroy(graph));
	return NULL;
}

static void capture_begin(struct capture *new)
{
	MUST(CtxGetCurrent(&new->context));
	new->stream = gpu_stream();
	arena_open(&new->memory, ARENA_DEVICE, 1);
	pthread_barrier_init(&new->open, NULL, 2);
	pthread_barrier_init(&new->over, NULL, 2);
	ck_assert_int_eq(pthread_create(&new->thread, NULL, capture, new), 0);
	pthread_barrier_wait(&new->open);
}

static void capture_end(struct capture *capture)
{
	pthread_barrier_wait(&capture->over);
	pthread_join(capture->thread, NULL);
	arena_close(&capture->memory);
	pthread_barrier_destroy(&capture->open);
	pthread_barrier_destroy(&capture->over);
}

START_TEST(paths_do_not_disturb_a_capture)
{
	struct capture other;
	struct job job;

	open_case(&job, _i);
	capture_begin(&other);
	move(&job);
	gpu_nap(3); /* for threads that the path has left behind */
	capture_end(&other);
	/* Where kernels are loaded meanwhile, the capture may end. */
	ck_assert_msg(!(_i % 2) || job.path->waits || (!other.used && !other.ended),
		      "%s: the capture's calls answered %d and %d", job.path->name,
		      (int)other.used, (int)other.ended);
	check(&job);
	job_close(&job);
}
END_TEST

START_TEST(nor_do_they_while_they_wait_in_a_stream)
{
	CUstream stream = gpu_stream();
	struct capture other;
	struct spin spin;
	struct job job;

	if (!starts_behind(&paths[_i]))
		return;
	job_open(&job, &paths[_i], stream);
	settle(&job);
	spin_begin(&spin, stream);
	capture_begin(&other);
	job.path->begin(&job);
	gpu_nap(5);
	spin_release(&spin);
	capture_end(&other);
	job.path->end(&job);
	spin_end(&spin);
	ck_assert_msg(!other.used && !other.ended,
		      "%s: the capture's calls answered %d and %d", job.path->name,
		      (int)other.used, (int)other.ended);
	job_close(&job);
}
END_TEST

/* ---- the current context ------------------------------------------------------------------ */

static void move_in(struct job *job, CUcontext context)
{
	CUcontext current = NULL;

	MUST(CtxSetCurrent(context));
	move(job);
	MUST(CtxGetCurrent(&current));
	ck_assert_msg(current == context, "%s: another context is current",
		      job->path->name);
}

START_TEST(paths_need_no_current_context_and_leave_the_one_there_is)
{
	CUcontext primary;
	struct job job;

	MUST(CtxGetCurrent(&primary));
	open_case(&job, _i);
	move_in(&job, NULL);
	MUST(CtxSetCurrent(primary));
	check(&job);
	fill(&job);
	move_in(&job, primary);
	check(&job);
	job_close(&job);
}
END_TEST

/* ---- a consumer in another stream --------------------------------------------------------- */

static bool is_followed(const struct path *path)
{
	return path->end && path->ordered &&
	       (path->unpacks ? path->user : path->packed) != ARENA_HOST;
}

/* The result, by a stream that has nothing in common with the job's but an event. */
struct consumer {
	struct arena memory; /* what it reads */
	CUstream stream;
	CUevent event;
};

/* The driver's copies from host memory to host memory wait. */
static void consumer_open(struct consumer *consumer, const struct job *job)
{
	arena_open(&consumer->memory, ARENA_DEVICE, result_bytes(job));
	consumer->stream = gpu_stream();
	MUST(EventCreate(&consumer->event, CU_EVENT_DISABLE_TIMING));
}

static void consumer_follow(struct consumer *consumer, const struct job *job)
{
	MUST(EventRecord(consumer->event, job->caller));
	MUST(StreamWaitEvent(consumer->stream, consumer->event, 0));
	MUST(MemcpyAsync((CUdeviceptr)(uintptr_t)consumer->memory.memory,
			 (CUdeviceptr)(uintptr_t)result_of(job)->memory,
			 result_bytes(job), consumer->stream));
}

static void consumer_close(struct consumer *consumer)
{
	arena_close(&consumer->memory);
	MUST(EventDestroy(consumer->event));
	MUST(StreamDestroy(consumer->stream));
}

/* What the consumer has read, before anybody has asked the library whether the job is done. */
static void consumer_check(const struct consumer *consumer, struct job *job)
{
	MUST(StreamSynchronize(consumer->stream));
	if (job->path->how == SUM)
		add(job);
	arena_read(&consumer->memory, 0, job->image, result_bytes(job));
	check_image(job);
}

START_TEST(another_stream_follows_a_started_job_by_an_event)
{
	struct consumer consumer;
	struct job job;

	if (!is_followed(&paths[_i / 2]))
		return;
	open_case(&job, _i);
	consumer_open(&consumer, &job);
	job.path->begin(&job);
	consumer_follow(&consumer, &job);
	consumer_check(&consumer, &job);
	job.path->end(&job);
	consumer_close(&consumer);
	job_close(&job);
}
END_TEST

#define QUEUED 6

/* Jobs of one stream that waits for a kernel. */
static void start_behind(struct job jobs[], int count, CUstream stream)
{
	struct consumer *consumers = calloc((size_t)count, sizeof(consumers[0]));
	struct spin spin;

	ck_assert_ptr_nonnull(consumers);
	for (int i = 0; i < count; i++)
		consumer_open(&consumers[i], &jobs[i]);
	spin_begin(&spin, stream);
	for (int i = 0; i < count; i++) {
		jobs[i].path->begin(&jobs[i]);
		ck_assert_msg(gpu.StreamQuery(stream) == CUDA_ERROR_NOT_READY,
			      "%s: it has waited for the kernel", jobs[i].path->name);
		if (is_followed(jobs[i].path))
			consumer_follow(&consumers[i], &jobs[i]);
	}
	spin_release(&spin);
	for (int i = 0; i < count; i++) {
		if (is_followed(jobs[i].path))
			consumer_check(&consumers[i], &jobs[i]);
		jobs[i].path->end(&jobs[i]);
		check(&jobs[i]);
		consumer_close(&consumers[i]);
		job_close(&jobs[i]);
	}
	spin_end(&spin);
	free(consumers);
}

START_TEST(so_it_does_behind_a_spinning_kernel)
{
	CUstream stream = gpu_stream();
	struct job job;

	if (!starts_behind(&paths[_i]))
		return;
	job_open(&job, &paths[_i], stream);
	settle(&job);
	start_behind(&job, 1, stream);
}
END_TEST

/*
 * A few at a time: each block is a copy, and a stream that waits takes a thousand or so. Not between pinned memory:
 * the driver's copies wait there. Nor copies between layouts: they wait for scratch memory.
 */
START_TEST(so_it_does_before_the_kernels_are_loaded)
{
	struct job jobs[QUEUED];
	CUstream stream = gpu_stream();
	int count = 0;

	for (int i = _i * QUEUED; i < PATHS && i < (_i + 1) * QUEUED; i++)
		if (starts_behind(&paths[i]) && paths[i].how == NATIVE &&
		    paths[i].packed != ARENA_HOST && paths[i].user != ARENA_PINNED &&
		    !paths[i].from)
			job_open(&jobs[count++], &paths[i], stream);
	if (count)
		start_behind(jobs, count, stream);
}
END_TEST

/* One at a time: a second one waits for the first. */
START_TEST(so_do_moves_of_ordinary_memory)
{
	CUstream stream = gpu_stream();
	struct job job;

	if (!starts_behind(&paths[_i]) || paths[_i].packed != ARENA_HOST)
		return;
	job_open(&job, &paths[_i], stream);
	start_behind(&job, 1, stream);
}
END_TEST

/* ---- a kernel that owns the gaps ------------------------------------------------------------ */

static const struct path unpacking[] = {
	{ "unpack", one_shot, INSIDE, UNPACKS },
	{ "unpack in fragments", in_fragments, INSIDE, UNPACKS },
	{ "unpack from pinned memory", one_shot, TO_PINNED, UNPACKS },
	{ "unpack from host memory", one_shot, TO_HOST, UNPACKS },
	{ "start to unpack from host memory", start, await, TO_HOST, UNPACKS,
	  .ordered = true },
	{ "unpack by copies", one_shot_with, INSIDE, UNPACKS, .backends = "cuda_copy" },
	{ "run a batch that unpacks", batch_run, INSIDE, UNPACKS },
	{ "unpack external32", one_shot_with, INSIDE, UNPACKS, .how = EXTERNAL32 },
	{ "unpack external32 in fragments", in_fragments, INSIDE, UNPACKS,
	  .how = EXTERNAL32 },
	{ "sum", one_shot_with, INSIDE, UNPACKS, .how = SUM },
};

#define UNPACKING (int)(sizeof(unpacking) / sizeof(unpacking[0]))

static const struct {
	const char *text;
	size_t width; /* of its numbers; 0: it has several */
} gapped[] = {
	{ "hvector(150, 1, 2, int8)", 1 },
	{ "hvector(150, 1, 3, int8)", 1 },
	{ "vector(100, 1, 2, int16)", 2 },
	{ "hvector(100, 1, 3, int16)", 2 },
	{ "vector(80, 1, 2, int32)", 4 },
	{ "hvector(80, 1, 7, int32)", 4 },
	{ "vector(60, 1, 2, int64)", 8 },
	{ "hvector(60, 1, 9, int64)", 8 },
	{ "vector(40, 2, 3, int64)", 8 },
	{ "hvector(40, 16, 17, int8)", 1 },
	{ "hvector(30, 31, 33, int8)", 1 },
	{ "hvector(30, 67, 71, int8)", 1 },
	{ "hvector(9, 301, 305, int8)", 1 },
	{ "indexed_block(1, [9, 3, 0, 5, 14, 30, 22, 26, 18, 40, 44, 36, 50, 61, 55, 58], int16)",
	  2 },
	{ "indexed([3, 1, 7, 2, 5, 20, 1], [0, 4, 6, 15, 19, 26, 50], int32)", 4 },
	{ "hindexed([5, 3, 8, 1, 17, 40, 2], [10, 0, 20, 40, 61, 90, 141], int8)", 1 },
	{ "contiguous(60, struct([1, 1], [0, 8], [int8, int64]))", 0 },
	{ "contiguous(40, resized(struct([5, 3, 9], [0, 21, 30], [int32, int16, int8]), 0, 48))",
	  0 },
	{ "subarray([8, 9, 10], [3, 4, 5], [1, 2, 3], c, int32)", 4 },
	{ "subarray([12, 12, 12], [5, 6, 7], [1, 2, 3], c, int8)", 1 },
	{ "contiguous(12, resized(vector(12, 1, 32, int32), 0, 4))", 4 },
};

#define GAPPED (int)(sizeof(gapped) / sizeof(gapped[0]))

/* A job of each path with one layout, and where their gaps are. */
struct field {
	struct job jobs[UNPACKING];
	int count;
	unsigned char **places;
	uint32_t *counts;
	size_t gaps;
};

static bool has_numbers(const struct path *path)
{
	return path->how == EXTERNAL32 || path->how == SUM;
}

/* Odd addresses where the numbers are as narrow. */
static void open_jobs(struct field *field, int layout)
{
	const size_t width = gapped[layout].width;

	for (int i = 0; i < UNPACKING; i++)
		if (width || !has_numbers(&unpacking[i]))
			job_open_type(&field->jobs[field->count++], &unpacking[i],
				      gpu_stream(), gapped[layout].text, width,
				      (size_t)(i * 3 + layout) % 16);
}

/* Bytes of the job's memory that are no data, from the first to the last of all: 1. */
static unsigned char *gaps_of(const struct stage *stage)
{
	unsigned char *gaps = malloc(stage->memory_bytes);

	ck_assert_ptr_nonnull(gaps);
	memset(gaps, 1, stage->memory_bytes);
	for (size_t i = 0; i < stage->bytes; i++)
		gaps[stage->target + stage->map[i] - stage->target_memory] = 0;
	return gaps;
}

static void find_gaps(struct field *field, const struct job *job)
{
	unsigned char *gaps = gaps_of(&job->stage);

	for (size_t i = 0; i < job->stage.memory_bytes; i++)
		if (gaps[i])
			field->places[field->gaps++] = job->user.memory + i;
	free(gaps);
}

static void field_open(struct field *field, int layout)
{
	size_t most = 0;

	*field = (struct field){ .count = 0 };
	open_jobs(field, layout);
	for (int i = 0; i < field->count; i++)
		most += field->jobs[i].stage.memory_bytes;
	field->places = calloc(most, sizeof(field->places[0]));
	field->counts = calloc(most, sizeof(field->counts[0]));
	ck_assert(field->places && field->counts);
	for (int i = 0; i < field->count; i++)
		find_gaps(field, &field->jobs[i]);
}

static void field_close(struct field *field)
{
	for (int i = 0; i < field->count; i++)
		job_close(&field->jobs[i]);
	free(field->places);
	free(field->counts);
}

/* What the kernel has counted is taken back, as if nobody had touched the gaps. */
static void check_gaps(struct job *job, const uint32_t **counts)
{
	unsigned char *gaps = gaps_of(&job->stage);

	arena_read(&job->user, 0, job->image, job->stage.memory_bytes);
	for (size_t i = 0; i < job->stage.memory_bytes; i++)
		if (gaps[i])
			job->image[i] = (unsigned char)(job->image[i] - *(*counts)++);
	free(gaps);
	check_image(job);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

#define RACE_SECONDS 0.1

/* Unpacks again and again while the kernel counts. */
static void unpack_in_a_race(struct field *field)
{
	const uint32_t *counts = field->counts;
	struct race race;

	race_begin(&race, gpu_stream(), field->places, field->gaps);
	for (double start = seconds(); seconds() < start + RACE_SECONDS;)
		for (int i = 0; i < field->count; i++)
			move(&field->jobs[i]);
	ck_assert_int_eq(gpu.StreamQuery(race.stream), CUDA_ERROR_NOT_READY);
	race_end(&race, field->counts);
	for (size_t i = 0; i < field->gaps; i++)
		ck_assert_uint_gt(field->counts[i], 0);
	for (int i = 0; i < field->count; i++)
		check_gaps(&field->jobs[i], &counts);
}

START_TEST(gaps_belong_to_others)
{
	struct field field;

	field_open(&field, _i);
	for (int i = 0; i < field.count; i++)
		settle(&field.jobs[i]);
	unpack_in_a_race(&field);
	field_close(&field);
}
END_TEST

/* A few of the layouts: each waits for kernels that do not come. */
#define EVERY 4

START_TEST(they_do_before_there_are_kernels)
{
	struct field field;

	field_open(&field, _i * EVERY);
	unpack_in_a_race(&field);
	field_close(&field);
}
END_TEST

/* ------------------------------------------------------------------------------------------------ */

static TCase *new_case(Suite *suite, const char *name)
{
	TCase *tcase = gpu_case(suite, name, 20);

	return tcase;
}

/* On a device a process takes half a second to begin: every ninth case will do, unless all are asked for. */
#define ADD(tcase, test, count)                    \
	for (int at = 0; at < (count); at += step) \
	tcase_add_loop_test(tcase, test, at, at + 1)

int main(void)
{
	setenv("CK_FORK", "yes", 1);
	gpu_find();
	const int step = gpu_is_real() && !fixture_everything() ? 9 : 1;
	Suite *suite = suite_create("paths");
	TCase *spinning = new_case(suite, "spinning");
	TCase *captures = new_case(suite, "captures");
	TCase *contexts = new_case(suite, "contexts");
	TCase *consumers = new_case(suite, "consumers");
	TCase *gaps = new_case(suite, "gaps");

	ADD(spinning, paths_end_under_a_spinning_kernel, PATHS);
	ADD(spinning, they_do_before_the_kernels_are_loaded,
	    (PATHS + TOGETHER - 1) / TOGETHER);
	ADD(captures, paths_do_not_disturb_a_capture, 2 * PATHS);
	ADD(captures, nor_do_they_while_they_wait_in_a_stream, PATHS);
	ADD(contexts, paths_need_no_current_context_and_leave_the_one_there_is,
	    2 * PATHS);
	ADD(consumers, another_stream_follows_a_started_job_by_an_event, 2 * PATHS);
	ADD(consumers, so_it_does_behind_a_spinning_kernel, PATHS);
	tcase_add_loop_test(consumers, so_it_does_before_the_kernels_are_loaded, 0,
			    (PATHS + QUEUED - 1) / QUEUED);
	ADD(consumers, so_do_moves_of_ordinary_memory, PATHS);
	tcase_add_loop_test(gaps, gaps_belong_to_others, 0, GAPPED);
	tcase_add_loop_test(gaps, they_do_before_there_are_kernels, 0,
			    (GAPPED + EVERY - 1) / EVERY);
	return fixture_run(suite);
}
