/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtconv explain: for each pair of memory kinds, which path would move a layout, or copy it to another one, and why. This
 * file reads the command line; the library's planner gives the explanations.
 */
#include "config.h"

#include "explain.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "tools.h"

#include "bench/gpu/start.h"

/* What the library allows: dtconv_send_params.depth, and 1 GiB as for the threshold. */
#define MOST_DEPTH    16
#define MOST_FRAGMENT ((size_t)1 << 30)

struct settings {
	const char *expression, *target;
	enum dtconv_memory_kind user, packed; /* DTCONV_MEMORY_UNKNOWN: any */
	size_t count, target_count;
	struct explain_options options; /* of the flow */
	bool has_target_count, all, json, help;
};

static void print_help(void)
{
	puts("Usage: dtconv explain [OPTION...] EXPR\n"
	     "\n"
	     "Shows which path would move the layout EXPR between the user's buffer and\n"
	     "packed memory. First, a table for packing and one for unpacking: for each pair\n"
	     "of memory kinds the backend that the planner chooses, and its estimated cost.\n"
	     "Then, for the pairs that you ask for, all candidates with their costs, the\n"
	     "choice, and why others cannot run. Then what the flow would do with a message:\n"
	     "whether it has to be staged, its fragments, and how many are in use at a time.\n"
	     "Last, the length of the packed stream in other representations, and the\n"
	     "operations that unpacking supports.\n"
	     "Initialises the CUDA driver. Without a device it covers host memory only;\n"
	     "--from, --to and --all then show what a machine with a device would choose.\n"
	     "\n"
	     "  --from KIND   details of the pairs with the user's buffer in this kind of memory\n"
	     "  --to KIND     details of the pairs with packed memory of this kind\n"
	     "  --all         details of all pairs\n"
	     "  --count N     instances of the layout (default 1): costs depend on it\n"
	     "  --target EXPR\n"
	     "                instead, how the layout would be copied to this one: by one\n"
	     "                kernel or in which steps, and why; memory --from to memory --to\n"
	     "  --target-count N\n"
	     "                instances of the target (default: as many as --count)\n"
	     "  --fragment N  most bytes of a fragment, as an attribute of the send\n"
	     "  --depth N     most fragments in use at a time, 1 to 16, as an attribute\n"
	     "  --pool N      bytes of the pool's fragments (default 262144)\n"
	     "  --json        print one JSON object instead\n"
	     "  --help        this text\n"
	     "\n"
	     "KIND is host, pinned, managed or device. EXPR is a layout in text form, '-' for\n"
	     "standard input, or '@FILE' (see 'dtconv --help').\n"
	     "\n"
	     "Examples:\n"
	     "  dtconv explain 'vector(1000, 2, 5, double)'\n"
	     "      a strided layout\n"
	     "  dtconv explain --from device --to pinned 'contiguous(1000, double)'\n"
	     "      why a message out of a device is moved as it is\n"
	     "  dtconv explain --count 4096 'struct([1,1], [0,8], [int,double])'\n"
	     "      an array of structs\n"
	     "  dtconv explain --target 'vector(500, 4, 8, double)' 'vector(1000, 2, 5, double)'\n"
	     "      copies from one layout to another");
}

/* ---- the planner ------------------------------------------------------------------- */

int explain_choose(const struct explain *explain, enum dtconv_memory_kind user,
		   enum dtconv_memory_kind packed, bool unpack,
		   struct explain_choice *choice)
{
	struct dtconv_explanation e = { .struct_size = sizeof(e) };
	const char *backend;

	*choice = (struct explain_choice){ .backend = NULL };
	for (size_t i = 0; (backend = dtconv_backend_name(i)); i++) {
		int status = dtconv_explain_backend(explain->type, explain->count, user,
						    packed, backend, &e);

		if (status)
			return status;
		if (unpack ? e.chosen_to_unpack : e.chosen_to_pack)
			*choice = (struct explain_choice){
				.backend = backend,
				.ns = unpack ? e.unpack_ns : e.pack_ns,
				.runs_here = !e.missing,
			};
	}
	return 0;
}

enum dtconv_memory_kind explain_last_kind(const struct explain *explain)
{
	return explain->has_devices ? DTCONV_MEMORY_DEVICE : DTCONV_MEMORY_HOST;
}

static bool fits(enum dtconv_memory_kind asked, enum dtconv_memory_kind kind,
		 enum dtconv_memory_kind last)
{
	return asked ? kind == asked : kind <= last;
}

bool explain_is_asked(const struct explain *explain, enum dtconv_memory_kind user,
		      enum dtconv_memory_kind packed)
{
	enum dtconv_memory_kind last = explain_last_kind(explain);

	return fits(explain->user, user, last) && fits(explain->packed, packed, last);
}

/* The layout's own numbers. */
static int measure(struct explain *explain)
{
	struct dtconv_explanation e = { .struct_size = sizeof(e) };
	int status =
		dtconv_packed_size(explain->type, explain->count, NULL, &explain->bytes);

	if (!status)
		status = dtconv_explain_backend(explain->type, explain->count,
						DTCONV_MEMORY_HOST, DTCONV_MEMORY_HOST,
						dtconv_backend_name(0), &e);
	explain->shape = e.shape;
	return status;
}

/*
 * The library looks for devices only if the process has started their driver. If requested, and
 * if this build can, print what a machine with a device would choose.
 */
static int find_devices(struct explain *explain, char *why, size_t room)
{
	struct dtconv_context_attr attr = { .struct_size = sizeof(attr) };
	struct explain_choice inside;
	int started = gpu_start(why, room);
	int status = dtconv_context_query(explain->context, &attr);

	if (!status)
		status = explain_choose(explain, DTCONV_MEMORY_DEVICE,
					DTCONV_MEMORY_DEVICE, false, &inside);
	if (status)
		return status;
	explain->no_devices = started ? why : attr.no_devices;
	explain->has_devices = !explain->no_devices;
	if (explain->no_devices && inside.backend)
		explain->has_devices = explain->all ||
				       explain->user > DTCONV_MEMORY_HOST ||
				       explain->packed > DTCONV_MEMORY_HOST;
	return 0;
}

/* ---- text -------------------------------------------------------------------------- */

static int print_pair(const struct explain *explain, enum dtconv_memory_kind user,
		      enum dtconv_memory_kind packed)
{
	size_t length = 0;
	int status;
	char *text;

	/* With capacity 0 the call returns the length. */
	(void)dtconv_explain(explain->type, explain->count, user, packed, NULL, 0,
			     &length);
	text = malloc(length + 1);
	if (!text)
		return DTCONV_ERR_NOMEM;
	status = dtconv_explain(explain->type, explain->count, user, packed, text,
				length + 1, &length);
	if (status == 0)
		tool_print_indented(stdout, text, "");
	free(text);
	return status;
}

static int print_details(const struct explain *explain)
{
	int status = 0;

	for (int user = DTCONV_MEMORY_HOST; user <= DTCONV_MEMORY_DEVICE; user++)
		for (int packed = DTCONV_MEMORY_HOST;
		     packed <= DTCONV_MEMORY_DEVICE && !status; packed++)
			if (explain_is_asked(explain, (enum dtconv_memory_kind)user,
					     (enum dtconv_memory_kind)packed))
				status = print_pair(explain,
						    (enum dtconv_memory_kind)user,
						    (enum dtconv_memory_kind)packed);
	return status;
}

/* Sizes differ only where the integers or long double do. */
static void explain_representations(const struct dtconv_type *type, size_t count)
{
	struct dtconv_representation representation;
	const char *name;
	size_t bytes;

	puts("packed size in other representations:");
	for (size_t i = 1; (name = dtconv_representation_name(i)); i++)
		if (!dtconv_representation_find(name, &representation) &&
		    !dtconv_packed_size(type, count, &representation, &bytes))
			printf("  %-10s  %zu bytes\n", name, bytes);
}

static void explain_operations(const struct dtconv_type *type)
{
	fputs("operations when unpacking: ", stdout);
	tool_print_operations(stdout, type, "", " ");
	putchar('\n');
}

static void print_no_devices(const struct explain *explain)
{
	if (explain->no_devices && explain->has_devices)
		printf("backends that need a device cannot run here: %s\n",
		       explain->no_devices);
	else if (explain->no_devices)
		printf("pinned, managed and device memory are omitted: %s\n",
		       explain->no_devices);
}

static int print_copies(const struct explain *explain)
{
	print_no_devices(explain);
	return explain_print_copies(explain);
}

static int print_text(const struct explain *explain)
{
	/* Of host memory alone the details are as short as a table. */
	bool has_details = explain->user || explain->packed || explain->all ||
			   !explain->has_devices;
	int status = 0;

	print_no_devices(explain);
	if (explain->has_devices)
		status = explain_print_matrix(explain);
	if (!status && has_details)
		status = print_details(explain);
	else if (!status)
		puts("for the reasons, use --from KIND, --to KIND or --all");
	if (status)
		return status;
	status = explain_print_flow(explain);
	if (status)
		return status;
	explain_representations(explain->type, explain->count);
	explain_operations(explain->type);
	return 0;
}

/* ---- the command line -------------------------------------------------------------- */

static const struct option options[] = { { "from", required_argument, NULL, 'f' },
					 { "to", required_argument, NULL, 't' },
					 { "all", no_argument, NULL, 'a' },
					 { "count", required_argument, NULL, 'c' },
					 { "target", required_argument, NULL, 'T' },
					 { "target-count", required_argument, NULL, 'C' },
					 { "fragment", required_argument, NULL, 'F' },
					 { "depth", required_argument, NULL, 'D' },
					 { "pool", required_argument, NULL, 'P' },
					 { "json", no_argument, NULL, 'j' },
					 { "help", no_argument, NULL, 'h' },
					 { NULL, 0, NULL, 0 } };

static int read_kind(const char *option, const char *word, enum dtconv_memory_kind *kind)
{
	const char *name;

	for (int i = DTCONV_MEMORY_HOST;
	     (name = dtconv_memory_kind_name((enum dtconv_memory_kind)i)); i++)
		if (strcmp(word, name) == 0) {
			*kind = (enum dtconv_memory_kind)i;
			return TOOL_OK;
		}
	return tool_usage("explain",
			  "%s is '%.40s', but must be host, pinned, managed or device",
			  option, word);
}

static int read_count(const char *option, size_t *count)
{
	if (tool_read_size(optarg, count))
		return TOOL_OK;
	return tool_usage("explain", "%s is '%.40s', but must be an integer", option,
			  optarg);
}

/* A number from 1 to @most. */
static int read_option(const char *option, const char *text, size_t most, size_t *value)
{
	if (!tool_read_size(text, value))
		return tool_usage("explain", "%s is '%.40s', but must be an integer",
				  option, text);
	if (!*value || *value > most)
		return tool_usage("explain", "%s is %zu, but must be from 1 to %zu",
				  option, *value, most);
	return TOOL_OK;
}

static int take_option(struct settings *settings, int option, char **argv)
{
	switch (option) {
	case 'f':
		return read_kind("--from", optarg, &settings->user);
	case 't':
		return read_kind("--to", optarg, &settings->packed);
	case 'a':
		settings->all = true;
		return TOOL_OK;
	case 'j':
		settings->json = true;
		return TOOL_OK;
	case 'h':
		settings->help = true;
		return TOOL_OK;
	case 'T':
		settings->target = optarg;
		return TOOL_OK;
	case 'F':
		return read_option("--fragment", optarg, MOST_FRAGMENT,
				   &settings->options.fragment);
	case 'D':
		return read_option("--depth", optarg, MOST_DEPTH,
				   &settings->options.depth);
	case 'P':
		return read_option("--pool", optarg, MOST_FRAGMENT,
				   &settings->options.pool);
	case 'c':
		return read_count("--count", &settings->count);
	case 'C':
		settings->has_target_count = true;
		return read_count("--target-count", &settings->target_count);
	default:
		return tool_bad_option("explain", option, argv, options);
	}
}

static int read_settings(int argc, char **argv, struct settings *settings)
{
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		int exit_status = take_option(settings, option, argv);

		if (exit_status || settings->help)
			return exit_status;
	}
	if (settings->all && (settings->user || settings->packed))
		return tool_usage("explain",
				  "--all cannot be combined with --from or --to");
	if (optind + 1 != argc)
		return tool_usage("explain", optind == argc
						     ? "EXPR is missing"
						     : "there is more than one EXPR; "
						       "put it in quotes");
	if (settings->has_target_count && !settings->target)
		return tool_usage("explain", "--target-count needs --target");
	if (!settings->has_target_count)
		settings->target_count = settings->count;
	settings->expression = argv[optind];
	return TOOL_OK;
}

/* ---- the command ------------------------------------------------------------------- */

static int print(const struct explain *explain, bool json)
{
	if (explain->target)
		return json ? explain_print_copies_json(explain) : print_copies(explain);
	return json ? explain_print_json(explain) : print_text(explain);
}

/* @target is NULL if no copy is asked for. */
static int explain_type(const struct settings *settings, struct dtconv_context *context,
			const struct dtconv_type *type, const struct dtconv_type *target)
{
	struct explain explain = { .context = context,
				   .type = type,
				   .count = settings->count,
				   .target = target,
				   .target_count = settings->target_count,
				   .user = settings->user,
				   .packed = settings->packed,
				   .all = settings->all,
				   .options = settings->options };
	char why[200];
	int status = measure(&explain);

	if (!status)
		status = find_devices(&explain, why, sizeof(why));
	if (!status)
		status = print(&explain, settings->json);
	return status ? tool_library_failed("explain", context, status) : TOOL_OK;
}

int cmd_explain(int argc, char **argv)
{
	struct settings settings = { .count = 1 };
	struct dtconv_context *context;
	struct dtconv_type *type, *target = NULL;
	int exit_status = read_settings(argc, argv, &settings);

	if (exit_status)
		return exit_status;
	if (settings.help) {
		print_help();
		return TOOL_OK;
	}
	exit_status = tool_create_context("explain", &context);
	if (exit_status)
		return exit_status;
	exit_status = tool_read_type("explain", context, settings.expression, &type);
	if (exit_status == TOOL_OK) {
		if (settings.target)
			exit_status = tool_read_type("explain", context, settings.target,
						     &target);
		if (exit_status == TOOL_OK)
			exit_status = explain_type(&settings, context, type, target);
		dtconv_type_unref(target);
		dtconv_type_unref(type);
	}
	dtconv_context_destroy(context);
	return exit_status;
}
