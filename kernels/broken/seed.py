#!/usr/bin/env python3
"""Applies the seeded faults: each is a .diff against a hardened kernel, and this writes the kernel that it makes.

usage: seed.py SOURCE_ROOT OUTPUT_FOLDER FAULT.diff ...

A fault starts with fields, one per line (README.md), and goes on as a unified diff. The line numbers of its hunks are
not looked at: the old lines of a hunk must stand exactly once in the file. For FAULT the folder OUTPUT_FOLDER/FAULT gets

  kernels/...     the changed files, for an include path in front of the source root's
  FAULT.cc        the kernel, in a namespace of its own
  FAULT_race.cc   the same for the race shadow, if the field `shadow` says so

and OUTPUT_FOLDER itself faults.cc and races.cc, the lists of all and of those built for the race shadow, and sources.txt:
every source file that a fault changes. A file is written only if it differs, so that nothing is compiled again for
nothing; what an earlier run left and this one does not write is deleted, so that no second defect is found beside the
one of the diff. Nothing is written or deleted for a diff that is wrong by itself: exit 1 and what is wrong.

A kernel that is being worked on may have lost the lines that a diff looks for. Such a fault is left out and stands in
OUTPUT_FOLDER/unfit.txt, with what it lacks: the kernel is built and judged, and the test seeded_faults_apply fails.
"""
import pathlib
import re
import sys

REQUIRED = ("id", "fault", "kernel", "file", "defect", "from")
OPTIONAL = ("cause", "dose", "gross", "shadow")


class Broken(Exception):
    pass


class Unfit(Broken):
    """The kernel lacks the lines that the diff changes."""


def fail(fault, message):
    raise Broken(f"{fault}: {message}")


def fields_of(fault, lines):
    fields = {}
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        key, _, value = line.partition(" ")
        if key not in REQUIRED + OPTIONAL:
            fail(fault, f"field '{key}', legal {', '.join(REQUIRED + OPTIONAL)}")
        if key in fields:
            fail(fault, f"field '{key}' twice")
        fields[key] = value.strip()
    for key in REQUIRED:
        if not fields.get(key):
            fail(fault, f"field '{key}' is missing")
    if not re.fullmatch(r"F(0[1-9]|[1-9][0-9]+)", fields["fault"]):
        fail(fault, f"fault '{fields['fault']}', legal F01, F02, ... F99, F100, ...")
    for word in fields.setdefault("cause", "").split():
        if not re.fullmatch(r"[a-z0-9_.:+]+", word):
            fail(fault, f"cause '{word}', legal ids of a-z, 0-9, _ . : and +")
    for key in ("gross", "shadow"):
        if fields.setdefault(key, "no") not in ("yes", "no"):
            fail(fault, f"{key} '{fields[key]}', legal yes or no")
    return fields


def dose_of(fault, fields):
    """`dose UNIT REGISTERED of LADDER...`, the ladder from the strongest to the weakest."""
    if "dose" not in fields:
        return None
    head, of, ladder = fields["dose"].partition(" of ")
    try:
        unit, registered = head.rsplit(" ", 1)
        steps = [float(step) for step in ladder.split()]
        registered = float(registered)
    except ValueError:
        of = ""
    if not of or registered not in steps:
        fail(fault, "dose: legal 'UNIT REGISTERED of STEP STEP ...', the registered one among the steps")
    return unit, registered, steps


def hunks_of(fault, lines):
    """[(path, old lines, new lines)]"""
    hunks, path, old, new = [], None, None, None
    for i, line in enumerate(lines):
        # The two lines of a file's head stand together: alone, either may be a changed line of a hunk.
        if line.startswith("--- ") and "".join(lines[i + 1:i + 2]).startswith("+++ b/"):
            path, old, new = lines[i + 1][6:].split("\t")[0].strip(), None, None
        elif line.startswith("+++ b/") and lines[i - 1].startswith("--- "):
            continue
        elif line.startswith("@@"):
            old, new = [], []
            hunks.append((path, old, new))
        elif old is None:
            fail(fault, f"no hunk before '{line}'")
        elif line.startswith("-"):
            old.append(line[1:])
        elif line.startswith("+"):
            new.append(line[1:])
        else:
            old.append(line[1:])
            new.append(line[1:])
    if not hunks:
        fail(fault, "changes nothing")
    for path, old, new in hunks:
        if old == new:
            fail(fault, f"a hunk of {path} changes nothing")
    return hunks


def apply(fault, root, hunks):
    """path -> changed text"""
    texts = {}
    for path, old, new in hunks:
        if path not in texts:
            if not path or not (root / path).is_file():
                fail(fault, f"no file {path}")
            texts[path] = (root / path).read_text()
        before, after = "\n".join(old) + "\n", "\n".join(new) + "\n"
        found = ("\n" + texts[path]).count("\n" + before)
        if found != 1:
            raise Unfit(f"{fault}: the old lines of a hunk stand {found} times in {path}, must stand once:\n{before}")
        position = ("\n" + texts[path]).index("\n" + before)
        texts[path] = texts[path][:position] + after + texts[path][position + len(before):]
    return texts


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_text() != text:
        path.write_text(text)


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def number(value):
    return repr(float(value))


HEAD = ["// Written by kernels/broken/seed.py.", '#include "kernels/broken/fault.h"', "", "namespace flashproof {"]


def function_of(name, fields):
    return f"broken_{name}::{fields['file'].replace('/', '_')}"


def declared(name, fields):
    symbol = fields["file"].replace("/", "_")
    return f"namespace broken_{name} {{\nstd::span<const KernelDeclaration> {symbol}();\n}}"


def list_of(faults):
    """faults.cc: what registry.cc makes kernels of."""
    code = list(HEAD)
    for name, fields, dose in faults:
        code.append(declared(name, fields))
        if dose:
            code.append(f"static constexpr double kLadder_{name}[] = {{{', '.join(number(s) for s in dose[2])}}};")
    code.append("\nstd::span<const SeededFault> seeded_faults() {\n  static const SeededFault list[] = {")
    for name, fields, dose in faults:
        ladder = f"{{{quoted(dose[0])}, {number(dose[1])}, kLadder_{name}}}" if dose else "{}"
        code.append(
            f"      {{.id = {quoted(fields['id'])}, .number = {quoted(fields['fault'])}, .kernel = {quoted(fields['kernel'])},"
            f"\n       .defect = {quoted(fields['defect'])}, .source = {quoted(fields['from'])}, .dose = {ladder},"
            f"\n       .gross = {'true' if fields['gross'] == 'yes' else 'false'},"
            f" .cause = {quoted(fields['cause'])},"
            f" .declared = {function_of(name, fields)}}},")
    if not faults:
        code[-1] = "\nstd::span<const SeededFault> seeded_faults() { return {}; }"
    code.append("  };\n  return list;\n}\n}  // namespace flashproof\n" if faults else "}  // namespace flashproof\n")
    return "\n".join(code)


def races_of(faults):
    """races.cc: what observe.cc runs."""
    raced = [(f"{name}_race", fields) for name, fields, _ in faults if fields["shadow"] == "yes"]
    code = HEAD + [declared(name, fields) for name, fields in raced]
    code.append("\nstd::span<const FaultRace> fault_races() {\n  static const FaultRace list[] = {")
    for name, fields in raced:
        code.append(f"      {{.id = {quoted(fields['id'])}, .declared = {function_of(name, fields)}}},")
    if not raced:
        code[-1] = "\nstd::span<const FaultRace> fault_races() { return {}; }"
    code.append("  };\n  return list;\n}\n}  // namespace flashproof\n" if raced else "}  // namespace flashproof\n")
    return "\n".join(code)


def seed(root, paths):
    """path below the output folder -> text"""
    faults, sources, texts, unfit = [], set(), {}, []
    for path in paths:
        fault = path.stem
        lines = path.read_text().splitlines()
        start = next((i for i, line in enumerate(lines) if line.startswith("--- ")), len(lines))
        fields, hunks = fields_of(fault, lines[:start]), hunks_of(fault, lines[start:])
        sources.update(path for path, _, _ in hunks)  # watched also while it does not fit: it may again
        try:
            changed = apply(fault, root, hunks)
        except Unfit as error:
            unfit.append(str(error))
            continue
        for name, text in changed.items():
            texts[f"{fault}/{name}"] = text
        for space in (["", "_race"] if fields["shadow"] == "yes" else [""]):
            race = "#define FP_RACE 1\n" if space else ""
            texts[f"{fault}/{fault}{space}.cc"] = (
                f"#define FP_EXECUTOR broken_{fault}{space}\n{race}"
                f'#include "kernels/broken/dose.h"\n#include "kernels/{fields["file"]}.cu"\n')
        faults.append((fault, fields, dose_of(fault, fields)))
    ids = [fields["id"] for _, fields, _ in faults]
    for name, fields, _ in faults:
        if ids.count(fields["id"]) > 1:
            fail(name, f"id {fields['id']} twice")
    texts["faults.cc"] = list_of(faults)
    texts["races.cc"] = races_of(faults)
    texts["unfit.txt"] = "\n".join(unfit) if unfit else "every fault applies\n"
    texts["sources.txt"] = "".join(f"{source}\n" for source in sorted(sources))
    return texts


def replace(out, texts):
    """Makes `out` hold these files and no others."""
    ours = out / "faults.cc"
    if out.is_dir() and any(out.iterdir()) and not (ours.is_file() and ours.read_text().startswith(HEAD[0])):
        fail(out.name, f"{out} holds what this program did not write")
    write(ours, texts["faults.cc"])  # first: an interrupted run may be repeated
    for name, text in texts.items():
        write(out / name, text)
    kept = {out / name for name in texts}
    for path in sorted(out.rglob("*"), reverse=True):  # a folder after what is in it
        if path.is_dir() and not path.is_symlink():
            if not any(path.iterdir()):
                path.rmdir()
        elif path not in kept:
            path.unlink()


def main(arguments):
    root, out = pathlib.Path(arguments[0]), pathlib.Path(arguments[1])
    try:
        replace(out, seed(root, [pathlib.Path(path) for path in arguments[2:]]))
    except Broken as error:
        sys.exit(f"kernels/broken/{error}")


if __name__ == "__main__":
    main(sys.argv[1:])
