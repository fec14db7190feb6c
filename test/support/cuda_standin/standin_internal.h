/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the files of the stand-in: the objects behind the driver's handles, the frame of an
 * entry point, and a few functions of each subject. One mutex protects everything; an entry
 * point holds it from enter to leave.
 */
#ifndef TEST_SUPPORT_CUDA_STANDIN_INTERNAL_H
#define TEST_SUPPORT_CUDA_STANDIN_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All versions of all entry points, as symbols and not as macros. */
#define __CUDA_API_VERSION_INTERNAL
#pragma GCC visibility push(default)
#include <cuda.h>
#include "support/cuda_standin/standin.h"
#pragma GCC visibility pop

/* ---- Frames of entry points (standin_control.c) ---- */

enum standin_needs {
	ANYTIME = 1,       /* works before cuInit */
	NEEDS_CONTEXT = 2, /* a current context, alive and without error */
	UNSAFE_IN_CAPTURE =
		4, /* refused, and ends captures, unless the thread is relaxed */
};

struct standin_entry {
	const char *name; /* with version */
	struct standin_tally *tally;
};

/* Takes the mutex, whatever it answers; leave gives it back. */
CUresult standin_enter(struct standin_entry *entry, unsigned needs, bool per_thread);
void standin_leave(void);

#define STANDIN_FRAME(symbol, body, entry_name, needs, per_thread, parameters, \
		      arguments)                                               \
	CUresult symbol parameters                                             \
	{                                                                      \
		static struct standin_entry entry = { entry_name, NULL };      \
		CUresult result = standin_enter(&entry, needs, per_thread);    \
		if (result == CUDA_SUCCESS)                                    \
			result = body arguments;                               \
		standin_leave();                                               \
		return result;                                                 \
	}

/* An entry point: what follows is its body, run under the mutex. */
#define ENTRY(name, needs, parameters, arguments)                                    \
	static CUresult name##_body parameters;                                      \
	STANDIN_FRAME(name, name##_body, #name, needs, false, parameters, arguments) \
	static CUresult name##_body parameters

/* The same with a twin whose NULL stream is the thread's own. */
#define STREAM_ENTRY(name, suffix, needs, parameters, arguments)                     \
	static CUresult name##_body parameters;                                      \
	STANDIN_FRAME(name, name##_body, #name, needs, false, parameters, arguments) \
	STANDIN_FRAME(name##suffix, name##_body, #name, needs, true, parameters,     \
		      arguments)                                                     \
	static CUresult name##_body parameters

extern pthread_mutex_t standin_mutex;
extern pthread_cond_t standin_changed; /* anything that somebody may wait for */

long standin_get(enum standin_option option);
bool standin_is_absent(const char *entry);
extern bool standin_initialised;
extern _Thread_local bool standin_per_thread; /* the running call's NULL stream */
extern _Thread_local bool standin_in_callback;
uint64_t standin_random(void);
uint64_t standin_now_ns(void);

/* The application has done what would crash it on a real driver: says so and ends the process. */
_Noreturn void standin_crash(const char *entry, const char *why);

/* ---- Objects (standin_object.c) ---- */

enum standin_kind {
	OBJECT_CONTEXT = 0x5ca0,
	OBJECT_STREAM,
	OBJECT_EVENT,
	OBJECT_MODULE,
	OBJECT_FUNCTION,
	OBJECT_LIBRARY,
	OBJECT_KERNEL,
	OBJECT_GRAPH,
	OBJECT_GRAPH_NODE,
	OBJECT_GRAPH_EXEC,
	OBJECT_POOL,
	OBJECT_PHYSICAL,
};

/* Handles of dead objects stay readable until reset, so that their use is noticed. */
struct standin_object {
	enum standin_kind kind;
	bool alive;
	bool counts; /* a leak if it stays */
	struct standin_object *next;
};

void *standin_object(enum standin_kind kind, size_t bytes, bool counts);
bool standin_alive(const void *object, enum standin_kind kind);
/* Dead or of another kind: the process ends, as it does on a real driver. */
void standin_insist(const void *object, enum standin_kind kind, const char *what);
extern struct standin_object *standin_objects;

/* The control interface's leaks (standin_leaks.c). */
size_t standin_leaks(char *text, size_t size);

/* ---- Contexts (standin_context.c) ---- */

#define PEERS_MAX 16

struct CUctx_st {
	struct standin_object object;
	int device;
	bool primary;
	bool active;
	unsigned references; /* of a primary context */
	unsigned flags;
	unsigned long long id; /* another one each time a primary context comes to life */
	CUresult error;        /* sticky */
	CUstream legacy;
	CUcontext peers[PEERS_MAX]; /* whose memory our kernels may touch */
};

CUcontext standin_current(void);
CUresult standin_usable(CUcontext context);
void standin_poison(CUcontext context, CUresult error);
void standin_context_reset(void);
size_t standin_context_leaks(void (*report)(const char *text, void *arg), void *arg);

/* ---- Memory (standin_region.c) ---- */

enum region_kind {
	REGION_DEVICE,
	REGION_HOST,
	REGION_REGISTERED,
	REGION_MANAGED,
	REGION_ASYNC,
	REGION_MAPPED, /* virtual memory management */
	REGION_IMPORTED,
};

/* Memory that stands behind addresses: a file in memory, and where jobs see it. */
struct standin_physical {
	struct standin_object object;
	int descriptor; /* -1: closed, nothing will be mapped again */
	uint64_t file;  /* its number, also where it is closed */
	size_t bytes;
	unsigned char *alias;
	CUmemAllocationProp properties;
	unsigned handles; /* held by the application */
	unsigned mappings;
	unsigned long long block_id;
};

struct standin_region {
	CUdeviceptr base;
	size_t bytes;
	enum region_kind kind;
	int device;
	CUcontext context; /* NULL: of none */
	unsigned long long buffer_id;
	unsigned char *alias;
	struct standin_physical *physical;
	CUdeviceptr pages; /* the whole pages of it, and their bytes; 0: the host's own */
	size_t pages_bytes;
	CUmemoryPool pool;
	unsigned flags; /* of the call that made it */
	bool freed;     /* in stream order: no new work may use it */
	bool sync_memops;
	bool host_access; /* a mapping that the application may touch */
	unsigned opens;   /* of an imported handle */
	CUmemAccess_flags access[STANDIN_DEVICES_MAX];
};

struct standin_reservation {
	CUdeviceptr base;
	size_t bytes;
};

struct standin_region *standin_region_at(CUdeviceptr address);
struct standin_region *standin_region_next(const struct standin_region *region);
/* Adds a copy, which has a new buffer id; pointers to other regions are void from then on. */
struct standin_region *standin_region_add(const struct standin_region *region);
/* Forgets it, and gives its pages and its physical memory back. */
void standin_region_drop(struct standin_region *region);
void standin_region_drop_all(CUcontext context);
size_t standin_region_count(void);
struct standin_region *standin_region_index(size_t index);

/* Addresses of devices: those that no region and no reservation has. 0: none left. */
CUdeviceptr standin_arena_find(size_t bytes, size_t alignment);
bool standin_arena_owns(CUdeviceptr address);
struct standin_reservation *standin_reservation_at(CUdeviceptr address);
bool standin_reserve(CUdeviceptr base, size_t bytes);
void standin_unreserve(struct standin_reservation *reservation);
size_t standin_reservation_count(void);

struct standin_physical *standin_physical_create(size_t bytes, int device);
/* Memory that another one has exported; the descriptor becomes the callee's. */
struct standin_physical *standin_physical_import(int descriptor);
void standin_physical_put(struct standin_physical *physical);
size_t standin_used_bytes(int device);

/* Device memory at a new address, not readable by the application. */
CUresult standin_device_memory(enum region_kind kind, int device, size_t bytes,
			       struct standin_region **region);
/* The same memory at a second address. */
CUresult standin_device_memory_again(const struct standin_region *source,
				     enum region_kind kind,
				     struct standin_region **region);
/* What one process tells another of memory of cuMemAlloc. */
struct standin_foreign {
	unsigned long long buffer_id; /* in the process that owns it */
	CUdeviceptr address;          /* there */
	uint64_t file;                /* number of the file behind it */
	uint64_t bytes;
	uint32_t offset; /* of the memory in the file */
	int32_t descriptor;
	pid_t process;
};

/* Gives the memory a file that others can open. NULL: it is freed, or there is no memory. May wait for work. */
struct standin_region *standin_region_export(CUdeviceptr address);
/* The memory of another process, mapped here. */
CUresult standin_region_import(const struct standin_foreign *foreign,
			       struct standin_region **region);
/* Sets what the application and running kernels may do with the pages of a region. */
void standin_protect(const struct standin_region *region);
/* Maps pages of a region where the application sees them; no access but for managed memory. */
bool standin_map_pages(const struct standin_region *region, size_t offset);

/* Where a job finds the byte at an address, and how many bytes follow there. NULL: nowhere. */
unsigned char *standin_translate(CUdeviceptr address, size_t *bytes);
/* Whether all bytes may be named in a copy; `device` refuses memory that CUDA does not know. */
bool standin_reachable(CUdeviceptr address, size_t bytes, bool device);

bool standin_pages(CUdeviceptr address, size_t bytes, struct standin_pages *pages);

/* Whether a context's kernels may touch device memory. */
bool standin_may_touch(CUcontext context, const struct standin_region *region);
/* Lets the calling thread, and while it lasts every other, touch what a context's kernels may. */
void standin_open_memory(CUcontext context);
void standin_close_memory(void);
void standin_region_reset(void);

/* ---- Work (standin_scheduler.c) ---- */

struct standin_ticket {
	bool done;
	unsigned references;
	uint64_t time_ns;
};

struct standin_op {
	struct standin_op *next;
	CUstream stream;
	uint64_t sequence; /* in order of submission, over all streams */
	uint64_t due_ns;   /* 0: not yet at the head of its stream */
	bool is_kernel;
	bool is_wait_value;
	bool is_host_call;
	bool is_synchronous; /* the submitter waits for it, and may run it */
	bool running;                         /* with the mutex released */
	bool started;                         /* on a thread of its own */
	bool finished;                        /* there */
	bool (*ready)(struct standin_op *op); /* NULL: always */
	void (*run)(struct standin_op *op);   /* under the mutex */
	void (*drop)(struct standin_op *op);  /* NULL: nothing is held */
	size_t bytes;
	_Alignas(16) unsigned char payload[];
};

struct standin_capture;

struct CUstream_st {
	struct standin_object object;
	CUcontext context;
	unsigned long long context_id;
	unsigned flags;
	int priority;
	unsigned long long id;
	bool is_legacy;
	const void *thread; /* the per-thread stream of this one */
	struct standin_op *first;
	struct standin_op *last;
	size_t count; /* of its work */
	struct standin_capture *capture;
	unsigned capture_slot;
	CUstream next; /* of all streams alive */
};

extern CUstream standin_streams;

/* A NULL payload is zeros. */
struct standin_op *standin_op(const void *payload, size_t bytes,
			      void (*run)(struct standin_op *op));
/* Queues it, or records it if the stream is captured. The op is the callee's, whatever happens. */
CUresult standin_submit(CUstream stream, struct standin_op *op);
void standin_submit_plain(CUstream stream, struct standin_op *op);
struct standin_op *standin_op_copy(const struct standin_op *op);
void standin_op_free(struct standin_op *op);
/* Runs one operation, or sleeps until something has changed. Called with the mutex held. */
void standin_await_change(void);
/* Until everything submitted to it so far is done. */
CUresult standin_wait_stream(CUstream stream);
CUresult standin_wait_context(CUcontext context);
void standin_wait_device(int device);
void standin_drop_work(CUstream stream);
void standin_scheduler_reset(void);
void standin_scheduler_forked(void);

/* ---- Exports (standin_vmm.c) ---- */

/* Descriptors that the application got and has not closed. */
void standin_descriptor_given(int descriptor);
void standin_descriptor_leaks(void (*report)(const char *text, void *arg), void *arg);
void standin_descriptor_reset(void);

bool standin_pool_allows(CUmemoryPool pool, int device);
void standin_pool_reset(void);

/* ---- Streams, events, captures ---- */

struct CUevent_st {
	struct standin_object object;
	CUcontext context;
	unsigned long long context_id;
	unsigned flags;
	struct standin_ticket *ticket; /* of the last record */
	unsigned long long
		capture_id;      /* of the capture that recorded it last; 0: none did */
	unsigned *capture_clock; /* how much of each captured stream it stands for */
};

/* The stream that a handle means, its context alive and without error. */
CUresult standin_stream_of(CUstream handle, CUstream *stream);
CUstream standin_stream_create(CUcontext context, unsigned flags, int priority,
			       bool counts);
void standin_stream_destroy(CUstream stream); /* its work is thrown away */
const void *standin_thread(void);
CUresult standin_event_of(CUevent event);
void standin_ticket_put(struct standin_ticket *ticket);

/* Whether an unsafe call may go on; if not, the captures in its way are invalid. */
CUresult standin_capture_allows(void);
/* Work that spans the context ends its captures, and is refused. */
CUresult standin_capture_span(CUcontext context);
CUresult standin_capture_op(CUstream stream, struct standin_op *op);
CUresult standin_capture_record(CUstream stream, CUevent event);
CUresult standin_capture_wait(CUstream stream, CUevent event);
/* A call that has no meaning in a capture: it is refused, and the capture is invalid. */
CUresult standin_capture_refuse(CUstream stream);
/* The legacy stream cannot be used while a stream that waits for it is captured. */
CUresult standin_capture_implicit(CUstream stream);
void standin_capture_forget(CUstream stream);
void standin_capture_reset(void);

/* ---- Kernels (standin_kernel.c) ---- */

struct CUmod_st {
	struct standin_object object;
	CUcontext context;
	unsigned long long context_id;
	CUlibrary library; /* it belongs to, or NULL */
	void *object_for_host; /* a loaded object with the module's one kernel, or NULL */
	int object_file;
	struct standin_kernel kernel;
};

const struct standin_kernel *standin_kernel_find(const char *name, size_t *params_bytes);
void standin_add_kernel(const struct standin_kernel *kernel);
int standin_run_guarded(const char *name, const struct standin_kernel *kernel,
			const void *params, uint32_t grid, uint32_t block,
			size_t shared_bytes);

#endif
