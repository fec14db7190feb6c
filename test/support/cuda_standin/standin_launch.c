/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Modules, libraries, functions and launches. An image is any bytes, or a fat binary that has something
 * for the device; a function exists if the kernels' table knows its name. A kernel has one by-value
 * parameter.
 */
#include "config.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/cuda_standin/standin_graph.h"
#include "support/fat_binary.h"
#include "support/special_object.h"

#define NAME_BYTES   128
#define STATIC_LIMIT 49152  /* bytes of shared memory without asking for more */
#define OPTIN_LIMIT  232448 /* after asking */

struct CUfunc_st {
	struct standin_object object;
	CUmodule module;
	const struct standin_kernel *kernel;
	char name[NAME_BYTES];
	size_t params_bytes;
	int dynamic_limit;
};

struct CUlib_st {
	struct standin_object object;
};

struct CUkern_st {
	struct standin_object object;
	CUlibrary library;
	const struct standin_kernel *kernel;
	char name[NAME_BYTES];
	size_t params_bytes;
};

/* ---- Modules ---- */

/* An image may hold an object for the host: the one kernel of that module. */
static void open_object(CUmodule module, const void *image)
{
	const struct special_image *object = image;
	char path[40];
	if (strcmp(object->word, SPECIAL_IMAGE_WORD))
		return;
	int file = memfd_create("kernel", MFD_CLOEXEC);
	if (file < 0 || write(file, object + 1, object->bytes) != (ssize_t)object->bytes)
		standin_crash("memfd_create", "no memory for an object");
	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	module->object_for_host = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	module->object_file = file; /* open: the linker knows objects by their paths */
	if (!module->object_for_host)
		standin_crash("dlopen", dlerror());
	*(void **)&module->kernel.run =
		dlsym(module->object_for_host, "shim_special_run");
	module->kernel.params_bytes = *(const size_t *)dlsym(module->object_for_host,
							     "shim_special_params_bytes");
}

static const struct standin_kernel *find_kernel(CUmodule module, const char *name,
						size_t *params_bytes)
{
	if (!module->object_for_host)
		return standin_kernel_find(name, params_bytes);
	*params_bytes = module->kernel.params_bytes;
	return &module->kernel;
}

static CUmodule new_module(CUcontext context, CUlibrary library)
{
	CUmodule module = standin_object(OBJECT_MODULE, sizeof *module, !library);
	module->context = context;
	module->context_id = context->id;
	module->library = library;
	return module;
}

/* The function of that name in a module: the same handle each time. */
static CUresult get_function(CUfunction *function, CUmodule module, const char *name)
{
	for (struct standin_object *object = standin_objects; object;
	     object = object->next) {
		CUfunction found = (CUfunction)object;
		if (object->kind != OBJECT_FUNCTION || !object->alive ||
		    found->module != module || strcmp(found->name, name))
			continue;
		*function = found;
		return CUDA_SUCCESS;
	}
	size_t params_bytes;
	const struct standin_kernel *kernel = find_kernel(module, name, &params_bytes);
	if (!kernel || strlen(name) >= NAME_BYTES)
		return CUDA_ERROR_NOT_FOUND;
	CUfunction made = standin_object(OBJECT_FUNCTION, sizeof *made, false);
	made->module = module;
	made->kernel = kernel;
	made->params_bytes = params_bytes;
	made->dynamic_limit = STATIC_LIMIT;
	strcpy(made->name, name);
	*function = made;
	return CUDA_SUCCESS;
}

static void destroy_module(CUmodule module)
{
	for (struct standin_object *object = standin_objects; object;
	     object = object->next)
		if (object->kind == OBJECT_FUNCTION &&
		    ((CUfunction)object)->module == module)
			object->alive = false;
	if (module->object_for_host) {
		dlclose(module->object_for_host);
		close(module->object_file);
	}
	module->object_for_host = NULL;
	module->object.alive = false;
}

static void insist_module(CUmodule module)
{
	standin_insist(module, OBJECT_MODULE, "a module's handle");
	if (module && module->context_id != module->context->id)
		standin_crash("a module's handle", "its context is destroyed");
}

/* Binaries run on their own minor version and later ones, PTX on anything later. */
static bool runs(const struct fat_entry *entry)
{
	const uint32_t compute = (uint32_t)standin_get(STANDIN_COMPUTE);
	return entry->arch <= compute &&
	       (entry->kind == FAT_PTX || entry->arch / 10 == compute / 10);
}

static bool fat_runs(const void *image)
{
	struct fat_entry entry;
	uint64_t offset = 0;
	while (fat_entry_at(image, offset, &entry)) {
		if (runs(&entry))
			return true;
		offset += entry.head_bytes + entry.bytes;
	}
	return false;
}

/* An image that begins with these words is one for another device; a fat binary tells. */
static CUresult check_image(const void *image)
{
	if (!image)
		return CUDA_ERROR_INVALID_VALUE;
	if (fat_is(image) ? !fat_runs(image) : !strncmp(image, "no binary", 9))
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	return CUDA_SUCCESS;
}

/* Waits for what runs on the device, as the driver does. */
static CUresult load(CUmodule *module, const void *image)
{
	CUcontext context = standin_current();
	CUresult result = module ? check_image(image) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	standin_wait_device(context->device);
	result = standin_usable(context);
	if (result)
		return result;
	*module = new_module(context, NULL);
	open_object(*module, image);
	return CUDA_SUCCESS;
}

ENTRY(cuModuleLoadData, NEEDS_CONTEXT | UNSAFE_IN_CAPTURE,
      (CUmodule * module, const void *image), (module, image))
{
	return load(module, image);
}

ENTRY(cuModuleLoadDataEx, NEEDS_CONTEXT | UNSAFE_IN_CAPTURE,
      (CUmodule * module, const void *image, unsigned count, CUjit_option *options,
       void **values),
      (module, image, count, options, values))
{
	return count && (!options || !values) ? CUDA_ERROR_INVALID_VALUE
					      : load(module, image);
}

ENTRY(cuModuleLoadFatBinary, NEEDS_CONTEXT | UNSAFE_IN_CAPTURE,
      (CUmodule * module, const void *image), (module, image))
{
	return load(module, image);
}

ENTRY(cuModuleUnload, NEEDS_CONTEXT | UNSAFE_IN_CAPTURE, (CUmodule module), (module))
{
	if (!module)
		return CUDA_ERROR_INVALID_VALUE;
	insist_module(module);
	if (module->library)
		return CUDA_ERROR_NOT_PERMITTED;
	standin_wait_device(module->context->device);
	destroy_module(module);
	return standin_current()->error;
}

ENTRY(cuModuleGetFunction, NEEDS_CONTEXT,
      (CUfunction * function, CUmodule module, const char *name),
      (function, module, name))
{
	if (!function || !module || !name)
		return CUDA_ERROR_INVALID_VALUE;
	insist_module(module);
	return get_function(function, module, name);
}

/* ---- Libraries: modules of every context, made when they are asked for ---- */

ENTRY(cuLibraryLoadData, UNSAFE_IN_CAPTURE,
      (CUlibrary * library, const void *code, CUjit_option *options, void **values,
       unsigned count, CUlibraryOption *library_options, void **library_values,
       unsigned library_count),
      (library, code, options, values, count, library_options, library_values,
       library_count))
{
	if (!library || (count && (!options || !values)) ||
	    (library_count && (!library_options || !library_values)))
		return CUDA_ERROR_INVALID_VALUE;
	CUresult result = check_image(code);
	if (result == CUDA_SUCCESS)
		*library = standin_object(OBJECT_LIBRARY, sizeof(struct CUlib_st), true);
	return result;
}

ENTRY(cuLibraryUnload, UNSAFE_IN_CAPTURE, (CUlibrary library), (library))
{
	if (!library)
		return CUDA_ERROR_INVALID_VALUE;
	standin_insist(library, OBJECT_LIBRARY, "a library's handle");
	for (int i = 0; i < STANDIN_DEVICES_MAX; i++)
		standin_wait_device(i);
	for (struct standin_object *object = standin_objects; object;
	     object = object->next) {
		if (object->kind == OBJECT_KERNEL &&
		    ((CUkernel)object)->library == library)
			object->alive = false;
		if (object->kind == OBJECT_MODULE && object->alive &&
		    ((CUmodule)object)->library == library)
			destroy_module((CUmodule)object);
	}
	library->object.alive = false;
	return CUDA_SUCCESS;
}

ENTRY(cuLibraryGetKernel, 0, (CUkernel * kernel, CUlibrary library, const char *name),
      (kernel, library, name))
{
	if (!kernel || !library || !name)
		return CUDA_ERROR_INVALID_VALUE;
	standin_insist(library, OBJECT_LIBRARY, "a library's handle");
	size_t params_bytes;
	const struct standin_kernel *found = standin_kernel_find(name, &params_bytes);
	if (!found || strlen(name) >= NAME_BYTES)
		return CUDA_ERROR_NOT_FOUND;
	CUkernel made = standin_object(OBJECT_KERNEL, sizeof *made, false);
	made->library = library;
	made->kernel = found;
	made->params_bytes = params_bytes;
	strcpy(made->name, name);
	*kernel = made;
	return CUDA_SUCCESS;
}

static CUmodule module_of(CUlibrary library, CUcontext context)
{
	for (struct standin_object *object = standin_objects; object;
	     object = object->next) {
		CUmodule module = (CUmodule)object;
		if (object->kind == OBJECT_MODULE && object->alive &&
		    module->library == library && module->context == context &&
		    module->context_id == context->id)
			return module;
	}
	return new_module(context, library);
}

ENTRY(cuLibraryGetModule, NEEDS_CONTEXT, (CUmodule * module, CUlibrary library),
      (module, library))
{
	if (!module || !library)
		return CUDA_ERROR_INVALID_VALUE;
	standin_insist(library, OBJECT_LIBRARY, "a library's handle");
	*module = module_of(library, standin_current());
	return CUDA_SUCCESS;
}

ENTRY(cuKernelGetFunction, NEEDS_CONTEXT, (CUfunction * function, CUkernel kernel),
      (function, kernel))
{
	if (!function || !kernel)
		return CUDA_ERROR_INVALID_VALUE;
	standin_insist(kernel, OBJECT_KERNEL, "a kernel's handle");
	return get_function(function, module_of(kernel->library, standin_current()),
			    kernel->name);
}

/* ---- Functions ---- */

static void insist_function(CUfunction function)
{
	standin_insist(function, OBJECT_FUNCTION, "a function's handle");
	insist_module(function->module);
}

ENTRY(cuFuncGetAttribute, NEEDS_CONTEXT,
      (int *value, CUfunction_attribute attribute, CUfunction function),
      (value, attribute, function))
{
	if (!value || !function || attribute >= CU_FUNC_ATTRIBUTE_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	insist_function(function);
	*value = 0;
	if (attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
		*value = 1024;
	else if (attribute == CU_FUNC_ATTRIBUTE_NUM_REGS)
		*value = 32;
	else if (attribute == CU_FUNC_ATTRIBUTE_PTX_VERSION ||
		 attribute == CU_FUNC_ATTRIBUTE_BINARY_VERSION)
		*value = (int)standin_get(STANDIN_COMPUTE);
	else if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
		*value = function->dynamic_limit;
	return CUDA_SUCCESS;
}

ENTRY(cuFuncSetAttribute, NEEDS_CONTEXT,
      (CUfunction function, CUfunction_attribute attribute, int value),
      (function, attribute, value))
{
	if (!function)
		return CUDA_ERROR_INVALID_VALUE;
	insist_function(function);
	if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
		return value < -1 || value > 100 ? CUDA_ERROR_INVALID_VALUE
						 : CUDA_SUCCESS;
	if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 ||
	    value > OPTIN_LIMIT)
		return CUDA_ERROR_INVALID_VALUE;
	function->dynamic_limit = value;
	return CUDA_SUCCESS;
}

static CUresult occupancy(int *blocks, CUfunction function, int threads,
			  size_t shared_bytes)
{
	if (!blocks || !function || threads <= 0 || threads > 1024 ||
	    shared_bytes > OPTIN_LIMIT)
		return CUDA_ERROR_INVALID_VALUE;
	insist_function(function);
	const int by_threads = 2048 / ((threads + 31) / 32 * 32);
	const int by_shared = (int)(233472 / (shared_bytes + 1024));
	*blocks = by_threads < by_shared ? by_threads : by_shared;
	*blocks = *blocks < 32 ? *blocks : 32;
	return CUDA_SUCCESS;
}

ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessor, NEEDS_CONTEXT,
      (int *blocks, CUfunction function, int threads, size_t shared_bytes),
      (blocks, function, threads, shared_bytes))
{
	return occupancy(blocks, function, threads, shared_bytes);
}

ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, NEEDS_CONTEXT,
      (int *blocks, CUfunction function, int threads, size_t shared_bytes,
       unsigned flags),
      (blocks, function, threads, shared_bytes, flags))
{
	return flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE
		       ? CUDA_ERROR_INVALID_VALUE
		       : occupancy(blocks, function, threads, shared_bytes);
}

/* ---- Launches ---- */

struct launch {
	const struct standin_kernel *kernel;
	uint32_t grid;
	uint32_t block;
	size_t shared_bytes;
	char name[NAME_BYTES];
	_Alignas(16) unsigned char params[];
};

static bool kernel_is_done(struct standin_op *op)
{
	const struct launch *launch = (const struct launch *)op->payload;
	return launch->kernel->done(launch->params);
}

/* Called, and returns, with the mutex; the kernel runs without. */
static void run_now(struct standin_op *op)
{
	const struct launch *launch = (const struct launch *)op->payload;
	CUcontext context = op->stream->context;
	standin_open_memory(context);
	pthread_mutex_unlock(&standin_mutex);
	const int result = standin_run_guarded(launch->name, launch->kernel,
					       launch->params, launch->grid,
					       launch->block, launch->shared_bytes);
	pthread_mutex_lock(&standin_mutex);
	standin_close_memory();
	if (result)
		standin_poison(context, CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void *run_resident(void *arg)
{
	struct standin_op *op = arg;
	pthread_mutex_lock(&standin_mutex);
	run_now(op);
	op->finished = true;
	pthread_cond_broadcast(&standin_changed);
	pthread_mutex_unlock(&standin_mutex);
	return NULL;
}

static void run_launch(struct standin_op *op)
{
	const struct launch *launch = (const struct launch *)op->payload;
	if (!launch->kernel->resident) {
		op->running = true;
		run_now(op);
		op->running = false;
		return;
	}
	pthread_t thread;
	if (pthread_create(&thread, NULL, run_resident, op))
		standin_crash("pthread_create", "no thread for a resident kernel");
	pthread_detach(thread);
	op->started = true;
}

/* The parameters of a launch: in an array of pointers to them, or in a buffer. */
static const void *find_params(size_t bytes, void **params, void **extra)
{
	const void *buffer = NULL;
	size_t buffer_bytes = 0;
	if (params)
		return extra ? NULL : params[0];
	for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
		if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
			buffer = extra[1];
		else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
			buffer_bytes = *(size_t *)extra[1];
		else
			return NULL;
	}
	return buffer_bytes == bytes ? buffer : NULL;
}

static bool lawful_shape(const CUlaunchConfig *config, int dynamic_limit)
{
	const uint64_t threads =
		(uint64_t)config->blockDimX * config->blockDimY * config->blockDimZ;
	return config->gridDimX && config->gridDimX <= 0x7fffffff && config->gridDimY &&
	       config->gridDimY <= 65535 && config->gridDimZ &&
	       config->gridDimZ <= 65535 && threads && threads <= 1024 &&
	       config->blockDimZ <= 64 &&
	       config->sharedMemBytes <= (unsigned)dynamic_limit;
}

static struct standin_op *launch_op(const struct standin_kernel *kernel, const char *name,
				    const CUlaunchConfig *config, const void *params,
				    size_t bytes)
{
	struct standin_op *op =
		standin_op(NULL, sizeof(struct launch) + bytes, run_launch);
	struct launch *launch = (struct launch *)op->payload;
	launch->kernel = kernel;
	launch->grid = config->gridDimX;
	launch->block = config->blockDimX;
	launch->shared_bytes = config->sharedMemBytes;
	strcpy(launch->name, name);
	memcpy(launch->params, params, bytes);
	op->is_kernel = true;
	op->ready = kernel->done ? kernel_is_done : NULL;
	return op;
}

CUresult standin_launch_of(const CUDA_KERNEL_NODE_PARAMS *params, struct standin_op **op)
{
	CUfunction function = params->func;
	const CUlaunchConfig config = { .gridDimX = params->gridDimX,
					.gridDimY = params->gridDimY,
					.gridDimZ = params->gridDimZ,
					.blockDimX = params->blockDimX,
					.blockDimY = params->blockDimY,
					.blockDimZ = params->blockDimZ,
					.sharedMemBytes = params->sharedMemBytes };

	if (!function)
		return CUDA_ERROR_INVALID_VALUE;
	insist_function(function);
	const void *bytes =
		find_params(function->params_bytes, params->kernelParams, params->extra);
	if (!bytes || !lawful_shape(&config, function->dynamic_limit))
		return CUDA_ERROR_INVALID_VALUE;
	*op = launch_op(function->kernel, function->name, &config, bytes,
			function->params_bytes);
	return CUDA_SUCCESS;
}

/* A launch takes a function of the stream's context, or a kernel of a library. */
static CUresult submit_launch(const CUlaunchConfig *config, CUfunction function,
			      void **params, void **extra)
{
	CUstream stream;
	CUresult result = standin_stream_of(config->hStream, &stream);
	if (result || !function)
		return result ? result : CUDA_ERROR_INVALID_HANDLE;
	if (standin_alive(function, OBJECT_KERNEL)) {
		CUkernel kernel = (CUkernel)function;
		result = get_function(&function,
				      module_of(kernel->library, stream->context),
				      kernel->name);
		if (result)
			return result;
	}
	insist_function(function);
	if (function->module->context != stream->context)
		return CUDA_ERROR_INVALID_HANDLE;
	const void *bytes = find_params(function->params_bytes, params, extra);
	if (!bytes || !lawful_shape(config, function->dynamic_limit))
		return CUDA_ERROR_INVALID_VALUE;
	if (config->gridDimY * config->gridDimZ * config->blockDimY * config->blockDimZ !=
	    1)
		return CUDA_ERROR_NOT_SUPPORTED; /* the table's kernels have one dimension */
	return standin_submit(stream, launch_op(function->kernel, function->name, config,
						bytes, function->params_bytes));
}

STREAM_ENTRY(cuLaunchKernel, _ptsz, 0,
	     (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
	      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
	      CUstream stream, void **params, void **extra),
	     (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes,
	      stream, params, extra))
{
	const CUlaunchConfig config = { grid_x,  grid_y,       grid_z, block_x, block_y,
					block_z, shared_bytes, stream, NULL,    0 };
	return submit_launch(&config, function, params, extra);
}

STREAM_ENTRY(cuLaunchKernelEx, _ptsz, 0,
	     (const CUlaunchConfig *config, CUfunction function, void **params,
	      void **extra),
	     (config, function, params, extra))
{
	if (!config || (config->numAttrs && !config->attrs))
		return CUDA_ERROR_INVALID_VALUE;
	return submit_launch(config, function, params, extra);
}
