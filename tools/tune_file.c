/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file of dtconv tune: its path, and how it is replaced atomically.
 */
#include "config.h"

#include "tools.h"
#include "tune.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int cannot_write(int exit_status, const char *path)
{
	return tool_fail("tune", exit_status, "cannot write '%s': %s", path,
			 strerror(errno));
}

/* The folder that a path is in. */
static void folder_of(const char *path, char *folder, size_t capacity)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		snprintf(folder, capacity, ".");
	else
		snprintf(folder, capacity, "%.*s", (int)(slash > path ? slash - path : 1),
			 path);
}

/* Create the missing directories of a path, accessible to the user alone. */
static int make_folders(const char *path)
{
	char part[TUNE_PATH_MAX];

	for (const char *slash = path; (slash = strchr(slash + 1, '/')) != NULL;) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		if (mkdir(part, 0700) && errno != EEXIST)
			return -1;
	}
	return 0;
}

/* A folder is not replaced; errno says so. */
static bool is_folder(const char *path)
{
	struct stat found;

	if (lstat(path, &found) || !S_ISDIR(found.st_mode))
		return false;
	errno = EISDIR;
	return true;
}

int tune_check_place(const char *path, bool make)
{
	char folder[TUNE_PATH_MAX];

	folder_of(path, folder, sizeof(folder));
	if ((make && make_folders(path)) || access(folder, W_OK | X_OK) ||
	    is_folder(path))
		return cannot_write(TOOL_USAGE, path);
	return TOOL_OK;
}

/* All of a text on the disk, or -1. */
static int write_text(int file, const char *text)
{
	size_t left = strlen(text);

	while (left > 0) {
		ssize_t written = write(file, text, left);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -1;
		text += written;
		left -= (size_t)written;
	}
	return fsync(file);
}

int tune_replace_file(const char *path, const char *text)
{
	char temporary[TUNE_PATH_MAX + 8];

	snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path);
	int file = mkstemp(temporary);
	if (file < 0)
		return cannot_write(TOOL_USAGE, path);
	int failed = write_text(file, text);
	failed |= close(file);
	if (failed || rename(temporary, path)) {
		cannot_write(TOOL_FAILED, path);
		unlink(temporary);
		return TOOL_FAILED;
	}
	return TOOL_OK;
}

int tune_delete_file(const char *path)
{
	if (unlink(path) && errno != ENOENT)
		return tool_fail("tune", TOOL_USAGE, "cannot delete '%s': %s", path,
				 strerror(errno));
	return TOOL_OK;
}
