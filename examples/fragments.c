/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A message in fragments: the sender packs them one by one, the network delivers them out of
 * order, and the receiver unpacks each where it belongs. A fragment may begin and end at any
 * byte, also in the middle of a double.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dtconv/dtconv.h>

enum { N = 24, FRAGMENT = 100, MAX_FRAGMENTS = 64 };

/* What a network would carry. */
struct fragment {
	size_t position; /* in the packed stream */
	size_t bytes;
	char data[FRAGMENT];
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

/* Pack until the stream ends. Return the number of fragments. */
static size_t send_all(struct dtconv_context *context, struct dtconv_type *type,
		       const void *buffer, struct fragment fragments[])
{
	struct dtconv_convertor *convertor;
	size_t count = 0, position = 0, moved;

	check(context, dtconv_convertor_create_pack(type, 1, buffer, &convertor));
	do {
		struct fragment *next = &fragments[count];

		check(context,
		      dtconv_convertor_pack(convertor, next->data, FRAGMENT, &moved));
		next->position = position;
		next->bytes = moved;
		position += moved;
		count += moved > 0;
	} while (moved > 0 && count < MAX_FRAGMENTS);
	dtconv_convertor_destroy(convertor);
	return count;
}

/* Unpack fragments in the order in which they arrive. */
static void receive_all(struct dtconv_context *context, struct dtconv_type *type,
			void *buffer, const struct fragment fragments[], size_t count)
{
	struct dtconv_convertor *convertor;
	size_t moved;

	check(context, dtconv_convertor_create_unpack(type, 1, buffer, &convertor));
	for (size_t i = 0; i < count; i++) {
		const struct fragment *next = &fragments[(i * 7 + 3) % count];

		check(context, dtconv_convertor_seek(convertor, next->position));
		check(context, dtconv_convertor_unpack(convertor, next->data, next->bytes,
						       &moved));
	}
	dtconv_convertor_destroy(convertor);
}

int main(void)
{
	static const char text[] = "subarray([24,24], [20,20], [2,2], c, double)";
	static double source[N][N], target[N][N];
	static struct fragment fragments[MAX_FRAGMENTS];
	struct dtconv_context *context;
	struct dtconv_type *inner;
	size_t count;
	int wrong = 0;

	for (int i = 0; i < N * N; i++)
		source[i / N][i % N] = i;
	if (dtconv_context_create(NULL, &context) != 0)
		return EXIT_FAILURE;
	check(context, dtconv_type_parse(context, text, strlen(text), &inner));
	check(context, dtconv_type_commit(inner));
	count = send_all(context, inner, source, fragments);
	receive_all(context, inner, target, fragments, count);
	for (int i = 0; i < N * N; i++) {
		int row = i / N, column = i % N;
		int is_inner = row >= 2 && row < 22 && column >= 2 && column < 22;

		wrong += target[row][column] != (is_inner ? i : 0);
	}
	printf("%zu fragments of at most %d bytes, out of order: %d elements wrong\n",
	       count, FRAGMENT, wrong);
	dtconv_type_unref(inner);
	dtconv_context_destroy(context);
	return count == 32 && wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
