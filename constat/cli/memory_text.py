"""What memory says, as text and as JSON.

In: the values of `session.remembering`. Out: lines and JSON. Invariant: what was said is shown in
quotes or as one plain word, as in a context.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.cli.output import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constat.memory import Line
    from constat.memory.extract.by_model import Extraction
    from constat.memory.searching import Found
    from constat.session.remembering import Checked, Compaction, Contradiction, Statistics


def compaction_text(one: Compaction) -> str:
    """Write a report."""
    read = f"{counted(one.messages, 'message')}, {one.before:,} tokens"
    shown = f"{counted(one.kept_messages, 'message')}, {one.after:,} tokens"
    fewer = f" ({one.ratio:.1f}x fewer)" if one.compacted else ", not compacted"
    lines = [
        f"read: {read}, {counted(one.facts, 'fact')}",
        f"context: {shown}{fewer}{f': {one.reason}' if one.reason else ''}",
    ]
    if one.extraction is not None:
        lines += _extraction(one.extraction)
    if one.compacted:
        lines.append(f"in sight: {_kinds(one.kept)}")
    lines.append(
        f"hold: {one.current:,}; superseded: {one.superseded:,}; "
        f"refused, for their speaker may not say so: {one.refused:,}"
    )
    lines += [f"contradiction: {_contradiction(pair)}" for pair in one.contradictions]
    lines += ["", *(line.text for line in one.lines)] if one.lines else []
    return "\n".join(lines)


def _extraction(one: Extraction) -> list[str]:
    found = counted(len(one.facts), "fact")
    told = f"by model: {found} that the texts say, {len(one.rejected):,} that they do not"
    return [told, *(f"no reply: {failure}" for failure in one.failures)]


def compaction_json(one: Compaction) -> dict[str, object]:
    """Give a report as JSON."""
    return {
        "session": one.session,
        "messages": one.messages,
        "facts": one.facts,
        "tokens_before": one.before,
        "tokens_after": one.after,
        "ratio": round(one.ratio, 2),
        "context_messages": one.kept_messages,
        "compacted": one.compacted,
        "reason": one.reason,
        "kept": dict(one.kept),
        "current": one.current,
        "superseded": one.superseded,
        "refused": one.refused,
        "contradictions": [
            {
                "slot": pair.slot,
                "values": [
                    {"value": pair.one, "place": pair.one_place},
                    {"value": pair.other, "place": pair.other_place},
                ],
            }
            for pair in one.contradictions
        ],
        "by_model": None
        if one.extraction is None
        else {
            "facts": len(one.extraction.facts),
            "rejected": len(one.extraction.rejected),
            "failures": list(one.extraction.failures),
        },
        "lines": lines_json(one.lines),
    }


def lines_json(lines: Sequence[Line]) -> list[dict[str, object]]:
    """Give lines of a context as JSON."""
    return [
        {"text": one.text, "place": one.place, "class": one.level, "claims": list(one.claims)}
        for one in lines
    ]


def proof_text(one: Checked) -> str:
    """Write a proof, and what the checker says of it."""
    report = one.report
    told = "checked" if report.accepted else f"REJECTED at {report.place}: {report.reason}"
    return f"{one.proof.text.rstrip()}\n{told}"


def proof_json(one: Checked) -> dict[str, object]:
    """Give a proof as JSON."""
    return {
        "goal": one.proof.goal,
        "verdict": one.proof.verdict.name,
        "accepted": one.report.accepted,
        "proof": one.proof.text,
    }


def found_text(one: Found) -> str:
    """Write a text that was found."""
    return f"@{one.place} {one.speaker}: {' '.join(one.snippet.split())}"


def found_json(one: Found) -> dict[str, object]:
    """Give a text that was found as JSON."""
    return {
        "place": one.place,
        "speaker": one.speaker,
        "snippet": one.snippet,
        "score": round(one.score, 6),
    }


def statistics_text(one: Statistics) -> str:
    """Write what is kept of a session."""
    branches = f"{one.branches:,} branch{'' if one.branches == 1 else 'es'}"
    parts = (
        counted(one.messages, "message"),
        counted(one.tokens, "token"),
        f"{counted(one.texts, 'text')} of {one.bytes:,} bytes",
        branches,
        counted(one.checkpoints, "checkpoint"),
    )
    return f"{one.session}: {', '.join(parts)}\n  {_kinds(one.facts)}"


def statistics_json(one: Statistics) -> dict[str, object]:
    """Give what is kept of a session as JSON."""
    return {
        "session": one.session,
        "messages": one.messages,
        "tokens": one.tokens,
        "texts": one.texts,
        "bytes": one.bytes,
        "facts": dict(one.facts),
        "branches": one.branches,
        "checkpoints": one.checkpoints,
    }


def _kinds(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {kind}" for kind, count in counts.items()) or "nothing"


def _contradiction(pair: Contradiction) -> str:
    slot = " ".join(pair.slot.split())[:100]
    return f"{slot}: {pair.one[:60]!r} @{pair.one_place}, {pair.other[:60]!r} @{pair.other_place}"
