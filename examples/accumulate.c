/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The target side of an accumulate: columns of a matrix arrive from a big-endian machine, in
 * fragments that may cut a double, and are added to what is there. A checksum of the stream
 * tells whether it arrived unharmed.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dtconv/dtconv.h>

enum { ROWS = 50, COLUMNS = 10, WIDTH = 3, FRAGMENT = 101 };

static void check(struct dtconv_context *context, int status)
{
	char sentence[256];

	if (status == 0)
		return;
	dtconv_context_error(context, sentence, sizeof(sentence));
	fprintf(stderr, "%s\n", sentence);
	exit(EXIT_FAILURE);
}

/* WIDTH neighbouring columns. */
static struct dtconv_type *columns(struct dtconv_context *context)
{
	struct dtconv_type *type;

	check(context, dtconv_type_create_vector(
			       ROWS, WIDTH, COLUMNS,
			       dtconv_type_predefined(context, DTCONV_DOUBLE), &type));
	check(context, dtconv_type_commit(type));
	return type;
}

/* Add the stream to the columns as it arrives. Return its checksum. */
static uint32_t add_all(struct dtconv_context *context, struct dtconv_type *type,
			const struct dtconv_convertor_params *params, double *matrix,
			const char *stream, size_t bytes)
{
	struct dtconv_convertor *convertor;
	uint32_t checksum;
	size_t moved;

	check(context, dtconv_convertor_create_unpack(type, 1, matrix, &convertor));
	check(context, dtconv_convertor_configure(convertor, params));
	for (size_t at = 0; at < bytes; at += moved)
		check(context, dtconv_convertor_unpack(convertor, stream + at,
						       bytes - at < FRAGMENT ? bytes - at
									     : FRAGMENT,
						       &moved));
	check(context, dtconv_convertor_crc32c(convertor, &checksum));
	dtconv_convertor_destroy(convertor);
	return checksum;
}

int main(void)
{
	static double source[ROWS][COLUMNS], target[ROWS][COLUMNS];
	static char stream[ROWS * WIDTH * sizeof(double)];
	struct dtconv_representation external32;
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .representation = &external32 };
	struct dtconv_context *context;
	size_t moved;

	if (dtconv_context_create(NULL, &context))
		return EXIT_FAILURE;
	struct dtconv_type *type = columns(context);
	for (int i = 0; i < ROWS * COLUMNS; i++) {
		source[i / COLUMNS][i % COLUMNS] = i;
		target[i / COLUMNS][i % COLUMNS] = 1000;
	}
	check(context, dtconv_representation_find("external32", &external32));
	check(context,
	      dtconv_pack_with(type, 1, source, stream, sizeof(stream), &params, &moved));
	params.op = DTCONV_OP_SUM;
	params.flags = DTCONV_CONVERTOR_CRC32C;
	uint32_t checksum = add_all(context, type, &params, &target[0][0], stream, moved);

	printf("%zu bytes, checksum %08x, last sum %g\n", moved, (unsigned)checksum,
	       target[ROWS - 1][WIDTH - 1]);
	bool right = checksum == dtconv_crc32c(0, stream, moved) &&
		     target[ROWS - 1][WIDTH - 1] == 1000 + source[ROWS - 1][WIDTH - 1] &&
		     target[0][WIDTH] == 1000;
	dtconv_type_unref(type);
	dtconv_context_destroy(context);
	return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
