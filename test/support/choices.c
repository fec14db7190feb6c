/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decisions from a seed or from bytes.
 */
#include "config.h"

#include "support/choices.h"

uint64_t choices_mix(uint64_t value)
{
	value += UINT64_C(0x9e3779b97f4a7c15);
	value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
	return value ^ value >> 31;
}

void choices_from_seed(struct choices *choices, uint64_t seed)
{
	*choices = (struct choices){ .state = choices_mix(seed) };
}

void choices_from_bytes(struct choices *choices, const uint8_t *bytes, size_t count)
{
	*choices = (struct choices){ .bytes = bytes ? bytes : (const uint8_t *)"",
				     .left = count };
}

bool choices_spent(const struct choices *choices)
{
	return choices->bytes && !choices->left;
}

static uint64_t next_byte(struct choices *choices)
{
	if (!choices->left)
		return 0;
	choices->left--;
	return *choices->bytes++;
}

/* Use as few bytes as the limit needs, so that a fuzzer's mutations stay local. */
static uint64_t from_bytes(struct choices *choices, size_t limit)
{
	uint64_t value = 0;

	for (size_t reach = limit - 1; reach; reach >>= 8)
		value = value << 8 | next_byte(choices);
	return value;
}

size_t choose(struct choices *choices, size_t limit)
{
	if (choices->bytes)
		return (size_t)(from_bytes(choices, limit) % limit);
	choices->state += UINT64_C(0x9e3779b97f4a7c15);
	return (size_t)(choices_mix(choices->state) % limit);
}

ptrdiff_t choose_between(struct choices *choices, ptrdiff_t first, ptrdiff_t last)
{
	const size_t root = (size_t)1 << 4 * sizeof(size_t);
	size_t range = (size_t)last - (size_t)first + 1;

	/* Any number: combine its halves. */
	if (!range)
		return (ptrdiff_t)(choose(choices, root) * root + choose(choices, root));
	return (ptrdiff_t)((size_t)first + choose(choices, range));
}

bool chance(struct choices *choices, size_t n)
{
	return choose(choices, n) == n - 1;
}
