/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of a typed case, and the comparison with the oracle's. A byte that x87 numbers do
 * not use may hold anything.
 */
#include "config.h"

#include "support/typed_case.h"

#include <stdlib.h>
#include <string.h>

#include "support/ref_element.h"
#include "support/ref_predefined.h"

#define GUARD            64
#define LIMIT            20000
#define DISPLACEMENT_MAX 1000000

static unsigned char *allocate(const struct typed_case *tc, struct choices *choices,
			       unsigned char **origin)
{
	unsigned char *memory = malloc(tc->span + 3 * GUARD);

	if (!memory)
		return NULL;
	for (size_t i = 0; i < tc->span + 3 * GUARD; i++)
		memory[i] = (unsigned char)choices_mix(i);
	*origin = memory + GUARD + choose(choices, GUARD) - tc->low;
	return memory;
}

static bool find_room(struct typed_case *tc)
{
	ptrdiff_t high = ref_typemap_high(&tc->map, tc->count);

	tc->low = ref_typemap_low(&tc->map, tc->count);
	tc->span = (size_t)(high - tc->low);
	tc->bytes = ref_stream_size(&tc->map, tc->count, tc->representation);
	return tc->low > -DISPLACEMENT_MAX && high < DISPLACEMENT_MAX;
}

/* Sums and products must not depend on who rounds. */
static bool is_exact(const struct typed_case *tc)
{
	return tc->op != DTCONV_OP_REPLACE;
}

void typed_case_restart(struct typed_case *tc, struct choices *choices)
{
	ref_stream_choose(&tc->map, tc->count, choices, is_exact(tc), tc->target);
	memcpy(tc->expected_memory, tc->target_memory, tc->span + 3 * GUARD);
	memset(tc->arrived, 0, tc->bytes);
}

static bool fill(struct typed_case *tc, struct choices *choices)
{
	tc->source_memory = allocate(tc, choices, &tc->source);
	tc->target_memory = allocate(tc, choices, &tc->target);
	tc->expected_memory = malloc(tc->span + 3 * GUARD);
	tc->wire = malloc(tc->bytes + 1);
	tc->arrived = calloc(tc->bytes + 1, 1);
	if (!tc->source_memory || !tc->target_memory || !tc->expected_memory ||
	    !tc->wire || !tc->arrived)
		return false;
	tc->expected = tc->expected_memory + (tc->target - tc->target_memory);
	ref_stream_choose(&tc->map, tc->count, choices, is_exact(tc), tc->source);
	typed_case_restart(tc, choices);
	ref_stream_encode(&tc->map, tc->count, tc->representation, tc->source, tc->wire);
	return true;
}

bool typed_case_open(struct typed_case *tc, struct dtconv_type *type, size_t count,
		     const struct dtconv_representation *representation,
		     enum dtconv_op op, struct choices *choices)
{
	*tc = (struct typed_case){ .count = count,
				   .representation = representation,
				   .op = op };
	if (ref_typemap_build(type, DTCONV_PADDING_STRUCT, LIMIT, &tc->map))
		return false;
	tc->type = dtconv_type_ref(type);
	if (tc->map.count <= LIMIT / (count + 1) && find_room(tc) &&
	    !ref_typemap_overlaps(&tc->map, count) && fill(tc, choices))
		return true;
	typed_case_close(tc);
	return false;
}

void typed_case_close(struct typed_case *tc)
{
	ref_typemap_free(&tc->map);
	dtconv_type_unref(tc->type);
	free(tc->source_memory);
	free(tc->target_memory);
	free(tc->expected_memory);
	free(tc->wire);
	free(tc->arrived);
	*tc = (struct typed_case){ .count = 0 };
}

struct dtconv_convertor_params typed_case_params(const struct typed_case *tc)
{
	return (struct dtconv_convertor_params){
		.struct_size = sizeof(struct dtconv_convertor_params),
		.representation = tc->representation,
		.op = tc->op,
	};
}

void typed_case_arrived(struct typed_case *tc, size_t from, size_t bytes)
{
	memset(tc->arrived + from, 1, bytes);
}

/* Make what does not count the same in both memories: the padding inside x87 numbers. */
static void forgive_padding(struct typed_case *tc)
{
	for (size_t i = 0; i < tc->map.count * tc->count; i++) {
		const struct ref_entry *entry = &tc->map.entries[i % tc->map.count];
		ptrdiff_t at =
			(ptrdiff_t)(i / tc->map.count) * ref_typemap_extent(&tc->map) +
			entry->disp;

		if (ref_element_same((enum dtconv_predefined)entry->basic,
				     tc->target + at, tc->expected + at))
			memcpy(tc->expected + at, tc->target + at,
			       ref_predefined[entry->basic].size);
	}
}

bool typed_case_is_right(struct typed_case *tc, ptrdiff_t *wrong)
{
	ref_stream_apply(&tc->map, tc->count, tc->representation, tc->op, tc->wire,
			 tc->arrived, tc->expected);
	forgive_padding(tc);
	for (size_t i = 0; i < tc->span + 3 * GUARD; i++) {
		if (tc->target_memory[i] == tc->expected_memory[i])
			continue;
		*wrong = tc->target_memory + i - tc->target;
		return false;
	}
	return true;
}
