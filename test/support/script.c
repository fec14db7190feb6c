/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random operations on up to four convertors of one stage. Each operation computes the expected
 * outcome, runs, and reports a difference in one sentence.
 */
#include "config.h"

#include "support/script.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dtconv/convertor.h>
#include <dtconv/status.h>
#include <dtconv/type.h>

#include "support/choices.h"
#include "support/seen.h"
#include "support/stage.h"

#define PLAYERS 4
#define IOVECS  64

/* A convertor and where its stream must stand. */
struct player {
	struct dtconv_convertor *convertor;
	size_t position;
	bool packs;
};

struct script {
	struct stage *stage;
	struct choices *choices;
	struct player players[PLAYERS];
	size_t player_count;
	unsigned char *packed; /* guard, shift of up to 15, stream and surplus, guard */
	size_t packed_bytes;
	char *failure;
};

/* Past the stream's end a fragment may have this many bytes more. */
#define SURPLUS 8

__attribute__((format(printf, 2, 3))) static int fail(struct script *script,
						      const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(script->failure, SCRIPT_FAILURE, format, arguments);
	va_end(arguments);
	return -1;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t remaining(const struct script *script, const struct player *player)
{
	return script->stage->bytes - player->position;
}

/* ---- expectations -------------------------------------------------------------------- */

static int expect_status(struct script *script, const char *call, int status,
			 int expected)
{
	if (status == expected)
		return 0;
	return fail(script, "%s answered %d (%s), not %d (%s)", call, status,
		    dtconv_strerror(status), expected, dtconv_strerror(expected));
}

static int expect_moved(struct script *script, const char *call, size_t position,
			size_t moved, size_t expected)
{
	if (moved == expected)
		return 0;
	return fail(script, "%s at position %zu of %zu moved %zu bytes, not %zu", call,
		    position, script->stage->bytes, moved, expected);
}

static int expect_position(struct script *script, const struct player *player)
{
	struct dtconv_convertor_attr attr = { .struct_size = sizeof(attr) };

	if (expect_status(script, "query",
			  dtconv_convertor_query(player->convertor, &attr), 0))
		return -1;
	if (attr.position != player->position || attr.size != script->stage->bytes ||
	    attr.in_flight)
		return fail(
			script,
			"query says position %zu of %zu, in flight %d; it is %zu of %zu",
			attr.position, attr.size, attr.in_flight, player->position,
			script->stage->bytes);
	return 0;
}

/* The packed bytes must be the stream's, with the guards on both sides untouched. */
static int expect_packed(struct script *script, const char *call, size_t shift,
			 size_t position, size_t moved)
{
	unsigned char *at = script->packed + STAGE_GUARD + shift;
	size_t wrong;

	for (size_t i = 0; i < moved; i++)
		if (at[i] != script->stage->stream[position + i])
			return fail(
				script,
				"%s of %zu bytes at position %zu: byte %zu is 0x%02x, not 0x%02x",
				call, moved, position, i, at[i],
				script->stage->stream[position + i]);
	/* Put the guard bytes back where data is, and look at all of them. */
	for (size_t i = 0; i < moved; i++)
		at[i] = stage_guard_byte((size_t)(at + i - script->packed));
	wrong = stage_guard_first_wrong(script->packed, script->packed_bytes);
	if (wrong != STAGE_RIGHT)
		return fail(
			script,
			"%s of %zu bytes at position %zu wrote to byte %td of its packed memory",
			call, moved, position, (ptrdiff_t)(wrong - STAGE_GUARD - shift));
	return 0;
}

static int expect_target(struct script *script, const char *call, size_t position,
			 size_t moved)
{
	size_t wrong;

	stage_deliver(script->stage, position, moved);
	wrong = stage_first_wrong(script->stage);
	if (wrong == STAGE_RIGHT)
		return 0;
	return fail(
		script,
		"%s of %zu bytes at position %zu: displacement %td of the target is 0x%02x",
		call, moved, position, stage_displacement(script->stage, wrong),
		script->stage->target_memory[wrong]);
}

/* ---- choices ------------------------------------------------------------------------- */

/* A fragment length: single bytes, small, round and a little off, all that remains, more. */
static size_t choose_length(struct script *script, size_t rest)
{
	static const signed char off[] = { 0, 1, -1, 3, -3, 4, -4, 7, -7 };
	size_t length;

	switch (choose(script->choices, 6)) {
	case 0:
		length = 1;
		break;
	case 1:
		length = choose(script->choices, 18);
		break;
	case 2:
		length = ((size_t)8 << choose(script->choices, 12)) +
			 (size_t)off[choose(script->choices, sizeof(off))];
		break;
	case 3:
		length = rest;
		break;
	case 4:
		length = rest + choose(script->choices, SURPLUS + 1);
		break;
	default:
		length = choose(script->choices, rest + 1);
	}
	return smaller(length, rest + SURPLUS);
}

static struct player *choose_player(struct script *script)
{
	return &script->players[choose(script->choices, script->player_count)];
}

/* ---- operations ---------------------------------------------------------------------- */

static int play_pack(struct script *script, struct player *player)
{
	size_t capacity = choose_length(script, remaining(script, player));
	size_t expected = smaller(capacity, remaining(script, player));
	size_t shift = choose(script->choices, 16);
	size_t position = player->position;
	size_t moved = SIZE_MAX;
	int status = dtconv_convertor_pack(player->convertor,
					   script->packed + STAGE_GUARD + shift, capacity,
					   &moved);

	player->position += expected;
	if (expect_status(script, "pack", status, 0) ||
	    expect_moved(script, "pack", position, moved, expected))
		return -1;
	return expect_packed(script, "pack", shift, position, moved);
}

/* Lays the next bytes of the stream, and rubbish after its end, for an unpack. */
static unsigned char *lay_packed(struct script *script, size_t position, size_t bytes)
{
	unsigned char *packed =
		script->packed + STAGE_GUARD + choose(script->choices, 16);
	size_t valid = smaller(bytes, script->stage->bytes - position);

	memcpy(packed, script->stage->stream + position, valid);
	memset(packed + valid, 0x5a, bytes - valid);
	return packed;
}

static int play_unpack(struct script *script, struct player *player)
{
	size_t bytes = choose_length(script, remaining(script, player));
	size_t expected = smaller(bytes, remaining(script, player));
	size_t position = player->position;
	size_t moved = SIZE_MAX;
	int status = dtconv_convertor_unpack(
		player->convertor, lay_packed(script, position, bytes), bytes, &moved);

	stage_guard(script->packed, script->packed_bytes);
	player->position += expected;
	if (expect_status(script, "unpack", status,
			  bytes > expected ? DTCONV_ERR_TRUNCATE : 0) ||
	    expect_moved(script, "unpack", position, moved, expected))
		return -1;
	return expect_target(script, "unpack", position, moved);
}

static int play_move(struct script *script)
{
	struct player *player = choose_player(script);

	return player->packs ? play_pack(script, player) : play_unpack(script, player);
}

/* Everything but query, test and wait is refused while an operation is in flight. */
static int expect_refusals(struct script *script, struct player *player)
{
	struct dtconv_convertor *convertor = player->convertor;
	struct dtconv_convertor *clone = NULL;
	struct iovec iov;
	size_t iov_count, moved;
	unsigned char byte = 0;

	if (dtconv_convertor_seek(convertor, 0) != DTCONV_ERR_STATE ||
	    dtconv_convertor_clone(convertor, &clone) != DTCONV_ERR_STATE || clone ||
	    dtconv_convertor_iov(convertor, &iov, 1, 1, &iov_count, &moved) !=
		    DTCONV_ERR_STATE ||
	    dtconv_convertor_pack(convertor, &byte, 1, &moved) != DTCONV_ERR_STATE ||
	    dtconv_convertor_unpack(convertor, &byte, 1, &moved) != DTCONV_ERR_STATE ||
	    dtconv_convertor_start(convertor, &byte, 1, NULL, NULL) != DTCONV_ERR_STATE ||
	    dtconv_convertor_rebind_pack(convertor, script->stage->type, 1,
					 script->stage->source) != DTCONV_ERR_STATE)
		return fail(script,
			    "a call was accepted while an operation is in flight");
	return 0;
}

/* Ends a started operation by tests, by a wait, or by tests and then a wait. */
static int finish_started(struct script *script, struct player *player, size_t *moved)
{
	size_t tests = choose(script->choices, 3);

	for (size_t i = 0; i < tests; i++) {
		int status = dtconv_convertor_test(player->convertor, moved);

		if (status != DTCONV_INPROGRESS)
			return status;
	}
	return dtconv_convertor_wait(player->convertor, moved);
}

static int play_start(struct script *script)
{
	struct player *player = choose_player(script);
	struct seen seen = { .calls = 0 };
	size_t bytes = choose_length(script, remaining(script, player));
	size_t expected = smaller(bytes, remaining(script, player));
	size_t position = player->position;
	unsigned char *packed = lay_packed(script, position, bytes);
	size_t shift = (size_t)(packed - script->packed) - STAGE_GUARD;
	int surplus = bytes > expected && !player->packs ? DTCONV_ERR_TRUNCATE : 0;
	size_t moved = SIZE_MAX;

	if (player->packs)
		stage_guard(script->packed, script->packed_bytes);
	if (expect_status(script, "start",
			  dtconv_convertor_start(player->convertor, packed, bytes, see,
						 &seen),
			  0) ||
	    expect_refusals(script, player))
		return -1;
	if (expect_status(script, "wait", finish_started(script, player, &moved),
			  surplus) ||
	    expect_moved(script, "start", position, moved, expected))
		return -1;
	if (seen.calls != 1 || seen.status != surplus || seen.moved != moved)
		return fail(
			script,
			"the callback ran %d times, last with status %d and %zu bytes",
			seen.calls, seen.status, seen.moved);
	player->position += expected;
	if (player->packs)
		return expect_packed(script, "start", shift, position, moved);
	stage_guard(script->packed, script->packed_bytes);
	return expect_target(script, "start", position, moved);
}

static int play_seek(struct script *script)
{
	struct player *player = choose_player(script);
	size_t bytes = script->stage->bytes;
	size_t position = chance(script->choices, 8)
				  ? bytes + 1 + choose(script->choices, 9)
				  : choose(script->choices, bytes + 1);
	int status = dtconv_convertor_seek(player->convertor, position);

	if (position <= bytes)
		player->position = position;
	return expect_status(script, "seek", status,
			     position > bytes ? DTCONV_ERR_INVAL : 0);
}

static int play_clone(struct script *script)
{
	struct player *player = choose_player(script);
	struct player *clone = &script->players[script->player_count];

	if (script->player_count == PLAYERS)
		return 0;
	*clone = *player;
	if (expect_status(script, "clone",
			  dtconv_convertor_clone(player->convertor, &clone->convertor),
			  0))
		return -1;
	script->player_count++;
	return 0;
}

/* Each entry must name the bytes of the map in order, and no two neighbours may touch. */
static int expect_iov(struct script *script, const struct player *player,
		      const struct iovec *iov, size_t iov_count)
{
	const struct stage *stage = script->stage;
	uintptr_t origin = (uintptr_t)(player->packs ? stage->source : stage->target);
	size_t position = player->position;
	uintptr_t end = 0;

	for (size_t i = 0; i < iov_count; i++) {
		uintptr_t base = (uintptr_t)iov[i].iov_base;

		if (!iov[i].iov_len || (i && base == end))
			return fail(
				script, "iov at position %zu: entry %zu of %zu bytes %s",
				player->position, i, iov[i].iov_len,
				iov[i].iov_len ? "continues the one before" : "is empty");
		for (size_t j = 0; j < iov[i].iov_len; j++, position++)
			if (position >= stage->bytes ||
			    base + j != origin + (uintptr_t)stage->map[position])
				return fail(
					script,
					"iov at position %zu: byte %zu of entry %zu is not byte %zu of the stream",
					player->position, j, i, position);
		end = base + iov[i].iov_len;
	}
	return 0;
}

/* How many bytes max_iov merged blocks cover, at most max_bytes. */
static size_t covered(const struct script *script, size_t position, size_t max_iov,
		      size_t max_bytes)
{
	const struct stage *stage = script->stage;
	size_t end = max_bytes < stage->bytes - position ? position + max_bytes
							 : stage->bytes;
	size_t at = position;

	for (size_t blocks = 0; at < end && blocks < max_iov; blocks++) {
		at++;
		while (at < end && stage->map[at] == stage->map[at - 1] + 1)
			at++;
	}
	return at - position;
}

static int play_iov(struct script *script)
{
	struct player *player = choose_player(script);
	size_t max_iov = chance(script->choices, 3) ? IOVECS : choose(script->choices, 4);
	size_t max_bytes = chance(script->choices, 3)
				   ? SIZE_MAX
				   : choose_length(script, remaining(script, player));
	size_t expected = covered(script, player->position, max_iov, max_bytes);
	struct iovec iov[IOVECS];
	size_t iov_count = SIZE_MAX, moved = SIZE_MAX;
	int status = dtconv_convertor_iov(player->convertor, iov, max_iov, max_bytes,
					  &iov_count, &moved);

	if (expect_status(script, "iov", status, 0) ||
	    expect_moved(script, "iov", player->position, moved, expected))
		return -1;
	if (iov_count > max_iov)
		return fail(script, "iov wrote %zu entries, room was %zu", iov_count,
			    max_iov);
	if (expect_iov(script, player, iov, iov_count))
		return -1;
	player->position += moved;
	return 0;
}

static int bind(struct script *script, struct player *player)
{
	struct stage *stage = script->stage;
	int status;

	player->position = 0;
	player->packs = !choose(script->choices, 2);
	if (!player->convertor && player->packs)
		status = dtconv_convertor_create_pack(stage->type, stage->count,
						      stage->source, &player->convertor);
	else if (!player->convertor)
		status = dtconv_convertor_create_unpack(
			stage->type, stage->count, stage->target, &player->convertor);
	else if (player->packs)
		status = dtconv_convertor_rebind_pack(player->convertor, stage->type,
						      stage->count, stage->source);
	else
		status = dtconv_convertor_rebind_unpack(player->convertor, stage->type,
							stage->count, stage->target);
	return expect_status(script, "bind", status, 0);
}

static int play_rebind(struct script *script)
{
	return bind(script, choose_player(script));
}

/* Calls that must be refused and change nothing. */
static int play_wrong(struct script *script)
{
	struct player *player = choose_player(script);
	size_t moved = 0;
	unsigned char byte = 0;
	int status =
		player->packs
			? dtconv_convertor_unpack(player->convertor, &byte, 1, &moved)
			: dtconv_convertor_pack(player->convertor, &byte, 1, &moved);

	if (expect_status(script, "a move the wrong way", status, DTCONV_ERR_STATE))
		return -1;
	status = dtconv_convertor_wait(player->convertor, &moved);
	return expect_status(script, "wait without start", status, DTCONV_ERR_STATE);
}

static int play_destroy(struct script *script)
{
	struct player *player = choose_player(script);

	if (script->player_count == 1)
		return 0;
	dtconv_convertor_destroy(player->convertor);
	*player = script->players[--script->player_count];
	return 0;
}

static int play_oneshot_pack(struct script *script)
{
	struct stage *stage = script->stage;
	size_t capacity = choose_length(script, stage->bytes);
	size_t shift = choose(script->choices, 16);
	size_t moved = SIZE_MAX;
	int status = dtconv_pack(stage->type, stage->count, stage->source,
				 script->packed + STAGE_GUARD + shift, capacity, &moved);

	if (expect_status(script, "one-shot pack", status,
			  capacity < stage->bytes ? DTCONV_ERR_TRUNCATE : 0) ||
	    expect_moved(script, "one-shot pack", 0, moved,
			 smaller(capacity, stage->bytes)))
		return -1;
	return expect_packed(script, "one-shot pack", shift, 0, moved);
}

static int play_oneshot_unpack(struct script *script)
{
	struct stage *stage = script->stage;
	size_t bytes = choose_length(script, stage->bytes);
	size_t moved = SIZE_MAX;
	int status = dtconv_unpack(stage->type, stage->count, stage->target,
				   lay_packed(script, 0, bytes), bytes, &moved);

	stage_guard(script->packed, script->packed_bytes);
	if (expect_status(script, "one-shot unpack", status,
			  bytes > stage->bytes ? DTCONV_ERR_TRUNCATE : 0) ||
	    expect_moved(script, "one-shot unpack", 0, moved,
			 smaller(bytes, stage->bytes)))
		return -1;
	return expect_target(script, "one-shot unpack", 0, moved);
}

static int play_copy(struct script *script)
{
	struct stage *stage = script->stage;
	size_t moved = SIZE_MAX;
	int status = dtconv_copy(stage->type, stage->count, stage->source, stage->type,
				 stage->count, stage->target, &moved);

	if (expect_status(script, "copy", status, 0) ||
	    expect_moved(script, "copy", 0, moved, stage->bytes))
		return -1;
	return expect_target(script, "copy", 0, moved);
}

/* ---- the play ------------------------------------------------------------------------ */

static int play_one(struct script *script)
{
	/* Moves stand several times because they are what matters. */
	static int (*const operations[])(struct script *) = {
		play_move,           play_move,  play_move,    play_move,
		play_seek,           play_seek,  play_iov,     play_iov,
		play_clone,          play_start, play_start,   play_rebind,
		play_oneshot_unpack, play_copy,  play_destroy, play_wrong,
		play_oneshot_pack,
	};
	size_t which =
		choose(script->choices, sizeof(operations) / sizeof(operations[0]));

	return operations[which](script);
}

static int open_script(struct script *script)
{
	script->packed_bytes = script->stage->bytes + SURPLUS + 16 + 2 * STAGE_GUARD;
	script->packed = malloc(script->packed_bytes);
	if (!script->packed)
		return fail(script, "out of memory for %zu packed bytes",
			    script->packed_bytes);
	stage_guard(script->packed, script->packed_bytes);
	script->player_count = 1;
	return bind(script, &script->players[0]);
}

static void close_script(struct script *script)
{
	for (size_t i = 0; i < script->player_count; i++)
		dtconv_convertor_destroy(script->players[i].convertor);
	free(script->packed);
}

int script_play(struct stage *stage, struct choices *choices, size_t operations,
		char failure[SCRIPT_FAILURE])
{
	struct script script = { .stage = stage, .choices = choices, .failure = failure };
	int failed = open_script(&script);

	while (!failed && operations-- && !choices_spent(choices))
		failed = play_one(&script);
	for (size_t i = 0; i < script.player_count && !failed; i++)
		failed = expect_position(&script, &script.players[i]);
	close_script(&script);
	return failed;
}

/* ---- types too large to stage -------------------------------------------------------- */

/* A position near an end, near a power of two, or anywhere. */
static size_t choose_position(struct choices *choices, size_t size)
{
	size_t position;

	switch (choose(choices, 4)) {
	case 0:
		position = choose(choices, 64);
		break;
	case 1:
		position = size - smaller(size, choose(choices, 64));
		break;
	case 2:
		position = ((size_t)1 << choose(choices, 63)) + choose(choices, 8);
		break;
	default:
		position = size == SIZE_MAX ? 0 : choose(choices, size + 1);
	}
	return smaller(position, size);
}

static int sum_blind_iov(struct script *script, const struct iovec *iov, size_t iov_count,
			 size_t moved)
{
	size_t sum = 0;

	for (size_t i = 0; i < iov_count; i++)
		sum += iov[i].iov_len;
	if (sum != moved)
		return fail(script, "iov says %zu bytes, its entries hold %zu", moved,
			    sum);
	return 0;
}

/* Seek, clone, and one small iov on the clone: it moves what room and stream allow. */
static int play_blind_one(struct script *script, struct dtconv_convertor *convertor,
			  size_t size)
{
	struct dtconv_convertor_attr attr = { .struct_size = sizeof(attr) };
	size_t position = choose_position(script->choices, size);
	size_t max_bytes = choose(script->choices, 256);
	struct dtconv_convertor *clone;
	struct iovec iov[IOVECS];
	size_t iov_count = 0, moved = 0;
	int failed;

	if (expect_status(script, "seek", dtconv_convertor_seek(convertor, position),
			  0) ||
	    expect_status(script, "clone", dtconv_convertor_clone(convertor, &clone), 0))
		return -1;
	failed = expect_status(script, "iov",
			       dtconv_convertor_iov(clone, iov, IOVECS, max_bytes,
						    &iov_count, &moved),
			       0) ||
		 sum_blind_iov(script, iov, iov_count, moved);
	dtconv_convertor_query(clone, &attr);
	dtconv_convertor_destroy(clone);
	if (failed)
		return -1;
	if (iov_count < IOVECS && moved != smaller(max_bytes, size - position))
		return fail(script, "iov at position %zu of %zu moved %zu bytes, not %zu",
			    position, size, moved, smaller(max_bytes, size - position));
	if (attr.position != position + moved)
		return fail(script,
			    "after an iov of %zu bytes at %zu the position is %zu", moved,
			    position, attr.position);
	return 0;
}

/* Whether a stream's length leaves size_t, or a displacement of its last instance ptrdiff_t. */
static bool is_too_long(const struct dtconv_type_attr *attr, size_t count)
{
	ptrdiff_t last, edge;

	if (!attr->size || !count)
		return false;
	return count > SIZE_MAX / attr->size ||
	       __builtin_mul_overflow(count - 1, attr->extent, &last) ||
	       __builtin_add_overflow(last, attr->true_lb, &edge) ||
	       __builtin_add_overflow(edge, attr->true_extent, &edge);
}

int script_play_blind(struct dtconv_type *type, size_t count, struct choices *choices,
		      size_t operations, char failure[SCRIPT_FAILURE])
{
	struct dtconv_type_attr attr = { .struct_size = sizeof(attr) };
	struct script script = { .choices = choices, .failure = failure };
	struct dtconv_convertor *convertor = NULL;
	bool too_long;
	int status, failed;

	dtconv_type_query(type, &attr);
	too_long = is_too_long(&attr, count);
	status = dtconv_convertor_create_pack(type, count, NULL, &convertor);
	failed = expect_status(&script, "create", status,
			       too_long ? DTCONV_ERR_OVERFLOW : 0);
	if (failed || too_long)
		return failed;
	while (!failed && operations-- && !choices_spent(choices))
		failed = play_blind_one(&script, convertor, attr.size * count);
	dtconv_convertor_destroy(convertor);
	return failed;
}
