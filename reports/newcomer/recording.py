#!/usr/bin/env python3
"""The README's picture: a kernel is compiled and judged in a terminal, and what stood there becomes an SVG.

    recording.py PLUGIN OUT.svg          PLUGIN: flashproof-plugin, built
    recording.py PLUGIN OUT.svg --check  exit 1 where OUT.svg shows other text than the program prints now

The run is real: attention.c of this folder, with its causal mask aligned top left, in a pseudo-terminal of 100 columns. Lines appear one
after another, by CSS alone; without animation the picture stands.
"""

import html
import os
import pathlib
import pty
import re
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SHOWN_FOLDER = "/home/me/work"  # as long as the folder it stands for, so that lines break as they did
LIBRARY = "mine.so"
LINE, CHARACTER, MARGIN = 19, 8.05, 18
HUES = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341"}


def recorded(command, folder):
    """What the command writes to a terminal."""
    parent, child = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm-256color", "COLUMNS": "100"}
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=child, stderr=subprocess.DEVNULL, env=environment)
    os.close(child)
    data = b""
    while True:
        try:
            part = os.read(parent, 65536)
        except OSError:  # the other end is closed: Linux says so in this way
            break
        if not part:
            break
        data += part
    os.close(parent)
    if process.wait() != 1:
        sys.exit(f"recording: {shlex.join(map(str, command))} ended with {process.returncode}, not with a finding")
    return data.decode().replace("\r\n", "\n")


def screen(plugin):
    """(prompt or output, text with its colours) of every line."""
    with tempfile.TemporaryDirectory(prefix="", dir="/tmp") as folder:
        if len(folder) != len(SHOWN_FOLDER):
            sys.exit(f"recording: {folder} is not as long as {SHOWN_FOLDER}")
        compiler = os.environ.get("CC", "cc").split()
        subprocess.run([*compiler, "-O2", "-std=c11", "-shared", "-fPIC", "-DMASK_TOP_LEFT", f"-I{ROOT}", HERE / "attention.c", "-o",
                        f"{folder}/{LIBRARY}", "-lm"], check=True)
        output = recorded([plugin, "check", f"./{LIBRARY}"], folder).replace(folder, SHOWN_FOLDER)
    lines = [("$", f"cc -O2 -shared -fPIC -I ~/flashproof attention.c -o {LIBRARY} -lm"), ("$", f"~/flashproof/flashproof check ./{LIBRARY}")]
    return lines + [("", line) for line in output.rstrip("\n").split("\n")]


def spans(text):
    """The line's text as tspans: SGR codes are its colours, and nothing else of a terminal is in it."""
    parts, style = [], ""
    for piece in re.split(r"(\x1b\[[0-9;]*m)", text):
        code = re.fullmatch(r"\x1b\[([0-9;]*)m", piece)
        if code:
            codes = code.group(1).split(";")
            hue = next((HUES[c] for c in codes if c in HUES), "")
            style = (f' fill="{hue}"' if hue else "") + (' font-weight="bold"' if "1" in codes else "")
        elif piece:
            parts.append(f"<tspan{style}>{html.escape(piece)}</tspan>")
    return "".join(parts)


def plain(lines):
    return "\n".join((prompt + " " + re.sub(r"\x1b\[[0-9;]*m", "", text)).strip() for prompt, text in lines)


def picture(lines):
    longest = max(len(line) for line in plain(lines).split("\n"))
    width, height = round(MARGIN * 2 + longest * CHARACTER), MARGIN * 2 + LINE * len(lines)
    rows = []
    for i, (prompt, text) in enumerate(lines):
        seconds = 0.4 + 1.2 * i if i < 2 else 2.2 + 0.06 * i
        shown = f'<tspan fill="#8b949e">{prompt} </tspan>{html.escape(text)}' if prompt else spans(text)
        rows.append(f'<text x="{MARGIN}" y="{MARGIN + LINE * (i + 1) - 5}" style="animation-delay:{seconds:.2f}s">{shown}</text>')
    return f"""<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">
<title>./flashproof check finds that a kernel's causal mask is aligned top left</title>
<style>
text {{ font: 13.4px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #e6edf3; white-space: pre; animation: appear 0.01s both }}
@keyframes appear {{ from {{ opacity: 0 }} to {{ opacity: 1 }} }}
@media (prefers-reduced-motion: reduce) {{ text {{ animation: none }} }}
</style>
<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>
{chr(10).join(rows)}
</svg>
"""


def main(arguments):
    if len(arguments) not in (2, 3) or arguments[2:] not in ([], ["--check"]):
        sys.exit(__doc__)
    lines, out = screen(pathlib.Path(arguments[0]).resolve()), pathlib.Path(arguments[1])
    if arguments[2:]:
        kept = html.unescape(re.sub(r"<[^>]*>", "", "\n".join(re.findall(r"<text.*?</text>", out.read_text(encoding="utf-8")))))
        strip = lambda text: [line.strip() for line in text.split("\n")]  # noqa: E731
        if strip(kept) != strip(plain(lines)):
            sys.exit(f"recording: {out} shows something else now; make it again:\n{plain(lines)}")
        return
    out.write_text(picture(lines), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
