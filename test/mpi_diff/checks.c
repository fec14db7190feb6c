/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of checks and the sentences of findings.
 */
#include "config.h"

#include "mpi_diff/checks.h"

#include <stdarg.h>
#include <stdio.h>

const struct check_info checks[CHECK_COUNT] = {
	[CHECK_BUILD] = { "build", NULL },
	[CHECK_BOUNDS] = { "bounds", check_bounds },
	[CHECK_TRUE] = { "true", check_bounds },
	[CHECK_ENVELOPE] = { "envelope", check_envelope },
	[CHECK_MATCH] = { "match", check_match },
	[CHECK_PACK] = { "pack", check_pack },
	[CHECK_UNPACK] = { "unpack", check_unpack },
	[CHECK_PIECES] = { "pieces", check_pieces },
	[CHECK_BOTTOM] = { "bottom", check_bottom },
	[CHECK_RECEIVE] = { "receive", check_receive },
	[CHECK_EXTERNAL_SIZE] = { "ext-size", check_external },
	[CHECK_EXTERNAL_PACK] = { "ext-pack", check_external },
	[CHECK_EXTERNAL_UNPACK] = { "ext-unpack", check_external },
};

enum verdict blame(struct finding *finding, enum verdict verdict, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(finding->said, sizeof(finding->said), format, arguments);
	va_end(arguments);
	return verdict;
}

enum verdict blame_mpi_error(struct finding *finding, const char *function, int error)
{
	char reason[MPI_MAX_ERROR_STRING] = "";
	int length = 0;

	MPI_Error_string(error, reason, &length);
	for (char *c = reason; *c; c++)
		if (*c == '\n')
			*c = ' ';
	return blame(finding, VERDICT_THEIRS, "%s: ours succeeds, theirs: %.180s",
		     function, reason);
}

enum verdict judge_streams(const struct specimen *s, struct finding *finding,
			   const unsigned char *ours, const unsigned char *theirs)
{
	const unsigned char *expected = s->stage.stream;

	for (size_t i = 0; i < s->stage.bytes; i++)
		if (ours[i] != expected[i])
			return blame(finding, VERDICT_OURS,
				     "packed byte %zu: ours 0x%02x, theirs 0x%02x, "
				     "oracle 0x%02x",
				     i, ours[i], theirs[i], expected[i]);
	for (size_t i = 0; i < s->stage.bytes; i++)
		if (theirs[i] != expected[i] && !s->padding[i])
			return blame(finding, VERDICT_THEIRS,
				     "packed byte %zu: ours 0x%02x, theirs 0x%02x", i,
				     ours[i], theirs[i]);
	return VERDICT_AGREED;
}
