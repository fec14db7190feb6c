# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # check_lib.sh is read before, the tests after
# What the tests of embedding share: a host project that carries a copy of this tree, its configure and
# make, and a look at what its shared objects export.
: "${MAKE:=make}" "${CC:=cc}"
host_log=$work_folder/host.log

need_tools() {
	local tool
	for tool in autoreconf automake libtoolize pkg-config nm; do
		command -v "$tool" > /dev/null || skip "$tool is not installed"
	done
	[ -x "$source_root/configure" ] || die "$source_root has no configure: ./autogen.sh"
}

# What a user unpacks: the tracked files of a clone with what autogen.sh made, or all of a tarball.
list_tree() {
	if [ -e "$source_root/.git" ]; then
		(cd "$source_root" && git -c safe.directory='*' ls-files -co --exclude-standard &&
			ls -d configure aclocal.m4 config.h.in Makefile.in build-aux/* m4/l*.m4) | sort -u
	else
		cat "$source_root/MANIFEST"
	fi | grep -v '^test/fuzz/corpus/'
}

# carry FOLDER: a copy of this tree, in FOLDER of the host project. Time stamps are kept, because make
# would start Autotools again where a source looked younger.
carry() {
	mkdir -p "$1"
	list_tree | (cd "$source_root" && while read -r file; do
		[ ! -f "$file" ] || printf '%s\0' "$file"
	done | tar -c --null -T -) | tar -x -C "$1" || die "the tree cannot be copied"
}

# host COMMAND...: a step of the host project; all output goes to a log that is shown on failure.
host() {
	echo "+ $*" >> "$host_log"
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL "$@" >> "$host_log" 2>&1 || {
		tail -n 12 "$host_log"
		die "the host project's '$*' failed"
	}
}

# Plain flags keep it short; a sanitized tree has sanitized hosts.
host_flags="-O0 $(sed -n 's/^SANITIZER_FLAGS = //p' Makefile)"
host_configure() { host "$@" CC="$CC" CFLAGS="$host_flags" --disable-static --disable-dependency-tracking; }
host_make() { host "$MAKE" -j2 "$@"; }

# our_exports OBJECT...: our names that other objects of a process would see.
our_exports() {
	nm -D --defined-only "$@" | awk '{ print $NF }' | grep -E '^(dtc|dtconv)_' |
		sed 's/$/: exported by the host/'
}

# our_needs OBJECT...: our names that would be looked for in other objects of a process.
our_needs() {
	nm -D --undefined-only "$@" | awk '{ print $NF }' | grep -E '^(dtc|dtconv)_' |
		sed 's/$/: not in the object that uses it/'
}

# check_objects OBJECT...
check_objects() {
	nm "$@" | grep -q ' t dtconv_pack$' || echo "$*: no libdtconv is inside"
	our_exports "$@"
	our_needs "$@"
}

# The checks above are trusted after they have found what was planted.
self_test_objects() {
	local object=$work_folder/planted.so
	$CC -shared -fPIC -o "$object" -x c - <<< 'static int dtconv_pack(void) { return 1; }
int host(void); int host(void) { return dtconv_pack(); }' -O0 || die "$CC makes no shared object"
	expect_silent 'an object with a hidden libdtconv' check_objects "$object"
	$CC -shared -fPIC -o "$object" -x c - <<< 'int dtconv_pack(void) { return 1; }'
	expect_caught 'an exported name' '^dtconv_pack: exported by' check_objects "$object"
	$CC -shared -fPIC -o "$object" -x c - <<< 'int dtconv_pack(void);
int host(void); int host(void) { return dtconv_pack(); }'
	expect_caught 'a name that is missing' '^dtconv_pack: not in' check_objects "$object"
	expect_caught 'an object without libdtconv' 'no libdtconv is inside' check_objects "$object"
}
