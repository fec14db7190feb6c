# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# shellcheck source=test/check_lib.sh
. "$(dirname "$0")/../check_lib.sh"
# What the checks against MPI libraries share. The programs are built where configure found the MPI.
# MPI libraries keep memory until the process ends, which is no leak of ours.
export ASAN_OPTIONS=detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}
folder=${builddir:-.}/test/mpi_diff

# need NAME: the program of an MPI, or the reason why there is none.
need() {
	[ -x "$folder/mpi_diff-$1" ] ||
		skip "configure found no $1 (Debian: apt-get install libopenmpi-dev mpich; see --with-mpi)"
}

# run_slice NAME: a fixed slice; the last lines it prints are the summary.
run_slice() {
	local status=0
	need "$1"
	timeout 300 "$folder/mpi_diff-$1" --count 2500 --seed 1 || status=$?
	[ $status -ne 77 ] || exit 77
	[ $status -eq 0 ] || die "mpi_diff-$1 failed with exit status $status"
	echo "PASS: every disagreement with $1 is explained"
}
