"""What a dump has: every part runs a program with a fixed seed and gives (part, key) -> fields."""

import concurrent.futures
import json
import pathlib
import subprocess

from dump import Refused, digest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEED = "1"

CLI, PROPERTIES, RECORDS = "reports/flashproof-cli", "properties/driver/flashproof-properties", "reports/baseline/flashproof-baseline"
PLUGINS = tuple(f"reports/baseline/{name}.so" for name in ("c_softmax", "my_softmax", "broken", "my_attention")) + tuple(
    f"kernels/plugin/test/{name}.so" for name in ("adversary", "with_dlpack"))

QUICK_PROPERTIES = ("softmax.online_block.hardened", "merge.pairwise_tree.hardened", "attention_backward.two_kernels.hardened")
QUICK_FAULTS = ("softmax.broken.no_empty_guard", "softmax.broken.sum_in_storage_format", "softmax.broken.tail_dropped", "merge.broken.two_empty_states",
                "merge.broken.misprinted_lse", "attention.broken.causal_top_left", "attention_backward.broken.unseen_not_written")
QUICK_FAMILIES = ("normal", "mask_random", "mask_first_tile", "huge", "special_values", "overflow_edge", "near_ties", "sizes", "hidden_specials", "lse_gaps")
PLAIN = ("form", "verdict", "cases", "counts", "failures", "max_ratio", "terms")  # of a record; the others as a hash each


class Run:
    def __init__(self, build, quick, jobs, work):
        self.build, self.quick, self.jobs, self.work = build, quick, jobs, work

    def require_programs(self):
        for name in (CLI, PROPERTIES, RECORDS, *PLUGINS):
            if not (self.build / name).is_file():
                raise Refused(f"{self.build / name}: missing; cmake --build {self.build} --target baseline_programs makes it", 3)

    def call(self, program, *arguments):
        """(exit code, stdout). 1 and 4 are findings and what was not decided; anything else but 0 ends the dump."""
        done = subprocess.run([str(self.build / program), *map(str, arguments)], cwd=self.work, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode not in (0, 1, 4):
            said = done.stderr.strip().splitlines()
            raise Refused(f"{program} {' '.join(map(str, arguments))}: exit {done.returncode}: {said[-1] if said else 'no word'}", 3)
        return done.returncode, done.stdout

    def each(self, function, items):
        """function of each item, --jobs at a time."""
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            return list(pool.map(function, items))


def put(found, part, key, fields):
    if (part, key) in found:
        raise Refused(f"{part}: {key}: there twice", 3)
    found[part, key] = fields


def options(name, values):
    return [word for value in values for word in (name, value)]


def quick_families(run):
    """Of report and check: every kernel on some families."""
    return ["--quick", *options("--family", QUICK_FAMILIES)] if run.quick else []


def witness_hash(path):
    return digest(pathlib.Path(path).read_bytes()) if path else ""


def report(run):
    out = run.work / "report"
    code, _ = run.call(CLI, "report", "--seed", SEED, "--exec", "cpu", "--jobs", run.jobs, "--out", out, *quick_families(run))
    run.call(CLI, "render", out / "report.json", "--json", out / "full.json")
    document = json.loads((out / "full.json").read_text(encoding="utf-8"))
    one = document["runs"][0]
    found = {("report", "run"): {"exit": code, **{n: one[n] for n in ("seed", "tier", "cases", "kernel_runs", "partial")}}}
    for record in document["records"]:
        key = " ".join(record.pop(n) for n in ("kernel", "format", "executor", "math", "family"))
        fields = {name: record.pop(name) for name in PLAIN}
        figures, witness = record.pop("figures"), record.pop("witness")
        fields["state"] = {part: digest(value) for part, value in figures.items()}
        if witness:
            del witness["replay"]  # names the program by its path
            fields["witness"] = {**witness, "file": witness_hash(witness.get("file") and out / witness["file"])}
        fields["hashes"] = {name: digest(value) for name, value in record.items()}
        put(found, "report", key, fields)
    for odd in document["investigate"]:
        key = " ".join(odd.pop(n) for n in ("kernel", "format", "executor", "math", "family", "tensor", "what"))
        put(found, "report", "investigate " + key, odd)
    return found


def hardened(run):
    listed = json.loads(run.call(CLI, "list", "kernels", "--json")[1])
    return [k["id"] for k in listed if k["form"] == "hardened"]


def properties(run):
    def of(kernel):
        out = run.work / "properties" / kernel
        code, _ = run.call(PROPERTIES, "--kernel", kernel, "--seed", SEED, "--json", out / "counts.json", "--out", out, *(["--cases", "1"] if run.quick else []))
        found = {("properties", kernel): {"exit": code}}
        for result in json.loads((out / "counts.json").read_text(encoding="utf-8"))["results"]:
            key = f"{result.pop('kernel')} {result.pop('law')}"
            for family, counts in result.pop("families", {}).items():
                put(found, "properties", f"{key} {family}", counts)
            result.pop("replay", None)
            if "witness" in result:
                result["witness"] = witness_hash(result["witness"])
            put(found, "properties", key, result)
        return found

    return merged(run.each(of, QUICK_PROPERTIES if run.quick else hardened(run)))


def faults(run):
    out = run.work / "faults"
    code, _ = run.call(CLI, "report", "--faults", "--jobs", run.jobs, "--out", out, *(options("--kernel", QUICK_FAULTS) if run.quick else []))
    document = json.loads((out / "faults.json").read_text(encoding="utf-8"))
    found = {("faults", "table"): {"exit": code, "partial": document["partial"], "survivors": document["survivors"]}}
    for fault in document["faults"]:
        key = f"{fault['number']} {fault['id']}"
        for law, outcome in fault.pop("laws").items():
            put(found, "faults", f"{key} {law}", outcome)
        put(found, "faults", key, fault)
    return found


def check(run):
    found = {}
    for plugin in PLUGINS:
        name = pathlib.Path(plugin).stem
        out = run.work / "check" / name
        code, _ = run.call(CLI, "check", run.build / plugin, "--seed", SEED, "--jobs", run.jobs, "--json", out / "check.json", "--out", out,
                           *quick_families(run))
        document = json.loads((out / "check.json").read_text(encoding="utf-8"))
        for result in document.pop("results"):
            result.pop("replay", None)
            if "witness" in result:
                result["witness"] = witness_hash(result["witness"])
            result["cases"] = {kind: count for kind, count in result["cases"].items() if count}
            put(found, "check", f"{name} {result.pop('kernel')} {result.pop('format')} {result.pop('law')}", result)
        for outcome in document.pop("outcomes", []):
            put(found, "check", f"{name} {outcome.pop('kernel')} {outcome.pop('format')} decided", outcome)
        put(found, "check", name, {"exit": code, **document})
    return found


def elites(run):
    """What elites_test replays: every worst case that a campaign of fuzzing has left."""
    lines = [line for line in (ROOT / "properties/regressions/elites.txt").read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]

    def of(shard):
        file = run.work / f"elites-{shard}.txt"
        file.write_text("".join(line + "\n" for line in lines[shard::run.jobs]), encoding="utf-8")
        _, text = run.call(RECORDS, "elites", file)
        found = {}
        for key, _, fields in (line.partition("\t") for line in text.splitlines()):
            put(found, "elites", key, json.loads(fields))
        return found

    found = merged(run.each(of, range(min(run.jobs, len(lines)))))
    if len(found) != len(lines):
        raise Refused(f"elites: {len(lines)} lines, but {len(found)} records", 3)
    return found


def merged(dictionaries):
    found = {}
    for one in dictionaries:
        for (part, key), fields in one.items():
            put(found, part, key, fields)
    return found


#: Part -> (function, least number of records, of --quick and of a whole dump). Fewer: something was not run.
PARTS = {"report": (report, 1650, 7600), "properties": (properties, 3250, 60000), "faults": (faults, 210, 2600),
         "check": (check, 470, 470), "elites": (elites, 560, 560)}
