#!/usr/bin/env bash
# The ladder with five seeds and the cost table, on a machine with a CUDA GPU:
#   bash .ci/gpu_records.sh FOLDER
# Needs Python 3.11 to 3.13 with torch, numpy, regex and tqdm, and the corpus ($COURSE_CORPUS, or a
# network to fetch it from); nothing is installed. Records land in FOLDER, each naming its device;
# given again after an interruption it goes on. PYTHON names the interpreter, JOBS the rows at once.
set -euo pipefail
if [ $# -ne 1 ]; then
  echo "usage: bash .ci/gpu_records.sh FOLDER (where the records are to land)" >&2
  exit 2
fi
mkdir -p "$1"
COURSE_RECORDS=$(realpath "$1")
export COURSE_RECORDS
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=${PYTHON:-python3}
cores=$(nproc)
jobs=${JOBS:-$((cores > 16 ? 8 : cores > 3 ? cores / 2 : 1))}

"$python" -c '
import sys
try:
    import numpy, regex, torch, tqdm
except ModuleNotFoundError as error:
    sys.exit(f"gpu_records: {error.name} is missing: pip install torch numpy regex tqdm")
if not torch.cuda.is_available():
    sys.exit(f"gpu_records: torch {torch.__version__} sees no CUDA GPU here")
print(f"on {torch.cuda.get_device_name()}, torch {torch.__version__}")
'
# The cost table first and by itself: it measures time, and must not share the machine.
"$python" -m course experiments run cost --device cuda --seeds 0 \
  --rows plain efficient plain-cuda efficient-cuda
# One run keeps a GPU busy for a small part of the time; several at once fill it.
export OMP_NUM_THREADS=1
"$python" -m course experiments run ladder --device cuda --seeds 0 1 2 3 4 --jobs "$jobs"
echo "records in $COURSE_RECORDS; what belongs to the course goes to course/experiments/records/"
