/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Resharding: a matrix moves from four ranks, which hold rows, to three ranks, which hold columns and store them
 * transposed. All ranks are in this process; a real one sends what is packed here over its network.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dtconv/dtconv.h>

enum { ROWS = 12, COLUMNS = 9, SENDERS = 4, RECEIVERS = 3 };
enum { HEIGHT = ROWS / SENDERS, WIDTH = COLUMNS / RECEIVERS };

static const size_t matrix[] = { ROWS, COLUMNS };
static int source[SENDERS][HEIGHT][COLUMNS];
static int target[RECEIVERS][WIDTH][ROWS]; /* the column is the slower dimension */

static void check(struct dtconv_context *context, int status)
{
	char sentence[256];

	if (status == 0)
		return;
	dtconv_context_error(context, sentence, sizeof(sentence));
	fprintf(stderr, "%s\n", sentence);
	exit(EXIT_FAILURE);
}

/* Both placements: a box for each rank, at the start of its buffer. */
static struct dtconv_reshard *describe(struct dtconv_context *context)
{
	static const size_t rows[] = { HEIGHT, COLUMNS }, columns[] = { ROWS, WIDTH };
	static const size_t transposed[] = { 1, 0 };
	static size_t first_row[SENDERS][2], first_column[RECEIVERS][2];
	struct dtconv_reshard_box have[SENDERS] = { { 0 } }, want[RECEIVERS] = { { 0 } };
	struct dtconv_reshard *reshard;

	for (size_t rank = 0; rank < SENDERS; rank++) {
		first_row[rank][0] = rank * HEIGHT;
		have[rank].rank = rank;
		have[rank].lower = first_row[rank];
		have[rank].sizes = rows;
	}
	for (size_t rank = 0; rank < RECEIVERS; rank++) {
		first_column[rank][1] = rank * WIDTH;
		want[rank].rank = rank;
		want[rank].lower = first_column[rank];
		want[rank].sizes = columns;
		want[rank].order = transposed;
	}
	const struct dtconv_reshard_params params = {
		.struct_size = sizeof(params),
		.rank_count = SENDERS,
		.ndims = 2,
		.sizes = matrix,
		.element = dtconv_type_predefined(context, DTCONV_INT),
		.source = { SENDERS, have },
		.target = { RECEIVERS, want },
	};
	check(context, dtconv_reshard_create(&params, &reshard));
	check(context, dtconv_reshard_check(reshard));
	return reshard;
}

/* The message that @rank receives from @peer, as its receiver plans it. */
static void receive(struct dtconv_context *context, const struct dtconv_reshard *reshard,
		    size_t rank, size_t peer, const void *packed, size_t bytes)
{
	struct dtconv_reshard_plan_attr attr = { .struct_size = sizeof(attr) };
	struct dtconv_reshard_message recv = { .struct_size = sizeof(recv) };
	struct dtconv_reshard_plan *plan;

	check(context, dtconv_reshard_plan_create(reshard, rank, &plan));
	check(context, dtconv_reshard_plan_query(plan, &attr));
	for (size_t i = 0; i < attr.recv_count; i++) {
		check(context, dtconv_reshard_plan_query_recv(plan, i, &recv));
		if (recv.peer == peer)
			check(context, dtconv_unpack(recv.type, 1, target[rank], packed,
						     bytes, NULL));
	}
	dtconv_reshard_plan_destroy(plan);
}

static void send_all(struct dtconv_context *context, const struct dtconv_reshard *reshard,
		     size_t rank)
{
	struct dtconv_reshard_plan_attr attr = { .struct_size = sizeof(attr) };
	struct dtconv_reshard_message send = { .struct_size = sizeof(send) };
	struct dtconv_reshard_plan *plan;
	char packed[sizeof(source[0])], text[128];
	size_t length, bytes;

	check(context, dtconv_reshard_plan_create(reshard, rank, &plan));
	check(context, dtconv_reshard_plan_query(plan, &attr));
	for (size_t i = 0; i < attr.send_count; i++) {
		check(context, dtconv_reshard_plan_query_send(plan, i, &send));
		check(context,
		      dtconv_type_format(send.type, text, sizeof(text), &length));
		printf("rank %zu to %zu: %zu bytes, %s\n", rank, send.peer, send.bytes,
		       text);
		check(context, dtconv_pack(send.type, 1, source[rank], packed,
					   sizeof(packed), &bytes));
		receive(context, reshard, send.peer, rank, packed, bytes);
	}
	dtconv_reshard_plan_destroy(plan);
}

int main(void)
{
	struct dtconv_context *context;
	int wrong = 0;

	for (int i = 0; i < ROWS * COLUMNS; i++)
		source[i / COLUMNS / HEIGHT][i / COLUMNS % HEIGHT][i % COLUMNS] = i;
	memset(target, 0xff, sizeof(target));
	if (dtconv_context_create(NULL, &context) != 0)
		return EXIT_FAILURE;
	struct dtconv_reshard *reshard = describe(context);
	for (size_t rank = 0; rank < SENDERS; rank++)
		send_all(context, reshard, rank);
	dtconv_reshard_destroy(reshard);
	dtconv_context_destroy(context);

	for (int i = 0; i < ROWS * COLUMNS; i++)
		wrong += target[i % COLUMNS / WIDTH][i % COLUMNS % WIDTH][i / COLUMNS] !=
			 i;
	printf("%d of %d elements are wrong\n", wrong, ROWS * COLUMNS);
	return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
