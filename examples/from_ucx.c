/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The six callbacks of a UCX generic datatype, written with a convertor. The struct below stands in for
 * ucp_generic_dt_ops_t, so that this compiles without UCX. doc/from-ucx-generic.md explains it.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <dtconv/dtconv.h>

enum { RECORDS = 50, FRAGMENT = 128, ROOM = RECORDS * 12 };

/* With UCX: ucp_generic_dt_ops_t, and ucs_status_t as the result of unpack. */
struct generic_ops {
	void *(*start_pack)(void *context, const void *buffer, size_t count);
	void *(*start_unpack)(void *context, void *buffer, size_t count);
	size_t (*packed_size)(void *state);
	size_t (*pack)(void *state, size_t offset, void *target, size_t max_length);
	int (*unpack)(void *state, size_t offset, const void *source, size_t length);
	void (*finish)(void *state);
};

/* The context of the datatype is the committed type, the state of a request is a convertor. */
static void *start_pack(void *context, const void *buffer, size_t count)
{
	struct dtconv_convertor *convertor = NULL;

	dtconv_convertor_create_pack(context, count, buffer, &convertor);
	return convertor;
}

static void *start_unpack(void *context, void *buffer, size_t count)
{
	struct dtconv_convertor *convertor = NULL;

	dtconv_convertor_create_unpack(context, count, buffer, &convertor);
	return convertor;
}

static size_t packed_size(void *state)
{
	struct dtconv_convertor_attr attr = { .struct_size = sizeof(attr) };

	dtconv_convertor_query(state, &attr);
	return attr.size;
}

static size_t pack(void *state, size_t offset, void *target, size_t max_length)
{
	size_t moved = 0;

	if (dtconv_convertor_seek(state, offset) == 0)
		dtconv_convertor_pack(state, target, max_length, &moved);
	return moved;
}

static int unpack(void *state, size_t offset, const void *source, size_t length)
{
	int status = dtconv_convertor_seek(state, offset);
	size_t moved;

	/* With UCX: 0 is UCS_OK; DTCONV_ERR_TRUNCATE becomes UCS_ERR_MESSAGE_TRUNCATED. */
	return status ? status : dtconv_convertor_unpack(state, source, length, &moved);
}

static void finish(void *state)
{
	dtconv_convertor_destroy(state);
}

static const struct generic_ops ops = { start_pack, start_unpack, packed_size,
					pack,       unpack,       finish };

struct record {
	int key;
	char padding[12];
	double value;
};

/* The int and the double of each record. */
static struct dtconv_type *make_type(struct dtconv_context *context)
{
	const size_t lengths[2] = { 1, 1 };
	const ptrdiff_t places[2] = { 0, offsetof(struct record, value) };
	struct dtconv_type *fields[2] = { dtconv_type_predefined(context, DTCONV_INT),
					  dtconv_type_predefined(context,
								 DTCONV_DOUBLE) };
	struct dtconv_type *type;

	if (dtconv_type_create_struct(context, 2, lengths, places, fields, &type) != 0 ||
	    dtconv_type_commit(type) != 0)
		exit(EXIT_FAILURE);
	return type;
}

/* What UCX does with the callbacks: any order of fragments, here from the last one to the first one. */
static int transfer(struct dtconv_type *type, const struct record *source,
		    struct record *target)
{
	static char wire[ROOM];
	void *sender = ops.start_pack(type, source, RECORDS);
	void *receiver = ops.start_unpack(type, target, RECORDS);
	int status = sender && receiver ? 0 : DTCONV_ERR_NOMEM;
	size_t total = status ? 0 : ops.packed_size(sender), sent = 0;

	while (sent < total) {
		size_t moved = ops.pack(sender, sent, wire + sent, FRAGMENT);

		if (moved == 0)
			status = DTCONV_ERR_STATE;
		sent += moved ? moved : total;
	}
	for (size_t end = status ? 0 : total; end > 0 && status == 0;) {
		size_t offset = (end - 1) / FRAGMENT * FRAGMENT;

		status = ops.unpack(receiver, offset, wire + offset, end - offset);
		end = offset;
	}
	ops.finish(sender);
	ops.finish(receiver);
	return status;
}

int main(void)
{
	static struct record source[RECORDS], target[RECORDS];
	struct dtconv_context *context;
	int wrong = 0;

	for (int i = 0; i < RECORDS; i++)
		source[i] = (struct record){ .key = i, .value = i / 4.0 };
	if (dtconv_context_create(NULL, &context) != 0)
		return EXIT_FAILURE;
	/* With UCX: ucp_dt_create_generic(&ops, type, &datatype). */
	struct dtconv_type *type = make_type(context);
	int status = transfer(type, source, target);

	for (int i = 0; i < RECORDS; i++)
		wrong += target[i].key != i || target[i].value != i / 4.0;
	printf("%d records through the callbacks: status %d, %d wrong\n", RECORDS, status,
	       wrong);
	dtconv_type_unref(type);
	dtconv_context_destroy(context);
	return status == 0 && wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
