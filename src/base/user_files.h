/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The library's files, at the paths that the user's environment names. Programs with more
 * privileges than the user (setuid) ignore the environment.
 */
#ifndef DTC_USER_FILES_H
#define DTC_USER_FILES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The value of a variable; NULL if it is empty, or if the program has more privileges than the
 * user who started it, because that user's environment must not choose its files.
 */
const char *dtc_user_variable(const char *name);

/* The path @folder/@name, or @folder for no name; false, and an empty one, if it does not fit. */
bool dtc_user_path(char *path, size_t capacity, const char *folder, const char *name);

/*
 * The path of @name among the library's files in the user's folder of caches; empty if no variable says
 * where that is. False if it does not fit.
 */
bool dtc_user_cache_path(char *path, size_t capacity, const char *name);

#endif
