"""LLVM text → machine code in this process, through the cache on disk.

The key of an object is a hash of the text, the processor with its features, the version of llvmlite and how the text is
optimised. A hit only links the stored object; a miss parses the text, optimises it for the host and stores the
result.
"""

import ctypes
import hashlib
import re
import threading
from collections.abc import Callable
from functools import cache, wraps
from threading import Lock
from typing import Any, final

from daedal.errors import SimulationError
from daedal.kernels import cache as disk
from daedal.kernels.target import Target, find_host

LARGE_TEXT = 400_000  # characters; beyond, the slower optimisations take longer than they save: two percent, at most
QUICK_TEXT = 100_000  # characters, from which on it pays not to optimise what is run once
SECONDS = 8e-7  # of compiling a character, about, of texts that are larger
CROWDED = 7e-13  # and for each other one of its block, whose instructions are chosen and ordered together
QUICK_SHARE = 0.2  # of both, where it is not optimised
REMEMBERED = 256  # codes kept, those made last; one that a function was taken from lives as long as that function

STACK = 1 << 22  # bytes that any thread has left, half of the usual eight megabytes
SPILLED = 8  # bytes of the stack for a line of optimised text: 0.5 were seen

# The text is vectorised already, and long loop bodies gain nothing from unrolling.
TUNING = dict.fromkeys(("loop_vectorization", "slp_vectorization", "loop_interleaving", "loop_unrolling"), False)
UNOPTIMISED = "; quick\n"  # how its text begins, which tells it from the other

_lock = Lock()
_codes: dict[str, "Code"] = {}


@final
class Code:
    """Machine code that stays in memory as long as this object lives; `stack`: how many bytes it may put there."""

    def __init__(self, data: bytes, stack: int = 0) -> None:
        self._stack = stack
        llvm = _load_llvm()
        host = find_host()
        machine = _make_machine(host, 2)  # a fresh one: the engine owns it and frees it
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(f'target triple = "{host.triple}"'), machine)
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(data))
        self._engine.finalize_object()

    def function(self, name: str, pointers: int, integers: int) -> Any:
        """A function without result of so many pointers and integers, callable without the interpreter lock."""
        address = self._engine.get_function_address(name)
        if not address:
            raise SimulationError(f"The compiled object has no function '{name}'.", "Empty the cache folder.")
        call: Any = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * pointers, *[ctypes.c_int64] * integers)(address)
        call = self.give_room(call)
        call.code, call.address = self, address  # the code stays alive with its function
        return call

    def give_room(self, call: Any) -> Any:
        """A function that runs this code, with as much stack as that may need."""
        return _run_aside(call, self._stack + STACK) if self._stack > STACK else call


_stacks = Lock()


def _run_aside(call: Callable[..., None], stack: int) -> Any:
    """The function in a thread that has so many bytes of stack: a stack that ends takes the process with it."""

    @wraps(call)
    def run(*arguments: int) -> None:
        thread = threading.Thread(target=call, args=arguments, daemon=True)
        with _stacks:
            before = threading.stack_size(stack)
            try:
                thread.start()
            finally:
                threading.stack_size(before)
        ended: BaseException | None = None
        while thread.is_alive():
            try:
                thread.join()
            except BaseException as error:  # after it: the thread writes into arrays of the caller
                ended = error
        if ended is not None:
            raise ended

    return run


def load(text: str, quick: bool = False) -> Code:
    """Machine code of LLVM text for this processor, made once; several threads may ask.

    Long code that is only run a few times is made `quick`, that is not optimised: a tenth of the time, and it runs two
    to four times as long. Its results differ in the last digits, as fewer products are fused with sums.
    """
    text = f"{UNOPTIMISED}{text}" if quick and is_long(text) else text
    code = _codes.get(text)
    if code is not None:  # without waiting for what others compile
        return code
    with _lock:
        if text not in _codes:
            _codes[text] = _make_code(text)
            while len(_codes) > REMEMBERED:
                del _codes[next(iter(_codes))]
        return _codes[text]


def is_long(text: str) -> bool:
    """Whether it pays not to optimise it."""
    return len(text) > QUICK_TEXT


def forget() -> None:
    """Leaves what was made so far to the functions taken from it."""
    with _lock:
        _codes.clear()


def _make_code(text: str) -> Code:
    """From the cache on disk when it is there."""
    key = make_key(text, find_host())
    data = disk.read(key)
    if data is None:
        _announce(text)
        data = build(text, find_host())
        disk.write(key, data)
    return Code(data, estimate_stack(text))


def estimate_stack(text: str) -> int:
    """Bytes that code of this text may put on the stack: without optimising, all values have places of their own."""
    width = re.search(r"<(\d+) x double>", text)
    each = SPILLED if width is None or not text.startswith(UNOPTIMISED) else 8 * int(width[1])
    return each * text.count("\n")


def _announce(text: str) -> None:
    if len(text) > LARGE_TEXT:
        from daedal.progress import announce  # large code is rare

        remedy = "it is done once and kept; solver=IDA() needs none of it, nor do models with fewer switches"
        announce("Compiling the steps of a simulation", estimate_seconds(text), remedy)


def estimate_seconds(text: str) -> float:
    """How long a text takes to compile, about: where blocks are long, longer than in proportion to its length."""
    blocks = [len(block) for block in re.split(r"\nb\d+:\n|\n}\n", text)]
    seconds = SECONDS * len(text) + CROWDED * sum(length * length for length in blocks)
    return seconds * QUICK_SHARE if text.startswith(UNOPTIMISED) else seconds


def make_key(text: str, target: Target) -> str:
    """What identifies an object: the text, the processor, the version of the compiler and how it optimises."""
    import llvmlite

    recipe = (choose_level(text), sorted(TUNING.items()))
    parts = (text, target.triple, target.processor, target.features, llvmlite.__version__, repr(recipe))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]


def choose_level(text: str) -> int:
    """How far this text is optimised: not at all where it is run a few times, less where it is large."""
    return 0 if text.startswith(UNOPTIMISED) else 3 if len(text) <= LARGE_TEXT else 1


def build(text: str, target: Target) -> bytes:
    """Compiles LLVM text for a target to the bytes of an object file."""
    llvm = _load_llvm()
    if target.triple != find_host().triple:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
    level = choose_level(text)
    machine = _make_machine(target, level)
    module = llvm.parse_assembly(text)
    module.triple = target.triple
    module.data_layout = str(machine.target_data)
    module.verify()
    builder = llvm.create_pass_builder(machine, _choose_tuning(llvm, min(level, 2)))
    passes = builder.getModulePassManager()
    passes.run(module, builder)
    return machine.emit_object(module)


def _choose_tuning(llvm: Any, level: int) -> Any:
    """Options of the optimiser."""
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    for name, value in TUNING.items():
        setattr(options, name, value)
    return options


@cache
def _load_llvm() -> Any:
    """llvmlite, loaded on first use: importing daedal stays fast."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


def _make_machine(target: Target, level: int) -> Any:
    chosen = _load_llvm().Target.from_triple(target.triple)
    return chosen.create_target_machine(
        cpu=target.processor, features=target.features, opt=level, reloc="pic", codemodel="jitdefault"
    )
