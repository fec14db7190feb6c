/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * external32: how long a stream is, packing it, unpacking it. Values are such that every
 * element fits; types that overlap are left out, since their values could not be chosen.
 */
#include "config.h"

#include "mpi_diff/checks.h"
#include "mpi_diff/external32.h"

#include <stdlib.h>

#include <dtconv/representation.h>

/* Room behind the stream, guarded. */
#define SLACK 256

/* A specimen in external32. */
struct external {
	struct dtconv_representation representation;
	unsigned char *stream; /* expected */
	size_t bytes;
};

static int open_external(struct specimen *s, struct external *e)
{
	*e = (struct external){ .bytes = 0 };
	if (dtconv_representation_find("external32", &e->representation) ||
	    ref_typemap_overlaps(&s->map, s->count) || specimen_stage(s))
		return -1;
	e->stream = external32_stream(s, &e->bytes);
	return e->stream ? 0 : -1;
}

static struct dtconv_convertor_params params_of(const struct external *e)
{
	return (struct dtconv_convertor_params){
		.struct_size = sizeof(struct dtconv_convertor_params),
		.representation = &e->representation,
	};
}

/* ---- length -------------------------------------------------------------------------- */

static enum verdict compare_sizes(const struct specimen *s, const struct external *e,
				  struct finding *finding)
{
	size_t ours = 0;
	MPI_Aint theirs = 0;
	int status = dtconv_packed_size(s->type, s->count, &e->representation, &ours);
	int error = MPI_Pack_external_size("external32", (int)s->count, s->mpi, &theirs);

	if (status || ours != e->bytes)
		return blame(finding, VERDICT_OURS,
			     "external32 size: ours %zu (%s), theirs %td, oracle %zu",
			     ours, dtconv_strerror(status), (ptrdiff_t)theirs, e->bytes);
	if (error)
		return blame_mpi_error(finding, "MPI_Pack_external_size", error);
	if (theirs != (MPI_Aint)ours)
		return blame(finding, VERDICT_THEIRS,
			     "external32 size: ours %zu, theirs %td", ours,
			     (ptrdiff_t)theirs);
	return VERDICT_AGREED;
}

/* ---- packing ------------------------------------------------------------------------- */

static enum verdict pack_ours(const struct specimen *s, const struct external *e,
			      unsigned char *packed, struct finding *finding)
{
	struct dtconv_convertor_params params = params_of(e);
	size_t moved = 0;
	int status = dtconv_pack_with(s->type, s->count, s->stage.source, packed,
				      e->bytes, &params, &moved);

	if (status || moved != e->bytes)
		return blame(finding, VERDICT_OURS,
			     "dtconv_pack_with: %s, %zu of %zu bytes",
			     dtconv_strerror(status), moved, e->bytes);
	for (size_t i = 0; i < e->bytes; i++)
		if (packed[i] != e->stream[i])
			return blame(finding, VERDICT_OURS,
				     "external32 byte %zu: ours 0x%02x, oracle 0x%02x", i,
				     packed[i], e->stream[i]);
	return VERDICT_AGREED;
}

static enum verdict pack_theirs(const struct specimen *s, const struct external *e,
				unsigned char *packed, struct finding *finding)
{
	MPI_Aint position = 0;
	int error;

	stage_guard(packed, e->bytes + SLACK);
	error = MPI_Pack_external("external32", s->stage.source, (int)s->count, s->mpi,
				  packed, (MPI_Aint)(e->bytes + SLACK), &position);
	if (error)
		return blame_mpi_error(finding, "MPI_Pack_external", error);
	for (size_t i = 0; i < e->bytes && (MPI_Aint)i < position; i++)
		if (packed[i] != e->stream[i])
			return blame(finding, VERDICT_THEIRS,
				     "external32 byte %zu: ours 0x%02x, theirs 0x%02x", i,
				     e->stream[i], packed[i]);
	if (position != (MPI_Aint)e->bytes)
		return blame(finding, VERDICT_THEIRS,
			     "MPI_Pack_external: ours %zu bytes, theirs %td", e->bytes,
			     (ptrdiff_t)position);
	for (size_t i = e->bytes; i < e->bytes + SLACK; i++)
		if (packed[i] != stage_guard_byte(i))
			return blame(finding, VERDICT_THEIRS,
				     "MPI_Pack_external writes behind its %zu bytes",
				     e->bytes);
	return VERDICT_AGREED;
}

static enum verdict compare_packing(const struct specimen *s, const struct external *e,
				    struct finding *finding)
{
	unsigned char *packed = malloc(e->bytes + SLACK);
	enum verdict verdict = VERDICT_UNASKED;

	if (packed) {
		verdict = pack_ours(s, e, packed, finding);
		if (verdict == VERDICT_AGREED)
			verdict = pack_theirs(s, e, packed, finding);
	}
	free(packed);
	return verdict;
}

/* ---- unpacking ----------------------------------------------------------------------- */

static enum verdict judge_target(struct specimen *s, enum verdict culprit,
				 const char *function, struct finding *finding)
{
	size_t wrong;

	stage_deliver(&s->stage, 0, s->stage.bytes);
	specimen_settle_padding(s, s->stage.bytes);
	wrong = stage_first_wrong(&s->stage);
	if (wrong == STAGE_RIGHT)
		return VERDICT_AGREED;
	return blame(finding, culprit, "%s: the byte at displacement %td is wrong",
		     function, stage_displacement(&s->stage, wrong));
}

static enum verdict unpack_ours(struct specimen *s, const struct external *e,
				struct finding *finding)
{
	struct dtconv_convertor_params params = params_of(e);
	size_t moved = 0;
	int status = dtconv_unpack_with(s->type, s->count, s->stage.target, e->stream,
					e->bytes, &params, &moved);

	if (status || moved != e->bytes)
		return blame(finding, VERDICT_OURS,
			     "dtconv_unpack_with: %s, %zu of %zu bytes",
			     dtconv_strerror(status), moved, e->bytes);
	return judge_target(s, VERDICT_OURS, "dtconv_unpack_with", finding);
}

static enum verdict unpack_theirs(struct specimen *s, const struct external *e,
				  struct finding *finding)
{
	MPI_Aint position = 0;
	int error = MPI_Unpack_external("external32", e->stream, (MPI_Aint)e->bytes,
					&position, s->stage.target, (int)s->count,
					s->mpi);

	if (error)
		return blame_mpi_error(finding, "MPI_Unpack_external", error);
	if (position != (MPI_Aint)e->bytes)
		return blame(finding, VERDICT_THEIRS,
			     "MPI_Unpack_external: ours %zu bytes, theirs %td", e->bytes,
			     (ptrdiff_t)position);
	return judge_target(s, VERDICT_THEIRS, "MPI_Unpack_external", finding);
}

static enum verdict compare_unpacking(struct specimen *s, const struct external *e,
				      struct finding *finding)
{
	enum verdict verdict = unpack_ours(s, e, finding);

	if (verdict != VERDICT_AGREED)
		return verdict;
	stage_blank(&s->stage);
	return unpack_theirs(s, e, finding);
}

/* ---- the checks ---------------------------------------------------------------------- */

enum verdict check_external(struct specimen *s, struct finding *finding)
{
	struct external e;
	enum verdict verdict = VERDICT_UNASKED;

	if (!open_external(s, &e)) {
		if (finding->check == CHECK_EXTERNAL_SIZE)
			verdict = compare_sizes(s, &e, finding);
		else if (finding->check == CHECK_EXTERNAL_PACK)
			verdict = compare_packing(s, &e, finding);
		else
			verdict = compare_unpacking(s, &e, finding);
	}
	free(e.stream);
	return verdict;
}
