"""The bytes of a certificate: strict reading, canonical form, digests, and how to say no."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# The place is built from inside out while the exception travels, so a check that passes pays
# nothing.

Element = TypeVar("Element")
Result = TypeVar("Result")


class Rejected(Exception):  # noqa: N818  a verdict on the certificate, not an error of the checker
    """The certificate is not accepted; ``code`` names the reason, ``place`` where."""

    def __init__(self, code: str, reason: str, place: str = "") -> None:
        super().__init__(code, reason, place)
        self.code = code
        self.reason = reason
        self.place = place

    def within(self, outer: str) -> None:
        """Put the place inside ``outer``: ``row`` within ``facts[2]`` is ``facts[2].row``."""
        joint = "." if self.place and not self.place.startswith("[") else ""
        self.place = outer + joint + self.place


def each(name: str, elements: Iterable[Element], step: Callable[[Element], Result]) -> list[Result]:
    """Return ``step`` of every element; a rejection is placed at ``name[index]``."""
    results: list[Result] = []
    try:
        for element in elements:
            results.append(step(element))  # noqa: PERF401  the length is the place of a failure
    except Rejected as rejected:
        rejected.within(f"{name}[{len(results)}]")
        raise
    return results


def inside(name: str, value: Element, step: Callable[[Element], Result]) -> Result:
    """Return ``step`` of the value; a rejection is placed at ``name``."""
    try:
        return step(value)
    except Rejected as rejected:
        rejected.within(name)
        raise


# What is accepted has exactly one spelling, so a changed byte is noticed before its meaning
# matters.  FORMAT.md, section 1.

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

_ENCODER: Final = json.JSONEncoder(ensure_ascii=True, sort_keys=True, separators=(",", ":"))
MAX_BYTES = 256 * 1024 * 1024
MAX_DEPTH = 64
MAX_INTEGER = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Document:
    """A certificate that is canonical, with the hashes of its parts."""

    tree: dict[str, Json]
    identity: str
    digest: str
    program: str


def canonical(value: Json) -> str:
    """Return the canonical form, without the newline that ends a file."""
    return _ENCODER.encode(value)


def sha256(text: str) -> str:
    """Return ``sha256:<hex>`` of the text's UTF-8 form."""
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def read(data: bytes) -> Document:
    """Read one certificate; ``Rejected`` for anything but the canonical form of an object."""
    if len(data) > MAX_BYTES:
        raise Rejected("size", f"the certificate has more than {MAX_BYTES} bytes")
    tree = _parse(data)
    _check_numbers_and_depth(tree)
    parts = {key: canonical(value) for key, value in tree.items()}
    if _object(parts, ()).encode() + b"\n" != data:
        # A key that comes twice is read once, so it differs here as well.
        raise Rejected("canonical", "the bytes are not the canonical form of what they say")
    # Escapes of NUL and of surrogates are rare; only their trace in the text costs a walk.
    if b"\\u0000" in data or b"\\ud" in data:
        _check_text(tree)
    return _hashed(tree, parts)


def document_of(tree: dict[str, Json]) -> Document:
    """Return the document of an object that stands inside one that was read."""
    return _hashed(tree, {key: canonical(value) for key, value in tree.items()})


def _hashed(tree: dict[str, Json], parts: dict[str, str]) -> Document:
    return Document(
        tree,
        sha256(_object(parts, ("proofs", "record", "identity", "digest"))),
        sha256(_object(parts, ("digest",))),
        sha256(_object({k: v for k, v in parts.items() if k in {"declarations", "rules"}}, ())),
    )


def _parse(data: bytes) -> dict[str, Json]:
    try:
        tree: Json = json.loads(data.decode("ascii"))
    except UnicodeDecodeError:
        raise Rejected("canonical", "a byte outside ASCII: strings are escaped") from None
    except RecursionError:
        raise Rejected("depth", f"nested more than {MAX_DEPTH} deep") from None
    except ValueError:
        raise Rejected("json", "this is not JSON") from None
    if not isinstance(tree, dict):
        raise Rejected("schema", "a certificate is a JSON object")
    return tree


def members_once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    """Return the object of these members; raise ``ValueError`` where one comes twice.

    Two readers of such an object may take two values for the one that it says.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a member that comes twice")
    return found


def _object(parts: dict[str, str], left_out: tuple[str, ...]) -> str:
    members = (f"{json.dumps(key)}:{parts[key]}" for key in sorted(parts) if key not in left_out)
    return "{" + ",".join(members) + "}"


def _check_numbers_and_depth(tree: Json) -> None:
    """Walk level by level: without recursion, and each level is one depth."""
    level: list[Json] = [tree]
    for depth in range(MAX_DEPTH + 1):
        if depth == MAX_DEPTH and any(isinstance(value, list | dict) for value in level):
            raise Rejected("depth", f"nested more than {MAX_DEPTH} deep")
        below: list[Json] = []
        for value in level:
            kind = type(value)
            if kind is list:
                below += value  # type: ignore[arg-type]
            elif kind is dict:
                below += value.values()  # type: ignore[union-attr]
            elif kind is int:
                if not 0 <= value <= MAX_INTEGER:  # type: ignore[operator]
                    raise Rejected("number", "an integer outside 0 to 2^31 - 1")
            elif kind is not str and value is not None:
                raise Rejected("number", "a fraction or a truth value")
        level = below


def is_text(text: str) -> bool:
    """Tell whether the text has neither NUL nor a lone surrogate."""
    if "\0" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_text(tree: Json) -> None:
    waiting: list[Json] = [tree]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += [*value, *value.values()]
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str) and not is_text(value):
            raise Rejected("text", "a string holds NUL or a lone surrogate")
