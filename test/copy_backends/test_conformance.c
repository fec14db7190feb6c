/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every backend against the oracle: all pairs of memory kinds, both directions, every class of
 * layout, cuts at any byte, pieces in any order, odd addresses, and not a gap byte touched.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "copy_backends/backend.h"
#include "support/fixture.h"
#include "support/gpu.h"
#include "support/layouts.h"
#include "support/type_choices.h"

/* A stage whose user memory and packed memory lie in arenas. */
struct scene {
	struct stage *stage;
	struct arena source, target, packed;
	size_t shift; /* of packed memory, in bytes */
	unsigned char *scratch;
};

#define SLACK 128 /* guard bytes round packed memory */

/* The one backend that moves may use, or NULL: the planner chooses. */
static const char *forced;

static void force(struct dtconv_convertor *convertor)
{
	const struct dtconv_convertor_params params = fixture_by(forced);

	fixture_ok(dtconv_convertor_configure(convertor, &params));
}

static void scene_open(struct scene *scene, struct stage *stage, enum arena_kind user,
		       enum arena_kind packed, size_t shift)
{
	scene->stage = stage;
	scene->shift = shift;
	arena_open(&scene->source, user, stage->memory_bytes);
	arena_open(&scene->target, user, stage->memory_bytes);
	arena_open(&scene->packed, packed, stage->bytes + shift + 2 * SLACK);
	scene->scratch = malloc(stage->bytes + stage->memory_bytes + shift + 2 * SLACK);
	ck_assert_ptr_nonnull(scene->scratch);
	arena_write(&scene->source, 0, stage->source_memory, stage->memory_bytes);
}

static void scene_close(struct scene *scene)
{
	arena_close(&scene->source);
	arena_close(&scene->target);
	arena_close(&scene->packed);
	free(scene->scratch);
}

static unsigned char *packed_at(const struct scene *scene, size_t position)
{
	return scene->packed.memory + SLACK + scene->shift + position;
}

static size_t packed_bytes(const struct scene *scene)
{
	return scene->stage->bytes + scene->shift + 2 * SLACK;
}

static void move(struct dtconv_convertor *convertor, bool pack, unsigned char *packed, size_t bytes)
{
	size_t moved;
	int status = pack ? dtconv_convertor_pack(convertor, packed, bytes, &moved)
			  : dtconv_convertor_unpack(convertor, packed, bytes, &moved);

	ck_assert_msg(!status, "%s", fixture_error());
	ck_assert_uint_eq(moved, bytes);
}

static unsigned char *source_of(const struct scene *scene)
{
	return scene->source.memory +
	       (scene->stage->source - scene->stage->source_memory);
}

static unsigned char *target_of(const struct scene *scene)
{
	return scene->target.memory +
	       (scene->stage->target - scene->stage->target_memory);
}

static void guard_packed(struct scene *scene)
{
	stage_guard(scene->scratch, packed_bytes(scene));
	arena_write(&scene->packed, 0, scene->scratch, packed_bytes(scene));
}

/* The stream is where it should be, and what is round it is as it was. */
static void packed_is_right(struct scene *scene)
{
	const struct stage *stage = scene->stage;
	unsigned char *got = malloc(packed_bytes(scene));

	ck_assert_ptr_nonnull(got);
	memcpy(scene->scratch + SLACK + scene->shift, stage->stream, stage->bytes);
	arena_read(&scene->packed, 0, got, packed_bytes(scene));
	for (size_t i = 0; i < packed_bytes(scene); i++)
		if (got[i] != scene->scratch[i])
			ck_abort_msg("packed byte %td of %zu is %d, not %d",
				     (ptrdiff_t)(i - SLACK - scene->shift), stage->bytes, got[i],
				     scene->scratch[i]);
	free(got);
}

/* The target as it is before, and the whole stream in packed memory. */
static void blank_target(struct scene *scene)
{
	struct stage *stage = scene->stage;

	stage_blank(stage);
	arena_write(&scene->target, 0, stage->target_memory, stage->memory_bytes);
	arena_write(&scene->packed, SLACK + scene->shift, stage->stream, stage->bytes);
}

static void target_is_right(struct scene *scene)
{
	struct stage *stage = scene->stage;

	arena_read(&scene->target, 0, stage->target_memory, stage->memory_bytes);
	stage_deliver(stage, 0, stage->bytes);
	size_t wrong = stage_first_wrong(stage);
	ck_assert_msg(wrong == STAGE_RIGHT, "byte at displacement %td is wrong after unpacking",
		      wrong == STAGE_RIGHT ? 0 : stage_displacement(stage, wrong));
}

/* Of the scene's buffers, by the backend that is forced. */
static struct dtconv_convertor *convertor_of(const struct scene *scene, bool pack)
{
	const struct stage *stage = scene->stage;
	struct dtconv_convertor *convertor;
	int status = pack ? dtconv_convertor_create_pack(stage->type, stage->count,
							 source_of(scene), &convertor)
			  : dtconv_convertor_create_unpack(stage->type, stage->count,
							   target_of(scene), &convertor);

	ck_assert_int_eq(status, 0);
	force(convertor);
	return convertor;
}

static void move_fragments(struct scene *scene, bool pack, size_t fragment)
{
	struct dtconv_convertor *convertor = convertor_of(scene, pack);
	size_t bytes = scene->stage->bytes;

	for (size_t at = 0; at < bytes; at += fragment)
		move(convertor, pack, packed_at(scene, at),
		     fragment < bytes - at ? fragment : bytes - at);
	dtconv_convertor_destroy(convertor);
}

/* Packs the stream in fragments; what is round it must stay as it is. */
static void check_pack(struct scene *scene, size_t fragment)
{
	guard_packed(scene);
	move_fragments(scene, true, fragment);
	packed_is_right(scene);
}

static void check_unpack(struct scene *scene, size_t fragment)
{
	blank_target(scene);
	move_fragments(scene, false, fragment);
	target_is_right(scene);
}

/* ---- out of order ---------------------------------------------------------------------- */

#define CUTS 3

/* Where a piece begins: at odd bytes, so that some elements are cut. */
static size_t cut_at(const struct stage *stage, size_t cut)
{
	if (cut == 0 || cut == CUTS)
		return cut ? stage->bytes : 0;
	size_t at = stage->bytes * cut / CUTS | 1;
	return at < stage->bytes ? at : stage->bytes;
}

/* The last piece comes first, each through a clone of a convertor that never moves itself. */
static void move_reversed(struct scene *scene, bool pack)
{
	struct dtconv_convertor_attr attr = { .struct_size = sizeof(attr) };
	struct dtconv_convertor *convertor = convertor_of(scene, pack);

	for (size_t cut = CUTS; cut-- > 0;) {
		size_t from = cut_at(scene->stage, cut),
		       to = cut_at(scene->stage, cut + 1);
		struct dtconv_convertor *clone;

		fixture_ok(dtconv_convertor_clone(convertor, &clone));
		fixture_ok(dtconv_convertor_seek(clone, from));
		move(clone, pack, packed_at(scene, from), to - from);
		fixture_ok(dtconv_convertor_query(clone, &attr));
		ck_assert_uint_eq(attr.position, to);
		dtconv_convertor_destroy(clone);
	}
	fixture_ok(dtconv_convertor_query(convertor, &attr));
	ck_assert_uint_eq(attr.position, 0);
	dtconv_convertor_destroy(convertor);
}

static void check_reversed(struct stage *stage, enum arena_kind user,
			   enum arena_kind packed, size_t shift, bool packs, bool unpacks)
{
	struct scene scene;

	scene_open(&scene, stage, user, packed, shift);
	guard_packed(&scene); /* kernels load whole words at the ends of what is packed */
	if (packs) {
		move_reversed(&scene, true);
		packed_is_right(&scene);
	}
	if (unpacks) {
		blank_target(&scene);
		move_reversed(&scene, false);
		target_is_right(&scene);
	}
	scene_close(&scene);
}

static void check_stage(struct stage *stage, enum arena_kind user, enum arena_kind packed,
			size_t shift, size_t fragment, bool unpacks)
{
	struct scene scene;

	scene_open(&scene, stage, user, packed, shift);
	check_pack(&scene, fragment);
	if (unpacks)
		check_unpack(&scene, fragment);
	scene_close(&scene);
}

/* ---- cases ----------------------------------------------------------------------------- */

#define PAIRS (ARENA_KINDS * ARENA_KINDS)

/* A kind may be left out by its name: compute-sanitizer's initcheck does not see what the host's mapped memory holds. */
static bool is_left_out(enum arena_kind kind)
{
	const char *name = getenv("DTCONV_TEST_WITHOUT");

	return name && !strcmp(name, arena_kind_names[kind]);
}

START_TEST(every_layout_moves_between_every_pair_of_kinds)
{
	enum arena_kind user = (enum arena_kind)(_i / ARENA_KINDS),
			packed = (enum arena_kind)(_i % ARENA_KINDS);

	if (is_left_out(user) || is_left_out(packed))
		return;
	for (int i = 0; i < layout_count; i++) {
		struct stage stage;

		fixture_open(&stage, layouts[i].text, 3);
		check_stage(&stage, user, packed, (size_t)i % 17, stage.bytes ? stage.bytes : 1,
			    !layouts[i].overlaps);
		fixture_close(&stage);
	}
}
END_TEST

START_TEST(fragments_of_any_size_give_the_same_stream)
{
	static const size_t sizes[] = { 1, 3, 16, 61, 128, 1000 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct stage stage;

		fixture_open(&stage, layouts[_i].text, 2);
		if (stage.bytes < 60 * sizes[i])
			check_stage(&stage, ARENA_DEVICE, i % 2 ? ARENA_DEVICE : ARENA_PINNED, i,
				    sizes[i], !layouts[_i].overlaps);
		fixture_close(&stage);
	}
}
END_TEST

static const enum dtconv_memory_kind kinds[ARENA_KINDS] = {
	DTCONV_MEMORY_HOST,    DTCONV_MEMORY_PINNED, DTCONV_MEMORY_PINNED,
	DTCONV_MEMORY_MANAGED, DTCONV_MEMORY_DEVICE, DTCONV_MEMORY_DEVICE,
	DTCONV_MEMORY_DEVICE,  DTCONV_MEMORY_DEVICE
};

/* Whether a backend says that it can move between memory of those kinds. */
static bool can(const struct dtc_backend_ops *backend, enum arena_kind user,
		enum arena_kind packed)
{
	const struct dtc_question question = { .user_kind = kinds[user],
					       .packed_kind = kinds[packed] };
	const char *reason;

	return backend->can(&question, &reason);
}

/* A backend that cannot is not replaced by one that can: the move is refused, and says so. */
static void must_be_refused(enum arena_kind user, enum arena_kind packed)
{
	const struct dtconv_convertor_params params = fixture_by(forced);
	struct dtconv_type *type = fixture_type("vector(50, 1, 2, double)");
	struct arena from, to;
	size_t moved;

	arena_open(&from, user, 1000);
	arena_open(&to, packed, 1000);
	fixture_status(dtconv_pack_with(type, 1, from.memory, to.memory, 1000, &params,
					&moved),
		       DTCONV_ERR_UNSUPPORTED);
	ck_assert_uint_eq(moved, 0);
	ck_assert_ptr_nonnull(strstr(fixture_error(), forced));
	arena_close(&from);
	arena_close(&to);
	dtconv_type_unref(type);
}

static void check_whole(struct stage *stage, int layout, enum arena_kind user,
			enum arena_kind packed)
{
	check_stage(stage, user, packed, (size_t)layout % 13,
		    stage->bytes ? stage->bytes : 1, !layouts[layout].overlaps);
}

/* One way or the other, unless all is asked for. */
static void check_any_order(struct stage *stage, int layout, enum arena_kind user,
			    enum arena_kind packed)
{
	bool all = fixture_everything(), overlaps = layouts[layout].overlaps;

	check_reversed(stage, user, packed, (size_t)layout % 13,
		       all || overlaps || layout % 2,
		       !overlaps && (all || layout % 2 == 0));
}

/* So many of the layouts each pair of kinds sees; every backend sees all in the end. */
#define FORCED_STRIDE 11

static void check_forced(enum arena_kind user, enum arena_kind packed,
			 void (*check)(struct stage *stage, int layout,
				       enum arena_kind user, enum arena_kind packed))
{
	int step = fixture_everything() ? 1 : FORCED_STRIDE;

	for (int i = (int)(user + packed) % step; i < layout_count; i += step) {
		struct stage stage;

		fixture_open(&stage, layouts[i].text, 2);
		check(&stage, i, user, packed);
		fixture_close(&stage);
	}
}

START_TEST(every_backend_moves_what_it_says_it_can_and_nothing_else)
{
	enum arena_kind user = (enum arena_kind)(_i / ARENA_KINDS),
			packed = (enum arena_kind)(_i % ARENA_KINDS);

	if (is_left_out(user) || is_left_out(packed))
		return;
	for (size_t i = 0; dtc_backends[i]; i++) {
		forced = dtc_backends[i]->name;
		if (can(dtc_backends[i], user, packed))
			check_forced(user, packed, check_whole);
		else
			must_be_refused(user, packed);
	}
	forced = NULL;
}
END_TEST

START_TEST(pieces_may_come_in_any_order_through_clones)
{
	enum arena_kind user = (enum arena_kind)(_i / ARENA_KINDS),
			packed = (enum arena_kind)(_i % ARENA_KINDS);

	if (is_left_out(user) || is_left_out(packed))
		return;
	for (size_t i = 0; dtc_backends[i]; i++) {
		forced = dtc_backends[i]->name;
		if (can(dtc_backends[i], user, packed))
			check_forced(user, packed, check_any_order);
	}
	forced = NULL;
}
END_TEST

#define RANDOM_TYPES      100
#define MANY_RANDOM_TYPES 20000

START_TEST(random_types_move_as_the_oracle_says)
{
	struct choices choices = fixture_choices(0x6d70755f);
	int rounds = fixture_everything() ? MANY_RANDOM_TYPES : RANDOM_TYPES;

	for (int round = 0; round < rounds; round++) {
		struct dtconv_type *type =
			type_choose(fixture_context, &choices, &type_bounds_small);
		enum arena_kind packed = chance(&choices, 3) ? ARENA_PINNED : ARENA_DEVICE;
		size_t count = 1 + choose(&choices, 9);
		struct stage stage;

		if (!stage_open(&stage, type, count, choose(&choices, 64), choose(&choices, 64),
				(uint64_t)round)) {
			size_t fragment = chance(&choices, 2) ? stage.bytes + 1
							      : 1 + choose(&choices, 3000);

			if (stage.bytes < 40 * fragment)
				check_stage(&stage, ARENA_DEVICE, packed, choose(&choices, 130),
					    fragment, true);
			stage_close(&stage);
		}
		dtconv_type_unref(type);
	}
}
END_TEST

START_TEST(kinds_are_told_apart)
{
	struct dtconv_memory_attr attr = { .struct_size = sizeof(attr) };
	struct arena arena;

	if (is_left_out((enum arena_kind)_i))
		return;
	arena_open(&arena, (enum arena_kind)_i, 100000);
	fixture_ok(dtconv_memory_query(fixture_context, arena.memory + 777, &attr));
	ck_assert_msg(attr.kind == kinds[_i], "%s memory is taken for kind %d",
		      arena_kind_names[_i], (int)attr.kind);
	if (_i != ARENA_HOST) {
		ck_assert((unsigned char *)attr.base <= arena.memory + 777);
		ck_assert((unsigned char *)attr.base + attr.length > arena.memory + 777);
	}
	arena_close(&arena);
}
END_TEST

/* A promise is believed: what asks the driver otherwise does not. */
START_TEST(a_context_for_host_memory_asks_no_driver)
{
	const struct dtconv_context_params params = { .struct_size = sizeof(params),
						      .flags = DTCONV_CONTEXT_HOST_MEMORY };
	struct dtconv_memory_attr attr = { .struct_size = sizeof(attr) };
	struct dtconv_context *context;
	struct arena arena;

	fixture_ok(dtconv_context_create(&params, &context));
	arena_open(&arena, ARENA_PINNED, 4096);
	fixture_ok(dtconv_memory_query(context, arena.memory, &attr));
	ck_assert_int_eq((int)attr.kind, DTCONV_MEMORY_HOST);
	fixture_ok(dtconv_memory_query(fixture_context, arena.memory, &attr));
	ck_assert_int_eq((int)attr.kind, DTCONV_MEMORY_PINNED);
	arena_close(&arena);
	dtconv_context_destroy(context);
}
END_TEST

int main(void)
{
	gpu_open_in_program();
	Suite *suite = suite_create("conformance");
	TCase *moves = fixture_case(suite, "moves", 60);

	tcase_add_loop_test(moves, kinds_are_told_apart, 0, ARENA_KINDS);
	tcase_add_test(moves, a_context_for_host_memory_asks_no_driver);
	tcase_add_loop_test(moves, every_layout_moves_between_every_pair_of_kinds, 0, PAIRS);
	tcase_add_loop_test(moves, every_backend_moves_what_it_says_it_can_and_nothing_else, 0,
			    PAIRS);
	tcase_add_loop_test(moves, fragments_of_any_size_give_the_same_stream, 0, layout_count);
	tcase_add_test(moves, random_types_move_as_the_oracle_says);
	TCase *order = fixture_case(suite, "order", 60);
	tcase_add_loop_test(order, pieces_may_come_in_any_order_through_clones, 0, PAIRS);
	return fixture_run(suite);
}
