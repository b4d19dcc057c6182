"""The numerical tests once under each kind of BLAS kernels that this machine can take, but its own.

    make test-kernels

OpenBLAS has other kernels for each kind of processor, and sums in another order with each. A
tolerance that only the kernels at hand keep is a tolerance of this machine.
"""

import json
import os
import subprocess
import sys

CORES = ("Haswell", "SkylakeX", "Zen", "Prescott")
TAKEN = """
import json, numpy, scipy.linalg, threadpoolctl
scipy.linalg.eigh(numpy.ones((99, 99)) @ numpy.eye(99))  # ends the process where it cannot run
print(json.dumps(sorted({str(one.get("architecture")) for one in threadpoolctl.threadpool_info()})))
"""


def environment(core: str | None) -> dict[str, str]:
    """The environment of a process that is told to take the kernels of a core."""
    return os.environ if core is None else {**os.environ, "OPENBLAS_CORETYPE": core}


def kernels(core: str | None) -> str | None:
    """The kernels that BLAS takes when told so; None where this processor cannot run them."""
    command = [sys.executable, "-c", TAKEN]
    run = subprocess.run(command, env=environment(core), capture_output=True, text=True)
    return "/".join(json.loads(run.stdout)) if run.returncode == 0 else None


def main(words: list[str]) -> int:
    """Run pytest with the words once per kind of kernels; 1 if a test failed under any."""
    own, tried, story = kernels(None), {}, []
    for core in CORES:
        taken = kernels(core)
        if taken is None:
            story.append(f"{core}: not possible, this processor cannot run its kernels")
        elif taken == own and core.lower() != str(own).lower():
            story.append(f"{core}: not possible, BLAS stays with {own}")
        elif taken == own:
            story.append(f"{core}: its kernels are those of this machine, which make test runs")
        elif taken in tried:
            story.append(f"{core}: takes the {taken} kernels of {tried[taken]}, which ran")
        else:
            tried[taken] = core
            run = subprocess.run([sys.executable, "-m", "pytest", *words], env=environment(core))
            verdict = "passed" if run.returncode == 0 else "FAILED"
            story.append(f"{core}: {verdict}, with {taken} kernels")
    sys.stdout.write("\n".join([f"BLAS takes {own} kernels here by itself", *story]) + "\n")
    return int(any("FAILED" in line for line in story))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
