/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds, checks and reads the tuning file. Errors in the file never fail the creation of a
 * context.
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
	uint64_t least, most;
	size_t offset; /* offset in struct dtc_tuning */
	const char *what;
};

#define THRESHOLD_ROW(name, normal, least, most, what) \
	{ #name, least, most, offsetof(struct dtc_tuning, name), what },

#define THRESHOLD_DEFAULT(name, normal, least, most, what) .name = (normal),

static const struct dtc_tuning normal = { DTC_THRESHOLDS(THRESHOLD_DEFAULT) };
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

/*
 * Measured on a machine with 480 MiB of last-level cache: 30 to 48 MiB, depending on the block
 * length.
 */
#define STREAM_SHARE 12

uint64_t dtc_stream_bytes_by_cache(uint64_t last_cache)
{
	const uint64_t mib = UINT64_C(1) << 20;

	return DTC_MAX(normal.stream_bytes, last_cache / STREAM_SHARE / mib * mib);
}

static void set_defaults(struct dtc_tuning *tuning)
{
	*tuning = normal;
	tuning->stream_bytes = dtc_stream_bytes_by_cache(dtc_machine_last_cache());
}

/* ---- the machine --------------------------------------------------------------------------- */

#define MACHINE_MAX (DTC_LINE_MAX - sizeof("machine "))

void dtc_tuning_machine(const char *kernels, char *name, size_t capacity)
{
	char model[160];

	dtc_machine_model(DTC_MACHINE_FILE, model, sizeof(model));
	snprintf(name, DTC_MIN(capacity, MACHINE_MAX), "%s, %.40s", model, kernels);
}

/*
 * ---- its path ------------------------------------------------------------------------------
 */

/* Write the path, empty if there is none. False if it is too long. */
static bool find_path(struct dtc_tuning_file *file)
{
	const char *told = dtc_user_variable("DTCONV_TUNING");

	file->path[0] = '\0';
	if (told)
		return !strcmp(told, "none") ||
		       dtc_user_path(file->path, sizeof(file->path), told, "");
	return dtc_user_cache_path(file->path, sizeof(file->path), "host.tuning");
}

/*
 * ---- checks before it is read --------------------------------------------------------------
 */

/* The reason to ignore a file, or NULL. */
static const char *distrust(const struct stat *status)
{
	if (!S_ISREG(status->st_mode))
		return "is not a regular file";
	if (status->st_uid != geteuid() && status->st_uid != 0)
		return "belongs to another user";
	if (status->st_mode & (S_IWGRP | S_IWOTH))
		return "is writable by users other than its owner";
	if (status->st_size >= DTC_TUNING_FILE_MAX)
		return "is not smaller than 64 KiB";
	return NULL;
}

/*
 * Check the open descriptor, so that the file cannot be replaced in between. O_NONBLOCK:
 * opening a FIFO without a writer would block. O_NOFOLLOW: a symbolic link in another user's
 * directory could lead to any file of this user.
 */
static int open_file(const struct dtconv_context *context, enum dtc_tuning_origin *origin)
{
	const char *path = context->tuning_file.path;
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

/*
 * ---- its lines -----------------------------------------------------------------------------
 */

static const struct threshold *find_threshold(const char *name)
{
	for (size_t i = 0; i < DTC_ARRAY_LENGTH(thresholds); i++)
		if (!strcmp(thresholds[i].name, name))
			return &thresholds[i];
	return NULL;
}

/* Parse a decimal number in the threshold's range; false if it is none. */
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

/* The state of the reader. */
struct reader {
	struct dtconv_context *context;
	const char *kernels;
	struct dtc_lines lines;
	struct dtc_tuning *
		device; /* receives the next device_* values: of all devices, or of one name */
	struct dtc_tuning ignored; /* receives the values of rejected devices */
};

/* Log that a line is skipped, and why. */
#define SKIP(reader, why, ...)                                               \
	DTC_LOG((reader)->context, DTCONV_LOG_WARN,                          \
		"tuning file %s, line %zu is skipped: " why,                 \
		(reader)->context->tuning_file.path, (reader)->lines.number, \
		__VA_ARGS__)

static bool is_of_devices(const struct threshold *threshold)
{
	return !strncmp(threshold->name, "device_", 7);
}

static void take_value(struct reader *reader, const char *name, const char *text)
{
	const struct threshold *threshold = find_threshold(name);
	uint64_t value;

	if (!threshold)
		SKIP(reader, "unknown threshold '%.40s'", name);
	else if (parse_value(text, threshold, &value))
		set_value(is_of_devices(threshold) ? reader->device
						   : &reader->context->tuning,
			  threshold, value);
	else
		SKIP(reader, "%s is '%.40s', not an integer from %" PRIu64 " to %" PRIu64,
		     name, text, threshold->least, threshold->most);
}

static struct dtc_tuned_device *find_device(struct dtc_tuning_file *file,
					    const char *name)
{
	for (size_t i = 0; i < file->device_count; i++)
		if (!strcmp(file->devices[i].name, name))
			return &file->devices[i];
	return NULL;
}

/*
 * The following device_* values are for devices of that name. Those that are missing are copied
 * from all devices.
 */
static void take_device(struct reader *reader, const char *name)
{
	struct dtc_tuning_file *file = &reader->context->tuning_file;
	struct dtc_tuned_device *device = find_device(file, name);

	reader->device = &reader->ignored;
	if (!*name || strlen(name) >= DTC_DEVICE_NAME_MAX) {
		SKIP(reader, "the device name has %zu characters, not 1 to %d",
		     strlen(name), DTC_DEVICE_NAME_MAX - 1);
		return;
	}
	if (!device && file->device_count == DTC_TUNED_DEVICES) {
		SKIP(reader, "'%.40s' exceeds the limit of %d devices per file", name,
		     DTC_TUNED_DEVICES);
		return;
	}
	if (!device) {
		device = &file->devices[file->device_count++];
		snprintf(device->name, sizeof(device->name), "%s", name);
		device->tuning = reader->context->tuning;
	}
	reader->device = &device->tuning;
}

/* Terminate the first word of a line and return what follows it. */
static const char *split(char *line)
{
	size_t length = strcspn(line, " \t");
	char *rest = line + length;

	rest += strspn(rest, " \t");
	line[length] = '\0';
	return rest;
}

/* Returns false if the file is for another machine. */
static bool is_this_machine(const struct reader *reader, const char *name)
{
	char machine[MACHINE_MAX];

	dtc_tuning_machine(reader->kernels, machine, sizeof(machine));
	if (!strcmp(name, machine))
		return true;
	DTC_LOG(reader->context, DTCONV_LOG_INFO,
		"tuning file %s is ignored: it was written for '%.200s', but this machine is '%s'",
		reader->context->tuning_file.path, name, machine);
	return false;
}

/* Returns false if the line names another machine. */
static bool take_line(struct reader *reader)
{
	char *name = reader->lines.line;

	if (*name == '\0' || *name == '#')
		return true;
	if (reader->lines.cut) {
		SKIP(reader, "it is longer than %d characters", DTC_LINE_MAX - 1);
		return true;
	}
	const char *text = split(name);
	if (!strcmp(name, "machine"))
		return is_this_machine(reader, text);
	if (!strcmp(name, "device"))
		take_device(reader, text);
	else
		take_value(reader, name, text);
	return true;
}

static enum dtc_tuning_origin take_file(struct dtconv_context *context, int file,
					const char *kernels)
{
	struct reader reader = { .context = context,
				 .kernels = kernels,
				 .device = &context->tuning };

	dtc_lines_init(&reader.lines, file, DTC_TUNING_FILE_MAX);
	while (dtc_lines_next(&reader.lines))
		if (!take_line(&reader))
			return DTC_TUNING_STRANGER;
	if (!reader.lines.error)
		return DTC_TUNING_READ;
	errno = reader.lines.error;
	DTC_LOG(context, DTCONV_LOG_WARN, "tuning file %s is ignored: %m",
		context->tuning_file.path);
	return DTC_TUNING_REFUSED;
}

void dtc_tuning_read(struct dtconv_context *context, const char *kernels)
{
	struct dtc_tuning_file *tuning = &context->tuning_file;

	set_defaults(&context->tuning);
	tuning->device_count = 0;
	tuning->origin = DTC_TUNING_OFF;
	if (!find_path(tuning))
		DTC_LOG(context, DTCONV_LOG_WARN,
			"no tuning file is read, because its path is longer than %d characters",
			DTC_TUNING_PATH_MAX - 1);
	if (!tuning->path[0])
		return;
	int file = open_file(context, &tuning->origin);
	if (file < 0)
		return;
	tuning->origin = take_file(context, file, kernels);
	close(file);
	if (tuning->origin != DTC_TUNING_READ) {
		set_defaults(&context->tuning);
		tuning->device_count = 0;
	}
}

const struct dtc_tuning *dtc_tuning_of_device(const struct dtconv_context *context,
					      const char *name)
{
	const struct dtc_tuning_file *file = &context->tuning_file;

	for (size_t i = 0; i < file->device_count; i++)
		if (!strcmp(file->devices[i].name, name))
			return &file->devices[i].tuning;
	return &context->tuning;
}

/*
 * ---- descriptions --------------------------------------------------------------------------
 */

static const char *const origins[] = {
	[DTC_TUNING_OFF] = "off",
	[DTC_TUNING_MISSING] = "no such file",
	[DTC_TUNING_REFUSED] = "ignored; set DTCONV_LOG=warn for the reason",
	[DTC_TUNING_STRANGER] = "ignored; it was written for another machine",
	[DTC_TUNING_READ] = "in use",
};

const char *dtc_tuning_state(const struct dtc_tuning_file *file)
{
	return origins[file->origin];
}

static struct dtconv_threshold describe(const struct dtc_tuning *tuning,
					const struct threshold *threshold)
{
	struct dtc_tuning defaults;

	set_defaults(&defaults);
	return (struct dtconv_threshold){ .name = threshold->name,
					  .what = threshold->what,
					  .is_device = is_of_devices(threshold),
					  .value = value_of(tuning, threshold),
					  .default_value = value_of(&defaults, threshold),
					  .least = threshold->least,
					  .most = threshold->most };
}

int dtconv_context_query_threshold(struct dtconv_context *context, size_t index,
				   const char *device, struct dtconv_threshold *threshold)
{
	if (!context || !threshold)
		return DTCONV_ERR_INVAL;
	if (threshold->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(context, __func__, "threshold", "dtconv_threshold");
	if (index >= DTC_ARRAY_LENGTH(thresholds))
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: index (argument 2) is %zu, there are %zu thresholds",
				__func__, index, DTC_ARRAY_LENGTH(thresholds));
	struct dtconv_threshold now = describe(
		device ? dtc_tuning_of_device(context, device) : &context->tuning,
		&thresholds[index]);
	now.struct_size = threshold->struct_size;
	memcpy(threshold, &now, DTC_MIN(threshold->struct_size, sizeof(now)));
	return 0;
}

static void describe_device(const struct dtc_tuned_device *device, struct dtc_text *text)
{
	const char *before = ": ";

	dtc_text_printf(text, "tuned device %s", device->name);
	for (size_t i = 0; i < DTC_ARRAY_LENGTH(thresholds); i++) {
		if (!is_of_devices(&thresholds[i]))
			continue;
		dtc_text_printf(text, "%s%s %" PRIu64, before, thresholds[i].name,
				value_of(&device->tuning, &thresholds[i]));
		before = ", ";
	}
	dtc_text_puts(text, "\n");
}

void dtc_tuning_describe(const struct dtconv_context *context, const char *kernels,
			 struct dtc_text *text)
{
	const struct dtc_tuning_file *file = &context->tuning_file;
	char machine[MACHINE_MAX];

	dtc_tuning_machine(kernels, machine, sizeof(machine));
	dtc_text_printf(text, "machine: %s\n", machine);
	dtc_text_printf(text, "tuning file: %s\n", file->path[0] ? file->path : "none");
	dtc_text_printf(text, "tuning: %s\n", dtc_tuning_state(file));
	for (size_t i = 0; i < DTC_ARRAY_LENGTH(thresholds); i++) {
		const struct dtconv_threshold row =
			describe(&context->tuning, &thresholds[i]);

		dtc_text_printf(text,
				"%s: %" PRIu64 " (default %" PRIu64 ", from %" PRIu64
				" to %" PRIu64 "): %s\n",
				row.name, row.value, row.default_value, row.least,
				row.most, row.what);
	}
	for (size_t i = 0; i < file->device_count; i++)
		describe_device(&file->devices[i], text);
}
