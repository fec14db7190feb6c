/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the kernels: a function that gives the place of a packed word for each side, and the entries.
 */
#include "config.h"

#include "bench/gpu/fused.h"

#include <stdio.h>
#include <stdlib.h>

void fused_share_word(struct pattern *source, struct pattern *target)
{
	size_t word = source->word < target->word ? source->word : target->word;

	source->word = target->word = word;
}

static const char *type_of(size_t word)
{
	return word == 16  ? "uint4"
	       : word == 8 ? "unsigned long long"
	       : word == 4 ? "unsigned"
	       : word == 2 ? "unsigned short"
			   : "unsigned char";
}

/* ---- places ---------------------------------------------------------------------------- */

static void write_grid(FILE *f, const struct pattern *p)
{
	int64_t word = (int64_t)p->word;
	unsigned long long block = p->block / p->word;

	fprintf(f, "	unsigned block = i / %lluu;\n", block);
	fprintf(f,
		"	return (offset)(block %% %lluu) * %lld + (offset)(block / %lluu) * %lld + i %% %lluu;\n",
		(unsigned long long)p->rows, (long long)(p->row_step / word),
		(unsigned long long)p->rows, (long long)(p->plane_step / word), block);
}

static void write_list(FILE *f, const struct pattern *p)
{
	unsigned long long words = pattern_record_words(p);
	const char *number = p->far ? "long long" : "int";

	if (pattern_records(p) == 1)
		fprintf(f, "	return __ldg((const %s *)map + i);\n", number);
	else
		fprintf(f,
			"	return (offset)(i / %lluu) * %lld + __ldg((const %s *)map + i %% %lluu);\n",
			words, (long long)(p->record_step / (int64_t)p->word), number,
			words);
}

static void write_place(FILE *f, const char *name, const struct pattern *p)
{
	fprintf(f,
		"static __device__ __forceinline__ offset %s(unsigned i, const void *map) {\n",
		name);
	if (p->kind == PATTERN_GRID)
		write_grid(f, p);
	else
		write_list(f, p);
	fprintf(f, "}\n");
}

/* ---- entries --------------------------------------------------------------------------- */

static void write_entry(FILE *f, unsigned unroll)
{
	fprintf(f,
		"extern \"C\" __global__ void copy_%u(const word *source, word *target, const void *from, const void *to) {\n"
		"	unsigned at = blockIdx.x * (blockDim.x * %uu) + threadIdx.x;\n"
		"	word w[%u];\n"
		"#pragma unroll\n"
		"	for (unsigned k = 0; k < %uu; k++)\n"
		"		if (at + k * blockDim.x < WORDS) w[k] = source[source_place(at + k * blockDim.x, from)];\n"
		"#pragma unroll\n"
		"	for (unsigned k = 0; k < %uu; k++)\n"
		"		if (at + k * blockDim.x < WORDS) target[target_place(at + k * blockDim.x, to)] = w[k];\n"
		"}\n",
		unroll, unroll, unroll, unroll, unroll);
}

char *fused_write(const struct pattern *source, const struct pattern *target, bool far)
{
	char *text = NULL;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);
	bool failed;

	if (!f)
		return NULL;
	fprintf(f, "typedef %s word;\ntypedef %s offset;\n#define WORDS %lluu\n",
		type_of(source->word), far ? "long long" : "int",
		(unsigned long long)pattern_words(source));
	write_place(f, "source_place", source);
	write_place(f, "target_place", target);
	for (unsigned unroll = 1; unroll <= 8; unroll *= 2)
		write_entry(f, unroll);
	failed = ferror(f);
	if (!fclose(f) && !failed)
		return text;
	free(text);
	return NULL;
}
