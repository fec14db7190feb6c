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
#include "bench/gpu/fresh.h"
#include "bench/gpu/page_copy.h"
#include "bench/gpu/fused.h"
#include "bench/gpu/layouts.h"
#include "bench/gpu/pattern.h"
#include "bench/gpu/roof.h"
#include "bench/gpu/roof_tables.h"
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
	{ "gather8_sorted", PATTERN_LIST, 8 }, { "gather8_random", PATTERN_LIST, 8 },
	{ "WRF_x_vec", PATTERN_LIST, 4 },      { "LAMMPS_atomic", PATTERN_LIST, 8 },
	{ "SPECFEM3D_oc", PATTERN_LIST, 4 },   { "SPECFEM3D_mt", PATTERN_GRID, 4 },
	{ "NAS_LU_y", PATTERN_GRID, 8 },       { "NAS_MG_x", PATTERN_LIST, 8 },
};

static void find_at(const struct bench_layout *layout, size_t bytes, struct bench_case *c,
		    struct pattern *p)
{
	const char *problem = "";
	char why[512] = "";

	ck_assert_msg(!bench_case_make_bytes(t_context, 1, layout, bytes, c, why,
					     sizeof(why)),
		      "%s: %s", layout->name, why);
	ck_assert_msg(!pattern_find(c, BIASED, p, &problem), "%s: %s", layout->name,
		      problem);
	ck_assert_uint_eq(p->bytes, c->bytes);
}

static void find_layout(const struct bench_layout *layout, struct bench_case *c,
			struct pattern *p)
{
	find_at(layout, BYTES, c, p);
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

static const struct bench_layout *find_in(const struct bench_layout *table,
					  const char *name)
{
	while (table->name && strcmp(table->name, name) != 0)
		table++;
	return table;
}

static const struct bench_layout *find(const char *name)
{
	const struct bench_layout *l = find_in(bench_layouts_gpu, name);

	if (!l->name)
		l = find_in(bench_layouts_applications, name);
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

/* ---- tables ---------------------------------------------------------------------------- */

#define FIRST                \
	((uint64_t)1 << 20 | \
	 40) /* address of the first word, not the first of a sector */
#define SECTOR 32

static int64_t number_at(const struct pattern *p, const struct roof_table *t, uint64_t i)
{
	return p->far ? ((const int64_t *)t->memory)[i] : ((const int32_t *)t->memory)[i];
}

/* The displacement of a packed word of instance 0, in words from the first. */
static int64_t word_place(const struct pattern *p, uint64_t packed)
{
	return (pattern_place(p, packed * p->word) - p->first) / (int64_t)p->word;
}

static void check_words(const struct pattern *p)
{
	struct roof_table t = roof_make_places(p);

	ck_assert_ptr_nonnull(t.memory);
	for (uint64_t i = 0; i < pattern_record_words(p); i++)
		ck_assert_int_eq(number_at(p, &t, i), word_place(p, i));
	free(t.memory);
}

static void check_runs(const struct pattern *p)
{
	struct roof_table t = roof_make_runs(p);
	uint64_t packed = 0;

	ck_assert_ptr_nonnull(t.memory);
	for (uint64_t i = 0; i < 3 * p->record_runs; i += 3) {
		ck_assert_int_eq(number_at(p, &t, i), word_place(p, packed));
		ck_assert_uint_eq((uint64_t)number_at(p, &t, i + 1), packed);
		packed += (uint64_t)number_at(p, &t, i + 2);
	}
	ck_assert_uint_eq(packed, pattern_record_words(p));
	free(t.memory);
}

static uint64_t sector_at(const struct pattern *p, const struct roof_table *t, uint64_t i)
{
	return (FIRST + (uint64_t)(number_at(p, t, 2 * i) * (int64_t)p->word)) / SECTOR;
}

/* Words behind @i, itself too, in its sector. */
static uint64_t same_sector(const struct pattern *p, const struct roof_table *t,
			    uint64_t i)
{
	uint64_t end = i + 1;

	while (end < pattern_record_words(p) &&
	       sector_at(p, t, end) == sector_at(p, t, i))
		end++;
	return end - i;
}

static bool is_to_fetch(const struct pattern *p, const struct roof_table *t, uint64_t i)
{
	if (pattern_records(p) > 1 && p->record_step % SECTOR)
		return true;
	if (i && sector_at(p, t, i - 1) == sector_at(p, t, i))
		return false;
	return same_sector(p, t, i) * p->word < SECTOR;
}

static void check_pairs(const struct pattern *p)
{
	struct roof_table t = roof_make_pairs(p, FIRST);

	ck_assert_ptr_nonnull(t.memory);
	for (uint64_t i = 0; i < pattern_record_words(p); i++) {
		int64_t place = number_at(p, &t, 2 * i),
			packed = number_at(p, &t, 2 * i + 1);

		ck_assert_int_eq(packed < 0, is_to_fetch(p, &t, i));
		ck_assert_int_eq(
			place, word_place(p, (uint64_t)(packed < 0 ? ~packed : packed)));
		if (i)
			ck_assert_int_lt(number_at(p, &t, 2 * i - 2), place);
	}
	free(t.memory);
}

static void check_tables(const struct bench_layout *table, size_t bytes, bool far)
{
	for (const struct bench_layout *l = table; l->name; l++) {
		struct bench_case c;
		struct pattern p;

		find_at(l, bytes, &c, &p);
		p.far |= far;
		if (p.kind != PATTERN_GRID) {
			ck_assert_uint_eq(pattern_records(&p) * pattern_record_words(&p),
					  pattern_words(&p));
			check_words(&p);
			check_pairs(&p);
			check_runs(&p);
		}
		pattern_release(&p);
		bench_case_release(&c);
	}
}

START_TEST(tables_hold_one_instance)
{
	check_tables(bench_layouts_gpu, BYTES, _i);
	check_tables(bench_layouts_applications, 8 * BYTES, _i);
}
END_TEST

START_TEST(several_instances_need_one_table)
{
	struct bench_case c;
	struct pattern p;

	find_at(find("LAMMPS_atomic"), 8 * BYTES, &c, &p);
	ck_assert_uint_gt(c.count, 1);
	ck_assert_uint_eq(pattern_records(&p), c.count);
	ck_assert_uint_eq(pattern_words(&p) % c.count, 0);
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
	ck_assert_int_eq(names(image, bytes, "unpack_sorted_8"), p->kind != PATTERN_GRID);
	ck_assert_int_eq(names(image, bytes, "unpack_ahead_1"),
			 p->kind != PATTERN_GRID || p->block % SECTOR ||
				 p->row_step % SECTOR || p->plane_step % SECTOR);
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

static void compile_text(const char *text, const char *const *options, int count,
			 const char *entry)
{
	char why[512] = "";
	size_t bytes;
	char *image = compile_kernels(text, options, count, &bytes, why, sizeof(why));

	ck_assert_msg(image, "%s", why);
	ck_assert(names(image, bytes, entry));
	free(image);
}

/* From each kind of pattern to each; some have tables of their own. */
START_TEST(kernels_of_copies_compile)
{
	static const char *const layouts[] = { "vec8", "20of48", "gather8_random",
					       "LAMMPS_atomic" };
	const char *const options[] = { "--gpu-architecture=sm_75" };
	struct bench_case cases[2];
	struct pattern patterns[2];

	for (int side = 0; side < 2; side++)
		find_layout(find(layouts[(_i >> 2 * side) % 4]), &cases[side],
			    &patterns[side]);
	fused_share_word(&patterns[0], &patterns[1]);
	char *text = fused_write(&patterns[0], &patterns[1], _i % 2);
	ck_assert_ptr_nonnull(text);
	compile_text(text, options, 1, "copy_8");
	free(text);
	for (int side = 0; side < 2; side++) {
		pattern_release(&patterns[side]);
		bench_case_release(&cases[side]);
	}
}
END_TEST

START_TEST(kernels_of_fresh_lists_compile)
{
	const char *const options[] = { "--gpu-architecture=sm_75",
					"-DWORD=uint4",
					"-DWORDS=4096u",
					"-DBLOCK=32u",
					"-DPAGES=4u",
					"-DPOOL=9u" };

	compile_text(fresh_source, options, 4, "unpack_4");
	compile_text(fresh_source, options, 6, "pack_8");
}
END_TEST

START_TEST(kernels_of_page_copies_compile)
{
	const char *const options[] = {
		"--gpu-architecture=sm_75", "-DWORDS=4096u",     "-DPLANE=1024u",
		"-DFROM_PAGE=64u",          "-DFROM_ROW=32u",    "-DFROM_STRIDE=128u",
		"-DFROM_PITCH=64u",         "-DFROM_POOL=4096u", "-DFROM_SHIFT=32u",
		"-DTO_PAGE=256u",           "-DTO_ROW=32u",      "-DTO_STRIDE=256u",
		"-DTO_PITCH=32u",           "-DTO_POOL=2048u",   "-DTO_SHIFT=0u"
	};

	compile_text(page_copy_source, options, 15, "copy_4");
}
END_TEST

static bool has_nvrtc(void)
{
	char why[512];
	size_t bytes;
	void *image = compile_kernels("", NULL, 0, &bytes, why, sizeof(why));

	free(image);
	return image || !strstr(why, "was not found");
}

int main(void)
{
	const int rows = sizeof(expected) / sizeof(*expected);
	Suite *suite = suite_create("roof");

	tcase_add_test(t_case(suite, "places"), a_pattern_gives_every_place);
	tcase_add_loop_test(t_case(suite, "kinds"), a_pattern_is_the_simplest, 0, rows);
	tcase_add_loop_test(t_case(suite, "tables"), tables_hold_one_instance, 0, 2);
	tcase_add_test(t_case(suite, "instances"), several_instances_need_one_table);
	if (!has_nvrtc())
		return t_run(suite);
	tcase_add_loop_test(t_case(suite, "kernels"), kernels_compile_for_every_pattern,
			    0, rows);
	tcase_add_loop_test(t_case(suite, "copies"), kernels_of_copies_compile, 0, 16);
	tcase_add_test(t_case(suite, "fresh"), kernels_of_fresh_lists_compile);
	tcase_add_test(t_case(suite, "pages"), kernels_of_page_copies_compile);
	return t_run(suite);
}
