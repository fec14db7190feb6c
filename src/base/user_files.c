/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Paths of the user's files, from the environment. Nothing is opened here.
 */
#include "config.h"

#include "user_files.h"

#include <stdio.h>
#include <stdlib.h>

const char *dtc_user_variable(const char *name)
{
	const char *value = secure_getenv(name);

	return value && *value ? value : NULL;
}

static bool join(char *path, size_t capacity, const char *folder, const char *between,
		 const char *name)
{
	int length = snprintf(path, capacity, "%s%s%s", folder, between, name);

	if (length > 0 && (size_t)length < capacity)
		return true;
	path[0] = '\0';
	return false;
}

bool dtc_user_path(char *path, size_t capacity, const char *folder, const char *name)
{
	return join(path, capacity, folder, *name ? "/" : "", name);
}

bool dtc_user_cache_path(char *path, size_t capacity, const char *name)
{
	const char *cache = dtc_user_variable("XDG_CACHE_HOME");
	const char *home = dtc_user_variable("HOME");

	path[0] = '\0';
	/* the XDG specification says that relative paths are ignored */
	if (cache && *cache == '/')
		return join(path, capacity, cache, "/dtconv/", name);
	return !home || join(path, capacity, home, "/.cache/dtconv/", name);
}
