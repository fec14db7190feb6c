/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long blocks by lines and by half lines, each on every processor that can: the library takes the one that its
 * maker's processors are faster with.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "long_avx512.h"
#include "support/fixture.h"

static void (*const ways[])(char *to, const char *from,
			    size_t bytes) = { long_by_lines, long_by_half_lines };

#define WAYS  ((int)(sizeof(ways) / sizeof(ways[0])))
#define ROOM  4096
#define GUARD 0xa5

/* One copy between two places of a line; what is around the target stays. */
static void check(int way, size_t to, size_t from, size_t bytes)
{
	static _Alignas(64) char source[ROOM], target[ROOM], expected[ROOM];

	for (size_t i = 0; i < ROOM; i++)
		source[i] = (char)(i * 7 + i / 256);
	memset(target, GUARD, ROOM);
	memset(expected, GUARD, ROOM);
	memcpy(expected + 64 + to, source + from, bytes);
	ways[way](target + 64 + to, source + from, bytes);
	ck_assert_msg(!memcmp(target, expected, ROOM),
		      "way %d, to %zu, from %zu, %zu bytes", way, to, from, bytes);
}

START_TEST(between_all_places_of_a_line)
{
	for (size_t to = 0; to < 64; to++)
		for (size_t from = 0; from < 64; from++)
			check(_i, to, from, 513 + (to * 5 + from * 3) % 700);
}
END_TEST

START_TEST(of_every_length)
{
	for (size_t bytes = 513; bytes < 1700; bytes++)
		check(_i, bytes * 5 % 64, bytes * 3 % 64, bytes);
}
END_TEST

int main(void)
{
	if (!__builtin_cpu_supports("avx512bw")) {
		puts("this processor has no AVX-512");
		return 77;
	}
	Suite *suite = suite_create("long blocks");
	TCase *tcase = tcase_create("copies");

	tcase_add_loop_test(tcase, between_all_places_of_a_line, 0, WAYS);
	tcase_add_loop_test(tcase, of_every_length, 0, WAYS);
	suite_add_tcase(suite, tcase);
	return fixture_run(suite);
}
