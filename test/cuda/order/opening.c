/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a script begins and ends with: context, delays, types and memory for them, streams; and at the end every
 * place is looked at. Knows nothing of the steps between.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/order/script.h"
#include "support/layouts.h"
#include "support/random_type.h"

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

static enum arena_kind choose_kind(struct script *s)
{
	const char *without = getenv("DTCONV_TEST_WITHOUT");
	enum arena_kind kind;

	do
		kind = (enum arena_kind)choose(&s->choices, ARENA_KINDS);
	while (without && !strcmp(without, arena_kind_names[kind]));
	return kind;
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

void script_open(struct script *s, uint64_t seed, bool captures)
{
	open_context(s);
	open_delays(s, seed);
	open_memory(s);
	lines_open(s, captures);
	if (!chance(&s->choices, 3))
		jobs_settle(s);
	holds_start(s);
}

static void check_trays(struct script *s)
{
	for (int i = 0; i < TRAYS; i++)
		place_check(s, &s->trays[i], "in the end");
}

static void check_places(struct script *s)
{
	for (int i = 0; i < s->subject_count; i++)
		for (int j = 0; j < PLACES; j++) {
			place_check(s, &s->subjects[i].users[j], "in the end");
			place_check(s, &s->subjects[i].packed[j], "in the end");
		}
}

void script_finish(struct script *s)
{
	note("the end\n");
	if (chance(&s->choices, 2)) {
		lines_synchronize(s);
		check_trays(s);
	}
	end_all_jobs(s);
	lines_synchronize(s);
	check_trays(s);
	check_places(s);
}

void script_close(struct script *s)
{
	holds_stop(s);
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
	lines_close(s);
	dtconv_context_destroy(s->context);
}
