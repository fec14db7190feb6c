/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which of the compiled images a device runs, and the source text of specialised kernels.
 */
#include "config.h"

#include "images.h"

/* The assembler includes the file that the build makes of the kernels' sources. */
__asm__(".pushsection .rodata\n"
	".hidden dtc_gpu_text\n"
	".globl dtc_gpu_text\n"
	"dtc_gpu_text:\n"
	".incbin \"src/kernels/gpu/special_text.cu\"\n"
	".byte 0\n"
	".popsection\n");
extern const char dtc_gpu_text[] __attribute__((visibility("hidden")));

const char *dtc_gpu_source(void)
{
	return dtc_gpu_text;
}

/* Binaries run on their own minor version and later ones, PTX on anything later. */
static bool runs(const struct dtc_gpu_image *image, uint32_t arch)
{
	return image->arch <= arch && (image->is_ptx || image->arch / 10 == arch / 10);
}

static bool is_better(const struct dtc_gpu_image *image, const struct dtc_gpu_image *than)
{
	if (!than || image->is_ptx != than->is_ptx)
		return !than || than->is_ptx;
	return image->arch > than->arch;
}

static const struct dtc_gpu_image *best_of(const struct dtc_gpu_image *images,
					   size_t count, uint32_t arch)
{
	const struct dtc_gpu_image *best = NULL;

	for (size_t i = 0; i < count; i++)
		if (runs(&images[i], arch) && is_better(&images[i], best))
			best = &images[i];
	return best;
}

const struct dtc_gpu_image *dtc_gpu_image_for(uint32_t arch)
{
	return best_of(dtc_gpu_images, dtc_gpu_image_count, arch);
}

const struct dtc_gpu_image *dtc_gpu_typed_for(uint32_t arch)
{
	return best_of(dtc_gpu_typeds, dtc_gpu_typed_count, arch);
}

const struct dtc_gpu_image *dtc_gpu_resident_for(uint32_t arch)
{
	return best_of(dtc_gpu_residents, dtc_gpu_resident_count, arch);
}
