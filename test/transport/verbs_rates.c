/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of all sizes between two processes over verbs, compared byte by byte, and how fast they went. By hand and in
 * the guest: on real adapters, whose link it can have cut. With BED_UCX the same over UCX.
 * usage: verbs_rates [--device N [--staging]] [--down COMMAND --up COMMAND [--lost]] [--seconds N]
 *        --device: buffers are in the memory of CUDA device N, and staging memory is registered with it
 *        --staging: staging memory is the device's
 *        --down, --up: shell commands that cut the link and bring it back while messages are under way
 *        --lost: do not bring it back: both ends have to notice
 */
#include "config.h"

#include <dlfcn.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <dtconv/dtconv.h>

#ifdef BED_UCX
#include "bed.h"
#else
#include <dtconv/verbs.h>

#include "bed_verbs.h"
#endif
#include "exchange.h"

#define MUST(holds) exchange_must(holds, #holds)

/* Elements of 8 bytes: vectors of 3 in 5 are sent, and land in rows of 7 in 8. */
#define BLOCK        3
#define STRIDE       5
#define ROW          7
#define ROW_STRIDE   8
#define ELEMENTS_MAX ((size_t)21 << 16)

/* Not a multiple of an element: fragments end inside of one. */
#define FRAGMENT_BYTES 65532
#define FRAGMENTS      8

struct options {
	int device; /* negative: the host */
	bool stages_on_device;
	const char *down, *up;
	bool is_lost;
	double seconds; /* for each size */
};

struct seen {
	int calls, status;
};

struct end {
	struct dtconv_context *context;
	struct dtconv_engine *engine;
	void *network;
	struct dtconv_channel *channel;
	uint64_t *buffer; /* on the device; NULL: words */
};

static void see(void *arg, int status, size_t moved)
{
	struct seen *seen = arg;

	(void)moved;
	seen->calls++;
	seen->status = status;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ---- a device ----------------------------------------------------------------------------- */

/* Of the driver, without its headers. */
static struct {
	int (*init)(unsigned flags);
	int (*get)(int *device, int ordinal);
	int (*retain)(void **context, int device);
	int (*set)(void *context);
	int (*alloc)(uintptr_t *memory, size_t bytes);
	int (*to)(uintptr_t to, const void *from, size_t bytes);
	int (*from)(void *to, uintptr_t from, size_t bytes);
} cuda;

static void *find(void *driver, const char *name)
{
	void *function = dlsym(driver, name);

	exchange_must(function, name);
	return function;
}

static uint64_t *open_device(int ordinal, size_t bytes)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL), *context = NULL;
	uintptr_t memory = 0;
	int device = 0;

	exchange_must(driver, "libcuda.so.1 can be loaded");
	*(void **)&cuda.init = find(driver, "cuInit");
	*(void **)&cuda.get = find(driver, "cuDeviceGet");
	*(void **)&cuda.retain = find(driver, "cuDevicePrimaryCtxRetain");
	*(void **)&cuda.set = find(driver, "cuCtxSetCurrent");
	*(void **)&cuda.alloc = find(driver, "cuMemAlloc_v2");
	*(void **)&cuda.to = find(driver, "cuMemcpyHtoD_v2");
	*(void **)&cuda.from = find(driver, "cuMemcpyDtoH_v2");
	MUST(!cuda.init(0) && !cuda.get(&device, ordinal));
	MUST(!cuda.retain(&context, device) && !cuda.set(context));
	MUST(!cuda.alloc(&memory, bytes));
	return (uint64_t *)memory;
}

/* ---- an end ------------------------------------------------------------------------------- */

static uint64_t words[ELEMENTS_MAX * STRIDE / BLOCK + STRIDE];

static uint64_t *buffer_of(const struct end *end)
{
	return end->buffer ? end->buffer : words;
}

/* Between the words and the device, where the buffer is. */
static void upload(const struct end *end, size_t count)
{
	if (end->buffer)
		MUST(!cuda.to((uintptr_t)end->buffer, words, count * sizeof(words[0])));
}

static void download(const struct end *end, size_t count)
{
	if (end->buffer)
		MUST(!cuda.from(words, (uintptr_t)end->buffer, count * sizeof(words[0])));
}

#ifdef BED_UCX
static const struct dtconv_transport *open_network(struct end *end,
						   const struct options *options)
{
	(void)options;
	end->network = bed_open(end->context);
	return bed_transport(end->network);
}

static void close_network(struct end *end)
{
	bed_close(end->network);
}
#else
static const struct dtconv_transport *open_network(struct end *end,
						   const struct options *options)
{
	struct dtconv_verbs_params params = { .struct_size = sizeof(params),
					      .device = bed_adapter(),
					      .timeout = options->is_lost ? 12 : 18 };
	struct dtconv_verbs *verbs;

	MUST(!dtconv_verbs_open(end->context, &params, &verbs));
	end->network = verbs;
	return dtconv_verbs_transport(verbs);
}

static void close_network(struct end *end)
{
	MUST(!dtconv_verbs_close(end->network));
}
#endif

static void open_end(struct end *end, int socket, const struct options *options)
{
	struct dtconv_channel_params channel = { .struct_size = sizeof(channel),
						 .kind = DTCONV_MEMORY_HOST,
						 .fragments = FRAGMENTS,
						 .fragment_bytes = FRAGMENT_BYTES };

	*end = (struct end){ 0 };
	if (options->device >= 0) {
		end->buffer = open_device(options->device, sizeof(words));
		channel.kind = options->stages_on_device ? DTCONV_MEMORY_DEVICE
							 : DTCONV_MEMORY_PINNED;
		channel.device = options->device;
	}
	MUST(!dtconv_context_create(NULL, &end->context));
	MUST(!dtconv_engine_create(end->context, NULL, &end->engine));
	channel.transport = open_network(end, options);
	MUST(!dtconv_channel_open(end->engine, socket, &channel, &end->channel));
}

static void close_end(struct end *end)
{
	struct dtconv_channel_attr attr = { .struct_size = sizeof(attr) };

	MUST(!dtconv_channel_close(end->channel));
	do {
		MUST(!dtconv_engine_progress(end->engine, 0, NULL));
		MUST(!dtconv_channel_query(end->channel, &attr));
	} while (attr.operations);
	MUST(attr.free == attr.fragments);
	MUST(!dtconv_channel_destroy(end->channel));
	MUST(!dtconv_engine_destroy(end->engine));
	close_network(end);
	dtconv_context_destroy(end->context);
}

/* On one CPU, whoever polls keeps the other from working. */
static void wait_for(const struct end *end, const struct seen *seen)
{
	struct pollfd file = { .fd = dtconv_engine_fd(end->engine), .events = POLLIN };

	while (!seen->calls) {
		size_t worked;

		MUST(!dtconv_engine_progress(end->engine, 0, &worked));
		if (!worked && !dtconv_engine_arm(end->engine) && !seen->calls)
			(void)poll(&file, 1, -1);
	}
}

static struct dtconv_type *vector_of(struct dtconv_context *context, size_t elements,
				     size_t block, size_t stride)
{
	struct dtconv_type *word = dtconv_type_predefined(context, DTCONV_UINT64);
	struct dtconv_type *type;

	if (elements % block)
		MUST(!dtconv_type_create_contiguous(elements, word, &type));
	else
		MUST(!dtconv_type_create_vector(elements / block, block,
						(ptrdiff_t)stride, word, &type));
	MUST(!dtconv_type_commit(type));
	return type;
}

/* The place of an element of such a vector. */
static size_t place_of(size_t i, size_t elements, size_t block, size_t stride)
{
	return elements % block ? i : i / block * stride + i % block;
}

/* ---- messages ------------------------------------------------------------------------------- */

static uint64_t value_of(size_t i, unsigned round)
{
	return (i + 1) * UINT64_C(0x9e3779b97f4a7c15) + round;
}

static int send_one(const struct end *end, size_t elements, unsigned round)
{
	struct dtconv_type *type = vector_of(end->context, elements, BLOCK, STRIDE);
	struct seen seen = { 0 };

	for (size_t i = 0; i < elements; i++)
		words[place_of(i, elements, BLOCK, STRIDE)] = value_of(i, round);
	upload(end, elements * STRIDE / BLOCK + 1);
	int status =
		dtconv_channel_send(end->channel, 1, type, 1, buffer_of(end), see, &seen);
	if (!status)
		wait_for(end, &seen);
	dtconv_type_unref(type);
	return status ? status : seen.status;
}

static int receive_one(const struct end *end, size_t elements, unsigned round)
{
	struct dtconv_type *type = vector_of(end->context, elements, ROW, ROW_STRIDE);
	struct seen seen = { 0 };
	size_t wrong = 0;

	const size_t span = elements + elements / ROW + 1;

	memset(words, 0, sizeof(words[0]) * span);
	upload(end, span);
	int status =
		dtconv_channel_recv(end->channel, 1, type, 1, buffer_of(end), see, &seen);
	if (!status)
		wait_for(end, &seen);
	dtconv_type_unref(type);
	if (status || seen.status)
		return status ? status : seen.status;
	download(end, span);
	for (size_t i = 0; i < elements; i++)
		wrong += words[place_of(i, elements, ROW, ROW_STRIDE)] !=
			 value_of(i, round);
	MUST(!wrong);
	return 0;
}

static const size_t sizes[] = { 0,
				1,
				2,
				3,
				7,
				21,
				64,
				511,
				1024,
				8191,
				8192,
				8193,
				(size_t)21 << 9,
				(size_t)21 << 12 };

#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

/* Until the sender says that it was the last: an element count that is a round's. */
static void run_receiver(int socket, const struct options *options)
{
	struct end end;
	unsigned round = 0;
	int status = 0;

	open_end(&end, socket, options);
	for (;;) {
		uint64_t elements = 0;
		struct seen seen = { 0 };

		status = dtconv_channel_recv(end.channel, 2,
					     dtconv_type_predefined(end.context,
								    DTCONV_UINT64),
					     1, &elements, see, &seen);
		if (status)
			break;
		wait_for(&end, &seen);
		status = seen.status;
		if (status || elements == UINT64_MAX)
			break;
		status = receive_one(&end, (size_t)elements, round++);
		if (status)
			break;
	}
	close_end(&end);
	_exit(options->is_lost ? !status : !!status);
}

static int announce(const struct end *end, uint64_t elements)
{
	struct seen seen = { 0 };
	int status = dtconv_channel_send(
		end->channel, 2, dtconv_type_predefined(end->context, DTCONV_UINT64), 1,
		&elements, see, &seen);

	if (!status)
		wait_for(end, &seen);
	return status ? status : seen.status;
}

static int message(const struct end *end, size_t elements, unsigned *round)
{
	int status = announce(end, elements);

	return status ? status : send_one(end, elements, (*round)++);
}

/* Warm after the first message of a size. */
static void measure(const struct end *end, size_t elements, double seconds,
		    unsigned *round)
{
	size_t count = 0;

	MUST(!message(end, elements, round));
	const double begin = now();
	double took;
	do {
		MUST(!message(end, elements, round));
		took = now() - begin;
		count++;
	} while (took < seconds && count < 1000);
	printf("%9zu bytes: %8.3f ms, %9.3f MB/s (%zu messages)\n", 8 * elements,
	       1e3 * took / (double)count, 8e-6 * (double)(elements * count) / took,
	       count);
	fflush(stdout);
}

/* The link is cut in the middle of a message. */
static int cut_link(const struct end *end, const struct options *options, unsigned *round)
{
	const size_t elements = (size_t)21 << 14;
	struct dtconv_type *type = vector_of(end->context, elements, BLOCK, STRIDE);
	struct seen seen = { 0 };

	int status = announce(end, elements);
	for (size_t i = 0; i < elements; i++)
		words[place_of(i, elements, BLOCK, STRIDE)] = value_of(i, *round);
	upload(end, elements * STRIDE / BLOCK + 1);
	++*round;
	if (!status)
		status = dtconv_channel_send(end->channel, 1, type, 1, buffer_of(end),
					     see, &seen);
	for (int i = 0; !status && i < 20 && !seen.calls; i++)
		MUST(!dtconv_engine_progress(end->engine, 0, NULL));
	MUST(status || !seen.calls);
	MUST(!system(options->down));
	if (!options->is_lost) {
		/* Long enough for the adapters to have resent in vain. */
		sleep(3);
		MUST(!system(options->up));
	}
	if (!status)
		wait_for(end, &seen);
	dtconv_type_unref(type);
	return status ? status : seen.status;
}

/* Which both of them have, or why not. */
static void say_where(const struct end *end)
{
	struct dtconv_channel_attr attr = { .struct_size = sizeof(attr) };

	do {
		MUST(!dtconv_engine_progress(end->engine, 0, NULL));
		MUST(!dtconv_channel_query(end->channel, &attr));
	} while (attr.state == DTCONV_CHANNEL_CONNECTING);
	printf("staging memory: registered with the adapter and %s\n",
	       attr.peer_is_pinned ? "the device driver" : "NOT with the device driver");
}

static int run_sender(int socket, const struct options *options)
{
	struct end end;
	unsigned round = 0;
	int status = 0;

	open_end(&end, socket, options);
	if (options->device >= 0)
		say_where(&end);
	if (options->down) {
		MUST(!message(&end, 21, &round));
		status = cut_link(&end, options, &round);
		printf("the link went down%s: %s\n",
		       options->is_lost ? "" : " and came back", dtconv_strerror(status));
		if (options->is_lost) {
			char text[384];

			(void)dtconv_context_error(end.context, text, sizeof(text));
			printf("%s\n", text);
		}
	}
	for (size_t i = 0; !options->is_lost && i < SIZES; i++)
		measure(&end, sizes[i], options->down ? 0 : options->seconds, &round);
	if (!options->is_lost)
		MUST(!announce(&end, UINT64_MAX));
	close_end(&end);
	return options->is_lost ? status != DTCONV_ERR_PEER : status;
}

static bool read_options(int count, char **arguments, struct options *options)
{
	static const struct option known[] = { { "down", required_argument, NULL, 'd' },
					       { "up", required_argument, NULL, 'u' },
					       { "lost", no_argument, NULL, 'l' },
					       { "seconds", required_argument, NULL,
						 's' },
					       { "device", required_argument, NULL, 'n' },
					       { "staging", no_argument, NULL, 'm' },
					       { NULL, 0, NULL, 0 } };
	int option;

	*options = (struct options){ .seconds = 0.2, .device = -1 };
	while ((option = getopt_long(count, arguments, "", known, NULL)) >= 0) {
		if (option == 'd')
			options->down = optarg;
		else if (option == 'u')
			options->up = optarg;
		else if (option == 'l')
			options->is_lost = true;
		else if (option == 's')
			options->seconds = strtod(optarg, NULL);
		else if (option == 'n')
			options->device = atoi(optarg);
		else if (option == 'm')
			options->stages_on_device = true;
		else
			return false;
	}
	return optind == count && (!options->is_lost || options->down) &&
	       (!options->down || options->is_lost || options->up) &&
	       (!options->stages_on_device || options->device >= 0);
}

int main(int count, char **arguments)
{
	struct options options;
	int sockets[2], ended;

	if (!read_options(count, arguments, &options)) {
		fprintf(stderr,
			"usage: verbs_rates [--device N [--staging]] [--down COMMAND "
			"--up COMMAND [--lost]] [--seconds N]\n");
		return 2;
	}
	party_sockets(sockets);
	const pid_t child = fork();
	if (!child) {
		close(sockets[0]);
		bed_swap();
		run_receiver(sockets[1], &options);
	}
	close(sockets[1]);
	int status = run_sender(sockets[0], &options);
	MUST(waitpid(child, &ended, 0) == child);
	if (!WIFEXITED(ended) || WEXITSTATUS(ended)) {
		fprintf(stderr, "verbs_rates: the receiver has failed\n");
		return 1;
	}
	return !!status;
}
