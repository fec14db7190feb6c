# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # check_lib.sh is read before, the tests after
# What the packaging tests share: an installation staged in a folder of their own, made from the build
# folder they run in, and the user's program that is built against it.
: "${MAKE:=make}" "${CC:=cc}"

# stage: installs this build under $stage_folder and sets $stage_prefix. Two installations from one
# build folder at once would relink the same program, hence the lock.
stage() {
	stage_folder=$work_folder/stage
	run_make install || die "make install failed: $(tail -n 3 "$work_folder/make.log")"
	stage_prefix=$stage_folder$(sed -n 's/^prefix = //p' Makefile)
	stage_libdir=$(dirname "$(find "$stage_folder" -name 'libdtconv.*' ! -type d | head -n 1)")
}

# run_make TARGET: of this build folder, with DESTDIR, free of the make that runs the tests, but for the
# architectures that kernels were last compiled for: others would be compiled now.
run_make() {
	flock config.status env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL "$MAKE" "$1" \
		GPU_ARCHS="$(cat src/kernels/images/archs.list 2> /dev/null)" DESTDIR="$stage_folder" > "$work_folder/make.log" 2>&1
}

# A sanitized library needs its sanitizer in the program too.
sanitizer_flags() { sed -n 's/^SANITIZER_FLAGS = //p' Makefile; }

# run_consumer PROGRAM: the version that it prints is the version that we built.
run_consumer() {
	local want said
	want="libdtconv $(sed -n 's/^PACKAGE_VERSION = //p' Makefile)"
	said=$(LD_LIBRARY_PATH=$stage_libdir "$1" 2>&1) || die "the program failed: $said"
	[ "$said" = "$want" ] || die "the program printed '$said', not '$want'"
}
