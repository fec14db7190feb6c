/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Paths of the library's files, from the user's environment. Setuid programs ignore it, because
 * the user who started one must not choose its files.
 */
#ifndef DTC_USER_FILES_H
#define DTC_USER_FILES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The value of an environment variable; NULL if it is empty or unset, and in setuid programs.
 */
const char *dtc_user_variable(const char *name);

/*
 * The path @folder/@name, or @folder if there is no name. False, and an empty path, if it is
 * too long.
 */
bool dtc_user_path(char *path, size_t capacity, const char *folder, const char *name);

/*
 * The path of @name in the library's part of the user's cache directory; empty if the
 * environment gives none. False if it is too long.
 */
bool dtc_user_cache_path(char *path, size_t capacity, const char *name);

#endif
