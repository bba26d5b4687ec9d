"""The kernels' speed on a GPU beside PyTorch's, as Markdown: python3 table.py GPU_BENCHMARK [--benchmark_filter=REGEX]

Runs the benchmark program, then PyTorch's kernels at the same shapes in the same minute, if PyTorch and a GPU are there.
Peers: torch.softmax; scaled_dot_product_attention with one backend at a time. A figure is the median of 20 calls timed by
events after 3 to warm up. Exit: the benchmark program's.
"""
import json
import re
import subprocess
import sys

SOFTMAX = [(65536, 1024), (32768, 4096), (8192, 32768), (2048, 131072), (256, 1048576)]
ATTENTION = [(16, 8192, 128), (16, 16384, 64)]
DECODE = (8, 32, 65536, 128)
BACKENDS = {"flash": "FLASH_ATTENTION", "cuDNN": "CUDNN_ATTENTION", "memory-efficient": "EFFICIENT_ATTENTION"}


def kernels(program, options):
    """Rows (workload, format, kernel, math, rate, unit), the copy bandwidth in TB/s and the device."""
    run = subprocess.run([program, "--benchmark_format=json", *options], stdout=subprocess.PIPE, check=False)
    if run.returncode:
        sys.exit(run.returncode)
    result = json.loads(run.stdout)
    rows, copy = [], None
    for entry in result["benchmarks"]:
        name = re.sub(r"/(manual_time|repeats:\d+|min_time:[\d.]+)", "", entry["run_name"])
        if entry.get("error_occurred"):
            kernel, math, form, workload = name.split("/", 3)
            rows.append((workload, form, kernel, math, entry["error_message"], ""))
            continue
        if entry["aggregate_name"] != "median":
            continue
        unit = "TB/s" if "TB/s" in entry else "TFLOP/s"
        if name == "copy":
            copy = entry[unit]
            continue
        kernel, math, form, workload = name.split("/", 3)
        rows.append((workload, form, kernel, math, entry[unit], unit))
    return list(dict.fromkeys(rows)), copy, result["context"].get("device", "")


def peers():
    try:
        import torch
        from torch.nn.attention import SDPBackend, sdpa_kernel
        from torch.nn.functional import scaled_dot_product_attention
    except ImportError:
        return [], "PyTorch is not installed: no peers"
    if not torch.cuda.is_available():
        return [], "PyTorch finds no GPU: no peers"

    def seconds(call):
        times = []
        for _ in range(23):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            call()
            end.record()
            torch.cuda.synchronize()
            times.append(begin.elapsed_time(end) / 1e3)
        return sorted(times[3:])[10]

    def attention(label, amount, unit, q, k, v, causal, form):
        for backend, constant in BACKENDS.items():
            try:
                with sdpa_kernel(getattr(SDPBackend, constant)):
                    taken = seconds(lambda: scaled_dot_product_attention(q, k, v, is_causal=causal))
            except RuntimeError:
                continue
            yield label, form, f"PyTorch {backend}", "native", amount / taken / 1e12, unit

    rows = []
    torch.manual_seed(1)
    for form, dtype in (("f32", torch.float32), ("bf16", torch.bfloat16)):
        for count, columns in SOFTMAX:
            x = torch.randn(count, columns, device="cuda", dtype=dtype)
            taken = seconds(lambda: torch.softmax(x, -1))
            moved = 2 * x.numel() * x.element_size()
            rows.append((f"softmax/{count}x{columns}", form, "torch.softmax", "native", moved / taken / 1e12, "TB/s"))
    for form, dtype in (("f16", torch.float16), ("bf16", torch.bfloat16)):
        for causal in (False, True):
            for heads, length, dim in ATTENTION:
                q, k, v = (torch.randn(2, heads, length, dim, device="cuda", dtype=dtype) for _ in range(3))
                label = f"attention/2x{heads}x{length}x{dim}/{'causal' if causal else 'full'}"
                amount = 4 * 2 * heads * length * length * dim * (0.5 if causal else 1)
                rows += attention(label, amount, "TFLOP/s", q, k, v, causal, form)
        batch, heads, length, dim = DECODE
        q = torch.randn(batch, heads, 1, dim, device="cuda", dtype=dtype)
        k, v = (torch.randn(batch, heads, length, dim, device="cuda", dtype=dtype) for _ in range(2))
        rows += attention(f"decode/{batch}x{heads}x{length}x{dim}", 2 * k.numel() * k.element_size(), "TB/s", q, k, v,
                          False, form)
        del q, k, v
    return rows, f"PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    rows, copy, device = kernels(sys.argv[1], sys.argv[2:])
    others, line = peers()
    print(f"{device}; {line}" + (f"; copy {copy:.2f} TB/s, read and written" if copy else "") + "\n")
    print("| workload | format | kernel | math | rate | share of copy |")
    print("|---|---|---|---|--:|--:|")
    refused = []
    for workload, form, kernel, math, rate, unit in sorted(rows + others, key=lambda row: row[:4]):
        if not unit:
            refused.append(f"{kernel} at {workload}, {form}: {rate}")
            continue
        share = f"{100 * rate / copy:.0f} %" if unit == "TB/s" and copy else ""
        print(f"| {workload} | {form} | {kernel} | {math} | {rate:.3g} {unit} | {share} |")
    for text in sorted(set(refused)):
        print(f"\nrefused: {text}")


if __name__ == "__main__":
    main()
