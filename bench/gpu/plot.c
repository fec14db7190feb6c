/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plot: one line a layout and size, dtconv's speed relative to the device's own copy of as
 * many bytes, packing on the left and unpacking on the right. A tick marks the aim.
 */
#include "config.h"

#include "bench/gpu/session.h"

#include <string.h>

#include "bench/gpu/layouts.h"
#include "bench/gpu/run.h"
#include "bench/harness/svg.h"

#define LABEL_WIDTH 205
#define PANEL_WIDTH 380
#define PANEL_GAP   44
#define LINE_HEIGHT 15
#define TOP         70
#define BOTTOM      30
#define MOST_RATIO  1.2

static double x_of(int panel, double ratio)
{
	double part = ratio < MOST_RATIO ? ratio / MOST_RATIO : 1;

	return LABEL_WIDTH + panel * (PANEL_WIDTH + PANEL_GAP) + part * PANEL_WIDTH;
}

static bool has_line(const struct results *rs, size_t i)
{
	const struct result *r = &rs->list[i];

	return r->clock[0] == 'd' && !strcmp(r->src, r->dst) &&
	       is_first_result(rs, 0, i) &&
	       (find_result(rs, r, "pack", "dtconv") ||
		find_result(rs, r, "unpack", "dtconv"));
}

static size_t count_lines(const struct results *rs)
{
	size_t lines = 0;

	for (size_t i = 0; i < rs->count; i++)
		lines += has_line(rs, i);
	return lines;
}

static void draw_head(FILE *file, const char *device, size_t lines)
{
	fprintf(file,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%zu\" "
		"font-family=\"sans-serif\" font-size=\"11\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
		"<text x=\"10\" y=\"20\" font-size=\"15\" font-weight=\"bold\">"
		"dtconv bench --gpu: speed relative to the device's copy</text>\n"
		"<text x=\"10\" y=\"36\" fill=\"#555\">",
		LABEL_WIDTH + 2 * PANEL_WIDTH + PANEL_GAP + 20,
		TOP + lines * LINE_HEIGHT + BOTTOM);
	svg_text(file, device);
	fputs("; device clock; tick: the aim</text>\n", file);
}

static void draw_axis(FILE *file, int panel, const char *title, size_t lines)
{
	fprintf(file, "<text x=\"%.1f\" y=\"%d\" font-weight=\"bold\">%s</text>\n",
		x_of(panel, 0), TOP - 16, title);
	for (int step = 0; step <= 6; step++) {
		double ratio = step / 5.0;

		fprintf(file,
			"<path d=\"M%.1f %d V%zu\" stroke=\"%s\"/>"
			"<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" fill=\"#555\">"
			"%.1f</text>\n",
			x_of(panel, ratio), TOP, TOP + lines * LINE_HEIGHT,
			step == 5 ? "black" : "#ddd", x_of(panel, ratio), TOP - 3, ratio);
	}
}

static void draw_bar(FILE *file, const struct results *rs, const struct result *r,
		     int panel, double y)
{
	const char *op = panel ? "unpack" : "pack";
	const struct gpu_target *aim = gpu_target_of(r->layout, r->bytes);
	double wanted = !aim ? 0 : panel ? aim->unpack : aim->pack;
	double copy = result_speed(find_result(rs, r, op, "copy"));
	double ratio = copy > 0 ? result_speed(find_result(rs, r, op, "dtconv")) / copy
				: 0;

	if (ratio > 0)
		fprintf(file,
			"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"8\" "
			"fill=\"#9ecae1\"><title>%.2f</title></rect>",
			x_of(panel, 0), y - 4, x_of(panel, ratio) - x_of(panel, 0),
			ratio);
	if (wanted > 0)
		fprintf(file,
			"<path d=\"M%.1f %.1fv12\" stroke=\"#d95f02\" "
			"stroke-width=\"2\"/>",
			x_of(panel, wanted), y - 6);
}

static void draw_lines(FILE *file, const struct results *rs)
{
	size_t line = 0;

	for (size_t i = 0; i < rs->count; i++) {
		const struct result *r = &rs->list[i];
		double y = TOP + ((double)line + 0.5) * LINE_HEIGHT;

		if (!has_line(rs, i))
			continue;
		line++;
		fprintf(file, "<text x=\"10\" y=\"%.1f\">", y + 4);
		svg_text(file, r->layout);
		fprintf(file,
			"</text><text x=\"%d\" y=\"%.1f\" "
			"text-anchor=\"end\" fill=\"#777\">%zu KiB</text>",
			LABEL_WIDTH - 12, y + 4, r->bytes >> 10);
		draw_bar(file, rs, r, 0, y);
		draw_bar(file, rs, r, 1, y);
		putc('\n', file);
	}
}

int gpu_plot_draw(FILE *file, const struct results *rs, const char *device)
{
	size_t lines = count_lines(rs);

	draw_head(file, device, lines);
	draw_axis(file, 0, "packing", lines);
	draw_axis(file, 1, "unpacking", lines);
	draw_lines(file, rs);
	fputs("</svg>\n", file);
	return 0;
}
