/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ticks of an axis in bytes. The caller sets the scale.
 */
#include "config.h"

#include "axis.h"

#include <stdint.h>
#include <stdio.h>

size_t axis_step(double bytes)
{
	size_t step = 1;

	while ((double)step < bytes && step <= SIZE_MAX / 4)
		step *= 2;
	return step;
}

ptrdiff_t axis_first_tick(ptrdiff_t left, size_t step)
{
	ptrdiff_t below = left / (ptrdiff_t)step * (ptrdiff_t)step;

	return below < left ? below + (ptrdiff_t)step : below;
}

struct axis_label axis_label(ptrdiff_t tick, size_t step)
{
	static const char *const units[] = {
		"", " Ki", " Mi", " Gi", " Ti", " Pi", " Ei"
	};
	struct axis_label label;
	size_t unit = 0;

	/* ticks are multiples of the step, so dividing both loses nothing */
	for (; step >= 1024; step /= 1024, unit++)
		tick /= 1024;
	snprintf(label.text, sizeof(label.text), "%td%s", tick, tick ? units[unit] : "");
	return label;
}
