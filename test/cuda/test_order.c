/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random scripts in streams of the application's: what it gives its streams, jobs among that, and who reads what
 * comes of it, between buffers of every kind of memory. Each step has its effect on plain bytes too, one after
 * the other; buffers go from stream to stream by events, so that every byte is defined and any other order shows.
 * A script is its seed: DTCONV_TEST_SEED plays that one alone. Knows nothing of how bytes are moved.
 */
#include "config.h"

#include <stdlib.h>

#include "cuda/order/script.h"
#include "support/random_type.h"
#include "support/standin_load.h"

static void step(struct script *s)
{
	s->begun = true;
	switch (choose(&s->choices, 12)) {
	case 0:
	case 1:
	case 2:
		step_produce(s);
		break;
	case 3:
	case 4:
		step_consume(s);
		break;
	case 5:
		end_any_job(s);
		break;
	case 6:
	case 7:
		step_batch(s);
		break;
	case 8:
		if (s->exec) {
			step_replay(s);
			break;
		} /* fallthrough */
	default:
		step_job(s);
	}
}

static void play(uint64_t seed)
{
	struct script *s = calloc(1, sizeof(*s));

	ck_assert_ptr_nonnull(s);
	log_open(seed);
	choices_from_seed(&s->choices, choices_mix(seed));
	const bool captures = chance(&s->choices, 4);
	const int steps = 4 + (int)choose(&s->choices, 20);
	const int captured = captures ? (int)choose(&s->choices, 6) : -1;
	script_open(s, seed, captures);
	for (int i = 0; i < steps; i++) {
		if (i == captured)
			step_capture(s);
		step(s);
	}
	script_finish(s);
	script_close(s);
	free(s);
	log_close();
}

/* ------------------------------------------------------------------------------------------------ */

#define TOGETHER 4 /* scripts of a process */

static uint64_t alone; /* the script that is asked for, or 0 */

static void open_device(void)
{
	gpu_open();
	/* A real compiler crashes beside a driver that is none. */
	if (gpu.standin)
		standin_load_nvrtc();
	hold_load();
}

START_TEST(every_byte_is_what_the_order_says)
{
	log_choose(_i);
	for (int i = 0; i < TOGETHER && !alone; i++)
		play((uint64_t)_i * TOGETHER + (uint64_t)i + 1);
	if (alone)
		play(alone);
}
END_TEST

static int cases(void)
{
	if (alone)
		return 1;
	if (fixture_everything())
		return 1000;
	return gpu_is_real() ? 15 : 40;
}

int main(void)
{
	setenv("CK_FORK", "yes", 0);
	setenv("DTCONV_CACHE", "none", 1);
	gpu_find();
	alone = random_seed(0);
	const int count = cases();
	if (!logs_open(count))
		return 1;
	Suite *suite = suite_create("order");
	TCase *tcase = tcase_create("scripts");
	tcase_add_checked_fixture(tcase, open_device, NULL);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, every_byte_is_what_the_order_says, 0, count);
	suite_add_tcase(suite, tcase);
	int result = fixture_run(suite);
	logs_print(count);
	return result;
}
