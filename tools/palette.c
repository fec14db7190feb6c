/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A gradient in equal perceptual steps, from a dark violet to a light orange: lightness
 * 0.40 to 0.82 and hue 285 to 430 degrees in OKLCH, chroma 0.17 where sRGB has it. It
 * stays in order in greyscale and for every kind of colour vision.
 */
#include "config.h"

#include "palette.h"

static const struct colour stops[PALETTE_STOPS] = {
	{ 0x44, 0x2e, 0x9d }, { 0x6a, 0x34, 0xa1 }, { 0x8f, 0x3a, 0x9e },
	{ 0xb0, 0x42, 0x93 }, { 0xcf, 0x4e, 0x84 }, { 0xe8, 0x5f, 0x6f },
	{ 0xfa, 0x75, 0x58 }, { 0xff, 0x94, 0x4d }, { 0xfe, 0xb2, 0x51 },
};

struct colour palette_stop(size_t stop)
{
	return stops[stop];
}

static unsigned char mix(unsigned char a, unsigned char b, double share)
{
	return (unsigned char)(a + (b - a) * share + 0.5);
}

struct colour palette_at(double place)
{
	double scaled = (place < 0 ? 0 : place > 1 ? 1 : place) * (PALETTE_STOPS - 1);
	size_t below = (size_t)scaled;
	size_t above = below < PALETTE_STOPS - 1 ? below + 1 : below;
	double share = scaled - (double)below;

	return (struct colour){ mix(stops[below].red, stops[above].red, share),
				mix(stops[below].green, stops[above].green, share),
				mix(stops[below].blue, stops[above].blue, share) };
}

/* The colours of Okabe and Ito, without black, and two more. */
static const struct colour layouts[] = {
	{ 0x56, 0xb4, 0xe9 }, { 0xe6, 0x9f, 0x00 }, { 0x00, 0x9e, 0x73 },
	{ 0xf0, 0xe4, 0x42 }, { 0x00, 0x72, 0xb2 }, { 0xd5, 0x5e, 0x00 },
	{ 0xcc, 0x79, 0xa7 }, { 0x8c, 0x62, 0x39 }, { 0x5b, 0x67, 0x70 },
};

#define LAYOUT_COLOURS (sizeof(layouts) / sizeof(layouts[0]))

static struct colour blend(struct colour colour, unsigned char with, double share)
{
	return (struct colour){ mix(colour.red, with, share),
				mix(colour.green, with, share),
				mix(colour.blue, with, share) };
}

/* As they are, then lighter, then darker. */
struct colour palette_layout(size_t index)
{
	struct colour colour = layouts[index % LAYOUT_COLOURS];

	switch (index / LAYOUT_COLOURS % 3) {
	case 1:
		return blend(colour, 255, 0.55);
	case 2:
		return blend(colour, 0, 0.4);
	default:
		return colour;
	}
}

int palette_is_dark(struct colour colour)
{
	/* luma of the gamma-encoded values, in 1/1000 */
	return 299 * colour.red + 587 * colour.green + 114 * colour.blue < 140 * 1000;
}
