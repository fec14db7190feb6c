/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Batches of host memory: every entry, copies between layouts too, moves as the oracle says, whatever the others do, and
 * the list of entries is checked, replaced and asked for.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "support/copy_case.h"
#include "support/fixture.h"
#include "support/seen.h"
#include "support/type_choices.h"

#define ENTRIES 40

/* A batch of random types, every entry with a stage, packed memory one after the other. */
struct scene {
	size_t count;
	struct stage stages[ENTRIES];
	struct dtconv_batch_entry entries[ENTRIES];
	size_t offsets[ENTRIES + 1];
	unsigned char *packed;
	struct dtconv_batch *batch;
};

static void open_stage(struct scene *scene, struct choices *choices)
{
	size_t index = scene->count;
	struct dtconv_type *type =
		type_choose(fixture_context, choices, &type_bounds_small);

	if (!stage_open(&scene->stages[index], type, 1 + choose(choices, 5),
			choose(choices, 64), choose(choices, 64), index)) {
		scene->offsets[index + 1] =
			scene->offsets[index] + scene->stages[index].bytes;
		scene->count++;
	} else {
		dtconv_type_unref(type);
	}
}

/* Entry by entry either way; what is to be unpacked is there already. */
static void set_entry(struct scene *scene, size_t index, bool pack)
{
	struct stage *stage = &scene->stages[index];

	scene->entries[index] = (struct dtconv_batch_entry){
		.type = stage->type,
		.count = stage->count,
		.buffer = pack ? stage->source : stage->target,
		.packed = scene->packed + scene->offsets[index],
		.bytes = stage->bytes,
		.direction = pack ? DTCONV_BATCH_PACK : DTCONV_BATCH_UNPACK,
	};
	memset(scene->entries[index].packed, 0x5c, stage->bytes);
	if (!pack)
		memcpy(scene->entries[index].packed, stage->stream, stage->bytes);
	stage_blank(stage);
}

static void open_scene(struct scene *scene, struct choices *choices)
{
	*scene = (struct scene){ .count = 0 };
	for (size_t tries = 0; tries < ENTRIES; tries++)
		open_stage(scene, choices);
	scene->packed = malloc(scene->offsets[scene->count] + 1);
	ck_assert_ptr_nonnull(scene->packed);
	for (size_t i = 0; i < scene->count; i++)
		set_entry(scene, i, chance(choices, 2));
	fixture_ok(dtconv_batch_create(fixture_context, scene->entries, scene->count,
				       NULL, &scene->batch));
}

static void close_scene(struct scene *scene)
{
	dtconv_batch_destroy(scene->batch);
	for (size_t i = 0; i < scene->count; i++) {
		struct dtconv_type *type = scene->stages[i].type;

		stage_close(&scene->stages[i]);
		dtconv_type_unref(type);
	}
	free(scene->packed);
}

/* Entry @index has moved its first @bytes. */
static void check_entry(struct scene *scene, size_t index, size_t bytes)
{
	struct stage *stage = &scene->stages[index];
	const unsigned char *packed = scene->entries[index].packed;
	struct dtconv_batch_entry_attr attr = { .struct_size = sizeof(attr) };

	fixture_ok(dtconv_batch_query_entry(scene->batch, index, &attr));
	ck_assert_uint_eq(attr.moved, bytes);
	ck_assert_uint_eq(attr.bytes, stage->bytes);
	ck_assert_int_eq(attr.status,
			 bytes == stage->bytes || scene->entries[index].direction ==
							  DTCONV_BATCH_UNPACK
				 ? 0
				 : DTCONV_ERR_TRUNCATE);
	ck_assert(!memcmp(packed, stage->stream, bytes));
	if (scene->entries[index].direction == DTCONV_BATCH_UNPACK)
		stage_deliver(stage, 0, bytes);
	else if (bytes < stage->bytes)
		ck_assert_uint_eq(packed[bytes], 0x5c);
	fixture_arrived(stage);
}

START_TEST(every_entry_moves_as_the_oracle_says)
{
	struct choices choices = fixture_choices(0x62617463 + (uint64_t)_i);
	struct scene scene;
	size_t moved;

	open_scene(&scene, &choices);
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < scene.count; i++)
			set_entry(&scene, i, chance(&choices, 2));
		fixture_ok(dtconv_batch_rebind(scene.batch, scene.entries, scene.count));
		fixture_ok(dtconv_batch_run(scene.batch, &moved));
		ck_assert_uint_eq(moved, scene.offsets[scene.count]);
		for (size_t i = 0; i < scene.count; i++)
			check_entry(&scene, i, scene.stages[i].bytes);
	}
	close_scene(&scene);
}
END_TEST

START_TEST(entries_without_room_move_what_fits)
{
	struct choices choices = fixture_choices(0x726f6f6d + (uint64_t)_i);
	struct dtconv_batch_attr attr = { .struct_size = sizeof(attr) };
	size_t first = SIZE_MAX, all = 0, moved;
	struct scene scene;

	open_scene(&scene, &choices);
	for (size_t i = 0; i < scene.count; i++) {
		struct dtconv_batch_entry *entry = &scene.entries[i];

		if (chance(&choices, 2))
			entry->bytes = choose(&choices, (uint32_t)entry->bytes + 1);
		all += entry->bytes;
		if (first == SIZE_MAX && entry->direction == DTCONV_BATCH_PACK &&
		    entry->bytes < scene.stages[i].bytes)
			first = i;
		fixture_ok(dtconv_batch_rebind_entry(scene.batch, i, entry));
	}
	ck_assert_int_eq(dtconv_batch_run(scene.batch, &moved),
			 first == SIZE_MAX ? 0 : DTCONV_ERR_TRUNCATE);
	ck_assert_uint_eq(moved, all);
	for (size_t i = 0; i < scene.count; i++)
		check_entry(&scene, i, scene.entries[i].bytes);
	fixture_ok(dtconv_batch_query(scene.batch, &attr));
	ck_assert_uint_eq(attr.count, scene.count);
	ck_assert_uint_eq(attr.bytes, all);
	ck_assert_uint_eq(attr.failed, first == SIZE_MAX ? scene.count : first);
	close_scene(&scene);
}
END_TEST

START_TEST(a_stream_that_is_too_long_is_told)
{
	struct dtconv_type *type = fixture_type("vector(4, 1, 2, int)");
	int user[8] = { 0 }, packed[5] = { 1, 2, 3, 4, 5 };
	struct dtconv_batch_entry entries[3] = {
		{ type, 1, user, packed, 16, DTCONV_BATCH_UNPACK, 0, 0 },
		{ type, 1, user, packed, 20, DTCONV_BATCH_UNPACK, 0, 0 },
		{ type, 0, NULL, NULL, 0, DTCONV_BATCH_PACK, 0, 0 },
	};
	size_t failed = 99, moved;

	fixture_status(dtconv_batch_move(fixture_context, entries, 3, NULL, &failed,
					 &moved),
		       DTCONV_ERR_TRUNCATE);
	ck_assert_uint_eq(failed, 1);
	ck_assert_uint_eq(moved, 32);
	ck_assert_int_eq(user[6], 4);
	ck_assert_ptr_nonnull(strstr(fixture_error(), "entry 1"));
	entries[1].bytes = 16;
	fixture_ok(dtconv_batch_move(fixture_context, entries, 3, NULL, &failed, NULL));
	ck_assert_uint_eq(failed, 3);
	fixture_ok(dtconv_batch_move(fixture_context, NULL, 0, NULL, &failed, &moved));
	ck_assert_uint_eq(moved, 0);
	dtconv_type_unref(type);
}
END_TEST

/* ---- started batches --------------------------------------------------------------------- */

START_TEST(a_started_batch_ends_once)
{
	struct choices choices = fixture_choices(0x73746172);
	struct dtconv_batch_attr attr = { .struct_size = sizeof(attr) };
	struct dtconv_batch_entry_attr entry = { .struct_size = sizeof(entry) };
	struct seen seen = { .calls = 0 };
	struct scene scene;
	size_t moved = 99;

	open_scene(&scene, &choices);
	fixture_status(dtconv_batch_test(scene.batch, &moved), DTCONV_ERR_STATE);
	fixture_status(dtconv_batch_wait(scene.batch, &moved), DTCONV_ERR_STATE);
	fixture_ok(dtconv_batch_start(scene.batch, see, &seen));
	fixture_status(dtconv_batch_start(scene.batch, see, &seen), DTCONV_ERR_STATE);
	fixture_status(dtconv_batch_run(scene.batch, NULL), DTCONV_ERR_STATE);
	fixture_status(dtconv_batch_rebind(scene.batch, NULL, 0), DTCONV_ERR_STATE);
	fixture_status(dtconv_batch_rebind_entry(scene.batch, 0, scene.entries),
		       DTCONV_ERR_STATE);
	fixture_status(dtconv_batch_query_entry(scene.batch, 0, &entry),
		       DTCONV_ERR_STATE);
	fixture_ok(dtconv_batch_query(scene.batch, &attr));
	ck_assert_int_eq(attr.in_flight, 1);
	ck_assert_int_eq(seen.calls, 0);
	ck_assert_int_eq(_i ? dtconv_batch_test(scene.batch, &moved)
			    : dtconv_batch_wait(scene.batch, &moved),
			 0);
	ck_assert_uint_eq(moved, scene.offsets[scene.count]);
	ck_assert_int_eq(seen.calls, 1);
	ck_assert_uint_eq(seen.moved, moved);
	fixture_status(dtconv_batch_wait(scene.batch, &moved), DTCONV_ERR_STATE);
	/* Destroyed in flight: no callback. */
	fixture_ok(dtconv_batch_start(scene.batch, see, &seen));
	close_scene(&scene);
	ck_assert_int_eq(seen.calls, 1);
}
END_TEST

START_TEST(moving_and_binding_again_allocate_nothing)
{
	struct choices choices = fixture_choices(0x616c6c6f);
	struct scene scene;

	open_scene(&scene, &choices);
	size_t before = fixture_allocations();
	for (int round = 0; round < 3; round++) {
		fixture_ok(dtconv_batch_run(scene.batch, NULL));
		fixture_ok(dtconv_batch_rebind(scene.batch, scene.entries,
					       scene.count - (size_t)round));
		fixture_ok(dtconv_batch_rebind_entry(scene.batch, 0, &scene.entries[0]));
	}
	ck_assert_uint_eq(fixture_allocations(), before);
	close_scene(&scene);
}
END_TEST

START_TEST(room_is_made_ahead)
{
	const struct dtconv_batch_params params = { .struct_size = sizeof(params),
						    .capacity = 3 };
	struct dtconv_type *type = dtconv_type_predefined(fixture_context, DTCONV_INT);
	int user = 1, packed = 0;
	const struct dtconv_batch_entry entry = {
		type, 1, &user, &packed, sizeof(int), DTCONV_BATCH_PACK, 0, 0
	};
	const struct dtconv_batch_entry entries[4] = { entry, entry, entry, entry };
	struct dtconv_batch *batch;

	fixture_ok(dtconv_batch_create(fixture_context, NULL, 0, &params, &batch));
	size_t before = fixture_allocations();
	fixture_ok(dtconv_batch_rebind(batch, entries, 3));
	ck_assert_uint_eq(fixture_allocations(), before);
	fixture_ok(dtconv_batch_rebind(batch, entries, 4));
	ck_assert_uint_gt(fixture_allocations(), before);
	fixture_ok(dtconv_batch_run(batch, NULL));
	ck_assert_int_eq(packed, 1);
	dtconv_batch_destroy(batch);
	dtconv_batch_destroy(NULL);
}
END_TEST

/* ---- copies ------------------------------------------------------------------------------ */

/* A copy between two stages of one signature, one of which may have less room. */
struct pair {
	struct stage from, to;
	size_t bytes;
};

static struct dtconv_type *other_type(struct dtconv_type *type, struct choices *choices)
{
	switch (choose(choices, 3)) {
	case 0:
		return copy_dense(type);
	case 1:
		return copy_scattered(type, choices);
	default:
		return dtconv_type_ref(type);
	}
}

static bool open_pair(struct pair *pair, struct choices *choices)
{
	struct dtconv_type *type =
		type_choose(fixture_context, choices, &type_bounds_small);
	struct dtconv_type *other = other_type(type, choices);
	bool swap = chance(choices, 2);
	bool made = !stage_open(&pair->from, swap ? other : type, 1 + choose(choices, 5),
				choose(choices, 64), 0, 1);

	if (made && stage_open(&pair->to, swap ? type : other, 1 + choose(choices, 5), 0,
			       choose(choices, 64), 2)) {
		stage_close(&pair->from);
		made = false;
	}
	if (!made) {
		dtconv_type_unref(type);
		dtconv_type_unref(other);
		return false;
	}
	stage_blank(&pair->to);
	pair->bytes = pair->from.bytes < pair->to.bytes ? pair->from.bytes
							: pair->to.bytes;
	return true;
}

static void close_pair(struct pair *pair)
{
	struct dtconv_type *from = pair->from.type, *to = pair->to.type;

	stage_close(&pair->from);
	stage_close(&pair->to);
	dtconv_type_unref(from);
	dtconv_type_unref(to);
}

static struct dtconv_batch_copy copy_of(const struct pair *pair)
{
	return (struct dtconv_batch_copy){ .struct_size =
						   sizeof(struct dtconv_batch_copy),
					   .source_type = pair->from.type,
					   .source_count = pair->from.count,
					   .source = pair->from.source,
					   .target_type = pair->to.type,
					   .target_count = pair->to.count,
					   .target = pair->to.target };
}

static void check_pair(const struct dtconv_batch *batch, size_t index, struct pair *pair)
{
	struct dtconv_batch_entry_attr attr = { .struct_size = sizeof(attr) };

	fixture_ok(dtconv_batch_query_entry(batch, index, &attr));
	ck_assert_uint_eq(attr.moved, pair->bytes);
	ck_assert_uint_eq(attr.bytes, pair->from.bytes);
	ck_assert_int_eq(attr.status,
			 pair->bytes < pair->from.bytes ? DTCONV_ERR_TRUNCATE : 0);
	memcpy(pair->to.stream, pair->from.stream, pair->bytes);
	stage_deliver(&pair->to, 0, pair->bytes);
	fixture_arrived(&pair->to);
	stage_blank(&pair->to);
}

#define PAIRS 20

/* Behind packs and unpacks, and then in the place of them. */
START_TEST(copies_are_entries_as_the_oracle_says)
{
	struct choices choices = fixture_choices(0x636f7069 + (uint64_t)_i);
	struct dtconv_batch_attr attr = { .struct_size = sizeof(attr) };
	static struct pair pairs[PAIRS];
	struct scene scene;
	size_t count = 0, bytes = 0, index, first = SIZE_MAX, moved;

	open_scene(&scene, &choices);
	for (int tries = 0; tries < PAIRS; tries++)
		count += open_pair(&pairs[count], &choices);
	for (size_t i = 0; i < count; i++) {
		const struct dtconv_batch_copy copy = copy_of(&pairs[i]);

		fixture_ok(dtconv_batch_add_copy(scene.batch, &copy, &index));
		ck_assert_uint_eq(index, scene.count + i);
		bytes += pairs[i].bytes;
		if (first == SIZE_MAX && pairs[i].bytes < pairs[i].from.bytes)
			first = index;
	}
	fixture_ok(dtconv_batch_query(scene.batch, &attr));
	ck_assert_uint_eq(attr.count, scene.count + count);
	ck_assert_uint_eq(attr.bytes, scene.offsets[scene.count] + bytes);
	for (int round = 0; round < 2; round++) {
		int status = dtconv_batch_run(scene.batch, &moved);

		ck_assert_int_eq(status, first == SIZE_MAX ? 0 : DTCONV_ERR_TRUNCATE);
		ck_assert_uint_eq(moved, scene.offsets[scene.count] + bytes);
		fixture_ok(dtconv_batch_query(scene.batch, &attr));
		ck_assert_uint_eq(attr.failed,
				  first == SIZE_MAX ? scene.count + count : first);
		for (size_t i = 0; i < count; i++)
			check_pair(scene.batch, scene.count + i, &pairs[i]);
	}
	for (size_t i = 0; i < scene.count; i++)
		check_entry(&scene, i, scene.stages[i].bytes);
	/* A copy in the place of a pack, and a pack in the place of a copy. */
	if (count) {
		const struct dtconv_batch_copy copy = copy_of(&pairs[0]);

		set_entry(&scene, 0, true);
		fixture_ok(dtconv_batch_rebind_copy(scene.batch, 0, &copy));
		fixture_ok(dtconv_batch_rebind_entry(scene.batch, scene.count,
						     &scene.entries[0]));
		(void)dtconv_batch_run(scene.batch, &moved);
		ck_assert_uint_eq(moved, scene.offsets[scene.count] + bytes);
		check_pair(scene.batch, 0, &pairs[0]);
		ck_assert(!memcmp(scene.entries[0].packed, scene.stages[0].stream,
				  scene.stages[0].bytes));
	}
	close_scene(&scene);
	for (size_t i = 0; i < count; i++)
		close_pair(&pairs[i]);
}
END_TEST

/* The elements of one are added, those of the other stored; nothing else of the batch knows of it. */
START_TEST(a_copy_may_have_an_operation)
{
	struct dtconv_type *from = fixture_type("vector(3, 1, 2, double)"),
			   *to = fixture_type("vector(3, 1, 3, double)");
	double source[6] = { 1, 2, 3, 4, 5, 6 };
	double sum[9] = { 10, 0, 0, 20, 0, 0, 30 },
	       stored[9] = { 10, 0, 0, 20, 0, 0, 30 };
	struct dtconv_batch_copy copy = { .struct_size = sizeof(copy),
					  .source_type = from,
					  .source_count = 1,
					  .source = source,
					  .target_type = to,
					  .target_count = 1,
					  .target = sum,
					  .op = DTCONV_OP_SUM };
	struct dtconv_batch *batch;
	size_t moved;

	fixture_ok(dtconv_batch_create(fixture_context, NULL, 0, NULL, &batch));
	fixture_ok(dtconv_batch_add_copy(batch, &copy, NULL));
	/* An older caller's struct ends before the operation. */
	copy.struct_size = offsetof(struct dtconv_batch_copy, op);
	copy.target = stored;
	fixture_ok(dtconv_batch_add_copy(batch, &copy, NULL));
	dtconv_type_unref(from);
	dtconv_type_unref(to);
	fixture_ok(dtconv_batch_run(batch, &moved));
	ck_assert_uint_eq(moved, 48);
	ck_assert(sum[0] == 11 && sum[3] == 23 && sum[6] == 35 && sum[1] == 0);
	ck_assert(stored[0] == 1 && stored[3] == 3 && stored[6] == 5 && stored[1] == 0);
	fixture_ok(dtconv_batch_run(batch, &moved));
	ck_assert(sum[0] == 12 && sum[3] == 26 && sum[6] == 40);
	dtconv_batch_destroy(batch);
}
END_TEST

static struct dtconv_batch_copy doubles(struct dtconv_type *from, const void *source,
					struct dtconv_type *to, void *target)
{
	return (struct dtconv_batch_copy){ .struct_size =
						   sizeof(struct dtconv_batch_copy),
					   .source_type = from,
					   .source_count = 1,
					   .source = source,
					   .target_type = to,
					   .target_count = 1,
					   .target = target };
}

/* Contiguous on neither side, on one, on both. */
static const struct {
	const char *from, *to;
} longer[] = {
	{ "vector(3, 1, 2, double)", "vector(2, 1, 3, double)" },
	{ "contiguous(3, double)", "vector(2, 1, 3, double)" },
	{ "vector(3, 1, 2, double)", "contiguous(2, double)" },
	{ "contiguous(3, double)", "contiguous(2, double)" },
};

START_TEST(a_copy_that_is_too_long_is_told)
{
	struct dtconv_type *from = fixture_type(longer[_i].from),
			   *to = fixture_type(longer[_i].to);
	double source[6] = { 1, 2, 3, 4, 5, 6 }, target[6] = { 0 };
	struct dtconv_batch_copy copy = doubles(to, source, to, target + 3);
	struct dtconv_batch_entry_attr entry = { .struct_size = sizeof(entry) };
	struct dtconv_batch_attr attr = { .struct_size = sizeof(attr) };
	struct dtconv_batch *batch;
	size_t moved, index;

	fixture_ok(dtconv_batch_create(fixture_context, NULL, 0, NULL, &batch));
	copy = doubles(from, source, to, target);
	fixture_ok(dtconv_batch_add_copy(batch, &copy, &index));
	fixture_ok(dtconv_batch_query(batch, &attr));
	ck_assert_uint_eq(attr.failed, 1);
	ck_assert_uint_eq(attr.bytes, 16);
	fixture_status(dtconv_batch_run(batch, &moved), DTCONV_ERR_TRUNCATE);
	ck_assert_str_eq(fixture_error(),
			 "dtconv_batch_run: entry 0: the source packs to 24 bytes, but "
			 "the target has room for 16");
	ck_assert_uint_eq(moved, 16);
	fixture_ok(dtconv_batch_query_entry(batch, index, &entry));
	ck_assert_int_eq(entry.status, DTCONV_ERR_TRUNCATE);
	ck_assert_uint_eq(entry.moved, 16);
	ck_assert_uint_eq(entry.bytes, 24);
	ck_assert(target[0] == 1);
	/* The other way round the source is shorter. */
	copy = doubles(to, source, from, target);
	fixture_ok(dtconv_batch_rebind_copy(batch, 0, &copy));
	fixture_ok(dtconv_batch_run(batch, &moved));
	ck_assert_uint_eq(moved, 16);
	fixture_ok(dtconv_batch_query_entry(batch, 0, &entry));
	ck_assert_uint_eq(entry.bytes, 16);
	/* And nothing at all. */
	copy.source_count = 0;
	fixture_ok(dtconv_batch_rebind_copy(batch, 0, &copy));
	fixture_ok(dtconv_batch_run(batch, &moved));
	ck_assert_uint_eq(moved, 0);
	dtconv_batch_destroy(batch);
	dtconv_type_unref(from);
	dtconv_type_unref(to);
}
END_TEST

/* The same for both calls; the batch stays as it was. */
static void refuse_copy(struct dtconv_batch_copy copy, int status, const char *words)
{
	struct dtconv_type *type = dtconv_type_predefined(fixture_context, DTCONV_INT);
	int user = 1, packed = 0;
	const struct dtconv_batch_entry entry = {
		type, 1, &user, &packed, sizeof(int), DTCONV_BATCH_PACK, 0, 0
	};
	struct dtconv_batch_attr attr = { .struct_size = sizeof(attr) };
	struct dtconv_batch *batch;
	size_t index = 99;

	fixture_ok(dtconv_batch_create(fixture_context, &entry, 1, NULL, &batch));
	fixture_status(dtconv_batch_add_copy(batch, &copy, &index), status);
	ck_assert_msg(strstr(fixture_error(), words) != NULL, "%s", fixture_error());
	ck_assert_uint_eq(index, 99);
	fixture_status(dtconv_batch_rebind_copy(batch, 0, &copy), status);
	ck_assert_msg(strstr(fixture_error(), words) != NULL, "%s", fixture_error());
	fixture_ok(dtconv_batch_run(batch, NULL));
	ck_assert_int_eq(packed, 1);
	fixture_ok(dtconv_batch_query(batch, &attr));
	ck_assert_uint_eq(attr.count, 1);
	dtconv_batch_destroy(batch);
}

START_TEST(bad_copies_are_refused)
{
	struct dtconv_type *type = fixture_type("double"), *other = fixture_type("int");
	double source[4] = { 0 }, target[4];
	struct dtconv_batch_copy good = doubles(type, source, type, target), copy;
	struct dtconv_context *context;
	struct dtconv_type *open;
	struct dtconv_batch *batch;

	fixture_ok(dtconv_context_create(NULL, &context));
	fixture_ok(dtconv_type_create_contiguous(2, type, &open));
	copy = good, copy.struct_size = 0;
	refuse_copy(copy, DTCONV_ERR_INVAL, "struct_size");
	copy = good, copy.source_type = NULL;
	refuse_copy(copy, DTCONV_ERR_INVAL, "copy.source_type is NULL");
	copy = good, copy.target_type = NULL;
	refuse_copy(copy, DTCONV_ERR_INVAL, "copy.target_type is NULL");
	copy = good, copy.source_type = dtconv_type_predefined(context, DTCONV_DOUBLE);
	refuse_copy(copy, DTCONV_ERR_INVAL, "copy.source_type was made in another");
	copy = good, copy.target_type = dtconv_type_predefined(context, DTCONV_DOUBLE);
	refuse_copy(copy, DTCONV_ERR_INVAL, "copy.target_type was made in another");
	copy = good, copy.source_type = open;
	refuse_copy(copy, DTCONV_ERR_STATE, "copy.source_type");
	copy = good, copy.target_type = open;
	refuse_copy(copy, DTCONV_ERR_STATE, "copy.target_type");
	copy = good, copy.target_type = other;
	refuse_copy(copy, DTCONV_ERR_SIGNATURE, "signature");
	copy = good, copy.source_count = SIZE_MAX / 4;
	refuse_copy(copy, DTCONV_ERR_OVERFLOW, "overflow");
	copy = good, copy.op = DTCONV_OP_BAND;
	refuse_copy(copy, DTCONV_ERR_INVAL, "band is not defined on double");
	copy = good, copy.op = DTCONV_OP_USER;
	refuse_copy(copy, DTCONV_ERR_INVAL, "op_fn is NULL");
	fixture_ok(dtconv_batch_create(fixture_context, NULL, 0, NULL, &batch));
	fixture_status(dtconv_batch_rebind_copy(batch, 0, &good), DTCONV_ERR_INVAL);
	fixture_ok(dtconv_batch_start(batch, NULL, NULL));
	fixture_status(dtconv_batch_add_copy(batch, &good, NULL), DTCONV_ERR_STATE);
	fixture_status(dtconv_batch_rebind_copy(batch, 0, &good), DTCONV_ERR_STATE);
	fixture_ok(dtconv_batch_wait(batch, NULL));
	dtconv_batch_destroy(batch);
	dtconv_type_unref(open);
	dtconv_type_unref(type);
	dtconv_type_unref(other);
	dtconv_context_destroy(context);
}
END_TEST

/* Appending grows the list by more than one; starting allocates nothing. */
START_TEST(copies_are_started_without_an_allocation)
{
	struct dtconv_type *type = fixture_type("vector(3, 1, 2, double)"),
			   *to = fixture_type("vector(3, 1, 3, double)");
	double source[6] = { 1, 2, 3, 4, 5, 6 };
	static double targets[100][9];
	struct dtconv_batch *batch;
	size_t index;

	fixture_ok(dtconv_batch_create(fixture_context, NULL, 0, NULL, &batch));
	size_t before = fixture_allocations();
	for (size_t i = 0; i < 100; i++) {
		const struct dtconv_batch_copy copy =
			doubles(type, source, to, targets[i]);

		fixture_ok(dtconv_batch_add_copy(batch, &copy, &index));
		ck_assert_uint_eq(index, i);
	}
	/* A copy each, and both lists at 8, 16, 32, 64 and 128, the last four in exchange for others. */
	ck_assert_uint_eq(fixture_allocations() - before, 100 + 5 * 2 + 4 * 2);
	before = fixture_allocations();
	for (int round = 0; round < 3; round++)
		fixture_ok(dtconv_batch_run(batch, NULL));
	ck_assert_uint_eq(fixture_allocations(), before);
	for (size_t i = 0; i < 100; i++)
		ck_assert(targets[i][0] == 1 && targets[i][3] == 3 && targets[i][6] == 5);
	dtconv_batch_destroy(batch);
	dtconv_type_unref(type);
	dtconv_type_unref(to);
}
END_TEST

/* ---- errors -------------------------------------------------------------------------------- */

static void refuse(struct dtconv_batch_entry second, int status, const char *word)
{
	struct dtconv_type *type = dtconv_type_predefined(fixture_context, DTCONV_INT);
	const struct dtconv_batch_entry good = { .type = type };
	const struct dtconv_batch_entry entries[2] = { good, second };
	struct dtconv_batch *batch = NULL;

	ck_assert_int_eq(dtconv_batch_create(fixture_context, entries, 2, NULL, &batch),
			 status);
	ck_assert_ptr_null(batch);
	ck_assert_msg(strstr(fixture_error(), "entry 1") && strstr(fixture_error(), word),
		      "%s", fixture_error());
	fixture_ok(dtconv_batch_create(fixture_context, &good, 1, NULL, &batch));
	ck_assert_int_eq(dtconv_batch_rebind(batch, entries, 2), status);
	ck_assert_int_eq(dtconv_batch_rebind_entry(batch, 0, &second), status);
	fixture_status(dtconv_batch_rebind_entry(batch, 1, &good), DTCONV_ERR_INVAL);
	fixture_ok(dtconv_batch_run(batch, NULL));
	dtconv_batch_destroy(batch);
}

START_TEST(bad_entries_are_refused_and_named)
{
	struct dtconv_type *type = dtconv_type_predefined(fixture_context, DTCONV_INT);
	struct dtconv_context *other;
	struct dtconv_type *open;

	fixture_ok(dtconv_context_create(NULL, &other));
	fixture_ok(dtconv_type_create_contiguous(2, type, &open));
	refuse((struct dtconv_batch_entry){ .type = NULL }, DTCONV_ERR_INVAL, "NULL");
	refuse((struct dtconv_batch_entry){ .type = dtconv_type_predefined(other,
									   DTCONV_INT) },
	       DTCONV_ERR_INVAL, "another context");
	refuse((struct dtconv_batch_entry){ .type = open }, DTCONV_ERR_STATE,
	       "not committed");
	refuse((struct dtconv_batch_entry){ .type = type, .count = SIZE_MAX / 2 },
	       DTCONV_ERR_OVERFLOW, "overflows");
	refuse((struct dtconv_batch_entry){ .type = type, .direction = 2 },
	       DTCONV_ERR_INVAL, "direction");
	refuse((struct dtconv_batch_entry){ .type = type, .user_memory = 5 },
	       DTCONV_ERR_INVAL, "user_memory");
	refuse((struct dtconv_batch_entry){ .type = type, .packed_memory = 5 },
	       DTCONV_ERR_INVAL, "packed_memory");
	dtconv_type_unref(open);
	dtconv_context_destroy(other);
}
END_TEST

START_TEST(bad_parameters_are_refused)
{
	struct dtconv_batch_params params = { .struct_size = 0 };
	struct dtconv_batch_attr attr = { .struct_size = 0 };
	struct dtconv_batch_entry_attr entry = { .struct_size = 0 };
	struct dtconv_batch *batch;

	fixture_status(dtconv_batch_create(fixture_context, NULL, 0, &params, &batch),
		       DTCONV_ERR_INVAL);
	params.struct_size = sizeof(params);
	params.flags = 6;
	fixture_status(dtconv_batch_create(fixture_context, NULL, 0, &params, &batch),
		       DTCONV_ERR_INVAL);
	params.flags = 0;
	params.stream = &params;
	fixture_status(dtconv_batch_create(fixture_context, NULL, 0, &params, &batch),
		       DTCONV_ERR_INVAL);
	params.stream = NULL;
	params.capacity = SIZE_MAX / 2;
	fixture_status(dtconv_batch_create(fixture_context, NULL, 0, &params, &batch),
		       DTCONV_ERR_NOMEM);
	fixture_ok(dtconv_batch_create(fixture_context, NULL, 0, NULL, &batch));
	fixture_status(dtconv_batch_query(batch, &attr), DTCONV_ERR_INVAL);
	entry.struct_size = sizeof(entry);
	fixture_status(dtconv_batch_query_entry(batch, 0, &entry), DTCONV_ERR_INVAL);
	dtconv_batch_destroy(batch);
}
END_TEST

/* A batch asks for no less and tells no less than a call of its own does. */
START_TEST(the_processor_may_be_forbidden_and_is_counted)
{
	const struct dtconv_context_params params = { .struct_size = sizeof(params),
						      .flags = DTCONV_CONTEXT_COUNTERS };
	struct dtconv_backend_counters host = { .struct_size = sizeof(host) };
	static const char text[] = "vector(9, 2, 5, int)";
	int buffer[45] = { 0 }, packed[18] = { 7 };
	struct dtconv_context *context;

	if (_i)
		setenv("DTCONV_BACKENDS", "^host", 1);
	fixture_ok(dtconv_context_create(&params, &context));
	unsetenv("DTCONV_BACKENDS");
	struct dtconv_type *type = fixture_type_in(context, text);
	const struct dtconv_batch_entry entry = { .type = type,
						  .count = 1,
						  .buffer = buffer,
						  .packed = packed,
						  .bytes = sizeof(packed) };
	ck_assert_int_eq(dtconv_batch_move(context, &entry, 1, NULL, NULL, NULL),
			 _i ? DTCONV_ERR_UNSUPPORTED : 0);
	ck_assert_int_eq(packed[0], _i ? 7 : 0);
	fixture_ok(dtconv_context_query_backend(context, "host", &host));
	ck_assert_uint_eq(host.jobs, _i ? 0 : 1);
	ck_assert_uint_eq(host.bytes, _i ? 0 : sizeof(packed));
	dtconv_type_unref(type);
	dtconv_context_destroy(context);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("batch");
	TCase *moves = fixture_case(suite, "moves", 60);
	TCase *copies = fixture_case(suite, "copies", 60);
	TCase *errors = fixture_case(suite, "errors", 20);

	tcase_add_loop_test(moves, every_entry_moves_as_the_oracle_says, 0, 20);
	tcase_add_loop_test(moves, entries_without_room_move_what_fits, 0, 20);
	tcase_add_test(moves, a_stream_that_is_too_long_is_told);
	tcase_add_loop_test(moves, a_started_batch_ends_once, 0, 2);
	tcase_add_test(moves, moving_and_binding_again_allocate_nothing);
	tcase_add_test(moves, room_is_made_ahead);
	tcase_add_loop_test(copies, copies_are_entries_as_the_oracle_says, 0, 20);
	tcase_add_test(copies, a_copy_may_have_an_operation);
	tcase_add_loop_test(copies, a_copy_that_is_too_long_is_told, 0, 4);
	tcase_add_test(copies, copies_are_started_without_an_allocation);
	tcase_add_test(copies, bad_copies_are_refused);
	tcase_add_loop_test(errors, the_processor_may_be_forbidden_and_is_counted, 0, 2);
	tcase_add_test(errors, bad_entries_are_refused_and_named);
	tcase_add_test(errors, bad_parameters_are_refused);
	return fixture_run(suite);
}
