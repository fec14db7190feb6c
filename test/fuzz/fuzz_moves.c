/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a type and a sequence of operations on its convertors, checked against the
 * oracle after each.
 */
#include "config.h"

#include <dtconv/dtconv.h>

#include "fuzz/fuzz.h"
#include "support/choices.h"
#include "support/script.h"
#include "support/stage.h"
#include "support/type_choices.h"
#include "support/typed_script.h"

#define OPERATIONS 40
#define MAX_INPUT  256

/* Text of a type, for the message. */
static const char *text_of(const struct dtconv_type *type)
{
	static char text[4096];
	size_t length;

	dtconv_type_format(type, text, sizeof(text), &length);
	return text;
}

/* A type too large for memory: positions only. */
static void play_blind(struct choices *choices)
{
	struct dtconv_type *type =
		type_choose(fuzz_context(), choices, &type_bounds_wild);
	size_t count = choose(choices, 2) ? 1 : choose(choices, 1000000);
	char failure[SCRIPT_FAILURE];

	if (dtconv_type_commit(type))
		fuzz_fail("%s does not commit", text_of(type));
	if (script_play_blind(type, count, choices, OPERATIONS, failure))
		fuzz_fail("%zu x %s: %s", count, text_of(type), failure);
	dtconv_type_unref(type);
}

static void play(struct choices *choices)
{
	struct dtconv_type *type =
		type_choose(fuzz_context(), choices, &type_bounds_tiny);
	size_t count = choose(choices, 5);
	size_t source_shift = choose(choices, 16);
	size_t target_shift = choose(choices, 16);
	char failure[SCRIPT_FAILURE];
	struct stage stage;

	if (stage_open(&stage, type, count, source_shift, target_shift, 1))
		fuzz_fail("%zu x %s cannot be staged", count, text_of(type));
	if (script_play(&stage, choices, OPERATIONS, failure))
		fuzz_fail("%zu x %s: %s", count, text_of(type), failure);
	stage_close(&stage);
	dtconv_type_unref(type);
}

/* In another representation, or combined. */
static void play_typed(struct choices *choices)
{
	struct dtconv_type *type =
		type_choose(fuzz_context(), choices, &type_bounds_tiny);
	size_t count = choose(choices, 4);
	char failure[SCRIPT_FAILURE];

	if (dtconv_type_commit(type))
		fuzz_fail("%s does not commit", text_of(type));
	if (typed_script_play_type(type, count, choices, failure))
		fuzz_fail("%zu x %s: %s", count, text_of(type), failure);
	dtconv_type_unref(type);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct choices choices;

	if (size > MAX_INPUT)
		return 0;
	choices_from_bytes(&choices, data, size);
	switch (choose(&choices, 8)) {
	case 0:
		play_blind(&choices);
		break;
	case 1:
	case 2:
		play_typed(&choices);
		break;
	default:
		play(&choices);
	}
	fuzz_expect_no_types();
	return 0;
}
