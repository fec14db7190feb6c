/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions that stand before those of UCX.
 */
#include "config.h"

#include <dlfcn.h>
#include <string.h>

/* For the library of the transport, which finds them before those of UCX. */
#pragma GCC visibility push(default)
#include <ucp/api/ucp.h>
#pragma GCC visibility pop

#include "transport_glue/wire.h"
#include "ucx_faults.h"

struct ucx_faults ucx_faults;

#define UCX(function) ((__typeof__(&function))dlsym(RTLD_NEXT, #function))

static bool fails(enum ucx_call call)
{
	return ++ucx_faults.calls[call] == ucx_faults.fail_at[call];
}

/* ---- opening ------------------------------------------------------------------------------- */

ucs_status_t ucp_init_version(unsigned major, unsigned minor, const ucp_params_t *params,
			      const ucp_config_t *config, ucp_context_h *context)
{
	return fails(UCX_INIT)
		       ? UCS_ERR_IO_ERROR
		       : UCX(ucp_init_version)(major, minor, params, config, context);
}

ucs_status_t ucp_worker_create(ucp_context_h context, const ucp_worker_params_t *params,
			       ucp_worker_h *worker)
{
	if (fails(UCX_WORKER_CREATE))
		return UCS_ERR_NO_MEMORY;
	ucx_faults.workers++;
	return UCX(ucp_worker_create)(context, params, worker);
}

ucs_status_t ucp_worker_get_efd(ucp_worker_h worker, int *fd)
{
	return fails(UCX_EFD) ? UCS_ERR_UNSUPPORTED : UCX(ucp_worker_get_efd)(worker, fd);
}

ucs_status_t ucp_worker_get_address(ucp_worker_h worker, ucp_address_t **address,
				    size_t *length)
{
	return fails(UCX_ADDRESS) ? UCS_ERR_IO_ERROR
				  : UCX(ucp_worker_get_address)(worker, address, length);
}

/* ---- memory of devices --------------------------------------------------------------------- */

/* What UCX is given instead of memory of a device. */
static void *seen_by_host(const void *memory, size_t bytes, ucs_memory_type_t *type)
{
	if (*type != UCS_MEMORY_TYPE_CUDA || !ucx_faults.device_memory)
		return (void *)(uintptr_t)memory;
	*type = UCS_MEMORY_TYPE_HOST;
	ucx_faults.on_devices++;
	return ucx_faults.device_memory((uintptr_t)memory, bytes);
}

ucs_status_t ucp_context_query(ucp_context_h context, ucp_context_attr_t *attr)
{
	const ucs_status_t status = UCX(ucp_context_query)(context, attr);

	if (ucx_faults.device_memory)
		attr->memory_types |= UCS_BIT(UCS_MEMORY_TYPE_CUDA);
	return status;
}

ucs_status_t ucp_mem_map(ucp_context_h context, const ucp_mem_map_params_t *params,
			 ucp_mem_h *memory)
{
	ucp_mem_map_params_t changed = *params;

	if (fails(UCX_MAP))
		return UCS_ERR_IO_ERROR;
	ucx_faults.mapped++;
	changed.address =
		seen_by_host(params->address, params->length, &changed.memory_type);
	return UCX(ucp_mem_map)(context, &changed, memory);
}

ucs_status_t ucp_mem_unmap(ucp_context_h context, ucp_mem_h memory)
{
	ucx_faults.mapped--;
	return UCX(ucp_mem_unmap)(context, memory);
}

ucs_status_t ucp_ep_create(ucp_worker_h worker, const ucp_ep_params_t *params,
			   ucp_ep_h *ep)
{
	return fails(UCX_EP_CREATE) ? UCS_ERR_UNREACHABLE
				    : UCX(ucp_ep_create)(worker, params, ep);
}

/* ---- sending ------------------------------------------------------------------------------- */

static bool change(unsigned char *number, unsigned char *bytes)
{
	struct dtc_wire_header header;

	if (dtc_wire_read_header(bytes, DTC_WIRE_HEADER_BYTES, &header))
		return false;
	const bool is_data = header.kind == DTC_WIRE_DATA;
	if (ucx_faults.lie == UCX_LIE_MAGIC)
		bytes[0] ^= 1;
	else if (ucx_faults.lie == UCX_LIE_NUMBER && number[0])
		number[0]--;
	else if (ucx_faults.lie == UCX_LIE_FAR)
		number[5]++;
	else if (ucx_faults.lie == UCX_LIE_FRAGMENT && is_data)
		header.fragment += DTC_WIRE_FRAGMENTS_MAX;
	else if (ucx_faults.lie == UCX_LIE_LENGTH && is_data && header.length > 1)
		header.length--;
	else if (ucx_faults.lie == UCX_LIE_RETURN && header.kind == DTC_WIRE_RETURN)
		header.fragment ^= 1;
	else if ((ucx_faults.lie == UCX_LIE_MISSING && is_data) ||
		 (ucx_faults.lie == UCX_LIE_SLOT &&
		  (header.kind == DTC_WIRE_GO || header.kind == DTC_WIRE_REFUSE)))
		header.slot ^= 128;
	else
		return false;
	if (ucx_faults.lie > UCX_LIE_FAR)
		dtc_wire_write_header(&header, bytes);
	return true;
}

/* The header is the library's, which does not read it again. */
ucs_status_ptr_t ucp_am_send_nbx(ucp_ep_h ep, unsigned id, const void *header,
				 size_t header_length, const void *buffer, size_t count,
				 const ucp_request_param_t *param)
{
	unsigned char *bytes = (unsigned char *)(uintptr_t)header;
	ucp_request_param_t changed = *param;

	if (fails(UCX_SEND))
		return UCS_STATUS_PTR(UCS_ERR_IO_ERROR);
	if (ucx_faults.lie && !ucx_faults.has_lied)
		ucx_faults.has_lied = change(bytes, bytes + 8);
	buffer = seen_by_host(buffer, count, &changed.memory_type);
	return UCX(ucp_am_send_nbx)(ep, id, header, header_length, buffer, count,
				    &changed);
}

/* ---- receiving ----------------------------------------------------------------------------- */

/* A receive of the transport that is reported later. */
struct hold {
	ucp_am_recv_data_nbx_callback_t report; /* NULL: the place is free */
	void *arg, *request;                    /* request: NULL until it has ended */
	ucs_status_t status;
	size_t length;
};

#define HOLDS 64
static struct hold holds[HOLDS];

static void hold(void *request, ucs_status_t status, size_t length, void *arg)
{
	struct hold *hold = arg;

	hold->request = request;
	hold->status = status;
	hold->length = length;
	ucx_faults.held++;
}

/* Parameters with which a receive is held, whatever its length. */
static bool hold_receive(ucp_request_param_t *param)
{
	for (int i = 0; i < HOLDS; i++) {
		if (holds[i].report)
			continue;
		holds[i] = (struct hold){ .report = param->cb.recv_am,
					  .arg = param->user_data };
		param->op_attr_mask |= UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
		param->cb.recv_am = hold;
		param->user_data = &holds[i];
		return true;
	}
	return false;
}

void ucx_report_receives(void)
{
	for (int i = 0; i < HOLDS; i++) {
		const struct hold ended = holds[i];

		if (!ended.request)
			continue;
		holds[i] = (struct hold){ 0 };
		ucx_faults.held--;
		ended.report(ended.request, ended.status, ended.length, ended.arg);
	}
}

ucs_status_ptr_t ucp_am_recv_data_nbx(ucp_worker_h worker, void *data, void *buffer,
				      size_t count, const ucp_request_param_t *param)
{
	if (fails(UCX_RECEIVE)) {
		ucp_am_data_release(worker, data);
		ucx_faults.released--;
		return UCS_STATUS_PTR(UCS_ERR_IO_ERROR);
	}
	ucp_request_param_t changed = *param;
	if (ucx_faults.holds && !hold_receive(&changed))
		return UCS_STATUS_PTR(UCS_ERR_NO_RESOURCE);
	buffer = seen_by_host(buffer, count, &changed.memory_type);
	return UCX(ucp_am_recv_data_nbx)(worker, data, buffer, count, &changed);
}

void ucp_am_data_release(ucp_worker_h worker, void *data)
{
	ucx_faults.released++;
	UCX(ucp_am_data_release)(worker, data);
}

/* A worker of the transport, and the message that it gets after the next one. */
struct swap {
	ucp_worker_h worker;
	ucp_am_recv_callback_t receive;
	void *arg;
	bool is_full;
	unsigned char header[64];
	size_t header_length, length;
	void *data;
	ucp_am_recv_param_t param;
	unsigned seen;
};

#define SWAPS 8
static struct swap swaps[SWAPS];

static ucs_status_t deliver(struct swap *swap)
{
	swap->is_full = false;
	ucs_status_t status = swap->receive(swap->arg, swap->header, swap->header_length,
					    swap->data, swap->length, &swap->param);

	if (status == UCS_OK && swap->data)
		UCX(ucp_am_data_release)(swap->worker, swap->data);
	return status;
}

static ucs_status_t receive(void *arg, const void *header, size_t header_length,
			    void *data, size_t length, const ucp_am_recv_param_t *param)
{
	struct swap *swap = arg;

	if (ucx_faults.swaps && !swap->is_full && swap->seen++ % 2) {
		swap->is_full = true;
		memcpy(swap->header, header, header_length);
		swap->header_length = header_length;
		swap->data = length ? data : NULL;
		swap->length = length;
		swap->param = *param;
		ucx_faults.swapped++;
		return length ? UCS_INPROGRESS : UCS_OK;
	}
	ucs_status_t status =
		swap->receive(swap->arg, header, header_length, data, length, param);
	if (swap->is_full)
		(void)deliver(swap);
	return status;
}

static struct swap *find_swap(ucp_worker_h worker)
{
	for (int i = 0; i < SWAPS; i++)
		if (swaps[i].worker == worker)
			return &swaps[i];
	return NULL;
}

ucs_status_t ucp_worker_set_am_recv_handler(ucp_worker_h worker,
					    const ucp_am_handler_param_t *param)
{
	ucp_am_handler_param_t changed = *param;
	struct swap *swap = find_swap(worker);

	if (fails(UCX_HANDLER))
		return UCS_ERR_INVALID_PARAM;
	if (!swap)
		swap = find_swap(NULL);
	*swap = (struct swap){ .worker = worker,
			       .receive = param->cb,
			       .arg = param->arg };
	changed.cb = receive;
	changed.arg = swap;
	return UCX(ucp_worker_set_am_recv_handler)(worker, &changed);
}

void ucp_worker_destroy(ucp_worker_h worker)
{
	struct swap *swap = find_swap(worker);

	ucx_faults.workers--;
	if (swap)
		*swap = (struct swap){ 0 };
	UCX(ucp_worker_destroy)(worker);
}

unsigned ucp_worker_progress(ucp_worker_h worker)
{
	unsigned count = UCX(ucp_worker_progress)(worker);
	struct swap *swap = find_swap(worker);

	if (!count && swap && swap->is_full) {
		(void)deliver(swap);
		count = 1;
	}
	return count;
}
