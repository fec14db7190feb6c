/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file of thresholds: where it is looked for, which files are not believed, what its lines
 * may say, and that a context is created whatever is wrong.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dtconv/dtconv.h>

#include "base/context.h"
#include "base/lines.h"
#include "base/machine.h"
#include "base/tuning.h"
#include "support/fixture.h"
#include "support/marks.h"

#define DEFAULT dtc_stream_bytes_by_cache(dtc_machine_last_cache())

/* ---- a program with more rights than its user ---------------------------------------------- */

/* The names are the linker's. */
char *__real_secure_getenv(const char *name);
char *__wrap_secure_getenv(const char *name);

static bool set_id;

char *__wrap_secure_getenv(const char *name)
{
	return set_id ? NULL : __real_secure_getenv(name);
}

/* ---- a folder of files, and a log that remembers --------------------------------------------- */

static char folder[256];
static char path[320];

static struct {
	size_t lines;
	enum dtconv_log_level level;
	char text[1600];
} last;

static void remember(void *arg, enum dtconv_log_level level, const char *file, int line,
		     const char *text)
{
	(void)arg, (void)file, (void)line;
	last.lines++;
	last.level = level;
	snprintf(last.text, sizeof(last.text), "%s", text);
}

static void setup(void)
{
	const char *place = getenv("TMPDIR");

	snprintf(folder, sizeof(folder), "%s/test_tuning.XXXXXX",
		 place && *place ? place : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/file", folder);
	unsetenv("DTCONV_LOG");
	unsetenv("XDG_CACHE_HOME");
	setenv("HOME", folder, 1);
	setenv("DTCONV_TUNING", path, 1);
	memset(&last, 0, sizeof(last));
	set_id = false;
}

static void teardown(void)
{
	char command[320];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	ck_assert_int_eq(system(command), 0);
}

static void write_file(const char *name, const char *text, size_t bytes, mode_t mode)
{
	int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	ck_assert_int_ge(file, 0);
	ck_assert_int_eq(write(file, text, bytes), (ssize_t)bytes);
	ck_assert_int_eq(fchmod(file, mode), 0);
	close(file);
}

static struct dtconv_context *create(enum dtconv_log_level level)
{
	struct dtconv_context_params params = { .struct_size = sizeof(params),
						.log = remember,
						.log_level = level };
	struct dtconv_context *context = NULL;

	last.lines = 0;
	fixture_ok(dtconv_context_create(&params, &context));
	return context;
}

/* The threshold of a context that is created now, and what became of the file. */
static uint64_t read_now(enum dtc_tuning_origin origin)
{
	struct dtconv_context *context = create(DTCONV_LOG_WARN);
	uint64_t value = context->tuning.stream_bytes;

	ck_assert_int_eq(context->tuning_file.origin, origin);
	dtconv_context_destroy(context);
	return value;
}

static uint64_t read_text(const char *text)
{
	write_file(path, text, strlen(text), 0600);
	return read_now(DTC_TUNING_READ);
}

static void expect_refused(const char *reason)
{
	char sentence[700];

	ck_assert_uint_eq(read_now(DTC_TUNING_REFUSED), DEFAULT);
	snprintf(sentence, sizeof(sentence), "tuning file %s is ignored: %s", path,
		 reason);
	ck_assert_uint_eq(last.lines, 1);
	ck_assert_int_eq(last.level, DTCONV_LOG_WARN);
	ck_assert_str_eq(last.text, sentence);
}

/* ---- what lines say -------------------------------------------------------------------------- */

START_TEST(a_good_file_is_silent)
{
	const struct {
		const char *text;
		uint64_t value;
	} good[] = {
		{ "", DEFAULT },
		{ "\n\n", DEFAULT },
		{ "# nothing", DEFAULT },
		{ "stream_bytes 0\n", 0 },
		{ "stream_bytes 0", 0 },
		{ "stream_bytes 9223372036854775807\n", INT64_MAX },
		{ "  stream_bytes\t 007  \r\n# end\n", 7 },
		{ "stream_bytes 1\nstream_bytes 2\n", 2 },
	};

	ck_assert_uint_eq(read_text(good[_i].text), good[_i].value);
	ck_assert_uint_eq(last.lines, 0);
}
END_TEST

/* The lines round a wrong one count. */
START_TEST(a_wrong_line_is_skipped_and_named)
{
	static const struct {
		const char *line, *reason;
	} wrong[] = {
		{ "stream_byte 4", "unknown threshold 'stream_byte'" },
		{ "=", "unknown threshold '='" },
		{ "stream_bytes", "stream_bytes is ''" },
		{ "stream_bytes -1", "stream_bytes is '-1'" },
		{ "stream_bytes 4k", "stream_bytes is '4k'" },
		{ "stream_bytes 4 5", "stream_bytes is '4 5'" },
		{ "stream_bytes 0x10", "stream_bytes is '0x10'" },
		{ "stream_bytes 9223372036854775808",
		  "stream_bytes is '9223372036854775808'" },
		{ "stream_bytes 18446744073709551616",
		  "stream_bytes is '18446744073709551616'" },
		{ "stream_bytes 99999999999999999999",
		  "stream_bytes is '99999999999999999999'" },
	};
	char text[200], sentence[700];

	snprintf(text, sizeof(text), "stream_bytes 3\n%s\n", wrong[_i].line);
	ck_assert_uint_eq(read_text(text), 3);
	ck_assert_uint_eq(last.lines, 1);
	ck_assert_int_eq(last.level, DTCONV_LOG_WARN);
	snprintf(sentence, sizeof(sentence), "tuning file %s, line 2 is skipped: %s%s",
		 path, wrong[_i].reason,
		 strstr(wrong[_i].reason, " is '")
			 ? ", not an integer from 0 to 9223372036854775807"
			 : "");
	ck_assert_str_eq(last.text, sentence);
	snprintf(text, sizeof(text), "%s\nstream_bytes 4\n", wrong[_i].line);
	ck_assert_uint_eq(read_text(text), 4);
}
END_TEST

START_TEST(a_line_that_is_too_long_is_skipped)
{
	char text[2000];

	memset(text, 'x', sizeof(text));
	memcpy(text + 1000, "\nstream_bytes 5\n", 17);
	ck_assert_uint_eq(read_text(text), 5);
	ck_assert_uint_eq(last.lines, 1);
	ck_assert_ptr_nonnull(
		strstr(last.text, ", line 1 is skipped: it is longer than 255"));
	text[0] = '#'; /* as a comment it may be of any length */
	ck_assert_uint_eq(read_text(text), 5);
	ck_assert_uint_eq(last.lines, 0);
}
END_TEST

START_TEST(a_nul_byte_ends_nothing)
{
	static const char text[] =
		"stream_bytes 6\0\nstream_bytes 7\0 8\nstream_bytes 9\n";

	write_file(path, text, sizeof(text) - 1, 0600);
	ck_assert_uint_eq(read_now(DTC_TUNING_READ), 9);
	ck_assert_uint_eq(last.lines, 2);
}
END_TEST

/* Lines of any length, cut by the buffer at any place. */
START_TEST(lines_are_cut_where_they_end)
{
	char text[1200];
	struct dtc_lines lines;

	for (size_t length = 0; length < 600; length++) {
		snprintf(text, sizeof(text), "%*s\nend", (int)length, length ? "x" : "");
		write_file(path, text, strlen(text), 0600);
		int file = open(path, O_RDONLY);
		dtc_lines_init(&lines, file, sizeof(text));
		ck_assert(dtc_lines_next(&lines));
		ck_assert_int_eq(lines.cut, length >= DTC_LINE_MAX);
		ck_assert_str_eq(lines.line, length && length < DTC_LINE_MAX ? "x" : "");
		ck_assert(dtc_lines_next(&lines));
		ck_assert_str_eq(lines.line, "end");
		ck_assert_uint_eq(lines.number, 2);
		ck_assert(!dtc_lines_next(&lines));
		close(file);
	}
}
END_TEST

START_TEST(no_more_is_read_than_allowed)
{
	struct dtc_lines lines;

	write_file(path, "one\ntwo\nthree\n", 14, 0600);
	int file = open(path, O_RDONLY);
	dtc_lines_init(&lines, file, 6);
	ck_assert(dtc_lines_next(&lines));
	ck_assert(dtc_lines_next(&lines));
	ck_assert_str_eq(lines.line, "tw");
	ck_assert(!dtc_lines_next(&lines));
	close(file);
}
END_TEST

/* ---- devices ------------------------------------------------------------------------------------ */

/* The context that is created now, at level warn. */
static struct dtconv_context *read_devices(const char *text)
{
	write_file(path, text, strlen(text), 0600);
	return create(DTCONV_LOG_WARN);
}

START_TEST(devices_have_figures_of_their_own)
{
	struct dtconv_context *context = read_devices("device_rate 5\n"
						      "device A\n"
						      "device_rate 7\n"
						      "device_copy_ns 9\n"
						      "device \t B  b \n"
						      "stream_bytes 3\n"
						      "device_rate 8\n"
						      "device A\n"
						      "device_wake_ns 10\n");
	const struct dtc_tuning *all = &context->tuning;
	const struct dtc_tuning *a = dtc_tuning_of_device(context, "A");
	const struct dtc_tuning *b = dtc_tuning_of_device(context, "B  b");

	ck_assert_uint_eq(last.lines, 0);
	ck_assert_uint_eq(context->tuning_file.device_count, 2);
	ck_assert_uint_eq(all->device_rate, 5);
	ck_assert_uint_eq(all->stream_bytes, 3);
	ck_assert_uint_eq(a->device_rate, 7);
	ck_assert_uint_eq(a->device_copy_ns, 9);
	ck_assert_uint_eq(a->device_wake_ns, 10);
	ck_assert_uint_eq(b->device_rate, 8);
	ck_assert_uint_eq(b->device_copy_ns, all->device_copy_ns);
	ck_assert_uint_eq(b->device_wake_ns, all->device_wake_ns);
	ck_assert_ptr_eq(dtc_tuning_of_device(context, "b"), all);
	ck_assert_ptr_eq(dtc_tuning_of_device(context, ""), all);
	dtconv_context_destroy(context);
}
END_TEST

/* What follows such a line is nobody's. */
START_TEST(a_device_without_a_usable_name_is_skipped)
{
	char text[800], name[200];

	memset(name, 'x', sizeof(name));
	name[_i ? 128 : 0] = '\0';
	snprintf(text, sizeof(text), "device A\ndevice %s\ndevice_rate 7\n", name);
	struct dtconv_context *context = read_devices(text);
	ck_assert_uint_eq(last.lines, 1);
	snprintf(text, sizeof(text),
		 "tuning file %s, line 2 is skipped: the device name has %d characters, "
		 "not 1 to 127",
		 path, _i ? 128 : 0);
	ck_assert_str_eq(last.text, text);
	ck_assert_uint_eq(context->tuning.device_rate, 2000);
	ck_assert_uint_eq(dtc_tuning_of_device(context, "A")->device_rate, 2000);
	dtconv_context_destroy(context);
}
END_TEST

START_TEST(a_file_has_figures_of_so_many_devices)
{
	char text[2000];
	size_t length = 0;

	for (int i = 0; i < DTC_TUNED_DEVICES + 1; i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length,
					   "device D%d\ndevice_rate %d\n", i, 100 + i);
	struct dtconv_context *context = read_devices(text);
	ck_assert_uint_eq(last.lines, 1);
	ck_assert_ptr_nonnull(strstr(
		last.text,
		"line 33 is skipped: 'D16' exceeds the limit of 16 devices per file"));
	ck_assert_uint_eq(dtc_tuning_of_device(context, "D15")->device_rate, 115);
	ck_assert_uint_eq(dtc_tuning_of_device(context, "D16")->device_rate, 2000);
	ck_assert_uint_eq(context->tuning.device_rate, 2000);
	dtconv_context_destroy(context);
}
END_TEST

START_TEST(devices_of_another_machine_are_forgotten)
{
	struct dtconv_context *context =
		read_devices("device A\ndevice_rate 7\nmachine an abacus\n");

	ck_assert_uint_eq(context->tuning_file.device_count, 0);
	ck_assert_uint_eq(dtc_tuning_of_device(context, "A")->device_rate, 2000);
	dtconv_context_destroy(context);
}
END_TEST

START_TEST(wrong_figures_of_a_device_are_skipped)
{
	struct dtconv_context *context =
		read_devices("device A\ndevice_rate 0\ndevice_rate 7\ndevice_rat 8\n");

	ck_assert_uint_eq(last.lines, 2);
	ck_assert_uint_eq(dtc_tuning_of_device(context, "A")->device_rate, 7);
	dtconv_context_destroy(context);
}
END_TEST

/* A threshold by its name; of devices of that name, or of all. */
static struct dtconv_threshold threshold(struct dtconv_context *context, const char *name,
					 const char *device)
{
	struct dtconv_context_attr attr = { .struct_size = sizeof(attr) };
	struct dtconv_threshold found = { .struct_size = sizeof(found) };

	fixture_ok(dtconv_context_query(context, &attr));
	for (size_t i = 0; i < attr.thresholds; i++) {
		fixture_ok(dtconv_context_query_threshold(context, i, device, &found));
		if (strcmp(found.name, name) == 0)
			return found;
	}
	ck_abort_msg("there is no threshold %s", name);
}

START_TEST(thresholds_are_answered_by_name_and_device)
{
	struct dtconv_context *context =
		read_devices("device_rate 5\nshare_bytes 9\ndevice A b\ndevice_rate 7\n");
	const struct dtconv_threshold share = threshold(context, "share_bytes", "A b");
	const struct dtconv_threshold rate = threshold(context, "device_rate", NULL);

	ck_assert_uint_eq(share.value, 9);
	ck_assert_uint_eq(share.default_value, 262144);
	ck_assert_uint_eq(share.least, 1);
	ck_assert_uint_eq(share.most, INT64_MAX);
	ck_assert_int_eq(share.is_device, 0);
	ck_assert_int_eq(rate.is_device, 1);
	ck_assert_uint_eq(rate.value, 5);
	ck_assert_uint_eq(rate.default_value, 2000);
	ck_assert_uint_eq(threshold(context, "device_rate", "A b").value, 7);
	ck_assert_uint_eq(threshold(context, "device_rate", "another").value, 5);
	dtconv_context_destroy(context);
}
END_TEST

START_TEST(the_query_says_where_thresholds_come_from)
{
	struct dtconv_context *context = read_devices("device_rate 5\n");
	struct dtconv_context_attr attr = { .struct_size = sizeof(attr) };

	fixture_ok(dtconv_context_query(context, &attr));
	ck_assert_int_eq(attr.tuning_read, 1);
	ck_assert_str_eq(attr.tuning_state, "in use");
	ck_assert_str_eq(attr.tuning_path, getenv("DTCONV_TUNING"));
	ck_assert_ptr_nonnull(strstr(fixture_info(context), attr.machine));
	dtconv_context_destroy(context);
	setenv("DTCONV_TUNING", "none", 1);
	fixture_ok(dtconv_context_create(NULL, &context));
	fixture_ok(dtconv_context_query(context, &attr));
	ck_assert_int_eq(attr.tuning_read, 0);
	ck_assert_ptr_null(attr.tuning_path);
	ck_assert_str_eq(attr.tuning_state, "off");
	dtconv_context_destroy(context);
}
END_TEST

START_TEST(the_info_lists_devices)
{
	struct dtconv_context *context = read_devices("device A b\ndevice_rate 7\n");

	ck_assert_ptr_nonnull(strstr(
		fixture_info(context),
		"\ntuned device A b: device_wake_ns 6000, device_launch_ns 5300, "
		"device_copy_ns 2300, device_rate 7, "));
	dtconv_context_destroy(context);
}
END_TEST

/* ---- whose machine --------------------------------------------------------------------------- */

START_TEST(a_file_for_another_machine_is_ignored)
{
	static const char text[] =
		"stream_bytes 5\nmachine an abacus, beads\nstream_bytes 6\n";

	write_file(path, text, strlen(text), 0600);
	ck_assert_uint_eq(read_now(DTC_TUNING_STRANGER), DEFAULT);
	ck_assert_uint_eq(last.lines, 0); /* at level warn */
	struct dtconv_context *context = create(DTCONV_LOG_INFO);
	ck_assert_uint_eq(last.lines, 1);
	ck_assert_int_eq(last.level, DTCONV_LOG_INFO);
	ck_assert_ptr_nonnull(
		strstr(last.text,
		       "it was written for 'an abacus, beads', but this machine is '"));
	dtconv_context_destroy(context);
}
END_TEST

/* What the library says of the machine is what it wants to read. */
START_TEST(a_file_for_this_machine_is_read)
{
	struct dtconv_context *context = create(DTCONV_LOG_NONE);
	const char *info = fixture_info(context), *machine = strstr(info, "\nmachine: ");
	char text[400];

	ck_assert_ptr_nonnull(machine);
	machine += strlen("\nmachine: ");
	snprintf(text, sizeof(text), "machine %.*s\nstream_bytes 5\n",
		 (int)strcspn(machine, "\n"), machine);
	ck_assert_ptr_nonnull(strstr(info, "\ntuning: no such file\n"));
	dtconv_context_destroy(context);
	ck_assert_uint_eq(read_text(text), 5);
	ck_assert_uint_eq(last.lines, 0);
}
END_TEST

START_TEST(the_model_is_found_where_linux_says_it)
{
	static const struct {
		const char *text, *model;
	} files[] = {
		{ "processor\t: 0\nmodel\t\t: 17\nmodel name\t: A Chip 9\nmodel name\t: B\n",
		  "A Chip 9" },
		{ "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n",
		  "0xd0c" },
		{ "cpu\t\t: POWER9, altivec supported\n", "POWER9, altivec supported" },
		{ "model name\t:\nuarch\t: sifive,u74-mc\n", "sifive,u74-mc" },
		{ "no colon\nmodel: 3\n", "unknown processor" },
		{ "", "unknown processor" },
	};
	char model[40];

	write_file(path, files[_i].text, strlen(files[_i].text), 0600);
	dtc_machine_model(path, model, sizeof(model));
	ck_assert_str_eq(model, files[_i].model);
	dtc_machine_model(path, model, 4);
	ck_assert_uint_eq(strlen(model), 3);
	dtc_machine_model(folder, model, sizeof(model));
	ck_assert_str_eq(model, "unknown processor");
	unlink(path);
	dtc_machine_model(path, model, sizeof(model));
	ck_assert_str_eq(model, "unknown processor");
}
END_TEST

/* ---- which files are not believed -------------------------------------------------------------- */

START_TEST(files_that_others_write_are_not_believed)
{
	static const mode_t modes[] = { 0620, 0602, 0666, 0622 };

	write_file(path, "stream_bytes 5\n", 15, modes[_i]);
	expect_refused("it is writable by users other than its owner");
	chmod(path, 0444);
	ck_assert_uint_eq(read_now(DTC_TUNING_READ), 5);
}
END_TEST

START_TEST(a_file_of_another_user_is_not_believed)
{
	write_file(path, "stream_bytes 5\n", 15, 0644);
	if (chown(path, 12345, (gid_t)-1)) {
		ck_assert_int_ne(geteuid(), 0); /* only root can try it */
		return;
	}
	expect_refused("it belongs to another user");
}
END_TEST

/* Root's files are everybody's: the machine's administrator may have measured. */
START_TEST(a_file_of_root_is_believed)
{
	write_file(path, "stream_bytes 5\n", 15, 0644);
	if (geteuid() != 0)
		return;
	ck_assert_int_eq(chmod(folder, 0755), 0);
	ck_assert_int_eq(seteuid(12345), 0);
	bool reachable = faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0;
	uint64_t value = read_now(reachable ? DTC_TUNING_READ : DTC_TUNING_REFUSED);
	ck_assert_int_eq(seteuid(0), 0);
	ck_assert_uint_eq(value, reachable ? 5 : DEFAULT);
}
END_TEST

START_TEST(a_file_that_may_not_be_read_is_named)
{
	write_file(path, "stream_bytes 5\n", 15, 0600);
	if (geteuid() == 0) {
		ck_assert_int_eq(chmod(folder, 0755), 0);
		ck_assert_int_eq(seteuid(12345), 0);
	} else {
		chmod(path, 0);
	}
	expect_refused("Permission denied");
	if (getuid() == 0)
		ck_assert_int_eq(seteuid(0), 0);
}
END_TEST

START_TEST(a_file_of_64_kib_is_not_believed)
{
	char *text = malloc(65536);

	memset(text, '\n', 65536);
	memcpy(text, "stream_bytes 5\n", 15);
	write_file(path, text, 65535, 0600);
	ck_assert_uint_eq(read_now(DTC_TUNING_READ), 5);
	write_file(path, text, 65536, 0600);
	expect_refused("it is not smaller than 64 KiB");
	free(text);
}
END_TEST

/* A regular file of one's own whose first byte cannot be read. */
START_TEST(a_file_that_cannot_be_read_to_its_end_is_ignored)
{
	snprintf(path, sizeof(path), "/proc/self/mem");
	setenv("DTCONV_TUNING", path, 1);
	if (access(path, R_OK) == 0)
		expect_refused(strerror(EIO));
}
END_TEST

START_TEST(a_symbolic_link_is_not_followed)
{
	char target[400];

	snprintf(target, sizeof(target), "%s.target", path);
	write_file(target, "stream_bytes 5\n", 15, 0600);
	ck_assert_int_eq(symlink(target, path), 0);
	expect_refused("it is a symbolic link");
}
END_TEST

START_TEST(what_is_no_file_is_not_believed)
{
	ck_assert_int_eq(mkdir(path, 0700), 0);
	expect_refused("it is not a regular file");
	setenv("DTCONV_TUNING", "/dev/null", 1);
	ck_assert_uint_eq(read_now(DTC_TUNING_REFUSED), DEFAULT);
}
END_TEST

/* Nobody writes to it, so a blocking open would never return. */
START_TEST(a_fifo_does_not_block)
{
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	expect_refused("it is not a regular file");
}
END_TEST

/* ---- where the file is ------------------------------------------------------------------------- */

START_TEST(a_missing_file_is_silent)
{
	ck_assert_uint_eq(read_now(DTC_TUNING_MISSING), DEFAULT);
	setenv("DTCONV_TUNING", "/dev/null/file", 1);
	ck_assert_uint_eq(read_now(DTC_TUNING_MISSING), DEFAULT);
	ck_assert_uint_eq(last.lines, 0);
}
END_TEST

/* Files in both places of a home; the variables choose between them. */
static void fill_home(void)
{
	char name[400];

	snprintf(name, sizeof(name), "%s/.cache", folder);
	mkdir(name, 0700);
	snprintf(name, sizeof(name), "%s/.cache/dtconv", folder);
	mkdir(name, 0700);
	snprintf(name, sizeof(name), "%s/.cache/dtconv/host.tuning", folder);
	write_file(name, "stream_bytes 1\n", 15, 0600);
	snprintf(name, sizeof(name), "%s/dtconv", folder);
	mkdir(name, 0700);
	snprintf(name, sizeof(name), "%s/dtconv/host.tuning", folder);
	write_file(name, "stream_bytes 2\n", 15, 0600);
	write_file(path, "stream_bytes 3\n", 15, 0600);
}

START_TEST(the_variables_say_where_it_is)
{
	fill_home();
	setenv("XDG_CACHE_HOME", folder, 1);
	ck_assert_uint_eq(read_now(DTC_TUNING_READ), 3);
	setenv("DTCONV_TUNING", "none", 1);
	ck_assert_uint_eq(read_now(DTC_TUNING_OFF), DEFAULT);
	setenv("DTCONV_TUNING", "", 1);
	ck_assert_uint_eq(read_now(DTC_TUNING_READ), 2);
	unsetenv("DTCONV_TUNING");
	ck_assert_uint_eq(read_now(DTC_TUNING_READ), 2);
	setenv("XDG_CACHE_HOME", "relative", 1);
	ck_assert_uint_eq(read_now(DTC_TUNING_READ), 1);
	unsetenv("XDG_CACHE_HOME");
	ck_assert_uint_eq(read_now(DTC_TUNING_READ), 1);
	unsetenv("HOME");
	ck_assert_uint_eq(read_now(DTC_TUNING_OFF), DEFAULT);
	ck_assert_uint_eq(last.lines, 0);
}
END_TEST

START_TEST(programs_with_more_rights_read_no_file)
{
	fill_home();
	set_id = true;
	ck_assert_uint_eq(read_now(DTC_TUNING_OFF), DEFAULT);
	unsetenv("DTCONV_TUNING");
	ck_assert_uint_eq(read_now(DTC_TUNING_OFF), DEFAULT);
	set_id = false;
	ck_assert_uint_eq(read_now(DTC_TUNING_READ), 1);
}
END_TEST

START_TEST(a_path_that_is_too_long_is_no_path)
{
	char longest[DTC_TUNING_PATH_MAX + 1];

	memset(longest, '/', DTC_TUNING_PATH_MAX);
	longest[DTC_TUNING_PATH_MAX] = '\0';
	setenv("DTCONV_TUNING", longest, 1);
	ck_assert_uint_eq(read_now(DTC_TUNING_OFF), DEFAULT);
	ck_assert_uint_eq(last.lines, 1);
	ck_assert_str_eq(
		last.text,
		"no tuning file is read, because its path is longer than 1023 characters");
	longest[DTC_TUNING_PATH_MAX - 1] = '\0';
	setenv("DTCONV_TUNING", longest, 1);
	ck_assert_uint_eq(read_now(DTC_TUNING_REFUSED),
			  DEFAULT); /* a folder, after all */
}
END_TEST

/* ---- what is in force -------------------------------------------------------------------------- */

START_TEST(the_info_says_what_is_in_force)
{
	const struct {
		const char *text, *origin;
		unsigned long long value;
	} files[] = {
		{ "stream_bytes 5\n", "in use", 5 },
		{ "machine an abacus\nstream_bytes 5\n",
		  "ignored; it was written for another machine", DEFAULT },
	};
	char expected[700];

	write_file(path, files[_i].text, strlen(files[_i].text), 0600);
	struct dtconv_context *context = create(DTCONV_LOG_NONE);
	snprintf(
		expected, sizeof(expected),
		"\ntuning file: %s\ntuning: %s\nstream_bytes: %llu (default %llu, from 0 to "
		"9223372036854775807): ",
		path, files[_i].origin, files[_i].value, (unsigned long long)DEFAULT);
	ck_assert_ptr_nonnull(strstr(fixture_info(context), expected));
	dtconv_context_destroy(context);
}
END_TEST

START_TEST(a_larger_cache_keeps_larger_targets)
{
	const uint64_t mib = UINT64_C(1) << 20;

	ck_assert_uint_eq(dtc_stream_bytes_by_cache(0), 8 * mib);
	ck_assert_uint_eq(dtc_stream_bytes_by_cache(32 * mib), 8 * mib);
	ck_assert_uint_eq(dtc_stream_bytes_by_cache(107 * mib), 8 * mib);
	ck_assert_uint_eq(dtc_stream_bytes_by_cache(108 * mib), 9 * mib);
	ck_assert_uint_eq(dtc_stream_bytes_by_cache(480 * mib), 40 * mib);
	ck_assert_uint_le(dtc_stream_bytes_by_cache(UINT64_MAX), INT64_MAX);
}
END_TEST

static TCase *add_case(Suite *suite, const char *name)
{
	TCase *tcase = tcase_create(name);

	tcase_add_checked_fixture(tcase, setup, teardown);
	suite_add_tcase(suite, tcase);
	return tcase;
}

START_TEST(threads_share_what_the_file_says)
{
	struct dtconv_context_params params = { .struct_size = sizeof(params) };
	struct dtconv_context *context;

	params.threads = _i ? 2 : 1;
	write_file(path, "share_bytes 4096\n", 17, 0600);
	fixture_ok(dtconv_context_create(&params, &context));
	ck_assert_uint_eq(context->tuning.share_bytes, 4096);
	ck_assert_uint_eq(context->threads.share_bytes, _i ? 4096 : SIZE_MAX);
	dtconv_context_destroy(context);
	write_file(path, "share_bytes 0\n", 14, 0600);
	fixture_ok(dtconv_context_create(&params, &context));
	ck_assert_uint_eq(context->tuning.share_bytes, 262144);
	dtconv_context_destroy(context);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tuning");
	TCase *lines = add_case(suite, "lines");
	TCase *devices = add_case(suite, "devices");
	TCase *machine = add_case(suite, "machine");
	TCase *belief = add_case(suite, "belief");
	TCase *place = add_case(suite, "place");

	tcase_add_loop_test(lines, a_good_file_is_silent, 0, 8);
	tcase_add_loop_test(lines, a_wrong_line_is_skipped_and_named, 0, 10);
	tcase_add_test(lines, a_line_that_is_too_long_is_skipped);
	tcase_add_test(lines, a_nul_byte_ends_nothing);
	tcase_add_test(lines, lines_are_cut_where_they_end);
	tcase_add_test(lines, no_more_is_read_than_allowed);
	tcase_add_loop_test(lines, threads_share_what_the_file_says, 0, 2);
	tcase_add_test(devices, devices_have_figures_of_their_own);
	tcase_add_loop_test(devices, a_device_without_a_usable_name_is_skipped, 0, 2);
	tcase_add_test(devices, a_file_has_figures_of_so_many_devices);
	tcase_add_test(devices, devices_of_another_machine_are_forgotten);
	tcase_add_test(devices, wrong_figures_of_a_device_are_skipped);
	tcase_add_test(devices, thresholds_are_answered_by_name_and_device);
	tcase_add_test(devices, the_query_says_where_thresholds_come_from);
	tcase_add_test(devices, the_info_lists_devices);
	tcase_add_test(machine, a_file_for_another_machine_is_ignored);
	tcase_add_test(machine, a_file_for_this_machine_is_read);
	tcase_add_loop_test(machine, the_model_is_found_where_linux_says_it, 0, 6);
	tcase_add_loop_test(belief, files_that_others_write_are_not_believed, 0, 4);
	tcase_add_test(belief, a_file_of_another_user_is_not_believed);
	tcase_add_test(belief, a_file_of_root_is_believed);
	tcase_add_test(belief, a_file_that_may_not_be_read_is_named);
	tcase_add_test(belief, a_file_of_64_kib_is_not_believed);
	tcase_add_test(belief, a_file_that_cannot_be_read_to_its_end_is_ignored);
	tcase_add_test(belief, a_symbolic_link_is_not_followed);
	tcase_add_test(belief, what_is_no_file_is_not_believed);
	tcase_add_test(belief, a_fifo_does_not_block);
	tcase_add_test(place, a_missing_file_is_silent);
	tcase_add_test(place, the_variables_say_where_it_is);
	tcase_add_test(place, programs_with_more_rights_read_no_file);
	tcase_add_test(place, a_path_that_is_too_long_is_no_path);
	tcase_add_loop_test(place, the_info_says_what_is_in_force, 0, 2);
	tcase_add_test(place, a_larger_cache_keeps_larger_targets);
	return fixture_run(suite);
}
