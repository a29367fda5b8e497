"""What a record's category and name say about it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from spn.trace.records import Collective, Kind, Layer

STEP_MARK = re.compile(r"ProfilerStep#(\d+)$")
LARGEST = 2**62  # bytes, or any other whole number of a record
DEVICE_COPIES = "gpu_user_annotation"  # a range of the host told once more on the device

_DEVICE = {"kernel": Kind.COMPUTE, "gpu_memcpy": Kind.MEMORY, "gpu_memset": Kind.MEMORY, "memcpy": Kind.MEMORY, "memset": Kind.MEMORY}
CALLS = frozenset({"cuda_runtime", "cuda_driver", "runtime", "xpu_runtime", "xpu_driver", "privateuse1_runtime", "privateuse1_driver"})
_NOT_WORK = frozenset({"trace", "python_function", "overhead", "ac2g", "fwdbwd", "async"})
_COLLECTIVE_KERNEL = re.compile(r"nccl|rccl|oneccl", re.IGNORECASE)
_COLLECTIVE_RANGE = re.compile(r"^(gloo|nccl|rccl|mpi|ucc|xccl|hccl):|^c10d::|^record_param_comms$")
_WAIT = re.compile(r"wait|barrier|synchronize|idle|^negotiate", re.IGNORECASE)
_UPDATE = re.compile(r"^\W*(optimi[sz]er|update|apply)(?!.*zero)", re.IGNORECASE)
_COMMUNICATION = re.compile(
    r"all[-_ ]?reduce|all[-_ ]?gather|all[-_ ]?to[-_ ]?all|reduce[-_ ]?scatter|broadcast|\bcomm(unication)?\b"
    r"|^(pull|push|send|recv|receive|fetch|upload|download)|[-_ .](send|recv)\b",
    re.I,
)
_COMPUTE = re.compile(r"compute|forward|backward|fwd|bwd", re.IGNORECASE)

_COLLECTIVES = tuple(
    (re.compile(pattern, re.IGNORECASE), collective)
    for pattern, collective in (
        (r"all[-_ ]?reduce", Collective.ALL_REDUCE),
        (r"all[-_ ]?gather", Collective.ALL_GATHER),
        (r"reduce[-_ ]?scatter", Collective.REDUCE_SCATTER),
        (r"all[-_ ]?to[-_ ]?all", Collective.ALL_TO_ALL),
        (r"broadcast", Collective.BROADCAST),
        (r"barrier", Collective.BARRIER),
        (r"send[-_ ]?recv", Collective.ALL_TO_ALL),
        (r"gather", Collective.GATHER),
        (r"scatter", Collective.SCATTER),
        (r"reduce", Collective.REDUCE),
        (r"recv|receive|pull|fetch|download", Collective.RECV),
        (r"send|push|upload", Collective.SEND),
    )
)

_SIZES = {
    "float": 4, "float32": 4, "double": 8, "float64": 8, "half": 2, "float16": 2, "bfloat16": 2, "c10::half": 2, "c10::bfloat16": 2,
    "long": 8, "int64": 8, "long int": 8, "int": 4, "int32": 4, "short": 2, "int16": 2, "char": 1, "int8": 1, "signed char": 1,
    "byte": 1, "uint8": 1, "unsigned char": 1, "bool": 1, "float8_e4m3fn": 1, "float8_e5m2": 1, "c10::float8_e4m3fn": 1,
    "c10::float8_e5m2": 1, "complexfloat": 8, "complexdouble": 16, "c10::complex<float>": 8, "c10::complex<double>": 16,
}  # fmt: skip


@lru_cache(maxsize=1 << 16)
def classify(category: str, name: str) -> tuple[Kind, Layer]:
    """Kind and layer of a record from the category that its profiler gave (in any case) and its name."""
    category = category.lower()
    if category in _DEVICE:
        collective = category == "kernel" and _COLLECTIVE_KERNEL.search(name)
        return (Kind.COMMUNICATION if collective else _DEVICE[category]), Layer.DEVICE
    if category in CALLS or category == "cuda_sync":
        return (Kind.WAIT if category == "cuda_sync" or _WAIT.search(name) else Kind.OTHER), Layer.HOST
    if category in _NOT_WORK:
        return Kind.OTHER, Layer.HOST
    if name.startswith("aten::") and category not in ("cpu_op", "operator"):  # the old profiler of autograd gives no category
        return Kind.COMPUTE, Layer.HOST
    if _COLLECTIVE_RANGE.search(name):
        return Kind.COMMUNICATION, Layer.HOST if category in ("cpu_op", "operator") else Layer.RANGE
    if category in ("cpu_op", "operator"):
        return (Kind.UPDATE if name.startswith("Optimizer.step") else Kind.COMPUTE), Layer.HOST
    return by_name(name), Layer.RANGE


def by_name(name: str) -> Kind:
    """The kind of a named range, from the words people use."""
    for pattern, kind in (
        (_WAIT, Kind.WAIT),
        (_COMMUNICATION, Kind.COMMUNICATION),
        (_UPDATE, Kind.UPDATE),
        (_COMPUTE, Kind.COMPUTE),
    ):
        if pattern.search(name):
            return kind
    return Kind.OTHER


@lru_cache(maxsize=1 << 12)
def collective(name: str) -> Collective:
    """The pattern of communication that a name tells of, longest words first. NCCL does an all-to-all in one kernel SendRecv."""
    return next((found for pattern, found in _COLLECTIVES if pattern.search(name)), Collective.NONE)


def group_size(arguments: Mapping[str, Any]) -> int:
    """Members of the collective's group, or -1."""
    given = arguments.get("Group size", arguments.get("group_size"))
    return given if isinstance(given, int) and 0 < given < 2**31 else -1


def tensorflow_kind(op: str) -> Kind:
    """The kind of a dataflow operation from its type."""
    if op in ("RecvTensor", "_Recv", "_Send", "_HostRecv", "_HostSend") or op.startswith(("Collective", "Horovod", "Nccl")):
        return Kind.COMMUNICATION
    if re.match(r"(Resource|Sparse)*(Sparse)?Apply|Assign(Add|Sub)", op):
        return Kind.UPDATE
    if op.startswith(("MEMCPY", "Memcpy", "MemcpyH", "MemcpyD")):
        return Kind.MEMORY
    if re.match(r"(Queue|Barrier|Iterator|.*Iterator|OneShot).*|.*Dequeue.*", op):
        return Kind.WAIT
    return Kind.OTHER if op in ("NoOp", "Const", "_Retval", "_Arg", "VariableV2", "VarHandleOp", "Variable", "") else Kind.COMPUTE


def size(arguments: Mapping[str, Any]) -> int:
    """Bytes that a record says it moves, or -1: an explicit count, elements of a type, or the shapes and types of its inputs."""
    given = arguments.get("bytes")
    if isinstance(given, int | float) and 0 <= given < LARGEST:
        return int(given)
    elements, kind = arguments.get("In msg nelems"), arguments.get("dtype")
    if isinstance(elements, int) and elements >= 0 and str(kind).lower() in _SIZES:
        return _possible(elements * _SIZES[str(kind).lower()])
    return _possible(_input_size(arguments.get("Input Dims"), arguments.get("Input type")))


def _possible(size: int) -> int:
    return size if 0 <= size < LARGEST else -1


def _input_size(dims: object, types: object) -> int:
    if not isinstance(dims, list) or not isinstance(types, list):
        return -1
    sizes = [_elements(d) * _SIZES[str(t).lower()] for d, t in zip(dims, types, strict=False) if str(t).lower() in _SIZES]
    known = [s for s in sizes if s >= 0]
    return sum(known) if known else -1


def _elements(dims: object) -> int:
    """Elements of a shape, or the sum over a list of shapes; negative where it is neither."""
    if not isinstance(dims, list):
        return -1
    if dims and all(isinstance(d, list) for d in dims):
        return sum(max(0, _elements(d)) for d in dims)
    whole = [d for d in dims if isinstance(d, int)]
    return math.prod(whole) if len(whole) == len(dims) else -1


def width(kind: str) -> int:
    """Bytes of one element of a type by its lower-case name, or 0."""
    return _SIZES.get(kind, 0)
