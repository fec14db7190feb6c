/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program of the build: it compiles the text of the GPU kernels for one architecture with NVRTC,
 * which needs no GPU. It is not part of the library.
 *
 * gpu_compile ARCH LIBNVRTC TEXT IMAGE [MACRO]   sm_90: a binary, compute_75: PTX; an empty IMAGE if NVRTC does not
 *                                                support the architecture; MACRO is defined
 * gpu_compile table NAME IMAGE...                C source of the table NAMEs of those images that are not empty
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *what, const char *name)
{
	fprintf(stderr, "gpu_compile: %s %s\n", what, name);
	return EXIT_FAILURE;
}

/*
 * ---- the part of NVRTC that is used
 * ---------------------------------------------------------------
 */

struct nvrtc {
	void *library;
	int (*count)(int *count);
	int (*archs)(int *archs);
	int (*create)(void **program, const char *source, const char *name, int headers,
		      const char *const *texts, const char *const *names);
	int (*compile)(void *program, int options, const char *const *texts);
	int (*log_size)(void *program, size_t *bytes);
	int (*log)(void *program, char *text);
	int (*cubin_size)(void *program, size_t *bytes);
	int (*cubin)(void *program, char *image);
	int (*ptx_size)(void *program, size_t *bytes);
	int (*ptx)(void *program, char *image);
};

/* POSIX allows the conversion of dlsym's result to a function pointer; ISO C does not. */
static bool find(void *library, const char *name, void *function)
{
	void *symbol = dlsym(library, name);

	memcpy(function, &symbol, sizeof(symbol));
	return symbol != NULL;
}

static bool open_nvrtc(const char *path, struct nvrtc *nvrtc)
{
	void *library = dlopen(path, RTLD_NOW);

	return library && find(library, "nvrtcGetNumSupportedArchs", &nvrtc->count) &&
	       find(library, "nvrtcGetSupportedArchs", &nvrtc->archs) &&
	       find(library, "nvrtcCreateProgram", &nvrtc->create) &&
	       find(library, "nvrtcCompileProgram", &nvrtc->compile) &&
	       find(library, "nvrtcGetProgramLogSize", &nvrtc->log_size) &&
	       find(library, "nvrtcGetProgramLog", &nvrtc->log) &&
	       find(library, "nvrtcGetCUBINSize", &nvrtc->cubin_size) &&
	       find(library, "nvrtcGetCUBIN", &nvrtc->cubin) &&
	       find(library, "nvrtcGetPTXSize", &nvrtc->ptx_size) &&
	       find(library, "nvrtcGetPTX", &nvrtc->ptx);
}

static bool knows(const struct nvrtc *nvrtc, int arch)
{
	int archs[256], count = 0;
	bool known = false;

	if (nvrtc->count(&count) || count > 256 || nvrtc->archs(archs))
		return false;
	for (int i = 0; i < count; i++)
		known |= archs[i] == arch;
	return known;
}

/* ---- images --------------------------------------------------------------------------------------- */

static char *read_text(const char *path)
{
	FILE *file = fopen(path, "r");
	long bytes = 0;
	char *text = NULL;

	if (file && !fseek(file, 0, SEEK_END) && (bytes = ftell(file)) >= 0 &&
	    !fseek(file, 0, SEEK_SET))
		text = calloc((size_t)bytes + 1, 1);
	if (text && fread(text, 1, (size_t)bytes, file) != (size_t)bytes) {
		free(text);
		text = NULL;
	}
	if (file)
		fclose(file);
	return text;
}

static void show_log(const struct nvrtc *nvrtc, void *program)
{
	size_t bytes = 0;
	char *text;

	if (nvrtc->log_size(program, &bytes) || bytes < 2 || !(text = calloc(bytes, 1)))
		return;
	if (!nvrtc->log(program, text))
		fprintf(stderr, "%s\n", text);
	free(text);
}

/*
 * The output for a real architecture is a binary; for a virtual one it is PTX, whose final NUL
 * is dropped.
 */
static char *made(const struct nvrtc *nvrtc, void *program, bool is_virtual, size_t *bytes)
{
	char *image = NULL;

	if (is_virtual ? nvrtc->ptx_size(program, bytes) : nvrtc->cubin_size(program, bytes))
		return NULL;
	image = malloc(*bytes);
	if (image && (is_virtual ? nvrtc->ptx(program, image) : nvrtc->cubin(program, image))) {
		free(image);
		return NULL;
	}
	*bytes -= is_virtual;
	return image;
}

static int write_image(const char *path, const char *image, size_t bytes)
{
	FILE *file = fopen(path, "wb");

	if (!file)
		return fail("cannot write", path);
	size_t written = bytes ? fwrite(image, 1, bytes, file) : 0;
	if (fclose(file) || written != bytes)
		return fail("cannot write", path);
	return EXIT_SUCCESS;
}

static int compile_text(const struct nvrtc *nvrtc, const char *arch, const char *text,
			const char *image_path, const char *macro)
{
	char option[64], definition[64];
	const char *const options[] = { option, "--std=c++11", definition };
	void *program = NULL;
	size_t bytes = 0;

	snprintf(option, sizeof(option), "--gpu-architecture=%s", arch);
	snprintf(definition, sizeof(definition), "-D%s", macro ? macro : "");
	if (nvrtc->create(&program, text, "dtconv.cu", 0, NULL, NULL))
		return fail("NVRTC takes no source for", arch);
	int status = nvrtc->compile(program, macro ? 3 : 2, options);
	show_log(nvrtc, program);
	char *image = status ? NULL : made(nvrtc, program, arch[0] == 'c', &bytes);
	if (!image)
		return fail("no image for", arch);
	status = write_image(image_path, image, bytes);
	free(image);
	return status;
}

static int compile(const char *arch, const char *library, const char *text_path,
		   const char *image_path, const char *macro)
{
	const char *number = strchr(arch, '_');
	struct nvrtc nvrtc;
	char *text;

	if (!open_nvrtc(library, &nvrtc))
		return fail("cannot use", library);
	if (!number || !knows(&nvrtc, atoi(number + 1)))
		return write_image(image_path, NULL, 0);
	text = read_text(text_path);
	if (!text)
		return fail("cannot read", text_path);
	int status = compile_text(&nvrtc, arch, text, image_path, macro);
	free(text);
	return status;
}

/* ---- the table ------------------------------------------------------------------------------------ */

static long size_of(const char *path)
{
	FILE *file = fopen(path, "rb");
	long bytes = file && !fseek(file, 0, SEEK_END) ? ftell(file) : -1;

	if (file)
		fclose(file);
	return bytes;
}

/* The name of the architecture in ".../image_sm_90.bin". */
static int arch_of(const char *path)
{
	const char *number = strrchr(path, '_');

	return number ? atoi(number + 1) : 0;
}

static bool is_ptx(const char *path)
{
	return strstr(path, "_compute_") != NULL;
}

/*
 * The assembler includes the files as they are, which spares the compiler megabytes of numbers.
 */
static void put_files(const char *name, char **paths)
{
	for (int i = 0; paths[i]; i++)
		printf("__asm__(\".pushsection .rodata\\n.balign 64\\n.hidden %s_%d\\n\"\n"
		       "\t\".globl %s_%d\\n%s_%d:\\n\"\n"
		       "\t\".incbin \\\"%s\\\"\\n.byte 0\\n.popsection\\n\");\n"
		       "extern const char %s_%d[] __attribute__((visibility(\"hidden\")));\n",
		       name, i, name, i, name, i, paths[i], name, i);
}

static int put_table(const char *name, char **paths)
{
	int count = 0;

	printf("/* SPDX-License-Identifier: BSD-3-Clause */\n/* Made by gpu_compile. */\n"
	       "#include \"kernels/images/images.h\"\n\n");
	put_files(name, paths);
	printf("\nconst struct dtc_gpu_image %ss[] = {\n", name);
	for (int i = 0; paths[i]; i++) {
		long bytes = size_of(paths[i]);

		if (bytes < 0)
			return fail("cannot read", paths[i]);
		if (bytes == 0)
			continue;
		printf("\t{ %d, %s, %s_%d, %ld },\n", arch_of(paths[i]),
		       is_ptx(paths[i]) ? "true" : "false", name, i, bytes);
		count++;
	}
	printf("\t{ 0, false, NULL, 0 }\n};\nconst size_t %s_count = %d;\n", name, count);
	return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "table"))
		return put_table(argv[2], argv + 3);
	if (argc == 5 || argc == 6)
		return compile(argv[1], argv[2], argv[3], argv[4], argv[5]);
	return fail("usage: ARCH LIBNVRTC TEXT IMAGE [MACRO], or", "table NAME IMAGE...");
}
