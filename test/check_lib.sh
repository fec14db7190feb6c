# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What the check_* scripts share. A check is a function of its own script that prints one line for
# each violation; a check is trusted only after it has caught violations planted in a copy of what it
# reads, so every run plants them first.

set -u
export LC_ALL=C
check_name=$(basename "$0")
# shellcheck disable=SC2034 # for the scripts that read this file
source_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work_folder=$(mktemp -d "${TMPDIR:-/tmp}/$check_name.XXXXXX") || exit 1
trap 'rm -rf "$work_folder"' EXIT

# skip REASON...: the run says nothing either way; Automake counts it as skipped.
skip() {
	echo "SKIP: $*"
	exit 77
}

# unprivileged COMMAND...: under a user whom the system can refuse something; root becomes another one.
unprivileged() {
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all "$@"
	else
		"$@"
	fi
}

# die SENTENCE...: the check itself cannot work.
die() {
	echo "$check_name: $*" >&2
	exit 1
}

# expect_caught NAME PATTERN COMMAND...: the planted violation NAME has to be reported in a line that
# matches PATTERN.
expect_caught() {
	local name=$1 pattern=$2
	shift 2
	"$@" > "$work_folder/caught" 2>&1
	grep -Eq -e "$pattern" "$work_folder/caught" && return
	echo "$check_name: the planted violation '$name' was not caught; the check printed:" >&2
	sed 's/^/    /' "$work_folder/caught" >&2
	exit 1
}

# expect_silent NAME COMMAND...: what is allowed must not be reported.
expect_silent() {
	local name=$1
	shift
	"$@" > "$work_folder/caught" 2>&1
	[ -s "$work_folder/caught" ] || return 0
	echo "$check_name: '$name' is allowed, but the check printed:" >&2
	sed 's/^/    /' "$work_folder/caught" >&2
	exit 1
}

# verdict COMMAND...: runs the check on the real thing; any line it prints is a failure.
verdict() {
	"$@" > "$work_folder/verdict" 2>&1 || die "$1 failed: $(tail -n 1 "$work_folder/verdict")"
	[ -s "$work_folder/verdict" ] || return 0
	cat "$work_folder/verdict"
	echo "FAIL: $check_name: $(wc -l < "$work_folder/verdict") violations"
	exit 1
}
