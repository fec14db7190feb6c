/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pools of ordinary memory: fragments, limits, registration in order and in reverse, growth and shrinking under
 * traffic, refusals of every kind. test_pool_device has the part of the device driver.
 */
#include "config.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "process.h"
#include "registrar.h"
#include "support/allocators.h"
#include "support/fixture.h"
#include "support/suite.h"

#define MANY 64

static struct dtconv_pool_params small_pool(size_t fragments)
{
	return (struct dtconv_pool_params){ .struct_size =
						    sizeof(struct dtconv_pool_params),
					    .kind = DTCONV_MEMORY_HOST,
					    .fragment_bytes = 1000,
					    .slab_bytes = fragments * 1024 };
}

static struct dtconv_pool *open_pool(const struct dtconv_pool_params *params)
{
	struct dtconv_pool *pool = NULL;

	fixture_ok(dtconv_pool_create(fixture_context, params, &pool));
	return pool;
}

static struct dtconv_pool_attr attr_of(struct dtconv_pool *pool)
{
	struct dtconv_pool_attr attr = { .struct_size = sizeof(attr) };

	fixture_ok(dtconv_pool_query(pool, &attr));
	ck_assert_uint_eq(attr.free + attr.out + attr.abandoned, attr.fragments);
	return attr;
}

static struct dtconv_fragment_attr fragment_attr(const struct dtconv_fragment *fragment)
{
	struct dtconv_fragment_attr attr = { .struct_size = sizeof(attr) };

	fixture_ok(dtconv_fragment_query(fragment, &attr));
	return attr;
}

/* ---- fragments ------------------------------------------------------------------------- */

START_TEST(each_fragment_has_one_owner_and_memory_of_its_own)
{
	const size_t count = _i ? MANY : 1;
	const struct dtconv_pool_params params = small_pool(count);
	struct dtconv_pool *pool = open_pool(&params);
	struct dtconv_fragment *taken[MANY], *none = NULL;

	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < count; i++) {
			fixture_ok(dtconv_pool_get(pool, &taken[i]));
			const struct dtconv_fragment_attr attr = fragment_attr(taken[i]);
			ck_assert_uint_eq((uintptr_t)attr.address % 256, 0);
			ck_assert_uint_eq(attr.capacity, 1000);
			ck_assert_int_eq(attr.kind, DTCONV_MEMORY_HOST);
			ck_assert_uint_eq(attr.slab, 0);
			ck_assert_int_eq(attr.slab_fd, -1);
			ck_assert_ptr_eq(attr.address, dtconv_fragment_address(taken[i]));
			memset(attr.address, (int)i, attr.capacity);
			ck_assert_uint_eq(attr_of(pool).out, i + 1);
		}
		ck_assert_int_eq(dtconv_pool_get(pool, &none), DTCONV_ERR_AGAIN);
		ck_assert_ptr_null(none);
		ck_assert_int_eq(dtconv_pool_destroy(pool), DTCONV_ERR_STATE);
		for (size_t i = 0; i < count; i++) {
			const unsigned char *bytes = dtconv_fragment_address(taken[i]);
			for (size_t at = 0; at < 1000; at++)
				ck_assert_uint_eq(bytes[at], i);
		}
		for (size_t i = 0; i < count; i++)
			dtconv_fragment_put(taken[round & 1 ? i : count - 1 - i]);
		ck_assert_uint_eq(attr_of(pool).free, count);
	}
	fixture_ok(dtconv_pool_destroy(pool));
}
END_TEST

START_TEST(a_fragment_put_twice_is_left_alone)
{
	const struct dtconv_pool_params params = small_pool(2);
	struct dtconv_pool *pool = open_pool(&params);
	struct dtconv_fragment *one, *other, *none;

	fixture_ok(dtconv_pool_get(pool, &one));
	dtconv_fragment_put(one);
	dtconv_fragment_put(one);
	dtconv_fragment_put(NULL);
	ck_assert_uint_eq(attr_of(pool).free, 2);
	fixture_ok(dtconv_pool_get(pool, &one));
	fixture_ok(dtconv_pool_get(pool, &other));
	ck_assert_ptr_ne(one, other);
	ck_assert_int_eq(dtconv_pool_get(pool, &none), DTCONV_ERR_AGAIN);
	dtconv_fragment_put(one);
	dtconv_fragment_put(other);
	fixture_ok(dtconv_pool_destroy(pool));
}
END_TEST

START_TEST(clean_fragments_are_zero_again)
{
	struct dtconv_pool_params params = small_pool(1);
	struct dtconv_fragment *fragment;

	params.flags = DTCONV_POOL_CLEAN;
	struct dtconv_pool *pool = open_pool(&params);
	for (int round = 0; round < 2; round++) {
		fixture_ok(dtconv_pool_get(pool, &fragment));
		unsigned char *bytes = dtconv_fragment_address(fragment);
		for (size_t i = 0; i < 1000; i++)
			ck_assert_uint_eq(bytes[i], 0);
		memset(bytes, 0xff, 1000);
		dtconv_fragment_put(fragment);
	}
	fixture_ok(dtconv_pool_destroy(pool));
}
END_TEST

START_TEST(a_shared_slab_can_be_mapped_by_its_descriptor)
{
	const size_t files = process_files();
	struct dtconv_pool_params params = small_pool(8);
	struct dtconv_fragment *fragments[8];

	params.flags = DTCONV_POOL_SHARED | (_i ? DTCONV_POOL_HUGE : 0) |
		       DTCONV_POOL_NUMA;
	struct dtconv_pool *pool = open_pool(&params);
	for (int i = 0; i < 8; i++)
		fixture_ok(dtconv_pool_get(pool, &fragments[i]));
	const struct dtconv_fragment_attr attr = fragment_attr(fragments[5]);
	size_t bytes = attr_of(pool).slab_bytes;
	ck_assert_int_ge(attr.slab_fd, 0);
	char *other = mmap(NULL, bytes, PROT_READ, MAP_SHARED, attr.slab_fd, 0);
	ck_assert_ptr_ne(other, MAP_FAILED);
	strcpy(attr.address, "from the other side");
	ck_assert_str_eq(other + attr.slab_offset, "from the other side");
	munmap(other, bytes);
	for (int i = 0; i < 8; i++)
		dtconv_fragment_put(fragments[i]);
	fixture_ok(dtconv_pool_destroy(pool));
	ck_assert_uint_eq(process_files(), files);
}
END_TEST

/* ---- growing and shrinking ------------------------------------------------------------- */

START_TEST(a_pool_grows_to_its_limit_and_shrinks_to_nothing)
{
	struct dtconv_pool_params params = small_pool(4);
	struct dtconv_fragment *fragment;

	params.limit_bytes = 3 * 4096;
	struct dtconv_pool *pool = open_pool(&params);
	ck_assert_uint_eq(attr_of(pool).slabs, 1);
	fixture_ok(dtconv_pool_grow(pool, 4097));
	ck_assert_uint_eq(attr_of(pool).slabs, 3);
	ck_assert_uint_eq(attr_of(pool).fragments, 12);
	fixture_status(dtconv_pool_grow(pool, 1), DTCONV_ERR_LIMIT);
	fixture_ok(dtconv_pool_grow(pool, 0));
	fixture_ok(dtconv_pool_shrink(pool, 4095));
	ck_assert_uint_eq(attr_of(pool).slabs, 3);
	fixture_ok(dtconv_pool_get(pool, &fragment));
	const struct dtconv_fragment_attr held = fragment_attr(fragment);
	memset(held.address, 7, held.capacity);
	fixture_status(dtconv_pool_shrink(pool, 3 * 4096), DTCONV_ERR_AGAIN);
	ck_assert_uint_eq(attr_of(pool).slabs, 1);
	ck_assert_uint_eq(attr_of(pool).free, 3);
	ck_assert_uint_eq(*(unsigned char *)held.address, 7);
	dtconv_fragment_put(fragment);
	fixture_ok(dtconv_pool_shrink(pool, 4096));
	ck_assert_uint_eq(attr_of(pool).fragments, 0);
	ck_assert_int_eq(dtconv_pool_get(pool, &fragment), DTCONV_ERR_AGAIN);
	fixture_ok(dtconv_pool_grow(pool, 2 * 4096));
	ck_assert_uint_eq(attr_of(pool).free, 8);
	fixture_ok(dtconv_pool_destroy(pool));
}
END_TEST

START_TEST(a_removed_slab_is_unmapped)
{
	const struct dtconv_pool_params params = small_pool(1);
	struct dtconv_pool *pool = open_pool(&params);
	struct dtconv_fragment *first, *second;

	fixture_ok(dtconv_pool_grow(pool, 1));
	fixture_ok(dtconv_pool_get(pool, &first));
	fixture_ok(dtconv_pool_get(pool, &second));
	void *addresses[2] = { dtconv_fragment_address(first),
			       dtconv_fragment_address(second) };
	ck_assert(process_has_mapped(addresses[0]) && process_has_mapped(addresses[1]));
	dtconv_fragment_put(first);
	fixture_ok(dtconv_pool_shrink(pool, 4096));
	ck_assert(!process_has_mapped(addresses[0]) && process_has_mapped(addresses[1]));
	dtconv_fragment_put(second);
	fixture_ok(dtconv_pool_destroy(pool));
	ck_assert(!process_has_mapped(addresses[1]));
}
END_TEST

#define THREADS 4
#define ROUNDS  20000

struct traffic {
	struct dtconv_pool *pool;
	unsigned char number;
	pthread_t thread;
	atomic_bool *running;
	size_t taken;
};

/* What it writes into a fragment of its own stays there until it has put it back. */
static void *take_and_put(void *arg)
{
	struct traffic *traffic = arg;
	struct dtconv_fragment *fragment;

	while (traffic->taken < ROUNDS && atomic_load(traffic->running)) {
		if (dtconv_pool_get(traffic->pool, &fragment)) {
			sched_yield();
			continue;
		}
		unsigned char *bytes = dtconv_fragment_address(fragment);
		bytes[0] = bytes[999] = traffic->number;
		if (traffic->taken++ % 64 == 0)
			sched_yield();
		if (bytes[0] != traffic->number || bytes[999] != traffic->number)
			abort();
		dtconv_fragment_put(fragment);
	}
	return NULL;
}

START_TEST(a_pool_grows_and_shrinks_while_traffic_runs)
{
	struct dtconv_pool_params params = small_pool(2);
	struct traffic traffic[THREADS];
	atomic_bool running = true;

	params.limit_bytes = 5 * 4096;
	struct dtconv_pool *pool = open_pool(&params);
	for (int i = 0; i < THREADS; i++) {
		traffic[i] = (struct traffic){ .pool = pool,
					       .number = (unsigned char)(i + 1),
					       .running = &running };
		ck_assert_int_eq(pthread_create(&traffic[i].thread, NULL, take_and_put,
						&traffic[i]),
				 0);
	}
	for (int round = 0; round < 300; round++) {
		int status = dtconv_pool_grow(pool, (size_t)(1 + round % 4) * 4096);
		ck_assert(!status || status == DTCONV_ERR_LIMIT);
		status = dtconv_pool_shrink(pool, (size_t)(1 + round % 5) * 4096);
		ck_assert(!status || status == DTCONV_ERR_AGAIN);
	}
	(void)dtconv_pool_grow(pool, 4096);
	for (int i = 0; i < THREADS; i++)
		pthread_join(traffic[i].thread, NULL);
	for (int i = 0; i < THREADS; i++)
		ck_assert_uint_eq(traffic[i].taken, ROUNDS);
	ck_assert_uint_eq(attr_of(pool).out, 0);
	fixture_ok(dtconv_pool_destroy(pool));
}
END_TEST

/* ---- registrars ------------------------------------------------------------------------ */

struct registered {
	struct diary diary;
	struct registrar registrars[REGISTRARS];
	struct dtconv_registrar given[REGISTRARS];
	struct dtconv_pool_params params;
};

static void open_registered(struct registered *it)
{
	memset(it, 0, sizeof(*it));
	registrars_of(&it->diary, it->registrars, it->given);
	it->params = small_pool(2);
	it->params.registrars = it->given;
	it->params.registrar_count = REGISTRARS;
}

/* What a slab's registration must have been if these registrars refuse: up to the first that does, and back. */
static const char *expected_diary(unsigned refused)
{
	static char text[64];
	unsigned done = 0;
	size_t length = 0;

	for (; done < REGISTRARS && !(refused >> done & 1); done++)
		length += (size_t)sprintf(text + length, "%u+", done);
	if (done == REGISTRARS)
		return text;
	length += (size_t)sprintf(text + length, "%u!", done);
	while (done--)
		length += (size_t)sprintf(text + length, "%u-", done);
	return text;
}

START_TEST(registrars_go_in_order_and_back_in_reverse)
{
	struct registered it;
	struct dtconv_fragment *fragment;

	open_registered(&it);
	struct dtconv_pool *pool = open_pool(&it.params);
	ck_assert_str_eq(it.diary.text, "0+1+2+");
	fixture_ok(dtconv_pool_get(pool, &fragment));
	const struct dtconv_fragment_attr attr = fragment_attr(fragment);
	ck_assert_uint_eq(attr.handle_count, REGISTRARS);
	for (unsigned i = 0; i < REGISTRARS; i++)
		ck_assert_ptr_eq(attr.handles[i],
				 (char *)attr.address - attr.slab_offset + 1 + i);
	dtconv_fragment_put(fragment);
	diary_clear(&it.diary);
	fixture_ok(dtconv_pool_grow(pool, 4096));
	fixture_ok(dtconv_pool_shrink(pool, 4096));
	ck_assert_str_eq(it.diary.text, "0+1+2+2-1-0-");
	diary_clear(&it.diary);
	fixture_ok(dtconv_pool_destroy(pool));
	ck_assert_str_eq(it.diary.text, "2-1-0-");
	ck_assert_uint_eq(atomic_load(&it.diary.live), 0);
}
END_TEST

START_TEST(a_refused_creation_undoes_what_was_done)
{
	const unsigned refused = (unsigned)_i;
	const size_t files = process_files();
	struct dtconv_pool *pool = NULL;
	struct registered it;

	open_registered(&it);
	it.params.flags = DTCONV_POOL_SHARED;
	it.diary.refused = refused;
	int status = dtconv_pool_create(fixture_context, &it.params, &pool);
	ck_assert_int_eq(status, refused ? DTCONV_ERR_LIMIT : 0);
	ck_assert_str_eq(it.diary.text, expected_diary(refused));
	if (!status)
		fixture_ok(dtconv_pool_destroy(pool));
	else
		ck_assert_ptr_nonnull(strstr(fixture_error(), "diary"));
	ck_assert_uint_eq(atomic_load(&it.diary.live), 0);
	ck_assert_uint_eq(process_files(), files);
}
END_TEST

START_TEST(a_refused_growth_leaves_the_pool_as_it_was)
{
	const unsigned refused = (unsigned)_i;
	struct registered it;

	open_registered(&it);
	struct dtconv_pool *pool = open_pool(&it.params);
	diary_clear(&it.diary);
	it.diary.refused = refused;
	fixture_status(dtconv_pool_grow(pool, 4096), refused ? DTCONV_ERR_LIMIT : 0);
	ck_assert_str_eq(it.diary.text, expected_diary(refused));
	ck_assert_uint_eq(attr_of(pool).slabs, refused ? 1 : 2);
	ck_assert_uint_eq(attr_of(pool).free, refused ? 2 : 4);
	/* The next one succeeds, and shrinking undoes it in reverse whatever would be refused now. */
	it.diary.refused = 0;
	fixture_ok(dtconv_pool_grow(pool, 4096));
	it.diary.refused = refused;
	diary_clear(&it.diary);
	fixture_ok(dtconv_pool_shrink(pool, 4096));
	ck_assert_str_eq(it.diary.text, "2-1-0-");
	fixture_ok(dtconv_pool_destroy(pool));
	ck_assert_uint_eq(atomic_load(&it.diary.live), 0);
}
END_TEST

/* Of several slabs the finished ones stay. */
START_TEST(a_growth_that_fails_late_keeps_the_slabs_before)
{
	struct registered it;

	open_registered(&it);
	struct dtconv_pool *pool = open_pool(&it.params);
	it.diary.refused = 2;
	it.diary.spare = 2;
	fixture_status(dtconv_pool_grow(pool, 3 * 4096), DTCONV_ERR_LIMIT);
	ck_assert_uint_eq(attr_of(pool).slabs, 3);
	ck_assert_uint_eq(atomic_load(&it.diary.live), 3 * REGISTRARS);
	fixture_ok(dtconv_pool_destroy(pool));
	ck_assert_uint_eq(atomic_load(&it.diary.live), 0);
}
END_TEST

/* A registrar may call the pool: what is possible then is done, what is not is refused. */
static int call_pool(void *arg, const struct dtconv_slab *slab, void **handle)
{
	struct dtconv_pool **pool = arg;
	struct dtconv_pool_attr attr = { .struct_size = sizeof(attr) };
	struct dtconv_fragment *fragment;

	(void)slab;
	*handle = NULL;
	if (!*pool)
		return 0;
	fixture_ok(dtconv_pool_query(*pool, &attr));
	fixture_status(dtconv_pool_grow(*pool, 1), DTCONV_ERR_AGAIN);
	fixture_status(dtconv_pool_shrink(*pool, 4096), DTCONV_ERR_AGAIN);
	if (!dtconv_pool_get(*pool, &fragment))
		dtconv_fragment_put(fragment);
	return 0;
}

static void call_pool_back(void *arg, const struct dtconv_slab *slab, void *handle)
{
	(void)call_pool(arg, slab, &handle);
}

START_TEST(a_registrar_may_call_the_pool)
{
	struct dtconv_pool_params params = small_pool(2);
	struct dtconv_pool *pool = NULL;
	const struct dtconv_registrar caller = { "caller", call_pool, call_pool_back,
						 &pool };

	params.registrars = &caller;
	params.registrar_count = 1;
	pool = open_pool(&params);
	fixture_ok(dtconv_pool_grow(pool, 4096));
	fixture_ok(dtconv_pool_shrink(pool, 4096));
	struct dtconv_pool *last = pool;
	pool = NULL;
	fixture_ok(dtconv_pool_destroy(last));
}
END_TEST

/* ---- sizes ----------------------------------------------------------------------------- */

/* What a tuning file says, and what is asked for; the fragments and slabs that follow. */
static const struct {
	const char *tuning;
	size_t fragment_bytes, slab_bytes, start_bytes;
	size_t fragment, fragments;
} sizes[] = {
	{ "", 0, 1 << 20, 0, 262144, 4 },
	{ "fragment_bytes 65536", 0, 1 << 20, 0, 65536, 16 },
	{ "fragment_bytes 524288", 0, 1 << 20, 0, 524288, 2 },
	{ "fragment_bytes 524288", 0, 0, 1 << 20, 524288, 2 },
	/* What is asked for counts. */
	{ "fragment_bytes 524288", 1000, 1 << 20, 0, 1000, 1024 },
	/* Fragments begin at multiples of 256: no room is lost between them. */
	{ "fragment_bytes 65537", 0, 65792 * 4, 0, 65792, 4 },
	/* Slabs do not grow for large ones. */
	{ "fragment_bytes 1073741824", 0, 1 << 20, 0, 1 << 20, 1 },
	{ "fragment_bytes 1073741824", 0, 0, 1 << 20, 1 << 20, 1 },
	{ "fragment_bytes 1073741824", 0, 4096, 0, 262144, 1 },
};

START_TEST(fragments_have_the_tuned_size)
{
	struct dtconv_pool_params params = { .struct_size = sizeof(params),
					     .kind = DTCONV_MEMORY_HOST,
					     .fragment_bytes = sizes[_i].fragment_bytes,
					     .slab_bytes = sizes[_i].slab_bytes,
					     .start_bytes = sizes[_i].start_bytes };
	char path[] = "/tmp/test_pool.XXXXXX";
	const int file = mkstemp(path);
	struct dtconv_context *context;
	struct dtconv_pool *pool;

	ck_assert_int_ge(dprintf(file, "%s\n", sizes[_i].tuning), 1);
	setenv("DTCONV_TUNING", path, 1);
	fixture_ok(dtconv_context_create(NULL, &context));
	unlink(path);
	close(file);
	fixture_ok(dtconv_pool_create(context, &params, &pool));
	ck_assert_uint_eq(attr_of(pool).fragment_bytes, sizes[_i].fragment);
	ck_assert_uint_eq(attr_of(pool).fragments, sizes[_i].fragments);
	fixture_ok(dtconv_pool_destroy(pool));
	dtconv_context_destroy(context);
}
END_TEST

/* ---- refusals -------------------------------------------------------------------------- */

struct refusal {
	void (*spoil)(struct dtconv_pool_params *params);
	int status;
	const char *word;
};

static void no_size(struct dtconv_pool_params *params)
{
	params->struct_size = 0;
}
static void strange_flag(struct dtconv_pool_params *params)
{
	params->flags = 1u << 20;
}
static void strange_kind(struct dtconv_pool_params *params)
{
	params->kind = DTCONV_MEMORY_MANAGED;
}
static void no_node(struct dtconv_pool_params *params)
{
	params->numa_node = 1;
}
static void below_node(struct dtconv_pool_params *params)
{
	params->flags = DTCONV_POOL_NUMA;
	params->numa_node = -1;
}
static void too_many(struct dtconv_pool_params *params)
{
	params->registrar_count = 9;
}
static void nameless(struct dtconv_pool_params *params)
{
	params->registrar_count = 1;
}
static void huge_fragment(struct dtconv_pool_params *params)
{
	params->fragment_bytes = SIZE_MAX;
}
static void huge_slab(struct dtconv_pool_params *params)
{
	params->slab_bytes = SIZE_MAX - 4096;
}
static void beyond_limit(struct dtconv_pool_params *params)
{
	params->start_bytes = 3 * 4096;
	params->limit_bytes = 2 * 4096;
}
static void on_device(struct dtconv_pool_params *params)
{
	params->kind = DTCONV_MEMORY_DEVICE;
}
static void shared_device(struct dtconv_pool_params *params)
{
	params->kind = DTCONV_MEMORY_DEVICE;
	params->flags = DTCONV_POOL_SHARED;
}
static void huge_device(struct dtconv_pool_params *params)
{
	params->kind = DTCONV_MEMORY_DEVICE;
	params->flags = DTCONV_POOL_HUGE;
}

static const struct refusal refusals[] = {
	{ no_size, DTCONV_ERR_INVAL, "struct_size" },
	{ strange_flag, DTCONV_ERR_INVAL, "0x100000" },
	{ strange_kind, DTCONV_ERR_INVAL, "params.kind" },
	{ no_node, DTCONV_ERR_INVAL, "DTCONV_POOL_NUMA" },
	{ below_node, DTCONV_ERR_INVAL, "negative" },
	{ too_many, DTCONV_ERR_INVAL, "is 9, the most is 8" },
	{ nameless, DTCONV_ERR_INVAL, "registrars[0]" },
	{ huge_fragment, DTCONV_ERR_OVERFLOW, "address space" },
	{ huge_slab, DTCONV_ERR_OVERFLOW, "address space" },
	{ beyond_limit, DTCONV_ERR_LIMIT, "its limit is 2" },
	{ on_device, DTCONV_ERR_UNSUPPORTED, "no CUDA context" },
	{ shared_device, DTCONV_ERR_UNSUPPORTED, "no CUDA context" },
	{ huge_device, DTCONV_ERR_INVAL, "DEVICE" },
};

START_TEST(bad_options_are_refused_with_a_sentence)
{
	struct dtconv_pool_params params = small_pool(2);
	struct dtconv_pool *pool = NULL;

	refusals[_i].spoil(&params);
	fixture_status(dtconv_pool_create(fixture_context, &params, &pool),
		       refusals[_i].status);
	ck_assert_ptr_null(pool);
	ck_assert_msg(strstr(fixture_error(), refusals[_i].word) != NULL, "%s",
		      fixture_error());
}
END_TEST

START_TEST(missing_arguments_are_refused)
{
	const struct dtconv_pool_params params = small_pool(1);
	struct dtconv_pool *pool = open_pool(&params);
	struct dtconv_pool_attr attr = { .struct_size = 0 };
	struct dtconv_fragment_attr piece = { .struct_size = 0 };
	struct dtconv_fragment *fragment;

	ck_assert_int_eq(dtconv_pool_create(NULL, NULL, &pool), DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_pool_create(fixture_context, NULL, NULL),
			 DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_pool_get(NULL, &fragment), DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_pool_get(pool, NULL), DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_pool_grow(NULL, 1), DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_pool_shrink(NULL, 1), DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_pool_prepare(NULL, 0), DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_pool_query(pool, NULL), DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_pool_query(pool, &attr), DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_pool_destroy(NULL), 0);
	ck_assert_ptr_null(dtconv_fragment_address(NULL));
	fixture_ok(dtconv_pool_get(pool, &fragment));
	ck_assert_int_eq(dtconv_fragment_query(fragment, NULL), DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_fragment_query(fragment, &piece), DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_fragment_query(NULL, &piece), DTCONV_ERR_INVAL);
	dtconv_fragment_put(fragment);
	fixture_status(dtconv_pool_prepare(pool, 0), DTCONV_ERR_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(fixture_error(), "kind is host"));
	fixture_ok(dtconv_pool_destroy(pool));
}
END_TEST

/* An older caller's shorter structures: what it does not know is neither read nor written. */
START_TEST(shorter_structures_of_older_callers_are_respected)
{
	struct dtconv_pool_params params = small_pool(1);
	struct dtconv_pool_attr attr;

	params.struct_size = offsetof(struct dtconv_pool_params, registrars);
	params.registrar_count = 5;
	struct dtconv_pool *pool = open_pool(&params);
	memset(&attr, 0x55, sizeof(attr));
	attr.struct_size = offsetof(struct dtconv_pool_attr, abandoned);
	fixture_ok(dtconv_pool_query(pool, &attr));
	ck_assert_uint_eq(attr.free, 1);
	ck_assert_uint_eq((unsigned char)attr.abandoned, 0x55);
	fixture_ok(dtconv_pool_destroy(pool));
}
END_TEST

/* In a process of its own: limits stay. */
static void refuse_descriptors(void)
{
	const struct rlimit none = { 0, 0 };

	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
}

START_TEST(a_system_without_memory_is_an_error)
{
	struct dtconv_pool_params params = small_pool(2);
	struct dtconv_pool *pool = NULL;

	if (!suite_has_processes())
		return;
	/* A machine of 32 bits may have as much as can be asked for. */
	if (!_i && sizeof(size_t) < 8)
		return;
	params.flags = _i ? DTCONV_POOL_SHARED : 0;
	struct dtconv_pool *before = open_pool(&params);
	if (_i)
		refuse_descriptors();
	else
		params.slab_bytes = (size_t)PTRDIFF_MAX / 4096 * 4096 - ((size_t)1 << 20);
	params.fragment_bytes = params.slab_bytes;
	fixture_status(dtconv_pool_create(fixture_context, &params, &pool),
		       DTCONV_ERR_NOMEM);
	ck_assert_ptr_null(pool);
	fixture_ok(dtconv_pool_destroy(before));
}
END_TEST

/* The context's allocator refuses one call, each in turn. */
static atomic_size_t granted;

static void *grant(void *arg, size_t bytes)
{
	(void)arg;
	return atomic_fetch_sub(&granted, 1) == 0 ? NULL : malloc(bytes);
}

static void take_back(void *arg, void *memory)
{
	(void)arg;
	free(memory);
}

START_TEST(a_refused_allocation_undoes_everything)
{
	const struct dtconv_context_params hungry = {
		.struct_size = sizeof(hungry), .allocator = { grant, take_back, NULL }
	};
	const size_t files = process_files();
	struct dtconv_context *context;
	struct dtconv_pool *pool;
	struct registered it;
	size_t refusals_seen = 0;

	atomic_store(&granted, SIZE_MAX);
	fixture_ok(dtconv_context_create(&hungry, &context));
	for (size_t spare = 0;; spare++) {
		open_registered(&it);
		it.params.flags = DTCONV_POOL_SHARED;
		atomic_store(&granted, spare);
		int status = dtconv_pool_create(context, &it.params, &pool);
		if (!status) {
			int grown = dtconv_pool_grow(pool, 4096);
			bool all = atomic_exchange(&granted, SIZE_MAX) <= spare;
			ck_assert(!grown || grown == DTCONV_ERR_NOMEM);
			ck_assert_int_eq(dtconv_pool_destroy(pool), 0);
			if (all)
				break;
			refusals_seen++;
		} else {
			ck_assert_int_eq(status, DTCONV_ERR_NOMEM);
			refusals_seen++;
		}
		atomic_store(&granted, SIZE_MAX);
		ck_assert_uint_eq(atomic_load(&it.diary.live), 0);
		ck_assert_uint_eq(process_files(), files);
	}
	ck_assert_uint_eq(refusals_seen, 4);
	dtconv_context_destroy(context);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pool");
	TCase *tcase = fixture_case(suite, "fragments", 10);

	tcase_add_loop_test(tcase, each_fragment_has_one_owner_and_memory_of_its_own, 0,
			    2);
	tcase_add_test(tcase, a_fragment_put_twice_is_left_alone);
	tcase_add_test(tcase, clean_fragments_are_zero_again);
	tcase_add_loop_test(tcase, a_shared_slab_can_be_mapped_by_its_descriptor, 0, 2);
	tcase = fixture_case(suite, "slabs", 20);
	tcase_add_test(tcase, a_pool_grows_to_its_limit_and_shrinks_to_nothing);
	tcase_add_test(tcase, a_removed_slab_is_unmapped);
	tcase_add_test(tcase, a_pool_grows_and_shrinks_while_traffic_runs);
	tcase = fixture_case(suite, "registrars", 10);
	tcase_add_test(tcase, registrars_go_in_order_and_back_in_reverse);
	tcase_add_loop_test(tcase, a_refused_creation_undoes_what_was_done, 0,
			    1 << REGISTRARS);
	tcase_add_loop_test(tcase, a_refused_growth_leaves_the_pool_as_it_was, 0,
			    1 << REGISTRARS);
	tcase_add_test(tcase, a_growth_that_fails_late_keeps_the_slabs_before);
	tcase_add_test(tcase, a_registrar_may_call_the_pool);
	tcase = fixture_case(suite, "sizes", 10);
	tcase_add_loop_test(tcase, fragments_have_the_tuned_size, 0,
			    (int)(sizeof(sizes) / sizeof(sizes[0])));
	tcase = fixture_case(suite, "refusals", 10);
	tcase_add_loop_test(tcase, bad_options_are_refused_with_a_sentence, 0,
			    (int)(sizeof(refusals) / sizeof(refusals[0])));
	tcase_add_test(tcase, missing_arguments_are_refused);
	tcase_add_test(tcase, shorter_structures_of_older_callers_are_respected);
	tcase_add_loop_test(tcase, a_system_without_memory_is_an_error, 0, 2);
	tcase_add_test(tcase, a_refused_allocation_undoes_everything);
	return fixture_run(suite);
}
