/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which findings are of one kind: questions about types, their typemaps and what was said.
 */
#include "config.h"

#include "mpi_diff/shapes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- shapes -------------------------------------------------------------------------- */

/* A type's constructor and the typemaps of its parts. */
struct view {
	struct dtconv_envelope envelope;
	size_t *counts;
	ptrdiff_t *displacements;
	struct dtconv_type **parts;
	struct ref_typemap *maps;
};

static void close_view(struct view *view)
{
	for (size_t i = 0; view->maps && i < view->envelope.type_count; i++)
		ref_typemap_free(&view->maps[i]);
	free(view->counts);
	free(view->displacements);
	free(view->parts);
	free(view->maps);
}

static int open_view(const struct dtconv_type *type, struct view *view)
{
	struct dtconv_envelope *e = &view->envelope;

	*view = (struct view){ .counts = NULL };
	if (dtconv_type_query_envelope(type, e))
		return -1;
	view->counts = calloc(e->count_count + 1, sizeof(*view->counts));
	view->displacements =
		calloc(e->displacement_count + 1, sizeof(*view->displacements));
	view->parts = calloc(e->type_count + 1, sizeof(struct dtconv_type *));
	view->maps = calloc(e->type_count + 1, sizeof(*view->maps));
	if (!view->counts || !view->displacements || !view->parts || !view->maps ||
	    dtconv_type_query_contents(type, e->count_count, view->counts,
				       e->displacement_count, view->displacements,
				       e->type_count, view->parts))
		return -1;
	for (size_t i = 0; i < e->type_count; i++)
		if (ref_typemap_build(view->parts[i], THEIR_PADDING, 0, &view->maps[i]))
			return -1;
	return 0;
}

typedef bool (*view_fn)(const struct view *view, const struct ref_typemap *map);

static bool ask(const struct dtconv_type *type, const struct ref_typemap *map,
		view_fn question)
{
	struct view view;
	bool answer = !open_view(type, &view) && question(&view, map);

	close_view(&view);
	return answer;
}

/* Of the type or anything inside; recursive, these types are not deep. */
static bool ask_anywhere(const struct dtconv_type *type, const struct ref_typemap *map,
			 view_fn question)
{
	struct view view;
	bool good = !open_view(type, &view);
	bool answer = good && question(&view, map);

	for (size_t i = 0; good && !answer && i < view.envelope.type_count; i++)
		answer = ask_anywhere(view.parts[i], &view.maps[i], question);
	close_view(&view);
	return answer;
}

static bool is_struct(const struct view *view)
{
	return view->envelope.combiner == DTCONV_COMBINER_STRUCT;
}

/* Elements of part i, for structs. */
static size_t repeated(const struct view *view, size_t i)
{
	return view->counts[1 + i];
}

/* ---- which findings a row explains --------------------------------------------------- */

/* Neither data nor markers: the formulas take the minimum of nothing. */
bool shape_holds_nothing(const struct dtconv_type *type, const struct ref_typemap *map,
			 const struct finding *finding)
{
	(void)type;
	(void)finding;
	return map->count == 0 && !map->marked;
}

bool shape_holds_no_data(const struct dtconv_type *type, const struct ref_typemap *map,
			 const struct finding *finding)
{
	(void)type;
	(void)finding;
	return map->count == 0;
}

static bool marked_part_without_data(const struct view *view,
				     const struct ref_typemap *map)
{
	(void)map;
	for (size_t i = 0; i < view->envelope.type_count; i++)
		if (view->maps[i].marked && view->maps[i].count == 0)
			return true;
	return false;
}

bool shape_drops_markers(const struct dtconv_type *type, const struct ref_typemap *map,
			 const struct finding *finding)
{
	(void)finding;
	return ask(type, map, marked_part_without_data);
}

static bool empty_member(const struct view *view, const struct ref_typemap *map)
{
	if (!is_struct(view) || map->count == 0)
		return false;
	for (size_t i = 0; i < view->envelope.type_count; i++)
		if (view->maps[i].count == 0 || repeated(view, i) == 0)
			return true;
	return false;
}

bool shape_has_empty_member(const struct dtconv_type *type, const struct ref_typemap *map,
			    const struct finding *finding)
{
	(void)finding;
	return ask(type, map, empty_member);
}

/* Members that set a bound beside members that do not. */
static bool half_marked(const struct view *view, const struct ref_typemap *map)
{
	if (!is_struct(view) || !map->marked)
		return false;
	for (size_t i = 0; i < view->envelope.type_count; i++)
		if (!view->maps[i].marked)
			return true;
	return false;
}

bool shape_mixes_markers(const struct dtconv_type *type, const struct ref_typemap *map,
			 const struct finding *finding)
{
	(void)finding;
	return ask(type, map, half_marked);
}

static bool is_complex(enum dtconv_predefined basic)
{
	return (basic >= DTCONV_C_FLOAT_COMPLEX &&
		basic <= DTCONV_C_LONG_DOUBLE_COMPLEX) ||
	       (basic >= DTCONV_CXX_FLOAT_COMPLEX &&
		basic <= DTCONV_CXX_LONG_DOUBLE_COMPLEX) ||
	       basic == DTCONV_COMPLEX || basic == DTCONV_DOUBLE_COMPLEX ||
	       (basic >= DTCONV_COMPLEX4 && basic <= DTCONV_COMPLEX32);
}

static size_t number_size(const struct ref_entry *entry)
{
	return is_complex((enum dtconv_predefined)entry->basic) ? entry->size / 2u
								: entry->size;
}

static bool is_marked_struct(const struct view *view, const struct ref_typemap *map)
{
	return is_struct(view) && view->envelope.type_count > 1 && map->marked;
}

/* Rounded up, where the bounds are given. */
bool shape_pads_markers(const struct dtconv_type *type, const struct ref_typemap *map,
			const struct finding *finding)
{
	ptrdiff_t ours = 0, theirs = 0;

	if (sscanf(finding->said, "extent: ours %td, theirs %td", &ours, &theirs) != 2)
		return false;
	return theirs > ours && theirs - ours < (ptrdiff_t)map->alignment &&
	       theirs % (ptrdiff_t)map->alignment == 0 &&
	       ask(type, map, is_marked_struct);
}

/* Numbers of one size, or pairs of one kind: what MPICH takes for one type. */
static bool is_of_one_size(const struct ref_typemap *map)
{
	bool same_size = true, same_pair = true;

	for (size_t i = 1; i < map->count; i++) {
		const struct ref_entry *entry = &map->entries[i], *first = map->entries;

		same_size = same_size && number_size(entry) == number_size(first);
		same_pair = same_pair && entry->leaf == first->leaf;
	}
	return same_size || same_pair;
}

/* One basic type throughout. */
static bool is_uniform(const struct ref_typemap *map)
{
	for (size_t i = 1; i < map->count; i++)
		if (map->entries[i].basic != map->entries[0].basic)
			return false;
	return true;
}

/* One member with data, itself not padded. */
static bool has_one_member(const struct view *view, const struct ref_typemap *map)
{
	size_t members = 0;

	(void)map;
	for (size_t i = 0; is_struct(view) && i < view->envelope.type_count; i++)
		members += view->maps[i].count > 0 && repeated(view, i) > 0;
	return members == 1;
}

bool shape_leaves_unpadded(const struct dtconv_type *type, const struct ref_typemap *map,
			   const struct finding *finding)
{
	return (is_of_one_size(map) || ask(type, map, has_one_member)) && !map->marked &&
	       strncmp(finding->said, "extent", 6) == 0;
}

bool shape_holds_binary128(const struct dtconv_type *type, const struct ref_typemap *map,
			   const struct finding *finding)
{
	(void)type;
	(void)finding;
	for (size_t i = 0; i < map->count; i++)
		if (map->entries[i].basic == DTCONV_REAL16 ||
		    map->entries[i].basic == DTCONV_COMPLEX32)
			return true;
	return false;
}

/* Larger than the least multiple of the alignment. */
bool shape_pads_too_much(const struct dtconv_type *type, const struct ref_typemap *map,
			 const struct finding *finding)
{
	ptrdiff_t ours = 0, theirs = 0, step = (ptrdiff_t)map->alignment;

	(void)type;
	return !map->marked && step > 1 &&
	       sscanf(finding->said, "extent: ours %td, theirs %td", &ours, &theirs) ==
		       2 &&
	       theirs > ours && (theirs - ours) % step == 0;
}

static bool backwards_by_a_byte(const struct view *view, const struct ref_typemap *map)
{
	ptrdiff_t unit = 1;

	(void)map;
	if (view->envelope.combiner == DTCONV_COMBINER_VECTOR)
		unit = ref_typemap_extent(&view->maps[0]);
	else if (view->envelope.combiner != DTCONV_COMBINER_HVECTOR)
		return false;
	return view->displacements[0] * unit == -1;
}

bool shape_steps_back(const struct dtconv_type *type, const struct ref_typemap *map,
		      const struct finding *finding)
{
	(void)finding;
	return ask_anywhere(type, map, backwards_by_a_byte);
}

static bool darray_of_nothing(const struct view *view, const struct ref_typemap *map)
{
	(void)map;
	return view->envelope.combiner == DTCONV_COMBINER_DARRAY &&
	       view->maps[0].count == 0;
}

bool shape_deals_out_nothing(const struct dtconv_type *type,
			     const struct ref_typemap *map, const struct finding *finding)
{
	(void)finding;
	return ask_anywhere(type, map, darray_of_nothing);
}

bool shape_holds_pairs(const struct dtconv_type *type, const struct ref_typemap *map,
		       const struct finding *finding)
{
	(void)type;
	(void)finding;
	for (size_t i = 0; i < map->count; i++)
		if (map->entries[i].leaf >= DTCONV_FLOAT_INT)
			return true;
	return false;
}

static bool cyclic_darray(const struct view *view, const struct ref_typemap *map)
{
	size_t ndims;

	(void)map;
	if (view->envelope.combiner != DTCONV_COMBINER_DARRAY)
		return false;
	ndims = view->counts[2];
	for (size_t i = 0; i < ndims; i++)
		if (view->counts[3 + ndims + i] == DTCONV_DISTRIBUTE_CYCLIC)
			return true;
	return false;
}

bool shape_deals_in_turn(const struct dtconv_type *type, const struct ref_typemap *map,
			 const struct finding *finding)
{
	(void)finding;
	return ask(type, map, cyclic_darray);
}

bool shape_hides_empty_member(const struct dtconv_type *type,
			      const struct ref_typemap *map,
			      const struct finding *finding)
{
	(void)finding;
	return ask_anywhere(type, map, empty_member);
}

bool shape_crashes_on_empty_member(const struct dtconv_type *type,
				   const struct ref_typemap *map,
				   const struct finding *finding)
{
	return strstr(finding->said, "signal 8") && ask_anywhere(type, map, empty_member);
}

/* Open MPI keeps the beginning of a cut element in 16 bytes. */
bool shape_overflows(const struct dtconv_type *type, const struct ref_typemap *map,
		     const struct finding *finding)
{
	(void)type;
	for (size_t i = 0; i < map->count; i++)
		if (map->entries[i].size > 16)
			return strstr(finding->said, "signal") != NULL;
	return false;
}

/* Blocks, with a stride or listed, of elements that follow each other downwards. */
static bool back_to_back_downwards(const struct view *view, const struct ref_typemap *map)
{
	enum dtconv_combiner combiner = view->envelope.combiner;

	(void)map;
	return combiner >= DTCONV_COMBINER_CONTIGUOUS &&
	       combiner <= DTCONV_COMBINER_HINDEXED_BLOCK &&
	       ref_typemap_extent(&view->maps[0]) < 0;
}

bool shape_counts_back(const struct dtconv_type *type, const struct ref_typemap *map,
		       const struct finding *finding)
{
	(void)finding;
	return ask_anywhere(type, map, back_to_back_downwards);
}

static bool is_darray(const struct view *view, const struct ref_typemap *map)
{
	(void)map;
	return view->envelope.combiner == DTCONV_COMBINER_DARRAY;
}

bool shape_divides_by_zero(const struct dtconv_type *type, const struct ref_typemap *map,
			   const struct finding *finding)
{
	(void)type;
	return strstr(finding->said, "signal 8") && !is_uniform(map);
}

bool shape_miscounts(const struct dtconv_type *type, const struct ref_typemap *map,
		     const struct finding *finding)
{
	return strncmp(finding->said, "MPI_Get_elements", 16) == 0 &&
	       (!is_uniform(map) || ask_anywhere(type, map, empty_member));
}

bool shape_darray_asserts(const struct dtconv_type *type, const struct ref_typemap *map,
			  const struct finding *finding)
{
	return strstr(finding->said, "exit status") && ask_anywhere(type, map, is_darray);
}

bool shape_refused_by_pack(const struct dtconv_type *type, const struct ref_typemap *map,
			   const struct finding *finding)
{
	(void)type;
	(void)map;
	return strstr(finding->said, "MPI_Pack: ours succeeds") != NULL;
}

bool shape_halves_complex(const struct dtconv_type *type, const struct ref_typemap *map,
			  const struct finding *finding)
{
	const struct ref_entry *first = NULL;

	(void)type;
	(void)finding;
	for (size_t i = 0; i < map->count; i++) {
		const struct ref_entry *entry = &map->entries[i];

		if (!is_complex((enum dtconv_predefined)entry->basic))
			continue;
		if (first && (entry->disp - first->disp) % first->size)
			return true;
		first = entry;
		if (ref_typemap_extent(map) % first->size)
			return true;
	}
	return false;
}

bool shape_holds_16_bytes(const struct dtconv_type *type, const struct ref_typemap *map,
			  const struct finding *finding)
{
	if (shape_holds_binary128(type, map, finding))
		return true;
	for (size_t i = 0; i < map->count; i++)
		if (map->entries[i].basic == DTCONV_INTEGER16)
			return true;
	return false;
}

bool shape_holds_like_pairs(const struct dtconv_type *type, const struct ref_typemap *map,
			    const struct finding *finding)
{
	(void)type;
	(void)finding;
	for (size_t i = 0; i < map->count; i++)
		if (map->entries[i].leaf == DTCONV_2INT ||
		    map->entries[i].leaf >= DTCONV_2REAL)
			return true;
	return false;
}

/* A real or complex kind of less than 4 digits and range. */
static bool is_small_kind(const struct view *view, const struct ref_typemap *map)
{
	enum dtconv_combiner combiner = view->envelope.combiner;

	(void)map;
	if (combiner != DTCONV_COMBINER_F90_REAL &&
	    combiner != DTCONV_COMBINER_F90_COMPLEX)
		return false;
	return (view->counts[0] <= 3 || view->counts[0] == DTCONV_UNDEFINED) &&
	       (view->counts[1] <= 4 || view->counts[1] == DTCONV_UNDEFINED);
}

bool shape_holds_small_kind(const struct dtconv_type *type, const struct ref_typemap *map,
			    const struct finding *finding)
{
	(void)finding;
	return ask(type, map, is_small_kind);
}

/* ---- the same for external32 --------------------------------------------------------- */

static bool holds(const struct ref_typemap *map, enum dtconv_predefined first,
		  enum dtconv_predefined last)
{
	for (size_t i = 0; i < map->count; i++)
		if (map->entries[i].basic >= first && map->entries[i].basic <= last)
			return true;
	return false;
}

bool shape_holds_long(const struct dtconv_type *type, const struct ref_typemap *map,
		      const struct finding *finding)
{
	(void)type;
	(void)finding;
	return holds(map, DTCONV_LONG, DTCONV_UNSIGNED_LONG);
}

bool shape_holds_wchar(const struct dtconv_type *type, const struct ref_typemap *map,
		       const struct finding *finding)
{
	(void)type;
	(void)finding;
	return holds(map, DTCONV_WCHAR, DTCONV_WCHAR);
}

bool shape_holds_large_real(const struct dtconv_type *type, const struct ref_typemap *map,
			    const struct finding *finding)
{
	return shape_holds_binary128(type, map, finding) ||
	       holds(map, DTCONV_LONG_DOUBLE, DTCONV_LONG_DOUBLE) ||
	       holds(map, DTCONV_C_LONG_DOUBLE_COMPLEX, DTCONV_C_LONG_DOUBLE_COMPLEX) ||
	       holds(map, DTCONV_CXX_LONG_DOUBLE_COMPLEX, DTCONV_CXX_LONG_DOUBLE_COMPLEX);
}

bool shape_holds_cxx_long_double(const struct dtconv_type *type,
				 const struct ref_typemap *map,
				 const struct finding *finding)
{
	(void)type;
	(void)finding;
	return holds(map, DTCONV_CXX_LONG_DOUBLE_COMPLEX, DTCONV_CXX_LONG_DOUBLE_COMPLEX);
}

static bool is_long_kind(const struct view *view, const struct ref_typemap *map)
{
	return view->envelope.combiner == DTCONV_COMBINER_F90_INTEGER && map->size == 8;
}

bool shape_holds_long_kind(const struct dtconv_type *type, const struct ref_typemap *map,
			   const struct finding *finding)
{
	(void)finding;
	return ask_anywhere(type, map, is_long_kind);
}

bool shape_holds_complex(const struct dtconv_type *type, const struct ref_typemap *map,
			 const struct finding *finding)
{
	(void)type;
	(void)finding;
	return holds(map, DTCONV_COMPLEX, DTCONV_DOUBLE_COMPLEX) ||
	       holds(map, DTCONV_COMPLEX8, DTCONV_COMPLEX16) ||
	       holds(map, DTCONV_CXX_FLOAT_COMPLEX, DTCONV_CXX_LONG_DOUBLE_COMPLEX);
}

static bool is_kind(const struct view *view, const struct ref_typemap *map)
{
	(void)map;
	return view->envelope.combiner == DTCONV_COMBINER_F90_INTEGER ||
	       view->envelope.combiner == DTCONV_COMBINER_F90_REAL ||
	       view->envelope.combiner == DTCONV_COMBINER_F90_COMPLEX;
}

bool shape_holds_kind(const struct dtconv_type *type, const struct ref_typemap *map,
		      const struct finding *finding)
{
	(void)finding;
	return ask_anywhere(type, map, is_kind);
}

/* What it cannot describe as copies of one basic type. */
bool shape_traps(const struct dtconv_type *type, const struct ref_typemap *map,
		 const struct finding *finding)
{
	if (map->count == 0)
		return true;
	return strstr(finding->said, "signal 4") &&
	       (!is_uniform(map) || ask_anywhere(type, map, empty_member) ||
		ask_anywhere(type, map, is_darray));
}
