/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A transpose is a copy from rows to columns: the same elements in the same packed order, in
 * two layouts. dtconv_copy needs no packed buffer in between.
 */
#include <stdio.h>
#include <stdlib.h>

#include <dtconv/dtconv.h>

enum { ROWS = 4, COLUMNS = 7 };

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
 * One column of a matrix with `rows` rows. Its extent is set to one element, so that the next
 * instance is the next column.
 */
static struct dtconv_type *make_column(struct dtconv_context *context, size_t rows,
				       ptrdiff_t columns)
{
	struct dtconv_type *element = dtconv_type_predefined(context, DTCONV_DOUBLE);
	struct dtconv_type *strided, *column;

	check(context, dtconv_type_create_vector(rows, 1, columns, element, &strided));
	check(context, dtconv_type_create_resized(strided, 0, sizeof(double), &column));
	dtconv_type_unref(strided);
	check(context, dtconv_type_commit(column));
	return column;
}

int main(void)
{
	double matrix[ROWS][COLUMNS], transposed[COLUMNS][ROWS];
	struct dtconv_context *context;
	struct dtconv_type *element, *column;
	int wrong = 0;

	for (int row = 0; row < ROWS; row++)
		for (int i = 0; i < COLUMNS; i++)
			matrix[row][i] = 10 * row + i;
	if (dtconv_context_create(NULL, &context) != 0)
		return EXIT_FAILURE;
	element = dtconv_type_predefined(context, DTCONV_DOUBLE);
	column = make_column(context, COLUMNS, ROWS);

	/* The source row by row is the target column by column. */
	check(context, dtconv_copy(element, (size_t)ROWS * COLUMNS, matrix, column, ROWS,
				   transposed, NULL));
	for (int i = 0; i < COLUMNS; i++) {
		for (int row = 0; row < ROWS; row++) {
			wrong += transposed[i][row] != matrix[row][i];
			printf("%4g", transposed[i][row]);
		}
		putchar('\n');
	}
	dtconv_type_unref(column);
	dtconv_context_destroy(context);
	return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
