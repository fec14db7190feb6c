/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A message to oneself that ends early, between two elements: where its bytes go, and how many
 * elements and instances the MPI counts in it.
 */
#include "config.h"

#include "mpi_diff/checks.h"

#include <stdlib.h>

#define TAG 5

/* The first elements of a stream, back to back, as the MPI's basic types. */
struct message {
	int *lengths; /* all 1 */
	MPI_Aint *places;
	MPI_Datatype *types;
	size_t elements;
	size_t bytes;
};

static void release_message(struct message *m)
{
	free(m->lengths);
	free(m->places);
	free(m->types);
}

/* 0, or -1 if memory is short or the MPI has no name for an element. */
static int fill_message(const struct specimen *s, struct message *m)
{
	m->lengths = calloc(m->elements + 1, sizeof(*m->lengths));
	m->places = calloc(m->elements + 1, sizeof(*m->places));
	m->types = calloc(m->elements + 1, sizeof(*m->types));
	if (!m->lengths || !m->places || !m->types)
		return -1;
	for (size_t i = 0; i < m->elements; i++) {
		const struct ref_entry *entry = &s->map.entries[i % s->map.count];

		m->lengths[i] = 1;
		m->places[i] = (MPI_Aint)m->bytes;
		m->types[i] = mpi_types_predefined((enum dtconv_predefined)entry->basic);
		m->bytes += entry->size;
		if (m->types[i] == MPI_DATATYPE_NULL)
			return -1;
	}
	return 0;
}

static int send_to_self(struct specimen *s, const struct message *m, MPI_Status *status)
{
	MPI_Datatype type = MPI_DATATYPE_NULL;
	int error = MPI_Type_create_struct((int)m->elements, m->lengths, m->places,
					   m->types, &type);

	if (!error)
		error = MPI_Type_commit(&type);
	if (!error)
		error = MPI_Sendrecv(s->stage.stream, 1, type, 0, TAG, s->stage.target,
				     (int)s->count, s->mpi, 0, TAG, MPI_COMM_SELF,
				     status);
	if (type != MPI_DATATYPE_NULL)
		MPI_Type_free(&type);
	return error;
}

static enum verdict compare_bytes(struct specimen *s, const struct message *m,
				  struct finding *finding)
{
	size_t wrong;

	stage_deliver(&s->stage, 0, m->bytes);
	specimen_settle_padding(s, m->bytes);
	wrong = stage_first_wrong(&s->stage);
	if (wrong == STAGE_RIGHT)
		return VERDICT_AGREED;
	return blame(
		finding, VERDICT_THEIRS,
		"after a message of %zu of %zu bytes the byte at displacement %td is "
		"wrong",
		m->bytes, s->stage.bytes, stage_displacement(&s->stage, wrong));
}

static enum verdict compare_elements(const struct specimen *s, const struct message *m,
				     MPI_Status *status, struct finding *finding)
{
	size_t ours = 0;
	int theirs = 0, error;

	if (dtconv_type_query_elements(s->type, m->bytes, &ours) || ours != m->elements)
		return blame(finding, VERDICT_OURS,
			     "elements in %zu bytes: ours %zu, oracle %zu", m->bytes,
			     ours, m->elements);
	error = MPI_Get_elements(status, s->mpi, &theirs);
	if (error)
		return blame_mpi_error(finding, "MPI_Get_elements", error);
	if (theirs < 0 || (size_t)theirs != m->elements)
		return blame(finding, VERDICT_THEIRS,
			     "MPI_Get_elements after %zu bytes: ours %zu, theirs %d",
			     m->bytes, m->elements, theirs);
	return VERDICT_AGREED;
}

static enum verdict compare_count(const struct specimen *s, const struct message *m,
				  MPI_Status *status, struct finding *finding)
{
	bool whole = m->bytes % s->map.size == 0;
	int ours = whole ? (int)(m->bytes / s->map.size) : MPI_UNDEFINED, theirs = 0;
	int error = MPI_Get_count(status, s->mpi, &theirs);

	if (error)
		return blame_mpi_error(finding, "MPI_Get_count", error);
	if (ours != theirs)
		return blame(finding, VERDICT_THEIRS,
			     "MPI_Get_count after %zu bytes: ours %d, theirs %d",
			     m->bytes, ours, theirs);
	return VERDICT_AGREED;
}

static enum verdict receive(struct specimen *s, struct message *m,
			    struct finding *finding)
{
	MPI_Status status;
	enum verdict verdict;
	int error;

	if (fill_message(s, m))
		return VERDICT_UNASKED;
	error = send_to_self(s, m, &status);
	if (error)
		return blame_mpi_error(finding, "MPI_Sendrecv", error);
	verdict = compare_bytes(s, m, finding);
	if (verdict == VERDICT_AGREED)
		verdict = compare_elements(s, m, &status, finding);
	if (verdict == VERDICT_AGREED)
		verdict = compare_count(s, m, &status, finding);
	return verdict;
}

enum verdict check_receive(struct specimen *s, struct finding *finding)
{
	size_t most = s->map.count * s->count;
	struct message m = { .elements = (s->seed >> 8) % (most + 1) };
	enum verdict verdict;

	if (s->map.size == 0 || ref_typemap_overlaps(&s->map, s->count) ||
	    specimen_stage(s))
		return VERDICT_UNASKED;
	verdict = receive(s, &m, finding);
	release_message(&m);
	return verdict;
}
