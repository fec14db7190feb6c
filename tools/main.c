/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The dtconv program: finds the command and runs it. It refuses to know what commands do.
 */
#include "config.h"

#include "tools.h"

#include <errno.h>
#include <locale.h>
#include <string.h>

struct command {
	const char *name;
	const char *summary;
	int (*run)(int argc, char **argv);
};

static const struct command commands[] = {
	{ "show", "draw a layout: numbers, tree, program, picture", cmd_show },
	{ "explain", "say which path would move a layout, and why", cmd_explain },
	{ "bench", "measure layouts against memcpy, hand loops and MPI libraries",
	  cmd_bench },
	{ "fuzz", "check random layouts against the oracle", cmd_fuzz },
	{ "tune", "measure this machine's thresholds and keep them", cmd_tune },
	{ "info", "describe the build, the processor, the backends and the devices",
	  cmd_info },
};

static const size_t command_count = sizeof(commands) / sizeof(commands[0]);

static void print_help(void)
{
	puts("Usage: dtconv COMMAND [OPTION...] [EXPR]\n"
	     "\n"
	     "Describes memory layouts (derived datatypes, as in MPI) and moves them.\n"
	     "\n"
	     "Commands:");
	for (size_t i = 0; i < command_count; i++)
		printf("  %-10s %s\n", commands[i].name, commands[i].summary);
	puts("\n"
	     "  --help     this text; 'dtconv COMMAND --help' teaches one command\n"
	     "  --version  the version of the program and of the library it runs with\n"
	     "\n"
	     "EXPR is a layout in text form, '-' for standard input, or '@FILE', which may\n"
	     "also be what 'dtconv show --serialise FILE' wrote:\n"
	     "  double                                 a predefined type\n"
	     "  vector(4, 2, 5, double)                4 x 2 doubles, 5 doubles apart\n"
	     "  subarray([8,8], [3,3], [1,1], c, int)  a box out of an array\n"
	     "  struct([1,3], [0,8], [int,double])     members at byte displacements\n"
	     "\n"
	     "Try:\n"
	     "  dtconv show 'vector(4, 2, 5, double)'\n"
	     "  dtconv explain 'vector(1000, 2, 5, double)'\n"
	     "  dtconv info");
}

static void print_version(void)
{
	printf("dtconv %s (library %s)\n", DTCONV_VERSION_STRING, dtconv_version());
}

/* ---- the nearest command ----------------------------------------------------------- */

#define MAX_COMPARED 15

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Letters to insert, delete or replace to make one word of the other (Levenshtein). */
static size_t distance(const char *a, const char *b)
{
	size_t row[MAX_COMPARED + 1];
	size_t width = strnlen(b, MAX_COMPARED);

	for (size_t j = 0; j <= width; j++)
		row[j] = j;
	for (size_t i = 0; a[i]; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t j = 1; j <= width; j++) {
			size_t replaced = diagonal + (a[i] != b[j - 1]);

			diagonal = row[j];
			row[j] = smaller(replaced, 1 + smaller(row[j], row[j - 1]));
		}
	}
	return row[width];
}

/* The command that is most like a word, or NULL if none is near. */
static const char *nearest_command(const char *word)
{
	const char *nearest = NULL;
	size_t least =
		1 + smaller(strlen(word) / 2, 3); /* further away is another word */

	for (size_t i = 0; i < command_count; i++) {
		size_t changes = distance(word, commands[i].name);

		if (changes < least) {
			nearest = commands[i].name;
			least = changes;
		}
	}
	return nearest;
}

/* ---- running ----------------------------------------------------------------------- */

static int run_command(int argc, char **argv)
{
	const char *word = argv[1];
	const char *nearest = nearest_command(word);

	for (size_t i = 0; i < command_count; i++) {
		if (strcmp(word, commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	}
	if (word[0] == '-')
		return tool_usage("", "option '%.40s' is unknown", word);
	return tool_usage("", "there is no command '%.40s'%s%s%s", word,
			  nearest ? "; did you mean '" : "", nearest ? nearest : "",
			  nearest ? "'?" : "");
}

static int run(int argc, char **argv)
{
	if (argc < 2)
		return tool_usage("", "a command is missing");
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		print_help();
	else if (strcmp(argv[1], "--version") == 0)
		print_version();
	else
		return run_command(argc, argv);
	return TOOL_OK;
}

int main(int argc, char **argv)
{
	int exit_status;

	setlocale(LC_CTYPE, "");
	exit_status = run(argc, argv);
	/* a full disk must not look like success */
	if (fflush(stdout) == EOF || ferror(stdout))
		return tool_fail("", TOOL_FAILED, "cannot write standard output: %s",
				 strerror(errno));
	return exit_status;
}
