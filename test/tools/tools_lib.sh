# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# shellcheck disable=SC2154 # check_lib.sh is read before this
# What the tests of the dtconv program share: the program of the build folder they run in, in an
# environment that says nothing about terminals, and comparison with golden files.
# shellcheck disable=SC2034 # for the scripts that read this file
golden_folder=$source_root/test/golden
failures=0

unset NO_COLOR COLORTERM DTCONV_CPU DTCONV_LOG
export COLUMNS=80 TERM=dumb DTCONV_TUNING=none

# dtconv ARGUMENT...: the program of this build.
dtconv() { ./dtconv "$@"; }

# problem SENTENCE...: one thing is wrong; the script goes on and fails at its end.
problem() {
	echo "$check_name: $*" >&2
	failures=$((failures + 1))
}

# compare_golden NAME FILE: FILE is what test/golden/NAME says. DTCONV_REGENERATE=1 renews that.
compare_golden() {
	local golden=$golden_folder/$1
	if [ "${DTCONV_REGENERATE:-0}" != 0 ]; then
		mkdir -p "$(dirname "$golden")"
		cp "$2" "$golden"
		return
	fi
	[ -e "$golden" ] || { problem "there is no $golden"; return; }
	cmp -s "$golden" "$2" && return
	problem "$1 differs (DTCONV_REGENERATE=1 renews it; then look at the difference):"
	diff -u "$golden" "$2" | head -n 30 >&2
}

# documented FILE COMMAND KEY...: FILE is JSON, and the manual page of COMMAND names its keys but KEY.
documented() {
	local file=$1 command=$2 key
	shift 2
	! command -v python3 > /dev/null || python3 -m json.tool "$file" /dev/null ||
		problem "the output of $command --json is no JSON"
	for key in $(grep -oE '^[[:space:]]*"[a-z0-9_]+": ' "$file" | tr -d '": \t' | sort -u); do
		case " $* " in *" $key "*) continue ;; esac
		grep -Eqw "^\.BR? .*$key" "$source_root/doc/dtconv-$command.1" ||
			problem "the manual page of $command does not name the key $key"
	done
}

# finish SENTENCE...: the end of a script.
finish() {
	[ "$failures" = 0 ] || die "$failures problems"
	echo "PASS: $*"
}
