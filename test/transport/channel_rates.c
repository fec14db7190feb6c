/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a channel between two processes costs: the time of a short message one way, and the rate of long ones from a
 * vector to a vector against the slower of packing and unpacking alone, in the same run. It tests nothing.
 *
 * usage: channel_rates [--cpus A,B] [--sleep] [--messages N] [--devices A,B] [--staging pinned|device] [--fragment BYTES] [--direct]
 * --cpus: where the two processes run; the same one twice is possible. --sleep: they sleep when they have nothing to
 * do; otherwise they poll, and yield while the other one has to run. --devices: where the sender's and the receiver's
 * buffers are, -1: in host memory. --staging: where staging memory is, if buffers are on devices. --fragment: bytes of
 * one. --direct: the receiver may copy messages between devices itself (DTCONV_CHANNEL_DIRECT). channel_rates_ucx: the
 * same over UCX, by the transports of DTCONV_TEST_UCX.
 */
#include "config.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dtconv/dtconv.h>

#include "base/clock.h"
#include "bed.h"
#ifdef RATES_DEVICE
#include "support/gpu.h"
#endif

#define REPEATS 11
#define MOST    ((size_t)64 << 20)

static struct options {
	int cpus[2]; /* negative: any */
	bool sleeps;
	unsigned messages; /* of a measurement of short ones */
	int devices[2];    /* of the buffers; negative: the host */
	enum dtconv_memory_kind staging;
	size_t fragment_bytes;
	bool is_direct;
} options = { { -1, -1 }, false, 20000, { -1, -1 }, DTCONV_MEMORY_PINNED, 0, false };

static struct {
	struct dtconv_context *context;
	struct bed *bed;
	struct dtconv_engine *engine;
	struct dtconv_channel *channel;
	int device; /* of the buffers; negative: the host */
	char *from, *to;
	unsigned under_way;
} it;

static void must(int status)
{
	char text[400] = "";

	if (!status)
		return;
	if (it.context)
		dtconv_context_error(it.context, text, sizeof(text));
	printf("channel_rates: %s: %s\n", dtconv_strerror(status), text);
	exit(1);
}

/* ---- a process ----------------------------------------------------------------------------- */

static void run_on(int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		perror("channel_rates: --cpus");
		exit(1);
	}
}

static char *map(size_t bytes, int value)
{
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		must(DTCONV_ERR_NOMEM);
	memset(memory, value, bytes);
	return memory;
}

/* A buffer of this process. */
static char *allocate(size_t bytes, int value)
{
#ifdef RATES_DEVICE
	if (it.device >= 0) {
		CUdeviceptr memory;

		if (gpu.MemAlloc(&memory, bytes) ||
		    gpu.MemsetD8(memory, (unsigned char)value, bytes) ||
		    gpu.CtxSynchronize())
			must(DTCONV_ERR_BACKEND);
		return (char *)(uintptr_t)memory;
	}
#endif
	return map(bytes, value);
}

static void release(char *memory, size_t bytes)
{
#ifdef RATES_DEVICE
	if (it.device >= 0) {
		(void)gpu.MemFree((CUdeviceptr)(uintptr_t)memory);
		return;
	}
#endif
	munmap(memory, bytes);
}

/* After the fork, because a driver does not outlive one. A process of host buffers may have to read a device's. */
static void open_device(unsigned side)
{
	it.device = options.devices[side];
#ifdef RATES_DEVICE
	const int used = it.device >= 0 ? it.device : options.devices[!side];
	CUcontext context;

	if (used < 0)
		return;
	gpu_open_in_program();
	if (gpu.DevicePrimaryCtxRetain(&context, used) || gpu.CtxSetCurrent(context))
		must(DTCONV_ERR_BACKEND);
#endif
}

static void open_process(int socket, unsigned side)
{
	const bool has_devices = options.devices[0] >= 0 || options.devices[1] >= 0;
	struct dtconv_channel_params params = {
		.struct_size = sizeof(params),
		.flags = options.is_direct ? DTCONV_CHANNEL_DIRECT : 0,
		.kind = has_devices ? options.staging : DTCONV_MEMORY_HOST,
		.device = has_devices ? -1 : 0,
		.fragment_bytes = options.fragment_bytes,
	};

	run_on(options.cpus[side]);
	open_device(side);
	it.from = allocate(2 * MOST, 1);
	it.to = allocate(2 * MOST, 2);
	must(dtconv_context_create(NULL, &it.context));
	it.bed = bed_open(it.context);
	params.transport = bed_transport(it.bed);
	must(dtconv_engine_create(it.context, NULL, &it.engine));
	must(dtconv_channel_open(it.engine, socket, &params, &it.channel));
}

static void close_process(void)
{
	struct dtconv_channel_attr attr = { .struct_size = sizeof(attr) };

	must(dtconv_channel_query(it.channel, &attr));
	if (options.is_direct)
		printf("messages sent: %llu, of those copied by the receiver itself: %llu\n",
		       (unsigned long long)attr.sent,
		       (unsigned long long)attr.sent_direct);
	must(dtconv_channel_close(it.channel));
	do {
		must(dtconv_engine_progress(it.engine, 0, NULL));
		must(dtconv_channel_query(it.channel, &attr));
	} while (attr.operations);
	must(dtconv_channel_destroy(it.channel));
	must(dtconv_engine_destroy(it.engine));
	bed_close(it.bed);
	dtconv_context_destroy(it.context);
	release(it.from, 2 * MOST);
	release(it.to, 2 * MOST);
}

static void done(void *arg, int status, size_t moved)
{
	(void)arg;
	(void)moved;
	/* The parent ends the child when it has its figures. */
	if (status == DTCONV_ERR_PEER)
		_exit(0);
	must(status);
	it.under_way--;
}

/* Alone on a CPU a process polls; where both share one, whoever has nothing to do gives it away. */
static void wait_for(unsigned left)
{
	const bool is_shared = options.cpus[0] >= 0 && options.cpus[0] == options.cpus[1];
	struct pollfd file = { .fd = dtconv_engine_fd(it.engine), .events = POLLIN };
	size_t worked;

	while (it.under_way > left) {
		must(dtconv_engine_progress(it.engine, 0, &worked));
		if (worked || it.under_way <= left)
			continue;
		if (options.sleeps) {
			if (!dtconv_engine_arm(it.engine))
				(void)poll(&file, 1, -1);
		} else if (is_shared) {
			sched_yield();
		}
	}
}

static void begin_send(struct dtconv_type *type, size_t count)
{
	it.under_way++;
	must(dtconv_channel_send(it.channel, 1, type, count, it.from, done, NULL));
}

static void begin_receive(struct dtconv_type *type, size_t count)
{
	it.under_way++;
	must(dtconv_channel_recv(it.channel, 1, type, count, it.to, done, NULL));
}

static struct dtconv_type *parse(const char *text)
{
	struct dtconv_type *type;

	must(dtconv_type_parse(it.context, text, strlen(text), &type));
	must(dtconv_type_commit(type));
	return type;
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values)
{
	qsort(values, REPEATS, sizeof(values[0]), by_value);
	return values[REPEATS / 2];
}

/* ---- short messages ------------------------------------------------------------------------ */

/* A message is answered by one of the same size. A send may complete later than its answer arrives. */
static void echo(struct dtconv_type *type, unsigned messages, unsigned side)
{
	for (unsigned i = 0; i < messages; i++) {
		begin_receive(type, 1);
		if (!side)
			begin_send(type, 1);
		wait_for(0);
		if (side) {
			begin_send(type, 1);
			wait_for(0);
		}
	}
}

static void measure_echo(unsigned side)
{
	struct dtconv_type *type = parse("double");
	double ns[REPEATS];

	for (int i = 0; i < REPEATS; i++) {
		const uint64_t begin = dtc_now_ns();

		echo(type, options.messages, side);
		ns[i] = (double)(dtc_now_ns() - begin) / options.messages / 2;
	}
	const double middle = median(ns);

	if (!side)
		printf("8 bytes, one way: %.2f us (best %.2f)\n", middle / 1000,
		       ns[0] / 1000);
	dtconv_type_unref(type);
}

/* ---- long messages --------------------------------------------------------------------------- */

static const struct row {
	const char *name, *text;
	size_t bytes; /* of an instance */
} rows[] = {
	{ "vector of 8 bytes in 16", "resized(hvector(8, 1, 16, double), 0, 128)", 64 },
	{ "vector of 64 bytes in 128", "resized(hvector(8, 8, 128, double), 0, 1024)",
	  512 },
	{ "vector of 512 bytes in 1024", "resized(hvector(8, 64, 1024, double), 0, 8192)",
	  4096 },
	{ "contiguous", "contiguous(512, double)", 4096 },
};

struct alone {
	double pack, unpack; /* GB/s */
};

static double rate_of(struct dtconv_type *type, size_t count, size_t bytes, bool packs)
{
	char *packed = allocate(MOST, 3);
	double ns[REPEATS];
	size_t moved;

	for (int i = 0; i < REPEATS; i++) {
		const uint64_t begin = dtc_now_ns();

		must(packs ? dtconv_pack(type, count, it.from, packed, bytes, &moved)
			   : dtconv_unpack(type, count, it.to, packed, bytes, &moved));
		ns[i] = (double)(dtc_now_ns() - begin);
	}
	release(packed, MOST);
	return (double)bytes / median(ns);
}

static void measure_row(const struct row *row, size_t bytes, unsigned side)
{
	struct dtconv_type *type = parse(row->text);
	const size_t count = bytes / row->bytes;
	double ns[REPEATS];
	struct alone alone = { 0, 0 };

	if (!side)
		alone = (struct alone){ rate_of(type, count, bytes, true),
					rate_of(type, count, bytes, false) };
	for (int i = 0; i < REPEATS; i++) {
		const uint64_t begin = dtc_now_ns();

		/* A message and an empty answer. */
		if (!side) {
			begin_send(type, count);
			begin_receive(type, 0);
		} else {
			begin_receive(type, count);
			wait_for(0);
			begin_send(type, 0);
		}
		wait_for(0);
		ns[i] = (double)(dtc_now_ns() - begin);
	}
	dtconv_type_unref(type);
	if (side)
		return;
	const double rate = (double)bytes / median(ns);
	const double slower = alone.pack < alone.unpack ? alone.pack : alone.unpack;
	printf("%-28s %6zu KiB: %6.2f GB/s; pack alone %6.2f, unpack alone %6.2f; %.2f of the "
	       "slower\n",
	       row->name, bytes >> 10, rate, alone.pack, alone.unpack, rate / slower);
}

static void measure(unsigned side)
{
	static const size_t sizes[] = { (size_t)64 << 10, (size_t)1 << 20, MOST };

	measure_echo(side);
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++)
		for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
			measure_row(&rows[r], sizes[s], side);
}

/* ---- the program ------------------------------------------------------------------------------- */

static bool read_value(const char *name, const char *value)
{
	if (!strcmp(name, "--cpus"))
		return sscanf(value, "%d,%d", &options.cpus[0], &options.cpus[1]) == 2;
	if (!strcmp(name, "--fragment"))
		return sscanf(value, "%zu", &options.fragment_bytes) == 1;
#ifdef RATES_DEVICE
	if (!strcmp(name, "--devices"))
		return sscanf(value, "%d,%d", &options.devices[0], &options.devices[1]) == 2;
	if (!strcmp(name, "--staging")) {
		options.staging = !strcmp(value, "device") ? DTCONV_MEMORY_DEVICE
							   : DTCONV_MEMORY_PINNED;
		return !strcmp(value, "device") || !strcmp(value, "pinned");
	}
#endif
	return !strcmp(name, "--messages") &&
	       sscanf(value, "%u", &options.messages) == 1 && options.messages;
}

static bool read_options(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--sleep"))
			options.sleeps = true;
		else if (!strcmp(argv[i], "--direct"))
			options.is_direct = true;
		else if (i + 1 < argc && read_value(argv[i], argv[i + 1]))
			i++;
		else
			return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	int sockets[2];

	if (!read_options(argc, argv)) {
		fprintf(stderr,
			"usage: channel_rates [--cpus A,B] [--sleep] [--messages N] [--devices A,B] "
			"[--staging pinned|device] [--fragment BYTES] [--direct]\n");
		return 2;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return 1;
	fflush(NULL);
	const pid_t child = fork();
	if (child < 0)
		return 1;
	const unsigned side = !child;
	close(sockets[!side]);
	/* If the parent fails, so does the child. */
	if (side)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	open_process(sockets[side], side);
	measure(side);
	if (side)
		_exit(0);
	close_process();
	return waitpid(child, NULL, 0) != child;
}
