/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a layout was made: one constructor or predefined type a line, indented, with its
 * arguments named. Long arrays and long trees are cut with a note.
 */
#include "config.h"

#include "contents.h"
#include "show.h"

#include <stdlib.h>
#include <string.h>

#define MAX_LINES   200
#define MAX_MEMBERS 32
#define MAX_ENTRIES 8

/* ---- the constructors' arguments --------------------------------------------------- */

/* In which array of the contents an argument stands, and how it is printed. */
enum kind {
	LENGTH,        /* counts: entries of the arrays; printed as `N blocks` or so */
	COUNT,         /* counts: one number */
	COUNTS,        /* counts: an array */
	DISTRIBUTIONS, /* counts: an array of words */
	BLOCK_SIZES,   /* counts: an array, SIZE_MAX is a word */
	ORDER,         /* counts: a word */
	DISPLACEMENT,  /* displacements: one */
	DISPLACEMENTS  /* displacements: an array */
};

struct argument {
	enum kind kind;
	const char *name;
};

struct constructor {
	const char *name;
	const char *unit;             /* of its displacements */
	struct argument arguments[9]; /* up to the one without a name */
};

/*
 * Member lines of a struct say its blocklengths and displacements, so that it has few
 * here.
 */
static const struct constructor constructors[] = {
	[DTCONV_COMBINER_DUP] = { "dup", "", { { 0 } } },
	[DTCONV_COMBINER_CONTIGUOUS] = { "contiguous", "", { { COUNT, "count" } } },
	[DTCONV_COMBINER_VECTOR] = { "vector",
				     "elements",
				     { { COUNT, "count" },
				       { COUNT, "blocklength" },
				       { DISPLACEMENT, "stride" } } },
	[DTCONV_COMBINER_HVECTOR] = { "hvector",
				      "bytes",
				      { { COUNT, "count" },
					{ COUNT, "blocklength" },
					{ DISPLACEMENT, "stride" } } },
	[DTCONV_COMBINER_INDEXED] = { "indexed",
				      "elements",
				      { { LENGTH, "blocks" },
					{ COUNTS, "blocklengths" },
					{ DISPLACEMENTS, "displacements" } } },
	[DTCONV_COMBINER_HINDEXED] = { "hindexed",
				       "bytes",
				       { { LENGTH, "blocks" },
					 { COUNTS, "blocklengths" },
					 { DISPLACEMENTS, "displacements" } } },
	[DTCONV_COMBINER_INDEXED_BLOCK] = { "indexed_block",
					    "elements",
					    { { LENGTH, "blocks" },
					      { COUNT, "blocklength" },
					      { DISPLACEMENTS, "displacements" } } },
	[DTCONV_COMBINER_HINDEXED_BLOCK] = { "hindexed_block",
					     "bytes",
					     { { LENGTH, "blocks" },
					       { COUNT, "blocklength" },
					       { DISPLACEMENTS, "displacements" } } },
	[DTCONV_COMBINER_STRUCT] = { "struct", "bytes", { { LENGTH, "members" } } },
	[DTCONV_COMBINER_SUBARRAY] = { "subarray",
				       "",
				       { { LENGTH, "dimensions" },
					 { COUNTS, "sizes" },
					 { COUNTS, "subsizes" },
					 { COUNTS, "starts" },
					 { ORDER, "order" } } },
	[DTCONV_COMBINER_DARRAY] = { "darray",
				     "",
				     { { COUNT, "processes" },
				       { COUNT, "rank" },
				       { LENGTH, "dimensions" },
				       { COUNTS, "gsizes" },
				       { DISTRIBUTIONS, "distributions" },
				       { BLOCK_SIZES, "block sizes" },
				       { COUNTS, "process grid" },
				       { ORDER, "order" } } },
	[DTCONV_COMBINER_RESIZED] = { "resized",
				      "bytes",
				      { { DISPLACEMENT, "lb" },
					{ DISPLACEMENT, "extent" } } },
	[DTCONV_COMBINER_F90_REAL] = { "f90_real",
				       "",
				       { { COUNT, "p" }, { COUNT, "r" } } },
	[DTCONV_COMBINER_F90_COMPLEX] = { "f90_complex",
					  "",
					  { { COUNT, "p" }, { COUNT, "r" } } },
	[DTCONV_COMBINER_F90_INTEGER] = { "f90_integer", "", { { COUNT, "r" } } },
	[DTCONV_COMBINER_VALUE_INDEX] = { "value_index", "", { { 0 } } },
};

static const char *const distribution_names[] = {
	[DTCONV_DISTRIBUTE_BLOCK] = "block",
	[DTCONV_DISTRIBUTE_CYCLIC] = "cyclic",
	[DTCONV_DISTRIBUTE_NONE] = "none",
};

/* ---- the walk ---------------------------------------------------------------------- */

/* A type that is not printed yet, and how its constructor holds it. */
struct node {
	const struct dtconv_type *type;
	size_t depth;
	bool is_member;
	size_t blocklength; /* of a struct's member */
	ptrdiff_t disp;
	size_t left_out; /* instead of a type: a line for this many members */
};

struct walk {
	FILE *out;
	struct node *nodes; /* a stack */
	size_t count;
	size_t capacity;
	size_t lines;
};

static int push(struct walk *walk, struct node node)
{
	if (walk->count == walk->capacity) {
		size_t capacity = 2 * walk->capacity + 64;
		struct node *nodes = realloc(walk->nodes, capacity * sizeof(nodes[0]));

		if (!nodes)
			return DTCONV_ERR_NOMEM;
		walk->nodes = nodes;
		walk->capacity = capacity;
	}
	walk->nodes[walk->count++] = node;
	return 0;
}

/* ---- arguments --------------------------------------------------------------------- */

static void print_count(FILE *out, enum kind kind, size_t value)
{
	if (kind == DISTRIBUTIONS)
		fputs(distribution_names[value], out);
	else if (kind == ORDER)
		fputs(value == DTCONV_ORDER_C ? "c" : "fortran", out);
	else if (kind == BLOCK_SIZES && value == DTCONV_DISTRIBUTE_DFLT_DARG)
		fputs("default", out);
	else if (value == DTCONV_UNDEFINED)
		fputs("undefined", out);
	else
		fprintf(out, "%zu", value);
}

/* Print the beginning of an array; one of counts and displacements is given. */
static void print_array(FILE *out, enum kind kind, const size_t *counts,
			const ptrdiff_t *displacements, size_t length)
{
	size_t shown = length > MAX_ENTRIES ? MAX_ENTRIES : length;

	fputc('[', out);
	for (size_t i = 0; i < shown; i++) {
		if (i > 0)
			fputc(',', out);
		if (displacements)
			fprintf(out, "%td", displacements[i]);
		else
			print_count(out, kind, counts[i]);
	}
	fputs(shown < length ? ",...]" : "]", out);
}

static void print_arguments(FILE *out, const struct contents *contents)
{
	const struct constructor *constructor =
		&constructors[contents->envelope.combiner];
	const size_t *counts = contents->counts;
	const ptrdiff_t *displacements = contents->displacements;
	size_t length = 0;

	for (const struct argument *argument = constructor->arguments; argument->name;
	     argument++) {
		fputs(argument == constructor->arguments ? "  " : ", ", out);
		if (argument->kind == LENGTH) {
			length = *counts++;
			fprintf(out, "%zu %s", length, argument->name);
			continue;
		}
		fprintf(out, "%s ", argument->name);
		if (argument->kind == DISPLACEMENT) {
			fprintf(out, "%td %s", *displacements++, constructor->unit);
		} else if (argument->kind == DISPLACEMENTS) {
			print_array(out, argument->kind, NULL, displacements, length);
			fprintf(out, " %s", constructor->unit);
		} else if (argument->kind == COUNT || argument->kind == ORDER) {
			print_count(out, argument->kind, *counts++);
		} else {
			print_array(out, argument->kind, counts, NULL, length);
			counts += length;
		}
	}
}

/* ---- nodes ------------------------------------------------------------------------- */

/* Push the types a constructor was given, the last one first. */
static int push_children(struct walk *walk, const struct contents *contents, size_t depth)
{
	size_t count = contents->envelope.type_count;
	bool is_struct = contents->envelope.combiner == DTCONV_COMBINER_STRUCT;
	size_t shown = count > MAX_MEMBERS ? MAX_MEMBERS : count;
	int status = 0;

	if (shown < count)
		status = push(walk,
			      (struct node){ .depth = depth, .left_out = count - shown });
	while (shown-- > 0 && status == 0) {
		struct node node = { .type = contents->types[shown], .depth = depth };

		if (is_struct) {
			node.is_member = true;
			node.blocklength = contents->counts[1 + shown];
			node.disp = contents->displacements[shown];
		}
		status = push(walk, node);
	}
	return status;
}

static int print_node(struct walk *walk, const struct node *node)
{
	struct contents contents;
	int status = contents_query(&contents, node->type);

	if (status == 0 && contents.envelope.combiner == DTCONV_COMBINER_NAMED) {
		char name[64];
		size_t length;

		dtconv_type_format(node->type, name, sizeof(name), &length);
		fprintf(walk->out, "%s\n", name);
	} else if (status == 0) {
		fputs(constructors[contents.envelope.combiner].name, walk->out);
		print_arguments(walk->out, &contents);
		fputc('\n', walk->out);
		status = push_children(walk, &contents, node->depth + 1);
	}
	contents_release(&contents);
	return status;
}

static int print_line(struct walk *walk, const struct node *node)
{
	size_t indent = node->depth < 40 ? 2 * node->depth : 80;

	fprintf(walk->out, "  %*s", (int)indent, "");
	walk->lines++;
	if (node->left_out > 0) {
		fprintf(walk->out, "... and %zu more members\n", node->left_out);
		return 0;
	}
	if (node->is_member)
		fprintf(walk->out, "at %td: %zu x ", node->disp, node->blocklength);
	return print_node(walk, node);
}

int show_tree(const struct subject *subject, FILE *out)
{
	struct walk walk = { .out = out };
	int status = push(&walk, (struct node){ .type = subject->type });

	while (status == 0 && walk.count > 0 && walk.lines < MAX_LINES) {
		struct node node = walk.nodes[--walk.count];

		status = print_line(&walk, &node);
	}
	if (status == 0 && walk.count > 0)
		fprintf(out, "  ... the rest of the tree is left out after %d lines\n",
			MAX_LINES);
	free(walk.nodes);
	return status;
}
