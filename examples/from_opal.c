/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A message layer that used opal_convertor: one convertor for each request, bound again for the next one;
 * fragments packed into several iovec entries; positions set for fragments that arrive out of order.
 * doc/from-opal-convertor.md explains it.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include <dtconv/dtconv.h>

enum { ROWS = 60, COLUMNS = 9, WIDTH = 4, SEGMENT = 100, SEGMENTS = 3 };
enum { STREAM = ROWS * WIDTH * sizeof(double) };

static void check(struct dtconv_context *context, int status)
{
	char sentence[256];

	if (status == 0)
		return;
	dtconv_context_error(context, sentence, sizeof(sentence));
	fprintf(stderr, "%s\n", sentence);
	exit(EXIT_FAILURE);
}

/*
 * Fill the entries with the next bytes of the stream, as opal_convertor_pack does. On return the lengths are
 * those that were filled, and *count the entries in use. Return 1 at the end of the stream, 0 before it, and a
 * negative status on failure.
 */
static int pack_iov(struct dtconv_convertor *convertor, struct iovec *iov,
		    uint32_t *count, size_t *bytes)
{
	struct dtconv_convertor_attr attr = { .struct_size = sizeof(attr) };
	uint32_t used = 0;
	size_t room, moved;
	int status;

	*bytes = 0;
	do {
		room = iov[used].iov_len;
		status = dtconv_convertor_pack(convertor, iov[used].iov_base, room,
					       &moved);
		iov[used].iov_len = moved;
		*bytes += moved;
		used += moved > 0;
	} while (status == 0 && moved == room && used < *count);
	*count = used;
	if (status != 0)
		return status;
	dtconv_convertor_query(convertor, &attr);
	return attr.position == attr.size;
}

/* Whether the user's buffer can go out as it is, as opal_convertor_need_buffers asks. */
static int need_buffers(const struct dtconv_type *type)
{
	struct dtconv_type_attr attr = { .struct_size = sizeof(attr) };

	dtconv_type_query(type, &attr);
	return !attr.contiguous;
}

/* Send: each step fills up to three segments of 100 bytes. Return the bytes of the stream. */
static size_t send_all(struct dtconv_context *context, struct dtconv_convertor *convertor,
		       char *wire)
{
	size_t sent = 0, bytes;
	int status;

	do {
		struct iovec iov[SEGMENTS];
		uint32_t count = SEGMENTS;

		for (uint32_t i = 0; i < SEGMENTS; i++)
			iov[i] = (struct iovec){ wire + sent + (size_t)i * SEGMENT,
						 SEGMENT };
		status = pack_iov(convertor, iov, &count, &bytes);
		check(context, status < 0 ? status : 0);
		sent += bytes;
	} while (status == 0);
	return sent;
}

/* Receive the segments from the last one to the first one. */
static void receive_all(struct dtconv_context *context,
			struct dtconv_convertor *convertor, const char *wire,
			size_t bytes)
{
	size_t moved;

	for (size_t end = bytes; end > 0;) {
		size_t position = (end - 1) / SEGMENT * SEGMENT;

		check(context, dtconv_convertor_seek(convertor, position));
		check(context, dtconv_convertor_unpack(convertor, wire + position,
						       end - position, &moved));
		end = position;
	}
}

int main(void)
{
	static double source[ROWS][COLUMNS], target[ROWS][COLUMNS];
	static char wire[STREAM + SEGMENTS * SEGMENT];
	struct dtconv_context *context;
	struct dtconv_convertor *sender, *receiver;
	struct dtconv_type *columns;
	int wrong = 0;

	for (int i = 0; i < ROWS * COLUMNS; i++)
		source[i / COLUMNS][i % COLUMNS] = i + 1;
	if (dtconv_context_create(NULL, &context) != 0)
		return EXIT_FAILURE;
	check(context, dtconv_type_create_vector(
			       ROWS, WIDTH, COLUMNS,
			       dtconv_type_predefined(context, DTCONV_DOUBLE), &columns));
	check(context, dtconv_type_commit(columns));
	check(context, dtconv_convertor_create_pack(columns, 1, source, &sender));
	check(context, dtconv_convertor_create_unpack(columns, 1, target, &receiver));

	/* Two requests with the same convertors: the second one allocates nothing. */
	for (int request = 0; request < 2; request++) {
		memset(target, 0, sizeof(target));
		check(context, dtconv_convertor_rebind_pack(sender, columns, 1, source));
		check(context,
		      dtconv_convertor_rebind_unpack(receiver, columns, 1, target));
		receive_all(context, receiver, wire, send_all(context, sender, wire));
		for (int i = 0; i < ROWS * COLUMNS; i++)
			wrong += target[i / COLUMNS][i % COLUMNS] !=
				 (i % COLUMNS < WIDTH ? i + 1 : 0);
	}
	printf("%d bytes in segments of %d, packing %s: %d values wrong\n", (int)STREAM,
	       SEGMENT, need_buffers(columns) ? "needed" : "not needed", wrong);
	dtconv_convertor_destroy(sender);
	dtconv_convertor_destroy(receiver);
	dtconv_type_unref(columns);
	dtconv_context_destroy(context);
	return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
