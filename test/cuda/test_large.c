/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Types and messages of more than 4 GiB in device memory: each class of kernel packs and unpacks a whole stream,
 * in one piece and in two, and windows of it are compared where 31 and 32 bits end, and at both of its ends.
 * It needs 18 GiB of a real device's memory.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/fixture.h"
#include "support/gpu.h"

#define USER_BYTES   ((size_t)12 << 30)
#define PACKED_BYTES ((size_t)11 << 29)
#define WINDOW       4096
#define WINDOWS      5
#define UNTOUCHED    0xee

struct large {
	const char *text;
	size_t count;
};

static const struct large larges[] = {
	{ "contiguous(5368709127, byte)", 1 },
	{ "hvector(83886080, 64, 128, byte)", 1 },
	{ "hvector(41943043, 128, 257, byte)", 1 },
	{ "resized(hindexed([3,2], [0,24], int), 0, 48)", 236000000 },
	{ "contiguous(24576, resized(vector(24576, 1, 24576, double), 0, 8))", 1 },
	{ "subarray([1201,1101,1001], [1100,1000,490], [50,40,300], c, double)", 1 },
	{ "vector(10, 12, 13, double)", 4700000 },
	{ "hindexed([1500000000,1499999999,1500000001], [8000000000,3,4000000007], byte)",
	  1 },
	{ "contiguous(450000, hindexed([2500,1,1499,3001,3000], [0,4008,5016,8001,20000], byte))",
	  1 },
};

/* ---- memory ------------------------------------------------------------------------------- */

static unsigned char *allocate(size_t bytes)
{
	CUdeviceptr memory;

	return gpu.MemAlloc(&memory, bytes) ? NULL : (unsigned char *)(uintptr_t)memory;
}

static CUdeviceptr address(const void *memory)
{
	return (CUdeviceptr)(uintptr_t)memory;
}

static void copy(void *to, const void *from, size_t bytes)
{
	MUST(Memcpy(address(to), address(from), bytes));
}

static void set(unsigned char *memory, size_t bytes)
{
	MUST(MemsetD8(address(memory), UNTOUCHED, bytes));
	MUST(CtxSynchronize());
}

/* ---- windows ------------------------------------------------------------------------------- */

struct job {
	struct dtconv_type *type;
	size_t count, bytes;
	unsigned char *user, *packed;
	size_t windows[WINDOWS]; /* where each begins in the stream */
	unsigned char contents[WINDOWS][WINDOW];
};

static void choose_windows(struct job *job)
{
	job->windows[0] = 0;
	job->windows[1] = ((size_t)1 << 31) - WINDOW / 2 - 1;
	job->windows[2] = ((size_t)1 << 32) - WINDOW / 2 + 3;
	job->windows[3] = (size_t)3000000000 - WINDOW / 3; /* where the two pieces meet */
	job->windows[4] = job->bytes - WINDOW;
	for (int i = 0; i < WINDOWS; i++)
		for (size_t k = 0; k < WINDOW; k++)
			job->contents[i][k] =
				(unsigned char)((k + 1) * (2654435761u +
							   2u * (unsigned)i) >>
						9);
}

/* The pieces of the user's memory that hold a window, in packed order. */
static size_t pieces_of(const struct job *job, int window, struct iovec pieces[WINDOW])
{
	struct dtconv_convertor *convertor;
	size_t count, covered;

	ck_assert(!dtconv_convertor_create_pack(job->type, job->count, job->user,
						&convertor));
	fixture_seek(convertor, job->windows[window]);
	ck_assert(!dtconv_convertor_iov(convertor, pieces, WINDOW, WINDOW, &count,
					&covered));
	ck_assert_uint_eq(covered, WINDOW);
	dtconv_convertor_destroy(convertor);
	return count;
}

/* Puts the window's bytes into the user's memory. */
static void scatter(const struct job *job, int window)
{
	static struct iovec pieces[WINDOW];
	size_t count = pieces_of(job, window, pieces), at = 0;

	for (size_t i = 0; i < count; at += pieces[i++].iov_len)
		copy(pieces[i].iov_base, job->contents[window] + at, pieces[i].iov_len);
}

static void is_there(const unsigned char *memory, const unsigned char *bytes,
		     size_t count, int window, const char *what)
{
	unsigned char got[WINDOW];

	copy(got, memory, count);
	ck_assert_msg(!memcmp(got, bytes, count), "window %d: %s is wrong", window, what);
}

/* The bytes between two neighbouring pieces, at most so many as a window has, are as they were. */
static void gap_is_untouched(const struct iovec *piece, int window)
{
	static unsigned char untouched[WINDOW];
	unsigned char *begin = (unsigned char *)piece->iov_base + piece->iov_len;
	unsigned char *end = piece[1].iov_base;

	memset(untouched, UNTOUCHED, WINDOW);
	if (end > begin && (size_t)(end - begin) <= WINDOW)
		is_there(begin, untouched, (size_t)(end - begin), window, "a gap");
}

/* The user's memory has the window's bytes in its pieces. */
static void is_scattered(const struct job *job, int window)
{
	static struct iovec pieces[WINDOW];
	size_t count = pieces_of(job, window, pieces), at = 0;

	for (size_t i = 0; i < count; at += pieces[i++].iov_len) {
		is_there(pieces[i].iov_base, job->contents[window] + at,
			 pieces[i].iov_len, window, "an unpacked piece");
		if (i + 1 < count)
			gap_is_untouched(&pieces[i], window);
	}
}

/* ---- moves --------------------------------------------------------------------------------- */

/* Whole, or in two pieces of which the second is not the stream's first 2^31 bytes. */
static void move(const struct job *job, bool packs, bool whole)
{
	struct dtconv_convertor *convertor;
	size_t at = 0, moved;

	ck_assert(!(packs ? dtconv_convertor_create_pack(job->type, job->count, job->user,
							 &convertor)
			  : dtconv_convertor_create_unpack(job->type, job->count,
							   job->user, &convertor)));
	while (at < job->bytes) {
		size_t bytes = at || whole ? job->bytes - at : 3000000000;
		int status = packs ? dtconv_convertor_pack(convertor, job->packed + at,
							   bytes, &moved)
				   : dtconv_convertor_unpack(convertor, job->packed + at,
							     bytes, &moved);

		ck_assert_msg(!status, "%s", fixture_error());
		ck_assert_uint_eq(moved, bytes);
		at += bytes;
	}
	dtconv_convertor_destroy(convertor);
}

static void pack_and_compare(const struct job *job, bool whole)
{
	set(job->packed, PACKED_BYTES);
	move(job, true, whole);
	for (int i = 0; i < WINDOWS; i++)
		is_there(job->packed + job->windows[i], job->contents[i], WINDOW, i,
			 "the packed stream");
}

static void unpack_and_compare(const struct job *job, bool whole)
{
	set(job->user, USER_BYTES);
	move(job, false, whole);
	for (int i = 0; i < WINDOWS; i++)
		is_scattered(job, i);
}

START_TEST(more_than_4_gib_are_packed_and_unpacked)
{
	const struct large *large = &larges[_i];
	struct dtconv_type_attr attr = { .struct_size = sizeof(attr) };
	static struct job job;

	gpu_open();
	job.type = fixture_type(large->text);
	job.count = large->count;
	dtconv_type_query(job.type, &attr);
	job.bytes = attr.size * large->count;
	ck_assert_uint_gt(job.bytes, ((size_t)1 << 32) + WINDOW);
	ck_assert_uint_le(job.bytes, PACKED_BYTES);
	job.user = allocate(USER_BYTES);
	job.packed = allocate(PACKED_BYTES);
	ck_assert(job.user && job.packed);
	choose_windows(&job);
	set(job.user, USER_BYTES);
	for (int i = 0; i < WINDOWS; i++)
		scatter(&job, i);
	MUST(CtxSynchronize());
	pack_and_compare(&job, true);
	pack_and_compare(&job, false);
	unpack_and_compare(&job, true);
	unpack_and_compare(&job, false);
	gpu.MemFree(address(job.user));
	gpu.MemFree(address(job.packed));
	dtconv_type_unref(job.type);
	gpu_close();
}
END_TEST

/* A process of its own looks, so that none that is forked later has a driver. */
static bool fits(void)
{
	pid_t child = fork();
	int status = 1;

	if (child == 0) {
		gpu_open();
		_exit(!allocate(USER_BYTES) || !allocate(PACKED_BYTES));
	}
	waitpid(child, &status, 0);
	return status == 0;
}

static Suite *large_suite(void)
{
	Suite *suite = suite_create("large");

	tcase_add_loop_test(fixture_case(suite, "moves", 120),
			    more_than_4_gib_are_packed_and_unpacked, 0,
			    sizeof(larges) / sizeof(larges[0]));
	return suite;
}

int main(void)
{
	if (!gpu_is_real() || !fits()) {
		puts("there is no device with 18 GiB of free memory");
		return 77;
	}
	return fixture_run(large_suite());
}
