/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a user of the installed library writes first: two columns of a 3 x 4 matrix, packed and
 * compared. Built by the pkg-config and the CMake project, outside the build tree.
 */
#include <stdio.h>
#include <string.h>

#include <dtconv/dtconv.h>

static int pack_columns(struct dtconv_context *context, const int matrix[12],
			int columns[6])
{
	static const char layout[] = "vector(3, 2, 4, int)";
	struct dtconv_type *type = NULL;
	size_t moved = 0;
	int status = dtconv_type_parse(context, layout, strlen(layout), &type);

	if (status == 0)
		status = dtconv_type_commit(type);
	if (status == 0)
		status = dtconv_pack(type, 1, matrix, columns, 6 * sizeof(int), &moved);
	if (status == 0 && moved != 6 * sizeof(int))
		status = DTCONV_ERR_TRUNCATE;
	dtconv_type_unref(type);
	return status;
}

int main(void)
{
	static const int expected[6] = { 0, 1, 4, 5, 8, 9 };
	static const int matrix[12] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };
	struct dtconv_context *context;
	int columns[6];
	int status = dtconv_context_create(NULL, &context);

	if (status == 0) {
		status = pack_columns(context, matrix, columns);
		dtconv_context_destroy(context);
	}
	if (status != 0) {
		printf("failed: %s\n", dtconv_strerror(status));
		return 1;
	}
	printf("libdtconv %s\n", dtconv_version());
	return memcmp(columns, expected, sizeof(expected)) != 0;
}
