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

int palette_is_dark(struct colour colour)
{
	/* luma of the gamma-encoded values, in 1/1000 */
	return 299 * colour.red + 587 * colour.green + 114 * colour.blue < 140 * 1000;
}
