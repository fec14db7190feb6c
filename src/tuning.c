/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The thresholds and the file that overrides them: where it is, whether it is believed, what
 * its lines say. Whatever is wrong with it, a context is created.
 */
#include "config.h"

#include "tuning.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"
#include "context.h"
#include "lines.h"
#include "log.h"
#include "machine.h"
#include "text.h"
#include "user_files.h"

struct threshold {
	const char *name;
	uint64_t normal, least, most;
	size_t offset; /* in struct dtc_tuning */
	const char *what;
};

#define THRESHOLD_ROW(name, normal, least, most, what) \
	{ #name, normal, least, most, offsetof(struct dtc_tuning, name), what },

static const struct threshold thresholds[] = { DTC_THRESHOLDS(THRESHOLD_ROW) };

static uint64_t value_of(const struct dtc_tuning *tuning,
			 const struct threshold *threshold)
{
	uint64_t value;

	memcpy(&value, (const char *)tuning + threshold->offset, sizeof(value));
	return value;
}

static void set_value(struct dtc_tuning *tuning, const struct threshold *threshold,
		      uint64_t value)
{
	memcpy((char *)tuning + threshold->offset, &value, sizeof(value));
}

static void set_defaults(struct dtc_tuning *tuning)
{
	for (size_t i = 0; i < DTC_ARRAY_LENGTH(thresholds); i++)
		set_value(tuning, &thresholds[i], thresholds[i].normal);
}

/* ---- the machine --------------------------------------------------------------------------- */

/* As it stands in a file after `machine`; shorter than a line, whatever the processor's name. */
struct machine {
	char name[DTC_LINE_MAX - sizeof("machine ")];
};

static struct machine this_machine(const char *kernels)
{
	char model[160];
	struct machine machine;

	dtc_machine_model(DTC_MACHINE_FILE, model, sizeof(model));
	snprintf(machine.name, sizeof(machine.name), "%s, %.40s", model, kernels);
	return machine;
}

/* ---- where the file is --------------------------------------------------------------------- */

/* Answers false if the path is too long; no path at all is an empty one. */
static bool find_path(struct dtc_tuning *tuning)
{
	const char *file = dtc_user_variable("DTCONV_TUNING");

	tuning->path[0] = '\0';
	if (file)
		return !strcmp(file, "none") ||
		       dtc_user_path(tuning->path, sizeof(tuning->path), file, "");
	return dtc_user_cache_path(tuning->path, sizeof(tuning->path), "host.tuning");
}

/* ---- whether it is believed ---------------------------------------------------------------- */

/* Why a file is not believed, or NULL. */
static const char *distrust(const struct stat *status)
{
	if (!S_ISREG(status->st_mode))
		return "is no regular file";
	if (status->st_uid != geteuid() && status->st_uid != 0)
		return "belongs to another user";
	if (status->st_mode & (S_IWGRP | S_IWOTH))
		return "can be written by others than its owner";
	if (status->st_size >= DTC_TUNING_FILE_MAX)
		return "is 64 KiB long or longer";
	return NULL;
}

/*
 * What was opened is what is looked at, so nobody can exchange it in between. Not blocking: a
 * FIFO without a writer must not stop the program. Not following: a link in a folder of
 * others could lead to any file of the user's.
 */
static int open_file(const struct dtconv_context *context, enum dtc_tuning_origin *origin)
{
	const char *path = context->tuning.path;
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
	struct stat status;

	*origin = DTC_TUNING_REFUSED;
	if (file < 0 && (errno == ENOENT || errno == ENOTDIR)) {
		*origin = DTC_TUNING_MISSING;
		return -1;
	}
	if (file < 0 && errno == ELOOP) {
		DTC_LOG(context, DTCONV_LOG_WARN,
			"tuning file %s is ignored: it is a symbolic link", path);
		return -1;
	}
	if (file < 0 || fstat(file, &status)) {
		DTC_LOG(context, DTCONV_LOG_WARN, "tuning file %s is ignored: %m", path);
		if (file >= 0)
			close(file);
		return -1;
	}
	const char *reason = distrust(&status);
	if (!reason)
		return file;
	DTC_LOG(context, DTCONV_LOG_WARN, "tuning file %s is ignored: it %s", path,
		reason);
	close(file);
	return -1;
}

/* ---- what it says -------------------------------------------------------------------------- */

static const struct threshold *find_threshold(const char *name)
{
	for (size_t i = 0; i < DTC_ARRAY_LENGTH(thresholds); i++)
		if (!strcmp(thresholds[i].name, name))
			return &thresholds[i];
	return NULL;
}

/* A whole number in decimal digits; false if it is none, or out of range. */
static bool parse_value(const char *text, const struct threshold *threshold,
			uint64_t *value)
{
	uint64_t sum = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9' || __builtin_mul_overflow(sum, 10, &sum) ||
		    __builtin_add_overflow(sum, (uint64_t)(*text - '0'), &sum))
			return false;
	}
	if (sum < threshold->least || sum > threshold->most)
		return false;
	*value = sum;
	return true;
}

static void take_value(struct dtconv_context *context, size_t number, const char *name,
		       const char *text)
{
	struct dtc_tuning *tuning = &context->tuning;
	const struct threshold *threshold = find_threshold(name);
	uint64_t value;

	if (!threshold)
		DTC_LOG(context, DTCONV_LOG_WARN,
			"tuning file %s, line %zu is skipped: there is no threshold '%.40s'",
			tuning->path, number, name);
	else if (parse_value(text, threshold, &value))
		set_value(tuning, threshold, value);
	else
		DTC_LOG(context, DTCONV_LOG_WARN,
			"tuning file %s, line %zu is skipped: %s is '%.40s', not a whole number "
			"from %" PRIu64 " to %" PRIu64,
			tuning->path, number, name, text, threshold->least,
			threshold->most);
}

/* Ends the name of a line and answers what follows it. */
static const char *split(char *line)
{
	size_t length = strcspn(line, " \t");
	char *rest = line + length;

	rest += strspn(rest, " \t");
	line[length] = '\0';
	return rest;
}

/* Answers false if the line says that the file is for another machine. */
static bool take_line(struct dtconv_context *context, struct dtc_lines *lines,
		      const char *kernels)
{
	char *name = lines->line;

	if (*name == '\0' || *name == '#')
		return true;
	if (lines->cut) {
		DTC_LOG(context, DTCONV_LOG_WARN,
			"tuning file %s, line %zu is skipped: it is longer than %d characters",
			context->tuning.path, lines->number, DTC_LINE_MAX - 1);
		return true;
	}
	const char *text = split(name);
	if (strcmp(name, "machine")) {
		take_value(context, lines->number, name, text);
		return true;
	}
	const struct machine machine = this_machine(kernels);
	if (!strcmp(text, machine.name))
		return true;
	DTC_LOG(context, DTCONV_LOG_INFO,
		"tuning file %s is ignored: it is for '%.200s', and this is '%s'",
		context->tuning.path, text, machine.name);
	return false;
}

static enum dtc_tuning_origin take_file(struct dtconv_context *context, int file,
					const char *kernels)
{
	struct dtc_lines lines;

	dtc_lines_init(&lines, file, DTC_TUNING_FILE_MAX);
	while (dtc_lines_next(&lines))
		if (!take_line(context, &lines, kernels))
			return DTC_TUNING_STRANGER;
	if (!lines.error)
		return DTC_TUNING_READ;
	errno = lines.error;
	DTC_LOG(context, DTCONV_LOG_WARN, "tuning file %s is ignored: %m",
		context->tuning.path);
	return DTC_TUNING_REFUSED;
}

void dtc_tuning_read(struct dtconv_context *context, const char *kernels)
{
	struct dtc_tuning *tuning = &context->tuning;

	set_defaults(tuning);
	tuning->origin = DTC_TUNING_OFF;
	if (!find_path(tuning))
		DTC_LOG(context, DTCONV_LOG_WARN,
			"the path of the tuning file is longer than %d characters, there is none",
			DTC_TUNING_PATH_MAX - 1);
	if (!tuning->path[0])
		return;
	int file = open_file(context, &tuning->origin);
	if (file < 0)
		return;
	tuning->origin = take_file(context, file, kernels);
	close(file);
	if (tuning->origin != DTC_TUNING_READ)
		set_defaults(tuning);
}

/* ---- telling ------------------------------------------------------------------------------- */

static const char *const origins[] = {
	[DTC_TUNING_OFF] = "off",
	[DTC_TUNING_MISSING] = "there is no such file",
	[DTC_TUNING_REFUSED] = "the file is ignored, DTCONV_LOG=warn says why",
	[DTC_TUNING_STRANGER] = "the file is for another machine",
	[DTC_TUNING_READ] = "the file is read",
};

void dtc_tuning_describe(const struct dtc_tuning *tuning, const char *kernels,
			 struct dtc_text *text)
{
	dtc_text_printf(text, "machine: %s\n", this_machine(kernels).name);
	dtc_text_printf(text, "tuning file: %s\n",
			tuning->path[0] ? tuning->path : "none");
	dtc_text_printf(text, "tuning: %s\n", origins[tuning->origin]);
	for (size_t i = 0; i < DTC_ARRAY_LENGTH(thresholds); i++) {
		const struct threshold *threshold = &thresholds[i];

		dtc_text_printf(text,
				"%s: %" PRIu64 " (default %" PRIu64 ", from %" PRIu64
				" to %" PRIu64 "): %s\n",
				threshold->name, value_of(tuning, threshold),
				threshold->normal, threshold->least, threshold->most,
				threshold->what);
	}
}
