/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtconv fuzz on a library that is wrong on purpose: the linker puts this file's functions in
 * front of the library's. check_fuzz expects the fuzzer to find all of the faults.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "../tools/tools.h"

int __real_dtconv_convertor_pack(struct dtconv_convertor *convertor, void *packed,
				 size_t capacity, size_t *moved);
int __wrap_dtconv_convertor_pack(struct dtconv_convertor *convertor, void *packed,
				 size_t capacity, size_t *moved);
int __real_dtconv_convertor_seek(struct dtconv_convertor *convertor, size_t position);
int __wrap_dtconv_convertor_seek(struct dtconv_convertor *convertor, size_t position);
int __real_dtconv_type_deserialise(struct dtconv_context *context, const void *bytes,
				   size_t length, struct dtconv_type **type);
int __wrap_dtconv_type_deserialise(struct dtconv_context *context, const void *bytes,
				   size_t length, struct dtconv_type **type);

/* Which fault: the word after the program's name. */
static const char *fault = "";

/* A fragment that begins at byte 5 of an element and is longer than it: its byte 3 is wrong. */
int __wrap_dtconv_convertor_pack(struct dtconv_convertor *convertor, void *packed,
				 size_t capacity, size_t *moved)
{
	struct dtconv_convertor_attr attr = { .struct_size = sizeof(attr) };
	int status;

	dtconv_convertor_query(convertor, &attr);
	status = __real_dtconv_convertor_pack(convertor, packed, capacity, moved);
	if (!strcmp(fault, "byte") && attr.position % 8 == 5 && *moved > 3)
		((unsigned char *)packed)[3] ^= 1;
	return status;
}

/* A crash, far into a stream. */
int __wrap_dtconv_convertor_seek(struct dtconv_convertor *convertor, size_t position)
{
	if (!strcmp(fault, "crash") && position > 40)
		abort();
	return __real_dtconv_convertor_seek(convertor, position);
}

/* Of a type with two constructors or more, what comes back has one more. */
int __wrap_dtconv_type_deserialise(struct dtconv_context *context, const void *bytes,
				   size_t length, struct dtconv_type **type)
{
	int status = __real_dtconv_type_deserialise(context, bytes, length, type);
	struct dtconv_type *wrong = NULL;

	if (status || strcmp(fault, "stream") || ((const unsigned char *)bytes)[16] < 2)
		return status;
	if (dtconv_type_create_dup(*type, &wrong) == 0) {
		dtconv_type_unref(*type);
		*type = wrong;
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return TOOL_USAGE;
	fault = argv[1];
	return cmd_fuzz(argc - 1, argv + 1);
}
