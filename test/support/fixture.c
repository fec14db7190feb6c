/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What Check suites of types and convertors share.
 */
#include "config.h"

#include "support/fixture.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "support/allocators.h"
#include "support/typed_script.h"

struct dtconv_context *fixture_context;
unsigned fixture_flags;
void (*fixture_behind)(void);

static struct block_count blocks; /* of the case's context */

size_t fixture_allocations(void)
{
	return atomic_load(&blocks.calls);
}

void fixture_share(struct dtconv_context *context, size_t bytes)
{
	context->threads.share_bytes = bytes;
	context->threads.cut_bytes = 1;
}

/* DTCONV_TEST_SHARE with DTCONV_THREADS: all suites move in threads whatever can be cut. */
static void share_if_asked(void)
{
	const char *bytes = getenv("DTCONV_TEST_SHARE");

	if (bytes && fixture_context->threads.most > 1)
		fixture_share(fixture_context, strtoul(bytes, NULL, 0));
}

static void setup(void)
{
	struct dtconv_context_params params = {
		.struct_size = sizeof(params),
		.allocator = allocator_of_blocks(&blocks),
		.flags = DTCONV_CONTEXT_COUNTERS | fixture_flags,
	};

	fixture_ok(dtconv_context_create(&params, &fixture_context));
	share_if_asked();
}

/* Every case must give back its types, and the context all of its memory. */
static void teardown(void)
{
	if (fixture_behind)
		fixture_behind();
	ck_assert_uint_eq(fixture_counters().types_live, 0);
	dtconv_context_destroy(fixture_context);
	fixture_context = NULL;
	ck_assert_uint_eq(atomic_load(&blocks.live), 0);
}

TCase *fixture_case(Suite *suite, const char *name, double seconds)
{
	TCase *tcase = tcase_create(name);

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, seconds);
	suite_add_tcase(suite, tcase);
	return tcase;
}

int fixture_run(Suite *suite)
{
	return suite_run(suite);
}

bool fixture_everything(void)
{
	const char *slice = getenv("DTCONV_TEST_SLICE");

	return slice && !strcmp(slice, "all");
}

static const char *error_of(struct dtconv_context *context)
{
	static char text[512];

	text[0] = 0;
	if (context)
		dtconv_context_error(context, text, sizeof(text));
	return text;
}

const char *fixture_error(void)
{
	return error_of(fixture_context);
}

const char *fixture_info(struct dtconv_context *context)
{
	static char *text;
	size_t length = 0;

	/* Truncated to nothing, it says how long it is. */
	(void)dtconv_context_format_info(context, NULL, 0, &length);
	free(text);
	text = malloc(length + 1);
	ck_assert_ptr_nonnull(text);
	fixture_ok(dtconv_context_format_info(context, text, length + 1, &length));
	return text;
}

struct dtconv_type *fixture_type_in(struct dtconv_context *context, const char *text)
{
	struct dtconv_type *type = NULL;

	ck_assert_msg(!dtconv_type_parse(context, text, strlen(text), &type), "%s: %s",
		      text, error_of(context));
	ck_assert_msg(!dtconv_type_commit(type), "commit of %s: %s", text,
		      error_of(context));
	return type;
}

struct dtconv_type *fixture_type(const char *text)
{
	return fixture_type_in(fixture_context, text);
}

struct dtconv_counters fixture_counters(void)
{
	struct dtconv_counters now = { .struct_size = sizeof(now) };

	fixture_ok(dtconv_context_query_counters(fixture_context, &now));
	return now;
}

struct dtconv_type_attr fixture_attr(const struct dtconv_type *type)
{
	struct dtconv_type_attr attr = { .struct_size = sizeof(attr) };

	fixture_ok(dtconv_type_query(type, &attr));
	return attr;
}

struct choices fixture_choices(uint64_t salt)
{
	const char *given = getenv("DTCONV_TEST_SEED");
	struct choices choices;

	choices_from_seed(&choices,
			  choices_mix(salt) ^ (given ? strtoull(given, NULL, 0) : 0));
	return choices;
}

/* The text form of a stage's type, for messages. */
static const char *text_of(const struct stage *stage)
{
	static char text[512];
	size_t length;

	text[0] = 0;
	dtconv_type_format(stage->type, text, sizeof(text), &length);
	return text;
}

void fixture_open(struct stage *stage, const char *text, size_t count)
{
	ck_assert_msg(!stage_open(stage, fixture_type(text), count, 0, 0, count + 1),
		      "%zu x %s cannot be staged", count, text);
}

void fixture_close(struct stage *stage)
{
	dtconv_type_unref(stage->type);
	stage_close(stage);
}

struct dtconv_convertor *fixture_pack(const struct stage *stage)
{
	struct dtconv_convertor *convertor = NULL;

	fixture_ok(dtconv_convertor_create_pack(stage->type, stage->count, stage->source,
						&convertor));
	return convertor;
}

struct dtconv_convertor *fixture_unpack(const struct stage *stage)
{
	struct dtconv_convertor *convertor = NULL;

	fixture_ok(dtconv_convertor_create_unpack(stage->type, stage->count,
						  stage->target, &convertor));
	return convertor;
}

struct dtconv_convertor_params fixture_in_stream(void *stream)
{
	return (struct dtconv_convertor_params){
		.struct_size = sizeof(struct dtconv_convertor_params),
		.flags = DTCONV_CONVERTOR_STREAM,
		.stream = stream,
	};
}

struct dtconv_convertor_params fixture_by(const char *backends)
{
	return (struct dtconv_convertor_params){
		.struct_size = sizeof(struct dtconv_convertor_params),
		.backends = backends,
	};
}

struct dtconv_convertor *fixture_packer(struct dtconv_type *type, size_t count,
					const void *buffer,
					const struct dtconv_convertor_params *params)
{
	struct dtconv_convertor *convertor = NULL;

	fixture_ok(dtconv_convertor_create_pack(type, count, buffer, &convertor));
	fixture_ok(dtconv_convertor_configure(convertor, params));
	return convertor;
}

struct dtconv_convertor *fixture_unpacker(struct dtconv_type *type, size_t count,
					  void *buffer,
					  const struct dtconv_convertor_params *params)
{
	struct dtconv_convertor *convertor = NULL;

	fixture_ok(dtconv_convertor_create_unpack(type, count, buffer, &convertor));
	fixture_ok(dtconv_convertor_configure(convertor, params));
	return convertor;
}

/* The fragment is in its place, and guard bytes are round it. */
static void expect_packed(const struct stage *stage, unsigned char *memory, size_t room,
			  size_t position, size_t moved)
{
	size_t wrong;

	if (memcmp(memory + STAGE_GUARD, stage->stream + position, moved))
		ck_abort_msg("%zu x %s: pack of %zu bytes at %zu: wrong bytes",
			     stage->count, text_of(stage), moved, position);
	for (size_t i = STAGE_GUARD; i < STAGE_GUARD + moved; i++)
		memory[i] = stage_guard_byte(i);
	wrong = stage_guard_first_wrong(memory, room);
	if (wrong != STAGE_RIGHT)
		ck_abort_msg("%zu x %s: pack of %zu bytes at %zu wrote to byte %td",
			     stage->count, text_of(stage), moved, position,
			     (ptrdiff_t)(wrong - STAGE_GUARD));
}

void fixture_pack_next(const struct stage *stage, struct dtconv_convertor *convertor,
		       size_t position, size_t bytes)
{
	size_t rest = stage->bytes - position;
	size_t expected = bytes < rest ? bytes : rest;
	size_t room = bytes + 2 * STAGE_GUARD;
	unsigned char *memory = malloc(room);
	size_t moved = SIZE_MAX;
	int status;

	ck_assert_ptr_nonnull(memory);
	stage_guard(memory, room);
	status = dtconv_convertor_pack(convertor, memory + STAGE_GUARD, bytes, &moved);
	if (status || moved != expected)
		ck_abort_msg("%zu x %s: pack of %zu bytes at %zu: status %d, moved %zu",
			     stage->count, text_of(stage), bytes, position, status,
			     moved);
	expect_packed(stage, memory, room, position, moved);
	free(memory);
}

void fixture_unpack_next(struct stage *stage, struct dtconv_convertor *convertor,
			 size_t position, size_t bytes)
{
	size_t rest = stage->bytes - position;
	size_t expected = bytes < rest ? bytes : rest;
	size_t moved = SIZE_MAX;
	/* A copy of exactly this length, so that sanitizers see a read past it. */
	unsigned char *packed = malloc(bytes ? bytes : 1);
	int status;

	ck_assert_ptr_nonnull(packed);
	memset(packed, 0x5a, bytes);
	memcpy(packed, stage->stream + position, expected);
	status = dtconv_convertor_unpack(convertor, packed, bytes, &moved);
	if (status != (bytes > rest ? DTCONV_ERR_TRUNCATE : 0) || moved != expected)
		ck_abort_msg("%zu x %s: unpack of %zu bytes at %zu: status %d, moved %zu",
			     stage->count, text_of(stage), bytes, position, status,
			     moved);
	stage_deliver(stage, position, moved);
	free(packed);
}

void fixture_arrived(const struct stage *stage)
{
	size_t wrong = stage_first_wrong(stage);

	if (wrong != STAGE_RIGHT)
		ck_abort_msg("%zu x %s: after unpack displacement %td is %#x",
			     stage->count, text_of(stage),
			     stage_displacement(stage, wrong),
			     stage->target_memory[wrong]);
}

void fixture_move_typed(struct dtconv_type *type, size_t count,
			const struct dtconv_representation *representation,
			enum dtconv_op op, struct choices *choices)
{
	char failure[SCRIPT_FAILURE], text[512] = "";
	struct typed_case tc;
	size_t length;

	if (!typed_case_open(&tc, type, count, representation, op, choices))
		return;
	dtconv_type_format(type, text, sizeof(text), &length);
	ck_assert_msg(!typed_script_play(&tc, choices, failure), "%zu x %s: %s: %s",
		      count, text, failure, fixture_error());
	typed_case_close(&tc);
}

void fixture_move_typed_text(const char *text, size_t count,
			     const struct dtconv_representation *representation,
			     enum dtconv_op op, struct choices *choices)
{
	struct dtconv_type *type = fixture_type(text);

	fixture_move_typed(type, count, representation, op, choices);
	dtconv_type_unref(type);
}

struct dtconv_convertor *fixture_typed(const struct typed_case *tc, bool packs)
{
	struct dtconv_convertor_params params = typed_case_params(tc);
	struct dtconv_convertor *convertor = NULL;
	int status = packs ? dtconv_convertor_create_pack(tc->type, tc->count, tc->source,
							  &convertor)
			   : dtconv_convertor_create_unpack(tc->type, tc->count,
							    tc->target, &convertor);

	ck_assert_msg(!status, "%s", fixture_error());
	fixture_ok(dtconv_convertor_configure(convertor, &params));
	return convertor;
}

void fixture_seek(struct dtconv_convertor *convertor, size_t position)
{
	int status = dtconv_convertor_seek(convertor, position);

	if (status)
		ck_abort_msg("seek to %zu: %s", position, fixture_error());
}

size_t fixture_position(const struct dtconv_convertor *convertor)
{
	struct dtconv_convertor_attr attr = { .struct_size = sizeof(attr) };

	fixture_ok(dtconv_convertor_query(convertor, &attr));
	return attr.position;
}

size_t fixture_size(size_t index)
{
	static const int off[] = { 0, -1, 1, -3, 3, -4, 4, -7, 7 };
	const size_t offs = sizeof(off) / sizeof(off[0]);

	if (index < 64)
		return index + 1;
	index -= 64;
	if (index >= 12 * offs)
		return 0;
	return ((size_t)128 << index / offs) + (size_t)off[index % offs];
}
