/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plain kernels for a layout known at compile time, with every number a constant: what a
 * programmer writes in an hour. They share nothing with the library's kernels.
 *
 * Macros: WORD, a type; WORDS, how many there are; OFFSET, a type that holds a place in words;
 * GRID with BLOCK, ROWS, ROW_STEP, PLANE_STEP, or RECORD with RECORD_WORDS, RECORD_STEP, or LIST with RUNS;
 * all in words. WIDE: words in 16 bytes.
 */
#include "config.h"

#include "bench/gpu/roof.h"

#include <stdarg.h>
#include <stdio.h>

#include "bench/gpu/pattern.h"

#define WIDE_BYTES 16

/* ---- the text -------------------------------------------------------------------------- */

const char roof_source[] =
	"typedef unsigned long long uint64;\n"
	"typedef WORD word;\n"
	"struct run { OFFSET disp; unsigned packed, words; };\n"
	/* Where the word i of the packed side lies on the user's. */
	"#if defined(GRID)\n"
	"#define LOOK_UP_FROM(map) (void)map\n"
	"static __device__ OFFSET place(unsigned i, const void *map) {\n"
	"	unsigned block = i / BLOCK, plane = block / ROWS;\n"
	"	return (OFFSET)(block % ROWS) * ROW_STEP + (OFFSET)plane * PLANE_STEP + (OFFSET)(i % BLOCK);\n"
	"}\n"
	"#elif defined(RECORD)\n"
	"#define LOOK_UP_FROM(map) \\\n"
	"	__shared__ OFFSET shared[RECORD_WORDS]; \\\n"
	"	for (unsigned k = threadIdx.x; k < RECORD_WORDS; k += blockDim.x) \\\n"
	"		shared[k] = ((const OFFSET *)map)[k]; \\\n"
	"	__syncthreads(); \\\n"
	"	map = shared\n"
	"static __device__ OFFSET place(unsigned i, const void *map) {\n"
	"	return (OFFSET)(i / RECORD_WORDS) * RECORD_STEP +\n"
	"	       ((const OFFSET *)map)[i % RECORD_WORDS];\n"
	"}\n"
	"#else\n"
	"#define LOOK_UP_FROM(map) (void)map\n"
	"static __device__ OFFSET place(unsigned i, const void *map) {\n"
	"	return ((const OFFSET *)map)[i];\n"
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
	/* 16 packed bytes a thread. */
	"#if WIDE > 1 && WORDS % WIDE == 0\n"
	"union wide { uint4 all; word words[WIDE]; };\n"
	"extern \"C\" __global__ void pack_wide(uint4 *packed, word *user, const void *map) {\n"
	"	unsigned at = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	union wide w;\n"
	"	LOOK_UP_FROM(map);\n"
	"	if (at >= WORDS / WIDE) return;\n"
	"	_Pragma(\"unroll\") for (unsigned k = 0; k < WIDE; k++)\n"
	"		w.words[k] = user[place(at * WIDE + k, map)];\n"
	"	packed[at] = w.all;\n"
	"}\n"
	"extern \"C\" __global__ void unpack_wide(uint4 *packed, word *user, const void *map) {\n"
	"	unsigned at = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	union wide w;\n"
	"	LOOK_UP_FROM(map);\n"
	"	if (at >= WORDS / WIDE) return;\n"
	"	w.all = packed[at];\n"
	"	_Pragma(\"unroll\") for (unsigned k = 0; k < WIDE; k++)\n"
	"		user[place(at * WIDE + k, map)] = w.words[k];\n"
	"}\n"
	"#endif\n"
	/* A warp a run. */
	"#if defined(LIST)\n"
	"extern \"C\" __global__ void pack_runs(word *packed, word *user, const struct run *runs) {\n"
	"	unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;\n"
	"	if (warp >= RUNS) return;\n"
	"	struct run r = runs[warp];\n"
	"	for (unsigned k = threadIdx.x % 32; k < r.words; k += 32)\n"
	"		packed[r.packed + k] = user[r.disp + (OFFSET)k];\n"
	"}\n"
	"extern \"C\" __global__ void unpack_runs(word *packed, word *user, const struct run *runs) {\n"
	"	unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;\n"
	"	if (warp >= RUNS) return;\n"
	"	struct run r = runs[warp];\n"
	"	for (unsigned k = threadIdx.x % 32; k < r.words; k += 32)\n"
	"		user[r.disp + (OFFSET)k] = packed[r.packed + k];\n"
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
	} else if (p->kind == PATTERN_RECORD) {
		add_option(o, "-DRECORD");
		add_number(o, "RECORD_WORDS", (int64_t)pattern_record_words(p));
		add_number(o, "RECORD_STEP", p->record_step / (int64_t)p->word);
	} else {
		add_option(o, "-DLIST");
		add_number(o, "RUNS", (int64_t)p->run_count);
	}
}
