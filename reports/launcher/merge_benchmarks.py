"""Several results of Google Benchmark as one of the same form: what its own tools and `compare --bench` read.

    merge_benchmarks.py OUT.json FLAGS.txt NAME=RESULT.json ...

Every benchmark's name begins with that of its program, so that none meets another. `context` is the first one's (they ran on
one machine), with the programs and how they were built. OUT.json is replaced as a whole or not at all.
"""

import json
import os
import sys
import tempfile


def main():
    out, flags, *parts = sys.argv[1:]
    merged = {"context": {}, "benchmarks": []}
    for part in parts:
        name, path = part.split("=", 1)
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
        merged["context"] = merged["context"] or dict(result["context"], executable="flashproof bench", programs=[])
        merged["context"]["programs"].append(name)
        for benchmark in result["benchmarks"]:
            for key in ("name", "run_name"):
                if key in benchmark:
                    benchmark[key] = f"{name}/{benchmark[key]}"
            merged["benchmarks"].append(benchmark)
    if not merged["benchmarks"]:
        sys.exit("nothing was measured")
    with open(flags, encoding="utf-8") as file:
        merged["context"].update(line.rstrip("\n").split(": ", 1) for line in file if ": " in line)
    folder = os.path.dirname(os.path.abspath(out))
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".bench-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(merged, file, indent=1)
            file.write("\n")
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, out)
    except BaseException:
        os.unlink(temporary)
        raise


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"flashproof: {error}")
