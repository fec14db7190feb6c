/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text, colours and the page of pictures in SVG. It is independent of the contents.
 */
#include "config.h"

#include "svg.h"

#include <string.h>

void svg_text(FILE *out, const char *text, size_t most)
{
	size_t length = strlen(text);
	size_t shown = length > most ? most - 1 : length;

	for (size_t i = 0; i < shown; i++) {
		if (text[i] == '<')
			fputs("&lt;", out);
		else if (text[i] == '&')
			fputs("&amp;", out);
		else
			fputc(text[i], out);
	}
	if (shown < length)
		fputs("\xe2\x80\xa6", out);
}

double svg_text_width(const char *text)
{
	return 6.4 * (double)strlen(text);
}

void svg_label(FILE *out, const char *class, const char *anchor, double x, double y,
	       const char *text)
{
	fprintf(out,
		"<text class=\"%s\" text-anchor=\"%s\" x=\"%.2f\" y=\"%.2f\">%s</text>\n",
		class, anchor, x, y, text);
}

static void put_style(FILE *out)
{
	fputs("<style>\n"
	      "text { font-family: 'DejaVu Sans', Verdana, sans-serif; font-size: 11px; "
	      "fill: #4b4660; }\n"
	      ".title { font-family: 'DejaVu Sans Mono', Menlo, monospace; "
	      "font-size: 15px; font-weight: bold; fill: #1f1b2e; }\n"
	      ".bound, .true { paint-order: stroke; stroke: #ffffff; "
	      "stroke-width: 3px; }\n"
	      ".bound { fill: #1f1b2e; }\n"
	      ".true { fill: #0f766e; }\n"
	      ".onrun { font-size: 10.5px; fill: #1f1b2e; }\n"
	      ".onrun.dark { fill: #ffffff; }\n"
	      ".line { stroke: #1f1b2e; stroke-width: 1.2; fill: none; }\n"
	      ".trueline { stroke: #0f766e; stroke-width: 1.2; stroke-dasharray: 4 3; "
	      "fill: none; }\n"
	      ".solid { stroke-dasharray: none; }\n"
	      ".tick { stroke: #b9b4c9; stroke-width: 1; }\n"
	      ".grid { stroke: #ffffff; stroke-width: 1; stroke-opacity: 0.8; }\n"
	      ".track { fill: #f4f3f8; }\n"
	      ".gap { fill: #e3e0ec; }\n"
	      ".number { font-size: 9px; fill: #6f6a82; }\n"
	      ".veil { fill: #ffffff; fill-opacity: 0.6; }\n"
	      ".hatch { fill: url(#hatch); }\n"
	      ".overlap { fill: #dc2626; }\n"
	      "</style>\n",
	      out);
}

void svg_colour(FILE *out, struct colour colour)
{
	fprintf(out, "#%02x%02x%02x", colour.red, colour.green, colour.blue);
}

static void put_stop(FILE *out, double offset, struct colour colour)
{
	fprintf(out, "<stop offset=\"%.4f\" stop-color=\"", offset);
	svg_colour(out, colour);
	fputs("\"/>", out);
}

void svg_gradient(FILE *out, const char *id, double begin, double end)
{
	fprintf(out, "<linearGradient id=\"%s\">", id);
	put_stop(out, 0, palette_at(begin));
	for (size_t stop = 1; stop + 1 < PALETTE_STOPS; stop++) {
		double at = (double)stop / (PALETTE_STOPS - 1);

		if (at > begin && at < end)
			put_stop(out, (at - begin) / (end - begin), palette_stop(stop));
	}
	put_stop(out, 1, palette_at(end));
	fputs("</linearGradient>\n", out);
}

void svg_stream(FILE *out, double x, double y, size_t bytes, const char *text)
{
	char length[48];

	svg_gradient(out, "stream", 0, 1);
	fprintf(out,
		"<rect x=\"%.2f\" y=\"%.2f\" width=\"260\" height=\"14\" "
		"fill=\"url(#stream)\"/>\n",
		x, y);
	svg_label(out, "axis", "start", x, y + 28, "0");
	svg_label(out, "axis", "start", x, y - 5, text);
	snprintf(length, sizeof(length), "%zu bytes", bytes);
	svg_label(out, "axis", "end", x + 260, y + 28, length);
}

double svg_entry(FILE *out, double x, double y, const char *shape, const char *text)
{
	fprintf(out, "<g transform=\"translate(%.2f %.2f)\">%s</g>\n", x, y, shape);
	svg_label(out, "axis", "start", x + 28, y + 10, text);
	return x + 28 + svg_text_width(text) + 20;
}

void svg_begin(FILE *out, double height)
{
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" "
		"width=\"%.0f\" height=\"%.0f\" "
		"viewBox=\"0 0 %.0f %.0f\">\n",
		SVG_PAGE_WIDTH, height, SVG_PAGE_WIDTH, height);
	put_style(out);
	fprintf(out, "<rect width=\"%.0f\" height=\"%.0f\" rx=\"8\" fill=\"#ffffff\"/>\n",
		SVG_PAGE_WIDTH, height);
}

void svg_end(FILE *out)
{
	fputs("</svg>\n", out);
}
