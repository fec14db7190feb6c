# SPDX-License-Identifier: BSD-3-Clause
# One text of the GPU kernels' sources: awk -v folder=src -v file=kernels/gpu/kernels.cu.h -f text.awk
# What a file includes comes in its place, once; lists of kernels as often as they are asked for. The library holds the
# text, so comments, empty lines, and blanks that a compiler does not need are left out, two fifths of it, but for the
# licence at its head.

# bare LINE: without comments and indentation. A comment may start on an earlier line.
function bare(line,   start, end) {
	while (in_comment || (start = index(line, "/*"))) {
		if (!in_comment) {
			in_comment = 1
			kept = substr(line, 1, start - 1)
			line = substr(line, start + 2)
		}
		if (!(end = index(line, "*/")))
			break
		in_comment = 0
		line = kept substr(line, end + 2)
		kept = ""
	}
	if (in_comment) {
		line = kept
		kept = ""
	}
	gsub(/^[ \t]+|[ \t]+$/, "", line)
	gsub(/[ \t]+/, " ", line)
	return line ~ /^#/ ? line : dense(line)
}

# dense LINE: without blanks around what cannot grow together with its neighbours. In a directive they may mean something.
function dense(line) {
	gsub(/, /, ",", line)
	gsub(/; /, ";", line)
	gsub(/ \? /, "?", line)
	gsub(/ : /, ":", line)
	gsub(/ = /, "=", line)
	gsub(/ \* /, "*", line)
	gsub(/ < /, "<", line)
	gsub(/ > /, ">", line)
	gsub(/ == /, "==", line)
	gsub(/ >= /, ">=", line)
	gsub(/ <= /, "<=", line)
	gsub(/ \+= /, "+=", line)
	gsub(/ && /, "\\&\\&", line)
	gsub(/ \|\| /, "||", line)
	gsub(/ \+ /, "+", line)
	gsub(/ - /, "-", line)
	gsub(/ & /, "\\&", line)
	gsub(/ \| /, "|", line)
	gsub(/ % /, "%", line)
	gsub(/ << /, "<<", line)
	gsub(/ >> /, ">>", line)
	gsub(/ != /, "!=", line)
	gsub(/ -= /, "-=", line)
	gsub(/if \(/, "if(", line)
	gsub(/for \(/, "for(", line)
	gsub(/while \(/, "while(", line)
	gsub(/\} else/, "}else", line)
	gsub(/else \{/, "else{", line)
	gsub(/\) \{/, "){", line)
	return line
}

# The guard of a header is left out: here it comes once anyway.
function put(name,   path, line, inner, status, guarded, end) {
	if (name in seen && name !~ /gpu\/(resident_|typed_)?list\.h$/)
		return
	seen[name] = 1
	path = folder "/" name
	while ((status = (getline line < path)) > 0) {
		if (line ~ /^#(ifndef|define) DTC_KERNELS_GPU_[A-Z0-9_]*_H$/) {
			guarded = 1
			continue
		}
		if (line !~ /^#include "/ && (line = bare(line)) == "")
			continue
		# The last one is the guard's.
		if (end)
			print "#endif"
		end = guarded && line == "#endif"
		if (end)
			continue
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

BEGIN {
	print "/* SPDX-License-Identifier: BSD-3-Clause */"
	put(file)
}
