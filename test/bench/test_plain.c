/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the bench's plain kernels move, thread by thread on the host: their texts are compiled for it, with
 * macros in the place of CUDA's words.
 */
#include "config.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/gpu/fresh.h"
#include "bench/gpu/fused.h"
#include "bench/gpu/layouts.h"
#include "bench/gpu/pattern.h"
#include "bench/gpu/roof.h"
#include "bench/gpu/roof_tables.h"
#include "bench/harness/oracle.h"
#include "support/t.h"

#define ARCH      75
#define LINE      64
#define WARP      32
#define TEXT_ROOM (1 << 16)

/* ---- compiling ------------------------------------------------------------------------- */

static const char words_of_cuda[] =
	"typedef struct { unsigned x, y, z, w; } uint4;\n"
	"static struct { unsigned x; } blockIdx, blockDim, threadIdx;\n"
	"#define __global__\n"
	"#define __device__\n"
	"#define __forceinline__ inline\n"
	"#define __shared__ static\n"
	"#define __syncthreads()\n"
	"#define __align__(bytes) __attribute__((aligned(bytes)))\n"
	"#define __ldg(address) (*(address))\n";

/* Four arguments at most. Twice, because a table in shared memory is filled by all threads of a block. */
static const char run_text[] =
	"void run(void (*kernel)(void *, void *, void *, void *), unsigned blocks, unsigned threads, void **given) {\n"
	"	blockDim.x = threads;\n"
	"	for (int pass = 0; pass < 2; pass++)\n"
	"		for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++)\n"
	"			for (threadIdx.x = 0; threadIdx.x < threads; threadIdx.x++)\n"
	"				kernel(given[0], given[1], given[2], given[3]);\n"
	"}\n";

struct kernels {
	void *object_handle;
	void (*run)(void *kernel, unsigned blocks, unsigned threads, void **given);
};

/* What is no C. */
static void blank(char *text, const char *from, const char *to)
{
	for (char *at = strstr(text, from); at; at = strstr(at, from)) {
		char *end = to ? strstr(at, to) : at + strlen(from);

		memset(at, ' ', (size_t)(end - at));
	}
}

static void compile_text(const char *text, const char *object)
{
	char command[512];
	FILE *compiler;

	snprintf(command, sizeof(command), "%s -w -x c -fPIC -shared -o '%s' -",
		 SPECIAL_COMPILER, object);
	compiler = popen(command, "w");
	ck_assert(compiler && fputs(text, compiler) >= 0);
	ck_assert_int_eq(pclose(compiler), 0);
}

static void compile(struct kernels *k, const char *macros, const char *source)
{
	char *text = malloc(TEXT_ROOM), object[] = "/tmp/plain_XXXXXX";
	int file = mkstemp(object);
	void *found;

	ck_assert(file >= 0 && text);
	close(file);
	ck_assert_int_lt(snprintf(text, TEXT_ROOM, "%s%s%s%s", words_of_cuda, macros,
				  source, run_text),
			 TEXT_ROOM);
	blank(text, "extern \"C\"", NULL);
	blank(text, "asm volatile", "\n");
	compile_text(text, object);
	k->object_handle = dlopen(object, RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(k->object_handle, "%s", dlerror());
	remove(object);
	found = dlsym(k->object_handle, "run");
	memcpy(&k->run, &found, sizeof(found));
	free(text);
}

/* Whether there is such an entry. */
static bool launch(const struct kernels *k, const char *entry, uint64_t work,
		   void **given)
{
	void *kernel = dlsym(k->object_handle, entry);
	const unsigned threads = 128;

	if (kernel)
		k->run(kernel, (unsigned)((work + threads - 1) / threads), threads,
		       given);
	return kernel;
}

/* ---- memory ---------------------------------------------------------------------------- */

/* Of @bytes and more, on a line, filled with bytes that depend on their place. */
static unsigned char *new_memory(size_t bytes, unsigned seed)
{
	unsigned char *memory = aligned_alloc(LINE, (bytes + LINE) / LINE * LINE);

	ck_assert_ptr_nonnull(memory);
	for (size_t i = 0; i < (bytes + LINE) / LINE * LINE; i++)
		memory[i] = (unsigned char)(i * seed + i / 256);
	return memory;
}

static void copy_aligned(struct roof_table *table)
{
	unsigned char *memory = new_memory(table->bytes, 1);

	ck_assert_ptr_nonnull(table->memory);
	memcpy(memory, table->memory, table->bytes);
	free(table->memory);
	table->memory = memory;
}

static void find_case(const char *name, size_t bytes, struct bench_case *c)
{
	const struct bench_layout *l = bench_layouts_gpu;
	char why[512];

	while (l->name && strcmp(l->name, name) != 0)
		l++;
	for (l = l->name ? l : bench_layouts_applications; strcmp(l->name, name) != 0;)
		l++;
	ck_assert(!bench_case_make_bytes(t_context, 1, l, bytes, c, why, sizeof(why)));
}

static void parse_case(const char *text, struct bench_case *c)
{
	char why[512];

	ck_assert_msg(!bench_case_parse(t_context, text, 1, c, why, sizeof(why)), "%s",
		      why);
}

/* ---- packing and unpacking ------------------------------------------------------------- */

static const struct {
	const char *name;
	size_t bytes;
} layouts[] = {
	{ "vec8", 4096 },           { "128of257", 4096 },       { "box", 16384 },
	{ "20of48", 4096 },         { "19of24", 4096 },         { "irregular64", 16384 },
	{ "gather8_random", 4096 }, { "gather8_sorted", 4096 }, { "lower_tri", 4096 },
	{ "WRF_x_vec", 131072 },    { "LAMMPS_atomic", 32768 }, { "SPECFEM3D_oc", 16384 },
	{ "SPECFEM3D_cm", 65536 },  { "NAS_LU_y", 16384 },      { "NAS_MG_x", 65536 },
};
#define LAYOUTS ((int)(sizeof(layouts) / sizeof(*layouts)))

struct variant {
	const char *name;
	unsigned unroll;
	enum roof_reads reads;
};

#define VARIANT(name, unroll, reads) { #name, unroll, reads },
static const struct variant variants[] = { ROOF_VARIANTS(VARIANT) };
#define VARIANTS (sizeof(variants) / sizeof(*variants))

/* One layout, and the kernels for it. */
struct row {
	struct bench_case c;
	struct pattern pattern;
	struct kernels kernels;
	struct oracle *oracle;
	struct roof_table tables[ROOF_TABLES];
	unsigned char *user, *user_before, *packed, *packed_before;
	size_t user_bytes, packed_bytes;
};

/* The options of NVRTC as macros. */
static void write_macros(const struct pattern *p, bool far, char *text, size_t room)
{
	struct roof_options options;
	size_t length = 0;

	roof_set_options(&options, p, far, ARCH);
	for (int i = 1; i < options.count; i++) {
		char *value = strchr(options.texts[i], '=');

		if (value)
			*value = ' ';
		length += (size_t)snprintf(text + length, room - length, "#define %s\n",
					   options.texts[i] + strlen("-D"));
		ck_assert_uint_lt(length, room);
	}
}

static void open_row(struct row *row, bool far)
{
	char macros[1024];
	const char *why;

	row->user_bytes = row->c.arena_bytes;
	row->packed_bytes = row->c.bytes;
	row->user = new_memory(row->user_bytes, 7);
	row->user_before = new_memory(row->user_bytes, 7);
	row->packed = new_memory(row->packed_bytes, 5);
	row->packed_before = new_memory(row->packed_bytes, 5);
	ck_assert(!oracle_create(row->c.type, row->c.count, &row->oracle));
	ck_assert(!pattern_find(&row->c, row->user, &row->pattern, &why));
	row->pattern.far |= far;
	if (row->pattern.kind != PATTERN_GRID) {
		uintptr_t first = (uintptr_t)(row->user + row->pattern.first);

		row->tables[ROOF_PLACES] = roof_make_places(&row->pattern);
		row->tables[ROOF_PAIRS] = roof_make_pairs(&row->pattern, first);
		row->tables[ROOF_RUNS] = roof_make_runs(&row->pattern);
		for (int i = 0; i < ROOF_TABLES; i++)
			copy_aligned(&row->tables[i]);
	}
	write_macros(&row->pattern, far, macros, sizeof(macros));
	compile(&row->kernels, macros, roof_source);
}

static void close_row(struct row *row)
{
	for (int i = 0; i < ROOF_TABLES; i++)
		free(row->tables[i].memory);
	free(row->user);
	free(row->user_before);
	free(row->packed);
	free(row->packed_before);
	oracle_destroy(row->oracle);
	pattern_release(&row->pattern);
	bench_case_release(&row->c);
	dlclose(row->kernels.object_handle);
}

static uint64_t threads_of(const struct pattern *p, const struct variant *v)
{
	if (!v->unroll && p->kind == PATTERN_GRID)
		return 0;
	if (!v->unroll)
		return pattern_records(p) * p->record_runs * WARP;
	if (!strcmp(v->name, "wide"))
		return pattern_words(p) / (16 / p->word);
	return (pattern_words(p) + v->unroll - 1) / v->unroll;
}

/* Both buffers as they were, then as the oracle leaves them. */
static void expect_moved(struct row *row, const char *entry, bool unpack)
{
	size_t user_room = (row->user_bytes + LINE) / LINE * LINE;
	size_t packed_room = (row->packed_bytes + LINE) / LINE * LINE;
	unsigned char *user = new_memory(row->user_bytes, 7);
	unsigned char *packed = new_memory(row->packed_bytes, 5);

	if (unpack)
		oracle_unpack(row->oracle, user, packed);
	else
		oracle_pack(row->oracle, user, packed);
	ck_assert_msg(!memcmp(user, row->user, user_room), "%s: %s, user", row->c.name,
		      entry);
	ck_assert_msg(!memcmp(packed, row->packed, packed_room), "%s: %s, packed",
		      row->c.name, entry);
	memcpy(row->user, row->user_before, user_room);
	memcpy(row->packed, row->packed_before, packed_room);
	free(user);
	free(packed);
}

static int move_both_ways(struct row *row, const struct variant *v)
{
	void *given[4] = { row->packed, row->user + row->pattern.first,
			   row->tables[v->reads].memory, NULL };
	int moved = 0;

	for (int unpack = 0; unpack < 2; unpack++) {
		char entry[32];

		snprintf(entry, sizeof(entry), "%s_%s", unpack ? "unpack" : "pack",
			 v->name);
		if (!launch(&row->kernels, entry, threads_of(&row->pattern, v), given))
			continue;
		expect_moved(row, entry, unpack);
		moved++;
	}
	return moved;
}

static void check_layout(int i, bool far)
{
	struct row row = { .user_bytes = 0 };
	int moved = 0;

	find_case(layouts[i].name, layouts[i].bytes, &row.c);
	open_row(&row, far);
	for (size_t v = 0; v < VARIANTS; v++)
		moved += move_both_ways(&row, &variants[v]);
	ck_assert_int_ge(moved, row.pattern.kind == PATTERN_GRID ? 8 : 16);
	close_row(&row);
}

START_TEST(every_kernel_moves_as_the_oracle)
{
	check_layout(_i, false);
}
END_TEST

START_TEST(far_places_move_alike)
{
	check_layout(_i, true);
}
END_TEST

/* ---- from layout to layout ------------------------------------------------------------- */

/* A text, or the name of a layout of 4096 bytes. */
static const char *const pairs[][2] = {
	{ "hvector(500, 8, 16, byte)", "hvector(500, 8, 24, byte)" },
	{ "hvector(40, 128, 256, byte)", "hvector(40, 128, 257, byte)" },
	{ "hvector(9, 1024, 2048, byte)", "hvector(9, 1024, 3072, byte)" },
	{ "contiguous(100, resized(struct([3,2], [0,20], [float,float]), 0, 48))",
	  "contiguous(100, resized(struct([3,2], [0,16], [float,float]), 0, 40))" },
	{ "gather8_random", "vector(512, 1, 3, double)" },
	{ "vector(512, 1, 3, double)", "gather8_sorted" },
};
#define PAIRS ((int)(sizeof(pairs) / sizeof(*pairs)))

struct side {
	struct bench_case c;
	struct pattern pattern;
	struct oracle *oracle;
	struct roof_table table;
	unsigned char *memory;
};

static void open_side(struct side *side, const char *text, unsigned seed)
{
	const char *why;

	if (strchr(text, '('))
		parse_case(text, &side->c);
	else
		find_case(text, 4096, &side->c);
	side->memory = new_memory(side->c.arena_bytes, seed);
	ck_assert(!oracle_create(side->c.type, side->c.count, &side->oracle));
	ck_assert(!pattern_find(&side->c, side->memory, &side->pattern, &why));
}

static void make_table(struct side *side, bool far)
{
	side->pattern.far |= far;
	if (side->pattern.kind != PATTERN_GRID)
		side->table = roof_make_places(&side->pattern);
}

static void close_side(struct side *side)
{
	free(side->table.memory);
	free(side->memory);
	oracle_destroy(side->oracle);
	pattern_release(&side->pattern);
	bench_case_release(&side->c);
}

static void expect_copied(const struct side *source, struct side *target, unsigned unroll)
{
	size_t bytes = target->c.arena_bytes;
	unsigned char *expected = new_memory(bytes, 3), *packed = malloc(source->c.bytes);

	oracle_pack(source->oracle, source->memory, packed);
	oracle_unpack(target->oracle, expected, packed);
	ck_assert_msg(!memcmp(expected, target->memory, (bytes + LINE) / LINE * LINE),
		      "copy_%u to %s", unroll, target->c.name);
	free(target->memory);
	target->memory = new_memory(bytes, 3);
	free(expected);
	free(packed);
}

static void copy_all(struct side *source, struct side *target, const struct kernels *k)
{
	uint64_t words = pattern_words(&source->pattern);

	for (unsigned unroll = 1; unroll <= 8; unroll *= 2) {
		void *given[4] = { source->memory + source->pattern.first,
				   target->memory + target->pattern.first,
				   source->table.memory, target->table.memory };
		char entry[16];

		snprintf(entry, sizeof(entry), "copy_%u", unroll);
		ck_assert(launch(k, entry, (words + unroll - 1) / unroll, given));
		expect_copied(source, target, unroll);
	}
}

START_TEST(fused_kernels_copy_as_the_oracle)
{
	for (int far = 0; far < 2; far++) {
		struct side source = { .memory = NULL }, target = { .memory = NULL };
		struct kernels kernels;
		char *text;

		open_side(&source, pairs[_i][0], 7);
		open_side(&target, pairs[_i][1], 3);
		ck_assert_uint_eq(source.c.bytes, target.c.bytes);
		fused_share_word(&source.pattern, &target.pattern);
		make_table(&source, far);
		make_table(&target, far);
		text = fused_write(&source.pattern, &target.pattern, far);
		ck_assert_ptr_nonnull(text);
		compile(&kernels, "", text);
		copy_all(&source, &target, &kernels);
		dlclose(kernels.object_handle);
		free(text);
		close_side(&source);
		close_side(&target);
	}
}
END_TEST

/* ---- fresh lists ----------------------------------------------------------------------- */

#define BLOCKS 50
#define POOL   100

/* Every other block, from the last on. */
static size_t block_at(size_t i)
{
	return POOL - 1 - 2 * i;
}

static void expect_blocks(const unsigned char *user, const unsigned char *packed,
			  size_t block)
{
	for (size_t i = 0; i < BLOCKS; i++)
		ck_assert(!memcmp(user + block_at(i) * block, packed + i * block, block));
}

static void check_gaps(const unsigned char *user, const unsigned char *before,
		       size_t block)
{
	for (size_t i = 0; i < POOL; i += 2)
		ck_assert(!memcmp(user + i * block, before + i * block, block));
}

static void check_lists(size_t block, size_t word, const char *type)
{
	unsigned char *user = new_memory(POOL * block, 7),
		      *before = new_memory(POOL * block, 7);
	unsigned char *packed = new_memory(BLOCKS * block, 5);
	struct kernels kernels;
	int list[BLOCKS];
	char macros[100];
	void *given[4] = { packed, user, list, NULL };

	snprintf(macros, sizeof(macros),
		 "#define WORD %s\n#define WORDS %zuu\n#define BLOCK %zuu\n", type,
		 BLOCKS * block / word, block / word);
	compile(&kernels, macros, fresh_source);
	for (size_t i = 0; i < BLOCKS; i++)
		list[i] = (int)(block_at(i) * block / word);
	for (unsigned unroll = 1; unroll <= 8; unroll *= 2) {
		uint64_t threads = (BLOCKS * block / word + unroll - 1) / unroll;
		char entry[16];

		snprintf(entry, sizeof(entry), "pack_%u", unroll);
		ck_assert(launch(&kernels, entry, threads, given));
		expect_blocks(before, packed, block);
		memset(packed, (int)unroll, BLOCKS * block);
		snprintf(entry, sizeof(entry), "unpack_%u", unroll);
		ck_assert(launch(&kernels, entry, threads, given));
		expect_blocks(user, packed, block);
		check_gaps(user, before, block);
		memcpy(user, before, POOL * block);
	}
	dlclose(kernels.object_handle);
	free(user);
	free(before);
	free(packed);
}

START_TEST(kernels_of_lists_move_blocks)
{
	check_lists(64, 16, "uint4");
	check_lists(8, 8, "unsigned long long");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plain");

	tcase_add_loop_test(t_case(suite, "kernels"), every_kernel_moves_as_the_oracle, 0,
			    LAYOUTS);
	tcase_add_loop_test(t_case(suite, "far"), far_places_move_alike, 3, 6);
	tcase_add_loop_test(t_case(suite, "pairs"), fused_kernels_copy_as_the_oracle, 0,
			    PAIRS);
	tcase_add_test(t_case(suite, "lists"), kernels_of_lists_move_blocks);
	return t_run(suite);
}
