# SPDX-License-Identifier: BSD-3-Clause
"""The parts of bindings/python/kv_rates, which measures messages between paged caches of two processes."""
