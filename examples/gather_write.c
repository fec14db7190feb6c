/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * No packing at all: the blocks of a layout are exported as an iovec, and the kernel gathers
 * them with writev, straight from the user's buffer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <dtconv/dtconv.h>

enum { RECORDS = 500, BATCH = 64 };

/* A record of which only the name and the count go out. */
struct record {
	char name[12];
	int internal[5];
	int count;
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

/* Write all blocks of a buffer. Return the bytes written. */
static size_t write_all(struct dtconv_context *context, struct dtconv_type *type,
			size_t count, const void *buffer, int file)
{
	struct dtconv_convertor *convertor;
	struct iovec iov[BATCH];
	size_t entries, bytes, written = 0;

	check(context, dtconv_convertor_create_pack(type, count, buffer, &convertor));
	do {
		check(context, dtconv_convertor_iov(convertor, iov, BATCH, SIZE_MAX,
						    &entries, &bytes));
		if (entries > 0 && writev(file, iov, (int)entries) != (ssize_t)bytes)
			break;
		written += bytes;
	} while (entries > 0);
	dtconv_convertor_destroy(convertor);
	return written;
}

int main(void)
{
	static const char text[] = "resized(struct([12,1], [0,32], [char,int]), 0, 36)";
	static struct record records[RECORDS];
	struct dtconv_context *context;
	struct dtconv_type *outgoing;
	FILE *file = tmpfile();
	char name[12];
	int count;

	for (int i = 0; i < RECORDS; i++) {
		snprintf(records[i].name, sizeof(records[i].name), "record%d", i);
		records[i].count = i * i;
	}
	if (!file || dtconv_context_create(NULL, &context) != 0)
		return EXIT_FAILURE;
	check(context, dtconv_type_parse(context, text, strlen(text), &outgoing));
	check(context, dtconv_type_commit(outgoing));
	printf("%zu bytes written",
	       write_all(context, outgoing, RECORDS, records, fileno(file)));
	dtconv_type_unref(outgoing);
	dtconv_context_destroy(context);

	/* Record 321 in the file: 16 bytes each, nothing in between. */
	if (fseek(file, 321 * 16, SEEK_SET) != 0 ||
	    fread(name, sizeof(name), 1, file) != 1 ||
	    fread(&count, sizeof(count), 1, file) != 1)
		return EXIT_FAILURE;
	printf(", one of them is %s with %d\n", name, count);
	fclose(file);
	return strcmp(name, "record321") == 0 && count == 321 * 321 ? EXIT_SUCCESS
								    : EXIT_FAILURE;
}
