/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Channels over MPI. In a library of its own for each MPI: libdtconv-openmpi, libdtconv-mpich.
 */
#ifndef DTCONV_MPI_H
#define DTCONV_MPI_H

#include <stddef.h>

#include <mpi.h>

#include <dtconv/channel.h>
#include <dtconv/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dtconv_mpi;

/**
 * @defgroup mpi Channels over MPI
 * @brief Channels between processes of a communicator.
 *
 * A channel of @ref channel "Channels", whose headers and fragments are nonblocking messages
 * of MPI. It serves every network that MPI serves, and needs no CUDA-aware MPI: fragments are
 * in host memory, which is registered with the device.
 *
 * Link with one of the libraries: `pkg-config dtconv-openmpi` or `dtconv-mpich`, whichever is
 * the MPI of the program; `dtconv-mpi` is the first that libdtconv was built with.
 *
 * **Threads.** MPI is called by dtconv_engine_progress() and by the functions here. With
 * MPI_THREAD_MULTIPLE any thread may call them. With less, the thread that has called
 * dtconv_mpi_create() must call all of them, and the engine must not have a thread of its own.
 * The first progress by another thread ends its channels with DTCONV_ERR_STATE.
 *
 * **Progress.** MPI has no file descriptor: an engine that sleeps wakes up every 0.2 ms to
 * poll it. Messages of a channel move while both processes make progress.
 *
 * **Failures.** If a process of an MPI job is killed, MPI ends the job. A call of MPI that
 * fails ends the channel with DTCONV_ERR_PEER. All calls are made with MPI_ERRORS_RETURN.
 * @{
 */

/**
 * Duplicate a communicator for channels between its processes. Collective.
 *
 * @param engine the engine that makes progress with the channels; must outlive them.
 * @param comm   an intracommunicator; may be freed afterwards.
 * @param mpi    [out] the new object, owned by the caller.
 * @return 0; DTCONV_ERR_STATE if MPI is not initialised, or finalised, or the calling thread
 *         may not call it; DTCONV_ERR_INVAL for MPI_COMM_NULL and intercommunicators;
 *         DTCONV_ERR_BACKEND if MPI fails; DTCONV_ERR_NOMEM; DTCONV_ERR_LIMIT if the engine has
 *         DTCONV_ENGINE_SOURCES_MAX sources. After the communicator has been duplicated all
 *         processes fail if one does: those where nothing failed with DTCONV_ERR_PEER.
 *
 * Blocks until all processes of @p comm have called it.
 */
DTCONV_API int dtconv_mpi_create(struct dtconv_engine *engine, MPI_Comm comm,
				 struct dtconv_mpi **mpi);

/**
 * Create a channel to a process of the communicator.
 *
 * @param mpi     the object.
 * @param rank    of the process; may be the own one.
 * @param params  [in] options, copied; NULL for the defaults. DTCONV_CHANNEL_ANY_USER has no
 *                effect, transport is ignored, fragment_bytes is at most INT_MAX.
 * @param channel [out] the new channel, owned by the caller. It must be destroyed before
 *                @p mpi.
 * @return 0; DTCONV_ERR_INVAL if there is no such rank or an option has an undefined value;
 *         DTCONV_ERR_STATE if the calling thread may not call MPI; DTCONV_ERR_NOMEM;
 *         DTCONV_ERR_LIMIT if the engine has DTCONV_ENGINE_SOURCES_MAX sources, or if so many
 *         channels to this rank were made that no tags are left (at least 31, also destroyed
 *         ones; with Open MPI and MPICH many thousands).
 *
 * The other process must do the same with this rank: the first call there is the other end
 * of the first call here, and so on. One call with the own rank makes both ends: what is sent
 * there is received there. Does not wait for the other process, but blocks while staging
 * memory is allocated and registered.
 */
DTCONV_API int dtconv_mpi_connect(struct dtconv_mpi *mpi, int rank,
				  const struct dtconv_channel_params *params,
				  struct dtconv_channel **channel);

/** Numbers of such an object. */
struct dtconv_mpi_attr {
	size_t struct_size; /**< sizeof(struct dtconv_mpi_attr), set by the caller */
	int rank;           /**< of this process */
	int size;           /**< number of processes */
	int thread_level; /**< of MPI: MPI_THREAD_SINGLE, FUNNELED, SERIALIZED or MULTIPLE */
	size_t channels; /**< that are not destroyed */
	size_t leaving; /**< that are destroyed and have not heard of the peer's end yet */
};

/**
 * Read the numbers.
 *
 * @param mpi  the object.
 * @param attr [in,out] struct_size set by the caller, the rest filled in.
 * @return 0; DTCONV_ERR_INVAL if struct_size is 0.
 *
 * Does not block, does not call MPI. Callable from any thread.
 */
DTCONV_API int dtconv_mpi_query(struct dtconv_mpi *mpi, struct dtconv_mpi_attr *attr);

/**
 * Free the communicator. Collective.
 *
 * @param mpi the object, or NULL.
 * @return 0; DTCONV_ERR_STATE if channels are not destroyed, MPI is finalised, the calling
 *         thread may not call MPI, or it is called from a callback of the engine (nothing
 *         happened).
 *
 * Blocks until all processes have called it and have destroyed their channels. No other call
 * of the object may run.
 */
DTCONV_API int dtconv_mpi_destroy(struct dtconv_mpi *mpi);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
