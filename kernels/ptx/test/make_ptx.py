#!/usr/bin/env python3
"""Makes kernels/*.ptx, a few entries of this project's own kernels as nvcc translates them:

    python3 kernels/ptx/test/make_ptx.py [NVCC]        in the project's root; NVCC: 13.0 made what is here

They let a machine without nvcc run twin_test; a machine with nvcc compiles every kernel for it.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

# source -> the entries wanted, as expressions of their mangled names
WANTED = {
    "softmax/online_two_pass": r"FormatE[12]EN.*SoftmaxHardened",
    "softmax/three_pass": r"FormatE1EN.*SoftmaxHardened",
    "softmax/split_row": r"split_fold|FormatE1",
    "merge/nway": r"FormatE1",
    "merge/states_tree": r"lay_out_tree|FormatE1",
    "attention/deferred": r"ELi1E",
    "attention/mma": r"FormatE2.*ELi(64|256)E",
    "attention_backward/two_kernels": r"FormatE1E.*ELi1E|finish",
}
# The same with the GPU's own approximations.
WANTED_NATIVE = {
    "softmax/three_pass": r"FormatE1EN.*SoftmaxHardened",
    "merge/nway": r"FormatE1",
    "attention/deferred": r"ELi1E",
}


def cut(text: str, wanted: str) -> str:
    """The head and the entries wanted, without comments."""
    text = re.sub(r"^\s*//.*\n|[ \t]*//.*$", "", text, flags=re.M)
    entry = re.compile(r"^\.visible \.entry (\w+)\(.*?^\}\n", re.M | re.S)
    kept = [m.group(0) for m in entry.finditer(text) if re.search(wanted, m.group(1))]
    if not kept:
        sys.exit(f"no entry matches {wanted}")
    return re.sub(r"\n{2,}", "\n", entry.sub("", text) + "\n".join(kept))


def main() -> None:
    nvcc = sys.argv[1] if len(sys.argv) > 1 else "nvcc"
    root = pathlib.Path(__file__).resolve().parents[3]
    for kind, flags, all_wanted in (("", [], WANTED), (".native", ["-DFP_NATIVE_MATH"], WANTED_NATIVE)):
        for source, wanted in all_wanted.items():
            options = ["-std=c++20", "-ptx", "-arch=compute_80", *flags]
            with tempfile.TemporaryDirectory() as folder:
                made = pathlib.Path(folder) / "made.ptx"
                command = [nvcc, *options, "-I.", "-o", str(made), f"kernels/{source}.cu"]
                subprocess.run(command, cwd=root, check=True, stdout=subprocess.DEVNULL)
                text = cut(made.read_text(), wanted)
            to = root / "kernels/ptx/test/kernels" / (source.replace("/", "_") + kind + ".ptx")
            to.write_text(f"// kernels/{source}.cu, through nvcc {' '.join(options)} (make_ptx.py)\n{text}")
            print(to.name, len(text))


if __name__ == "__main__":
    main()
