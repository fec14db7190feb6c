/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control interface and the common part of entry points: counts, injected failures, options
 * and their environment variables, and the report at exit.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/cuda_standin/standin_internal.h"

#define TALLIES    512
#define RULES      64
#define NAME_BYTES 64

struct standin_tally {
	char name[NAME_BYTES];
	size_t calls;
	bool absent;
};

struct rule {
	char name[NAME_BYTES];
	unsigned left; /* calls until it fires; 0: fired */
	CUresult result;
};

pthread_mutex_t standin_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t standin_changed = PTHREAD_COND_INITIALIZER;
bool standin_initialised;
_Thread_local bool standin_per_thread;
_Thread_local bool standin_in_callback;

static struct standin_tally tallies[TALLIES];
static struct rule rules[RULES];
static size_t rule_count;
static unsigned fired_count;
static uint64_t random_state = 1;
static bool forked; /* in a child of a process that had initialised the driver */

static const long option_defaults[] = {
#define OPTION_DEFAULT(name, value) value,
	STANDIN_OPTIONS(OPTION_DEFAULT)
#undef OPTION_DEFAULT
};

static const char *const option_names[] = {
#define OPTION_TEXT(name, value) "CUDA_STANDIN_" #name,
	STANDIN_OPTIONS(OPTION_TEXT)
#undef OPTION_TEXT
};

static long options[STANDIN_OPTION_COUNT];

/* ---- Names and counts ---- */

/* cuMemAlloc_v2 and cuMemAlloc_v2_ptds are called cuMemAlloc. */
static void base_name(const char *entry, char name[NAME_BYTES])
{
	snprintf(name, NAME_BYTES, "%s", entry);
	char *version = strstr(name, "_v");
	if (version && version[2] >= '0' && version[2] <= '9')
		*version = '\0';
}

static struct standin_tally *tally_of(const char *name)
{
	for (size_t i = 0; i < TALLIES; i++) {
		if (!tallies[i].name[0])
			snprintf(tallies[i].name, NAME_BYTES, "%s", name);
		if (!strcmp(tallies[i].name, name))
			return &tallies[i];
	}
	standin_crash(name, "more entry points than the stand-in counts");
}

bool standin_is_absent(const char *entry)
{
	return tally_of(entry)->absent;
}

/* ---- Injected failures ---- */

static bool rule_is_for(const struct rule *rule, const char *name)
{
	return rule->left && (!strcmp(rule->name, "*") || !strcmp(rule->name, name));
}

/* Counts the call in every rule that is about it; the first that is due decides. */
static CUresult injected(const char *name)
{
	CUresult result = CUDA_SUCCESS;
	for (size_t i = 0; i < rule_count; i++) {
		if (!rule_is_for(&rules[i], name) || --rules[i].left)
			continue;
		fired_count++;
		if (result == CUDA_SUCCESS)
			result = rules[i].result;
	}
	return result;
}

static void add_rule(const char *entry, unsigned nth, CUresult result)
{
	if (rule_count == RULES || !nth)
		standin_crash(entry, "too many rules, or a rule for call 0");
	struct rule *rule = &rules[rule_count++];
	snprintf(rule->name, sizeof rule->name, "%s", entry);
	rule->left = nth;
	rule->result = result;
}

/* Whether a real device answers it to every later call in the context, too. */
static bool is_sticky(CUresult result)
{
	return result == CUDA_ERROR_ILLEGAL_ADDRESS || result == CUDA_ERROR_LAUNCH_FAILED;
}

static CUresult fail_if_due(const char *name)
{
	CUresult result = injected(name);
	CUcontext current = standin_current();
	if (is_sticky(result) && current)
		standin_poison(current, result);
	return result;
}

/* ---- The frame ---- */

static CUresult check_needs(unsigned needs)
{
	if (standin_in_callback && !(needs & ANYTIME))
		return CUDA_ERROR_NOT_PERMITTED;
	if (!(needs & ANYTIME) && (!standin_initialised || forked))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (needs & NEEDS_CONTEXT) {
		CUresult result = standin_usable(standin_current());
		if (result)
			return result;
	}
	return needs & UNSAFE_IN_CAPTURE ? standin_capture_allows() : CUDA_SUCCESS;
}

CUresult standin_enter(struct standin_entry *entry, unsigned needs, bool per_thread)
{
	pthread_mutex_lock(&standin_mutex);
	if (!entry->tally) {
		char name[NAME_BYTES];
		base_name(entry->name, name);
		entry->tally = tally_of(name);
	}
	entry->tally->calls++;
	standin_per_thread = per_thread;
	CUresult result = fail_if_due(entry->tally->name);
	return result ? result : check_needs(needs);
}

void standin_leave(void)
{
	pthread_mutex_unlock(&standin_mutex);
}

void standin_crash(const char *entry, const char *why)
{
	fprintf(stderr, "stand-in libcuda: %s: %s\n", entry, why);
	abort();
}

/* ---- Options, time, chance ---- */

long standin_get(enum standin_option option)
{
	return options[option];
}

static void set_option(enum standin_option option, long value)
{
	options[option] = value;
	if (option == STANDIN_SEED)
		random_state = (uint64_t)value;
}

/* splitmix64 */
uint64_t standin_random(void)
{
	uint64_t value = random_state += 0x9e3779b97f4a7c15;
	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
	value = (value ^ value >> 27) * 0x94d049bb133111eb;
	return value ^ value >> 31;
}

uint64_t standin_now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- The table of the control interface ---- */

static void control_inject(const char *entry, unsigned nth, int result)
{
	pthread_mutex_lock(&standin_mutex);
	add_rule(entry, nth, (CUresult)result);
	pthread_mutex_unlock(&standin_mutex);
}

static void control_inject_clear(void)
{
	pthread_mutex_lock(&standin_mutex);
	rule_count = 0;
	fired_count = 0;
	pthread_mutex_unlock(&standin_mutex);
}

static unsigned control_fired(void)
{
	pthread_mutex_lock(&standin_mutex);
	unsigned count = fired_count;
	pthread_mutex_unlock(&standin_mutex);
	return count;
}

static void control_absent(const char *entry, bool is_absent)
{
	pthread_mutex_lock(&standin_mutex);
	tally_of(entry)->absent = is_absent;
	pthread_mutex_unlock(&standin_mutex);
}

static size_t control_calls(const char *entry)
{
	pthread_mutex_lock(&standin_mutex);
	size_t calls = tally_of(entry)->calls;
	pthread_mutex_unlock(&standin_mutex);
	return calls;
}

static void control_each(void (*visit)(const char *entry, size_t calls, void *arg),
			 void *arg)
{
	for (size_t i = 0; i < TALLIES && tallies[i].name[0]; i++)
		if (tallies[i].calls)
			visit(tallies[i].name, tallies[i].calls, arg);
}

static void control_set(enum standin_option option, long value)
{
	pthread_mutex_lock(&standin_mutex);
	set_option(option, value);
	pthread_cond_broadcast(&standin_changed);
	pthread_mutex_unlock(&standin_mutex);
}

static long control_get(enum standin_option option)
{
	pthread_mutex_lock(&standin_mutex);
	long value = options[option];
	pthread_mutex_unlock(&standin_mutex);
	return value;
}

static void control_poison(void *context, int result)
{
	pthread_mutex_lock(&standin_mutex);
	standin_poison(context, (CUresult)result);
	pthread_mutex_unlock(&standin_mutex);
}

static void control_add_kernel(const struct standin_kernel *kernel)
{
	pthread_mutex_lock(&standin_mutex);
	standin_add_kernel(kernel);
	pthread_mutex_unlock(&standin_mutex);
}

static size_t control_pending(void)
{
	size_t count = 0;
	pthread_mutex_lock(&standin_mutex);
	for (CUstream stream = standin_streams; stream; stream = stream->next)
		for (struct standin_op *op = stream->first; op; op = op->next)
			count++;
	pthread_mutex_unlock(&standin_mutex);
	return count;
}

static void *control_peek(unsigned long long address, size_t bytes)
{
	pthread_mutex_lock(&standin_mutex);
	size_t there;
	unsigned char *found = standin_translate(address, &there);
	pthread_mutex_unlock(&standin_mutex);
	return found && there >= bytes ? found : NULL;
}

static bool control_pages(unsigned long long address, size_t bytes,
			  struct standin_pages *pages)
{
	pthread_mutex_lock(&standin_mutex);
	const bool found = standin_pages(address, bytes, pages);
	pthread_mutex_unlock(&standin_mutex);
	return found;
}

/* ---- Start, reset, exit ---- */

static void read_options(void)
{
	for (size_t i = 0; i < STANDIN_OPTION_COUNT; i++) {
		const char *text = getenv(option_names[i]);
		set_option((enum standin_option)i,
			   text ? strtol(text, NULL, 0) : option_defaults[i]);
	}
}

/* CUDA_STANDIN_FAIL="cuMemAlloc:3:2,cuLaunchKernel:1:700", CUDA_STANDIN_ABSENT="cuMemMap,..." */
static void read_rules(void)
{
	const char *text = getenv("CUDA_STANDIN_FAIL");
	char name[NAME_BYTES];
	unsigned nth, result;
	for (; text && *text; text += strcspn(text, ","), text += *text == ',')
		if (sscanf(text, "%63[^:,]:%u:%u", name, &nth, &result) == 3)
			add_rule(name, nth, (CUresult)result);
	text = getenv("CUDA_STANDIN_ABSENT");
	for (; text && *text; text += strcspn(text, ","), text += *text == ',')
		if (sscanf(text, "%63[^,]", name) == 1)
			tally_of(name)->absent = true;
}

static void forget_counts(void)
{
	for (size_t i = 0; i < TALLIES; i++) {
		tallies[i].calls = 0;
		tallies[i].absent = false;
	}
	rule_count = 0;
	fired_count = 0;
}

static void forget_objects(void)
{
	while (standin_objects) {
		struct standin_object *object = standin_objects;
		standin_objects = object->next;
		if (object->kind == OBJECT_EVENT)
			standin_ticket_put(((CUevent)object)->ticket);
		free(object);
	}
}

static void control_reset(void)
{
	pthread_mutex_lock(&standin_mutex);
	standin_scheduler_reset();
	standin_capture_reset();
	standin_pool_reset();
	standin_region_reset();
	standin_context_reset();
	forget_objects();
	forget_counts();
	read_options();
	read_rules();
	standin_initialised = false;
	forked = false;
	pthread_mutex_unlock(&standin_mutex);
}

static const struct standin control = {
	.inject = control_inject,
	.inject_clear = control_inject_clear,
	.fired = control_fired,
	.absent = control_absent,
	.calls = control_calls,
	.each = control_each,
	.set = control_set,
	.get = control_get,
	.poison = control_poison,
	.add_kernel = control_add_kernel,
	.pending = control_pending,
	.leaks = standin_leaks,
	.reset = control_reset,
	.peek = control_peek,
	.pages = control_pages,
};

const struct standin *standin_control(void)
{
	return &control;
}

static void before_fork(void)
{
	pthread_mutex_lock(&standin_mutex);
}

static void after_fork_in_parent(void)
{
	pthread_mutex_unlock(&standin_mutex);
}

/* The child of an initialised process has no driver, as the manual says. */
static void after_fork_in_child(void)
{
	forked = standin_initialised;
	standin_scheduler_forked();
	pthread_mutex_unlock(&standin_mutex);
}

static void write_count(const char *entry, size_t calls, void *arg)
{
	fprintf(arg, "%s %zu\n", entry, calls);
}

/* Appended, because a test of many processes has one file. */
static void write_at_exit(void)
{
	const char *calls = getenv("CUDA_STANDIN_CALLS");
	FILE *file = calls ? fopen(calls, "a") : NULL;
	if (file) {
		control_each(write_count, file);
		fclose(file);
	}
	const char *leaks = getenv("CUDA_STANDIN_LEAKS");
	file = leaks ? fopen(leaks, "a") : NULL;
	if (file) {
		static char text[16384];
		standin_leaks(text, sizeof text);
		fputs(text, file);
		fclose(file);
	}
}

__attribute__((constructor)) static void start(void)
{
	read_options();
	read_rules();
	pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
	atexit(write_at_exit);
}
