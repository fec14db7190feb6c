# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# shellcheck source=test/check_lib.sh
. "$(dirname "$0")/../../check_lib.sh"
# What the checks of channels over MPI share. The programs are built where configure found the MPI.
# MPI libraries keep memory until the process ends, which is no leak of ours.
export ASAN_OPTIONS=detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}
# More processes than CPUs, also of root, each of which sleeps rather than spins where MPI has a choice.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
folder=${builddir:-.}/test/transport/mpi
seconds=${MPI_RANKS_SECONDS:-300}

# run_jobs NAME MPIEXEC: jobs of one, two and four processes, of two in each thread level.
run_jobs() {
	local program=$folder/ranks-$1 mpiexec=$2 said=$work_folder/said count level jobs=0
	[ -x "$program" ] ||
		skip "configure found no $1 (Debian: apt-get install libopenmpi-dev mpich; see --with-mpi)"
	command -v "$mpiexec" > /dev/null || skip "there is no $mpiexec to start several processes"
	for count in 1 2 4; do
		for level in single funneled serialized multiple; do
			[ "$count" = 2 ] || [ "$level" = single ] || continue
			timeout "$seconds" "$mpiexec" -n "$count" "$program" "$level" > "$said" 2>&1 < /dev/null || {
				tail -n 30 "$said"
				die "$count processes of $1 with thread level $level failed"
			}
			grep -q "cases passed with $count processes" "$said" || die "$mpiexec started no job of $count processes"
			jobs=$((jobs + 1))
		done
	done
	if [ -x "$folder/ranks_device-$1" ]; then
		timeout "$seconds" "$mpiexec" -n 2 "$folder/ranks_device-$1" > "$said" 2>&1 < /dev/null || {
			tail -n 30 "$said"
			die "buffers on devices fail over $1"
		}
	fi
	"$mpiexec" -n 2 "${builddir:-.}/examples/two_processes_$1" > "$said" 2>&1 < /dev/null &&
		grep -q '^20000 numbers went there and back$' "$said" || {
		cat "$said"
		die "the example fails as two processes"
	}
	echo "PASS: channels over $1 in $jobs jobs"
}
