/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The public functions: a duplicated communicator, and channels over it.
 */
#include "config.h"

#include "link.h"

#include <limits.h>
#include <sched.h>
#include <string.h>

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "transport_glue/engine.h"

/* ---- creating -------------------------------------------------------------------------- */

/* Whether MPI can be called, and by this thread. */
static int check_mpi(struct dtconv_context *context, int *level, const char *caller)
{
	int is_initialized = 0, is_finalized = 0, is_main = 0;

	(void)MPI_Initialized(&is_initialized);
	(void)MPI_Finalized(&is_finalized);
	if (!is_initialized || is_finalized)
		return DTC_FAIL(context, DTCONV_ERR_STATE, "%s: MPI is %s", caller,
				is_finalized ? "finalised already" : "not initialised");
	(void)MPI_Query_thread(level);
	(void)MPI_Is_thread_main(&is_main);
	if (*level < MPI_THREAD_SERIALIZED && !is_main)
		return DTC_FAIL(
			context, DTCONV_ERR_STATE,
			"%s: below MPI_THREAD_SERIALIZED only the main thread may "
			"call MPI",
			caller);
	return 0;
}

static int check_comm(struct dtconv_context *context, MPI_Comm comm, const char *caller)
{
	int is_inter = 0;

	if (comm == MPI_COMM_NULL)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: comm (argument 2) is MPI_COMM_NULL", caller);
	(void)MPI_Comm_test_inter(comm, &is_inter);
	if (is_inter)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: comm (argument 2) is an intercommunicator", caller);
	return 0;
}

static size_t poll_leaving(void *arg, size_t budget)
{
	struct dtconv_mpi *mpi = arg;

	(void)budget;
	return dtc_mpi_may_call(mpi) ? dtc_mpi_poll_leaving(mpi) : 0;
}

static int attach(struct dtconv_mpi *mpi)
{
	const struct dtconv_source source = { .fd = -1,
					      .poll = poll_leaving,
					      .arg = mpi };
	int status = dtconv_engine_attach(mpi->engine, &source, &mpi->source);

	mpi->is_attached = !status;
	return status;
}

static void free_mpi(struct dtconv_mpi *mpi)
{
	if (mpi->is_attached)
		(void)dtconv_engine_detach(mpi->engine, mpi->source);
	pthread_mutex_destroy(&mpi->lock);
	dtc_free(mpi->context, mpi->linked);
	dtc_free(mpi->context, mpi);
}

/* Tags are what limits the number of links. */
static size_t count_tags(MPI_Comm comm)
{
	int *bound, is_set = 0;

	(void)MPI_Comm_get_attr(comm, MPI_TAG_UB, &bound, &is_set);
	return is_set ? (size_t)*bound + 1 : 32768;
}

/* This process's part, for which it needs no other one. */
static int make(struct dtconv_engine *engine, MPI_Comm comm, int level,
		const char *caller, struct dtconv_mpi **mpi)
{
	struct dtconv_context *context = dtc_engine_context(engine);
	struct dtconv_mpi *made = dtc_alloc_zeroed(context, sizeof(*made));
	int size = 1;

	(void)MPI_Comm_size(comm, &size);
	if (made)
		made->linked = dtc_alloc_zeroed(context, 2 * (size_t)size *
								 sizeof(made->linked[0]));
	if (!made || !made->linked) {
		dtc_free(context, made);
		return DTC_FAIL(context, DTCONV_ERR_NOMEM,
				"%s: cannot allocate the list of %d processes", caller,
				size);
	}
	made->transport = dtc_mpi_transport;
	made->context = context;
	made->engine = engine;
	made->comm = comm;
	made->size = size;
	made->level = level;
	made->thread = pthread_self();
	made->links_max = DTC_MIN(count_tags(comm) / DTC_MPI_TAGS, (size_t)INT_MAX);
	(void)MPI_Comm_rank(comm, &made->rank);
	pthread_mutex_init(&made->lock, NULL);
	int status = attach(made);
	if (status) {
		free_mpi(made);
		return status;
	}
	*mpi = made;
	return 0;
}

/* If one process fails, all do. */
static int agree(struct dtconv_context *context, MPI_Comm comm, int status,
		 const char *caller)
{
	int all = status;
	int error = MPI_Allreduce(&status, &all, 1, MPI_INT, MPI_MIN, comm);

	if (status)
		return status;
	if (error)
		return DTC_FAIL(context, DTCONV_ERR_BACKEND, "%s: MPI_Allreduce failed",
				caller);
	return all ? DTC_FAIL(context, DTCONV_ERR_PEER, "%s: another process failed: %s",
			      caller, dtconv_strerror(all))
		   : 0;
}

int dtconv_mpi_create(struct dtconv_engine *engine, MPI_Comm comm,
		      struct dtconv_mpi **mpi)
{
	struct dtconv_mpi *made = NULL;
	MPI_Comm own;
	int level = MPI_THREAD_SINGLE;

	if (!engine || !mpi)
		return DTCONV_ERR_INVAL;
	struct dtconv_context *context = dtc_engine_context(engine);
	int status = check_mpi(context, &level, __func__);
	if (!status)
		status = check_comm(context, comm, __func__);
	if (status)
		return status;
	if (MPI_Comm_dup(comm, &own) != MPI_SUCCESS)
		return DTC_FAIL(context, DTCONV_ERR_BACKEND, "%s: MPI_Comm_dup failed",
				__func__);
	(void)MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
	status = make(engine, own, level, __func__, &made);
	status = agree(context, own, status, __func__);
	if (status) {
		if (made)
			free_mpi(made);
		(void)MPI_Comm_free(&own);
		return status;
	}
	*mpi = made;
	return 0;
}

/* ---- using ----------------------------------------------------------------------------- */

static int check_thread(struct dtconv_mpi *mpi, const char *caller)
{
	int is_finalized = 0;

	(void)MPI_Finalized(&is_finalized);
	if (is_finalized)
		return DTC_FAIL(mpi->context, DTCONV_ERR_STATE,
				"%s: MPI is finalised already", caller);
	if (!dtc_mpi_may_call(mpi))
		return DTC_FAIL(
			mpi->context, DTCONV_ERR_STATE,
			"%s: below MPI_THREAD_MULTIPLE the thread that created the "
			"dtconv_mpi has to call this",
			caller);
	return 0;
}

int dtconv_mpi_connect(struct dtconv_mpi *mpi, int rank,
		       const struct dtconv_channel_params *given,
		       struct dtconv_channel **channel)
{
	struct dtconv_channel_params params = { .struct_size = sizeof(params),
						.device = -1 };
	const struct dtc_mpi_endpoint endpoint = { .rank = rank };

	if (!mpi || !channel)
		return DTCONV_ERR_INVAL;
	int status = check_thread(mpi, __func__);
	if (status)
		return status;
	if (rank < 0 || rank >= mpi->size)
		return DTC_FAIL(mpi->context, DTCONV_ERR_INVAL,
				"%s: rank (argument 2) is %d, the communicator has %d",
				__func__, rank, mpi->size);
	if (given && !given->struct_size)
		return DTC_FAIL_STRUCT_SIZE(mpi->context, __func__, "params",
					    "dtconv_channel_params");
	if (given) {
		params.device = 0;
		memcpy(&params, given, DTC_MIN(given->struct_size, sizeof(params)));
		params.struct_size = sizeof(params);
	}
	if (params.fragment_bytes > INT_MAX)
		return DTC_FAIL(mpi->context, DTCONV_ERR_LIMIT,
				"%s: params.fragment_bytes is %zu, the most is %d",
				__func__, params.fragment_bytes, INT_MAX);
	params.transport = &mpi->transport;
	return dtc_channel_open_with(mpi->engine, &params, &endpoint, __func__, channel);
}

int dtconv_mpi_query(struct dtconv_mpi *mpi, struct dtconv_mpi_attr *attr)
{
	if (!mpi || !attr)
		return DTCONV_ERR_INVAL;
	if (attr->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(mpi->context, __func__, "attr",
					    "dtconv_mpi_attr");
	struct dtconv_mpi_attr now = { .struct_size = attr->struct_size,
				       .rank = mpi->rank,
				       .size = mpi->size,
				       .thread_level = mpi->level };

	pthread_mutex_lock(&mpi->lock);
	now.channels = mpi->channels;
	now.leaving = dtc_mpi_count_leaving(mpi);
	pthread_mutex_unlock(&mpi->lock);
	memcpy(attr, &now, DTC_MIN(attr->struct_size, sizeof(now)));
	return 0;
}

/* ---- destroying ------------------------------------------------------------------------ */

/*
 * All processes have destroyed their channels and tell each other how many they made. Links that only one side made
 * are no longer waited for, and what they have sent is received. If MPI fails, it does not wait. False if it has
 * failed, now or before.
 */
static bool compare_links(struct dtconv_mpi *mpi)
{
	const int *linked = mpi->linked;
	int *theirs = mpi->linked + mpi->size;

	const int error = MPI_Alltoall(linked, 1, MPI_INT, theirs, 1, MPI_INT, mpi->comm);
	if (error)
		memset(theirs, 0, (size_t)mpi->size * sizeof(theirs[0]));
	const bool is_all_heard = dtc_mpi_forget_absent(mpi, theirs);
	for (int rank = 0; rank < mpi->size; rank++)
		for (int i = linked[rank]; i < theirs[rank]; i++)
			dtc_mpi_receive_unanswered(mpi, rank, i);
	return is_all_heard && !error;
}

/*
 * Whether all that was sent has been received, by all processes: a fragment for whose landing was no room, or whose
 * header was lost, stays in MPI. If MPI fails, it has not.
 */
static bool is_all_received(struct dtconv_mpi *mpi, bool is_whole)
{
	const long here[2] = { atomic_load(&mpi->unreceived), !is_whole };
	long all[2] = { 0, 1 };

	return !MPI_Allreduce(here, all, 2, MPI_LONG, MPI_SUM, mpi->comm) && !all[0] &&
	       !all[1];
}

int dtconv_mpi_destroy(struct dtconv_mpi *mpi)
{
	if (!mpi)
		return 0;
	int status = check_thread(mpi, __func__);
	if (status)
		return status;
	if (mpi->channels)
		return DTC_FAIL(mpi->context, DTCONV_ERR_STATE,
				"%s: %zu channels are not destroyed", __func__,
				mpi->channels);
	if (!dtc_engine_settle(mpi->engine))
		return DTC_FAIL(mpi->context, DTCONV_ERR_STATE,
				"%s: called from a callback of the engine", __func__);
	(void)dtconv_engine_detach(mpi->engine, mpi->source);
	mpi->is_attached = false;
	/* Whoever had begun to poll it has ended. */
	(void)dtc_engine_settle(mpi->engine);
	/* Others may wait for what is not said yet, because another thread destroyed the channel. */
	(void)dtc_mpi_poll_leaving(mpi);
	const bool is_whole = compare_links(mpi);
	while (mpi->leaving)
		if (!dtc_mpi_poll_leaving(mpi))
			(void)sched_yield();
	/* A later communicator of the same number must not get messages of this one. */
	if (is_all_received(mpi, is_whole))
		(void)MPI_Comm_free(&mpi->comm);
	free_mpi(mpi);
	return 0;
}
