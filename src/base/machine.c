/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the operating system reports about the CPU.
 */
#include "config.h"

#include "machine.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base.h"
#include "lines.h"

/*
 * The model stands near the beginning of the file, but the long list of flags may precede it.
 */
#define MOST_BYTES 16384

/* The key is different on x86, Arm, MIPS, RISC-V and POWER. */
static const char *const keys[] = { "model name", "CPU part", "cpu model", "uarch",
				    "cpu" };

/* The text behind the colon if the line names the model, else NULL. */
static const char *model_in(char *line)
{
	char *colon = strchr(line, ':');

	if (!colon)
		return NULL;
	size_t length = (size_t)(colon - line);
	while (length > 0 && strchr(" \t", line[length - 1]))
		length--;
	for (size_t i = 0; i < DTC_ARRAY_LENGTH(keys); i++)
		if (length == strlen(keys[i]) && !memcmp(line, keys[i], length))
			return colon + 1 + strspn(colon + 1, " \t");
	return NULL;
}

void dtc_machine_model(const char *file, char *model, size_t capacity)
{
	int descriptor = open(file, O_RDONLY | O_CLOEXEC);
	const char *found = NULL;
	struct dtc_lines lines;

	if (descriptor >= 0) {
		dtc_lines_init(&lines, descriptor, MOST_BYTES);
		while ((!found || !*found) && dtc_lines_next(&lines))
			found = model_in(lines.line);
		close(descriptor);
	}
	snprintf(model, capacity, "%s", found && *found ? found : "unknown processor");
}

uint64_t dtc_machine_last_cache(void)
{
#ifdef _SC_LEVEL3_CACHE_SIZE
	long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);

	return bytes > 0 ? (uint64_t)bytes : 0;
#else
	return 0;
#endif
}
