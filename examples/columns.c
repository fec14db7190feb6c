/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two columns of a matrix: describe them, pack them, and unpack them into another matrix.
 */
#include <stdio.h>
#include <stdlib.h>

#include <dtconv/dtconv.h>

enum { ROWS = 6, COLUMNS = 5, TAKEN = 2 };

/* Every call returns a status; the context has the sentence that explains a failure. */
static void check(struct dtconv_context *context, int status)
{
	char sentence[256];

	if (status == 0)
		return;
	dtconv_context_error(context, sentence, sizeof(sentence));
	fprintf(stderr, "%s\n", sentence);
	exit(EXIT_FAILURE);
}

/* In each of ROWS rows, TAKEN doubles; from row to row, COLUMNS doubles. */
static struct dtconv_type *make_columns(struct dtconv_context *context)
{
	struct dtconv_type *element = dtconv_type_predefined(context, DTCONV_DOUBLE);
	struct dtconv_type *columns;

	check(context,
	      dtconv_type_create_vector(ROWS, TAKEN, COLUMNS, element, &columns));
	check(context, dtconv_type_commit(columns));
	return columns;
}

int main(void)
{
	double matrix[ROWS][COLUMNS], copy[ROWS][COLUMNS] = { { 0 } };
	double packed[ROWS * TAKEN];
	struct dtconv_context *context;
	struct dtconv_type *columns;
	size_t moved;

	for (int row = 0; row < ROWS; row++)
		for (int column = 0; column < COLUMNS; column++)
			matrix[row][column] = 10 * row + column;
	if (dtconv_context_create(NULL, &context) != 0)
		return EXIT_FAILURE;
	columns = make_columns(context);

	/* The buffer's address is where displacement 0 is: here, at column 1 of row 0. */
	check(context,
	      dtconv_pack(columns, 1, &matrix[0][1], packed, sizeof(packed), &moved));
	printf("%zu bytes packed:", moved);
	for (int i = 0; i < ROWS * TAKEN; i++)
		printf(" %g", packed[i]);
	check(context, dtconv_unpack(columns, 1, &copy[0][3], packed, moved, NULL));
	printf("\nunpacked into columns 3 and 4; the last row is now %g %g %g %g %g\n",
	       copy[5][0], copy[5][1], copy[5][2], copy[5][3], copy[5][4]);

	dtconv_type_unref(columns);
	dtconv_context_destroy(context);
	return copy[5][3] == 51 && copy[5][2] == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
