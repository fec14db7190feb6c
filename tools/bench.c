/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtconv bench: reads the command line and runs the bench in bench/.
 */
#include "config.h"

#include "tools.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/harness/arena.h"
#include "bench/harness/commands.h"
#include "bench/harness/output.h"

#define NAME "bench"

/* Seconds for the default run, for the quick one, and for all sizes. */
#define DEFAULT_SECONDS 70
#define QUICK_SECONDS   9
#define ALL_SECONDS     1500
#define GPU_SECONDS     200
#define PIPELINE_SECONDS 60

struct settings {
	struct bench_options options;
	struct dtconv_context *context;
	char *texts[BENCH_MOST_EXPRS]; /* of the expressions, owned */
	size_t seconds;
	bool counted;
	bool quick;
	bool list;
	bool help;
};

static void print_help(void)
{
	puts("Usage: dtconv bench [OPTION...] [EXPR...]\n"
	     "\n"
	     "Measures how fast layouts are packed and unpacked on this machine: dtconv, memcpy of\n"
	     "the same bytes, a loop written by hand for the layout, and every MPI library that was\n"
	     "found when dtconv was built. All bytes are verified before anything is timed; the\n"
	     "engines take turns on the same memory, so compare the ratios, not two runs.\n"
	     "Without EXPR the layouts are those of applications (WRF, MILC, NAS, LAMMPS,\n"
	     "SPECFEM3D, FFT) and classic ones, each at its own size or 256 KiB: about 75 s.\n"
	     "\n"
	     "What to measure:\n"
	     "  EXPR, --expr EXPR  a layout of your own in text form, '-' or '@FILE'\n"
	     "  --count N          instances of EXPR (default 1)\n"
	     "  --layouts LIST     layouts by name, with * and ?: --layouts 'WRF_*,vec8'\n"
	     "  --sizes LIST       app, 16k, 256k, 4m, 64m, 1g or all (all but 1g)\n"
	     "  --ops LIST         pack, unpack (default both)\n"
	     "  --engines LIST     dtconv, memcpy, hand, openmpi, mpich, with * and ?\n"
	     "  --peer NAME=FILE   another engine: a program that speaks the peers' protocol\n"
	     "  --bound            also lines: loads one word of each cache line with data and stores\n"
	     "                     as many bytes, or the reverse, which every engine has to do; in\n"
	     "                     four ways, prefetched or not, through the caches or past them\n"
	     "  --mode MODE        small: 8 to 512 bytes, ns a call; commit: making types;\n"
	     "                     frag: 64 MiB in 64 KiB fragments; seek: random positions;\n"
	     "                     typed: converted, combined and checksummed streams;\n"
	     "                     threads: one thread against --threads, 256 KiB to 64 MiB\n"
	     "  --pipeline         messages by the flow, through fragments and a network that takes\n"
	     "                     no time, beside the copies that they consist of: on the host\n"
	     "                     and on the first CUDA device, about 60 s\n"
	     "                     --sizes: 64k, 1m, 16m, 64m, 256m or all (default 1m,16m,64m)\n"
	     "  --list             name the rows, measure nothing\n"
	     "  --gpu[=LIST]       memory of the first CUDA device instead of the host's: layouts\n"
	     "                     in device memory beside the device's copies; staging,\n"
	     "                     registered or not; crossover: small messages, by path;\n"
	     "                     host: host memory on one side; small: us until the host sees\n"
	     "                     completion; halo: 26 pieces of a box; copy: layout to layout;\n"
	     "                     fresh: a new list of blocks for each message; peer: a second\n"
	     "                     device; typed: converted and combined numbers; all (default),\n"
	     "                     about 200 s. Not in all: special, kernels specialised for a\n"
	     "                     shape; roof: layouts beside the best of many plain kernels;\n"
	     "                     duplex: a pack and an unpack over the bus, at once; link: layout\n"
	     "                     to layout between two devices; kv: pages of caches by tables.\n"
	     "                     --sizes: 64k, 1m, 16m, 256m or all; chosen rows alone:\n"
	     "                     --gpu=roof --layouts 'WRF_*,gather8_*' --sizes 16m\n"
	     "\n"
	     "How:\n"
	     "  --quick            10 seconds\n"
	     "  --seconds N        all rows together take about N seconds\n"
	     "  --seed N           for random layouts and the order of turns (default 1)\n"
	     "  --clock CLOCK      wall (default), or cpu: CPU time, for busy machines\n"
	     "  --threads N        most threads that dtconv uses in one call, 1 to 64 (default 1; in\n"
	     "                     mode threads one per CPU, with --gpu the context's default)\n"
	     "  --behind N         page offset of the packed buffer relative to the user's, a\n"
	     "                     multiple of 8 below 4096\n"
	     "  --timeout N        seconds to wait for an answer of a peer (default 30)\n"
	     "\n"
	     "Output:\n"
	     "  --json FILE        one JSON object a line: layout, expr, op, src, dst, bytes,\n"
	     "                     engine, ns (median), ns_p10, ns_p90, check\n"
	     "  --trace FILE       with --pipeline: what happens to each fragment of a message of each\n"
	     "                     row, and when, for chrome://tracing or Perfetto\n"
	     "  --resume           continue FILE: skip the rows that are in it already\n"
	     "  --plot FILE        an SVG picture of the ratios to the hand loop, to memcpy if no\n"
	     "                     layout has one, or to the device copy\n"
	     "  --from FILE        measure nothing: plot the results that --json wrote to FILE\n"
	     "  --help             this text\n"
	     "  For --json, --plot or --trace, FILE '-' is standard output, and the table goes to\n"
	     "  standard error. Tables fit the terminal (COLUMNS); written to a file they have all\n"
	     "  columns. The last lines are the verdict. The self-test before the table times two\n"
	     "  copies of dtconv: unless they agree, the ratios are marked as not proven.\n"
	     "\n"
	     "Exit status: 0; 1 if any result failed its check; 2 for a wrong command line.\n"
	     "\n"
	     "Examples:\n"
	     "  dtconv bench --quick\n"
	     "  dtconv bench 'vector(1000, 2, 5, double)' --count 10\n"
	     "  dtconv bench --sizes all --json all.json --resume --plot all.svg\n"
	     "  dtconv bench --gpu --json gpu.json --plot gpu.svg\n"
	     "  dtconv bench --pipeline --json flow.json --trace flow.trace\n"
	     "  dtconv bench --quick --json - | python3 -m json.tool --json-lines\n"
	     "  dtconv bench --gpu=layouts --sizes 256m --layouts 'vec*'\n"
	     "  bench/compare base.json new.json     (in the source tree)");
}

/* ---- values of options --------------------------------------------------------------- */

struct word {
	const char *text;
	unsigned bits;
};

/* All that there are for the memory in question. */
#define SIZES_ALL (1u << 31)

/* Of messages. */
#define PIPELINE_SIZES ((unsigned)BENCH_SIZES_GPU | (unsigned)BENCH_SIZE_64M)

static const struct word size_words[] = {
	{ "app", BENCH_SIZE_APP },   { "16k", BENCH_SIZE_16K },
	{ "256k", BENCH_SIZE_256K }, { "4m", BENCH_SIZE_4M },
	{ "64m", BENCH_SIZE_64M },   { "1g", BENCH_SIZE_1G },
	{ "64k", BENCH_SIZE_64K },   { "1m", BENCH_SIZE_1M },
	{ "16m", BENCH_SIZE_16M },   { "256m", BENCH_SIZE_256M },
	{ "all", SIZES_ALL },        { 0 },
};

static const struct word gpu_words[] = {
	{ "layouts", BENCH_GPU_LAYOUTS },
	{ "staging", BENCH_GPU_STAGING },
	{ "crossover", BENCH_GPU_CROSSOVER },
	{ "host", BENCH_GPU_HOST },
	{ "small", BENCH_GPU_SMALL },
	{ "halo", BENCH_GPU_HALO },
	{ "peer", BENCH_GPU_PEER },
	{ "typed", BENCH_GPU_TYPED },
	{ "special", BENCH_GPU_SPECIAL },
	{ "copy", BENCH_GPU_COPY },
	{ "fresh", BENCH_GPU_FRESH },
	{ "kv", BENCH_GPU_KV },
	{ "duplex", BENCH_GPU_DUPLEX },
	{ "link", BENCH_GPU_LINK },
	{ "roof", BENCH_GPU_ROOF },
	{ "all", BENCH_GPU_ALL },
	{ 0 },
};

static const struct word op_words[] = {
	{ "pack", 1u << BENCH_PACK },
	{ "unpack", 1u << BENCH_UNPACK },
	{ 0 },
};

static const struct word mode_words[] = {
	{ "layouts", BENCH_MODE_LAYOUTS }, { "small", BENCH_MODE_SMALL },
	{ "commit", BENCH_MODE_COMMIT },   { "frag", BENCH_MODE_FRAG },
	{ "seek", BENCH_MODE_SEEK },       { "typed", BENCH_MODE_TYPED },
	{ "threads", BENCH_MODE_THREADS }, { 0 },
};

static const struct word *find_word(const struct word *words, const char *text,
				    size_t length)
{
	for (; words->text; words++)
		if (strlen(words->text) == length && !strncmp(words->text, text, length))
			return words;
	return NULL;
}

/* A comma-separated list of words, or-ed together. */
static int read_words(const char *option, const struct word *words, const char *text,
		      unsigned *bits)
{
	*bits = 0;
	do {
		size_t length = strcspn(text, ",");
		const struct word *word = find_word(words, text, length);

		if (!word)
			return tool_usage(
				NAME, "--%s has '%.*s', which is not one of its values",
				option, (int)(length > 40 ? 40 : length), text);
		*bits |= word->bits;
		text += length;
	} while (*text++ == ',');
	return TOOL_OK;
}

static int read_number(const char *option, const char *text, size_t least, size_t *value)
{
	if (!tool_read_size(text, value))
		return tool_usage(NAME, "--%s is '%.40s', but must be an integer", option,
				  text);
	if (*value < least)
		return tool_usage(NAME, "--%s is %zu, but must be at least %zu", option,
				  *value, least);
	return TOOL_OK;
}

/* Parse the type first, so that an error in it is reported before anything is measured. */
static int add_expr(struct settings *s, const char *argument)
{
	struct bench_options *o = &s->options;
	struct dtconv_type *type;
	int status = TOOL_OK;

	if (o->expr_count == BENCH_MOST_EXPRS)
		return tool_usage(NAME, "more than %d EXPR", BENCH_MOST_EXPRS);
	if (!s->context)
		status = tool_create_context(NAME, &s->context);
	if (!status)
		status = tool_read_type(NAME, s->context, argument, &type);
	if (status)
		return status;
	s->texts[o->expr_count] =
		tool_type_text(NAME, s->context, type, dtconv_type_format);
	dtconv_type_unref(type);
	if (!s->texts[o->expr_count])
		return TOOL_FAILED;
	o->exprs[o->expr_count] = s->texts[o->expr_count];
	o->expr_count++;
	return TOOL_OK;
}

static int add_peer(struct settings *s, const char *argument)
{
	struct bench_options *o = &s->options;
	size_t length = strcspn(argument, "=");

	if (!length || argument[length] != '=' || !argument[length + 1])
		return tool_usage(NAME, "--peer is '%.40s', but must be NAME=FILE",
				  argument);
	if (o->peer_count == BENCH_MOST_PEERS)
		return tool_usage(NAME, "more than %d --peer", BENCH_MOST_PEERS);
	o->peers[o->peer_count++] =
		(struct bench_peer_option){ argument, length, argument + length + 1 };
	return TOOL_OK;
}

static int read_ops(struct settings *s, const char *text)
{
	unsigned bits;
	int status = read_words("ops", op_words, text, &bits);

	for (int op = BENCH_PACK; op <= BENCH_UNPACK; op++)
		s->options.ops[op] = bits >> op & 1;
	return status;
}

static int read_mode(struct settings *s, const char *text)
{
	const struct word *word = find_word(mode_words, text, strlen(text));

	if (!word)
		return tool_usage(NAME,
				  "--mode is '%.40s', but must be small, commit, frag, "
				  "seek, typed or threads",
				  text);
	s->options.mode = (enum bench_mode)word->bits;
	return TOOL_OK;
}

static int read_clock(struct settings *s, const char *text)
{
	s->options.processor_time = !strcmp(text, "cpu");
	if (s->options.processor_time || !strcmp(text, "wall"))
		return TOOL_OK;
	return tool_usage(NAME, "--clock is '%.40s', but must be wall or cpu", text);
}

/* The library's own limit, told in the words of the command line. */
#define MOST_THREADS 64

static int read_threads(struct settings *s, const char *text)
{
	size_t *threads = &s->options.threads;
	int status = read_number("threads", text, 1, threads);

	if (!status && *threads > MOST_THREADS)
		return tool_usage(NAME, "--threads is %zu, but must be at most %d", *threads,
				  MOST_THREADS);
	return status;
}

static int read_behind(struct settings *s, const char *text)
{
	size_t *behind = &s->options.behind;
	int status = read_number("behind", text, 0, behind);

	if (!status && (*behind >= ARENA_PAGE || *behind % sizeof(uint64_t)))
		return tool_usage(NAME, "--behind is %zu, but must be a multiple of 8 below %zu",
				  *behind, ARENA_PAGE);
	return status;
}

/* ---- the command line ---------------------------------------------------------------- */

enum option_key {
	KEY_EXPR = 256,
	KEY_COUNT,
	KEY_LAYOUTS,
	KEY_SIZES,
	KEY_OPS,
	KEY_ENGINES,
	KEY_PEER,
	KEY_MODE,
	KEY_GPU,
	KEY_PIPELINE,
	KEY_TRACE,
	KEY_LIST,
	KEY_QUICK,
	KEY_SECONDS,
	KEY_SEED,
	KEY_THREADS,
	KEY_TIMEOUT,
	KEY_BEHIND,
	KEY_CLOCK,
	KEY_BOUND,
	KEY_JSON,
	KEY_RESUME,
	KEY_PLOT,
	KEY_FROM
};

static const struct option long_options[] = {
	{ "expr", required_argument, NULL, KEY_EXPR },
	{ "count", required_argument, NULL, KEY_COUNT },
	{ "layouts", required_argument, NULL, KEY_LAYOUTS },
	{ "sizes", required_argument, NULL, KEY_SIZES },
	{ "ops", required_argument, NULL, KEY_OPS },
	{ "engines", required_argument, NULL, KEY_ENGINES },
	{ "peer", required_argument, NULL, KEY_PEER },
	{ "mode", required_argument, NULL, KEY_MODE },
	{ "gpu", optional_argument, NULL, KEY_GPU },
	{ "pipeline", no_argument, NULL, KEY_PIPELINE },
	{ "trace", required_argument, NULL, KEY_TRACE },
	{ "list", no_argument, NULL, KEY_LIST },
	{ "quick", no_argument, NULL, KEY_QUICK },
	{ "seconds", required_argument, NULL, KEY_SECONDS },
	{ "seed", required_argument, NULL, KEY_SEED },
	{ "threads", required_argument, NULL, KEY_THREADS },
	{ "timeout", required_argument, NULL, KEY_TIMEOUT },
	{ "behind", required_argument, NULL, KEY_BEHIND },
	{ "bound", no_argument, NULL, KEY_BOUND },
	{ "clock", required_argument, NULL, KEY_CLOCK },
	{ "json", required_argument, NULL, KEY_JSON },
	{ "resume", no_argument, NULL, KEY_RESUME },
	{ "plot", required_argument, NULL, KEY_PLOT },
	{ "from", required_argument, NULL, KEY_FROM },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

/* Options with a value that has to be understood. */
static int take_value(struct settings *s, int key, const char *value)
{
	struct bench_options *o = &s->options;
	size_t number = 0;
	int status;

	switch (key) {
	case KEY_EXPR:
		return add_expr(s, value);
	case KEY_COUNT:
		s->counted = true;
		return read_number("count", value, 1, &o->count);
	case KEY_SIZES:
		return read_words("sizes", size_words, value, &o->sizes);
	case KEY_OPS:
		return read_ops(s, value);
	case KEY_PEER:
		return add_peer(s, value);
	case KEY_MODE:
		return read_mode(s, value);
	case KEY_GPU:
		return read_words("gpu", gpu_words, value ? value : "all", &o->gpu);
	case KEY_CLOCK:
		return read_clock(s, value);
	case KEY_SECONDS:
		return read_number("seconds", value, 1, &s->seconds);
	case KEY_SEED:
		status = read_number("seed", value, 0, &number);
		o->seed = number;
		return status;
	case KEY_THREADS:
		return read_threads(s, value);
	case KEY_BEHIND:
		return read_behind(s, value);
	case KEY_TIMEOUT:
		status = read_number("timeout", value, 1, &number);
		if (!status && number > 86400)
			return tool_usage(
				NAME,
				"--timeout is %zu seconds, but must be at most 86400",
				number);
		o->timeout_s = (int)number;
		return status;
	default:
		return tool_usage(NAME, "internal error: option %d is not handled", key);
	}
}

static int take_option(struct settings *s, int key, char **argv)
{
	struct bench_options *o = &s->options;

	switch (key) {
	case 'h':
		s->help = true;
		break;
	case KEY_PIPELINE:
		o->pipeline = true;
		break;
	case KEY_TRACE:
		o->trace = optarg;
		break;
	case KEY_BOUND:
		o->bound = true;
		break;
	case KEY_LIST:
		s->list = true;
		break;
	case KEY_QUICK:
		s->quick = true;
		break;
	case KEY_RESUME:
		o->resume = true;
		break;
	case KEY_LAYOUTS:
		o->layouts = optarg;
		break;
	case KEY_ENGINES:
		o->engines = optarg;
		break;
	case KEY_JSON:
		o->json = optarg;
		break;
	case KEY_PLOT:
		o->plot = optarg;
		break;
	case KEY_FROM:
		o->from = optarg;
		break;
	case ':':
	case '?':
		return tool_bad_option(NAME, key, argv, long_options);
	default:
		return take_value(s, key, optarg);
	}
	return TOOL_OK;
}

static void choose_seconds(struct settings *s)
{
	if (s->seconds)
		s->options.seconds = (double)s->seconds;
	else if (s->quick)
		s->options.seconds = QUICK_SECONDS;
	else if (s->options.pipeline)
		s->options.seconds = PIPELINE_SECONDS;
	else if (s->options.gpu)
		s->options.seconds = GPU_SECONDS;
	else if (s->options.sizes & ~(unsigned)BENCH_SIZE_APP)
		s->options.seconds = ALL_SECONDS;
	else
		s->options.seconds = DEFAULT_SECONDS;
}

static void choose_sizes(struct settings *s)
{
	struct bench_options *o = &s->options;
	unsigned host = BENCH_SIZE_APP | BENCH_SIZES_TO_64M;

	if (o->sizes & SIZES_ALL)
		o->sizes = o->pipeline ? PIPELINE_SIZES : o->gpu ? BENCH_SIZES_GPU : host;
}

static void choose_threads(struct settings *s)
{
	struct bench_options *o = &s->options;
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	if (o->threads || o->gpu)
		return;
	o->threads = 1;
	if (o->mode == BENCH_MODE_THREADS && processors > 1)
		o->threads = processors < MOST_THREADS ? (size_t)processors : MOST_THREADS;
}

/* Messages have a table of their own, which says nothing of engines elsewhere. */
static int check_pipeline(const struct settings *s)
{
	const struct bench_options *o = &s->options;

	if (o->trace && !o->pipeline)
		return tool_usage(NAME, "--trace needs --pipeline");
	if (!o->pipeline)
		return TOOL_OK;
	if (o->gpu || o->mode != BENCH_MODE_LAYOUTS || o->peer_count || o->resume ||
	    o->plot || o->expr_count || o->bound)
		return tool_usage(
			NAME, "--pipeline cannot be combined with --gpu, --mode, --peer, "
			      "--resume, --plot, --bound or EXPR");
	if (o->sizes & ~PIPELINE_SIZES)
		return tool_usage(
			NAME, "--sizes of messages are 64k, 1m, 16m, 64m, 256m or all");
	if (output_is_standard(o->json) && output_is_standard(o->trace))
		return tool_usage(NAME,
				  "--json and --trace cannot both write to standard "
				  "output ('-')");
	return TOOL_OK;
}

/* Options for the host only, or for a device only. */
static int check_gpu(const struct settings *s)
{
	const struct bench_options *o = &s->options;
	unsigned here = o->gpu ? BENCH_SIZES_GPU : BENCH_SIZE_APP | BENCH_SIZES_TO_1G;

	if (o->pipeline)
		return TOOL_OK;
	if (o->sizes & ~here)
		return tool_usage(NAME, "--sizes %s are %s",
				  o->gpu ? "of device memory" : "of host memory",
				  o->gpu ? "64k, 1m, 16m, 256m or all"
					 : "app, 16k, 256k, 4m, 64m, 1g or all");
	if (o->bound && (o->gpu || o->mode != BENCH_MODE_LAYOUTS))
		return tool_usage(NAME,
				  "--bound is for layouts in host memory: it cannot be "
				  "combined with --gpu or --mode");
	if (o->gpu && (o->mode != BENCH_MODE_LAYOUTS || o->peer_count || o->resume ||
		       o->processor_time))
		return tool_usage(
			NAME,
			"--gpu cannot be combined with --mode, --peer, --resume or --clock cpu");
	return TOOL_OK;
}

/* Options that mean nothing together. */
static int check_settings(const struct settings *s)
{
	const struct bench_options *o = &s->options;
	int status = check_pipeline(s);

	if (!status)
		status = check_gpu(s);
	if (status)
		return status;
	if (o->from && (!o->plot || o->json || o->expr_count))
		return tool_usage(NAME,
				  "--from measures nothing: it needs --plot and cannot "
				  "be combined with --json or EXPR");
	if (output_is_standard(o->json) && output_is_standard(o->plot))
		return tool_usage(
			NAME,
			"--json and --plot cannot both write to standard output ('-')");
	if (o->resume && output_is_standard(o->json))
		return tool_usage(NAME,
				  "--resume needs --json FILE with a file, not '-'");
	if (o->resume && !o->json)
		return tool_usage(NAME, "--resume needs --json FILE to go on with");
	if (o->expr_count && o->mode != BENCH_MODE_LAYOUTS)
		return tool_usage(NAME, "--mode has its own layouts and takes no EXPR");
	if (s->counted && !o->expr_count)
		return tool_usage(NAME, "--count needs an EXPR");
	if (s->quick && s->seconds)
		return tool_usage(NAME, "--quick and --seconds cannot be combined");
	if (o->processor_time && o->threads > 1)
		return tool_usage(NAME,
				  "--clock cpu measures one thread only, but "
				  "--threads is %zu",
				  o->threads);
	return TOOL_OK;
}

static int read_settings(struct settings *s, int argc, char **argv)
{
	int status = TOOL_OK;
	int key;

	opterr = 0;
	optind = 1;
	while (!status && (key = getopt_long(argc, argv, ":h", long_options, NULL)) != -1)
		status = take_option(s, key, argv);
	while (!status && !s->help && optind < argc)
		status = add_expr(s, argv[optind++]);
	if (status || s->help)
		return status;
	choose_sizes(s);
	choose_seconds(s);
	choose_threads(s);
	return check_settings(s);
}

/* The command line as one text, for the record. */
static char *join(int argc, char **argv)
{
	size_t room = sizeof("dtconv");
	char *text;

	for (int i = 0; i < argc; i++)
		room += strlen(argv[i]) + 1;
	text = malloc(room);
	if (!text)
		return NULL;
	strcpy(text, "dtconv");
	for (int i = 0; i < argc; i++) {
		strcat(text, " ");
		strcat(text, argv[i]);
	}
	return text;
}

/* Where `-` stands for standard output, nothing else may write there: not even a child. */
static int set_output_aside(struct bench_options *o)
{
	int output;

	if (!output_is_standard(o->json) && !output_is_standard(o->plot) &&
	    !output_is_standard(o->trace))
		return TOOL_OK;
	output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	o->output = output < 0 ? NULL : fdopen(output, "w");
	if (o->output && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
		return TOOL_OK;
	return tool_fail(NAME, TOOL_FAILED,
			 "cannot duplicate standard output for '-': %s", strerror(errno));
}

/* Lines are fitted to a terminal. In a file they have any length, unless COLUMNS is set. */
static size_t choose_columns(void)
{
	if (!isatty(STDOUT_FILENO) && !getenv("COLUMNS"))
		return 0;
	return tool_query_terminal().columns;
}

static int run(struct settings *s)
{
	int status;

	if (s->help) {
		print_help();
		return TOOL_OK;
	}
	if (s->list)
		return bench_session_list(&s->options);
	status = set_output_aside(&s->options);
	if (status)
		return status;
	s->options.columns = choose_columns();
	if (s->options.from)
		return bench_session_draw(&s->options);
	return bench_session_run(&s->options);
}

int cmd_bench(int argc, char **argv)
{
	char *command = join(argc, argv);
	struct settings *s = calloc(1, sizeof(*s));
	int status;

	if (!s || !command) {
		free(s);
		free(command);
		return tool_fail(NAME, TOOL_FAILED, "no memory");
	}
	s->options = (struct bench_options){ .ops = { true, true },
					     .seed = 1,
					     .count = 1,
					     .timeout_s = 30,
					     .behind = ARENA_ANYWHERE,
					     .command = command };
	status = read_settings(s, argc, argv);
	if (!status)
		status = run(s);
	for (size_t i = 0; i < s->options.expr_count; i++)
		free(s->texts[i]);
	dtconv_context_destroy(s->context);
	if (s->options.output)
		fclose(s->options.output);
	free(s);
	free(command);
	return status;
}
