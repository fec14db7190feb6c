/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the user's environment says that files of the library's are. Programs that run with more rights
 * than the user who started them are told nothing.
 */
#ifndef DTC_USER_FILES_H
#define DTC_USER_FILES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A variable's value, or NULL if it is empty, or if the program has more rights than who started
 * it: the environment is that user's, and must not choose files for it.
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
