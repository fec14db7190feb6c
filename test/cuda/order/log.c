/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is told of the scripts that were not finished: each has its log, in memory that the processes of the cases
 * share with the one that prints. Knows nothing of what is noted.
 */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>

#include "cuda/order/script.h"

#define LOG_BYTES 24000

/* Of the script that a process is at; the parent prints what was not finished. */
struct log {
	size_t length;
	bool unfinished;
	char text[LOG_BYTES];
};

static struct log *logs, *current;

bool logs_open(int count)
{
	logs = mmap(NULL, (size_t)count * sizeof(*logs), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return logs != MAP_FAILED;
}

void log_choose(int number)
{
	current = &logs[number];
}

void note(const char *format, ...)
{
	const size_t room = sizeof(current->text) - current->length;
	va_list arguments;

	va_start(arguments, format);
	int length = vsnprintf(current->text + current->length, room, format, arguments);
	va_end(arguments);
	current->length += (size_t)length < room ? (size_t)length : room - 1;
}

void log_open(uint64_t seed)
{
	current->length = 0;
	current->unfinished = true;
	note("DTCONV_TEST_SEED=%llu\n", (unsigned long long)seed);
}

void log_close(void)
{
	current->unfinished = false;
}

void logs_print(int count)
{
	for (int i = 0; i < count; i++)
		if (logs[i].unfinished)
			fprintf(stderr, "%s\n", logs[i].text);
}

const char *context_error(const struct script *s)
{
	static char text[512];

	text[0] = 0;
	dtconv_context_error(s->context, text, sizeof(text));
	return text;
}

void must(const struct script *s, int status)
{
	ck_assert_msg(!status, "%s: %s", dtconv_strerror(status), context_error(s));
}
