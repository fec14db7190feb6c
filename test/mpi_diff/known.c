/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list, and how a finding is looked up in it. doc/peers.md says the same in more words.
 */
#include "config.h"

#include "mpi_diff/known.h"

#include <string.h>

#include "mpi_diff/shapes.h"

/* ---- the list ------------------------------------------------------------------------ */

#define OPENMPI_4_5 "Open MPI v", "4.1.4 5.0.11"
#define OPENMPI_4   "Open MPI v", "4.1.4"
#define OPENMPI_5   "Open MPI v", "5.0.11"
#define MPICH_4_5   "MPICH ", "4.0.2 5.0.2"
#define MPICH_4     "MPICH ", "4.0.2"
#define MPICH_5     "MPICH ", "5.0.2"
#define LARGE_ELEMENTS \
	"struct([1,1], [0,16], [int8,vector(1500, 1, 2, c_long_double_complex)])"
#define FAULT  false
#define CHOICE true

/* The check that shows a row, and the set of those in which it may show. */
#define ONLY(name) CHECK_##name, 1u << CHECK_##name
#define MOVING(name)                                                               \
	CHECK_##name, 1u << CHECK_PACK | 1u << CHECK_UNPACK | 1u << CHECK_PIECES | \
			      1u << CHECK_BOTTOM | 1u << CHECK_RECEIVE |           \
			      1u << CHECK_EXTERNAL_PACK | 1u << CHECK_EXTERNAL_UNPACK
#define EXTERNAL(name)                                                                 \
	CHECK_EXTERNAL_##name, 1u << CHECK_EXTERNAL_SIZE | 1u << CHECK_EXTERNAL_PACK | \
				       1u << CHECK_EXTERNAL_UNPACK

const struct known known[] = {
	{ OPENMPI_4_5, CHOICE, ONLY(BOUNDS), "struct([1], [1], [contiguous(0, int8)])", 1,
	  0, "bounds of a type that holds nothing", shape_holds_nothing },
	{ OPENMPI_4_5, FAULT, ONLY(BOUNDS),
	  "contiguous(1, darray(2, 1, [1], [block], [default], [2], c, int8))", 1, 0,
	  "bounds that a part without data has been given are dropped",
	  shape_drops_markers },
	{ OPENMPI_4_5, FAULT, ONLY(BOUNDS),
	  "struct([1,1], [0,1], [struct([], [], []),int8])", 1, 0,
	  "an empty member of a struct moves the struct's bounds",
	  shape_has_empty_member },
	{ OPENMPI_4_5, FAULT, ONLY(BOUNDS), "hvector(4, 1, -1, byte)", 1, 0,
	  "a vector with a stride of -1 byte is taken for one without gaps",
	  shape_steps_back },
	{ OPENMPI_4_5, FAULT, ONLY(BOUNDS), "hindexed([1,1,1], [25,50,0], int)", 1, 0,
	  "the padding of an extent depends on the order of the blocks and is more than "
	  "the least",
	  shape_pads_too_much },
	{ OPENMPI_4_5, CHOICE, ONLY(TRUE), "hindexed_block(1, [0], struct([], [], []))",
	  1, 0, "the true lower bound of a type without data is 2^63-1",
	  shape_holds_no_data },
	{ OPENMPI_4_5, FAULT, ONLY(BUILD),
	  "darray(1, 0, [1], [block], [default], [1], c, struct([], [], []))", 1, 0,
	  "a darray of a type without data is refused", shape_deals_out_nothing },
	{ OPENMPI_4_5, FAULT, MOVING(PACK), "hvector(4, 1, -1, byte)", 1, 0,
	  "a vector with a stride of -1 byte is packed forwards", shape_steps_back },
	{ OPENMPI_4_5, FAULT, MOVING(UNPACK),
	  "struct([1,1], [0,0], [int8,resized(struct([], [], []), 0, 2)])", 2, 0,
	  "a struct with an empty member is taken for one without gaps",
	  shape_hides_empty_member },
	{ OPENMPI_4_5, FAULT, ONLY(RECEIVE), LARGE_ELEMENTS, 1, 0xb0000,
	  "an element of 32 bytes that is cut by a fragment overflows a buffer",
	  shape_overflows },
	{ OPENMPI_4_5, CHOICE, ONLY(RECEIVE), "double_int", 1, 0x200,
	  "MPI_Get_elements counts a pair as one element", shape_holds_pairs },
	{ OPENMPI_4_5, FAULT, ONLY(EXTERNAL_SIZE), "long", 1, 0,
	  "MPI_Pack_external_size takes 8 bytes for a long, where 4 are packed",
	  shape_holds_long },
	{ OPENMPI_4_5, FAULT, EXTERNAL(SIZE), "wchar", 1, 0,
	  "external32 has 4 bytes for wchar_t, not 2", shape_holds_wchar },
	{ OPENMPI_4_5, FAULT, EXTERNAL(PACK), "long_double", 1, 0,
	  "external32 leaves reals of 16 bytes as they are in memory",
	  shape_holds_large_real },
	{ OPENMPI_4_5, FAULT, EXTERNAL(PACK), "f90_integer(10)", 1, 0,
	  "external32 has 4 bytes for Fortran integers of 10 to 18 digits",
	  shape_holds_long_kind },
	{ OPENMPI_5, FAULT, MOVING(PACK), "hvector(2, 1, 24, double_complex)", 1, 0,
	  "complex numbers some whole numbers and a half apart are moved wrongly",
	  shape_halves_complex },

	{ MPICH_4_5, CHOICE, ONLY(BOUNDS), "hindexed_block(0, [1], int8)", 1, 0,
	  "bounds of a type that holds nothing", shape_holds_nothing },
	{ MPICH_4_5, FAULT, ONLY(BOUNDS),
	  "contiguous(1, resized(struct([], [], []), 0, -1))", 1, 0,
	  "bounds that a part without data has been given are dropped",
	  shape_drops_markers },
	{ MPICH_4_5, FAULT, ONLY(BOUNDS),
	  "struct([1,1], [0,0], [resized(int8, 0, 0),int8])", 1, 0,
	  "a struct forgets the bounds of resized members if others have none",
	  shape_mixes_markers },
	{ MPICH_4_5, FAULT, ONLY(BOUNDS),
	  "struct([1,1], [0,8], [resized(int, 0, 5),resized(int8, 0, 5)])", 1, 0,
	  "a struct of resized members is padded", shape_pads_markers },
	{ MPICH_4_5, FAULT, ONLY(BOUNDS),
	  "struct([1,1], [0,0], [int8,vector(1, 0, 0, long_double)])", 1, 0,
	  "an empty member of a struct pads the struct", shape_has_empty_member },
	{ MPICH_4_5, FAULT, ONLY(BOUNDS), "struct([1,1], [0,9], [int,int])", 1, 0,
	  "a struct is not padded if it has one member, or all are of one type",
	  shape_leaves_unpadded },
	{ MPICH_4, FAULT, ONLY(BOUNDS), "struct([1,1], [0,16], [real16,int8])", 1, 0,
	  "a struct is not padded for REAL16 and COMPLEX32", shape_holds_binary128 },
	{ MPICH_4_5, CHOICE, ONLY(TRUE), "hindexed_block(0, [1], int8)", 1, 0,
	  "true bounds of a type without data", shape_holds_no_data },
	{ MPICH_4_5, FAULT, ONLY(TRUE), "struct([1,1], [0,1], [struct([], [], []),int8])",
	  1, 0, "an empty member of a struct moves its true bounds",
	  shape_has_empty_member },
	{ MPICH_4_5, FAULT, ONLY(TRUE),
	  "darray(1, 0, [1], [cyclic], [2], [1], c, indexed([1], [1], int8))", 1, 0,
	  "true bounds of cyclic darrays include an empty last block",
	  shape_deals_in_turn },
	{ MPICH_4, FAULT, ONLY(BOTTOM), "int", 1, 0,
	  "MPI_Pack refuses MPI_BOTTOM, whatever the type", shape_refused_by_pack },
	{ MPICH_4_5, FAULT, MOVING(PACK),
	  "struct([1,1], [0,0], [vector(1, 0, 0, hvector(2, 1, 0, int8)),int8])", 1, 0,
	  "some structs with an empty member divide by zero",
	  shape_crashes_on_empty_member },
	{ MPICH_4_5, FAULT, MOVING(PACK), "contiguous(4, resized(short_int, 7, -15))", 2,
	  0,
	  "instances of blocks whose elements have a negative extent are moved wrongly",
	  shape_counts_back },
	{ MPICH_4, FAULT, ONLY(RECEIVE), "double_int", 1, 0x100,
	  "a message that ends between the members of a pair loses the first one, and "
	  "pairs are miscounted",
	  shape_holds_pairs },
	{ MPICH_4_5, FAULT, ONLY(RECEIVE),
	  "darray(1, 0, [1], [cyclic], [2], [1], c, int8)", 0, 0,
	  "MPI_Get_elements ends the process for some darrays", shape_darray_asserts },
	{ MPICH_4_5, FAULT, ONLY(RECEIVE), "struct([1,1], [0,4], [float,int])", 0, 0,
	  "MPI_Get_elements divides by zero for an empty message and unlike members",
	  shape_divides_by_zero },
	{ MPICH_4_5, FAULT, ONLY(RECEIVE),
	  "struct([1,1], [0,0], [struct([], [], []),int8])", 1, 0x100,
	  "MPI_Get_elements is wrong for structs of unlike or empty members",
	  shape_miscounts },
	{ MPICH_4_5, FAULT, EXTERNAL(SIZE), "struct([1,1], [0,4], [int,float])", 1, 0,
	  "external32 ends the process for types that are not copies of one basic type",
	  shape_traps },
	{ MPICH_4_5, FAULT, EXTERNAL(PACK), "double_int", 1, 0, "external32 has no pairs",
	  shape_holds_pairs },
	{ MPICH_4_5, FAULT, EXTERNAL(PACK), "wchar", 1, 0,
	  "external32 ends the process for wchar_t", shape_holds_wchar },
	{ MPICH_4, FAULT, EXTERNAL(PACK), "complex", 1, 0,
	  "external32 turns Fortran and C++ complex numbers over as a whole",
	  shape_holds_complex },
	{ MPICH_5, CHOICE, ONLY(BOUNDS), "f90_real(0, 0)", 1, 0,
	  "there is a Fortran real of 2 bytes", shape_holds_small_kind },
	{ MPICH_5, FAULT, MOVING(PACK), "vector(2, 1, 2, integer16)", 1, 0,
	  "of INTEGER16, REAL16 and COMPLEX32 10 bytes of 16 are moved",
	  shape_holds_16_bytes },
	{ MPICH_5, FAULT, ONLY(RECEIVE), "2int", 1, 0x100,
	  "a message that ends inside a pair of like members loses the first one",
	  shape_holds_like_pairs },
	{ MPICH_5, FAULT, EXTERNAL(PACK), "cxx_long_double_complex", 1, 0,
	  "external32 turns C++ long double complex numbers over as a whole",
	  shape_holds_cxx_long_double },
	{ MPICH_5, FAULT, EXTERNAL(PACK), "f90_integer(0)", 1, 0,
	  "external32 has no types of Fortran kinds", shape_holds_kind },
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
	const char *number = version + strcspn(version, "0123456789"),
		   *at = row->versions;
	size_t length = strlen(number);

	if (!is_kin(row, version) || length == 0)
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

	if (finding->part[0] &&
	    !dtconv_type_parse(context, finding->part, strlen(finding->part), &part))
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
