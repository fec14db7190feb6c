/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds a flattened type in an MPI library with MPI's own constructors. It maps each of our
 * constructors to MPI's and detects values that an int cannot hold. It moves no data.
 */
#include "bench/peers/mpi_types.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int mpi_types_complain(struct mpi_types *b, const char *what, int error)
{
	char reason[MPI_MAX_ERROR_STRING] = "";
	int length = 0;

	MPI_Error_string(error, reason, &length);
	for (char *c = reason; *c; c++)
		if (*c == '\n')
			*c = ' ';
	snprintf(b->text, b->room, "%s: %.120s", what, reason);
	b->mpi_refused = 1;
	return -1;
}

int mpi_types_refuse(struct mpi_types *b, const char *text)
{
	snprintf(b->text, b->room, "%s", text);
	return -1;
}

/* ---- predefined types ---------------------------------------------------------------- */

static MPI_Datatype predefined(enum dtconv_predefined which)
{
	switch (which) {
#define SAME(name)          \
	case DTCONV_##name: \
		return MPI_##name
		SAME(BYTE);
		SAME(PACKED);
		SAME(CHAR);
		SAME(SIGNED_CHAR);
		SAME(UNSIGNED_CHAR);
		SAME(SHORT);
		SAME(UNSIGNED_SHORT);
		SAME(INT);
		SAME(UNSIGNED);
		SAME(LONG);
		SAME(UNSIGNED_LONG);
		SAME(LONG_LONG);
		SAME(UNSIGNED_LONG_LONG);
		SAME(FLOAT);
		SAME(DOUBLE);
		SAME(LONG_DOUBLE);
		SAME(WCHAR);
		SAME(C_BOOL);
		SAME(C_FLOAT_COMPLEX);
		SAME(C_DOUBLE_COMPLEX);
		SAME(C_LONG_DOUBLE_COMPLEX);
		SAME(AINT);
		SAME(OFFSET);
		SAME(COUNT);
		SAME(CHARACTER);
		SAME(LOGICAL);
		SAME(INTEGER);
		SAME(REAL);
		SAME(DOUBLE_PRECISION);
		SAME(COMPLEX);
		SAME(DOUBLE_COMPLEX);
		SAME(INTEGER1);
		SAME(INTEGER2);
		SAME(INTEGER4);
		SAME(INTEGER8);
		SAME(REAL4);
		SAME(REAL8);
		SAME(COMPLEX8);
		SAME(COMPLEX16);
#ifdef MPI_INTEGER16
		SAME(INTEGER16);
#endif
#ifdef MPI_REAL16
		SAME(REAL16);
#endif
#ifdef MPI_COMPLEX32
		SAME(COMPLEX32);
#endif
		SAME(CXX_BOOL);
		SAME(CXX_FLOAT_COMPLEX);
		SAME(CXX_DOUBLE_COMPLEX);
		SAME(CXX_LONG_DOUBLE_COMPLEX);
		SAME(FLOAT_INT);
		SAME(DOUBLE_INT);
		SAME(LONG_INT);
		SAME(2INT);
		SAME(SHORT_INT);
		SAME(LONG_DOUBLE_INT);
		SAME(2REAL);
		SAME(2DOUBLE_PRECISION);
		SAME(2INTEGER);
#undef SAME
	case DTCONV_INT8:
		return MPI_INT8_T;
	case DTCONV_INT16:
		return MPI_INT16_T;
	case DTCONV_INT32:
		return MPI_INT32_T;
	case DTCONV_INT64:
		return MPI_INT64_T;
	case DTCONV_UINT8:
		return MPI_UINT8_T;
	case DTCONV_UINT16:
		return MPI_UINT16_T;
	case DTCONV_UINT32:
		return MPI_UINT32_T;
	case DTCONV_UINT64:
		return MPI_UINT64_T;
	default:
		return MPI_DATATYPE_NULL;
	}
}

/* A type that mpi.h declares may still be missing from this build; then it has no size. */
MPI_Datatype mpi_types_predefined(enum dtconv_predefined which)
{
	MPI_Datatype type = predefined(which);
	int bytes = 0;

	if (type == MPI_DATATYPE_NULL || MPI_Type_size(type, &bytes) || bytes <= 0)
		return MPI_DATATYPE_NULL;
	return type;
}

/* ---- arguments: MPI's are int -------------------------------------------------------- */

static int fits(struct mpi_types *b, const uint64_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (values[i] > INT_MAX)
			return mpi_types_refuse(b, "a count is larger than this MPI's int");
	return 0;
}

/* The caller frees the result; NULL, with the reason recorded. */
static int *ints_of(struct mpi_types *b, const uint64_t *values, size_t count)
{
	int *ints = fits(b, values, count) ? NULL : malloc((count + 1) * sizeof(*ints));

	if (!ints)
		return NULL;
	for (size_t i = 0; i < count; i++)
		ints[i] = (int)values[i];
	return ints;
}

static int *int_displacements(struct mpi_types *b, const int64_t *values, size_t count)
{
	int *ints = malloc((count + 1) * sizeof(*ints));

	for (size_t i = 0; ints && i < count; i++) {
		if (values[i] > INT_MAX || values[i] < INT_MIN) {
			mpi_types_refuse(b, "a displacement is larger than this MPI's int");
			free(ints);
			return NULL;
		}
		ints[i] = (int)values[i];
	}
	return ints;
}

static MPI_Aint *aints_of(const int64_t *values, size_t count)
{
	MPI_Aint *aints = malloc((count + 1) * sizeof(*aints));

	for (size_t i = 0; aints && i < count; i++)
		aints[i] = (MPI_Aint)values[i];
	return aints;
}

/* ---- constructors -------------------------------------------------------------------- */

static int build_strided(struct mpi_types *b, const struct tree_node *n, MPI_Datatype old,
			 MPI_Datatype *made)
{
	int64_t stride = n->displacements[0];

	if (fits(b, n->counts, 2))
		return -1;
	if (n->combiner == DTCONV_COMBINER_HVECTOR)
		return MPI_Type_create_hvector((int)n->counts[0], (int)n->counts[1],
					       (MPI_Aint)stride, old, made);
	if (stride > INT_MAX || stride < INT_MIN)
		return mpi_types_refuse(b, "a stride is larger than this MPI's int");
	return MPI_Type_vector((int)n->counts[0], (int)n->counts[1], (int)stride, old,
			       made);
}

static int build_indexed(struct mpi_types *b, const struct tree_node *n, MPI_Datatype old,
			 MPI_Datatype *made)
{
	int *lengths = ints_of(b, n->counts + 1, n->count_count - 1);
	int *displacements =
		int_displacements(b, n->displacements, n->displacement_count);
	int count = (int)n->displacement_count;
	int error = -1;

	if (lengths && displacements && n->combiner == DTCONV_COMBINER_INDEXED)
		error = MPI_Type_indexed(count, lengths, displacements, old, made);
	else if (lengths && displacements)
		error = MPI_Type_create_indexed_block(count, lengths[0], displacements,
						      old, made);
	free(lengths);
	free(displacements);
	return error;
}

static int build_hindexed(struct mpi_types *b, const struct tree_node *n, MPI_Datatype old,
			  MPI_Datatype *made)
{
	int *lengths = ints_of(b, n->counts + 1, n->count_count - 1);
	MPI_Aint *displacements = aints_of(n->displacements, n->displacement_count);
	int count = (int)n->displacement_count;
	int error = -1;

	if (lengths && displacements && n->combiner == DTCONV_COMBINER_HINDEXED)
		error = MPI_Type_create_hindexed(count, lengths, displacements, old,
						 made);
	else if (lengths && displacements)
		error = MPI_Type_create_hindexed_block(count, lengths[0], displacements,
						       old, made);
	free(lengths);
	free(displacements);
	return error;
}

static int build_struct(struct mpi_types *b, const struct tree_node *n, MPI_Datatype *made)
{
	int *lengths = ints_of(b, n->counts + 1, n->count_count - 1);
	MPI_Aint *displacements = aints_of(n->displacements, n->displacement_count);
	MPI_Datatype *members = malloc((n->type_count + 1) * sizeof(*members));
	int error = -1;

	for (size_t i = 0; members && i < n->type_count; i++)
		members[i] = b->types[n->types[i]];
	if (lengths && displacements && members)
		error = MPI_Type_create_struct((int)n->type_count, lengths, displacements,
					       members, made);
	free(lengths);
	free(displacements);
	free(members);
	return error;
}

static int order_of(const struct tree_node *n)
{
	return n->counts[n->count_count - 1] == DTCONV_ORDER_C ? MPI_ORDER_C
							       : MPI_ORDER_FORTRAN;
}

static int build_subarray(struct mpi_types *b, const struct tree_node *n, MPI_Datatype old,
			  MPI_Datatype *made)
{
	int ndims = (int)n->counts[0];
	int *v = ints_of(b, n->counts + 1, 3 * n->counts[0]);
	int error = -1;

	if (v)
		error = MPI_Type_create_subarray(ndims, v, v + ndims, v + 2 * ndims,
						 order_of(n), old, made);
	free(v);
	return error;
}

static int distribution_of(uint64_t value)
{
	switch (value) {
	case DTCONV_DISTRIBUTE_BLOCK:
		return MPI_DISTRIBUTE_BLOCK;
	case DTCONV_DISTRIBUTE_CYCLIC:
		return MPI_DISTRIBUTE_CYCLIC;
	default:
		return MPI_DISTRIBUTE_NONE;
	}
}

static int build_darray(struct mpi_types *b, const struct tree_node *n, MPI_Datatype old,
			MPI_Datatype *made)
{
	size_t ndims = n->counts[2];
	uint64_t *arguments = malloc(4 * ndims * sizeof(*arguments));
	const uint64_t *given = n->counts + 3;
	int *v;
	int error = -1;

	if (!arguments)
		return mpi_types_refuse(b, "no memory");
	memcpy(arguments, given, 4 * ndims * sizeof(*arguments));
	/* the default block size is SIZE_MAX here and a negative number in MPI */
	for (size_t i = 2 * ndims; i < 3 * ndims; i++)
		if (given[i] == DTCONV_DISTRIBUTE_DFLT_DARG)
			arguments[i] = 0;
	v = ints_of(b, arguments, 4 * ndims);
	free(arguments);
	if (!v)
		return -1;
	for (size_t i = 0; i < ndims; i++) {
		v[ndims + i] = distribution_of(given[ndims + i]);
		if (given[2 * ndims + i] == DTCONV_DISTRIBUTE_DFLT_DARG)
			v[2 * ndims + i] = MPI_DISTRIBUTE_DFLT_DARG;
	}
	error = MPI_Type_create_darray((int)n->counts[0], (int)n->counts[1], (int)ndims,
				       v, v + ndims, v + 2 * ndims, v + 3 * ndims,
				       order_of(n), old, made);
	free(v);
	return error;
}

static int f90_argument(uint64_t value)
{
	return value > INT_MAX ? MPI_UNDEFINED : (int)value;
}

/* Returns 0, an MPI error, or -1 with the reason recorded. */
static int build_node(struct mpi_types *b, const struct tree_node *n, MPI_Datatype *made)
{
	MPI_Datatype old = n->type_count ? b->types[n->types[0]] : MPI_DATATYPE_NULL;

	switch (n->combiner) {
	case DTCONV_COMBINER_DUP:
		return MPI_Type_dup(old, made);
	case DTCONV_COMBINER_CONTIGUOUS:
		return fits(b, n->counts, 1)
			       ? -1
			       : MPI_Type_contiguous((int)n->counts[0], old, made);
	case DTCONV_COMBINER_VECTOR:
	case DTCONV_COMBINER_HVECTOR:
		return build_strided(b, n, old, made);
	case DTCONV_COMBINER_INDEXED:
	case DTCONV_COMBINER_INDEXED_BLOCK:
		return build_indexed(b, n, old, made);
	case DTCONV_COMBINER_HINDEXED:
	case DTCONV_COMBINER_HINDEXED_BLOCK:
		return build_hindexed(b, n, old, made);
	case DTCONV_COMBINER_STRUCT:
		return build_struct(b, n, made);
	case DTCONV_COMBINER_SUBARRAY:
		return build_subarray(b, n, old, made);
	case DTCONV_COMBINER_DARRAY:
		return build_darray(b, n, old, made);
	case DTCONV_COMBINER_RESIZED:
		return MPI_Type_create_resized(old, (MPI_Aint)n->displacements[0],
					       (MPI_Aint)n->displacements[1], made);
	case DTCONV_COMBINER_F90_REAL:
		return MPI_Type_create_f90_real(f90_argument(n->counts[0]),
						f90_argument(n->counts[1]), made);
	case DTCONV_COMBINER_F90_COMPLEX:
		return MPI_Type_create_f90_complex(f90_argument(n->counts[0]),
						   f90_argument(n->counts[1]), made);
	case DTCONV_COMBINER_F90_INTEGER:
		return MPI_Type_create_f90_integer(f90_argument(n->counts[0]), made);
	default:
		return mpi_types_refuse(b, "this MPI has no such constructor");
	}
}

/* Types that MPI owns: predefined and Fortran ones. */
static int is_owned_by_mpi(const struct tree_node *n)
{
	return n->combiner == DTCONV_COMBINER_NAMED ||
	       n->combiner == DTCONV_COMBINER_F90_REAL ||
	       n->combiner == DTCONV_COMBINER_F90_COMPLEX ||
	       n->combiner == DTCONV_COMBINER_F90_INTEGER;
}

static int add_node(struct mpi_types *b, const struct tree_node *n)
{
	MPI_Datatype made = MPI_DATATYPE_NULL;
	int error = 0;

	if (n->combiner == DTCONV_COMBINER_NAMED) {
		made = mpi_types_predefined(n->predefined);
		if (made == MPI_DATATYPE_NULL)
			return mpi_types_refuse(b, "this MPI has no such predefined type");
	} else {
		error = build_node(b, n, &made);
	}
	if (error == -1)
		return -1;
	/* These kinds are optional in MPI. */
	if (error && is_owned_by_mpi(n))
		return mpi_types_refuse(b, "this MPI has no such Fortran kind");
	if (error)
		return mpi_types_complain(b, "constructor", error);
	b->types[b->count] = made;
	b->derived[b->count++] = (char)!is_owned_by_mpi(n);
	return 0;
}

/* ---- whole trees --------------------------------------------------------------------- */

static int count_nodes(struct mpi_types *b, const uint64_t *words, size_t word_count,
		       size_t *nodes)
{
	struct tree_node n;
	size_t at = 0;

	for (*nodes = 0; at < word_count; ++*nodes) {
		at = tree_read(words, word_count, at, &n);
		if (!at)
			return mpi_types_refuse(b, "the flattened type is truncated");
	}
	return 0;
}

int mpi_types_build(struct mpi_types *b, const uint64_t *words, size_t word_count)
{
	struct tree_node n;
	size_t nodes;
	int error = 0;

	if (count_nodes(b, words, word_count, &nodes))
		return -1;
	b->types = calloc(nodes, sizeof(*b->types));
	b->derived = calloc(nodes, 1);
	if (!b->types || !b->derived)
		return mpi_types_refuse(b, "no memory");
	for (size_t at = 0; at < word_count && !error;) {
		at = tree_read(words, word_count, at, &n);
		error = add_node(b, &n);
	}
	if (error)
		return -1;
	error = MPI_Type_commit(&b->types[b->count - 1]);
	return error ? mpi_types_complain(b, "MPI_Type_commit", error) : 0;
}

void mpi_types_release(struct mpi_types *b)
{
	for (size_t i = 0; i < b->count; i++)
		if (b->derived[i])
			MPI_Type_free(&b->types[i]);
	free(b->types);
	free(b->derived);
	memset(b, 0, sizeof(*b));
}

/* ---- the library itself -------------------------------------------------------------- */

void mpi_types_avoid_network(void)
{
	setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
	setenv("OMPI_MCA_btl", "self", 0);
	setenv("OMPI_MCA_pml", "ob1", 0);
	setenv("OMPI_MCA_osc", "^ucx", 0);
	setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
	setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
	setenv("UCX_TLS", "self", 0);
}

void mpi_types_version(char *text, size_t room)
{
	char *version = calloc(MPI_MAX_LIBRARY_VERSION_STRING, 1);
	char number[16];
	int length = 0;

	if (!version)
		return;
	MPI_Get_library_version(version, &length);
	/* "Open MPI v4.1.4, package: ..." or "MPICH Version:", a tab, "4.0.2", a new line */
	version[strcspn(version, ",\n")] = '\0';
	if (sscanf(version, "MPICH Version: %15s", number) == 1)
		snprintf(text, room, "MPICH %s", number);
	else
		snprintf(text, room, "%s", version);
	free(version);
}
