/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Resharding: random placements element by element, the choice among replicas, large numbers of ranks, and input
 * that is wrong or hostile.
 */
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reshard_case.h"
#include "support/allocators.h"
#include "support/limits_in_words.h"
#include "support/random_type.h"
#include "support/t.h"

/* ---- plans ----------------------------------------------------------------------------- */

static struct dtconv_reshard_plan_attr plan_attr(const struct dtconv_reshard_plan *plan)
{
	struct dtconv_reshard_plan_attr attr = { .struct_size = sizeof(attr) };

	t_ok(dtconv_reshard_plan_query(plan, &attr));
	return attr;
}

static struct dtconv_reshard_message send_at(const struct dtconv_reshard_plan *plan,
					     size_t i)
{
	struct dtconv_reshard_message message = { .struct_size = sizeof(message) };

	t_ok(dtconv_reshard_plan_query_send(plan, i, &message));
	return message;
}

static struct dtconv_reshard_message recv_at(const struct dtconv_reshard_plan *plan,
					     size_t i)
{
	struct dtconv_reshard_message message = { .struct_size = sizeof(message) };

	t_ok(dtconv_reshard_plan_query_recv(plan, i, &message));
	return message;
}

/* The message that a rank receives from a peer. */
static struct dtconv_reshard_message recv_from(const struct dtconv_reshard_plan *plan,
					       size_t peer)
{
	for (size_t i = 0; i < plan_attr(plan).recv_count; i++)
		if (recv_at(plan, i).peer == peer)
			return recv_at(plan, i);
	ck_abort_msg("nothing is received from rank %zu", peer);
}

/* ---- random placements ----------------------------------------------------------------- */

static struct reshard_case one;

/* Types of the two ends match, and have the sizes that the messages say. */
static void check_ends(const struct dtconv_reshard_message *send,
		       const struct dtconv_reshard_message *recv)
{
	enum dtconv_signature_relation relation;

	ck_assert_uint_gt(send->bytes, 0);
	ck_assert_uint_eq(send->bytes, recv->bytes);
	ck_assert_uint_eq(send->pieces, recv->pieces);
	ck_assert_uint_eq(t_attr(send->type).size, send->bytes);
	ck_assert_uint_eq(t_attr(recv->type).size, recv->bytes);
	t_ok(dtconv_type_compare_signature(send->type, 1, recv->type, 1, &relation));
	ck_assert_int_eq(relation, DTCONV_SIGNATURE_EQUAL);
}

/* Move one message from the sender's buffer into the receiver's. */
static void move(size_t from, size_t to, const struct dtconv_reshard_message *send,
		 const struct dtconv_reshard_message *recv)
{
	static unsigned char packed[65536];
	size_t bytes;

	ck_assert_uint_le(send->bytes, sizeof(packed));
	t_ok(dtconv_pack(send->type, 1, one.source.buffers[from] + one.source.begin[from],
			 packed, sizeof(packed), &bytes));
	ck_assert_uint_eq(bytes, send->bytes);
	t_ok(dtconv_unpack(recv->type, 1, one.target.buffers[to] + one.target.begin[to],
			   packed, bytes, NULL));
}

static void move_all(struct dtconv_reshard_plan *const *plans)
{
	size_t sent = 0, received = 0;

	for (size_t rank = 0; rank < one.rank_count; rank++) {
		const struct dtconv_reshard_plan_attr attr = plan_attr(plans[rank]);

		for (size_t i = 0; i < attr.send_count; i++) {
			const struct dtconv_reshard_message send =
				send_at(plans[rank], i);
			const struct dtconv_reshard_message recv =
				recv_from(plans[send.peer], rank);

			ck_assert(i == 0 || send_at(plans[rank], i - 1).peer < send.peer);
			check_ends(&send, &recv);
			move(rank, send.peer, &send, &recv);
		}
		sent += attr.send_bytes;
		received += attr.recv_bytes;
	}
	ck_assert_uint_eq(sent, received);
}

static size_t wanted_bytes(void)
{
	size_t bytes = 0;

	for (size_t i = 0; i < one.target.count; i++) {
		size_t elements = one.size;

		for (size_t d = 0; d < one.ndims; d++)
			elements *= one.target.boxes[i].sizes[d];
		bytes += elements;
	}
	return bytes;
}

static void check_case(uint64_t seed)
{
	struct dtconv_reshard_plan *plans[CASE_RANKS] = { NULL };
	struct dtconv_reshard *reshard;
	size_t received = 0;

	reshard_case_create(&one, seed);
	const struct dtconv_reshard_params params = reshard_case_params(&one);
	t_ok(dtconv_reshard_create(&params, &reshard));
	t_ok(dtconv_reshard_check(reshard));
	for (size_t rank = 0; rank < one.rank_count; rank++) {
		t_ok(dtconv_reshard_plan_create(reshard, rank, &plans[rank]));
		received += plan_attr(plans[rank]).recv_bytes;
	}
	dtconv_reshard_destroy(reshard);
	ck_assert_uint_eq(received, wanted_bytes());
	for (int ranks = 0; ranks < 2; ranks++) {
		reshard_case_fill(&one, ranks);
		reshard_case_guard(&one);
		move_all(plans);
		ck_assert_msg(reshard_case_is_right(&one, ranks),
			      ranks ? "seed 0x%llx: other senders"
				    : "seed 0x%llx: wrong elements",
			      (unsigned long long)seed);
	}
	for (size_t rank = 0; rank < one.rank_count; rank++)
		dtconv_reshard_plan_destroy(plans[rank]);
	reshard_case_destroy(&one);
}

/* Ten cases of a thousand placements each, so that they may run at once. */
START_TEST(random_placements_move_every_element)
{
	struct random_stream seeds = { random_seed(1) + (uint64_t)_i };

	for (int i = 0; i < 1000; i++)
		check_case(random_next(&seeds));
}
END_TEST

/* ---- placements of one dimension ------------------------------------------------------- */

enum { ROW_BOXES = 40000 };

struct row {
	size_t lower[ROW_BOXES], sizes[ROW_BOXES];
	struct dtconv_reshard_box boxes[ROW_BOXES];
	size_t count;
};

static struct row source, target;
static size_t row_elements;

/* A dense box at the start of its rank's buffer. */
static void add(struct row *row, size_t rank, size_t lower, size_t size)
{
	const size_t i = row->count++;

	row->lower[i] = lower;
	row->sizes[i] = size;
	row->boxes[i] = (struct dtconv_reshard_box){ .rank = rank,
						     .lower = &row->lower[i],
						     .sizes = &row->sizes[i] };
}

static struct dtconv_reshard_params row_params(size_t elements, size_t ranks)
{
	row_elements = elements;
	return (struct dtconv_reshard_params){
		.struct_size = sizeof(struct dtconv_reshard_params),
		.rank_count = ranks,
		.ndims = 1,
		.sizes = &row_elements,
		.element = t_predefined(DTCONV_INT),
		.source = { source.count, source.boxes },
		.target = { target.count, target.boxes },
	};
}

static struct dtconv_reshard *create(const struct dtconv_reshard_params *params)
{
	struct dtconv_reshard *reshard;

	t_ok(dtconv_reshard_create(params, &reshard));
	return reshard;
}

static struct dtconv_reshard_plan *plan_of(const struct dtconv_reshard *reshard,
					   size_t rank)
{
	struct dtconv_reshard_plan *plan;

	t_ok(dtconv_reshard_plan_create(reshard, rank, &plan));
	return plan;
}

static size_t sends_of(const struct dtconv_reshard *reshard, size_t rank)
{
	struct dtconv_reshard_plan *plan = plan_of(reshard, rank);
	const size_t count = plan_attr(plan).send_count;

	dtconv_reshard_plan_destroy(plan);
	return count;
}

/* Four shards in four replicas go to sixteen other ranks, each shard to four of them: each rank sends once. */
START_TEST(receivers_are_spread_over_replicas)
{
	for (size_t rank = 0; rank < 16; rank++) {
		add(&source, rank, rank % 4 * 8, 8);
		add(&target, 16 + rank, rank % 4 * 8, 8);
	}
	const struct dtconv_reshard_params params = row_params(32, 32);
	struct dtconv_reshard *reshard = create(&params);
	for (size_t rank = 0; rank < 16; rank++)
		ck_assert_uint_eq(sends_of(reshard, rank), 1);
	dtconv_reshard_destroy(reshard);
}
END_TEST

/* Ranks 0 and 2 of four have the array, all want it: who has it takes its own, and each sends once. */
START_TEST(who_has_an_element_sends_it_to_itself)
{
	for (size_t rank = 0; rank < 4; rank++) {
		if (rank % 2 == 0)
			add(&source, rank, 0, 8);
		add(&target, rank, 0, 8);
	}
	const struct dtconv_reshard_params params = row_params(8, 4);
	struct dtconv_reshard *reshard = create(&params);
	for (size_t rank = 0; rank < 4; rank += 2) {
		struct dtconv_reshard_plan *plan = plan_of(reshard, rank);

		ck_assert_uint_eq(recv_at(plan, 0).peer, rank);
		ck_assert_uint_eq(plan_attr(plan).recv_count, 1);
		ck_assert_uint_eq(plan_attr(plan).send_count, 2);
		dtconv_reshard_plan_destroy(plan);
	}
	dtconv_reshard_destroy(reshard);
}
END_TEST

/* One rank lists a box twice, and in parts; it sends each element once, from the first box that has it. */
START_TEST(a_sender_may_hold_an_element_twice)
{
	int from[] = { 1, 2, 3, 4, 5, 6, 7, 8 }, to[4] = { 0 };

	add(&source, 0, 2, 3);
	source.boxes[0].offset = 8;
	add(&source, 0, 2, 3);
	source.boxes[1].offset = 20;
	add(&source, 0, 0, 4);
	add(&target, 1, 0, 4);
	const struct dtconv_reshard_params params = row_params(5, 2);
	struct dtconv_reshard *reshard = create(&params);
	struct dtconv_reshard_plan *sender = plan_of(reshard, 0),
				   *receiver = plan_of(reshard, 1);
	ck_assert_uint_eq(plan_attr(sender).send_bytes, 16);
	t_ok(dtconv_copy(send_at(sender, 0).type, 1, from, recv_at(receiver, 0).type, 1,
			 to, NULL));
	ck_assert_int_eq(to[0], 1);
	ck_assert_int_eq(to[1], 2);
	ck_assert_int_eq(to[2], 3);
	ck_assert_int_eq(to[3], 4);
	dtconv_reshard_plan_destroy(sender);
	dtconv_reshard_plan_destroy(receiver);
	dtconv_reshard_destroy(reshard);
}
END_TEST

/* A source may repeat an element in memory; a target may not. */
START_TEST(a_source_may_have_stride_zero)
{
	static const ptrdiff_t none[] = { 0 };
	const int from = 7;
	int to[4] = { 0 };

	add(&source, 0, 0, 4);
	source.boxes[0].strides = none;
	add(&target, 0, 0, 4);
	const struct dtconv_reshard_params params = row_params(4, 1);
	struct dtconv_reshard *reshard = create(&params);
	struct dtconv_reshard_plan *plan = plan_of(reshard, 0);
	t_ok(dtconv_copy(send_at(plan, 0).type, 1, &from, recv_at(plan, 0).type, 1, to,
			 NULL));
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(to[i], 7);
	dtconv_reshard_plan_destroy(plan);
	dtconv_reshard_destroy(reshard);
}
END_TEST

/* Cyclic blocks: neighbours that look alike become one list, so that the type is short. */
START_TEST(alike_pieces_are_one_list_of_blocks)
{
	for (size_t i = 0; i < 1000; i++) {
		add(&source, i % 2, i * 4, 4);
		source.boxes[i].offset = (ptrdiff_t)(i / 2 * 16);
	}
	add(&target, 2, 0, 4000);
	const struct dtconv_reshard_params params = row_params(4000, 3);
	struct dtconv_reshard *reshard = create(&params);
	struct dtconv_reshard_plan *plan = plan_of(reshard, 0);
	const struct dtconv_reshard_message send = send_at(plan, 0);
	ck_assert_uint_eq(send.pieces, 500);
	char *program = t_program(send.type);
	ck_assert_msg(strcmp(program, "run 8000 bytes @0\n") == 0, "%s", program);
	free(program);
	dtconv_reshard_plan_destroy(plan);
	dtconv_reshard_destroy(reshard);
}
END_TEST

/* The source is stored by columns: what it sends is one run, and the receiver strides. */
START_TEST(a_sender_reads_in_the_order_of_its_memory)
{
	static const size_t all[] = { 4, 6 }, zero[] = { 0, 0 }, columns[] = { 1, 0 };
	const struct dtconv_reshard_box have = { .lower = zero,
						 .sizes = all,
						 .order = columns },
					want = { .lower = zero, .sizes = all };
	const struct dtconv_reshard_params params = { .struct_size = sizeof(params),
						      .rank_count = 1,
						      .ndims = 2,
						      .sizes = all,
						      .element = t_predefined(DTCONV_INT),
						      .source = { 1, &have },
						      .target = { 1, &want } };
	struct dtconv_reshard *reshard = create(&params);
	struct dtconv_reshard_plan *plan = plan_of(reshard, 0);
	char *program = t_program(send_at(plan, 0).type);
	ck_assert_str_eq(program, "run 96 bytes @0\n");
	free(program);
	program = t_program(recv_at(plan, 0).type);
	ck_assert(strstr(program, "run 96") == NULL);
	free(program);
	dtconv_reshard_plan_destroy(plan);
	dtconv_reshard_destroy(reshard);
}
END_TEST

/* From rows to columns: each rank exchanges one element with each other one. */
START_TEST(thousands_of_ranks_exchange_with_all_others)
{
	enum { RANKS = 2048 };
	static size_t lowers[2 * RANKS][2], sizes[2][2] = { { 1, RANKS }, { RANKS, 1 } };
	static struct dtconv_reshard_box boxes[2 * RANKS];
	const size_t all[2] = { RANKS, RANKS };

	for (size_t i = 0; i < 2 * RANKS; i++) {
		lowers[i][i / RANKS] = i % RANKS;
		boxes[i] = (struct dtconv_reshard_box){ .rank = i % RANKS,
							.lower = lowers[i],
							.sizes = sizes[i / RANKS] };
	}
	const struct dtconv_reshard_params params = {
		.struct_size = sizeof(params),
		.rank_count = RANKS,
		.ndims = 2,
		.sizes = all,
		.element = t_predefined(DTCONV_DOUBLE),
		.source = { RANKS, boxes },
		.target = { RANKS, boxes + RANKS }
	};
	struct dtconv_reshard *reshard = create(&params);
	for (size_t rank = 0; rank < RANKS; rank += 511) {
		struct dtconv_reshard_plan *plan = plan_of(reshard, rank);
		const struct dtconv_reshard_plan_attr attr = plan_attr(plan);

		ck_assert_uint_eq(attr.send_count, RANKS);
		ck_assert_uint_eq(attr.recv_count, RANKS);
		ck_assert_uint_eq(attr.send_bytes, RANKS * sizeof(double));
		ck_assert_uint_eq(send_at(plan, rank).peer, rank);
		dtconv_reshard_plan_destroy(plan);
	}
	dtconv_reshard_destroy(reshard);
}
END_TEST

/* Every rank of thousands passes half of its box to the next one. */
START_TEST(neighbours_alone_exchange)
{
	enum { RANKS = ROW_BOXES / 2 };

	for (size_t rank = 0; rank < RANKS; rank++) {
		add(&source, rank, rank * 2, 2);
		add(&target, rank, rank * 2 + 1, rank + 1 < RANKS ? 2 : 1);
	}
	const struct dtconv_reshard_params params = row_params(2 * RANKS, RANKS);
	struct dtconv_reshard *reshard = create(&params);
	t_ok(dtconv_reshard_check(reshard));
	for (size_t rank = 1; rank < RANKS; rank += 977)
		ck_assert_uint_eq(sends_of(reshard, rank), 2);
	ck_assert_uint_eq(sends_of(reshard, 0), 1);
	dtconv_reshard_destroy(reshard);
}
END_TEST

/* All ranks hold everything: boxes with equal corners count once, or this would take hours. */
START_TEST(equal_boxes_of_thousands_of_ranks_are_one)
{
	enum { RANKS = 10000 };
	size_t sends = 0;

	for (size_t rank = 0; rank < RANKS; rank++) {
		add(&source, rank, 0, 100);
		add(&target, RANKS + rank, 0, 100);
	}
	const struct dtconv_reshard_params params = row_params(100, 2 * RANKS);
	struct dtconv_reshard *reshard = create(&params);
	t_ok(dtconv_reshard_check(reshard));
	for (size_t rank = 0; rank < RANKS; rank += 1000)
		sends += sends_of(reshard, rank);
	ck_assert_uint_eq(sends, 10);
	dtconv_reshard_destroy(reshard);
}
END_TEST

/* ---- small things ---------------------------------------------------------------------- */

START_TEST(an_array_without_dimensions_has_one_element)
{
	const struct dtconv_reshard_box boxes[] = { { .rank = 0, .offset = 8 },
						    { .rank = 1, .offset = 4 } };
	const struct dtconv_reshard_params params = { .struct_size = sizeof(params),
						      .rank_count = 2,
						      .element = t_predefined(DTCONV_INT),
						      .source = { 1, &boxes[0] },
						      .target = { 1, &boxes[1] } };
	int from[] = { 1, 2, 3 }, to[] = { 0, 0 };
	struct dtconv_reshard *reshard = create(&params);
	struct dtconv_reshard_plan *sender = plan_of(reshard, 0),
				   *receiver = plan_of(reshard, 1);

	t_ok(dtconv_copy(send_at(sender, 0).type, 1, from, recv_from(receiver, 0).type, 1,
			 to, NULL));
	ck_assert_int_eq(to[0], 0);
	ck_assert_int_eq(to[1], 3);
	dtconv_reshard_plan_destroy(sender);
	dtconv_reshard_plan_destroy(receiver);
	dtconv_reshard_destroy(reshard);
}
END_TEST

START_TEST(without_elements_there_are_no_messages)
{
	add(&source, 0, 0, 0);
	add(&target, 0, 3, 0);
	for (size_t elements = 0; elements < 4; elements += 3) {
		target.lower[0] = elements;
		const struct dtconv_reshard_params params = row_params(elements, 1);
		struct dtconv_reshard *reshard = create(&params);
		struct dtconv_reshard_plan *plan = plan_of(reshard, 0);

		ck_assert_uint_eq(plan_attr(plan).send_count, 0);
		ck_assert_uint_eq(plan_attr(plan).recv_count, 0);
		dtconv_reshard_plan_destroy(plan);
		dtconv_reshard_destroy(reshard);
	}
}
END_TEST

START_TEST(types_outlive_their_plan)
{
	add(&source, 0, 0, 4);
	add(&target, 0, 0, 4);
	const struct dtconv_reshard_params params = row_params(4, 1);
	struct dtconv_reshard *reshard = create(&params);
	struct dtconv_reshard_plan *plan = plan_of(reshard, 0);
	struct dtconv_type *type = dtconv_type_ref(send_at(plan, 0).type);

	dtconv_reshard_destroy(reshard);
	dtconv_reshard_plan_destroy(plan);
	ck_assert_uint_eq(t_attr(type).size, 16);
	dtconv_type_unref(type);
	dtconv_reshard_plan_destroy(NULL);
	dtconv_reshard_destroy(NULL);
}
END_TEST

/* ---- what is wrong --------------------------------------------------------------------- */

static void refuse(const struct dtconv_reshard_params *params, int status,
		   const char *sentence)
{
	struct dtconv_reshard *reshard = NULL;

	t_status(dtconv_reshard_create(params, &reshard), status);
	ck_assert_ptr_null(reshard);
	ck_assert_msg(strstr(t_error(), sentence) != NULL, "%s", t_error());
}

/* A good pair of placements, in which each test breaks one thing. */
static struct dtconv_reshard_params good_params(void)
{
	source.count = target.count = 0;
	add(&source, 0, 0, 8);
	add(&target, 1, 2, 4);
	return row_params(8, 2);
}

START_TEST(wrong_parameters_are_refused)
{
	struct dtconv_reshard *reshard;
	struct dtconv_reshard_params params = good_params();

	t_status(dtconv_reshard_create(NULL, &reshard), DTCONV_ERR_INVAL);
	t_status(dtconv_reshard_create(&params, NULL), DTCONV_ERR_INVAL);
	params.struct_size = 0;
	refuse(&params, DTCONV_ERR_INVAL, "struct_size is 0");
	params.struct_size = sizeof(size_t);
	refuse(&params, DTCONV_ERR_INVAL, "ends before params.element");
	params = good_params();
	params.ndims = 33;
	refuse(&params, DTCONV_ERR_LIMIT, "params.ndims is 33, the limit is 32");
	params = good_params();
	params.sizes = NULL;
	refuse(&params, DTCONV_ERR_INVAL, "params.sizes is NULL");
	params = good_params();
	params.source.boxes = NULL;
	refuse(&params, DTCONV_ERR_INVAL,
	       "params.source.boxes is NULL, but its box_count is 1");
	params = good_params();
	params.element = t_parse("contiguous(0, int)");
	refuse(&params, DTCONV_ERR_INVAL, "params.element has no data");
	dtconv_type_unref(params.element);
	params.element = NULL;
	t_status(dtconv_reshard_create(&params, &reshard), DTCONV_ERR_INVAL);
}
END_TEST

START_TEST(boxes_outside_of_the_array_are_refused)
{
	struct dtconv_reshard_params params = good_params();

	target.boxes[0].rank = 2;
	refuse(&params, DTCONV_ERR_INVAL,
	       "params.target.boxes[0].rank is 2, but params.rank_count is 2");
	params = good_params();
	target.boxes[0].lower = NULL;
	refuse(&params, DTCONV_ERR_INVAL, "params.target.boxes[0].lower is NULL");
	params = good_params();
	source.boxes[0].sizes = NULL;
	refuse(&params, DTCONV_ERR_INVAL, "params.source.boxes[0].sizes is NULL");
	params = good_params();
	target.lower[0] = 5;
	refuse(&params, DTCONV_ERR_INVAL,
	       "params.target.boxes[0] of rank 1 begins at 5 with 4 elements in dimension 0, "
	       "where the array has 8");
	target.lower[0] = SIZE_MAX - 1;
	refuse(&params, DTCONV_ERR_INVAL, "in dimension 0, where the array has 8");
	target.sizes[0] = 0;
	refuse(&params, DTCONV_ERR_INVAL, "with 0 elements in dimension 0");
}
END_TEST

START_TEST(wrong_storage_is_refused)
{
	static const ptrdiff_t narrow[] = { 3 }, backwards[] = { -3 };
	static const size_t wrong[] = { 1 }, twice[] = { 1, 1 };
	static const size_t two[] = { 2, 2 }, zero[] = { 0, 0 };
	struct dtconv_reshard_params params = good_params();

	target.boxes[0].strides = narrow;
	refuse(&params, DTCONV_ERR_INVAL,
	       "params.target.boxes[0] of rank 1: the stride of dimension 0 is 3, so elements "
	       "of 4 bytes overlap");
	target.boxes[0].strides = backwards;
	refuse(&params, DTCONV_ERR_INVAL, "the stride of dimension 0 is -3");
	target.boxes[0].order = wrong;
	refuse(&params, DTCONV_ERR_INVAL,
	       "params.target.boxes[0] has strides and an order");
	target.boxes[0].strides = NULL;
	refuse(&params, DTCONV_ERR_INVAL, "order[0] is 1");
	const struct dtconv_reshard_box box = { .lower = zero,
						.sizes = two,
						.order = twice };
	params.source = params.target = (struct dtconv_reshard_placement){ 1, &box };
	params.ndims = 2;
	params.sizes = two;
	refuse(&params, DTCONV_ERR_INVAL, "order[1] is 1: an order has each of the 2");
}
END_TEST

START_TEST(numbers_that_overflow_are_refused)
{
	static ptrdiff_t stride[] = { PTRDIFF_MAX / 4 };
	static const size_t huge[] = { SIZE_MAX / 2, SIZE_MAX / 2 }, zero[] = { 0, 0 };
	struct dtconv_reshard_params params = good_params();

	source.boxes[0].strides = stride;
	refuse(&params, DTCONV_ERR_OVERFLOW,
	       "params.source.boxes[0] of rank 0: its bytes exceed size_t");
	source.boxes[0].strides = NULL;
	source.boxes[0].offset = PTRDIFF_MAX - 16;
	refuse(&params, DTCONV_ERR_OVERFLOW, "or its displacements ptrdiff_t");
	source.boxes[0].offset = PTRDIFF_MIN;
	struct dtconv_reshard *reshard = create(&params);
	dtconv_reshard_destroy(reshard);
	stride[0] = -4;
	source.boxes[0].strides = stride;
	refuse(&params, DTCONV_ERR_OVERFLOW, "or its displacements ptrdiff_t");
	const struct dtconv_reshard_box box = { .lower = zero, .sizes = huge };
	params.source = params.target = (struct dtconv_reshard_placement){ 1, &box };
	params.ndims = 2;
	params.sizes = huge;
	refuse(&params, DTCONV_ERR_OVERFLOW, "its bytes exceed size_t");
}
END_TEST

static void refuse_plan(const struct dtconv_reshard_params *params, size_t rank,
			int status, const char *sentence)
{
	struct dtconv_reshard *reshard = create(params);
	struct dtconv_reshard_plan *plan = NULL;

	t_status(dtconv_reshard_plan_create(reshard, rank, &plan), status);
	ck_assert_ptr_null(plan);
	ck_assert_msg(strstr(t_error(), sentence) != NULL, "%s", t_error());
	if (rank < params->rank_count) {
		t_status(dtconv_reshard_check(reshard), status);
		ck_assert_msg(strstr(t_error(), sentence) != NULL, "%s", t_error());
	}
	dtconv_reshard_destroy(reshard);
}

START_TEST(elements_that_nobody_holds_are_named)
{
	struct dtconv_reshard_params params = good_params();

	source.sizes[0] = 3;
	add(&source, 0, 4, 1);
	params = row_params(8, 2);
	refuse_plan(
		&params, 1, DTCONV_ERR_INVAL,
		"no rank of the source holds 2 of the 4 elements of params.target.boxes[0] "
		"of rank 1; index of the first: (3)");
	source.count = 0;
	params = row_params(8, 2);
	refuse_plan(&params, 1, DTCONV_ERR_INVAL, "index of the first: (2)");
	t_status(dtconv_reshard_check(NULL), DTCONV_ERR_INVAL);
}
END_TEST

/* The rank that misses nothing has its plan. */
START_TEST(check_looks_at_all_ranks)
{
	good_params();
	add(&target, 0, 6, 2);
	source.sizes[0] = 6;
	const struct dtconv_reshard_params params = row_params(8, 2);
	struct dtconv_reshard *reshard = create(&params);
	struct dtconv_reshard_plan *plan = plan_of(reshard, 1);
	t_status(dtconv_reshard_check(reshard), DTCONV_ERR_INVAL);
	dtconv_reshard_plan_destroy(plan);
	dtconv_reshard_destroy(reshard);
}
END_TEST

START_TEST(boxes_of_a_receiver_must_not_overlap)
{
	good_params();
	add(&target, 0, 0, 8);
	add(&target, 1, 5, 2);
	struct dtconv_reshard_params params = row_params(8, 2);
	refuse_plan(&params, 1, DTCONV_ERR_INVAL,
		    "params.target.boxes[0] and [2] of rank 1 overlap");
	target.lower[2] = 2;
	target.sizes[2] = 4;
	refuse_plan(&params, 1, DTCONV_ERR_INVAL,
		    "params.target.boxes[0] and [2] of rank 1 overlap");
	target.lower[2] = 6;
	target.sizes[2] = 2;
	struct dtconv_reshard *reshard = create(&params);
	t_ok(dtconv_reshard_check(reshard));
	dtconv_reshard_destroy(reshard);
}
END_TEST

START_TEST(ranks_and_indices_that_do_not_exist_are_refused)
{
	struct dtconv_reshard_message message = { .struct_size = sizeof(message) };
	struct dtconv_reshard_plan_attr attr = { 0 };
	const struct dtconv_reshard_params params = good_params();

	refuse_plan(&params, 2, DTCONV_ERR_INVAL, "rank (argument 2) is 2");
	struct dtconv_reshard *reshard = create(&params);
	struct dtconv_reshard_plan *plan = plan_of(reshard, 1);
	t_status(dtconv_reshard_plan_create(reshard, 0, NULL), DTCONV_ERR_INVAL);
	t_status(dtconv_reshard_plan_create(NULL, 0, &plan), DTCONV_ERR_INVAL);
	t_status(dtconv_reshard_plan_query(plan, &attr), DTCONV_ERR_INVAL);
	t_status(dtconv_reshard_plan_query(NULL, &attr), DTCONV_ERR_INVAL);
	t_status(dtconv_reshard_plan_query_send(plan, 0, &message), DTCONV_ERR_INVAL);
	ck_assert(strstr(t_error(), "the plan has 0 messages"));
	t_status(dtconv_reshard_plan_query_recv(plan, 1, &message), DTCONV_ERR_INVAL);
	t_status(dtconv_reshard_plan_query_recv(NULL, 0, &message), DTCONV_ERR_INVAL);
	t_status(dtconv_reshard_plan_query_send(plan, 0, NULL), DTCONV_ERR_INVAL);
	message.struct_size = 0;
	t_status(dtconv_reshard_plan_query_recv(plan, 0, &message), DTCONV_ERR_INVAL);
	message.struct_size = offsetof(struct dtconv_reshard_message, bytes);
	message.bytes = 99;
	t_ok(dtconv_reshard_plan_query_recv(plan, 0, &message));
	ck_assert_uint_eq(message.bytes, 99);
	dtconv_reshard_plan_destroy(plan);
	dtconv_reshard_destroy(reshard);
}
END_TEST

/* Slabs across each other in three dimensions: they cut the cube into more than 100,000 cells. */
START_TEST(hostile_overlaps_reach_the_limit)
{
	enum { SLABS = 25, SIDE = 2 * SLABS };
	static size_t lowers[3 * SLABS + 1][3], sizes[3 * SLABS + 1][3];
	static struct dtconv_reshard_box boxes[3 * SLABS + 1];
	static const size_t all[] = { SIDE, SIDE, SIDE };

	for (size_t i = 0; i < 3 * SLABS + 1; i++) {
		memcpy(sizes[i], all, sizeof(all));
		boxes[i] = (struct dtconv_reshard_box){ .rank = i,
							.lower = lowers[i],
							.sizes = sizes[i] };
		if (i == 3 * SLABS)
			break;
		lowers[i][i % 3] = i / 3 * 2;
		sizes[i][i % 3] = 1;
	}
	const struct dtconv_reshard_params params = {
		.struct_size = sizeof(params),
		.rank_count = 3 * SLABS + 1,
		.ndims = 3,
		.sizes = all,
		.element = t_predefined(DTCONV_CHAR),
		.source = { 3 * SLABS + 1, boxes },
		.target = { 1, &boxes[3 * SLABS] }
	};
	refuse_plan(
		&params, 3 * SLABS, DTCONV_ERR_LIMIT,
		"76 source boxes that overlap cut target box 0 of rank 75 into more than "
		"65536 pieces");
}
END_TEST

/* ---- without memory -------------------------------------------------------------------- */

/* Overlapping boxes of two dimensions in two orders, so that every kind of memory is needed. */
static int plan_all(struct dtconv_context *context)
{
	static const size_t all[] = { 6, 6 }, part[] = { 4, 4 }, at[] = { 2, 2 },
			    zero[] = { 0, 0 };
	static const size_t order[] = { 1, 0 };
	const struct dtconv_reshard_box boxes[] = {
		{ .rank = 0, .lower = zero, .sizes = all },
		{ .rank = 1, .lower = at, .sizes = part, .order = order },
		{ .rank = 2, .lower = zero, .sizes = all, .order = order },
	};
	const struct dtconv_reshard_params params = {
		.struct_size = sizeof(params),
		.rank_count = 3,
		.ndims = 2,
		.sizes = all,
		.element = dtconv_type_predefined(context, DTCONV_INT),
		.source = { 2, boxes },
		.target = { 1, &boxes[2] },
	};
	struct dtconv_reshard *reshard = NULL;
	struct dtconv_reshard_plan *plan = NULL;
	int status = dtconv_reshard_create(&params, &reshard);

	for (size_t rank = 0; rank < 3 && !status; rank++) {
		status = dtconv_reshard_plan_create(reshard, rank, &plan);
		dtconv_reshard_plan_destroy(plan);
		plan = NULL;
	}
	dtconv_reshard_destroy(reshard);
	return status;
}

START_TEST(without_memory_nothing_is_kept)
{
	struct ration ration = { .left = -1 };
	const struct dtconv_context_params params = {
		.struct_size = sizeof(params), .allocator = allocator_of_rations(&ration)
	};
	struct dtconv_context *context;
	long allocations = 0;

	t_ok(dtconv_context_create(&params, &context));
	const size_t live = atomic_load(&ration.live);
	for (int status = DTCONV_ERR_NOMEM; status; allocations++) {
		atomic_store(&ration.left, allocations);
		atomic_store(&ration.refused, 0);
		status = plan_all(context);
		if (atomic_load(&ration.refused))
			ck_assert_int_eq(status, DTCONV_ERR_NOMEM);
		else
			ck_assert_int_eq(status, 0);
		ck_assert_uint_eq(atomic_load(&ration.live), live);
	}
	ck_assert_int_gt(allocations, 20);
	atomic_store(&ration.left, -1);
	dtconv_context_destroy(context);
}
END_TEST

static void no_boxes(void)
{
	t_setup();
	source.count = target.count = 0;
}

static TCase *add_case(Suite *suite, const char *name)
{
	TCase *tcase = tcase_create(name);

	tcase_add_checked_fixture(tcase, no_boxes, t_teardown);
	tcase_set_timeout(tcase, 300);
	suite_add_tcase(suite, tcase);
	return tcase;
}

int main(void)
{
	Suite *suite = suite_create("reshard");
	TCase *placements = add_case(suite, "placements");
	TCase *senders = add_case(suite, "senders");
	TCase *ranks = add_case(suite, "ranks");
	TCase *errors = add_case(suite, "errors");
	TCase *memory = add_case(suite, "memory");

	tcase_add_loop_test(placements, random_placements_move_every_element, 0, 10);
	tcase_add_test(senders, receivers_are_spread_over_replicas);
	tcase_add_test(senders, who_has_an_element_sends_it_to_itself);
	tcase_add_test(senders, a_sender_may_hold_an_element_twice);
	tcase_add_test(senders, a_source_may_have_stride_zero);
	tcase_add_test(senders, alike_pieces_are_one_list_of_blocks);
	tcase_add_test(senders, a_sender_reads_in_the_order_of_its_memory);
	tcase_add_test(ranks, thousands_of_ranks_exchange_with_all_others);
	tcase_add_test(ranks, neighbours_alone_exchange);
	tcase_add_test(ranks, equal_boxes_of_thousands_of_ranks_are_one);
	tcase_add_test(ranks, an_array_without_dimensions_has_one_element);
	tcase_add_test(ranks, without_elements_there_are_no_messages);
	tcase_add_test(ranks, types_outlive_their_plan);
	tcase_add_test(errors, wrong_parameters_are_refused);
	tcase_add_test(errors, boxes_outside_of_the_array_are_refused);
	tcase_add_test(errors, wrong_storage_is_refused);
	tcase_add_test(errors, numbers_that_overflow_are_refused);
	tcase_add_test(errors, elements_that_nobody_holds_are_named);
	tcase_add_test(errors, check_looks_at_all_ranks);
	tcase_add_test(errors, boxes_of_a_receiver_must_not_overlap);
	tcase_add_test(errors, ranks_and_indices_that_do_not_exist_are_refused);
	tcase_add_test(errors, hostile_overlaps_reach_the_limit);
	tcase_add_test(memory, without_memory_nothing_is_kept);
	return t_run(suite);
}
