"""Details of the smoothing kernels as hardware counters see them (cui2024, Table 5).

    python3 bench/profile.py build/facet bench/results/h200

runs `facet bench cui2024-gpu-profile` under Nsight Compute (ncu, which must be allowed to read the counters)
and writes cui2024-gpu-profile.md: one row per kernel and degree, over the launches of one smoothing step.
"""

import csv
import io
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from whole import write_whole  # noqa: E402

SUMS = {
    "gpu__time_duration.sum": "time",
    "dram__bytes.sum": "dram",
    "lts__t_bytes.sum": "l2",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum": "wavefronts",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum": "conflicts",
}
MEANS = {
    "sm__warps_active.avg.pct_of_peak_sustained_active": "occupancy",
    "l1tex__throughput.avg.pct_of_peak_sustained_active": "l1",
    "sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active": "fp64",
    "sm__pipe_tensor_op_dmma_cycles_active.avg.pct_of_peak_sustained_active": "dmma",
    "smsp__sass_average_branch_targets_threads_uniform.pct": "branch",
    "launch__registers_per_thread": "registers",
    "launch__grid_size": "blocks",
}
STAGES = ["fused", "separate: residual", "separate: solver"]
STEPS = {1: "basic", 2: "linear", 3: "conflict-free"}
UNITS = {"": 1, "%": 1, "byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "ns": 1, "us": 1e3, "ms": 1e6}


def label(name):
    """(degree, kernel) of a demangled name, or None."""
    found = re.search(r"(\w+)_kernel<(?:double|float), (?:\(int\))?(\d+)(.*)>\(", name)
    if not found:
        return None
    kind, size, rest = found.group(1), int(found.group(2)), re.findall(r"(?:\)|, )(\d+)", found.group(3))
    if kind == "patch":
        return (size + 1) // 2, "boundary, lines"
    if kind == "tensor":
        return size, "boundary, tensor"
    if kind == "ladder":
        return size, STAGES[int(rest[0])] + ", " + STEPS[int(rest[1])]
    return None


def measure(facet):
    metrics = ",".join(list(SUMS) + list(MEANS))
    command = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--metrics", metrics,
               "--kernel-name", "regex:(patch|tensor|ladder)_kernel",
               facet, "bench", "cui2024-gpu-profile", "--device", "cuda"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith('"ID"'))
    rows = list(csv.reader(io.StringIO("\n".join(lines[start:]))))
    names, units = rows[0], rows[1]
    kernels = {}
    for row in rows[2:]:
        entry = dict(zip(names, row))
        key = label(entry["Kernel Name"])
        if key is None:
            continue
        found = kernels.setdefault(key, {"launches": 0})
        found["launches"] += 1
        for metric, short in {**SUMS, **MEANS}.items():
            raw = entry.get(metric, "").replace(",", "")
            if not re.match(r"^[0-9.]+$", raw):
                continue
            unit = units[names.index(metric)]
            found[short] = found.get(short, 0.0) + float(raw) * UNITS.get(unit, 1)
    for found in kernels.values():
        for short in MEANS.values():
            if short in found:
                found[short] /= found["launches"]
    return kernels


def table(kernels):
    head = ["k", "kernel", "ms", "registers", "occupancy %", "L1 %", "FP64 %", "DMMA %", "branches %",
            "wavefronts / block", "conflicts / block", "DRAM MB", "L2 MB"]
    rows = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]

    def number(found, short, scale=1.0, digits=1):
        return "%.*f" % (digits, found[short] * scale) if short in found else "-"

    for (k, name), found in sorted(kernels.items()):
        blocks = found.get("blocks", 0.0) * found["launches"]
        per_block = 1.0 / blocks if blocks else 0.0
        rows.append("| " + " | ".join([
            str(k), name, number(found, "time", 1e-6, 2), number(found, "registers", 1.0, 0),
            number(found, "occupancy"), number(found, "l1"), number(found, "fp64"), number(found, "dmma"),
            number(found, "branch"), number(found, "wavefronts", per_block, 0),
            number(found, "conflicts", per_block, 0), number(found, "dram", 1e-6, 0),
            number(found, "l2", 1e-6, 0)]) + " |")
    return "\n".join(rows)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    text = "# cui2024-gpu-profile\n\n" + (
        "One smoothing step of 128 x 128 x 2 cells (four colours), f64, by hardware counters (cui2024, Table 5; there Q_3: "
        "FP64 19, 21, 24 %, conflicts 113, 163, 0 for basic, linear, conflict-free). "
        "Wavefronts and conflicts are those of shared memory.\n\n"
        "- command: `python3 bench/profile.py build/facet bench/results/h200`\n- program: "
        + subprocess.run([sys.argv[1], "--version"], capture_output=True, text=True, check=True).stdout + "\n")
    text += table(measure(sys.argv[1])) + "\n"
    write_whole(os.path.join(sys.argv[2], "cui2024-gpu-profile.md"), text.encode())
    print(text)


if __name__ == "__main__":
    main()
