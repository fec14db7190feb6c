/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions that stand before those of MPI.
 */
#include "config.h"

/* For the library of the transport, which finds them before those of MPI. */
#pragma GCC visibility push(default)
#include <mpi.h>
#pragma GCC visibility pop

#include "faults.h"

#include "transport_glue/wire.h"

struct faults faults;

#define TAGS (DTC_WIRE_FRAGMENTS_MAX + 1)

void faults_clear(void)
{
	const long requests = faults.requests;

	faults = (struct faults){ .requests = requests, .random = 1 };
}

static bool fails(enum fault_call call)
{
	return ++faults.calls[call] == faults.fail_at[call];
}

/* ---- lies ---------------------------------------------------------------------------------- */

static bool change_header(unsigned char *bytes, int *length)
{
	struct dtc_wire_header header;

	if (*length != DTC_WIRE_HEADER_BYTES ||
	    dtc_wire_read_header(bytes, DTC_WIRE_HEADER_BYTES, &header))
		return false;
	const bool is_data = header.kind == DTC_WIRE_DATA;
	if (faults.lie == LIE_MAGIC)
		bytes[0] ^= 1;
	else if (faults.lie == LIE_SHORT)
		*length = DTC_WIRE_HEADER_BYTES - 1;
	else if (faults.lie == LIE_FRAGMENT && is_data)
		header.fragment += DTC_WIRE_FRAGMENTS_MAX;
	else if (faults.lie == LIE_LENGTH && is_data && header.length > 1)
		header.length--;
	else if (faults.lie == LIE_LONG && is_data)
		header.length += 1 << 20;
	else if (faults.lie == LIE_RETURN && header.kind == DTC_WIRE_RETURN)
		header.fragment ^= 1;
	else if ((faults.lie == LIE_MISSING && is_data) ||
		 (faults.lie == LIE_SLOT &&
		  (header.kind == DTC_WIRE_GO || header.kind == DTC_WIRE_REFUSE)))
		header.slot ^= 128;
	else
		return false;
	if (faults.lie != LIE_MAGIC && faults.lie != LIE_SHORT)
		dtc_wire_write_header(&header, bytes);
	return true;
}

static bool change_packet(unsigned char *bytes, int *length)
{
	struct dtc_wire_packet packet;
	const struct dtc_wire_header message = { .kind = DTC_WIRE_MESSAGE,
						    .slot = 200 };

	if (*length != DTC_WIRE_PACKET_BYTES ||
	    dtc_wire_read_packet(bytes, DTC_WIRE_PACKET_BYTES, &packet))
		return false;
	const bool is_hello = packet.kind == DTC_WIRE_HELLO;
	const bool is_accept = packet.kind == DTC_WIRE_ACCEPT;
	if (faults.lie == LIE_HELLO_TWICE && is_accept)
		packet = (struct dtc_wire_packet){ .kind = DTC_WIRE_HELLO,
						   .version = DTC_WIRE_VERSION,
						   .transport = DTC_WIRE_MPI,
						   .fragments = 1,
						   .fragment_bytes = 1 };
	else if (faults.lie == LIE_TRANSPORT && is_hello)
		packet.transport = DTC_WIRE_UCX;
	else if (faults.lie == LIE_VERSION && is_hello)
		packet.version++;
	else if (faults.lie == LIE_ACCEPT_FIRST && is_hello)
		packet = (struct dtc_wire_packet){ .kind = DTC_WIRE_ACCEPT,
						   .version = DTC_WIRE_VERSION };
	else if (faults.lie == LIE_BELL && is_accept)
		packet.kind = DTC_WIRE_BELL;
	else if (faults.lie == LIE_EARLY && is_accept)
		*length = DTC_WIRE_HEADER_BYTES;
	else
		return false;
	if (faults.lie == LIE_EARLY)
		dtc_wire_write_header(&message, bytes);
	else
		dtc_wire_write_packet(&packet, bytes);
	return true;
}

/* What it says of itself is in the envelope, which is the library's and is not read again. */
static void lie(const void *bytes, int *length, int tag)
{
	unsigned char *envelope = (unsigned char *)(uintptr_t)bytes;

	if (faults.lie && !faults.has_lied && tag % TAGS == DTC_WIRE_FRAGMENTS_MAX)
		faults.has_lied = change_header(envelope, length) ||
				  change_packet(envelope, length);
}

/* ---- MPI ----------------------------------------------------------------------------------- */

int MPI_Isend(const void *bytes, int count, MPI_Datatype type, int rank, int tag,
	      MPI_Comm comm, MPI_Request *request)
{
	if (fails(FAULT_ISEND))
		return MPI_ERR_OTHER;
	lie(bytes, &count, tag);
	faults.requests++;
	return PMPI_Isend(bytes, count, type, rank, tag, comm, request);
}

int MPI_Irecv(void *bytes, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
	      MPI_Request *request)
{
	if (fails(FAULT_IRECV))
		return MPI_ERR_OTHER;
	faults.requests++;
	return PMPI_Irecv(bytes, count, type, rank, tag, comm, request);
}

/* An operation that fails has ended. */
int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
	const bool is_active = *request != MPI_REQUEST_NULL;
	const bool is_due = faults.fail_at[FAULT_TEST] &&
			    ++faults.calls[FAULT_TEST] >= faults.fail_at[FAULT_TEST];

	faults.random = faults.random * 6364136223846793005u + 1442695040888963407u;
	*flag = 0;
	if ((faults.random >> 33) % 100 < faults.late)
		return MPI_SUCCESS;
	int error = PMPI_Test(request, flag, status);
	if (!is_active || *request != MPI_REQUEST_NULL)
		return error;
	faults.requests--;
	if (!is_due)
		return error;
	faults.fail_at[FAULT_TEST] = 0;
	return MPI_ERR_OTHER;
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
	faults.requests -= *request != MPI_REQUEST_NULL;
	return PMPI_Wait(request, status);
}

int MPI_Recv(void *bytes, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
	     MPI_Status *status)
{
	faults.received++;
	return PMPI_Recv(bytes, count, type, rank, tag, comm, status);
}

int MPI_Comm_get_attr(MPI_Comm comm, int key, void *value, int *is_set)
{
	int error = PMPI_Comm_get_attr(comm, key, value, is_set);

	if (key == MPI_TAG_UB && faults.tag_bound)
		*(int **)value = &faults.tag_bound;
	return error;
}
