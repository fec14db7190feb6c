# SPDX-License-Identifier: BSD-3-Clause
"""usage: compare_headers.py PACKAGE HEADERS CC CPPFLAG...

Compares the prototypes, structs and enums of the Python package in the folder PACKAGE with the C headers in the folder
HEADERS, and prints each difference: texts word by word, sizes, offsets and values by a program that CC compiles.
"""
from __future__ import annotations

import ctypes
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile

NOT_VALUES = re.compile(r"_(COUNT|USER)$")
"""Enumerators that only count others, or need a function of the caller's in C."""


def module(folder, name):
    """A module of the package, without the package: it needs numpy."""
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[name] = loaded
    spec.loader.exec_module(loaded)
    return loaded


def normal(text):
    """One blank between words, none behind a parenthesis or a star."""
    return re.sub(r"(?<=[(*]) ", "", " ".join(text.split()))


def header_text(folder):
    """All headers, without comments and preprocessor lines."""
    text = "\n".join(path.read_text() for path in sorted(folder.glob("*.h*")))
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    return re.sub(r"^[ \t]*#(\\\n|[^\n])*", "", text, flags=re.MULTILINE)


def differing_prototypes(text, headers):
    """The package's declarations that are not those of the headers."""
    declared = {}
    for declaration in re.findall(r"\bDTCONV_API\b([^;]*);", headers):
        declared[re.search(r"\b(dtconv_\w+)\s*\(", declaration).group(1)] = normal(declaration)
    for declaration in filter(None, map(normal, text.split(";"))):
        name = re.search(r"\b(dtconv_\w+) ?\(", declaration).group(1)
        if declared.get(name) != declaration:
            yield f"{name}: the package has '{declaration}', the headers have '{declared.get(name)}'"


def differing_members(structs, headers):
    """Structs whose members have other names or another order."""
    for struct in structs:
        body = re.search(rf"\bstruct dtconv_{struct.__name__}\s*{{([^}}]*)}}", headers)
        names = re.findall(r"(\w+)\s*(?:\[[^]]*\])?\s*;", body.group(1)) if body else []
        ours = [field[0] for field in struct._fields_]
        if names != ours:
            yield f"struct dtconv_{struct.__name__}: the package has the members {ours}, the headers {names}"


def missing_values(enums, headers):
    """Enumerators of the headers that the package lacks."""
    for tag, prefix, enum in enums:
        body = re.search(rf"\benum dtconv_{tag}\s*{{([^}}]*)}}", headers) if tag else None
        for name in re.findall(r"\bDTCONV_(\w+)", body.group(1)) if body else []:
            if name.removeprefix(prefix) not in enum.__members__ and not NOT_VALUES.search(name):
                yield f"enum dtconv_{tag}: the package lacks DTCONV_{name}"


def numbers_of(structs, enums, module_structs):
    """(C expression, value in the package)."""
    for struct in structs:
        name = f"struct dtconv_{struct.__name__}"
        yield f"sizeof({name})", ctypes.sizeof(struct)
        for field in struct._fields_:
            yield f"offsetof({name}, {field[0]})", getattr(struct, field[0]).offset
            yield f"sizeof((({name} *)0)->{field[0]})", getattr(struct, field[0]).size
    for _, prefix, enum in enums:
        for member in enum:
            yield f"DTCONV_{prefix}{member.name}", member.value
    yield "DTCONV_DISTRIBUTE_DFLT_DARG", module_structs.DEFAULT_DARG
    yield "(size_t)DTCONV_STREAM_LEGACY", module_structs.STREAM_LEGACY


def differing_numbers(numbers, compiler):
    """Sizes, offsets and values that a C program sees otherwise."""
    lines = "\n".join(f'\tprintf("%lld\\n", (long long)({expression}));' for expression, _ in numbers)
    source = f"#include <stddef.h>\n#include <stdio.h>\n#include <dtconv/dtconv.h>\nint main(void)\n{{\n{lines}\n\treturn 0;\n}}\n"
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "numbers.c")
        path.write_text(source)
        program = str(path.with_suffix(""))
        subprocess.run([*compiler, str(path), "-o", program], check=True)
        printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split()
    for (expression, ours), theirs in zip(numbers, printed):
        if ours != int(theirs) % 2**64 and ours != int(theirs):
            yield f"{expression}: the package has {ours}, the headers have {theirs}"


def main():
    package, folder, compiler = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:]
    declarations, structs = module(package, "_declarations"), module(package, "_structs")
    headers = header_text(folder)
    found = [*differing_prototypes(declarations.DECLARATIONS + "".join(declarations.NETWORKS.values()), headers),
             *differing_members(structs.STRUCTS, headers), *missing_values(structs.ENUMS, headers)]
    known = [struct for struct in structs.STRUCTS if f"struct dtconv_{struct.__name__}" in headers]
    if not found:
        found = list(differing_numbers(list(numbers_of(known, structs.ENUMS, structs)), compiler))
    print(*found, sep="\n", end="\n" if found else "")


main()
