/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The capabilities of standard output: width, characters, colours.
 */
#include "config.h"

#include "tools.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define DEFAULT_COLUMNS 80
#define MIN_COLUMNS     40
#define MAX_COLUMNS     240

static size_t query_columns(void)
{
	struct winsize size;
	const char *setting = getenv("COLUMNS");
	size_t columns;

	if (!setting || !tool_read_size(setting, &columns) || columns == 0) {
		bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
			     size.ws_col > 0;

		columns = known ? size.ws_col : DEFAULT_COLUMNS;
	}
	if (columns < MIN_COLUMNS)
		return MIN_COLUMNS;
	return columns > MAX_COLUMNS ? MAX_COLUMNS : columns;
}

static enum tool_colour query_colour(void)
{
	const char *term = getenv("TERM");
	const char *colours = getenv("COLORTERM");
	const char *refused = getenv("NO_COLOR");

	if (!isatty(STDOUT_FILENO) || !term || strcmp(term, "dumb") == 0)
		return TOOL_NO_COLOUR;
	if (refused && *refused)
		return TOOL_NO_COLOUR;
	if (colours &&
	    (strcmp(colours, "truecolor") == 0 || strcmp(colours, "24bit") == 0))
		return TOOL_TRUE_COLOUR;
	return TOOL_256_COLOURS;
}

struct tool_terminal tool_query_terminal(void)
{
	return (struct tool_terminal){
		.columns = query_columns(),
		.unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
		.colour = query_colour(),
	};
}
