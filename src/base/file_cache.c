/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The on-disk cache: a directory that only its user can access. A file's name is the digest of
 * its key. Its content begins with a digest of key and content, so damaged and renamed files
 * are detected. Files are opened first and checked by their descriptor; symbolic links are not
 * followed. A new file is written under a temporary name and then renamed.
 */
#include "config.h"

#include "file_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base.h"
#include "context.h"
#include "log.h"
#include "user_files.h"

/* The digest in hexadecimal digits, with the NUL. */
#define NAME_BYTES (2 * DTC_SHA256_BYTES + 1)

/* The name of a temporary file: the digest, a process ID and a number. */
#define DRAFT_BYTES (NAME_BYTES + 48)

/* A temporary file older than this has been abandoned by its writer. */
#define DRAFT_SECONDS 3600

/* ---- the folder ---------------------------------------------------------------------------- */

bool dtc_file_cache_path(char path[DTC_FILE_CACHE_PATH_MAX], const char *name)
{
	const char *folder = dtc_user_variable("DTCONV_CACHE");

	path[0] = '\0';
	if (folder)
		return !strcmp(folder, "none") ||
		       dtc_user_path(path, DTC_FILE_CACHE_PATH_MAX, folder, name);
	return dtc_user_cache_path(path, DTC_FILE_CACHE_PATH_MAX, name);
}

/* Create the missing directories of a path. Failures show when the directory is opened. */
static void make_folders(char *path)
{
	for (char *end = path + 1; *end; end++) {
		if (*end != '/')
			continue;
		*end = '\0';
		(void)mkdir(path, 0700);
		*end = '/';
	}
	(void)mkdir(path, 0700);
}

/* Why an opened file or directory is not trusted, or NULL. */
static const char *distrust(const struct stat *status, mode_t type)
{
	if ((status->st_mode & S_IFMT) != type)
		return type == S_IFDIR ? "is not a directory" : "is not a regular file";
	if (status->st_uid != geteuid())
		return "belongs to another user";
	if (status->st_mode & (S_IRWXG | S_IRWXO))
		return "is accessible to users other than its owner";
	return NULL;
}

/* The descriptor, or -1 with the reason logged. */
static int check(const struct dtc_file_cache *cache, int file, mode_t type,
		 const char *name)
{
	struct stat status;
	const char *reason = fstat(file, &status) ? "cannot be examined"
						  : distrust(&status, type);

	if (!reason)
		return file;
	DTC_LOG(cache->context, DTCONV_LOG_WARN, "cache: %s%s%s is ignored: it %s",
		cache->path, *name ? "/" : "", name, reason);
	close(file);
	return -1;
}

void dtc_file_cache_open(struct dtc_file_cache *cache, struct dtconv_context *context,
			 const char *name)
{
	*cache = (struct dtc_file_cache){ .context = context,
					  .folder = -1,
					  .most_bytes = DTC_FILE_CACHE_BYTES };
	if (!dtc_file_cache_path(cache->path, name))
		DTC_LOG(context, DTCONV_LOG_WARN,
			"cache: disabled, because its directory's path is longer than %d "
			"characters",
			DTC_FILE_CACHE_PATH_MAX - 1);
	if (!cache->path[0])
		return;
	make_folders(cache->path);
	int folder = open(cache->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (folder < 0)
		DTC_LOG(context, DTCONV_LOG_WARN, "cache: cannot open %s: %m",
			cache->path);
	else
		cache->folder = check(cache, folder, S_IFDIR, "");
}

void dtc_file_cache_close(struct dtc_file_cache *cache)
{
	if (cache->folder >= 0)
		close(cache->folder);
	cache->folder = -1;
}

/* ---- names and digests --------------------------------------------------------------------- */

static void name_file(const struct dtc_file_key *key, char name[NAME_BYTES])
{
	for (size_t i = 0; i < DTC_SHA256_BYTES; i++)
		snprintf(name + 2 * i, 3, "%02x", key->digest[i]);
}

static void digest_file(const struct dtc_file_key *key, const void *content, size_t bytes,
			unsigned char digest[DTC_SHA256_BYTES])
{
	struct dtc_sha256 sum;

	dtc_sha256_begin(&sum);
	dtc_sha256_add(&sum, key->digest, sizeof(key->digest));
	dtc_sha256_add(&sum, content, bytes);
	dtc_sha256_end(&sum, digest);
}

/* ---- reading ------------------------------------------------------------------------------- */

/* Read all of the bytes; a signal may interrupt a read. */
static bool read_all(int file, void *to, size_t bytes)
{
	char *at = to;

	while (bytes) {
		ssize_t got = read(file, at, bytes);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += got;
		bytes -= (size_t)got;
	}
	return true;
}

static bool is_as_written(const struct dtc_file_key *key,
			  const unsigned char written[DTC_SHA256_BYTES],
			  const void *content, size_t bytes)
{
	unsigned char digest[DTC_SHA256_BYTES];

	digest_file(key, content, bytes, digest);
	return !memcmp(digest, written, sizeof(digest));
}

/* The content of an open file, or NULL. */
static void *read_file(const struct dtc_file_cache *cache, int file,
		       const struct dtc_file_key *key, size_t *bytes)
{
	unsigned char written[DTC_SHA256_BYTES];
	struct stat status;

	if (fstat(file, &status) || status.st_size < (off_t)sizeof(written) ||
	    (uint64_t)status.st_size > cache->most_bytes)
		return NULL;
	*bytes = (size_t)status.st_size - sizeof(written);
	char *content = dtc_alloc(cache->context, *bytes + 1);
	if (!content)
		return NULL;
	if (read_all(file, written, sizeof(written)) && read_all(file, content, *bytes) &&
	    is_as_written(key, written, content, *bytes))
		return content;
	dtc_free(cache->context, content);
	return NULL;
}

void *dtc_file_cache_get(const struct dtc_file_cache *cache,
			 const struct dtc_file_key *key, size_t *bytes)
{
	char name[NAME_BYTES];

	if (cache->folder < 0)
		return NULL;
	name_file(key, name);
	/* O_NONBLOCK, because opening a FIFO without a writer would block. */
	int file = openat(cache->folder, name,
			  O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
	if (file >= 0)
		file = check(cache, file, S_IFREG, name);
	if (file < 0)
		return NULL;
	void *content = read_file(cache, file, key, bytes);
	if (content)
		(void)futimens(file, NULL); /* the least recently read is evicted */
	else
		DTC_LOG(cache->context, DTCONV_LOG_INFO,
			"cache: %s/%s is corrupt; it is ignored", cache->path, name);
	close(file);
	return content;
}

/*
 * ---- eviction ------------------------------------------------------------------------------
 */

struct census {
	uint64_t bytes; /* of all files */
	struct timespec oldest_time;
	char oldest[NAME_BYTES];
};

static bool is_before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec ||
	       (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

static bool is_hexadecimal(const char *name, size_t digits)
{
	return strspn(name, "0123456789abcdef") >= digits;
}

static bool is_ours(const char *name)
{
	return is_hexadecimal(name, NAME_BYTES - 1) && !name[NAME_BYTES - 1];
}

static bool is_draft(const char *name)
{
	return is_hexadecimal(name, NAME_BYTES - 1) && name[NAME_BYTES - 1] == '.';
}

/* Count a file, or remove an abandoned temporary file. */
static void count_file(const struct dtc_file_cache *cache, const char *name,
		       struct census *census)
{
	struct stat status;

	if ((!is_ours(name) && !is_draft(name)) ||
	    fstatat(cache->folder, name, &status, AT_SYMLINK_NOFOLLOW) ||
	    S_ISDIR(status.st_mode))
		return;
	if (is_draft(name)) {
		if (time(NULL) - status.st_mtim.tv_sec > DRAFT_SECONDS)
			(void)unlinkat(cache->folder, name, 0);
		return;
	}
	census->bytes += (uint64_t)status.st_size;
	if (!census->oldest[0] || is_before(&status.st_mtim, &census->oldest_time)) {
		memcpy(census->oldest, name, NAME_BYTES);
		census->oldest_time = status.st_mtim;
	}
}

static bool take_census(const struct dtc_file_cache *cache, struct census *census)
{
	const struct dirent *entry;
	/* Open the directory anew: duplicates of a descriptor share one position. */
	int folder = openat(cache->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = folder < 0 ? NULL : fdopendir(folder);

	*census = (struct census){ .bytes = 0 };
	if (!list) {
		if (folder >= 0)
			close(folder);
		return false;
	}
	while ((entry = readdir(list)))
		count_file(cache, entry->d_name, census);
	closedir(list);
	return true;
}

static void make_room(const struct dtc_file_cache *cache)
{
	struct census census;

	while (take_census(cache, &census) && census.bytes > cache->most_bytes)
		if (unlinkat(cache->folder, census.oldest, 0) && errno != ENOENT)
			return;
}

/* ---- writing ------------------------------------------------------------------------------- */

static bool write_all(int file, const void *from, size_t bytes)
{
	const char *at = from;

	while (bytes) {
		ssize_t put = write(file, at, bytes);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return false;
		at += put;
		bytes -= (size_t)put;
	}
	return true;
}

static bool write_file(int file, const struct dtc_file_key *key, const void *content,
		       size_t bytes)
{
	unsigned char digest[DTC_SHA256_BYTES];

	digest_file(key, content, bytes, digest);
	return write_all(file, digest, sizeof(digest)) && write_all(file, content, bytes);
}

/*
 * Several threads and processes may write at once. The address of @draft makes the name unique
 * within a process.
 */
static bool write_draft(const struct dtc_file_cache *cache,
			const struct dtc_file_key *key, const void *content, size_t bytes,
			char draft[DRAFT_BYTES])
{
	char name[NAME_BYTES];

	name_file(key, name);
	snprintf(draft, DRAFT_BYTES, "%s.%ld.%" PRIxPTR, name, (long)getpid(),
		 (uintptr_t)draft);
	int file = openat(cache->folder, draft,
			  O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (file < 0)
		return false;
	bool written = write_file(file, key, content, bytes);
	if (!close(file) && written &&
	    !renameat(cache->folder, draft, cache->folder, name))
		return true;
	int error = errno;
	(void)unlinkat(cache->folder, draft, 0);
	errno = error;
	return false;
}

bool dtc_file_cache_put(const struct dtc_file_cache *cache,
			const struct dtc_file_key *key, const void *content, size_t bytes)
{
	char draft[DRAFT_BYTES];

	if (cache->folder < 0 || bytes > cache->most_bytes / 8)
		return false;
	bool kept = write_draft(cache, key, content, bytes, draft);
	if (kept)
		make_room(cache);
	else
		DTC_LOG(cache->context, DTCONV_LOG_INFO, "cache: cannot write to %s: %m",
			cache->path);
	return kept;
}
