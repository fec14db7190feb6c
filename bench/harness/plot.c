/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plot: one line for each layout, speed relative to the hand loop on a logarithmic axis,
 * packing on the left and unpacking on the right. A bar runs from the hand loop to dtconv,
 * coloured dots are peers, a tick is memcpy. If no layout has a hand loop, memcpy takes its
 * place.
 */
#include "config.h"

#include "bench/harness/table.h"

#include <math.h>
#include <string.h>

#include "bench/harness/selftest.h"
#include "bench/harness/svg.h"

#define LABEL_WIDTH 205
#define PANEL_WIDTH 380
#define PANEL_GAP   44
#define LINE_HEIGHT 15
#define TOP         92
#define BOTTOM      40
#define MOST_PEERS  6
/* Height of the line above the panels that a failed self-test adds. */
#define WARNING_HEIGHT 16

struct plot {
	FILE *file;
	const struct results *results;
	double low, high; /* of the axis, powers of two as logarithms */
	const char *base; /* the engine that all speeds are relative to */
	const char *peers[MOST_PEERS];
	size_t peer_count;
	size_t lines;
	int top;           /* of the panels */
	char warning[400]; /* of the self-test */
};

static const char *const peer_colours[MOST_PEERS] = { "#d95f02", "#1b9e77", "#e7298a",
						      "#66a61e", "#a6761d", "#7570b3" };

/* Limit the axis: memcpy may be 60 times as fast, which would squeeze the rest. */
#define MOST_MEMCPY 8.0

static double shown_ratio(const char *engine, double ratio)
{
	return !strcmp(engine, "memcpy") && ratio > MOST_MEMCPY ? MOST_MEMCPY : ratio;
}

/* Extend the axis to every ratio, in whole powers of two. */
static void note_ratio(struct plot *p, double ratio)
{
	if (ratio <= 0)
		return;
	if (floor(log2(ratio)) < p->low)
		p->low = floor(log2(ratio));
	if (ceil(log2(ratio)) > p->high)
		p->high = ceil(log2(ratio));
}

static void note_peer(struct plot *p, const char *name)
{
	for (size_t i = 0; i < p->peer_count; i++)
		if (!strcmp(p->peers[i], name))
			return;
	if (p->peer_count < MOST_PEERS && !engine_is_own(name))
		p->peers[p->peer_count++] = name;
}

static bool is_over_hand(const struct plot *p)
{
	return !strcmp(p->base, "hand");
}

/* The speed of an engine relative to the base. */
static double over_base(const struct plot *p, const struct result *any, const char *op,
			const char *engine)
{
	const struct result *r =
		results_find(p->results, any->layout, any->bytes, op, engine);
	const struct result *base =
		results_find(p->results, any->layout, any->bytes, op, p->base);

	return row_ratio(r, base);
}

static bool has_line(const struct plot *p, size_t i)
{
	const struct result *r = &p->results->list[i];

	return row_first(p->results, i) && (over_base(p, r, "pack", "dtconv") > 0 ||
					    over_base(p, r, "unpack", "dtconv") > 0);
}

/* Layouts of the command line have no hand loop. */
static const char *choose_base(const struct results *rs)
{
	for (size_t i = 0; i < rs->count; i++)
		if (!strcmp(rs->list[i].engine, "hand"))
			return "hand";
	return "memcpy";
}

static void survey(struct plot *p)
{
	struct selftest test = selftest_find(p->results);

	selftest_warning(&test, p->warning, sizeof(p->warning));
	p->top = p->warning[0] ? TOP + WARNING_HEIGHT : TOP;
	p->base = choose_base(p->results);
	p->low = -1;
	p->high = 1;
	for (size_t i = 0; i < p->results->count; i++) {
		const struct result *r = &p->results->list[i];

		note_peer(p, r->engine);
		note_ratio(p, shown_ratio(r->engine, over_base(p, r, r->op, r->engine)));
		p->lines += has_line(p, i);
	}
}

static double x_of(const struct plot *p, int panel, double ratio)
{
	double part = (log2(ratio) - p->low) / (p->high - p->low);

	return LABEL_WIDTH + panel * (PANEL_WIDTH + PANEL_GAP) + part * PANEL_WIDTH;
}

static double height_of(const struct plot *p)
{
	return p->top + (double)p->lines * LINE_HEIGHT + BOTTOM;
}

static void draw_head(struct plot *p, const char *subtitle)
{
	double width = LABEL_WIDTH + 2 * PANEL_WIDTH + PANEL_GAP + 20;

	fprintf(p->file,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
		"font-family=\"sans-serif\" font-size=\"11\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
		"<text x=\"10\" y=\"20\" font-size=\"15\" font-weight=\"bold\">"
		"dtconv bench: speed relative to %s</text>\n"
		"<text x=\"10\" y=\"36\" fill=\"#555\">",
		width, height_of(p),
		is_over_hand(p) ? "the hand-written loop" : "memcpy of the same bytes");
	svg_text(p->file, subtitle);
	fputs("</text>\n", p->file);
	if (!p->warning[0])
		return;
	fprintf(p->file, "<text x=\"10\" y=\"52\" fill=\"#c00\">Not proven: ");
	svg_text(p->file, p->warning);
	fputs("</text>\n", p->file);
}

static double draw_key(struct plot *p, double x, const char *shape, const char *text)
{
	int y = p->top - TOP + 54;

	fprintf(p->file, "<g transform=\"translate(%.0f %d)\">%s</g>\n", x, y, shape);
	fprintf(p->file, "<text x=\"%.0f\" y=\"%d\">%s</text>\n", x + 12, y + 4, text);
	return x + 30 + 6.2 * (double)strlen(text);
}

static void draw_legend(struct plot *p)
{
	double x = 18;
	char shape[96];

	x = draw_key(p, x,
		     "<rect x=\"-6\" y=\"-3\" width=\"8\" height=\"6\" fill=\"#9ecae1\"/>"
		     "<circle cx=\"3\" r=\"4\" fill=\"#08519c\"/>",
		     "dtconv");
	for (size_t i = 0; i < p->peer_count; i++) {
		snprintf(shape, sizeof(shape), "<circle r=\"3.2\" fill=\"%s\"/>",
			 peer_colours[i]);
		x = draw_key(p, x, shape, p->peers[i]);
	}
	if (is_over_hand(p))
		x = draw_key(p, x,
			     "<path d=\"M0 -5V5\" stroke=\"#777\" stroke-width=\"2\"/>",
			     "memcpy of the same bytes (arrow: over 8)");
	draw_key(p, x, "<path d=\"M0 -6V6\" stroke=\"black\"/>",
		 is_over_hand(p) ? "hand-written loop" : "memcpy");
}

static void draw_axis(struct plot *p, int panel, const char *title)
{
	double bottom = p->top + (double)p->lines * LINE_HEIGHT;

	fprintf(p->file,
		"<text x=\"%.1f\" y=\"%d\" font-weight=\"bold\" text-anchor=\"middle\">%s"
		"</text>\n",
		x_of(p, panel, exp2((p->low + p->high) / 2)), p->top - 16, title);
	for (int e = (int)p->low; e <= (int)p->high; e++) {
		double x = x_of(p, panel, exp2(e));
		char label[16];

		if (e < 0)
			snprintf(label, sizeof(label), "1/%.0f", exp2(-e));
		else
			snprintf(label, sizeof(label), "%.0f", exp2(e));
		fprintf(p->file,
			"<path d=\"M%.1f %d V%.1f\" stroke=\"%s\"/>"
			"<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" fill=\"#555\">%s"
			"</text>"
			"<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" "
			"fill=\"#555\">%s</text>\n",
			x, p->top, bottom, e == 0 ? "black" : "#ddd", x, p->top - 3,
			label, x, bottom + 13, label);
	}
}

/* A tick, or an arrow head if it lies beyond the axis. */
static void draw_memcpy(struct plot *p, double x, double y, bool beyond)
{
	const char *path = beyond ? "l5 5l-5 5" : "v10";

	fprintf(p->file,
		"<path d=\"M%.1f %.1f%s\" stroke=\"#777\" stroke-width=\"2\" "
		"fill=\"none\"/>",
		x, y - 5, path);
}

static void draw_line(struct plot *p, int panel, double y, const struct result *any,
		      const char *op)
{
	double ours = over_base(p, any, op, "dtconv");
	double copy = is_over_hand(p) ? over_base(p, any, op, "memcpy") : 0;
	double one = x_of(p, panel, 1);

	if (copy > 0)
		draw_memcpy(p, x_of(p, panel, shown_ratio("memcpy", copy)), y,
			    copy > MOST_MEMCPY);
	if (ours > 0) {
		double x = x_of(p, panel, ours);

		fprintf(p->file,
			"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"6\" "
			"fill=\"#9ecae1\"/><circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" "
			"fill=\"#08519c\"><title>dtconv %.2f</title></circle>",
			x < one ? x : one, y - 3, fabs(x - one), x, y, ours);
	}
	for (size_t i = 0; i < p->peer_count; i++) {
		double theirs = over_base(p, any, op, p->peers[i]);

		if (theirs > 0)
			fprintf(p->file,
				"<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.2\" fill=\"%s\" "
				"fill-opacity=\"0.85\"><title>%s %.2f</title></circle>",
				x_of(p, panel, theirs), y, peer_colours[i], p->peers[i],
				theirs);
	}
	putc('\n', p->file);
}

static void size_text(char *text, size_t room, size_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB" };
	double value = (double)bytes;
	size_t unit = 0;

	while (value >= 1000 && unit < 3) {
		value /= 1024;
		unit++;
	}
	snprintf(text, room, value < 10 && unit ? "%.1f %s" : "%.0f %s", value,
		 units[unit]);
}

static void draw_lines(struct plot *p)
{
	size_t line = 0;

	for (size_t i = 0; i < p->results->count; i++) {
		const struct result *r = &p->results->list[i];
		double y = TOP + ((double)line + 0.5) * LINE_HEIGHT;
		char size[24];

		if (!has_line(p, i))
			continue;
		size_text(size, sizeof(size), r->bytes);
		if (line++ % 2)
			fprintf(p->file,
				"<rect x=\"0\" y=\"%.1f\" width=\"100%%\" height=\"%d\" "
				"fill=\"#000\" fill-opacity=\"0.035\"/>\n",
				y - LINE_HEIGHT / 2.0, LINE_HEIGHT);
		fprintf(p->file, "<text x=\"10\" y=\"%.1f\">", y + 4);
		svg_text(p->file, r->layout);
		fprintf(p->file,
			"</text><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" "
			"fill=\"#777\">%s</text>\n",
			LABEL_WIDTH - 12, y + 4, size);
		draw_line(p, 0, y, r, "pack");
		draw_line(p, 1, y, r, "unpack");
	}
}

int plot_draw(FILE *file, const struct results *results, const char *subtitle)
{
	struct plot p = { .file = file, .results = results };

	survey(&p);
	draw_head(&p, subtitle);
	draw_legend(&p);
	draw_axis(&p, 0, "pack");
	draw_axis(&p, 1, "unpack");
	draw_lines(&p);
	fputs("</svg>\n", p.file);
	return 0;
}
