/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the commands of the dtconv program share: how they fail, read an EXPR, ask the
 * library for text and find out what the terminal can show. They see the public headers
 * only.
 */
#ifndef DTCONV_TOOLS_H
#define DTCONV_TOOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <dtconv/dtconv.h>

/* Exit statuses of the program. */
enum tool_exit {
	TOOL_OK = 0,
	TOOL_FAILED = 1, /* the work could not be done, or a check failed */
	TOOL_USAGE = 2   /* the command line or an input is wrong */
};

/* The commands: argv[0] is the command's own name; each returns an enum tool_exit. */
int cmd_bench(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_fuzz(int argc, char **argv);
int cmd_help(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_tune(int argc, char **argv);

/* ---- failing: one sentence on standard error --------------------------------------- */

/* Print `dtconv COMMAND: sentence` and return the exit status given. */
int tool_fail(const char *command, int exit_status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same for a wrong command line: points to --help and answers TOOL_USAGE. */
int tool_usage(const char *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

struct option;

/*
 * Print why getopt_long returned ':' or '?', and suggest the nearest of @options. The option
 * string has to begin with ':', and opterr has to be 0, so that getopt_long itself prints
 * nothing.
 */
int tool_bad_option(const char *command, int answer, char **argv,
		    const struct option *options);

/* The same for a word that is none of @options. */
int tool_unknown_option(const char *command, const char *word,
			const struct option *options);

/*
 * Cut the names and argument numbers of library calls out of a sentence of the library, in place: a
 * shell user has called none. tool_fail and tool_usage do so themselves.
 */
void tool_cut_calls(char *sentence);

/*
 * A library call failed: print its error text. Returns TOOL_USAGE if the input is to
 * blame.
 */
int tool_library_failed(const char *command, struct dtconv_context *context, int status);

/* ---- suggestions ------------------------------------------------------------------- */

/* The name that is nearest to a word, of those that have been offered. */
struct tool_nearest {
	const char *word;
	size_t length;    /* characters of the word */
	const char *name; /* at most two changes away, or NULL; the rest is private */
	size_t changes;
};

void tool_nearest_offer(struct tool_nearest *nearest, const char *name);

/* ---- input ------------------------------------------------------------------------- */

/* Read a whole number, decimal or 0x; returns false if the text is anything else. */
bool tool_read_size(const char *text, size_t *value);

/*
 * Create a context with default settings; prints a sentence and returns an exit status.
 */
int tool_create_context(const char *command, struct dtconv_context **context);

/*
 * Make and commit the type that an EXPR argument describes: a text form, `-` for standard
 * input or `@FILE`, which may also hold a serialised type. Prints a sentence and returns an
 * exit status on failure.
 */
int tool_read_type(const char *command, struct dtconv_context *context,
		   const char *argument, struct dtconv_type **type);

/* ---- what can be done with elements ------------------------------------------------- */

/* Print the operations that are defined on a type's elements, each in @quote, with
 * @separator between them. */
void tool_print_operations(FILE *out, const struct dtconv_type *type, const char *quote,
			   const char *separator);

/* ---- output ------------------------------------------------------------------------ */

/* A text function of the library that needs nothing but a type. */
typedef int (*tool_type_text_fn)(const struct dtconv_type *type, char *text,
				 size_t capacity, size_t *length);

/*
 * Ask a text function for its whole text; the caller frees it. NULL after printing why
 * not.
 */
char *tool_type_text(const char *command, struct dtconv_context *context,
		     const struct dtconv_type *type, tool_type_text_fn function);

/*
 * The library's description of its build, this machine and its thresholds; the caller frees it.
 * NULL after printing an error.
 */
char *tool_info_text(const char *command, struct dtconv_context *context);

/* Print text with every line indented. */
void tool_print_indented(FILE *out, const char *text, const char *indent);

/* Print a string as JSON, quotes included; bytes that are not UTF-8 become U+FFFD. */
void tool_print_json(FILE *out, const char *string);

struct tool_terminal {
	size_t columns;
	bool unicode; /* the locale's characters are UTF-8 */
	enum tool_colour { TOOL_NO_COLOUR, TOOL_256_COLOURS, TOOL_TRUE_COLOUR } colour;
};

/* What standard output can show: NO_COLOR, TERM, COLORTERM and COLUMNS are asked. */
struct tool_terminal tool_query_terminal(void);

#endif
