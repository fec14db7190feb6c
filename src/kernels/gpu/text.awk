# SPDX-License-Identifier: BSD-3-Clause
# One text of the GPU kernels' sources: awk -v folder=src -v file=kernels/gpu/kernels.cu.h -f gpu_text.awk
# What a file includes comes in its place, once; lists of kernels as often as they are asked for.
function put(name,   path, line, inner, status) {
	if (name in seen && name !~ /gpu\/(resident_|typed_)?list\.h$/)
		return
	seen[name] = 1
	path = folder "/" name
	while ((status = (getline line < path)) > 0) {
		if (line !~ /^#include "/) {
			print line
			continue
		}
		inner = line
		sub(/^#include "/, "", inner)
		sub(/".*$/, "", inner)
		put(inner)
	}
	close(path)
	if (status < 0) {
		print "text.awk: cannot read " path > "/dev/stderr"
		exit 1
	}
}

BEGIN { put(file) }
