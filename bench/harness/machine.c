/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The machine of a run: its description, and settings that make timings steadier.
 */
#include "config.h"

#include "bench/harness/machine.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <dtconv/dtconv.h>

#include "bench/commit.h"
#include "bench/harness/session.h"

/* The CPU's name as the kernel reports it. */
static void processor(char *name, size_t room)
{
	FILE *file = fopen("/proc/cpuinfo", "r");
	char line[256];

	snprintf(name, room, "unknown processor");
	while (file && fgets(line, sizeof(line), file)) {
		char *colon = strchr(line, ':');

		if (!colon || strncmp(line, "model name", 10))
			continue;
		colon[strcspn(colon, "\n")] = '\0';
		snprintf(name, room, "%s", colon + 2);
		break;
	}
	if (file)
		fclose(file);
}

static long processors(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN);
}

size_t machine_memory(void)
{
	return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}

void machine_text(char *text, size_t room)
{
	char name[128];
	struct utsname system;

	processor(name, sizeof(name));
	uname(&system);
	snprintf(text, room, "dtconv %s (%s) on %s, %ld CPUs, %s %s, compiler %s",
		 dtconv_version(), BENCH_COMMIT, name, processors(), system.sysname,
		 system.release, __VERSION__);
}

static void write_engines(FILE *json, const struct session *s, bool absent)
{
	const char *separator = "";

	for (size_t i = 0; i < s->engine_count; i++) {
		const struct engine *e = &s->engines[i];

		if (e->absent != absent)
			continue;
		fputs(separator, json);
		json_string(json, e->name);
		separator = ",";
		if (absent) {
			putc(':', json);
			json_string(json, e->problem);
		}
	}
}

/*
 * Parse the line of `dtconv info` for a threshold, "NAME: VALUE (default ..."; false if it is
 * another line.
 */
static bool write_threshold(FILE *json, const char *line, const char *separator)
{
	size_t length = strcspn(line, "\n");
	const char *colon = memchr(line, ':', length);
	const char *rest = strstr(line, " (default ");

	if (!colon || !rest || rest > line + length)
		return false;
	fprintf(json, "%s\"%.*s\":%.*s", separator, (int)(colon - line), line,
		(int)(rest - colon - 2), colon + 2);
	return true;
}

static void write_thresholds(FILE *json, const struct session *s)
{
	const char *separator = "";
	char info[4096];
	size_t length;

	fputs(",\"thresholds\":{", json);
	dtconv_context_format_info(s->context, info, sizeof(info), &length);
	for (const char *line = info; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (write_threshold(json, line, separator))
			separator = ",";
	}
	putc('}', json);
}

void machine_write(FILE *json, const struct session *s)
{
	char name[128];
	char date[32];
	time_t now = time(NULL);
	struct tm day;

	processor(name, sizeof(name));
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &day));
	fputs("{\"machine\":", json);
	json_string(json, name);
	fprintf(json, ",\"processors\":%ld,\"memory\":%zu,\"date\":\"%s\",\"version\":",
		processors(), machine_memory(), date);
	json_string(json, dtconv_version());
	fputs(",\"commit\":", json);
	json_string(json, BENCH_COMMIT);
	fputs(",\"compiler\":", json);
	json_string(json, __VERSION__);
	fputs(",\"command\":", json);
	json_string(json, s->options->command);
	fprintf(json, ",\"threads\":%zu", s->options->threads);
	fprintf(json, ",\"clock\":\"%s\"", bench_times_processor() ? "cpu" : "wall");
	write_thresholds(json, s);
	fprintf(json, ",\"seed\":%llu,\"engines\":[",
		(unsigned long long)s->options->seed);
	write_engines(json, s, false);
	fputs("],\"absent\":{", json);
	write_engines(json, s, true);
	fputs("}}\n", json);
	fflush(json);
}

void machine_pin(void)
{
	int here = sched_getcpu();
	cpu_set_t set;

	if (here < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET((size_t)here, &set);
	/* if this is not permitted, the spread is larger, and is reported */
	sched_setaffinity(0, sizeof(set), &set);
}
