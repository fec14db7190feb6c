/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranges of addresses, as copy_backends/memory/address_range.h wants them of a vendor.
 */
#ifndef DTC_CUDA_ADDRESS_RANGE_H
#define DTC_CUDA_ADDRESS_RANGE_H

extern const struct dtc_range_ops dtc_cuda_ranges;

#endif
