"""Pages in a browser: reports opened from a file, the explorer from a server, and watched.

In: HTML, or an address.  Out: a ``Watched`` page, which knows each request, dialog, message and
error of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tests.browser.finding import AXE

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, Dialog, Page

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

_PATIENCE: Final = 240_000
"""Milliseconds for a page of many nodes, on a machine that does other things besides."""


@dataclass
class Watched:
    """An open page and what it did."""

    page: Page
    address: str
    requests: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    def left(self) -> list[str]:
        """Return the requests other than for the page itself."""
        return [one for one in self.requests if one.partition("#")[0] != self.address]

    def refuse(self, dialog: Dialog) -> None:
        """Note a dialog and close it."""
        self.told.append(dialog.message)
        dialog.dismiss()

    def verified(self) -> str:
        """Wait until the page has verified itself and return what it says."""
        # Not `wait_for_function`: it evaluates text in the page, which the page's policy forbids.
        self.page.locator("html[data-verified=done]").wait_for(state="attached")
        return self.page.inner_text("#state")

    def unfold_audit(self) -> None:
        """Open the parts of the audit as a reader does, one after the other."""
        for part in self.page.locator("#audit > details > summary").all():
            part.click()

    def violations(self) -> list[str]:
        """Return what axe-core finds wrong, with the elements."""
        found: dict[str, Any] = self.page.evaluate(
            "rules => axe.run(document, {runOnly: {type: 'tag', values: rules}})", RULES
        )
        return [
            f"{one['id']}: {[node['html'][:120] for node in one['nodes'][:3]]}"
            for one in found["violations"]
        ]


class Pages:
    """Opens reports."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        self.browser = browser
        self.folder = folder
        self.contexts: list[BrowserContext] = []

    def open(self, html: str, *, scripts: bool = True, axe: bool = False, **how: Any) -> Watched:  # noqa: ANN401  passed on
        """Open a page; ``how`` are options of a context."""
        file = self.folder / f"report{len(self.contexts)}.html"
        file.write_text(html, encoding="utf-8", newline="")
        return self.visit(file.as_uri(), scripts=scripts, axe=axe, **how)

    def visit(
        self,
        address: str,
        *,
        scripts: bool = True,
        axe: bool = False,
        **how: Any,  # noqa: ANN401  passed on
    ) -> Watched:
        """Go to an address; ``how`` are options of a context."""
        context = self.browser.new_context(java_script_enabled=scripts, **how)
        self.contexts.append(context)
        if axe:
            # The policy of the page lets nothing in; a script of the context is no part of it.
            context.add_init_script(path=AXE)
        page = context.new_page()
        page.set_default_navigation_timeout(_PATIENCE)
        watched = Watched(page, address)
        page.on("request", lambda request: watched.requests.append(request.url))
        page.on("pageerror", lambda error: watched.told.append(f"error: {error}"))
        page.on("console", lambda message: watched.told.append(message.text))
        page.on("dialog", watched.refuse)
        page.goto(watched.address)
        return watched

    def close(self) -> None:
        """Close what was opened."""
        for context in self.contexts:
            context.close()
