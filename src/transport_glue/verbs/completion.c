/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The statuses of work completions as sentences. Whatever the peer or the way to it has done is the loss of the peer;
 * what this side did wrong is the backend's error.
 */
#include "config.h"

#include "completion.h"

#include <dtconv/status.h>

#include "base/base.h"

#define ROW(name, status, sentence) [IBV_WC_##name] = { status, #name, sentence }

static const struct dtc_verbs_failure failures[] = {
	ROW(LOC_LEN_ERR, DTCONV_ERR_FORMAT,
	    "the peer sent more than a receive takes, or a request was longer than the port "
	    "allows"),
	ROW(LOC_QP_OP_ERR, DTCONV_ERR_BACKEND,
	    "a request does not fit its queue pair, or its memory is not registered"),
	ROW(LOC_EEC_OP_ERR, DTCONV_ERR_BACKEND,
	    "the adapter found an end-to-end context inconsistent"),
	ROW(LOC_PROT_ERR, DTCONV_ERR_BACKEND,
	    "the memory of a request is not registered with the adapter"),
	ROW(WR_FLUSH_ERR, DTCONV_ERR_PEER,
	    "an earlier request failed, so the adapter flushed this one"),
	ROW(MW_BIND_ERR, DTCONV_ERR_BACKEND, "a memory window cannot be bound"),
	ROW(BAD_RESP_ERR, DTCONV_ERR_PEER,
	    "the peer's adapter answered with a packet that does not fit"),
	ROW(LOC_ACCESS_ERR, DTCONV_ERR_BACKEND,
	    "the peer may not write to the memory that it wrote to"),
	ROW(REM_INV_REQ_ERR, DTCONV_ERR_PEER,
	    "the peer's adapter rejects the request: its receive is too short"),
	ROW(REM_ACCESS_ERR, DTCONV_ERR_PEER,
	    "the peer's adapter denies access to its memory"),
	ROW(REM_OP_ERR, DTCONV_ERR_PEER, "the peer's adapter could not carry it out"),
	ROW(RETRY_EXC_ERR, DTCONV_ERR_PEER,
	    "the peer's adapter did not answer in 7 attempts: a cable, a port or the other "
	    "machine is down, or params.timeout is too short"),
	ROW(RNR_RETRY_EXC_ERR, DTCONV_ERR_PEER,
	    "the peer's queue pair had no receive in 7 attempts"),
	ROW(LOC_RDD_VIOL_ERR, DTCONV_ERR_BACKEND, "the reliable datagram domains differ"),
	ROW(REM_INV_RD_REQ_ERR, DTCONV_ERR_PEER,
	    "the peer's adapter rejects a reliable datagram"),
	ROW(REM_ABORT_ERR, DTCONV_ERR_PEER, "the peer's adapter aborted the request"),
	ROW(INV_EECN_ERR, DTCONV_ERR_BACKEND, "there is no such end-to-end context"),
	ROW(INV_EEC_STATE_ERR, DTCONV_ERR_BACKEND,
	    "an end-to-end context is in the wrong state"),
	ROW(FATAL_ERR, DTCONV_ERR_BACKEND, "the adapter has failed"),
	ROW(RESP_TIMEOUT_ERR, DTCONV_ERR_PEER, "the peer's answer came too late"),
	ROW(GENERAL_ERR, DTCONV_ERR_BACKEND, "the adapter gives no reason"),
	ROW(TM_ERR, DTCONV_ERR_BACKEND, "tag matching failed"),
	ROW(TM_RNDV_INCOMPLETE, DTCONV_ERR_BACKEND,
	    "a rendezvous of tag matching was not completed"),
};

struct dtc_verbs_failure dtc_verbs_failure(enum ibv_wc_status status)
{
	if (status > 0 && (size_t)status < sizeof(failures) / sizeof(failures[0]) &&
	    failures[status].name)
		return failures[status];
	return (struct dtc_verbs_failure){
		DTCONV_ERR_BACKEND, "unknown",
		"the adapter's driver reports a status that this "
		"library does not have"
	};
}
