"""exported.py NAMES HEADERS: fails where a demangled name that the library exports is declared in no public header."""
import pathlib
import re
import sys

names, headers = sys.argv[1:]
declared = set(re.findall(r"\w+", "\n".join(file.read_text() for file in pathlib.Path(headers).iterdir())))


def without_arguments(name):
    """`rtexec::A::f` of `rtexec::A::f[abi:cxx11](std::vector<int>) const`."""
    name = re.sub(r"^(typeinfo name|typeinfo|vtable) for ", "", name)
    name = re.sub(r"\[abi:\w+\]", "", name)
    return name.split("(")[0]


strange = []
for line in pathlib.Path(names).read_text().splitlines():
    name = without_arguments(line)
    ours = re.fullmatch(r"rtexec_\w+|rtexec::(\w|::|~|operator\W*)+", name)
    if not ours or not set(re.findall(r"\w+", name)) <= declared:
        strange.append(line)
print("\n".join(f"exported, and in no public header: {line}" for line in strange) or "exported names: as declared")
sys.exit(bool(strange))
