/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Code that used yaksa: packing any range of the stream of (count, type) with a request to complete later, and
 * a type sent to another process as bytes. doc/from-yaksa.md explains it.
 */
#include <stdio.h>
#include <stdlib.h>

#include <dtconv/dtconv.h>

enum { ROWS = 40, COLUMNS = 6, COUNT = 3, CHUNK = 77 };
enum { STREAM = COUNT * ROWS * sizeof(double) };

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
 * Start to move the bytes [offset, offset + bytes) of the stream, as yaksa_ipack and yaksa_iunpack do. The
 * convertor is the request: one operation may be in flight in it.
 */
static int start_range(struct dtconv_convertor *convertor, size_t offset, void *packed,
		       size_t bytes)
{
	int status = dtconv_convertor_seek(convertor, offset);

	return status ? status
		      : dtconv_convertor_start(convertor, packed, bytes, NULL, NULL);
}

/* Test until it is done, as a progress engine would between other work. */
static int finish(struct dtconv_convertor *convertor, size_t *moved)
{
	int status;

	do
		status = dtconv_convertor_test(convertor, moved);
	while (status == DTCONV_INPROGRESS);
	return status;
}

/* Move the whole stream in chunks; the direction is the convertor's. */
static size_t move_all(struct dtconv_context *context, struct dtconv_convertor *convertor,
		       char *packed)
{
	size_t offset = 0, moved;

	while (offset < STREAM) {
		size_t bytes = STREAM - offset < CHUNK ? STREAM - offset : CHUNK;

		check(context, start_range(convertor, offset, packed + offset, bytes));
		check(context, finish(convertor, &moved));
		offset += moved;
	}
	return offset;
}

/* A column of the matrix, with the extent of one element: the next instance is the next column. */
static struct dtconv_type *make_column(struct dtconv_context *context)
{
	struct dtconv_type *vector, *column;

	check(context, dtconv_type_create_vector(
			       ROWS, 1, COLUMNS,
			       dtconv_type_predefined(context, DTCONV_DOUBLE), &vector));
	check(context, dtconv_type_create_resized(vector, 0, sizeof(double), &column));
	dtconv_type_unref(vector);
	return column;
}

/* The same type in another context, by way of bytes: yaksa_flatten and yaksa_unflatten. */
static struct dtconv_type *send_type(struct dtconv_context *context,
				     const struct dtconv_type *type,
				     struct dtconv_context *other)
{
	char bytes[512]; /* types of any length: ask for the length with capacity 0 */
	struct dtconv_type *copy;
	size_t length;

	check(context, dtconv_type_serialise(type, bytes, sizeof(bytes), &length));
	check(other, dtconv_type_deserialise(other, bytes, length, &copy));
	return copy;
}

int main(void)
{
	static double source[ROWS][COLUMNS], target[ROWS][COLUMNS];
	static char packed[STREAM];
	struct dtconv_context *here, *there;
	struct dtconv_convertor *sender, *receiver;
	int wrong = 0;

	for (int i = 0; i < ROWS * COLUMNS; i++)
		source[i / COLUMNS][i % COLUMNS] = i + 1;
	if (dtconv_context_create(NULL, &here) != 0 ||
	    dtconv_context_create(NULL, &there) != 0)
		return EXIT_FAILURE;
	struct dtconv_type *column = make_column(here);
	struct dtconv_type *copy = send_type(here, column, there);

	check(here, dtconv_type_commit(column)); /* yaksa has no such step */
	check(there, dtconv_type_commit(copy));
	check(here, dtconv_convertor_create_pack(column, COUNT, source, &sender));
	check(there, dtconv_convertor_create_unpack(copy, COUNT, target, &receiver));
	size_t sent = move_all(here, sender, packed);
	size_t received = move_all(there, receiver, packed);

	for (int i = 0; i < ROWS * COLUMNS; i++)
		wrong += target[i / COLUMNS][i % COLUMNS] !=
			 (i % COLUMNS < COUNT ? i + 1 : 0);
	printf("%zu bytes in chunks of %d: %d values wrong\n", sent, CHUNK, wrong);
	dtconv_convertor_destroy(sender);
	dtconv_convertor_destroy(receiver);
	dtconv_type_unref(column);
	dtconv_type_unref(copy);
	dtconv_context_destroy(here);
	dtconv_context_destroy(there);
	return sent == STREAM && received == STREAM && wrong == 0 ? EXIT_SUCCESS
								  : EXIT_FAILURE;
}
