"""A dump: sorted lines "part TAB key TAB JSON object", one per record; and what differs between two of them."""

import hashlib
import json

MOST_LINES = 40
MOST_WIDTH = 300  # of a line that is shown; the dumps have the whole


class Refused(Exception):
    """What the user gave, or what is there, cannot be used: one line, and the exit code."""

    def __init__(self, text, code=2):
        super().__init__(text)
        self.code = code


def digest(value):
    """Of bytes, or of anything that JSON has."""
    data = value if isinstance(value, bytes) else json.dumps(value, sort_keys=True).encode()
    return hashlib.sha256(data).hexdigest()[:16]


def text_of(records):
    """records: (part, key) -> fields."""
    return "".join(sorted(f"{part}\t{key}\t{json.dumps(fields, sort_keys=True, separators=(',', ':'))}\n" for (part, key), fields in records.items()))


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"{path}: cannot be read: {error}") from error
    records = {}
    for number, line in enumerate(lines, 1):
        try:
            part, key, text = line.split("\t")
            fields = json.loads(text)
        except ValueError:
            fields = None
        if not isinstance(fields, dict) or (part, key) in records:
            raise Refused(f"{path} line {number}: must be part TAB key TAB JSON object, each part and key once")
        records[part, key] = fields
    if not records:
        raise Refused(f"{path}: no record")
    return records


def flat(fields, prefix=""):
    """{"a": {"b": 1}} as {"a.b": 1}."""
    found = {}
    for name, value in fields.items():
        if isinstance(value, dict) and value:
            found.update(flat(value, f"{prefix}{name}."))
        else:
            found[prefix + name] = value
    return found


def pair(part, key, old, new):
    """The record in both dumps, with the fields that are not the same; None: it is not there."""
    if old is None or new is None:
        return [f"{'-' if new is None else '+'}{part} {key}"]
    old, new = flat(old), flat(new)
    # What a reader asks for first stands first, since a line may be cut; hashes say least.
    order = lambda n: (n != "verdict", n.startswith(("state.", "hashes.")), n)  # noqa: E731
    names = [n for n in sorted({*old, *new}, key=order) if n not in old or n not in new or old[n] != new[n]]
    said = lambda of: " ".join(f"{n}={json.dumps(of[n])}" for n in names if n in of)  # noqa: E731
    return [f"-{part} {key}: {said(old)}", f"+{part} {key}: {said(new)}"]


def compare(old, new):
    """(text, number of records that differ): per part how many, and the first of them, at most MOST_LINES in all."""
    differing = {part: [] for part, _ in sorted({*old, *new})}
    for part, key in sorted({*old, *new}):
        if old.get((part, key)) != new.get((part, key)):
            differing[part].append(pair(part, key, old.get((part, key)), new.get((part, key))))
    left, open_parts = MOST_LINES, sum(1 for found in differing.values() if found)
    out = []
    for part, found in differing.items():
        of = sum(1 for p, _ in {*old, *new} if p == part)
        out.append(f"{part}: {len(found)} of {of} records differ")
        if not found:
            continue
        share, shown = left // open_parts, []
        for lines in found:
            if len(shown) + len(lines) > share:
                break
            shown += lines
        left, open_parts = left - len(shown), open_parts - 1
        out += [line if len(line) <= MOST_WIDTH else line[:MOST_WIDTH - 1] + "…" for line in shown]
    return "\n".join(out) + "\n", sum(len(found) for found in differing.values())
