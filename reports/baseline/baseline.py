#!/usr/bin/env python3
"""Every result of this tree as one sorted text file, and what differs from an earlier one.

    python3 reports/baseline/baseline.py [--quick] [--build DIR] [--jobs N] [--out FILE] [--against FILE]

0: done, and the same as FILE; 1: records differ; 2: an argument; 3: a program is missing, or a part is not whole.
"""

import argparse
import os
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import dump
import parts


def jobs(text):
    if not text.isdecimal() or not 1 <= int(text) <= 4096:
        raise argparse.ArgumentTypeError(f"{ascii(text)[:60]}: must be 1..4096")
    return int(text)


def parse(arguments):
    parser = argparse.ArgumentParser(prog="baseline.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="some kernels, faults and lines of every part")
    parser.add_argument("--build", type=pathlib.Path, default=parts.ROOT / "build/cpu", metavar="DIR", help="default build/cpu")
    parser.add_argument("--jobs", type=jobs, default=os.cpu_count(), metavar="N", help="processes at a time; default one per core")
    parser.add_argument("--out", metavar="FILE", help="the dump; default stdout, unless --against is given")
    parser.add_argument("--against", metavar="FILE", help="an earlier dump: what differs, to stdout")
    parser.add_argument("--read", metavar="FILE", help="this dump in place of a run")
    return parser.parse_args(arguments)


def made(options):
    """Every part, run. One that has too few records is not whole."""
    found = {("about", "dump"): {"tier": "quick" if options.quick else "whole", "seed": parts.SEED}}
    with tempfile.TemporaryDirectory(prefix="baseline-") as work:
        run = parts.Run(options.build.resolve(), options.quick, options.jobs, pathlib.Path(work))
        run.require_programs()
        for name, (function, *least) in parts.PARTS.items():
            begin = time.monotonic()
            try:
                records = function(run)
            except (LookupError, ValueError, TypeError, AttributeError, OSError) as error:  # of a file that a program wrote
                raise dump.Refused(f"{name}: not understood: {error!r}"[:300], 3) from error
            need = least[0 if options.quick else 1]
            if len(records) < need:
                raise dump.Refused(f"{name}: {len(records)} records, must be at least {need}", 3)
            print(f"{name}: {len(records)} records, {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
            found = parts.merged((found, records))
    return found


def tier_of(records):
    return records.get(("about", "dump"), {}).get("tier")


def write(path, text):
    """Beside `path`, then renamed: what was there stays whole until then. None: only whether that can be done."""
    try:
        to = pathlib.Path(path).resolve()
        if to.exists() and not to.is_file():
            raise dump.Refused(f"--out {ascii(path)[:200]}: must be a regular file")
        beside = to.with_name(f".baseline-{os.getpid()}.txt")
        try:
            with open(beside, "x", encoding="utf-8") as file:
                file.write(text or "")
            if text is not None:
                os.replace(beside, to)
        finally:
            beside.unlink(missing_ok=True)
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links
        raise dump.Refused(f"--out {ascii(path)[:200]}: {getattr(error, 'strerror', None) or error}") from error


def main(arguments=None):
    options = parse(arguments)
    try:
        old = dump.read(options.against) if options.against else None  # before the work
        new = dump.read(options.read) if options.read else None
        tier = tier_of(new) if new else "quick" if options.quick else "whole"
        if old and tier_of(old) != tier:
            raise dump.Refused(f"--against {options.against}: must be a {tier} dump")
        if options.out is not None:
            write(options.out, None)
        new = new or made(options)
        if options.out is not None:
            write(options.out, dump.text_of(new))
        elif old is None:
            sys.stdout.write(dump.text_of(new))
        if old is None:
            return 0
        text, differing = dump.compare(old, new)
        sys.stdout.write(text)
        return 1 if differing else 0
    except dump.Refused as error:
        print(f"baseline.py: {error}", file=sys.stderr)
        return error.code


if __name__ == "__main__":
    sys.exit(main())
