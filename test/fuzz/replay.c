/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a fuzz target without libFuzzer: over the files and folders named on the command line,
 * or over its corpus in the source tree and some thousand random inputs.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz/fuzz.h"
#include "support/choices.h"

#define RANDOM_INPUTS 20000
#define LONGEST_INPUT 65536
#define MAX_RANDOM    96

/* Inputs run so far. */
static size_t replayed;

/* In memory of exactly the input's length, as libFuzzer does, so that sanitizers see. */
static void run_input(const uint8_t *bytes, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		fuzz_fail("no memory for %zu bytes", size);
	memcpy(copy, bytes, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
	replayed++;
}

static int replay_file(const char *path)
{
	static uint8_t bytes[LONGEST_INPUT];
	FILE *file = fopen(path, "rb");
	size_t size;

	if (!file) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return -1;
	}
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	run_input(bytes, size);
	return 0;
}

static int replay_folder(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	int failed = 0;

	if (!folder) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return -1;
	}
	while (!failed && (entry = readdir(folder))) {
		char file[1024];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
		failed = replay_file(file);
	}
	closedir(folder);
	return failed;
}

static int replay(const char *path)
{
	struct stat status;

	if (!stat(path, &status) && S_ISDIR(status.st_mode))
		return replay_folder(path);
	return replay_file(path);
}

static void run_random_inputs(void)
{
	struct choices choices;
	uint8_t bytes[MAX_RANDOM];

	choices_from_seed(&choices, 1);
	for (size_t i = 0; i < RANDOM_INPUTS; i++) {
		size_t size = choose(&choices, sizeof(bytes) + 1);

		for (size_t j = 0; j < size; j++)
			bytes[j] = (uint8_t)choose(&choices, 256);
		run_input(bytes, size);
	}
}

/* test/fuzz/corpus/TARGET of the source tree, for a program called replay_TARGET. */
static int replay_corpus(const char *program)
{
	const char *srcdir = getenv("srcdir");
	const char *base = strrchr(program, '/');
	const char *name = strstr(base ? base : program, "replay_");
	char path[1024];

	snprintf(path, sizeof(path), "%s/test/fuzz/corpus/fuzz_%s", srcdir ? srcdir : ".",
		 name ? name + strlen("replay_") : "");
	return replay_folder(path);
}

int main(int argc, char **argv)
{
	int failed = 0;

	for (int i = 1; i < argc && !failed; i++)
		failed = replay(argv[i]);
	if (argc == 1) {
		failed = replay_corpus(argv[0]);
		run_random_inputs();
	}
	printf("%zu inputs replayed\n", replayed);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
