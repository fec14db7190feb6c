/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Helpers for Check cases. All of them end the case when something is wrong.
 */
#include "config.h"

#include "support/t.h"

#include <stdlib.h>
#include <string.h>

#include "support/random_type.h"
#include "support/ref_buffer.h"
#include "support/suite.h"

struct dtconv_context *t_context;

void t_setup(void)
{
	struct dtconv_context_params params = { .struct_size = sizeof(params),
						.flags = DTCONV_CONTEXT_COUNTERS };

	t_ok(dtconv_context_create(&params, &t_context));
}

void t_teardown(void)
{
	struct dtconv_counters counters = { .struct_size = sizeof(counters) };

	t_ok(dtconv_context_query_counters(t_context, &counters));
	ck_assert_msg(counters.types_live == 0, "%ju types were not released",
		      (uintmax_t)counters.types_live);
	dtconv_context_destroy(t_context);
	t_context = NULL;
}

TCase *t_case(Suite *suite, const char *name)
{
	TCase *tcase = tcase_create(name);

	tcase_add_checked_fixture(tcase, t_setup, t_teardown);
	tcase_set_timeout(tcase, 60);
	suite_add_tcase(suite, tcase);
	return tcase;
}

int t_run(Suite *suite)
{
	return suite_run(suite);
}

const char *t_error(void)
{
	static char text[512];

	text[0] = '\0';
	if (t_context)
		dtconv_context_error(t_context, text, sizeof(text));
	return text;
}

struct dtconv_type *t_predefined(enum dtconv_predefined which)
{
	struct dtconv_type *type = dtconv_type_predefined(t_context, which);

	ck_assert_ptr_nonnull(type);
	return type;
}

struct dtconv_type *t_parse(const char *text)
{
	struct dtconv_type *type = NULL;

	ck_assert_msg(!dtconv_type_parse(t_context, text, strlen(text), &type), "%s: %s",
		      text, t_error());
	ck_assert_msg(!dtconv_type_commit(type), "commit of %s: %s", text, t_error());
	return type;
}

struct dtconv_type_attr t_attr(const struct dtconv_type *type)
{
	struct dtconv_type_attr attr = { .struct_size = sizeof(attr) };

	t_ok(dtconv_type_query(type, &attr));
	return attr;
}

/* ---- texts --------------------------------------------------------------------------- */

typedef int (*format_fn)(const struct dtconv_type *type, char *text, size_t capacity,
			 size_t *length);

static char *formatted(format_fn format, const struct dtconv_type *type)
{
	size_t length = 0, again = 0;

	t_status(format(type, NULL, 0, &length), DTCONV_ERR_TRUNCATE);
	char *text = malloc(length + 1);
	ck_assert_ptr_nonnull(text);
	t_ok(format(type, text, length + 1, &again));
	ck_assert_uint_eq(again, length);
	ck_assert_uint_eq(strlen(text), length);
	return text;
}

char *t_text(const struct dtconv_type *type)
{
	return formatted(dtconv_type_format, type);
}

char *t_signature(const struct dtconv_type *type)
{
	return formatted(dtconv_type_format_signature, type);
}

char *t_program(const struct dtconv_type *type)
{
	return formatted(dtconv_type_format_program, type);
}

/* ---- against numbers ----------------------------------------------------------------- */

void t_bounds(const struct dtconv_type *type, ptrdiff_t lb, ptrdiff_t extent,
	      ptrdiff_t true_lb, ptrdiff_t true_extent)
{
	struct dtconv_type_attr attr = t_attr(type);
	char *text = t_text(type);

	ck_assert_msg(attr.lb == lb && attr.extent == extent && attr.true_lb == true_lb &&
			      attr.true_extent == true_extent,
		      "%s: lb %td extent %td true_lb %td true_extent %td,"
		      " expected %td %td %td %td",
		      text, attr.lb, attr.extent, attr.true_lb, attr.true_extent, lb,
		      extent, true_lb, true_extent);
	free(text);
}

void t_text_bounds(const char *text, ptrdiff_t lb, ptrdiff_t extent, ptrdiff_t true_lb,
		   ptrdiff_t true_extent)
{
	struct dtconv_type *type = t_parse(text);

	t_bounds(type, lb, extent, true_lb, true_extent);
	t_verify(type);
	dtconv_type_unref(type);
}

void t_typemap(const struct dtconv_type *type, size_t count, const ptrdiff_t disps[])
{
	struct ref_typemap map;

	ck_assert_int_eq(ref_typemap_build(type, DTCONV_PADDING_STRUCT, 0, &map), 0);
	ck_assert_uint_eq(map.count, count);
	for (size_t i = 0; i < count; i++)
		ck_assert_msg(map.entries[i].disp == disps[i],
			      "element %zu lies at %td, not %td", i, map.entries[i].disp,
			      disps[i]);
	ref_typemap_free(&map);
}

/* ---- against the oracle -------------------------------------------------------------- */

static void verify_numbers(const struct dtconv_type *type, const struct ref_typemap *map,
			   const char *text)
{
	struct dtconv_type_attr a = t_attr(type);

	ck_assert_msg(a.size == map->size, "%s: size %zu, not %zu", text, a.size,
		      map->size);
	ck_assert_msg(a.lb == map->lb, "%s: lb %td, not %td", text, a.lb, map->lb);
	ck_assert_msg(a.extent == ref_typemap_extent(map), "%s: extent %td, not %td",
		      text, a.extent, ref_typemap_extent(map));
	ck_assert_msg(a.true_lb == map->true_lb, "%s: true_lb %td, not %td", text,
		      a.true_lb, map->true_lb);
	ck_assert_msg(a.true_extent == map->true_ub - map->true_lb,
		      "%s: true_extent %td, not %td", text, a.true_extent,
		      map->true_ub - map->true_lb);
	ck_assert_msg(a.element_count == map->count, "%s: %zu elements, not %zu", text,
		      a.element_count, map->count);
	ck_assert_msg(a.alignment == map->alignment, "%s: alignment %zu, not %zu", text,
		      a.alignment, map->alignment);
	ck_assert_msg(a.predefined == ref_typemap_leaf(map) ||
			      a.combiner == DTCONV_COMBINER_VALUE_INDEX,
		      "%s: predefined %d, not %d", text, (int)a.predefined,
		      (int)ref_typemap_leaf(map));
	ck_assert_msg(a.contiguous == map->contiguous, "%s: contiguous %d, not %d", text,
		      a.contiguous, map->contiguous);
}

static void verify_elements(const struct dtconv_type *type, const struct ref_typemap *map,
			    const char *text)
{
	size_t step = map->size / 64 + 1;

	for (size_t bytes = 0; bytes <= 2 * map->size + 1; bytes += step) {
		size_t got = 0, want = ref_typemap_elements(map, bytes);

		t_ok(dtconv_type_query_elements(type, bytes, &got));
		ck_assert_msg(got == want, "%s: %zu bytes hold %zu elements, not %zu",
			      text, bytes, got, want);
	}
}

static void verify_pack(struct dtconv_type *type, const struct ref_typemap *map,
			size_t count, const char *text)
{
	size_t bytes = map->size * count, moved = SIZE_MAX;
	struct ref_buffer source, packed;
	unsigned char *stream = malloc(bytes + 1);
	ptrdiff_t at = 0;

	ck_assert_ptr_nonnull(stream);
	ck_assert_int_eq(
		ref_buffer_create_for(map, count, 1, REF_FENCE_NONE, 11, &source), 0);
	ck_assert_int_eq(ref_buffer_create(0, (ptrdiff_t)bytes, 3, REF_FENCE_NONE, 13,
					   &packed),
			 0);
	ref_typemap_pack(map, count, source.origin, stream);
	t_ok(dtconv_pack(type, count, source.origin, packed.origin, bytes, &moved));
	ck_assert_msg(moved == bytes, "%s: pack moved %zu bytes, not %zu", text, moved,
		      bytes);
	ck_assert_msg(memcmp(stream, packed.origin, bytes) == 0,
		      "%s: pack of %zu differs", text, count);
	ck_assert_msg(ref_buffer_untouched_but(&packed, 0, (ptrdiff_t)bytes, &at),
		      "%s: pack stored at byte %td of %zu", text, at, bytes);
	ck_assert_msg(ref_buffer_untouched_but(&source, 0, 0, &at),
		      "%s: pack stored to its source at %td", text, at);
	ref_buffer_destroy(&source);
	ref_buffer_destroy(&packed);
	free(stream);
}

/* The stream is packed from one buffer, so that elements which overlap agree. */
static void verify_unpack(struct dtconv_type *type, const struct ref_typemap *map,
			  size_t count, const char *text)
{
	size_t bytes = map->size * count, moved = SIZE_MAX;
	struct ref_buffer source, target;
	unsigned char *stream = malloc(bytes + 1);
	ptrdiff_t at = 0;

	ck_assert_ptr_nonnull(stream);
	ck_assert_int_eq(
		ref_buffer_create_for(map, count, 5, REF_FENCE_NONE, 17, &source), 0);
	ck_assert_int_eq(
		ref_buffer_create_for(map, count, 5, REF_FENCE_NONE, 19, &target), 0);
	ref_typemap_pack(map, count, source.origin, stream);
	t_ok(dtconv_unpack(type, count, target.origin, stream, bytes, &moved));
	ck_assert_msg(moved == bytes, "%s: unpack moved %zu bytes, not %zu", text, moved,
		      bytes);
	ck_assert_msg(ref_buffer_holds(&target, map, count, stream, 0, bytes, &at),
		      "%s: unpack of %zu is wrong at %td", text, count, at);
	ref_buffer_destroy(&source);
	ref_buffer_destroy(&target);
	free(stream);
}

static void verify_cut(struct dtconv_type *type, const struct ref_typemap *map,
		       size_t cut, const unsigned char *stream, const char *text)
{
	struct dtconv_convertor *convertor = NULL;
	struct ref_buffer target;
	size_t moved = SIZE_MAX;
	ptrdiff_t at = 0;

	ck_assert_int_eq(ref_buffer_create_for(map, 1, 7, REF_FENCE_NONE, 23, &target),
			 0);
	t_ok(dtconv_convertor_create_unpack(type, 1, target.origin, &convertor));
	t_ok(dtconv_convertor_unpack(convertor, stream, cut, &moved));
	ck_assert_uint_eq(moved, cut);
	ck_assert_msg(ref_buffer_holds(&target, map, 1, stream, 0, cut, &at),
		      "%s: unpack of the first %zu bytes is wrong at %td", text, cut, at);
	t_ok(dtconv_convertor_unpack(convertor, stream + cut, map->size - cut, &moved));
	ck_assert_uint_eq(moved, map->size - cut);
	ck_assert_msg(ref_buffer_holds(&target, map, 1, stream, 0, map->size, &at),
		      "%s: unpack cut at %zu is wrong at %td", text, cut, at);
	dtconv_convertor_destroy(convertor);
	ref_buffer_destroy(&target);
}

static void verify_pack_cut(struct dtconv_type *type, const struct ref_typemap *map,
			    const void *origin, size_t cut, const unsigned char *stream,
			    const char *text)
{
	struct dtconv_convertor *convertor = NULL;
	unsigned char *packed = calloc(map->size + 1, 1);
	size_t moved = SIZE_MAX;

	ck_assert_ptr_nonnull(packed);
	t_ok(dtconv_convertor_create_pack(type, 1, origin, &convertor));
	t_ok(dtconv_convertor_pack(convertor, packed, cut, &moved));
	ck_assert_uint_eq(moved, cut);
	t_ok(dtconv_convertor_pack(convertor, packed + cut, map->size - cut, &moved));
	ck_assert_uint_eq(moved, map->size - cut);
	ck_assert_msg(memcmp(packed, stream, map->size) == 0,
		      "%s: pack cut at %zu differs", text, cut);
	dtconv_convertor_destroy(convertor);
	free(packed);
}

static void verify_cuts(struct dtconv_type *type, const struct ref_typemap *map,
			const char *text)
{
	struct ref_buffer source;
	unsigned char *stream = malloc(map->size + 1);

	ck_assert_ptr_nonnull(stream);
	ck_assert_int_eq(ref_buffer_create_for(map, 1, 7, REF_FENCE_NONE, 29, &source),
			 0);
	ref_typemap_pack(map, 1, source.origin, stream);
	for (size_t cut = 0; cut <= map->size; cut += map->size / 48 + 1) {
		verify_cut(type, map, cut, stream, text);
		verify_pack_cut(type, map, source.origin, cut, stream, text);
	}
	ref_buffer_destroy(&source);
	free(stream);
}

void t_verify_padded(struct dtconv_type *type, enum dtconv_padding padding)
{
	struct ref_typemap map;
	char *text = random_type_text(type);

	ck_assert_msg(ref_typemap_build(type, padding, 0, &map) == 0,
		      "%s: the oracle cannot expand it", text);
	verify_numbers(type, &map, text);
	verify_elements(type, &map, text);
	for (size_t count = 0; count <= 3; count++) {
		verify_pack(type, &map, count, text);
		verify_unpack(type, &map, count, text);
	}
	verify_cuts(type, &map, text);
	ref_typemap_free(&map);
	free(text);
}

void t_verify(struct dtconv_type *type)
{
	t_verify_padded(type, DTCONV_PADDING_STRUCT);
}

void t_verify_text(const char *text)
{
	struct dtconv_type *type = t_parse(text);

	t_verify(type);
	dtconv_type_unref(type);
}
