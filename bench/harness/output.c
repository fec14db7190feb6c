/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files of results and plots: every write error is reported.
 */
#include "config.h"

#include "bench/harness/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/options.h"

bool output_is_standard(const char *path)
{
	return path && !strcmp(path, "-");
}

static void complain(const char *option, const char *path)
{
	fprintf(stderr, "dtconv bench: %s %s: %s\n", option, path,
		errno ? strerror(errno) : "the output is incomplete");
}

FILE *output_open(const struct bench_options *o, const char *option, const char *path,
		  const char *mode)
{
	FILE *file = output_is_standard(path) ? o->output : fopen(path, mode);

	if (!file)
		complain(option, path);
	return file;
}

int output_close(const struct bench_options *o, const char *option, const char *path,
		 FILE *file)
{
	bool failed = ferror(file);

	errno = 0; /* clear the reason of an earlier failure */
	if (file == o->output ? fflush(file) : fclose(file))
		failed = true;
	if (failed)
		complain(option, path);
	return failed ? -1 : 0;
}

int output_plot(const struct bench_options *o, const struct results *rs,
		const char *title, output_draw draw)
{
	size_t length = 0;
	char *text = NULL;
	FILE *memory = open_memstream(&text, &length), *file = NULL;
	int failed = memory ? draw(memory, rs, title) : -1;

	if (memory && fclose(memory))
		failed = -1;
	if (failed)
		complain("--plot", o->plot);
	else
		file = output_open(o, "--plot", o->plot, "w");
	if (file) {
		fwrite(text, 1, length, file);
		failed = output_close(o, "--plot", o->plot, file);
	}
	free(text);
	return failed || !file ? -1 : 0;
}
