/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the process holds of the system: open files, and mappings of a kind.
 */
#ifndef TEST_TRANSPORT_PROCESS_H
#define TEST_TRANSPORT_PROCESS_H

#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Number of open file descriptors. */
static inline size_t process_files(void)
{
	DIR *folder = opendir("/proc/self/fd");
	size_t count = 0;

	while (folder && readdir(folder))
		count++;
	if (folder)
		closedir(folder);
	return count;
}

/* Whether the address is mapped. Allocates nothing, which might be put there. */
static inline int process_has_mapped(const void *address)
{
	static char text[1 << 20];
	unsigned long low, high, at = (unsigned long)address;
	int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC), found = 0;
	size_t length = 0;
	ssize_t got;

	while ((got = read(maps, text + length, sizeof(text) - 1 - length)) > 0)
		length += (size_t)got;
	text[length] = 0;
	close(maps);
	for (const char *line = text; line && !found; line = strchr(line, '\n')) {
		line += *line == '\n';
		found = sscanf(line, "%lx-%lx", &low, &high) == 2 && low <= at &&
			at < high;
	}
	return found;
}

/* Number of mappings of memfds. */
static inline size_t process_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	size_t count = 0;

	while (maps && fgets(line, sizeof(line), maps))
		count += strstr(line, "/memfd:dtconv") != NULL;
	if (maps)
		fclose(maps);
	return count;
}

#endif
