/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The dtconv program: finds the command and runs it. It has no logic of the commands.
 */
#include "config.h"

#include "tools.h"

#include <errno.h>
#include <getopt.h>
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
	{ "info", "describe the build, the CPU, the backends and the devices", cmd_info },
	{ "help", "show the help of a command: dtconv help COMMAND", cmd_help },
};

static const size_t command_count = sizeof(commands) / sizeof(commands[0]);

/* ---- what is printed --------------------------------------------------------------- */

static void print_program_help(void)
{
	puts("Usage: dtconv COMMAND [OPTION...] [EXPR]\n"
	     "\n"
	     "Describes memory layouts (derived datatypes, as in MPI) and moves them.\n"
	     "\n"
	     "Commands:");
	for (size_t i = 0; i < command_count; i++)
		printf("  %-10s %s\n", commands[i].name, commands[i].summary);
	puts("\n"
	     "  -h, --help     this text; 'dtconv COMMAND --help' describes one command\n"
	     "  -V, --version  the version of the program and of the library it runs with\n"
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

static void print_command_help(void)
{
	puts("Usage: dtconv help [COMMAND]\n"
	     "\n"
	     "Describes COMMAND, as 'dtconv COMMAND --help' does, or lists all commands.\n"
	     "\n"
	     "  --help  this text\n"
	     "\n"
	     "Examples:\n"
	     "  dtconv help\n"
	     "  dtconv help explain");
}

/* ---- finding a command ------------------------------------------------------------- */

static const struct command *find_command(const char *word)
{
	for (size_t i = 0; i < command_count; i++) {
		if (strcmp(word, commands[i].name) == 0)
			return &commands[i];
	}
	return NULL;
}

static int no_such_command(const char *asking, const char *word)
{
	struct tool_nearest nearest = { .word = word, .length = strlen(word) };

	for (size_t i = 0; i < command_count; i++)
		tool_nearest_offer(&nearest, commands[i].name);
	return tool_usage(asking, "unknown command '%.40s'%s%s%s", word,
			  nearest.name ? "; did you mean '" : "",
			  nearest.name ? nearest.name : "", nearest.name ? "'?" : "");
}

/* ---- dtconv help ------------------------------------------------------------------- */

static int teach(const char *word)
{
	const struct command *command = find_command(word);
	char help[] = "--help";
	char *arguments[] = { (char *)word, help, NULL };

	if (!command)
		return no_such_command("help", word);
	if (command->run != cmd_help)
		return command->run(2, arguments);
	print_command_help();
	return TOOL_OK;
}

int cmd_help(int argc, char **argv)
{
	static const struct option options[] = { { "help", no_argument, NULL, 'h' },
						 { NULL, 0, NULL, 0 } };
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		if (option != 'h')
			return tool_bad_option("help", option, argv, options);
		print_command_help();
		return TOOL_OK;
	}
	if (optind + 1 < argc)
		return tool_usage("help", "takes one COMMAND, but also got '%.40s'",
				  argv[optind + 1]);
	if (optind < argc)
		return teach(argv[optind]);
	print_program_help();
	return TOOL_OK;
}

/* ---- the program ------------------------------------------------------------------- */

static const struct option program_options[] = { { "help", no_argument, NULL, 'h' },
						 { "version", no_argument, NULL, 'V' },
						 { NULL, 0, NULL, 0 } };

/* An option in place of a command; it ends the program. */
static int run_option(const char *word)
{
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		print_program_help();
	else if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
		print_version();
	else
		return tool_unknown_option("", word, program_options);
	return TOOL_OK;
}

static int run(int argc, char **argv)
{
	const struct command *command;

	if (argc < 2)
		return tool_usage("", "a command is missing");
	if (argv[1][0] == '-')
		return run_option(argv[1]);
	command = find_command(argv[1]);
	if (!command)
		return no_such_command("", argv[1]);
	return command->run(argc - 1, argv + 1);
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
