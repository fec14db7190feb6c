/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list, and how a finding is looked up in it. doc/peers.md says the same in more words.
 */
#include "config.h"

#include "mpi_diff/known.h"

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
static bool holds_nothing(const struct dtconv_type *type, const struct ref_typemap *map,
			  const struct finding *finding)
{
	(void)type;
	(void)finding;
	return map->count == 0 && !map->marked;
}

static bool holds_no_data(const struct dtconv_type *type, const struct ref_typemap *map,
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

static bool drops_markers(const struct dtconv_type *type, const struct ref_typemap *map,
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

static bool has_empty_member(const struct dtconv_type *type,
			     const struct ref_typemap *map, const struct finding *finding)
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

static bool mixes_markers(const struct dtconv_type *type, const struct ref_typemap *map,
			  const struct finding *finding)
{
	(void)finding;
	return ask(type, map, half_marked);
}

/* Elements of one size, or pairs of one kind: what MPICH takes for one type. */
static bool is_of_one_size(const struct ref_typemap *map)
{
	bool pairs = map->count > 0 && map->entries[0].leaf >= DTCONV_FLOAT_INT;

	for (size_t i = 1; i < map->count; i++)
		if (pairs ? map->entries[i].leaf != map->entries[0].leaf
			  : map->entries[i].size != map->entries[0].size)
			return false;
	return true;
}

/* One basic type throughout. */
static bool is_uniform(const struct ref_typemap *map)
{
	for (size_t i = 1; i < map->count; i++)
		if (map->entries[i].basic != map->entries[0].basic)
			return false;
	return true;
}

static bool leaves_unpadded(const struct dtconv_type *type, const struct ref_typemap *map,
			    const struct finding *finding)
{
	(void)type;
	return is_of_one_size(map) && !map->marked &&
	       strncmp(finding->said, "extent", 6) == 0;
}

static bool holds_binary128(const struct dtconv_type *type, const struct ref_typemap *map,
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
static bool pads_too_much(const struct dtconv_type *type, const struct ref_typemap *map,
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

static bool steps_back(const struct dtconv_type *type, const struct ref_typemap *map,
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

static bool deals_out_nothing(const struct dtconv_type *type,
			      const struct ref_typemap *map,
			      const struct finding *finding)
{
	(void)finding;
	return ask_anywhere(type, map, darray_of_nothing);
}

static bool holds_pairs(const struct dtconv_type *type, const struct ref_typemap *map,
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

static bool deals_in_turn(const struct dtconv_type *type, const struct ref_typemap *map,
			  const struct finding *finding)
{
	(void)finding;
	return ask(type, map, cyclic_darray);
}

static bool has_no_extent(const struct view *view, const struct ref_typemap *map)
{
	(void)view;
	return map->count > 0 && ref_typemap_extent(map) == 0;
}

static bool stands_still(const struct dtconv_type *type, const struct ref_typemap *map,
			 const struct finding *finding)
{
	(void)finding;
	return ask_anywhere(type, map, has_no_extent);
}

static bool hides_empty_member(const struct dtconv_type *type,
			       const struct ref_typemap *map,
			       const struct finding *finding)
{
	(void)finding;
	return ask_anywhere(type, map, empty_member);
}

static bool crashes_on_empty_member(const struct dtconv_type *type,
				    const struct ref_typemap *map,
				    const struct finding *finding)
{
	return strstr(finding->said, "signal 8") && ask_anywhere(type, map, empty_member);
}

/* Open MPI keeps the beginning of a cut element in 16 bytes. */
#define LARGE_ELEMENTS "struct([1,1], [0,16], [int8,vector(1500, 1, 2, c_long_double_complex)])"

static bool overflows(const struct dtconv_type *type, const struct ref_typemap *map,
		      const struct finding *finding)
{
	(void)type;
	for (size_t i = 0; i < map->count; i++)
		if (map->entries[i].size > 16)
			return strstr(finding->said, "signal") != NULL;
	return false;
}

static bool is_darray(const struct view *view, const struct ref_typemap *map)
{
	(void)map;
	return view->envelope.combiner == DTCONV_COMBINER_DARRAY;
}

static bool divides_by_zero(const struct dtconv_type *type, const struct ref_typemap *map,
			    const struct finding *finding)
{
	(void)type;
	return strstr(finding->said, "signal 8") && !is_uniform(map);
}

static bool miscounts(const struct dtconv_type *type, const struct ref_typemap *map,
		      const struct finding *finding)
{
	return strncmp(finding->said, "MPI_Get_elements", 16) == 0 &&
	       (!is_uniform(map) || ask_anywhere(type, map, empty_member));
}

static bool darray_asserts(const struct dtconv_type *type, const struct ref_typemap *map,
			   const struct finding *finding)
{
	return strstr(finding->said, "exit status") && ask_anywhere(type, map, is_darray);
}

static bool refused_by_pack(const struct dtconv_type *type, const struct ref_typemap *map,
			    const struct finding *finding)
{
	(void)type;
	(void)map;
	return strstr(finding->said, "MPI_Pack: ours succeeds") != NULL;
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

static bool halves_complex(const struct dtconv_type *type, const struct ref_typemap *map,
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

static bool holds_16_bytes(const struct dtconv_type *type, const struct ref_typemap *map,
			   const struct finding *finding)
{
	if (holds_binary128(type, map, finding))
		return true;
	for (size_t i = 0; i < map->count; i++)
		if (map->entries[i].basic == DTCONV_INTEGER16)
			return true;
	return false;
}

static bool holds_like_pairs(const struct dtconv_type *type,
			     const struct ref_typemap *map, const struct finding *finding)
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

static bool holds_small_kind(const struct dtconv_type *type,
			     const struct ref_typemap *map, const struct finding *finding)
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

static bool holds_long(const struct dtconv_type *type, const struct ref_typemap *map,
		       const struct finding *finding)
{
	(void)type;
	(void)finding;
	return holds(map, DTCONV_LONG, DTCONV_UNSIGNED_LONG);
}

static bool holds_wchar(const struct dtconv_type *type, const struct ref_typemap *map,
			const struct finding *finding)
{
	(void)type;
	(void)finding;
	return holds(map, DTCONV_WCHAR, DTCONV_WCHAR);
}

static bool holds_large_real(const struct dtconv_type *type,
			     const struct ref_typemap *map, const struct finding *finding)
{
	return holds_binary128(type, map, finding) ||
	       holds(map, DTCONV_LONG_DOUBLE, DTCONV_LONG_DOUBLE) ||
	       holds(map, DTCONV_C_LONG_DOUBLE_COMPLEX, DTCONV_C_LONG_DOUBLE_COMPLEX) ||
	       holds(map, DTCONV_CXX_LONG_DOUBLE_COMPLEX, DTCONV_CXX_LONG_DOUBLE_COMPLEX);
}

static bool is_long_kind(const struct view *view, const struct ref_typemap *map)
{
	return view->envelope.combiner == DTCONV_COMBINER_F90_INTEGER && map->size == 8;
}

static bool holds_long_kind(const struct dtconv_type *type, const struct ref_typemap *map,
			    const struct finding *finding)
{
	(void)finding;
	return ask_anywhere(type, map, is_long_kind);
}

static bool holds_complex(const struct dtconv_type *type, const struct ref_typemap *map,
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

static bool holds_kind(const struct dtconv_type *type, const struct ref_typemap *map,
		       const struct finding *finding)
{
	(void)finding;
	return ask_anywhere(type, map, is_kind);
}

/* What it cannot describe as copies of one basic type. */
static bool traps(const struct dtconv_type *type, const struct ref_typemap *map,
		  const struct finding *finding)
{
	return strstr(finding->said, "signal 4") &&
	       (map->count == 0 || !is_uniform(map) ||
		ask_anywhere(type, map, empty_member) ||
		ask_anywhere(type, map, is_darray));
}

/* ---- the list ------------------------------------------------------------------------ */

#define OPENMPI_4_5 "Open MPI v", "4.1.4 5.0.11"
#define OPENMPI_4   "Open MPI v", "4.1.4"
#define OPENMPI_5   "Open MPI v", "5.0.11"
#define MPICH_4_5   "MPICH ", "4.0.2 5.0.2"
#define MPICH_4     "MPICH ", "4.0.2"
#define MPICH_5     "MPICH ", "5.0.2"
#define FAULT      false
#define CHOICE     true

/* The check that shows a row, and the set of those in which it may show. */
#define ONLY(name) CHECK_##name, 1u << CHECK_##name
#define MOVING(name)                                                               \
	CHECK_##name, 1u << CHECK_PACK | 1u << CHECK_UNPACK | 1u << CHECK_PIECES | \
			      1u << CHECK_BOTTOM | 1u << CHECK_RECEIVE

#define EXTERNAL(name)                                                                 \
	CHECK_EXTERNAL_##name, 1u << CHECK_EXTERNAL_SIZE | 1u << CHECK_EXTERNAL_PACK | \
				       1u << CHECK_EXTERNAL_UNPACK

const struct known known[] = {
	{ OPENMPI_4_5, CHOICE, ONLY(BOUNDS), "struct([1], [1], [contiguous(0, int8)])", 1,
	  0, "bounds of a type that holds nothing", holds_nothing },
	{ OPENMPI_4_5, FAULT, ONLY(BOUNDS),
	  "contiguous(1, darray(2, 1, [1], [block], [default], [2], c, int8))", 1, 0,
	  "bounds that a part without data has been given are dropped", drops_markers },
	{ OPENMPI_4_5, FAULT, ONLY(BOUNDS),
	  "struct([1,1], [0,1], [struct([], [], []),int8])", 1, 0,
	  "an empty member of a struct moves the struct's bounds", has_empty_member },
	{ OPENMPI_4_5, FAULT, ONLY(BOUNDS), "hvector(4, 1, -1, byte)", 1, 0,
	  "a vector with a stride of -1 byte is taken for one without gaps", steps_back },
	{ OPENMPI_4_5, FAULT, ONLY(BOUNDS), "hindexed([1,1,1], [25,50,0], int)", 1, 0,
	  "the padding of an extent depends on the order of the blocks and is more than "
	  "the least",
	  pads_too_much },
	{ OPENMPI_4_5, CHOICE, ONLY(TRUE), "hindexed_block(1, [0], struct([], [], []))", 1,
	  0, "the true lower bound of a type without data is 2^63-1", holds_no_data },
	{ OPENMPI_4_5, FAULT, ONLY(BUILD),
	  "darray(1, 0, [1], [block], [default], [1], c, struct([], [], []))", 1, 0,
	  "a darray of a type without data is refused", deals_out_nothing },
	{ OPENMPI_4_5, FAULT, MOVING(PACK), "hvector(4, 1, -1, byte)", 1, 0,
	  "a vector with a stride of -1 byte is packed forwards", steps_back },
	{ OPENMPI_4_5, FAULT, MOVING(UNPACK),
	  "struct([1,1], [0,0], [int8,resized(struct([], [], []), 0, 2)])", 2, 0,
	  "a struct with an empty member is taken for one without gaps",
	  hides_empty_member },
	{ OPENMPI_4_5, FAULT, ONLY(RECEIVE), LARGE_ELEMENTS, 1, 0xb0000,
	  "an element of 32 bytes that is cut by a fragment overflows a buffer",
	  overflows },
	{ OPENMPI_4_5, CHOICE, ONLY(RECEIVE), "double_int", 1, 0x200,
	  "MPI_Get_elements counts a pair as one element", holds_pairs },
	{ OPENMPI_4_5, FAULT, ONLY(EXTERNAL_SIZE), "long", 1, 0,
	  "MPI_Pack_external_size takes 8 bytes for a long, where 4 are packed",
	  holds_long },
	{ OPENMPI_4_5, FAULT, EXTERNAL(SIZE), "wchar", 1, 0,
	  "external32 has 4 bytes for wchar_t, not 2", holds_wchar },
	{ OPENMPI_4_5, FAULT, EXTERNAL(PACK), "long_double", 1, 0,
	  "external32 leaves reals of 16 bytes as they are in memory", holds_large_real },
	{ OPENMPI_4_5, FAULT, EXTERNAL(PACK), "f90_integer(10)", 1, 0,
	  "external32 has 4 bytes for Fortran integers of 10 to 18 digits",
	  holds_long_kind },
	{ OPENMPI_5, FAULT, MOVING(PACK), "hvector(2, 1, 24, double_complex)", 1, 0,
	  "complex numbers some whole numbers and a half apart are moved wrongly",
	  halves_complex },

	{ MPICH_4_5, CHOICE, ONLY(BOUNDS), "hindexed_block(0, [1], int8)", 1, 0,
	  "bounds of a type that holds nothing", holds_nothing },
	{ MPICH_4_5, FAULT, ONLY(BOUNDS),
	  "contiguous(1, resized(struct([], [], []), 0, -1))", 1, 0,
	  "bounds that a part without data has been given are dropped", drops_markers },
	{ MPICH_4_5, FAULT, ONLY(BOUNDS),
	  "struct([1,1], [0,0], [resized(int8, 0, 0),int8])", 1, 0,
	  "a struct forgets the bounds of resized members if others have none",
	  mixes_markers },
	{ MPICH_4_5, FAULT, ONLY(BOUNDS),
	  "struct([1,1], [0,0], [int8,vector(1, 0, 0, long_double)])", 1, 0,
	  "an empty member of a struct pads the struct", has_empty_member },
	{ MPICH_4_5, FAULT, ONLY(BOUNDS), "struct([1,1], [0,9], [int,int])", 1, 0,
	  "a struct is not padded if all its members are of one type", leaves_unpadded },
	{ MPICH_4, FAULT, ONLY(BOUNDS), "struct([1,1], [0,16], [real16,int8])", 1, 0,
	  "a struct is not padded for REAL16 and COMPLEX32", holds_binary128 },
	{ MPICH_4_5, CHOICE, ONLY(TRUE), "hindexed_block(0, [1], int8)", 1, 0,
	  "true bounds of a type without data", holds_no_data },
	{ MPICH_4_5, FAULT, ONLY(TRUE), "struct([1,1], [0,1], [struct([], [], []),int8])",
	  1, 0, "an empty member of a struct moves its true bounds", has_empty_member },
	{ MPICH_4_5, FAULT, ONLY(TRUE),
	  "darray(1, 0, [1], [cyclic], [2], [1], c, indexed([1], [1], int8))", 1, 0,
	  "true bounds of cyclic darrays include an empty last block", deals_in_turn },
	{ MPICH_4, FAULT, ONLY(BOTTOM), "int", 1, 0,
	  "MPI_Pack refuses MPI_BOTTOM, whatever the type", refused_by_pack },
	{ MPICH_4_5, FAULT, MOVING(PACK),
	  "struct([1,1], [0,0], [vector(1, 0, 0, hvector(2, 1, 0, int8)),int8])", 1, 0,
	  "some structs with an empty member divide by zero", crashes_on_empty_member },
	{ MPICH_4_5, FAULT, MOVING(PACK),
	  "contiguous(2, resized(vector(1, 2, 0, resized(int8, 0, 0)), 0, -1))", 2, 0x6c,
	  "some types with parts of extent 0 are moved wrongly", stands_still },
	{ MPICH_4, FAULT, ONLY(RECEIVE), "double_int", 1, 0x100,
	  "a message that ends between the members of a pair loses the first one, and "
	  "pairs are miscounted",
	  holds_pairs },
	{ MPICH_4_5, FAULT, ONLY(RECEIVE), "darray(1, 0, [1], [cyclic], [2], [1], c, int8)",
	  0, 0, "MPI_Get_elements ends the process for some darrays", darray_asserts },
	{ MPICH_4_5, FAULT, ONLY(RECEIVE), "struct([1,1], [0,4], [float,int])", 0, 0,
	  "MPI_Get_elements divides by zero for an empty message and unlike members",
	  divides_by_zero },
	{ MPICH_4_5, FAULT, ONLY(RECEIVE),
	  "struct([1,1], [0,0], [struct([], [], []),int8])", 1, 0x100,
	  "MPI_Get_elements is wrong for structs of unlike or empty members", miscounts },
	{ MPICH_4_5, FAULT, EXTERNAL(SIZE), "struct([1,1], [0,4], [int,float])", 1, 0,
	  "external32 ends the process for types that are not copies of one basic type",
	  traps },
	{ MPICH_4_5, FAULT, EXTERNAL(PACK), "double_int", 1, 0, "external32 has no pairs",
	  holds_pairs },
	{ MPICH_4_5, FAULT, EXTERNAL(PACK), "wchar", 1, 0,
	  "external32 ends the process for wchar_t", holds_wchar },
	{ MPICH_4, FAULT, EXTERNAL(PACK), "complex", 1, 0,
	  "external32 turns Fortran and C++ complex numbers over as a whole",
	  holds_complex },
	{ MPICH_5, CHOICE, ONLY(BOUNDS), "f90_real(0, 0)", 1, 0,
	  "there is a Fortran real of 2 bytes", holds_small_kind },
	{ MPICH_5, FAULT, MOVING(PACK), "vector(2, 1, 2, integer16)", 1, 0,
	  "of INTEGER16, REAL16 and COMPLEX32 10 bytes of 16 are moved", holds_16_bytes },
	{ MPICH_5, FAULT, ONLY(RECEIVE), "2int", 1, 0x100,
	  "a message that ends inside a pair of like members loses the first one",
	  holds_like_pairs },
	{ MPICH_5, FAULT, EXTERNAL(PACK), "cxx_long_double_complex", 1, 0,
	  "external32 turns C++ long double complex numbers over as a whole",
	  holds_large_real },
	{ MPICH_5, FAULT, EXTERNAL(PACK), "f90_integer(0)", 1, 0,
	  "external32 has no types of Fortran kinds", holds_kind },
};

const size_t known_count = sizeof(known) / sizeof(known[0]);

/* ---- looking up ---------------------------------------------------------------------- */

static bool is_kin(const struct known *row, const char *version)
{
	return strncmp(row->mpi, version, strlen(row->mpi)) == 0;
}

/* Is the version's number one of the row's? */
static bool is_seen(const struct known *row, const char *version)
{
	const char *number = version + strlen(row->mpi), *at = row->versions;
	size_t length = strlen(number);

	if (!is_kin(row, version))
		return false;
	for (; (at = strstr(at, number)); at += length)
		if ((at == row->versions || at[-1] == ' ') &&
		    (at[length] == ' ' || !at[length]))
			return true;
	return false;
}

bool known_version(const char *version)
{
	for (size_t i = 0; i < known_count; i++)
		if (is_seen(&known[i], version))
			return true;
	return false;
}

bool known_concerns(const struct known *row, const char *version)
{
	return known_version(version) ? is_seen(row, version) : is_kin(row, version);
}

/* The type that a finding is about; one reference. */
static struct dtconv_type *subject(struct dtconv_context *context,
				   const struct trial *trial,
				   const struct finding *finding)
{
	struct dtconv_type *part = NULL;

	if (finding->part[0] && !dtconv_type_parse(context, finding->part,
						   strlen(finding->part), &part))
		return part;
	return dtconv_type_ref(trial->type);
}

const struct known *known_find(struct dtconv_context *context, const char *version,
			       const struct trial *trial, const struct finding *finding)
{
	struct dtconv_type *type = subject(context, trial, finding);
	const struct known *found = NULL;
	struct ref_typemap map;

	if (!ref_typemap_build(type, THEIR_PADDING, 0, &map)) {
		for (size_t i = 0; i < known_count && !found; i++)
			if (known_concerns(&known[i], version) &&
			    known[i].covers >> finding->check & 1 &&
			    known[i].explains(type, &map, finding))
				found = &known[i];
		ref_typemap_free(&map);
	}
	dtconv_type_unref(type);
	return found;
}
