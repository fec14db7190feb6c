/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Questions that the rows of known.c ask about a finding: could it be of their kind? Each
 * looks at a type (or the part at fault), its typemap by the oracle, and the finding.
 */
#ifndef MPI_DIFF_SHAPES_H
#define MPI_DIFF_SHAPES_H

#include <stdbool.h>

#include "mpi_diff/checks.h"

bool shape_holds_nothing(const struct dtconv_type *type, const struct ref_typemap *map,
			 const struct finding *finding);
bool shape_holds_no_data(const struct dtconv_type *type, const struct ref_typemap *map,
			 const struct finding *finding);
bool shape_drops_markers(const struct dtconv_type *type, const struct ref_typemap *map,
			 const struct finding *finding);
bool shape_has_empty_member(const struct dtconv_type *type, const struct ref_typemap *map,
			    const struct finding *finding);
bool shape_mixes_markers(const struct dtconv_type *type, const struct ref_typemap *map,
			 const struct finding *finding);
bool shape_leaves_unpadded(const struct dtconv_type *type, const struct ref_typemap *map,
			   const struct finding *finding);
bool shape_holds_binary128(const struct dtconv_type *type, const struct ref_typemap *map,
			   const struct finding *finding);
bool shape_pads_too_much(const struct dtconv_type *type, const struct ref_typemap *map,
			 const struct finding *finding);
bool shape_steps_back(const struct dtconv_type *type, const struct ref_typemap *map,
		      const struct finding *finding);
bool shape_deals_out_nothing(const struct dtconv_type *type,
			     const struct ref_typemap *map,
			     const struct finding *finding);
bool shape_holds_pairs(const struct dtconv_type *type, const struct ref_typemap *map,
		       const struct finding *finding);
bool shape_deals_in_turn(const struct dtconv_type *type, const struct ref_typemap *map,
			 const struct finding *finding);
bool shape_hides_empty_member(const struct dtconv_type *type,
			      const struct ref_typemap *map,
			      const struct finding *finding);
bool shape_crashes_on_empty_member(const struct dtconv_type *type,
				   const struct ref_typemap *map,
				   const struct finding *finding);
bool shape_overflows(const struct dtconv_type *type, const struct ref_typemap *map,
		     const struct finding *finding);
bool shape_divides_by_zero(const struct dtconv_type *type, const struct ref_typemap *map,
			   const struct finding *finding);
bool shape_miscounts(const struct dtconv_type *type, const struct ref_typemap *map,
		     const struct finding *finding);
bool shape_darray_asserts(const struct dtconv_type *type, const struct ref_typemap *map,
			  const struct finding *finding);
bool shape_refused_by_pack(const struct dtconv_type *type, const struct ref_typemap *map,
			   const struct finding *finding);
bool shape_halves_complex(const struct dtconv_type *type, const struct ref_typemap *map,
			  const struct finding *finding);
bool shape_holds_16_bytes(const struct dtconv_type *type, const struct ref_typemap *map,
			  const struct finding *finding);
bool shape_holds_like_pairs(const struct dtconv_type *type, const struct ref_typemap *map,
			    const struct finding *finding);
bool shape_holds_small_kind(const struct dtconv_type *type, const struct ref_typemap *map,
			    const struct finding *finding);
bool shape_holds_long(const struct dtconv_type *type, const struct ref_typemap *map,
		      const struct finding *finding);
bool shape_holds_wchar(const struct dtconv_type *type, const struct ref_typemap *map,
		       const struct finding *finding);
bool shape_holds_large_real(const struct dtconv_type *type, const struct ref_typemap *map,
			    const struct finding *finding);
bool shape_holds_long_kind(const struct dtconv_type *type, const struct ref_typemap *map,
			   const struct finding *finding);
bool shape_holds_complex(const struct dtconv_type *type, const struct ref_typemap *map,
			 const struct finding *finding);
bool shape_holds_kind(const struct dtconv_type *type, const struct ref_typemap *map,
		      const struct finding *finding);
bool shape_traps(const struct dtconv_type *type, const struct ref_typemap *map,
		 const struct finding *finding);
bool shape_holds_cxx_long_double(const struct dtconv_type *type,
				 const struct ref_typemap *map,
				 const struct finding *finding);
bool shape_pads_markers(const struct dtconv_type *type, const struct ref_typemap *map,
			const struct finding *finding);
bool shape_counts_back(const struct dtconv_type *type, const struct ref_typemap *map,
		       const struct finding *finding);

#endif
