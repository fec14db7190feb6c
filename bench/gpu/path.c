/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parses the text of dtconv_explain: the chosen candidate, its kernel's class, and the reason
 * for the general kernel or for copies block by block. Everything else follows from the row
 * itself.
 */
#include "config.h"

#include "bench/gpu/path.h"

#include <stdlib.h>
#include <string.h>

#include <dtconv/dtconv.h>

#include "bench/gpu/find.h"
#include "bench/layouts/layout.h"

#define CANDIDATE "  candidate "
#define BLOCKS    "one for each block or strip"

/* ---- the text -------------------------------------------------------------------------- */

/*
 * The text for the case's type and two kinds of memory; the caller frees it. NULL without
 * memory.
 */
static char *explanation(const struct dtconv_type *type, size_t count,
			 enum dtconv_memory_kind user, enum dtconv_memory_kind packed)
{
	size_t length = 0;
	char *text;

	(void)dtconv_explain(type, count, user, packed, NULL, 0, &length);
	text = malloc(length + 1);
	if (text &&
	    dtconv_explain(type, count, user, packed, text, length + 1, &length)) {
		free(text);
		return NULL;
	}
	return text;
}

/* The text between two marks of a line, or up to its end. False if a mark is missing. */
static bool cut(const char *line, const char *after, const char *before, char *out,
		size_t room)
{
	size_t length = strcspn(line, "\n");
	const char *start = memmem(line, length, after, strlen(after));

	if (!start)
		return false;
	start += strlen(after);
	length -= (size_t)(start - line);
	const char *end = memmem(start, length, before, strlen(before));
	if (end)
		length = (size_t)(end - start);
	snprintf(out, room, "%.*s", (int)length, start);
	return true;
}

static bool is_chosen(const char *line, enum bench_op op)
{
	char choice[80];

	if (!cut(line, "; the cheapest", "\n", choice, sizeof(choice)))
		return false;
	return !strcmp(choice, ": chosen") ||
	       !strncmp(choice + 4, bench_op_name(op), strlen(bench_op_name(op)));
}

/* The line of a backend; without a name, that of the chosen one. */
static const char *find_candidate(const char *text, const char *backend, enum bench_op op)
{
	for (const char *line = text; (line = strstr(line, CANDIDATE)); line++) {
		const char *name = line + strlen(CANDIDATE);

		if (backend ? !strncmp(name, backend, strlen(backend)) &&
				      name[strlen(backend)] == ' '
			    : is_chosen(line, op))
			return line;
	}
	return NULL;
}

/* The method: `A`, or `A to pack, B to unpack`. */
static bool read_detail(const char *line, enum bench_op op, char *out, size_t room)
{
	char both[256];
	char *unpack;

	if (!cut(line, " ns; ", "; the cheapest", both, sizeof(both)) &&
	    !cut(line, " to unpack; ", "; the cheapest", both, sizeof(both)))
		return false;
	if (!strncmp(both, "the cheapest", 12))
		return false;
	unpack = strstr(both, " to pack, ");
	if (!unpack) {
		snprintf(out, room, "%.*s", (int)room - 1, both);
	} else if (op == BENCH_PACK) {
		snprintf(out, room, "%.*s", (int)(unpack - both), both);
	} else {
		snprintf(out, room, "%s", unpack + strlen(" to pack, "));
		unpack = strstr(out, " to unpack");
		if (unpack)
			*unpack = '\0';
	}
	return true;
}

/* ---- the reason ------------------------------------------------------------------------ */

/* `general kernel (why)`, or `why, copies block by block`. */
static void part_reason(struct result *r)
{
	static const char general[] = "general kernel (",
			  blocks[] = ", copies block by block";
	char *end;

	if (!strncmp(r->kernel, general, strlen(general))) {
		snprintf(r->reason, sizeof(r->reason), "%s", r->kernel + strlen(general));
		end = strchr(r->reason, ')');
		if (end)
			*end = '\0';
		r->kernel[strlen(general) - 2] = '\0';
		return;
	}
	end = strstr(r->kernel, blocks);
	if (!end)
		return;
	*end = '\0';
	snprintf(r->reason, sizeof(r->reason), "%s", r->kernel);
	snprintf(r->kernel, sizeof(r->kernel), "%s", blocks + 2);
}

/*
 * Why driver copies of single blocks were chosen: the cost of kernels, or why there is no
 * kernel.
 */
static void blame_kernels(const char *text, enum bench_op op, struct result *r)
{
	const char *line = find_candidate(text, "cuda_kernel", op);

	if (!strstr(r->kernel, BLOCKS) || !line)
		return;
	if (memmem(line, strcspn(line, "\n"), "): about ", 9))
		snprintf(r->reason, sizeof(r->reason),
			 "the estimate for kernels is higher");
	else
		cut(line, "): ", "\n", r->reason, sizeof(r->reason));
}

/* ---- one row --------------------------------------------------------------------------- */

static enum dtconv_memory_kind kind_of(enum gpu_place place)
{
	if (place == PLACE_HOST)
		return DTCONV_MEMORY_HOST;
	return place == PLACE_PINNED || place == PLACE_REGISTERED ? DTCONV_MEMORY_PINNED
								  : DTCONV_MEMORY_DEVICE;
}

/* The pieces of a pipeline are moved by the kernels for the device and pinned memory. */
static void read_pieces(const struct engine *e, const struct dtconv_type *type,
			enum bench_op op, struct result *r)
{
	char *text = explanation(type, e->c->count, DTCONV_MEMORY_DEVICE,
				 DTCONV_MEMORY_PINNED);
	const char *line = text ? find_candidate(text, "cuda_kernel", op) : NULL;

	if (line)
		read_detail(line, op, r->kernel, sizeof(r->kernel));
	free(text);
}

static void read_path(const struct engine *e, const struct way *w, enum bench_op op,
		      struct result *r)
{
	const struct dtconv_type *type = w->own_type ? w->own_type : e->c->type;
	const char *forced = w->params ? w->params->backends : NULL;
	char *text = explanation(type, e->c->count, kind_of(w->user_place),
				 kind_of(w->packed_place));
	const char *line = text ? find_candidate(text, forced, op) : NULL;

	if (line) {
		cut(line, CANDIDATE, " ", r->backend, sizeof(r->backend));
		if (!read_detail(line, op, r->kernel, sizeof(r->kernel)) &&
		    strcmp(r->backend, "cuda_bar") != 0)
			read_pieces(e, type, op, r);
		part_reason(r);
		blame_kernels(text, op, r);
	}
	free(text);
}

static bool computes(const struct dtconv_convertor_params *params)
{
	struct dtconv_representation native;

	if (!params)
		return false;
	return params->op != DTCONV_OP_REPLACE ||
	       (params->representation &&
		!dtconv_representation_find("native", &native) &&
		memcmp(params->representation, &native, sizeof(native)) != 0);
}

void path_explain(const struct engine *e, enum bench_op op, struct result *r)
{
	const struct way *w = way_of(e);

	if (w->roof)
		roof_describe(w, op, r->kernel, sizeof(r->kernel));
	if (strncmp(e->name, "dtconv", 6) != 0 && strcmp(e->name, "untyped") != 0)
		return;
	if (w->pieces && strcmp(e->name, "dtconv") != 0)
		snprintf(r->kernel, sizeof(r->kernel), "of each piece");
	else if (computes(w->params))
		snprintf(r->kernel, sizeof(r->kernel), "typed kernel");
	else
		read_path(e, w, op, r);
}

/* ---- tables ---------------------------------------------------------------------------- */

static bool has_reason(const struct results *rs, const struct result *row, const char *op)
{
	const struct result *r = find_result(rs, row, op, "dtconv");

	return r && r->reason[0];
}

const char *path_mark(const struct results *rs, const struct result *row)
{
	return has_reason(rs, row, "pack") || has_reason(rs, row, "unpack") ? "*" : "";
}

void path_print_name(const struct results *rs, const struct result *row, int width)
{
	int length = printf("%s%s", row->layout, path_mark(rs, row));

	printf("%*s", length < width ? width - length : 0, "");
}

static bool same_reason(const struct result *a, const struct result *b)
{
	return !strcmp(a->layout, b->layout) && !strcmp(a->reason, b->reason) &&
	       !strcmp(a->src, b->src) && !strcmp(a->dst, b->dst);
}

static bool is_new(const struct results *rs, size_t from, size_t index)
{
	for (size_t i = from; i < index; i++)
		if (same_reason(&rs->list[i], &rs->list[index]))
			return false;
	return true;
}

void path_print_reasons(const struct results *rs, size_t from)
{
	for (size_t i = from; i < rs->count; i++) {
		const struct result *r = &rs->list[i];

		if (r->reason[0] && is_new(rs, from, i))
			printf("* %s, %s to %s: %s (%s)\n", r->layout, r->src, r->dst,
			       r->kernel, r->reason);
	}
}
