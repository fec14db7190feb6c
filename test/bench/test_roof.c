/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plain kernels that the device's rows are held against: the rule found for each layout gives the place of
 * every byte, and NVRTC compiles the kernels for it. What they move is verified where they run.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "bench/gpu/compile.h"
#include "bench/gpu/layouts.h"
#include "bench/gpu/pattern.h"
#include "bench/gpu/roof.h"
#include "support/t.h"

#define ARCH   75
#define BYTES  ((size_t)1 << 16)
#define BIASED ((unsigned char *)((uintptr_t)1 << 20))

static const struct {
	const char *layout;
	enum pattern_kind kind;
	size_t word;
} expected[] = {
	{ "contig", PATTERN_GRID, 16 },        { "vec4", PATTERN_GRID, 4 },
	{ "vec8", PATTERN_GRID, 8 },           { "40of80", PATTERN_GRID, 8 },
	{ "128of257", PATTERN_GRID, 1 },       { "box", PATTERN_GRID, 8 },
	{ "xface2", PATTERN_GRID, 16 },        { "20of48", PATTERN_RECORD, 4 },
	{ "19of24", PATTERN_RECORD, 1 },       { "transpose", PATTERN_GRID, 8 },
	{ "lower_tri", PATTERN_LIST, 8 },      { "irregular64", PATTERN_LIST, 8 },
	{ "gather8_sorted", PATTERN_LIST, 8 },
};

static void find_layout(const struct bench_layout *layout, struct bench_case *c,
			struct pattern *p)
{
	const char *problem = "";
	char why[512] = "";

	ck_assert_msg(!bench_case_make_bytes(t_context, 1, layout, BYTES, c, why,
					     sizeof(why)),
		      "%s: %s", layout->name, why);
	ck_assert_msg(!pattern_find(c, BIASED, p, &problem), "%s: %s", layout->name,
		      problem);
	ck_assert_uint_eq(p->bytes, c->bytes);
}

/* ---- places ---------------------------------------------------------------------------- */

/* The first and the last byte of each run that the library exports, and its length. */
static void compare_runs(const struct bench_case *c, const struct pattern *p)
{
	struct dtconv_convertor *convertor;
	struct iovec run;
	size_t count, moved;
	uint64_t packed = 0;

	t_ok(dtconv_convertor_create_pack(c->type, c->count, BIASED, &convertor));
	for (;;) {
		t_ok(dtconv_convertor_iov(convertor, &run, 1, SIZE_MAX, &count, &moved));
		if (!count)
			break;
		int64_t disp = (unsigned char *)run.iov_base - BIASED;
		ck_assert_int_eq(pattern_place(p, packed), disp);
		packed += moved;
		ck_assert_int_eq(pattern_place(p, packed - 1),
				 disp + (int64_t)run.iov_len - 1);
	}
	ck_assert_uint_eq(packed, p->bytes);
	dtconv_convertor_destroy(convertor);
}

static void check_places(const struct bench_layout *table)
{
	for (const struct bench_layout *l = table; l->name; l++) {
		struct bench_case c;
		struct pattern p;

		find_layout(l, &c, &p);
		compare_runs(&c, &p);
		ck_assert_uint_eq(p.bytes % p.word, 0);
		pattern_release(&p);
		bench_case_release(&c);
	}
}

START_TEST(a_pattern_gives_every_place)
{
	check_places(bench_layouts_gpu);
	check_places(bench_layouts_applications);
}
END_TEST

static const struct bench_layout *find(const char *name)
{
	const struct bench_layout *l = bench_layouts_gpu;

	while (l->name && strcmp(l->name, name) != 0)
		l++;
	ck_assert_msg(l->name, "there is no layout %s", name);
	return l;
}

START_TEST(a_pattern_is_the_simplest)
{
	struct bench_case c;
	struct pattern p;

	find_layout(find(expected[_i].layout), &c, &p);
	ck_assert_int_eq(p.kind, expected[_i].kind);
	ck_assert_uint_eq(p.word, expected[_i].word);
	pattern_release(&p);
	bench_case_release(&c);
}
END_TEST

/* ---- kernels --------------------------------------------------------------------------- */

/* Whether an image has an entry: cubins keep their names as text. */
static bool names(const char *image, size_t bytes, const char *entry)
{
	return memmem(image, bytes, entry, strlen(entry));
}

static void check_entries(const char *image, size_t bytes, const struct pattern *p)
{
	ck_assert(names(image, bytes, "pack_1") && names(image, bytes, "unpack_8"));
	ck_assert_int_eq(names(image, bytes, "unpack_runs"), p->kind == PATTERN_LIST);
	ck_assert_int_eq(names(image, bytes, "pack_wide"),
			 p->word < 16 && p->bytes % 16 == 0);
}

static void compile_for(const struct pattern *p, bool far, const char *layout)
{
	struct roof_options options;
	char why[512] = "";
	size_t bytes;

	roof_set_options(&options, p, far, ARCH);
	char *image = compile_kernels(roof_source, options.list, options.count, &bytes,
				      why, sizeof(why));
	ck_assert_msg(image, "%s: %s", layout, why);
	check_entries(image, bytes, p);
	free(image);
}

START_TEST(kernels_compile_for_every_pattern)
{
	struct bench_case c;
	struct pattern p;

	find_layout(find(expected[_i].layout), &c, &p);
	compile_for(&p, false, c.name);
	compile_for(&p, true, c.name);
	pattern_release(&p);
	bench_case_release(&c);
}
END_TEST

static bool has_nvrtc(void)
{
	char why[512];
	size_t bytes;
	void *image = compile_kernels("", NULL, 0, &bytes, why, sizeof(why));

	free(image);
	return image || !strstr(why, "there is no NVRTC");
}

int main(void)
{
	const int rows = sizeof(expected) / sizeof(*expected);
	Suite *suite = suite_create("roof");

	tcase_add_test(t_case(suite, "places"), a_pattern_gives_every_place);
	tcase_add_loop_test(t_case(suite, "kinds"), a_pattern_is_the_simplest, 0, rows);
	if (has_nvrtc())
		tcase_add_loop_test(t_case(suite, "kernels"),
				    kernels_compile_for_every_pattern, 0, rows);
	return t_run(suite);
}
