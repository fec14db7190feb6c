/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads what /proc says of this process and of the machine.
 */
#include "config.h"

#include "process.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Between the state, field 3, and the start time, field 22. */
#define FIELDS_TO_START 19

static bool read_file(const char *path, char *text, size_t capacity)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);

	if (file < 0)
		return false;
	ssize_t bytes = read(file, text, capacity - 1);
	close(file);
	text[bytes > 0 ? bytes : 0] = '\0';
	return bytes > 0;
}

/* Field 2, the name, may have blanks and parentheses in it. */
bool dtc_process_parse_start(const char *stat, uint64_t *start)
{
	const char *at = strrchr(stat, ')');
	char *end;

	if (!at || at[1] != ' ')
		return false;
	at += 2;
	for (int i = 0; at && i < FIELDS_TO_START; i++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	if (!at || *at < '0' || *at > '9')
		return false;
	*start = strtoull(at, &end, 10);
	return *end == ' ';
}

static unsigned digit_of(char c)
{
	return c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a' + 10);
}

/* A UUID as text. Anything else leaves zeros: unknown. */
static void read_boot(unsigned char boot[DTC_BOOT_BYTES])
{
	char text[64];
	size_t digits = 0;

	memset(boot, 0, DTC_BOOT_BYTES);
	if (!read_file("/proc/sys/kernel/random/boot_id", text, sizeof(text)))
		return;
	for (const char *at = text; *at && digits < 2 * DTC_BOOT_BYTES; at++)
		if (*at != '-' && *at != '\n') {
			boot[digits / 2] =
				(unsigned char)((unsigned)boot[digits / 2] << 4 |
						digit_of(*at));
			digits++;
		}
}

bool dtc_process_self(struct dtc_process *process)
{
	char text[1024];
	struct stat space;

	*process = (struct dtc_process){ .id = (uint64_t)getpid() };
	if (!read_file("/proc/self/stat", text, sizeof(text)) ||
	    !dtc_process_parse_start(text, &process->start))
		return false;
	if (!stat("/proc/self/ns/pid", &space))
		process->space = (uint64_t)space.st_ino;
	read_boot(process->boot);
	return true;
}

bool dtc_process_equal(const struct dtc_process *a, const struct dtc_process *b)
{
	return a->id == b->id && a->start == b->start && a->space == b->space &&
	       !memcmp(a->boot, b->boot, sizeof(a->boot));
}

bool dtc_process_is_remote(const struct dtc_process *a, const struct dtc_process *b)
{
	static const unsigned char unknown[DTC_BOOT_BYTES];

	return memcmp(a->boot, b->boot, sizeof(a->boot)) &&
	       memcmp(a->boot, unknown, sizeof(unknown)) &&
	       memcmp(b->boot, unknown, sizeof(unknown));
}
