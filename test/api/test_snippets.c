/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The examples of the reference, compiled and run. Doxygen shows what is between two marks [name]; test/api/check_snippets
 * compares the C blocks of guides with this file.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <dtconv/dtconv.h>

#include "support/marks.h"
#include "support/suite.h"

static struct dtconv_context *common;
static double matrix[100][5];

static void setup(void)
{
	ck_assert_int_eq(dtconv_context_create(NULL, &common), 0);
	for (int i = 0; i < 500; i++)
		matrix[i / 5][i % 5] = i;
}

static void teardown(void)
{
	dtconv_context_destroy(common);
}

/* Columns 0 and 1. */
static struct dtconv_type *make_columns(void)
{
	struct dtconv_type *type;

	ck_assert_int_eq(dtconv_type_create_vector(
				 100, 2, 5, dtconv_type_predefined(common, DTCONV_DOUBLE),
				 &type),
			 0);
	ck_assert_int_eq(dtconv_type_commit(type), 0);
	return type;
}

/* ---- the whole interface --------------------------------------------------------------- */

static int pack_two_columns(double columns[100][2], size_t bytes)
{
	/* [main] */
	struct dtconv_context *context;
	struct dtconv_type *type = NULL;
	int status = dtconv_context_create(NULL, &context);

	if (status)
		return status;
	/* 100 blocks of 2 doubles, 5 doubles apart: two columns of a matrix */
	status = dtconv_type_create_vector(
		100, 2, 5, dtconv_type_predefined(context, DTCONV_DOUBLE), &type);
	if (!status)
		status = dtconv_type_commit(type);
	if (!status)
		status = dtconv_pack(type, 1, matrix, columns, bytes, NULL);
	dtconv_type_unref(type);
	dtconv_context_destroy(context);
	return status;
	/* [main] */
}

START_TEST(main_page)
{
	static double columns[100][2];

	ck_assert_int_eq(pack_two_columns(columns, sizeof(columns)), 0);
	ck_assert(columns[99][1] == matrix[99][1]);
}
END_TEST

/* ---- contexts, errors, versions ---------------------------------------------------------- */

static int make_context(struct dtconv_context **made)
{
	/* [context] */
	const struct dtconv_context_params params = {
		.struct_size = sizeof(params),
		.flags = DTCONV_CONTEXT_COUNTERS,
		.log_level = DTCONV_LOG_WARN,
		.threads = 4,
	};
	struct dtconv_context *context;
	int status = dtconv_context_create(&params, &context);

	if (status)
		return status;
	/* [context] */
	*made = context;
	return 0;
}

START_TEST(contexts)
{
	struct dtconv_context *made;

	ck_assert_int_eq(make_context(&made), 0);
	dtconv_context_destroy(made);
}
END_TEST

START_TEST(errors)
{
	struct dtconv_context *context = common;
	struct dtconv_type *type = NULL;

	/* [status] */
	int status = dtconv_type_create_vector(
		SIZE_MAX, 2, 5, dtconv_type_predefined(context, DTCONV_DOUBLE), &type);

	if (status) {
		char text[256]; /* function, argument, value and limit */

		dtconv_context_error(context, text, sizeof(text));
		fprintf(stderr, "%s: %s\n", dtconv_strerror(status), text);
	}
	/* [status] */
	ck_assert_int_eq(status, DTCONV_ERR_OVERFLOW);
	ck_assert_ptr_null(type);
}
END_TEST

START_TEST(versions)
{
	/* [version] */
	printf("headers %s, library %s\n", DTCONV_VERSION_STRING, dtconv_version());
	/* [version] */
	ck_assert_str_eq(dtconv_version(), DTCONV_VERSION_STRING);
}
END_TEST

/* ---- types ------------------------------------------------------------------------------- */

static int make_face(struct dtconv_context *context, struct dtconv_type **made,
		     size_t *size)
{
	/* [type] */
	/* one layer of a box of 64 x 64 x 64 doubles, across its last dimension */
	const size_t sizes[] = { 64, 64, 64 };
	const size_t subsizes[] = { 64, 64, 1 }, starts[] = { 0, 0, 62 };
	struct dtconv_type_attr attr = { .struct_size = sizeof(attr) };
	struct dtconv_type *face;
	int status = dtconv_type_create_subarray(
		3, sizes, subsizes, starts, DTCONV_ORDER_C,
		dtconv_type_predefined(context, DTCONV_DOUBLE), &face);

	if (status)
		return status;
	status = dtconv_type_commit(face);
	/* attr.size becomes 64 x 64 x 8 bytes */
	if (!status)
		status = dtconv_type_query(face, &attr);
	/* [type] */
	*size = attr.size;
	*made = face;
	return status;
}

START_TEST(types)
{
	struct dtconv_type *type;
	size_t size;

	ck_assert_int_eq(make_face(common, &type, &size), 0);
	ck_assert_uint_eq(size, 64 * 64 * 8);
	dtconv_type_unref(type);
}
END_TEST

/* ---- convertors -------------------------------------------------------------------------- */

static int send_bytes(const void *bytes, size_t count)
{
	(void)bytes;
	return count <= 101 ? 0 : DTCONV_ERR_PEER;
}

static int send_in_fragments(struct dtconv_type *type, const void *buffer)
{
	/* [convertor] */
	char fragment[101]; /* any size: fragments may cut elements */
	struct dtconv_convertor *convertor;
	size_t moved = 1;
	int status = dtconv_convertor_create_pack(type, 1, buffer, &convertor);

	if (status)
		return status;
	while (!status && moved > 0) {
		status = dtconv_convertor_pack(convertor, fragment, sizeof(fragment),
					       &moved);
		if (!status)
			status = send_bytes(fragment, moved);
	}
	dtconv_convertor_destroy(convertor);
	/* [convertor] */
	return status;
}

static int pack_in_background(struct dtconv_convertor *convertor, void *packed,
			      size_t bytes)
{
	size_t moved;

	/* [start] */
	int status = dtconv_convertor_start(convertor, packed, bytes, NULL, NULL);

	while (!status &&
	       (status = dtconv_convertor_test(convertor, &moved)) == DTCONV_INPROGRESS)
		status = send_bytes(NULL, 0); /* make other progress */
	/* [start] */
	return status;
}

START_TEST(convertors)
{
	static char packed[100 * 2 * sizeof(double)];
	struct dtconv_type *type = make_columns();
	struct dtconv_convertor *convertor;

	ck_assert_int_eq(send_in_fragments(type, matrix), 0);
	ck_assert_int_eq(dtconv_convertor_create_pack(type, 1, matrix, &convertor), 0);
	ck_assert_int_eq(pack_in_background(convertor, packed, sizeof(packed)), 0);
	ck_assert_mem_eq(packed, matrix, 2 * sizeof(double));
	dtconv_convertor_destroy(convertor);
	dtconv_type_unref(type);
}
END_TEST

/* ---- flights ----------------------------------------------------------------------------- */

#define FRAGMENTS 16

static int pack_fragments(struct dtconv_convertor *convertor, char *packed, size_t bytes)
{
	/* [flight] */
	struct dtconv_flight flights[FRAGMENTS];
	size_t fragment = bytes / FRAGMENTS, started = 0, sent = 0;
	int status = 0;

	while (sent < FRAGMENTS) {
		while (started < FRAGMENTS &&
		       !(status = dtconv_flight_start(
				 convertor, &flights[started], started * fragment,
				 packed + started * fragment, fragment)))
			started++;
		if (status && status != DTCONV_ERR_AGAIN)
			break;
		if (sent == started)
			continue; /* jobs of other threads have what it needs */
		status = dtconv_flight_wait(&flights[sent], NULL);
		if (!status)
			status = send_bytes(packed + sent * fragment, fragment);
		sent++;
		if (status)
			break;
	}
	while (sent < started) /* after a failure */
		dtconv_flight_wait(&flights[sent++], NULL);
	/* [flight] */
	return status;
}

START_TEST(flights)
{
	static char packed[100 * 2 * sizeof(double)];
	struct dtconv_type *type = make_columns();
	struct dtconv_convertor *convertor;

	ck_assert_int_eq(dtconv_convertor_create_pack(type, 1, matrix, &convertor), 0);
	ck_assert_int_eq(pack_fragments(convertor, packed, sizeof(packed)), 0);
	ck_assert_mem_eq(packed + sizeof(packed) - 16, &matrix[99][0], 16);
	dtconv_convertor_destroy(convertor);
	dtconv_type_unref(type);
}
END_TEST

/* ---- batches ----------------------------------------------------------------------------- */

static int pack_two(struct dtconv_context *context, struct dtconv_type *type, void *left,
		    void *right, void *to_left, void *to_right, size_t bytes)
{
	/* [batch] */
	const struct dtconv_batch_entry entries[] = {
		{ .type = type,
		  .count = 1,
		  .buffer = left,
		  .packed = to_left,
		  .bytes = bytes },
		{ .type = type,
		  .count = 1,
		  .buffer = right,
		  .packed = to_right,
		  .bytes = bytes },
	};
	struct dtconv_batch *batch;
	int status = dtconv_batch_create(context, entries, 2, NULL, &batch);

	if (status)
		return status;
	for (int step = 0; !status && step < 10; step++)
		status = dtconv_batch_run(batch, NULL); /* the same two packs again */
	dtconv_batch_destroy(batch);
	/* [batch] */
	return status;
}

/* ---- copiers ----------------------------------------------------------------------------- */

static int copy_columns(struct dtconv_type *columns, const void *from,
			struct dtconv_type *rows, void *to)
{
	/* [copier] */
	struct dtconv_copier *copier;
	int status = dtconv_copier_create(columns, 1, from, rows, 1, to, NULL, &copier);

	if (status)
		return status;
	for (int step = 0; !status && step < 10; step++) {
		status = dtconv_copier_start(copier, NULL, NULL);
		/* ... other work, while a device copies ... */
		if (!status)
			status = dtconv_copier_wait(copier, NULL);
	}
	dtconv_copier_destroy(copier);
	/* [copier] */
	return status;
}

/* One rank's update of a window in the same memory, in parts. */
static int accumulate_columns(struct dtconv_type *columns, const void *from,
			      struct dtconv_type *rows, void *window, size_t bytes)
{
	/* [copier_operation] */
	const struct dtconv_copier_params params = { .struct_size = sizeof(params),
						     .op = DTCONV_OP_SUM };
	const size_t part = 1000; /* any: it may cut elements */
	struct dtconv_copier *copier;
	int status =
		dtconv_copier_create(columns, 1, from, rows, 1, window, &params, &copier);

	if (status)
		return status;
	for (size_t at = 0; !status && at < bytes; at += part) {
		status = dtconv_copier_start_at(copier, at, part, NULL, NULL);
		/* ... progress of other work ... */
		if (!status)
			status = dtconv_copier_wait(copier, NULL);
	}
	dtconv_copier_destroy(copier);
	/* [copier_operation] */
	return status;
}

START_TEST(copiers)
{
	static double copied[400];
	struct dtconv_type *columns = make_columns(), *rows;

	ck_assert_int_eq(dtconv_type_create_vector(
				 100, 2, 4, dtconv_type_predefined(common, DTCONV_DOUBLE),
				 &rows),
			 0);
	ck_assert_int_eq(dtconv_type_commit(rows), 0);
	ck_assert_int_eq(copy_columns(columns, &matrix[0][3], rows, copied), 0);
	ck_assert(copied[397] == matrix[99][4] && copied[398] == 0);
	for (int row = 0; row < 100; row++)
		copied[4 * row] = copied[4 * row + 1] = 1000;
	ck_assert_int_eq(accumulate_columns(columns, &matrix[0][3], rows, copied, 1600),
			 0);
	ck_assert(copied[0] == 1000 + matrix[0][3] && copied[398] == 0);
	ck_assert(copied[397] == 1000 + matrix[99][4]);
	dtconv_type_unref(rows);
	dtconv_type_unref(columns);
}
END_TEST

START_TEST(batches)
{
	static double packed[2][200];
	struct dtconv_type *type = make_columns();

	ck_assert_int_eq(pack_two(common, type, &matrix[0][0], &matrix[0][3], packed[0],
				  packed[1], sizeof(packed[0])),
			 0);
	ck_assert(packed[0][199] == matrix[99][1]);
	ck_assert(packed[1][199] == matrix[99][4]);
	dtconv_type_unref(type);
}
END_TEST

/* ---- memory, representations, operations --------------------------------------------------- */

START_TEST(kinds)
{
	struct dtconv_context *context = common;
	const void *address = matrix;

	/* [memory] */
	struct dtconv_memory_attr attr = { .struct_size = sizeof(attr) };
	int status = dtconv_memory_query(context, address, &attr);

	if (!status)
		printf("%s, device %d\n", dtconv_memory_kind_name(attr.kind),
		       attr.device);
	/* [memory] */
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(attr.kind, DTCONV_MEMORY_HOST);
}
END_TEST

static int pack_external(struct dtconv_type *type, const void *buffer, void *packed,
			 size_t capacity, size_t *moved)
{
	/* [representation] */
	struct dtconv_representation external32;
	const struct dtconv_convertor_params params = { .struct_size = sizeof(params),
							.representation = &external32 };
	int status = dtconv_representation_find("external32", &external32);

	if (!status)
		status = dtconv_pack_with(type, 1, buffer, packed, capacity, &params,
					  moved);
	/* [representation] */
	return status;
}

static int add(struct dtconv_type *type, void *buffer, const void *packed, size_t bytes)
{
	/* [operation] */
	const struct dtconv_convertor_params params = { .struct_size = sizeof(params),
							.op = DTCONV_OP_SUM };

	return dtconv_unpack_with(type, 1, buffer, packed, bytes, &params, NULL);
	/* [operation] */
}

START_TEST(elements)
{
	static double packed[200];
	struct dtconv_type *type = make_columns();
	size_t moved;

	ck_assert_int_eq(pack_external(type, matrix, packed, sizeof(packed), &moved), 0);
	ck_assert_uint_eq(moved, sizeof(packed));
	ck_assert_int_eq(dtconv_pack(type, 1, matrix, packed, sizeof(packed), NULL), 0);
	ck_assert_int_eq(add(type, matrix, packed, sizeof(packed)), 0);
	ck_assert(matrix[99][1] == 2 * packed[199]);
	dtconv_type_unref(type);
}
END_TEST

/* ---- streams ----------------------------------------------------------------------------- */

/* Of the CUDA runtime, what the guide's examples call. */
static void cudaMemset(void *memory, int value, size_t bytes)
{
	memset(memory, value, bytes);
}

static void cudaStreamSynchronize(void *stream)
{
	(void)stream;
}

static void pack_zeros(struct dtconv_type *type, void *buffer, size_t bytes, void *packed,
		       size_t capacity)
{
	/* [ordered] */
	/* The legacy default stream: the call returns before the device is done. */
	cudaMemset(buffer, 0, bytes);
	dtconv_pack_on_stream(type, 1, buffer, packed, capacity, DTCONV_STREAM_LEGACY,
			      NULL);
	/* [ordered] */
}

static struct dtconv_context *context_of_default_stream(void)
{
	/* [default stream] */
	const struct dtconv_context_params params = {
		.struct_size = sizeof(params), .flags = DTCONV_CONTEXT_DEFAULT_STREAM
	};
	/* [default stream] */
	struct dtconv_context *made;

	return dtconv_context_create(&params, &made) ? NULL : made;
}

static int prepare_halos(struct dtconv_context *with, struct dtconv_type *type)
{
	struct dtconv_context *context = with;

	/* [prepare] */
	/* After the type's commit, before the first exchange: halos between device and pinned memory. */
	const struct dtconv_convertor_params params = {
		.struct_size = sizeof(params), .packed_memory = DTCONV_MEMORY_PINNED
	};
	dtconv_prepare(context, 0, type, 1, &params);
	/* [prepare] */
	return dtconv_prepare(context, 0, type, 1, &params);
}

static void pack_zeros_later(struct dtconv_type *type, void *buffer, size_t bytes,
			     void *packed, size_t capacity)
{
	/* [synchronised] */
	cudaMemset(buffer, 0, bytes);
	cudaStreamSynchronize(NULL); /* now the data is ready */
	dtconv_pack(type, 1, buffer, packed, capacity, NULL);
	/* [synchronised] */
}

START_TEST(streams)
{
	static const double zeros[200];
	static double packed[200];
	struct dtconv_type *type = make_columns();

	memset(packed, 1, sizeof(packed));
	pack_zeros(type, matrix, sizeof(matrix), packed, sizeof(packed));
	ck_assert_mem_eq(packed, zeros, sizeof(zeros));
	memset(packed, 1, sizeof(packed));
	pack_zeros_later(type, matrix, sizeof(matrix), packed, sizeof(packed));
	ck_assert_mem_eq(packed, zeros, sizeof(zeros));
	/* No device driver is loaded here. */
	ck_assert_int_eq(prepare_halos(common, type), DTCONV_ERR_UNSUPPORTED);
	dtconv_type_unref(type);
	struct dtconv_context *ordered = context_of_default_stream();
	ck_assert_ptr_nonnull(ordered);
	dtconv_context_destroy(ordered);
}
END_TEST

/* ---- pools ----------------------------------------------------------------------------- */

/* A network that has nothing to register. */
static int register_memory(void *arg, const struct dtconv_slab *slab, void **handle)
{
	(void)arg;
	*handle = slab->base;
	return 0;
}

static void unregister_memory(void *arg, const struct dtconv_slab *slab, void *handle)
{
	(void)arg;
	ck_assert_ptr_eq(handle, slab->base);
}

static int use_pool(struct dtconv_context *context)
{
	/* [pool] */
	const struct dtconv_registrar network = { .name = "my network",
						  .reg = register_memory,
						  .dereg = unregister_memory };
	const struct dtconv_pool_params params = { .struct_size = sizeof(params),
						   .device = -1,
						   .fragment_bytes = 65536,
						   .start_bytes = 16 * 65536,
						   .registrars = &network,
						   .registrar_count = 1 };
	struct dtconv_fragment *fragment;
	struct dtconv_pool *pool;
	int status = dtconv_pool_create(context, &params, &pool);

	if (status)
		return status;
	/* 16 fragments, known to the device driver (if there is one) and to the network */
	status = dtconv_pool_get(pool, &fragment);
	if (!status) {
		memset(dtconv_fragment_address(fragment), 0, 65536);
		dtconv_fragment_put(fragment);
	}
	return dtconv_pool_destroy(pool);
	/* [pool] */
}

/* ---- segments -------------------------------------------------------------------------- */

/* What two processes do; here without a device. */
static int share_segment(struct dtconv_context *context, int socket)
{
	/* [segment] */
	/* the owner */
	struct dtconv_segment_attr attr = { .struct_size = sizeof(attr) };
	struct dtconv_segment *segment;
	int status = dtconv_segment_create(context, NULL, &segment);

	if (status)
		return status;
	status = dtconv_segment_grow(segment, (size_t)1 << 30);
	if (!status)
		status = dtconv_segment_query(segment, &attr);
	/* attr.base is device memory now, and stays there when the segment grows */
	if (!status)
		status = dtconv_segment_send(segment, socket);
	(void)dtconv_segment_destroy(segment);
	return status;
	/* [segment] */
}

START_TEST(segments)
{
	ck_assert_int_eq(share_segment(common, -1), DTCONV_ERR_UNSUPPORTED);
}
END_TEST

/* ---- the flow -------------------------------------------------------------------------- */

/* A network that takes one packet: what is sent arrives at the receive. */
static struct dtconv_recv *receiver;

static void released(void *fragment, int status)
{
	dtconv_fragment_sent(fragment, status);
}

static int emit(void *arg, struct dtconv_fragment *fragment, uint64_t offset,
		size_t bytes, unsigned flags)
{
	(void)arg;
	(void)flags;
	/* A network would post its send here, and call dtconv_fragment_sent() when it is complete. */
	return dtconv_recv_deliver(receiver, offset, dtconv_fragment_address(fragment),
				   bytes, released, fragment);
}

static void done(void *arg, int status, size_t moved)
{
	*(int *)arg = status;
	(void)moved;
}

static int exchange(struct dtconv_context *context, struct dtconv_convertor *packs,
		    struct dtconv_convertor *unpacks)
{
	/* [flow] */
	int sent = DTCONV_INPROGRESS, received = DTCONV_INPROGRESS;
	struct dtconv_engine *engine = NULL;
	struct dtconv_pool *pool = NULL;
	struct dtconv_send *send = NULL;
	struct dtconv_recv *recv = NULL;

	int status = dtconv_engine_create(context, NULL, &engine);
	if (!status)
		status = dtconv_pool_create(context, NULL, &pool);
	const struct dtconv_recv_params to = { .struct_size = sizeof(to),
					       .done = done,
					       .arg = &received };
	if (!status)
		status = dtconv_recv_start(engine, &to, unpacks, &recv);
	receiver = recv; /* where the network delivers */
	const struct dtconv_send_params from = { .struct_size = sizeof(from),
						 .pool = pool,
						 .emit = emit,
						 .done = done,
						 .arg = &sent };
	if (!status)
		status = dtconv_send_start(engine, &from, packs, &send);
	while (!status && (sent == DTCONV_INPROGRESS || received == DTCONV_INPROGRESS))
		status = dtconv_engine_progress(engine, 0, NULL);
	/* [flow] */
	dtconv_send_destroy(send);
	dtconv_recv_destroy(recv);
	dtconv_engine_destroy(engine);
	dtconv_pool_destroy(pool);
	return status ? status : sent ? sent : received;
}

/* ---- channels ---------------------------------------------------------------------------- */

/* One process of the two; the other one receives. */
static int send_columns(struct dtconv_engine *engine, int socket,
			struct dtconv_type *columns, struct dtconv_channel **channel,
			int *sent)
{
	/* [channel] */
	int status = dtconv_channel_open(engine, socket, NULL, channel);

	if (!status)
		status = dtconv_channel_send(*channel, 7, columns, 1, matrix, done, sent);
	/* The other process:
	 * dtconv_channel_recv(channel, 7, its_type, its_count, its_buffer, done, &received) */
	/* [channel] */
	return status;
}

START_TEST(channel)
{
	struct dtconv_type *columns = make_columns();
	struct dtconv_engine *engine;
	struct dtconv_channel *from = NULL, *to = NULL;
	int sent = DTCONV_INPROGRESS, received = DTCONV_INPROGRESS, sockets[2];
	static double other[100][5];

	ck_assert(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets));
	ck_assert_int_eq(dtconv_engine_create(common, NULL, &engine), 0);
	ck_assert_int_eq(send_columns(engine, sockets[0], columns, &from, &sent), 0);
	ck_assert_int_eq(dtconv_channel_open(engine, sockets[1], NULL, &to), 0);
	ck_assert_int_eq(dtconv_channel_recv(to, 7, columns, 1, other, done, &received),
			 0);
	while (sent == DTCONV_INPROGRESS || received == DTCONV_INPROGRESS)
		ck_assert_int_eq(dtconv_engine_progress(engine, 0, NULL), 0);
	ck_assert_int_eq(sent, 0);
	ck_assert_int_eq(received, 0);
	ck_assert(other[99][1] == matrix[99][1] && other[99][2] == 0);
	ck_assert_int_eq(dtconv_channel_destroy(from), 0);
	ck_assert_int_eq(dtconv_channel_destroy(to), 0);
	ck_assert_int_eq(dtconv_engine_destroy(engine), 0);
	dtconv_type_unref(columns);
}
END_TEST

/* ---- paths ------------------------------------------------------------------------------ */

static const char *choose_protocol(struct dtconv_convertor *convertor)
{
	/* [path] */
	const struct dtconv_reach verbs = { .struct_size = sizeof(verbs),
					    .flags = DTCONV_REACH_HOST,
					    .max_iov = 16,
					    .least_run = 4096 };
	struct dtconv_path_attr attr = { .struct_size = sizeof(attr) };

	if (dtconv_path(convertor, &verbs, &attr))
		return "error";
	switch (attr.path) {
	case DTCONV_PATH_ROW:
		return "send attr.bytes at attr.address";
	case DTCONV_PATH_IOV:
		return "gather the runs of dtconv_convertor_iov()";
	default:
		return "stage with dtconv_send_start()";
	}
	/* [path] */
}

START_TEST(path)
{
	struct dtconv_type *columns = make_columns();
	struct dtconv_convertor *packs;

	ck_assert_int_eq(dtconv_convertor_create_pack(columns, 1, matrix, &packs), 0);
	ck_assert_str_eq(choose_protocol(packs), "stage with dtconv_send_start()");
	dtconv_convertor_destroy(packs);
	dtconv_type_unref(columns);
}
END_TEST

START_TEST(flow)
{
	struct dtconv_type *columns = make_columns();
	struct dtconv_convertor *packs, *unpacks;
	static double other[100][5];

	ck_assert_int_eq(dtconv_convertor_create_pack(columns, 1, matrix, &packs), 0);
	ck_assert_int_eq(dtconv_convertor_create_unpack(columns, 1, other, &unpacks), 0);
	ck_assert_int_eq(exchange(common, packs, unpacks), 0);
	ck_assert(other[99][1] == matrix[99][1] && other[99][2] == 0);
	dtconv_convertor_destroy(packs);
	dtconv_convertor_destroy(unpacks);
	dtconv_type_unref(columns);
}
END_TEST

START_TEST(pool)
{
	ck_assert_int_eq(use_pool(common), 0);
}
END_TEST

/* ---- memory of other processes ----------------------------------------------------------- */

static int share(struct dtconv_context *context, const void *memory, size_t bytes,
		 struct dtconv_ipc_handle *handle)
{
	/* [ipc export] */
	/* memory of cudaMalloc; send handle->bytes to the other process */
	return dtconv_ipc_export(context, memory, bytes, handle);
	/* [ipc export] */
}

static int fetch(struct dtconv_context *context, const struct dtconv_ipc_handle *handle,
		 struct dtconv_type *type, void *packed, size_t capacity)
{
	/* [ipc open] */
	void *theirs;
	size_t moved;
	int status = dtconv_ipc_open(context, handle, -1, &theirs);

	if (status)
		return status;
	status = dtconv_pack(type, 1, theirs, packed, capacity, &moved);
	dtconv_ipc_close(context, theirs); /* the mapping stays for the next open */
	return status;
	/* [ipc open] */
}

START_TEST(memory_of_other_processes)
{
	struct dtconv_ipc_handle handle = { .bytes = "" };
	char memory[4] = "", packed[4];

	ck_assert_int_eq(share(common, memory, 4, &handle), DTCONV_ERR_UNSUPPORTED);
	ck_assert_int_eq(fetch(common, &handle,
			       dtconv_type_predefined(common, DTCONV_INT), packed, 4),
			 DTCONV_ERR_FORMAT);
}
END_TEST

/* ---- resharding ---------------------------------------------------------------------------- */

static int send_message(const struct dtconv_reshard_message *message, const void *buffer)
{
	char packed[4000];

	return dtconv_pack(message->type, 1, buffer, packed, sizeof(packed), NULL);
}

static int reshard_rows(struct dtconv_context *context, const void *rows)
{
	/* [reshard] */
	/* 100 x 5 doubles: two ranks have rows, and are to have columns */
	static const size_t all[] = { 100, 5 },
			    lower[][2] = { { 0, 0 }, { 50, 0 }, { 0, 3 } };
	static const size_t half[] = { 50, 5 }, left[] = { 100, 3 }, right[] = { 100, 2 };
	const struct dtconv_reshard_box
		have[] = { { .rank = 0, .lower = lower[0], .sizes = half },
			   { .rank = 1, .lower = lower[1], .sizes = half } },
		want[] = { { .rank = 0, .lower = lower[0], .sizes = left },
			   { .rank = 1, .lower = lower[2], .sizes = right } };
	const struct dtconv_reshard_params params = {
		.struct_size = sizeof(params),
		.rank_count = 2,
		.ndims = 2,
		.sizes = all,
		.element = dtconv_type_predefined(context, DTCONV_DOUBLE),
		.source = { 2, have },
		.target = { 2, want },
	};
	struct dtconv_reshard_plan_attr attr = { .struct_size = sizeof(attr) };
	struct dtconv_reshard_message message = { .struct_size = sizeof(message) };
	struct dtconv_reshard *reshard = NULL;
	struct dtconv_reshard_plan *plan = NULL;
	int status = dtconv_reshard_create(&params, &reshard);

	if (!status)
		status = dtconv_reshard_plan_create(reshard, 0, &plan); /* of rank 0 */
	if (!status)
		status = dtconv_reshard_plan_query(plan, &attr);
	for (size_t i = 0; !status && i < attr.send_count; i++) {
		status = dtconv_reshard_plan_query_send(plan, i, &message);
		if (!status)
			status = send_message(&message, rows); /* to message.peer */
	}
	dtconv_reshard_plan_destroy(plan);
	dtconv_reshard_destroy(reshard);
	/* [reshard] */
	return status;
}

START_TEST(resharding)
{
	ck_assert_int_eq(reshard_rows(common, matrix), 0);
}
END_TEST

/* ---- lists of pages -------------------------------------------------------------------------- */

static int pack_sequence(struct dtconv_context *context, const void *cache, size_t tokens,
			 void *packed, size_t capacity, size_t *bytes)
{
	/* [pages] */
	/* a pool of ten pages of 16 tokens, keys apart from values in each layer; the sequence has three pages */
	static const int32_t table[] = { 7, 2, 5 };
	const size_t page_bytes = 16 * 128, pool_pages = 10;
	const struct dtconv_pages pages = {
		.struct_size = sizeof(pages),
		.table = table,
		.count = 3,
		.pool_pages = pool_pages,
		.page_bytes = page_bytes,
		.layer_count = 4,
		.layer_stride = (ptrdiff_t)(2 * pool_pages * page_bytes),
		.part_count = 2,
		.part_stride = (ptrdiff_t)(pool_pages * page_bytes),
		.bytes = tokens * 128, /* the last page may be used in part */
	};

	return dtconv_pages_pack(context, &pages, cache, 0, packed, capacity, bytes);
	/* [pages] */
}

static int take_heads(struct dtconv_context *context, const void *whole, void *half)
{
	/* [page copy] */
	/* heads 2 and 3 of four, of 64 bytes each, from pages of 16 tokens to pages of 64, which have two heads */
	static const int32_t from_table[] = { 7, 2, 5, 0 }, to_table[] = { 1 };
	const struct dtconv_pages from = {
		.struct_size = sizeof(from),
		.table = from_table,
		.count = 4,
		.pool_pages = 10,
		.page_bytes = (size_t)16 * 128,
		.row_bytes = 128,
		.row_stride = 256,
		.offset = 128,
	};
	const struct dtconv_pages to = {
		.struct_size = sizeof(to),
		.table = to_table,
		.count = 1,
		.pool_pages = 2,
		.page_bytes = (size_t)64 * 128,
	};

	return dtconv_pages_copy(context, &from, whole, &to, half, 0, SIZE_MAX, NULL);
	/* [page copy] */
}

START_TEST(copies_of_pages)
{
	static char whole[10 * 16 * 256], half[2 * 64 * 128];

	whole[(5 * 16 + 3) * 256 + 128 + 9] = 1;
	ck_assert_int_eq(take_heads(common, whole, half), 0);
	ck_assert_int_eq(half[(64 + 2 * 16 + 3) * 128 + 9], 1);
}
END_TEST

START_TEST(lists_of_pages)
{
	static char cache[4 * 2 * 10 * 2048], packed[65536];
	size_t bytes;

	ck_assert_int_eq(pack_sequence(common, cache, 40, packed, sizeof(packed), &bytes),
			 0);
	ck_assert_uint_eq(bytes, (size_t)4 * 2 * 40 * 128);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("snippets");
	TCase *tcase = tcase_create("snippets");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, main_page);
	tcase_add_test(tcase, contexts);
	tcase_add_test(tcase, errors);
	tcase_add_test(tcase, versions);
	tcase_add_test(tcase, types);
	tcase_add_test(tcase, convertors);
	tcase_add_test(tcase, flights);
	tcase_add_test(tcase, batches);
	tcase_add_test(tcase, copiers);
	tcase_add_test(tcase, kinds);
	tcase_add_test(tcase, elements);
	tcase_add_test(tcase, streams);
	tcase_add_test(tcase, pool);
	tcase_add_test(tcase, segments);
	tcase_add_test(tcase, memory_of_other_processes);
	tcase_add_test(tcase, flow);
	tcase_add_test(tcase, path);
	tcase_add_test(tcase, channel);
	tcase_add_test(tcase, resharding);
	tcase_add_test(tcase, lists_of_pages);
	tcase_add_test(tcase, copies_of_pages);
	return suite_run(suite);
}
