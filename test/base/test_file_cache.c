/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cache of files: where it is, which folders and files are not believed, what happens when the
 * disk is full, when there are too many files, and when several processes write at once.
 */
#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/context.h"
#include "base/file_cache.h"
#include "base/sha256.h"
#include "support/fixture.h"
#include "support/marks.h"

/* ---- a program with more rights than its user ---------------------------------------------- */

/* The names are the linker's. */
char *__real_secure_getenv(const char *name);
char *__wrap_secure_getenv(const char *name);

static bool set_id;

char *__wrap_secure_getenv(const char *name)
{
	return set_id ? NULL : __real_secure_getenv(name);
}

/* ---- a folder for the case ----------------------------------------------------------------- */

static char folder[128];
static struct dtc_file_cache cache;

static void setup(void)
{
	const char *place = getenv("TMPDIR");

	snprintf(folder, sizeof(folder), "%.80s/test_file_cache.XXXXXX",
		 place && *place ? place : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	setenv("DTCONV_CACHE", folder, 1);
	unsetenv("XDG_CACHE_HOME");
}

static void teardown(void)
{
	char command[160];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	ck_assert_int_eq(system(command), 0);
}

static void open_cache(void)
{
	dtc_file_cache_open(&cache, fixture_context, "things");
}

static const struct dtc_file_key key = { { 1, 2, 3, 250 } };

/* Where the key's file is. */
static const char *path_of(const struct dtc_file_key *of)
{
	static char path[256];
	size_t length = (size_t)snprintf(path, sizeof(path), "%s/things/", folder);

	for (size_t i = 0; i < sizeof(of->digest); i++)
		length += (size_t)snprintf(path + length, sizeof(path) - length, "%02x",
					   of->digest[i]);
	return path;
}

static bool has(const struct dtc_file_key *of, const char *content)
{
	size_t bytes;
	char *got = dtc_file_cache_get(&cache, of, &bytes);
	bool same = got && bytes == strlen(content) && !memcmp(got, content, bytes);

	if (got)
		dtc_free(fixture_context, got);
	return same;
}

static bool is_empty(const struct dtc_file_key *of)
{
	size_t bytes;
	void *got = dtc_file_cache_get(&cache, of, &bytes);

	if (got)
		dtc_free(fixture_context, got);
	return !got;
}

static bool put(const struct dtc_file_key *of, const char *content)
{
	return dtc_file_cache_put(&cache, of, content, strlen(content));
}

/* Files in the folder, drafts and strangers too. */
static size_t count_files(void)
{
	char path[160];
	size_t count = 0;

	snprintf(path, sizeof(path), "%s/things", folder);
	DIR *list = opendir(path);
	ck_assert_ptr_nonnull(list);
	while (readdir(list))
		count++;
	closedir(list);
	return count - 2;
}

/* ---- digests ------------------------------------------------------------------------------- */

static const char *digest_of(const char *text, size_t times, size_t piece)
{
	static char digits[2 * DTC_SHA256_BYTES + 1];
	unsigned char digest[DTC_SHA256_BYTES];
	struct dtc_sha256 sum;

	dtc_sha256_begin(&sum);
	for (size_t i = 0; i < times; i++)
		for (size_t at = 0, bytes = strlen(text); at < bytes; at += piece)
			dtc_sha256_add(&sum, text + at,
				       piece < bytes - at ? piece : bytes - at);
	dtc_sha256_end(&sum, digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(digits + 2 * i, 3, "%02x", digest[i]);
	return digits;
}

/* The standard's examples. */
START_TEST(digests_are_the_standards)
{
	const char *two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";

	ck_assert_str_eq(
		digest_of("", 0, 1),
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	ck_assert_str_eq(
		digest_of("abc", 1, 3),
		"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	for (size_t piece = 1; piece < 60; piece += 7)
		ck_assert_str_eq(
			digest_of(two, 1, piece),
			"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	ck_assert_str_eq(
		digest_of("aaaaaaaaaa", 100000, 10),
		"cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}
END_TEST

/* ---- where it is --------------------------------------------------------------------------- */

START_TEST(what_is_put_is_got)
{
	const struct dtc_file_key other = { { 9 } };

	open_cache();
	ck_assert(is_empty(&key));
	ck_assert(put(&key, "a kernel"));
	ck_assert(has(&key, "a kernel"));
	ck_assert(put(&key, "another"));
	ck_assert(has(&key, "another"));
	ck_assert(put(&other, ""));
	ck_assert(has(&other, ""));
	dtc_file_cache_close(&cache);
	ck_assert(is_empty(&key));
	ck_assert(!put(&key, "closed"));
	open_cache();
	ck_assert(has(&key, "another"));
	ck_assert_uint_eq(count_files(), 2);
	dtc_file_cache_close(&cache);
}
END_TEST

START_TEST(variables_say_where_it_is)
{
	char long_path[DTC_FILE_CACHE_PATH_MAX + 1];

	memset(long_path, 'x', sizeof(long_path) - 1);
	long_path[sizeof(long_path) - 1] = '\0';
	const struct {
		const char *cache, *base, *home, *below; /* NULL: off */
	} cases[] = {
		{ folder, NULL, NULL, "/things" },
		{ "none", folder, folder, NULL },
		{ NULL, folder, "/nowhere", "/dtconv/things" },
		{ NULL, "relative", folder, "/.cache/dtconv/things" },
		{ NULL, NULL, folder, "/.cache/dtconv/things" },
		{ NULL, NULL, NULL, NULL },
		{ long_path, NULL, NULL, NULL },
		{ "/proc/version", NULL, NULL, NULL },
	};
	const char *const names[] = { "DTCONV_CACHE", "XDG_CACHE_HOME", "HOME" };
	const char *const values[] = { cases[_i].cache, cases[_i].base, cases[_i].home };
	char wanted[160];

	for (size_t i = 0; i < 3; i++)
		if (values[i])
			setenv(names[i], values[i], 1);
		else
			unsetenv(names[i]);
	open_cache();
	ck_assert_int_eq(cache.folder >= 0, cases[_i].below != NULL);
	if (cases[_i].below) {
		snprintf(wanted, sizeof(wanted), "%s%s", folder, cases[_i].below);
		ck_assert_str_eq(cache.path, wanted);
		ck_assert(put(&key, "there"));
	}
	dtc_file_cache_close(&cache);
}
END_TEST

START_TEST(programs_with_more_rights_have_none)
{
	set_id = true;
	open_cache();
	ck_assert_int_lt(cache.folder, 0);
	ck_assert(!put(&key, "secret"));
	set_id = false;
}
END_TEST

/* ---- hostile folders and files ------------------------------------------------------------- */

static void make_folder(char path[160])
{
	snprintf(path, 160, "%s/things", folder);
	ck_assert_int_eq(mkdir(path, 0700), 0);
}

START_TEST(folders_of_others_are_not_used)
{
	char path[160], elsewhere[160];

	snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", folder);
	if (_i == 0) {
		make_folder(path);
		ck_assert_int_eq(chmod(path, 0750), 0);
	} else if (_i == 1) {
		snprintf(path, sizeof(path), "%s/things", folder);
		ck_assert_int_eq(mkdir(elsewhere, 0700), 0);
		ck_assert_int_eq(symlink(elsewhere, path), 0);
	} else {
		make_folder(path);
		if (chown(path, 12345, 12345))
			return; /* only root makes folders for others */
	}
	open_cache();
	ck_assert_int_lt(cache.folder, 0);
	ck_assert(!put(&key, "x"));
	ck_assert(is_empty(&key));
}
END_TEST

static void flip_byte(const char *path, long at)
{
	FILE *file = fopen(path, "r+b");

	ck_assert_ptr_nonnull(file);
	fseek(file, at, SEEK_SET);
	int byte = getc(file);
	fseek(file, at, SEEK_SET);
	putc(byte ^ 1, file);
	fclose(file);
}

static void move_away(const char *path, char away[160])
{
	snprintf(away, 160, "%s/away", folder);
	ck_assert_int_eq(rename(path, away), 0);
}

/* What is done to a good file; after it there is none, and a new one can be put. */
static void spoil(int how, const char *path)
{
	char away[160];

	switch (how) {
	case 0:
		ck_assert_int_eq(chmod(path, 0640), 0);
		break;
	case 1:
		move_away(path, away);
		ck_assert_int_eq(symlink(away, path), 0);
		break;
	case 2:
		move_away(path, away);
		ck_assert_int_eq(mkfifo(path, 0600), 0);
		break;
	case 3:
		ck_assert_int_eq(truncate(path, 35), 0);
		break;
	case 4:
		ck_assert_int_eq(truncate(path, 7), 0);
		break;
	case 5:
		ck_assert_int_eq(truncate(path, 0), 0);
		break;
	case 6:
		flip_byte(path, 0);
		break;
	case 7:
		flip_byte(path, 33);
		break;
	case 8:
		ck_assert_int_eq(truncate(path, 1 << 20), 0);
		break;
	case 9:
		ck_assert_int_eq(chmod(path, 0602), 0);
		break;
	case 10:
		/* only root gives files away; for others the file goes */
		if (chown(path, 12345, 12345))
			ck_assert_int_eq(unlink(path), 0);
		break;
	}
}

#define WAYS 11

START_TEST(spoilt_files_are_ignored_and_written_again)
{
	open_cache();
	ck_assert(put(&key, "a kernel"));
	spoil(_i, path_of(&key));
	ck_assert(is_empty(&key));
	ck_assert(put(&key, "a kernel"));
	ck_assert(has(&key, "a kernel"));
	dtc_file_cache_close(&cache);
}
END_TEST

START_TEST(a_file_under_another_name_is_none)
{
	const struct dtc_file_key other = { { 77 } };
	char from[256];

	open_cache();
	ck_assert(put(&key, "a kernel"));
	snprintf(from, sizeof(from), "%s", path_of(&key));
	ck_assert_int_eq(rename(from, path_of(&other)), 0);
	ck_assert(is_empty(&other));
	dtc_file_cache_close(&cache);
}
END_TEST

START_TEST(a_full_disk_keeps_what_was_there)
{
	const struct rlimit tiny = { 40, RLIM_INFINITY };
	static const char content[] = "more than eight bytes of a kernel";

	open_cache();
	ck_assert(put(&key, "small"));
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &tiny), 0);
	ck_assert(!put(&key, content));
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE,
				   &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY }),
			 0);
	ck_assert(has(&key, "small"));
	ck_assert_uint_eq(count_files(), 1);
	dtc_file_cache_close(&cache);
}
END_TEST

/* Root may write there all the same. */
START_TEST(a_folder_that_cannot_be_written_is_read)
{
	char path[160];

	open_cache();
	ck_assert(put(&key, "a kernel"));
	snprintf(path, sizeof(path), "%s/things", folder);
	ck_assert_int_eq(chmod(path, 0500), 0);
	if (geteuid())
		ck_assert(!put(&key, "another"));
	ck_assert(has(&key, "a kernel"));
	ck_assert_int_eq(chmod(path, 0700), 0);
	dtc_file_cache_close(&cache);
}
END_TEST

START_TEST(a_folder_that_has_gone_is_no_failure)
{
	char path[160];

	open_cache();
	snprintf(path, sizeof(path), "%s/things", folder);
	ck_assert_int_eq(rmdir(path), 0);
	ck_assert(!put(&key, "x"));
	ck_assert(is_empty(&key));
	dtc_file_cache_close(&cache);
}
END_TEST

/* ---- room ---------------------------------------------------------------------------------- */

static void set_age(const struct dtc_file_key *of, time_t seconds)
{
	const struct timespec times[2] = { { .tv_sec = time(NULL) - seconds },
					   { .tv_sec = time(NULL) - seconds } };

	ck_assert_int_eq(utimensat(AT_FDCWD, path_of(of), times, 0), 0);
}

START_TEST(files_that_were_not_read_for_long_make_room)
{
	struct dtc_file_key keys[10] = { { { 0 } } };
	char content[101] = "";

	memset(content, 'k', 100);
	open_cache();
	cache.most_bytes = 1200; /* nine files of 132 bytes */
	for (unsigned char i = 0; i < 9; i++) {
		keys[i].digest[0] = i;
		ck_assert(put(&keys[i], content));
		set_age(&keys[i], 1000 - i);
	}
	ck_assert_uint_eq(count_files(), 9);
	ck_assert(has(&keys[0], content)); /* now the youngest */
	keys[9].digest[0] = 9;
	ck_assert(put(&keys[9], content));
	ck_assert_uint_eq(count_files(), 9);
	ck_assert(is_empty(&keys[1]));
	ck_assert(has(&keys[0], content));
	ck_assert(has(&keys[9], content));
	/* One that would push out most others is not kept. */
	ck_assert(!dtc_file_cache_put(&cache, &key, folder, (size_t)cache.most_bytes / 8 + 1));
	dtc_file_cache_close(&cache);
}
END_TEST

START_TEST(lost_drafts_go_and_strangers_stay)
{
	const struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	char draft[300], stranger[200];

	open_cache();
	snprintf(draft, sizeof(draft), "%s.1.2", path_of(&key));
	snprintf(stranger, sizeof(stranger), "%s/things/README", folder);
	fclose(fopen(draft, "w"));
	fclose(fopen(stranger, "w"));
	ck_assert_int_eq(utimensat(AT_FDCWD, draft, old, 0), 0);
	ck_assert_int_eq(utimensat(AT_FDCWD, stranger, old, 0), 0);
	ck_assert(put(&key, "x"));
	ck_assert_int_ne(access(draft, F_OK), 0);
	ck_assert_int_eq(access(stranger, F_OK), 0);
	dtc_file_cache_close(&cache);
}
END_TEST

/* ---- several processes --------------------------------------------------------------------- */

#define PROCESSES 4
#define ROUNDS    200

/* Every content is one letter, again and again: a mixture would be seen. */
static bool is_whole(const char *content, size_t bytes)
{
	for (size_t i = 1; i < bytes; i++)
		if (content[i] != content[0])
			return false;
	return bytes > 0;
}

static int race(int number)
{
	static char content[20000];
	int wrong = 0;

	open_cache();
	for (int round = 0; round < ROUNDS; round++) {
		size_t bytes = 1 + (size_t)(round * 97 + number * 5001) % sizeof(content);

		memset(content, 'a' + number, bytes);
		wrong += !dtc_file_cache_put(&cache, &key, content, bytes);
		char *got = dtc_file_cache_get(&cache, &key, &bytes);
		wrong += !got || !is_whole(got, bytes);
		if (got)
			dtc_free(fixture_context, got);
	}
	dtc_file_cache_close(&cache);
	return wrong;
}

START_TEST(processes_do_not_disturb_each_other)
{
	pid_t children[PROCESSES];
	int status;

	for (int i = 0; i < PROCESSES; i++) {
		children[i] = fork();
		ck_assert_int_ge(children[i], 0);
		if (!children[i])
			_exit(race(i) ? 1 : 0);
	}
	for (int i = 0; i < PROCESSES; i++) {
		ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
		ck_assert_int_eq(status, 0);
	}
	open_cache();
	ck_assert_uint_eq(count_files(), 1);
	dtc_file_cache_close(&cache);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("file_cache");
	TCase *names = fixture_case(suite, "names", 30);
	TCase *files = fixture_case(suite, "files", 30);

	tcase_add_checked_fixture(names, setup, teardown);
	tcase_add_test(names, digests_are_the_standards);
	tcase_add_test(names, what_is_put_is_got);
	tcase_add_loop_test(names, variables_say_where_it_is, 0, 8);
	tcase_add_test(names, programs_with_more_rights_have_none);
	tcase_add_checked_fixture(files, setup, teardown);
	tcase_add_loop_test(files, folders_of_others_are_not_used, 0, 3);
	tcase_add_loop_test(files, spoilt_files_are_ignored_and_written_again, 0, WAYS);
	tcase_add_test(files, a_file_under_another_name_is_none);
	tcase_add_test(files, a_full_disk_keeps_what_was_there);
	tcase_add_test(files, a_folder_that_cannot_be_written_is_read);
	tcase_add_test(files, a_folder_that_has_gone_is_no_failure);
	tcase_add_test(files, files_that_were_not_read_for_long_make_room);
	tcase_add_test(files, lost_drafts_go_and_strangers_stay);
	tcase_add_test(files, processes_do_not_disturb_each_other);
	return fixture_run(suite);
}
