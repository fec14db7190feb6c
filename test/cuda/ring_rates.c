/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a message from device to device can reach: contiguous bytes through a ring of pinned fragments by calls of the
 * driver alone, a copy and a word behind it for each fragment and end. A line for every size, with the time of both
 * whole copies at once before.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/gpu.h"
#include "support/times.h"

#define ROUNDS 31
#define DEPTH  4
#define MOST   ((size_t)64 << 20) /* of a message */
#define ROOM   ((size_t)8 << 20)  /* of a fragment */
#define LEAST  ((size_t)256 << 10)
#define PLACES (MOST / LEAST)

enum end { OUT, IN, ENDS };

struct ring {
	struct arena device[ENDS], pinned, words;
	CUstream streams[ENDS];
	uint64_t round; /* what words say when a copy of this round has ended */
};

static CUdeviceptr place_of(const struct arena *arena, size_t at)
{
	return (CUdeviceptr)(uintptr_t)(arena->memory + at);
}

static size_t word_at(enum end end, size_t fragment)
{
	return (end * PLACES + fragment) * sizeof(uint64_t);
}

/* Copy bytes at @at out of the source, or into the target, and write the fragment's word. */
static void copy(const struct ring *ring, enum end end, size_t fragment, size_t at,
		 size_t pinned_at, size_t bytes)
{
	CUdeviceptr device = place_of(&ring->device[end], at);
	CUdeviceptr pinned = place_of(&ring->pinned, pinned_at);

	MUST(MemcpyAsync(end == OUT ? pinned : device, end == OUT ? device : pinned,
			 bytes, ring->streams[end]));
	MUST(StreamWriteValue64(ring->streams[end],
				place_of(&ring->words, word_at(end, fragment)),
				ring->round, 0));
}

static bool has_ended(const struct ring *ring, enum end end, size_t fragment)
{
	const uint64_t *word =
		(const uint64_t *)(ring->words.memory + word_at(end, fragment));

	return __atomic_load_n(word, __ATOMIC_ACQUIRE) == ring->round;
}

/* Both copies at once, which nothing orders. */
static void run_stages(struct ring *ring, size_t bytes)
{
	ring->round++;
	copy(ring, OUT, 0, 0, 0, bytes);
	copy(ring, IN, 0, 0, 0, bytes);
	while (!has_ended(ring, OUT, 0) || !has_ended(ring, IN, 0))
		;
}

static void run_message(struct ring *ring, size_t bytes, size_t fragment)
{
	const size_t count = (bytes + fragment - 1) / fragment;
	size_t begun[ENDS] = { 0, 0 }, ended[ENDS] = { 0, 0 };

	ring->round++;
	while (ended[IN] < count) {
		const size_t most[ENDS] = { ended[IN] + DEPTH, ended[OUT] };

		for (int end = OUT; end < ENDS; end++) {
			size_t at = begun[end] * fragment;

			if (begun[end] < count && begun[end] < most[end]) {
				copy(ring, (enum end)end, begun[end], at,
				     begun[end] % DEPTH * fragment,
				     bytes - at < fragment ? bytes - at : fragment);
				begun[end]++;
			}
			ended[end] += ended[end] < begun[end] &&
				      has_ended(ring, (enum end)end, ended[end]);
		}
	}
}

/* Microseconds; @fragment 0: the stages. */
static double median_us(struct ring *ring, size_t bytes, size_t fragment)
{
	double times[ROUNDS];

	for (int i = -4; i < ROUNDS; i++) {
		double begin = times_now_us();

		if (fragment)
			run_message(ring, bytes, fragment);
		else
			run_stages(ring, bytes);
		times[i < 0 ? 0 : i] = times_now_us() - begin;
	}
	return times_median(times, ROUNDS);
}

static void measure(struct ring *ring, size_t bytes)
{
	const double stages = median_us(ring, bytes, 0);

	printf("%zu MiB: both copies at once %.1f us; in fragments of", bytes >> 20,
	       stages);
	for (size_t fragment = LEAST; fragment <= ROOM && fragment <= bytes;
	     fragment *= 2) {
		double us = median_us(ring, bytes, fragment);

		printf("%s %zu KiB %.1f us (%.2f)", fragment > LEAST ? "," : "",
		       fragment >> 10, us, stages / us);
	}
	puts("");
}

int main(void)
{
	struct ring ring = { .round = 0 };

	gpu_find();
	gpu_open();
	arena_open(&ring.pinned, ARENA_PINNED, MOST);
	arena_open(&ring.words, ARENA_PINNED, word_at(ENDS, 0));
	for (int end = OUT; end < ENDS; end++) {
		arena_open(&ring.device[end], ARENA_DEVICE, MOST);
		ring.streams[end] = gpu_stream();
	}
	for (size_t mib = 1; mib << 20 <= MOST; mib *= 4)
		measure(&ring, mib << 20);
	for (int end = OUT; end < ENDS; end++) {
		MUST(StreamDestroy(ring.streams[end]));
		arena_close(&ring.device[end]);
	}
	arena_close(&ring.words);
	arena_close(&ring.pinned);
	gpu_close();
	return 0;
}
