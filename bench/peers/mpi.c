/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The adapter for MPI libraries: times MPI_Pack and MPI_Unpack of the row's type. Compiled
 * once with each MPI compiler; one process, no network.
 */
#include <limits.h>
#include <stdio.h>

#include "bench/peers/mpi_types.h"
#include "bench/peers/serve.h"

static struct mpi_types row_types;

static void release(void)
{
	mpi_types_release(&row_types);
}

/* MPI_Pack counts in int. */
static int check_limits(struct mpi_types *b, const struct peer_row *row)
{
	int bytes = 0;
	int error;

	if (row->count > INT_MAX)
		return mpi_types_refuse(b, "the count is larger than this MPI's int");
	if (row->packed_bytes > INT_MAX)
		return mpi_types_refuse(b, "the packed size is larger than this MPI's int");
	error = MPI_Pack_size((int)row->count, b->types[b->count - 1], MPI_COMM_SELF,
			      &bytes);
	if (error)
		return mpi_types_complain(b, "MPI_Pack_size", error);
	if ((size_t)bytes > row->capacity)
		return mpi_types_refuse(
			b, "MPI_Pack_size returns more than the packed bytes");
	return 0;
}

static int build(const struct peer_row *row, char *text, size_t room)
{
	struct mpi_types *b = &row_types;

	*b = (struct mpi_types){ .text = text, .room = room };
	if (mpi_types_build(b, row->words, row->word_count))
		return -1;
	return check_limits(b, row);
}

static int pack(const struct peer_row *row, char *text, size_t room)
{
	struct mpi_types *b = &row_types;
	int capacity = row->capacity > INT_MAX ? INT_MAX : (int)row->capacity;
	int position = 0;
	int error = MPI_Pack(row->user, (int)row->count, b->types[b->count - 1],
			     row->packed, capacity, &position, MPI_COMM_SELF);

	b->text = text;
	b->room = room;
	if (error)
		return mpi_types_complain(b, "MPI_Pack", error);
	return (size_t)position == row->packed_bytes
		       ? 0
		       : mpi_types_refuse(b, "MPI_Pack packed fewer bytes than expected");
}

static int unpack(const struct peer_row *row, char *text, size_t room)
{
	struct mpi_types *b = &row_types;
	int position = 0;
	int error = MPI_Unpack(row->packed, (int)row->packed_bytes, &position, row->user,
			       (int)row->count, b->types[b->count - 1], MPI_COMM_SELF);

	b->text = text;
	b->room = room;
	if (error)
		return mpi_types_complain(b, "MPI_Unpack", error);
	return (size_t)position == row->packed_bytes
		       ? 0
		       : mpi_types_refuse(
				 b, "MPI_Unpack unpacked fewer bytes than expected");
}

static int start(char *text, size_t room)
{
	mpi_types_avoid_network();
	if (MPI_Init(NULL, NULL)) {
		snprintf(text, room, "MPI_Init failed");
		return -1;
	}
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	mpi_types_version(text, room);
	return 0;
}

static void stop(void)
{
	MPI_Finalize();
}

int main(int argc, char **argv)
{
	static const struct peer_adapter adapter = {
		.start = start,
		.build = build,
		.pack = pack,
		.unpack = unpack,
		.release = release,
		.stop = stop,
	};

	return peer_serve(argc, argv, &adapter);
}
