#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Makes ./configure from configure.ac. Needed after a git clone, never with a released tarball.
set -e
cd "$(dirname "$0")"
for tool in autoreconf automake libtoolize pkg-config; do
	command -v "$tool" >/dev/null || {
		echo "autogen.sh: $tool is missing; on Debian:" \
			"apt-get install autoconf automake libtool pkg-config" >&2
		exit 1
	}
done
exec autoreconf --install --force "$@"
