/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bytes that move: whole, instance by instance, by absolute address. Both sides work on the
 * same memory, one after the other.
 */
#include "config.h"

#include "mpi_diff/checks.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "support/choices.h"

/* Packed memory for one side, guarded at its end; MPI_Pack_size may ask for more. */
#define PACKED_SLACK 1024

/* Overlapping data may be packed, not unpacked. */
static bool may_unpack(const struct specimen *s)
{
	return !ref_typemap_overlaps(&s->map, s->count);
}

/* ---- packing whole ------------------------------------------------------------------- */

static enum verdict check_pack_size(const struct specimen *s, struct finding *finding)
{
	int bytes = 0;
	int error = MPI_Pack_size((int)s->count, s->mpi, MPI_COMM_SELF, &bytes);

	if (error)
		return blame_mpi_error(finding, "MPI_Pack_size", error);
	if (bytes < 0 || (size_t)bytes < s->stage.bytes)
		return blame(finding, VERDICT_THEIRS,
			     "MPI_Pack_size: theirs %d, which is less than the data, %zu",
			     bytes, s->stage.bytes);
	return VERDICT_AGREED;
}

/* `count` instances by MPI_Pack, from `buffer` to `packed` with guards behind. */
static enum verdict pack_theirs(const struct specimen *s, int count, const void *buffer,
				MPI_Datatype type, unsigned char *packed,
				struct finding *finding)
{
	size_t room = s->stage.bytes + PACKED_SLACK;
	int position = 0;
	int error;

	stage_guard(packed, room);
	error = MPI_Pack(buffer, count, type, packed, (int)room, &position,
			 MPI_COMM_SELF);
	if (error)
		return blame_mpi_error(finding, "MPI_Pack", error);
	if (position < 0 || (size_t)position != s->stage.bytes)
		return blame(finding, VERDICT_THEIRS,
			     "MPI_Pack: ours %zu bytes, theirs %d", s->stage.bytes,
			     position);
	for (size_t i = s->stage.bytes; i < room; i++)
		if (packed[i] != stage_guard_byte(i))
			return blame(finding, VERDICT_THEIRS,
				     "MPI_Pack writes behind the packed data, at byte "
				     "%zu of %zu",
				     i, s->stage.bytes);
	return VERDICT_AGREED;
}

static enum verdict pack_ours(const struct specimen *s, size_t count, const void *buffer,
			      struct dtconv_type *type, unsigned char *packed,
			      struct finding *finding)
{
	size_t moved = 0;
	int status = dtconv_pack(type, count, buffer, packed, s->stage.bytes, &moved);

	if (status || moved != s->stage.bytes)
		return blame(finding, VERDICT_OURS, "dtconv_pack: %s, %zu of %zu bytes",
			     dtconv_strerror(status), moved, s->stage.bytes);
	return VERDICT_AGREED;
}

/* Packs `type` on both sides and compares with the stage's stream. */
static enum verdict compare_packing(const struct specimen *s, size_t count,
				    const void *our_buffer, struct dtconv_type *type,
				    const void *their_buffer, MPI_Datatype mpi,
				    struct finding *finding)
{
	unsigned char *ours = malloc(s->stage.bytes + PACKED_SLACK);
	unsigned char *theirs = malloc(s->stage.bytes + PACKED_SLACK);
	enum verdict verdict = VERDICT_UNASKED;

	if (ours && theirs) {
		verdict = pack_ours(s, count, our_buffer, type, ours, finding);
		if (verdict == VERDICT_AGREED)
			verdict = pack_theirs(s, (int)count, their_buffer, mpi, theirs,
					      finding);
		if (verdict == VERDICT_AGREED)
			verdict = judge_streams(s, finding, ours, theirs);
	}
	free(ours);
	free(theirs);
	return verdict;
}

enum verdict check_pack(struct specimen *s, struct finding *finding)
{
	enum verdict verdict;

	if (specimen_stage(s))
		return VERDICT_UNASKED;
	verdict = check_pack_size(s, finding);
	if (verdict == VERDICT_AGREED)
		verdict = compare_packing(s, s->count, s->stage.source, s->type,
					  s->stage.source, s->mpi, finding);
	return verdict;
}

/* ---- unpacking whole ----------------------------------------------------------------- */

/* Is all of the stream in the target, and nothing else touched? */
static enum verdict judge_target(struct specimen *s, enum verdict culprit,
				 const char *function, struct finding *finding)
{
	size_t wrong;
	ptrdiff_t place;

	stage_deliver(&s->stage, 0, s->stage.bytes);
	specimen_settle_padding(s, s->stage.bytes);
	wrong = stage_first_wrong(&s->stage);
	if (wrong == STAGE_RIGHT)
		return VERDICT_AGREED;
	place = stage_displacement(&s->stage, wrong);
	for (size_t i = 0; i < s->stage.bytes; i++)
		if (s->stage.map[i] == place)
			return blame(finding, culprit,
				     "%s: the byte at displacement %td is 0x%02x, not "
				     "0x%02x",
				     function, place, s->stage.target[place],
				     s->stage.stream[i]);
	return blame(finding, culprit, "%s writes to a gap, at displacement %td",
		     function, place);
}

static enum verdict unpack_ours(struct specimen *s, struct finding *finding)
{
	size_t moved = 0;
	int status = dtconv_unpack(s->type, s->count, s->stage.target, s->stage.stream,
				   s->stage.bytes, &moved);

	if (status || moved != s->stage.bytes)
		return blame(finding, VERDICT_OURS, "dtconv_unpack: %s, %zu of %zu bytes",
			     dtconv_strerror(status), moved, s->stage.bytes);
	return judge_target(s, VERDICT_OURS, "dtconv_unpack", finding);
}

static enum verdict unpack_theirs(struct specimen *s, struct finding *finding)
{
	int position = 0;
	int error = MPI_Unpack(s->stage.stream, (int)s->stage.bytes, &position,
			       s->stage.target, (int)s->count, s->mpi, MPI_COMM_SELF);

	if (error)
		return blame_mpi_error(finding, "MPI_Unpack", error);
	if (position < 0 || (size_t)position != s->stage.bytes)
		return blame(finding, VERDICT_THEIRS,
			     "MPI_Unpack: ours %zu bytes, theirs %d", s->stage.bytes,
			     position);
	return judge_target(s, VERDICT_THEIRS, "MPI_Unpack", finding);
}

enum verdict check_unpack(struct specimen *s, struct finding *finding)
{
	enum verdict verdict;

	if (!may_unpack(s) || specimen_stage(s))
		return VERDICT_UNASKED;
	verdict = unpack_ours(s, finding);
	if (verdict != VERDICT_AGREED)
		return verdict;
	stage_blank(&s->stage);
	return unpack_theirs(s, finding);
}

/* ---- in pieces ----------------------------------------------------------------------- */

static ptrdiff_t step_of(const struct specimen *s)
{
	return ref_typemap_extent(&s->map);
}

/* One MPI_Pack an instance, all into one stream. */
static enum verdict pack_pieces(const struct specimen *s, unsigned char *packed,
				struct finding *finding)
{
	int position = 0, error = 0;

	for (size_t i = 0; i < s->count && !error; i++)
		error = MPI_Pack(s->stage.source + (ptrdiff_t)i * step_of(s), 1, s->mpi,
				 packed, (int)(s->stage.bytes + PACKED_SLACK), &position,
				 MPI_COMM_SELF);
	if (error)
		return blame_mpi_error(finding, "MPI_Pack of one instance", error);
	if ((size_t)position != s->stage.bytes)
		return blame(finding, VERDICT_THEIRS,
			     "MPI_Pack, one by one: ours %zu bytes, theirs %d",
			     s->stage.bytes, position);
	return judge_streams(s, finding, s->stage.stream, packed);
}

static enum verdict unpack_pieces(struct specimen *s, const unsigned char *packed,
				  struct finding *finding)
{
	int position = 0, error = 0;

	for (size_t i = 0; i < s->count && !error; i++)
		error = MPI_Unpack(packed, (int)s->stage.bytes, &position,
				   s->stage.target + (ptrdiff_t)i * step_of(s), 1, s->mpi,
				   MPI_COMM_SELF);
	if (error)
		return blame_mpi_error(finding, "MPI_Unpack of one instance", error);
	return judge_target(s, VERDICT_THEIRS, "MPI_Unpack, one by one", finding);
}

/* The MPI's stream arrives here in two fragments, the second one first. */
static enum verdict convert_pieces(struct specimen *s, const unsigned char *packed,
				   struct finding *finding)
{
	struct dtconv_convertor *convertor = NULL;
	size_t cut = s->stage.bytes ? s->seed % (s->stage.bytes + 1) : 0, moved = 0;
	int status = dtconv_convertor_create_unpack(s->type, s->count, s->stage.target,
						    &convertor);

	if (!status)
		status = dtconv_convertor_seek(convertor, cut);
	if (!status)
		status = dtconv_convertor_unpack(convertor, packed + cut,
						 s->stage.bytes - cut, &moved);
	if (!status)
		status = dtconv_convertor_seek(convertor, 0);
	if (!status)
		status = dtconv_convertor_unpack(convertor, packed, cut, &moved);
	dtconv_convertor_destroy(convertor);
	if (status)
		return blame(finding, VERDICT_OURS, "unpacking, cut at byte %zu: %s", cut,
			     dtconv_strerror(status));
	return judge_target(s, VERDICT_OURS, "unpacking in two fragments", finding);
}

enum verdict check_pieces(struct specimen *s, struct finding *finding)
{
	unsigned char *packed;
	enum verdict verdict;

	if (specimen_stage(s))
		return VERDICT_UNASKED;
	packed = malloc(s->stage.bytes + PACKED_SLACK);
	if (!packed)
		return VERDICT_UNASKED;
	verdict = pack_pieces(s, packed, finding);
	if (verdict == VERDICT_AGREED && may_unpack(s)) {
		verdict = unpack_pieces(s, packed, finding);
		stage_blank(&s->stage);
		if (verdict == VERDICT_AGREED)
			verdict = convert_pieces(s, packed, finding);
	}
	free(packed);
	return verdict;
}

/* ---- absolute addresses -------------------------------------------------------------- */

/* struct([count], [address], [type]) on both sides, whatever the MPI answers. */
static int wrap(const struct specimen *s, struct dtconv_type **ours, MPI_Datatype *theirs)
{
	int count = (int)s->count;
	MPI_Aint address = 0;
	MPI_Datatype type = s->mpi;
	ptrdiff_t displacement = (ptrdiff_t)(uintptr_t)s->stage.source;
	int error = MPI_Get_address(s->stage.source, &address);

	if (dtconv_type_create_struct(s->context, 1, &s->count, &displacement, &s->type,
				      ours) ||
	    dtconv_type_commit(*ours))
		return -1;
	if (!error)
		error = MPI_Type_create_struct(1, &count, &address, &type, theirs);
	return error ? error : MPI_Type_commit(theirs);
}

enum verdict check_bottom(struct specimen *s, struct finding *finding)
{
	struct dtconv_type *ours = NULL;
	MPI_Datatype theirs = MPI_DATATYPE_NULL;
	enum verdict verdict;
	int error;

	if (specimen_stage(s))
		return VERDICT_UNASKED;
	error = wrap(s, &ours, &theirs);
	if (error == -1)
		verdict = blame(finding, VERDICT_OURS, "no struct of absolute address");
	else if (error)
		verdict = blame_mpi_error(finding, "a struct of absolute address", error);
	else
		verdict = compare_packing(s, 1, NULL, ours, MPI_BOTTOM, theirs, finding);
	if (theirs != MPI_DATATYPE_NULL)
		MPI_Type_free(&theirs);
	dtconv_type_unref(ours);
	return verdict;
}
