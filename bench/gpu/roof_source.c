/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plain kernels for a layout known at compile time, with every number a constant: what a
 * programmer writes in an hour. They share nothing with the library's kernels.
 *
 * Macros: WORD, a type; WORDS, how many there are; OFFSET, a type that holds a place in words;
 * GRID with BLOCK, ROWS, ROW_STEP, PLANE_STEP; or RECORD or LIST, each with RECORD_WORDS, RECORD_STEP, RUNS (all of one
 * instance) and NUMBER, the type in its tables; all in words. PARTS: a grid that fills sectors in part. WIDE: words in 16 bytes.
 */
#include "config.h"

#include "bench/gpu/roof.h"

#include <stdarg.h>
#include <stdio.h>

#include "bench/gpu/pattern.h"

#define WIDE_BYTES 16
#define SECTOR     32

/* ---- the text -------------------------------------------------------------------------- */

const char roof_source[] =
	"typedef unsigned long long uint64;\n"
	"typedef WORD word;\n"
	/* Where the word i of the packed side lies on the user's. */
	"#if defined(GRID)\n"
	"#define LOOK_UP_FROM(map) (void)map\n"
	"static __device__ OFFSET place(unsigned i, const void *map) {\n"
	"	unsigned block = i / BLOCK, plane = block / ROWS;\n"
	"	return (OFFSET)(block % ROWS) * ROW_STEP + (OFFSET)plane * PLANE_STEP + (OFFSET)(i % BLOCK);\n"
	"}\n"
	"#else\n"
	/* The instance of a word, of which there may be only one, and the word in it. */
	"#if RECORD_WORDS < WORDS\n"
	"#define INSTANCE(i) ((i) / RECORD_WORDS)\n"
	"#define WITHIN(i) ((i) % RECORD_WORDS)\n"
	"#else\n"
	"#define INSTANCE(i) 0u\n"
	"#define WITHIN(i) (i)\n"
	"#endif\n"
	"struct __align__(2 * sizeof(NUMBER)) pair { NUMBER place, packed; };\n"
	"struct run { NUMBER place, packed, words; };\n"
	"#if defined(RECORD)\n"
	"#define LOOK_UP_FROM(map) \\\n"
	"	__shared__ NUMBER shared[RECORD_WORDS]; \\\n"
	"	for (unsigned k = threadIdx.x; k < RECORD_WORDS; k += blockDim.x) \\\n"
	"		shared[k] = ((const NUMBER *)map)[k]; \\\n"
	"	__syncthreads(); \\\n"
	"	map = shared\n"
	"#define NUMBER_AT(map, i) ((const NUMBER *)map)[i]\n"
	"#else\n"
	"#define LOOK_UP_FROM(map) (void)map\n"
	"#define NUMBER_AT(map, i) __ldg((const NUMBER *)map + (i))\n"
	"#endif\n"
	"static __device__ OFFSET place(unsigned i, const void *map) {\n"
	"	return (OFFSET)INSTANCE(i) * RECORD_STEP + NUMBER_AT(map, WITHIN(i));\n"
	"}\n"
	"#endif\n"
	/* So many words a thread, neighbouring threads at neighbouring words; all loads first. */
	"#define ENTRIES(UNROLL) \\\n"
	"extern \"C\" __global__ void pack_##UNROLL(word *packed, word *user, const void *map) { \\\n"
	"	unsigned at = blockIdx.x * (blockDim.x * UNROLL) + threadIdx.x; \\\n"
	"	word w[UNROLL]; \\\n"
	"	LOOK_UP_FROM(map); \\\n"
	"	_Pragma(\"unroll\") for (unsigned k = 0; k < UNROLL; k++) \\\n"
	"		if (at + k * blockDim.x < WORDS) w[k] = user[place(at + k * blockDim.x, map)]; \\\n"
	"	_Pragma(\"unroll\") for (unsigned k = 0; k < UNROLL; k++) \\\n"
	"		if (at + k * blockDim.x < WORDS) packed[at + k * blockDim.x] = w[k]; \\\n"
	"} \\\n"
	"extern \"C\" __global__ void unpack_##UNROLL(word *packed, word *user, const void *map) { \\\n"
	"	unsigned at = blockIdx.x * (blockDim.x * UNROLL) + threadIdx.x; \\\n"
	"	word w[UNROLL]; \\\n"
	"	LOOK_UP_FROM(map); \\\n"
	"	_Pragma(\"unroll\") for (unsigned k = 0; k < UNROLL; k++) \\\n"
	"		if (at + k * blockDim.x < WORDS) w[k] = packed[at + k * blockDim.x]; \\\n"
	"	_Pragma(\"unroll\") for (unsigned k = 0; k < UNROLL; k++) \\\n"
	"		if (at + k * blockDim.x < WORDS) user[place(at + k * blockDim.x, map)] = w[k]; \\\n"
	"}\n"
	"ENTRIES(1)\nENTRIES(2)\nENTRIES(4)\nENTRIES(8)\n"
	/* 16 packed bytes a thread, whose places are one load if they are neighbours in a list's table. */
	"#if WIDE > 1 && WORDS % WIDE == 0\n"
	"#if defined(LIST) && RECORD_WORDS % WIDE == 0\n"
	"struct __align__(WIDE * sizeof(NUMBER)) numbers { NUMBER of[WIDE]; };\n"
	"#define FIND(at, map) \\\n"
	"	const struct numbers n = ((const struct numbers *)map)[WITHIN(at * WIDE) / WIDE]; \\\n"
	"	const OFFSET base = (OFFSET)INSTANCE(at * WIDE) * RECORD_STEP\n"
	"#define FOUND(at, k, map) (base + n.of[k])\n"
	"#else\n"
	"#define FIND(at, map)\n"
	"#define FOUND(at, k, map) place(at * WIDE + k, map)\n"
	"#endif\n"
	"union wide { uint4 all; word words[WIDE]; };\n"
	"extern \"C\" __global__ void pack_wide(uint4 *packed, word *user, const void *map) {\n"
	"	unsigned at = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	union wide w;\n"
	"	LOOK_UP_FROM(map);\n"
	"	if (at >= WORDS / WIDE) return;\n"
	"	FIND(at, map);\n"
	"	_Pragma(\"unroll\") for (unsigned k = 0; k < WIDE; k++)\n"
	"		w.words[k] = user[FOUND(at, k, map)];\n"
	"	packed[at] = w.all;\n"
	"}\n"
	"extern \"C\" __global__ void unpack_wide(uint4 *packed, word *user, const void *map) {\n"
	"	unsigned at = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	union wide w;\n"
	"	LOOK_UP_FROM(map);\n"
	"	if (at >= WORDS / WIDE) return;\n"
	"	FIND(at, map);\n"
	"	w.all = packed[at];\n"
	"	_Pragma(\"unroll\") for (unsigned k = 0; k < WIDE; k++)\n"
	"		user[FOUND(at, k, map)] = w.words[k];\n"
	"}\n"
	"#endif\n"
	"static __device__ __forceinline__ void fetch(const word *at) {\n"
	"	asm volatile(\"prefetch.global.L2 [%0];\" : : \"l\"(at));\n"
	"}\n"
	/* Blocks that fill sectors in part: these are fetched into the L2 cache before their words are loaded. */
	"#if defined(GRID) && defined(PARTS)\n"
	"#define AHEAD(UNROLL) \\\n"
	"extern \"C\" __global__ void unpack_ahead_##UNROLL(word *packed, word *user, const void *map) { \\\n"
	"	unsigned at = blockIdx.x * (blockDim.x * UNROLL) + threadIdx.x; \\\n"
	"	OFFSET to[UNROLL]; \\\n"
	"	word w[UNROLL]; \\\n"
	"	_Pragma(\"unroll\") for (unsigned k = 0; k < UNROLL; k++) { \\\n"
	"		if (at + k * blockDim.x >= WORDS) break; \\\n"
	"		to[k] = place(at + k * blockDim.x, map); \\\n"
	"		fetch(user + to[k]); \\\n"
	"	} \\\n"
	"	_Pragma(\"unroll\") for (unsigned k = 0; k < UNROLL; k++) \\\n"
	"		if (at + k * blockDim.x < WORDS) w[k] = packed[at + k * blockDim.x]; \\\n"
	"	_Pragma(\"unroll\") for (unsigned k = 0; k < UNROLL; k++) \\\n"
	"		if (at + k * blockDim.x < WORDS) user[to[k]] = w[k]; \\\n"
	"}\n"
	"AHEAD(1)\nAHEAD(2)\nAHEAD(4)\nAHEAD(8)\n"
	"#endif\n"
	/*
	 * In the order of the user's addresses; with AHEAD each sector that is written in part is fetched before, too.
	 */
	"#if !defined(GRID)\n"
	"#define SORTED(NAME, UNROLL, AHEAD) \\\n"
	"extern \"C\" __global__ void unpack_##NAME##_##UNROLL(word *packed, word *user, const struct pair *pairs) { \\\n"
	"	unsigned at = blockIdx.x * (blockDim.x * UNROLL) + threadIdx.x; \\\n"
	"	unsigned from[UNROLL]; \\\n"
	"	OFFSET to[UNROLL]; \\\n"
	"	word w[UNROLL]; \\\n"
	"	_Pragma(\"unroll\") for (unsigned k = 0; k < UNROLL; k++) { \\\n"
	"		unsigned i = at + k * blockDim.x; \\\n"
	"		if (i >= WORDS) break; \\\n"
	"		struct pair p = pairs[WITHIN(i)]; \\\n"
	"		to[k] = (OFFSET)INSTANCE(i) * RECORD_STEP + p.place; \\\n"
	"		if (AHEAD && p.packed < 0) fetch(user + to[k]); \\\n"
	"		from[k] = INSTANCE(i) * RECORD_WORDS + (unsigned)(p.packed < 0 ? ~p.packed : p.packed); \\\n"
	"	} \\\n"
	"	_Pragma(\"unroll\") for (unsigned k = 0; k < UNROLL; k++) \\\n"
	"		if (at + k * blockDim.x < WORDS) w[k] = packed[from[k]]; \\\n"
	"	_Pragma(\"unroll\") for (unsigned k = 0; k < UNROLL; k++) \\\n"
	"		if (at + k * blockDim.x < WORDS) user[to[k]] = w[k]; \\\n"
	"}\n"
	"SORTED(sorted, 1, 0)\nSORTED(sorted, 2, 0)\nSORTED(sorted, 4, 0)\nSORTED(sorted, 8, 0)\n"
	"SORTED(ahead, 1, 1)\nSORTED(ahead, 2, 1)\nSORTED(ahead, 4, 1)\nSORTED(ahead, 8, 1)\n"
	"#endif\n"
	/* A warp a run. */
	"#if defined(LIST)\n"
	"#define ALL_RUNS (WORDS / RECORD_WORDS * RUNS)\n"
	"extern \"C\" __global__ void pack_runs(word *packed, word *user, const struct run *runs) {\n"
	"	unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, instance = warp / RUNS;\n"
	"	if (warp >= ALL_RUNS) return;\n"
	"	struct run r = runs[warp % RUNS];\n"
	"	packed += instance * RECORD_WORDS + (unsigned)r.packed;\n"
	"	user += (long long)instance * RECORD_STEP + r.place;\n"
	"	for (unsigned k = threadIdx.x % 32; k < r.words; k += 32)\n"
	"		packed[k] = user[k];\n"
	"}\n"
	"extern \"C\" __global__ void unpack_runs(word *packed, word *user, const struct run *runs) {\n"
	"	unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, instance = warp / RUNS;\n"
	"	if (warp >= ALL_RUNS) return;\n"
	"	struct run r = runs[warp % RUNS];\n"
	"	packed += instance * RECORD_WORDS + (unsigned)r.packed;\n"
	"	user += (long long)instance * RECORD_STEP + r.place;\n"
	"	for (unsigned k = threadIdx.x % 32; k < r.words; k += 32)\n"
	"		user[k] = packed[k];\n"
	"}\n"
	"#endif\n";

/* ---- the macros ------------------------------------------------------------------------ */

static void add_option(struct roof_options *o, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add_option(struct roof_options *o, const char *format, ...)
{
	int i = o->count++;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(o->texts[i], sizeof(o->texts[i]), format, arguments);
	va_end(arguments);
	o->list[i] = o->texts[i];
}

static void add_number(struct roof_options *o, const char *name, int64_t value)
{
	add_option(o, "-D%s=%lld", name, (long long)value);
}

static const char *word_name(size_t word)
{
	return word == 16  ? "uint4"
	       : word == 8 ? "unsigned long long"
	       : word == 4 ? "unsigned"
	       : word == 2 ? "unsigned short"
			   : "unsigned char";
}

static void add_grid(struct roof_options *o, const struct pattern *p)
{
	int64_t word = (int64_t)p->word;

	add_option(o, "-DGRID");
	add_number(o, "BLOCK", (int64_t)p->block / word);
	add_number(o, "ROWS", (int64_t)p->rows);
	add_number(o, "ROW_STEP", p->row_step / word);
	add_number(o, "PLANE_STEP", p->plane_step / word);
	if ((int64_t)p->block % SECTOR || p->row_step % SECTOR || p->plane_step % SECTOR)
		add_option(o, "-DPARTS");
}

void roof_set_options(struct roof_options *o, const struct pattern *p, bool far, int arch)
{
	o->count = 0;
	add_option(o, "--gpu-architecture=sm_%d", arch);
	add_option(o, "-DWORD=%s", word_name(p->word));
	add_option(o, "-DWORDS=%lluu", (unsigned long long)pattern_words(p));
	add_option(o, "-DOFFSET=%s", far ? "long long" : "int");
	add_number(o, "WIDE", (int64_t)(WIDE_BYTES / p->word));
	if (p->kind == PATTERN_GRID) {
		add_grid(o, p);
		return;
	}
	add_option(o, p->kind == PATTERN_RECORD ? "-DRECORD" : "-DLIST");
	add_option(o, "-DNUMBER=%s", p->far ? "long long" : "int");
	add_option(o, "-DRECORD_WORDS=%lluu",
		   (unsigned long long)pattern_record_words(p));
	add_number(o, "RECORD_STEP", p->record_step / (int64_t)p->word);
	add_option(o, "-DRUNS=%lluu", (unsigned long long)p->record_runs);
}
