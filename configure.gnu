#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What a host project's configure starts in this folder in place of ./configure (Autoconf looks for this
# name first): ./configure for a copy that is embedded. A host that wants to install libdtconv instead
# passes --disable-embedded on.
exec "${CONFIG_SHELL:-/bin/sh}" "$(dirname "$0")/configure" --enable-embedded "$@"
