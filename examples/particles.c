/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Particles that leave a domain, kept as a struct of arrays: one type gathers the chosen
 * entries of every array, so that one message carries them.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dtconv/dtconv.h>

enum { PARTICLES = 100, LEAVING = 7 };

struct particles {
	double position[PARTICLES][3];
	double mass[PARTICLES];
	int species[PARTICLES];
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

/* The entries `list` of an array whose elements are `length` values of a predefined type. */
static struct dtconv_type *make_gather(struct dtconv_context *context, size_t length,
				       enum dtconv_predefined value,
				       const ptrdiff_t list[])
{
	struct dtconv_type *element, *gather;

	check(context, dtconv_type_create_contiguous(
			       length, dtconv_type_predefined(context, value), &element));
	check(context,
	      dtconv_type_create_indexed_block(LEAVING, 1, list, element, &gather));
	dtconv_type_unref(element); /* the new type holds its own reference */
	return gather;
}

/* All three arrays, each at its place in the struct. */
static struct dtconv_type *make_leaving(struct dtconv_context *context,
					const ptrdiff_t list[])
{
	size_t blocklengths[3] = { 1, 1, 1 };
	ptrdiff_t places[3] = { offsetof(struct particles, position),
				offsetof(struct particles, mass),
				offsetof(struct particles, species) };
	struct dtconv_type *arrays[3] = { make_gather(context, 3, DTCONV_DOUBLE, list),
					  make_gather(context, 1, DTCONV_DOUBLE, list),
					  make_gather(context, 1, DTCONV_INT, list) };
	struct dtconv_type *leaving;

	check(context, dtconv_type_create_struct(context, 3, blocklengths, places, arrays,
						 &leaving));
	for (int i = 0; i < 3; i++)
		dtconv_type_unref(arrays[i]);
	check(context, dtconv_type_commit(leaving));
	return leaving;
}

int main(void)
{
	static const ptrdiff_t list[LEAVING] = { 3, 14, 15, 92, 65, 35, 89 };
	static struct particles here, there;
	char message[LEAVING * (3 * sizeof(double) + sizeof(double) + sizeof(int))];
	struct dtconv_context *context;
	struct dtconv_type *leaving;
	size_t moved;

	for (int i = 0; i < PARTICLES; i++) {
		here.position[i][0] = i + 0.25;
		here.mass[i] = 1.0 / (i + 1);
		here.species[i] = i % 4;
	}
	if (dtconv_context_create(NULL, &context) != 0)
		return EXIT_FAILURE;
	leaving = make_leaving(context, list);
	check(context, dtconv_pack(leaving, 1, &here, message, sizeof(message), &moved));
	check(context, dtconv_unpack(leaving, 1, &there, message, moved, NULL));
	printf("%zu bytes carry %d particles; number 92 arrived at x = %g\n", moved,
	       LEAVING, there.position[92][0]);
	dtconv_type_unref(leaving);
	dtconv_context_destroy(context);
	return moved == sizeof(message) && there.species[89] == 1 &&
			       there.species[90] == 0
		       ? EXIT_SUCCESS
		       : EXIT_FAILURE;
}
