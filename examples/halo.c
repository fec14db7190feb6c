/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The halo of a 3-D box in host memory: 6 faces, 12 edges and 8 corners, packed by one batch and unpacked by
 * another. Plain loops check every packed byte. The box is its own neighbour on all sides, so that one process
 * shows the whole exchange; with MPI, each packed message goes to another rank.
 */
#include <stdio.h>
#include <stdlib.h>

#include <dtconv/dtconv.h>

/* A box of INSIDE^3 cells with RIM cells of halo on each side. */
enum { INSIDE = 20, RIM = 2, N = INSIDE + 2 * RIM, NEIGHBOURS = 26 };
enum {
	CELLS = N * N * N - INSIDE * INSIDE * INSIDE
}; /* in the halo, and in all messages */

typedef double box[N][N][N];

/* The cells of one message: `size` cells from `start` on each axis. */
struct region {
	size_t start[3], size[3];
};

static void check(struct dtconv_context *context, int status)
{
	char sentence[256];

	if (status == 0)
		return;
	dtconv_context_error(context, sentence, sizeof(sentence));
	fprintf(stderr, "%s\n", sentence);
	exit(EXIT_FAILURE);
}

/* The direction of neighbour 0 to 25: -1, 0 or 1 on each axis, not all 0. */
static void find_direction(int neighbour, int direction[3])
{
	int place = neighbour < 13 ? neighbour : neighbour + 1;

	direction[0] = place / 9 - 1;
	direction[1] = place / 3 % 3 - 1;
	direction[2] = place % 3 - 1;
}

/* The cells that a neighbour needs: inside the box, next to its surface. */
static struct region region_to_send(const int direction[3])
{
	struct region region;

	for (int axis = 0; axis < 3; axis++) {
		region.size[axis] = direction[axis] == 0 ? INSIDE : RIM;
		region.start[axis] = direction[axis] <= 0 ? RIM : INSIDE;
	}
	return region;
}

/* The halo cells that a neighbour fills. */
static struct region region_to_receive(const int direction[3])
{
	struct region region;

	for (int axis = 0; axis < 3; axis++) {
		region.size[axis] = direction[axis] == 0 ? INSIDE : RIM;
		region.start[axis] = direction[axis] < 0    ? 0
				     : direction[axis] == 0 ? RIM
							    : N - RIM;
	}
	return region;
}

static struct dtconv_type *make_type(struct dtconv_context *context,
				     const struct region *region)
{
	static const size_t sizes[3] = { N, N, N };
	struct dtconv_type *type;

	check(context, dtconv_type_create_subarray(
			       3, sizes, region->size, region->start, DTCONV_ORDER_C,
			       dtconv_type_predefined(context, DTCONV_DOUBLE), &type));
	check(context, dtconv_type_commit(type));
	return type;
}

/* One entry for each neighbour; the messages lie one after the other. */
static struct dtconv_batch *make_batch(struct dtconv_context *context, box cells,
				       double *messages,
				       enum dtconv_batch_direction direction)
{
	struct dtconv_batch_entry entries[NEIGHBOURS];
	struct dtconv_batch *batch;

	for (int i = 0; i < NEIGHBOURS; i++) {
		int to[3];
		struct region region;

		/* What we send to the right comes back to us from the left. */
		find_direction(direction == DTCONV_BATCH_PACK ? i : NEIGHBOURS - 1 - i,
			       to);
		region = direction == DTCONV_BATCH_PACK ? region_to_send(to)
							: region_to_receive(to);
		size_t values = region.size[0] * region.size[1] * region.size[2];

		entries[i] = (struct dtconv_batch_entry){
			.type = make_type(context, &region),
			.count = 1,
			.buffer = cells,
			.packed = messages,
			.bytes = values * sizeof(double),
			.direction = direction,
		};
		messages += values;
	}
	check(context, dtconv_batch_create(context, entries, NEIGHBOURS, NULL, &batch));
	for (int i = 0; i < NEIGHBOURS; i++)
		dtconv_type_unref(entries[i].type); /* the batch holds references */
	return batch;
}

/* Compare the messages with what plain loops would have packed. */
static int count_wrong_messages(box cells, const double *message)
{
	int wrong = 0;

	for (int i = 0; i < NEIGHBOURS; i++) {
		int to[3];

		find_direction(i, to);
		const struct region r = region_to_send(to);

		for (size_t x = 0; x < r.size[0]; x++)
			for (size_t y = 0; y < r.size[1]; y++)
				for (size_t z = 0; z < r.size[2]; z++)
					wrong += *message++ !=
						 cells[r.start[0] + x][r.start[1] + y]
						      [r.start[2] + z];
	}
	return wrong;
}

static int number_of(int x, int y, int z)
{
	return (x * N + y) * N + z;
}

/* Number the inside; the halo is -1 until the exchange. */
static void fill(box cells)
{
	for (int i = 0; i < N * N * N; i++)
		cells[i / N / N][i / N % N][i % N] = -1;
	for (int x = RIM; x < N - RIM; x++)
		for (int y = RIM; y < N - RIM; y++)
			for (int z = RIM; z < N - RIM; z++)
				cells[x][y][z] = number_of(x, y, z);
}

/* The cell on the other side of the box that a halo cell is a copy of. */
static int wrap(int i)
{
	return i < RIM ? i + INSIDE : i >= N - RIM ? i - INSIDE : i;
}

static int count_wrong_cells(box cells)
{
	int wrong = 0;

	for (int x = 0; x < N; x++)
		for (int y = 0; y < N; y++)
			for (int z = 0; z < N; z++)
				wrong += cells[x][y][z] !=
					 number_of(wrap(x), wrap(y), wrap(z));
	return wrong;
}

int main(void)
{
	static box cells;
	static double messages[CELLS];
	struct dtconv_context *context;
	size_t packed, unpacked;

	if (dtconv_context_create(NULL, &context) != 0)
		return EXIT_FAILURE;
	struct dtconv_batch *send =
		make_batch(context, cells, messages, DTCONV_BATCH_PACK);
	struct dtconv_batch *receive =
		make_batch(context, cells, messages, DTCONV_BATCH_UNPACK);

	fill(cells);
	check(context, dtconv_batch_run(send, &packed));
	/* Here MPI_Isend and MPI_Irecv would exchange the messages. */
	int wrong = count_wrong_messages(cells, messages);

	check(context, dtconv_batch_run(receive, &unpacked));
	wrong += count_wrong_cells(cells);
	printf("%d messages, %zu bytes: %d values wrong\n", NEIGHBOURS, packed, wrong);
	dtconv_batch_destroy(send);
	dtconv_batch_destroy(receive);
	dtconv_context_destroy(context);
	return packed == sizeof(messages) && unpacked == packed && wrong == 0
		       ? EXIT_SUCCESS
		       : EXIT_FAILURE;
}
