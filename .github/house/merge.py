"""Merge modules into chapters, by plan. Usage: merge.py PLAN... [--check] (in the checkout).

Plan lines:
  = new.module <- old.a old.b ...     (names below `constat.`)
    "docstring line"                  (one or more)
  ~ old.module.symbol new_symbol      rename while merging (before the group that holds it)
  ! old.prefix new.prefix             move every module below a prefix
"""
from __future__ import annotations
import ast, builtins, collections, os, re, subprocess, sys, textwrap
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path.cwd()
TREES = ("constat", "tests", "examples", "rules")
BUILTINS = set(dir(builtins))
FUNCS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def name_of(path: str) -> str:
    n = path[:-3].replace("/", ".")
    return n[:-9] if n.endswith(".__init__") else n


class File:
    def __init__(self, path, text):
        self.path, self.text = path, text
        self._tree = None
        self._refs = None

    @property
    def tree(self):
        if self._tree is None:
            self._tree = ast.parse(self.text)
        return self._tree

    @property
    def words(self):
        if not hasattr(self, "_words"):
            self._words = frozenset(re.findall(r"\w+", self.text))
        return self._words

    @property
    def refs(self):
        if self._refs is None:
            self._refs = global_refs(self.tree)
        return self._refs

    @property
    def name(self):
        return name_of(self.path)

    @property
    def is_pkg(self):
        return self.path.endswith("__init__.py")

    def resolve(self, node):
        if not node.level:
            return node.module or ""
        parts = self.name.split(".")
        d = node.level - 1 if self.is_pkg else node.level
        return ".".join(parts[: len(parts) - d] + ([node.module] if node.module else []))


# ------------------------------------------------------------------ positions
class Lines:
    """Offsets of (line, utf8 column) in a text."""

    def __init__(self, text):
        self.lines = text.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))

    def at(self, line, col):
        src = self.lines[line - 1] if line <= len(self.lines) else ""
        if src.isascii():
            return self.starts[line - 1] + col
        return self.starts[line - 1] + len(src.encode()[:col].decode())

    def span(self, node):
        return self.at(node.lineno, node.col_offset), self.at(node.end_lineno, node.end_col_offset)


def apply(text, edits):
    """Edits: (start, end, replacement); must not overlap."""
    out, pos = [], 0
    for s, e, r in sorted(set(edits)):
        if s < pos:
            raise ValueError(f"overlapping edit at {s}: {text[s:e]!r} -> {r!r}")
        out.append(text[pos:s])
        out.append(r)
        pos = e
    out.append(text[pos:])
    return "".join(out)


# ------------------------------------------------------------------ scopes
def target_names(node, out):
    for n in ast.walk(node):
        if isinstance(n, ast.Name) and isinstance(n.ctx, (ast.Store, ast.Del)):
            out.add(n.id)


def local_names(fn):
    """Names bound in a function's own scope."""
    out, declared = set(), set()
    a = fn.args
    for arg in [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, [a.vararg, a.kwarg])]:
        out.add(arg.arg)
    body = fn.body if isinstance(fn.body, list) else [fn.body]

    def visit(n, in_comp=False):
        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            out.add(n.name)
            for d in n.decorator_list:
                visit(d)
            return
        if isinstance(n, ast.Lambda):
            return
        if isinstance(n, COMPS):
            for sub in ast.walk(n):
                if isinstance(sub, ast.NamedExpr):
                    out.add(sub.target.id)
            return
        if isinstance(n, ast.Name) and isinstance(n.ctx, (ast.Store, ast.Del)):
            out.add(n.id)
        elif isinstance(n, (ast.Import, ast.ImportFrom)):
            for al in n.names:
                out.add(al.asname or al.name.split(".")[0])
        elif isinstance(n, ast.ExceptHandler) and n.name:
            out.add(n.name)
        elif isinstance(n, (ast.MatchAs, ast.MatchStar)) and n.name:
            out.add(n.name)
        elif isinstance(n, ast.MatchMapping) and n.rest:
            out.add(n.rest)
        elif isinstance(n, (ast.Global, ast.Nonlocal)):
            declared.update(n.names)
            return
        for c in ast.iter_child_nodes(n):
            visit(c)

    for s in body:
        visit(s)
    return out - declared


def global_refs(tree):
    """List of (kind, node, name, enclosing locals) for every reference to a global name.

    kind: name, def, str (a name inside a quoted type; node is (constant, inner node)).
    """
    refs = []

    def is_local(name, scopes):
        return any(name in s for s in scopes)

    def quoted(const, scopes, cls):
        try:
            sub = ast.parse(const.value.strip(), mode="eval")
        except SyntaxError:
            return
        if "\n" in const.value:
            return
        for n in ast.walk(sub):
            if isinstance(n, ast.Name) and not is_local(n.id, scopes):
                refs.append(("str", (const, n), n.id, scopes))

    def typeish(n, scopes, cls):
        for c in ast.walk(n):
            if isinstance(c, ast.Constant) and isinstance(c.value, str) and re.fullmatch(r"[\w.\[\], |]+", c.value):
                quoted(c, scopes, cls)

    def visit(n, scopes, cls):
        # cls: names bound in the class body being executed directly (or None)
        if isinstance(n, ast.Name):
            if not is_local(n.id, scopes) and not (cls and n.id in cls):
                refs.append(("name", n, n.id, scopes))
            return
        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for d in n.decorator_list:
                visit(d, scopes, cls)
            a = n.args
            for d in [*a.defaults, *filter(None, a.kw_defaults)]:
                visit(d, scopes, cls)
            for arg in [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, [a.vararg, a.kwarg])]:
                if arg.annotation:
                    visit(arg.annotation, scopes, cls)
                    if isinstance(arg.annotation, ast.Constant):
                        typeish(arg.annotation, scopes, cls)
            if n.returns:
                visit(n.returns, scopes, cls)
            if not scopes and cls is None:
                refs.append(("def", n, n.name, scopes))
            inner = [*scopes, local_names(n)]
            for s in n.body:
                visit(s, inner, None)
            return
        if isinstance(n, ast.Lambda):
            for d in [*n.args.defaults, *filter(None, n.args.kw_defaults)]:
                visit(d, scopes, cls)
            visit(n.body, [*scopes, local_names(n)], None)
            return
        if isinstance(n, ast.ClassDef):
            for d in [*n.decorator_list, *n.bases]:
                visit(d, scopes, cls)
            for k in n.keywords:
                visit(k.value, scopes, cls)
            if not scopes and cls is None:
                refs.append(("def", n, n.name, scopes))
            bound = set()
            for s in n.body:
                if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    bound.add(s.name)
                elif isinstance(s, ast.AnnAssign):
                    if s.value is not None or True:
                        target_names(s.target, bound)
                else:
                    target_names(s, bound)
            for s in n.body:
                # a name that a class body both reads from outside and binds is rare; annotations
                # of dataclass fields may reuse a global's name
                if isinstance(s, ast.AnnAssign):
                    visit(s.annotation, scopes, None)
                    if s.value:
                        visit(s.value, scopes, bound)
                else:
                    visit(s, scopes, bound)
            return
        if isinstance(n, COMPS):
            bound = set()
            for g in n.generators:
                target_names(g.target, bound)
            visit(n.generators[0].iter, scopes, cls)
            inner = [*scopes, bound]
            for i, g in enumerate(n.generators):
                if i:
                    visit(g.iter, inner, None)
                visit(g.target, inner, None)
                for c in g.ifs:
                    visit(c, inner, None)
            if isinstance(n, ast.DictComp):
                visit(n.key, inner, None)
                visit(n.value, inner, None)
            else:
                visit(n.elt, inner, None)
            return
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in ("cast", "TypeVar", "NewType") and n.args:
            parts = n.args[:1] if n.func.id == "cast" else n.args[1:]
            for p in parts:
                if isinstance(p, ast.Constant) and isinstance(p.value, str):
                    quoted(p, scopes, cls)
            for k in n.keywords:
                if isinstance(k.value, ast.Constant) and isinstance(k.value.value, str):
                    quoted(k.value, scopes, cls)
        if isinstance(n, (ast.Assign, ast.AnnAssign)) and not scopes and isinstance(n.value, (ast.Subscript, ast.BinOp)):
            typeish(n.value, scopes, cls)
        if isinstance(n, (ast.MatchAs, ast.MatchStar)) and n.name and not scopes and cls is None:
            raise ValueError("match capture at the top level")
        if isinstance(n, (ast.Import, ast.ImportFrom)):
            return
        if isinstance(n, ast.AnnAssign) and isinstance(n.annotation, ast.Constant):
            typeish(n.annotation, scopes, cls)
        for c in ast.iter_child_nodes(n):
            visit(c, scopes, cls)

    for s in tree.body:
        visit(s, [], None)
    return refs


def rename_edits(file, lines, mapping, inside=None):
    """Edits that rename global references by mapping; raises where a local would capture."""
    edits = []
    for kind, node, name, scopes in file.refs:
        new = mapping.get(name)
        if new is None or new == name:
            continue
        if any(new in s for s in scopes):
            raise Capture(name, new)
        if kind == "name":
            s, e = lines.span(node)
            edits.append((s, e, new))
        elif kind == "def":
            s = lines.at(node.lineno, node.col_offset)
            m = re.compile(r"(?:async\s+def|def|class)\s+").match(file.text, s)
            edits.append((m.end(), m.end() + len(name), new))
        else:
            const, inner = node
            s, e = lines.span(const)
            raw = file.text[s:e]
            if raw.count(const.value) == 1:
                off = raw.index(const.value) + (len(const.value) - len(const.value.lstrip())) + inner.col_offset
                edits.append((s + off, s + off + len(name), new))
    for n in ast.walk(file.tree):
        if isinstance(n, ast.Global):
            for name in n.names:
                if mapping.get(name, name) != name:
                    raise ValueError(f"global statement names {name}")
    return edits


class Capture(Exception):
    pass


def used_names(file):
    """All identifiers that appear anywhere as names, arguments or bindings."""
    out = set()
    for n in ast.walk(file.tree):
        if isinstance(n, ast.Name):
            out.add(n.id)
        elif isinstance(n, ast.arg):
            out.add(n.arg)
        elif isinstance(n, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            out.add(n.name)
        elif isinstance(n, (ast.Import, ast.ImportFrom)):
            for a in n.names:
                out.add(a.asname or a.name.split(".")[0])
        elif isinstance(n, (ast.MatchAs, ast.MatchStar, ast.ExceptHandler)) and n.name:
            out.add(n.name)
    return out


# ------------------------------------------------------------------ the tree
class Tree:
    def __init__(self):
        self.files = {}
        self.other = {}
        self.moved = []  # (old path, new path) for git mv
        self.deleted = set()
        listed = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True, check=True).stdout.split("\0")
        for p in listed:
            if not p or not os.path.isfile(p):
                continue
            if p.endswith(".py") and p.startswith(TREES):
                self.files[p] = File(p, Path(p).read_text(encoding="utf-8"))
            elif p.endswith((".md", ".toml", ".txt", ".yaml", ".yml", ".cfg", ".sh")) or p in ("Makefile", ".ci/run"):
                if "/golden" in p or "/data/" in p:
                    continue
                try:
                    t = Path(p).read_text(encoding="utf-8")
                except UnicodeDecodeError:
                    continue
                if "constat" in t or ".py" in t:
                    self.other[p] = t
        self.before = {p: f.text for p, f in self.files.items()} | dict(self.other)
        self.by_name = {f.name: f for p, f in self.files.items() if p.startswith("constat/")}

    def set(self, path, text):
        f = File(path, text)
        self.files[path] = f
        if path.startswith("constat/"):
            self.by_name[f.name] = f

    def drop(self, path):
        f = self.files.pop(path)
        self.by_name.pop(f.name, None)

    def binds(self, pkg, name):
        """Whether a package itself binds a name that is also the name of a module in it."""
        f = self.by_name.get(pkg)
        if f is None or not f.is_pkg or not re.search(rf"\b{name}\b", f.text):
            return False
        for n in f.tree.body:
            if isinstance(n, ast.ImportFrom) and any((a.asname or a.name) == name for a in n.names):
                return f.resolve(n) != pkg
            if isinstance(n, (ast.FunctionDef, ast.ClassDef)) and n.name == name:
                return True
        return False

    def write(self):
        for old, new in self.moved:
            Path(new).parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["git", "mv", "-f", old, new], check=True)
        for p in self.before:
            if p not in self.files and p not in self.other and os.path.exists(p) and p not in {o for o, _ in self.moved}:
                subprocess.run(["git", "rm", "-q", "-f", p], check=True)
        changed = []
        for p, f in self.files.items():
            if self.before.get(p) != f.text or not os.path.exists(p):
                Path(p).parent.mkdir(parents=True, exist_ok=True)
                Path(p).write_text(f.text, encoding="utf-8")
                changed.append(p)
        for p, t in self.other.items():
            if self.before.get(p) != t:
                Path(p).write_text(t, encoding="utf-8")
        return changed


# ------------------------------------------------------------------ parts
@dataclass
class Imp:
    module: str
    symbol: str | None  # None: import module [as]
    bound: str
    typed: bool
    comment: str = ""


HEADINGS = re.compile(r"(?:^|(?<=[.:)\n ]))(In|Out|Invariant|Invariants|Example|Literature|Complexity|Bounds|Errors|Steps|Limits|Cost|Thread safety|Source|Sources):+ ?")


def facts_of(doc):
    """The sentences of a docstring that a reader of the code does not see there."""
    if not doc:
        return ""
    paragraphs = doc.strip().split("\n\n")[1:]
    text = "\n\n".join(paragraphs)
    if not text:
        return ""
    kept = []
    for para in text.split("\n\n"):
        if para.startswith("    ") or para.lstrip().startswith(">>>") or para.strip().startswith("Example"):
            continue
        joined = re.sub(r"\s*\n\s*", " ", para.strip())
        # cut into headed pieces
        pieces = re.split(r"(?:(?<=\s)|^)(In|Out|Invariant|Example|Examples)(?: \([^)]*\))?::? ", joined)
        lead = pieces[0].strip()
        if lead:
            kept.append(lead)
        for head, body in zip(pieces[1::2], pieces[2::2]):
            if head == "Invariant":
                body = body.strip()
                kept.append(body[:1].upper() + body[1:])
    text = "\n".join(kept)
    text = text.replace("``", "`")
    return text


def comment(text):
    out = []
    for para in text.split("\n"):
        out += ["# " + line for line in textwrap.wrap(para, 97, break_long_words=False, break_on_hyphens=False)]
    return "\n".join(out)


def is_tc(n):
    return isinstance(n, ast.If) and ast.unparse(n.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


class Part:
    def __init__(self, file):
        self.file, self.text, self.tree = file, file.text, file.tree
        self.name = file.name
        self.lines = Lines(self.text)
        self.imports = []
        self.drop = []  # spans of header statements, whole lines
        self.doc = ast.get_docstring(self.tree) or ""
        self.defs = {}
        self._scan()

    def _comment_of(self, node):
        line = self.lines.lines[node.end_lineno - 1]
        m = re.search(r"\)?\s*(#.*)$", line[len(line) and 0:])
        if not m:
            # multi-line import: comment may stand on the first line
            line = self.lines.lines[node.lineno - 1]
            m = re.search(r"(#.*)$", line)
        return m[1].strip() if m and "noqa" in m[1] or m and "type:" in m[1] else ""

    def _whole(self, node):
        s = self.lines.starts[node.lineno - 1]
        e = self.lines.starts[node.end_lineno]
        return s, e

    def _imports(self, n, typed):
        c = self._comment_of(n)
        if isinstance(n, ast.Import):
            for a in n.names:
                self.imports.append(Imp(a.name, None, a.asname or a.name, typed, c))
                if a.asname is None and "." in a.name:
                    self.imports[-1].bound = a.name.split(".")[0]
        else:
            m = self.file.resolve(n)
            for a in n.names:
                self.imports.append(Imp(m, a.name, a.asname or a.name, typed, c))

    def _scan(self):
        body = self.tree.body
        for i, n in enumerate(body):
            if i == 0 and isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant) and isinstance(n.value.value, str):
                self.drop.append(self._whole(n))
            elif isinstance(n, ast.ImportFrom) and n.module == "__future__":
                self.drop.append(self._whole(n))
            elif isinstance(n, (ast.Import, ast.ImportFrom)):
                self._imports(n, False)
                self.drop.append(self._whole(n))
            elif is_tc(n):
                rest = [s for s in n.body if not isinstance(s, (ast.Import, ast.ImportFrom))]
                for s in n.body:
                    if isinstance(s, (ast.Import, ast.ImportFrom)):
                        self._imports(s, True)
                        if rest or n.orelse:
                            self.drop.append(self._whole(s))
                if not rest and not n.orelse:
                    self.drop.append(self._whole(n))
                elif not rest:
                    raise ValueError(f"{self.name}: TYPE_CHECKING with else")
            elif isinstance(n, (ast.Assign, ast.AnnAssign)):
                t = n.targets[0] if isinstance(n, ast.Assign) else n.target
                if isinstance(t, ast.Name) and t.id == "__all__":
                    self.drop.append(self._whole(n))
        self.bound = {}
        imported = {i.bound for i in self.imports}
        for n in body:
            if isinstance(n, (ast.Import, ast.ImportFrom)) or is_tc(n):
                if is_tc(n):
                    for s in n.body:
                        if not isinstance(s, (ast.Import, ast.ImportFrom)):
                            self._bind(s)
                continue
            self._bind(n)
        self.defs.pop("__all__", None)

    def _bind(self, n):
        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self.defs.setdefault(n.name, n)
            return
        names = set()
        if isinstance(n, (ast.If, ast.Try, ast.With, ast.For)):
            for s in ast.walk(n):
                if isinstance(s, (ast.FunctionDef, ast.ClassDef)):
                    names.add(s.name)
                if isinstance(s, (ast.Import, ast.ImportFrom)):
                    for a in s.names:
                        names.add(a.asname or a.name)
        target_names(n, names)
        for x in names:
            self.defs.setdefault(x, n)

    def builtins(self):
        return {name for kind, _, name, _ in self.file.refs if name in BUILTINS and name not in self.defs and name not in {i.bound for i in self.imports}}


# ------------------------------------------------------------------ merging
def word_of(part_name, new_name):
    last, new = part_name.split(".")[-1], new_name.split(".")[-1]
    pkg = new_name.split(".")[-2] if new_name.count(".") else ""
    for p in (new + "_", pkg + "_"):
        if last.startswith(p):
            last = last[len(p):]
    return last.split("_")[0]


def fresh(name, word):
    bare = name.lstrip("_")
    us = name[: len(name) - len(bare)]
    if bare.isupper():
        return f"{us}{word.upper()}_{bare}"
    if bare[:1].isupper():
        return us + "".join(w.capitalize() for w in word.split("_")) + bare
    return f"{us}{word}_{bare}"


class Merge:
    def __init__(self, tree, new, olds, doc, renames):
        self.tree, self.new, self.doc, self.renames = tree, new, doc, renames
        self.parts = [Part(tree.by_name[o]) for o in olds]
        self.members = {p.name for p in self.parts}
        self.maps = {}  # part name -> {old global: new global}
        self.notes = []

    def ordered(self):
        by = {p.name: p for p in self.parts}
        needs = collections.defaultdict(set)
        for p in self.parts:
            for i in p.imports:
                m = self._member(i)
                if m and m != p.name and not i.typed:
                    needs[p.name].add(m)
        out, state = [], {}

        def visit(n):
            if state.get(n) == 2:
                return
            if state.get(n) == 1:
                raise ValueError(f"cycle at {n}")
            state[n] = 1
            for p in self.parts:
                if p.name in needs[n]:
                    visit(p.name)
            state[n] = 2
            out.append(by[n])

        for p in self.parts:
            visit(p.name)
        return out

    def _member(self, i):
        if i.symbol and f"{i.module}.{i.symbol}" in self.members and not self.tree.binds(i.module, i.symbol):
            return f"{i.module}.{i.symbol}"
        if i.module in self.members:
            return i.module
        return None

    def names(self):
        taken = {}
        for p in self.parts:
            for b in p.builtins():
                taken[b] = ("builtin", b)
        words = set()
        for p in self.parts:
            words |= used_names(p.file)
        imports = {}  # bound -> Imp for external
        self.skip_defs = set()  # (part, def) left out as identical
        order = self.ordered()
        self.order = order
        # definitions first claim their names by part order; public before private
        claims = []
        for p in order:
            self.maps[p.name] = {}
        # forced renames
        for p in order:
            for d in p.defs:
                want = self.renames.get(f"{p.name}.{d}")
                if want:
                    taken[want] = ("def", p.name, d)
                    self.maps[p.name][d] = want
        for public in (True, False):
            for p in order:
                for d, node in p.defs.items():
                    if d in self.maps[p.name] or (not d.startswith("_")) != public:
                        continue
                    if d.startswith("__") and d.endswith("__"):
                        raise ValueError(f"{p.name} defines {d}")
                    ident = ("def", p.name, d)
                    if d not in taken:
                        taken[d] = ident
                        self.maps[p.name][d] = d
                        continue
                    other = taken[d]
                    if other[0] == "def" and self._same(p, node, other):
                        self.skip_defs.add((p.name, d))
                        self.maps[p.name][d] = d
                        continue
                    new = fresh(d, word_of(p.name, self.new))
                    while new in taken or new in words:
                        new = new + "_"
                    self.notes.append(f"{p.name}.{d} -> {new}")
                    taken[new] = ident
                    self.maps[p.name][d] = new
        # imports
        self.ext = {}
        for p in order:
            for i in p.imports:
                if self._member(i):
                    continue
                ident = ("imp", i.module, i.symbol)
                cur = taken.get(i.bound)
                if cur is None or cur == ident:
                    taken[i.bound] = ident
                    bound = i.bound
                else:
                    bound = fresh(i.bound, i.module.split(".")[-1]) if i.symbol else i.bound + "_"
                    if taken.get(bound) not in (None, ident):
                        bound = bound + "_"
                    taken[bound] = ident
                    self.notes.append(f"{p.name}: import {i.module}.{i.symbol} as {bound}")
                self.maps[p.name][i.bound] = bound
                key = (i.module, i.symbol, bound)
                prev = self.ext.get(key)
                if prev is None:
                    self.ext[key] = Imp(i.module, i.symbol, bound, i.typed, i.comment)
                else:
                    prev.typed = prev.typed and i.typed
                    prev.comment = prev.comment or i.comment
        # imports of members
        self.modules_as = collections.defaultdict(dict)  # part -> {alias: member}
        for p in order:
            for i in p.imports:
                m = self._member(i)
                if not m:
                    continue
                if i.symbol is None or m == f"{i.module}.{i.symbol}":
                    self.modules_as[p.name][i.bound] = m
                else:
                    self.maps[p.name][i.bound] = self._final(m, i.symbol)

    def _final(self, member, symbol, depth=0):
        mp = self.maps[member]
        if symbol in mp:
            return mp[symbol]
        part = next(q for q in self.parts if q.name == member)
        for i in part.imports:
            if i.bound == symbol:
                m = self._member(i)
                if m and depth < 9:
                    return self._final(m, i.symbol, depth + 1)
        return symbol

    def _same(self, p, node, other):
        q = next(x for x in self.parts if x.name == other[1])
        theirs = q.defs[other[2]]
        if type(node) is not type(theirs) or isinstance(node, ast.ClassDef):
            return False
        if isinstance(node, (ast.If, ast.Try)):
            return False
        if isinstance(node, ast.Assign | ast.AnnAssign) and any(isinstance(x, (ast.Call,)) and ast.unparse(x.func) in ("object", "TypeVar") for x in ast.walk(node)):
            return False
        if ast.dump(node) != ast.dump(theirs):
            return False
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}

        def ident(part, name):
            for i in part.imports:
                if i.bound == name:
                    return ("imp", i.module, i.symbol)
            if name in part.defs and name != other[2]:
                a = ast.dump(part.defs[name]) if not isinstance(part.defs[name], ast.ClassDef) else part.name
                return ("def", a)
            return ("b", name)

        return all(ident(p, n) == ident(q, n) for n in names)

    def body(self, p):
        mp = {k: v for k, v in self.maps[p.name].items() if v and k != v}
        # check that no unrelated local captures a renamed global
        edits = rename_edits(p.file, p.lines, mp)
        edits += self._module_uses(p)
        edits += self._inner_imports(p)
        lines = p.lines
        drops = list(p.drop)
        for d in [d for (n, d) in self.skip_defs if n == p.name]:
            node = p.defs[d]
            first = min([node.lineno, *[x.lineno for x in getattr(node, "decorator_list", [])]])
            start = first
            while start > 1 and lines.lines[start - 2].startswith("#"):
                start -= 1
            end = node.end_lineno
            body = p.tree.body
            at = body.index(node)
            nxt = body[at + 1] if at + 1 < len(body) else None
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(nxt, ast.Expr) and isinstance(nxt.value, ast.Constant) and isinstance(nxt.value.value, str):
                end = nxt.end_lineno
            drops.append((lines.starts[start - 1], lines.starts[end]))
        edits = [x for x in edits if not any(s <= x[0] < e for s, e in drops)]
        edits += [(s, e, "") for s, e in drops]
        text = apply(p.text, edits)
        return text.strip("\n")

    def _module_uses(self, p):
        """`alias.name` where alias is a member module becomes `name`."""
        edits = []
        mods = self.modules_as[p.name]
        if not mods:
            return edits
        globals_ = {id(node) for kind, node, name, _ in p.file.refs if kind == "name" and name in mods}
        for n in ast.walk(p.tree):
            if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and id(n.value) in globals_:
                s, e = p.lines.span(n)
                edits.append((s, e, self._final(mods[n.value.id], n.attr)))
                globals_.discard(id(n.value))
        if globals_:
            raise ValueError(f"{p.name}: a member module is used as a value")
        return edits

    def _inner_imports(self, p):
        """Imports of members inside functions go away; their names are the module's own."""
        edits = []
        for fn in ast.walk(p.tree):
            if not isinstance(fn, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            for blk in ast.walk(fn):
                for fieldname in ("body", "orelse", "finalbody"):
                    stmts = getattr(blk, fieldname, None)
                    if not isinstance(stmts, list):
                        continue
                    for n in stmts:
                        if not isinstance(n, ast.ImportFrom):
                            continue
                        mod = p.file.resolve(n)
                        keep, gone = [], []
                        for a in n.names:
                            i = Imp(mod, a.name, a.asname or a.name, False)
                            m = self._member(i)
                            (gone if m else keep).append((a, i, m))
                        if not gone:
                            continue
                        for a, i, m in gone:
                            whole = m == f"{mod}.{a.name}"
                            for x in ast.walk(fn):
                                if whole and isinstance(x, ast.Attribute) and isinstance(x.value, ast.Name) and x.value.id == i.bound:
                                    s, e = p.lines.span(x)
                                    edits.append((s, e, self._final(m, x.attr)))
                                elif not whole and isinstance(x, ast.Name) and x.id == i.bound:
                                    f = self._final(m, a.name)
                                    if f != i.bound:
                                        s, e = p.lines.span(x)
                                        edits.append((s, e, f))
                        s, e = p._whole(n)
                        if keep:
                            indent = " " * n.col_offset
                            c = p._comment_of(n)
                            names = ", ".join(a.name + (f" as {a.asname}" if a.asname else "") for a, _, _ in keep)
                            edits.append((s, e, f"{indent}from {mod} import {names}  {c}\n"))
                        else:
                            edits.append((s, e, ""))
        return edits

    def run(self):
        self.names()
        bodies = []
        for p in self.order:
            b = self.body(p)
            facts = facts_of(p.doc) if len(self.parts) > 1 else ""
            if b.strip():
                bodies.append((comment(facts) + "\n\n" + b) if facts else b)
        plain, typed = [], []
        for i in self.ext.values():
            if i.module == "typing" and i.symbol == "TYPE_CHECKING":
                continue
            if i.symbol is None:
                line = f"import {i.module}" + (f" as {i.bound}" if i.bound not in (i.module, i.module.split(".")[0]) else "")
            else:
                line = f"from {i.module} import {i.symbol}" + (f" as {i.bound}" if i.bound != i.symbol else "")
            c = i.comment.replace("# noqa: E402", "").strip()
            line += f"  {c}" if c.startswith("#") else ""
            (typed if i.typed else plain).append(line)
        runtime = {(i.module, i.symbol) for i in self.ext.values() if not i.typed}
        if typed:
            plain.append("from typing import TYPE_CHECKING")
        head = []
        is_pkg_target = self.new in self.members and self.tree.by_name[self.new].is_pkg
        if len(self.parts) == 1 and not self.doc:
            seg = self.parts[0]
            doc = seg.doc
        else:
            doc = self.doc or max(self.parts, key=lambda p: len(p.text)).doc.split("\n\n")[0]
        doc = doc.strip()
        if "\n" not in doc and len(doc) > 94:
            doc = "\n".join(textwrap.wrap(doc, 96))
            print("    long docstring")
        head.append(('"""' + doc + '"""') if "\n" not in doc else '"""' + doc + '\n"""')
        head.append("from __future__ import annotations")
        text = "\n\n".join(head) + "\n\n" + "\n".join(plain) + "\n\n"
        if typed:
            text += "if TYPE_CHECKING:\n" + "\n".join("    " + t for t in typed) + "\n\n"
        text += "\n\n\n".join(bodies) + "\n"
        ast.parse(text)
        return text


# ------------------------------------------------------------------ references
def mapper(tree, new, maps, olds):
    """Rewrite every reference to the old modules."""
    olds = set(olds)
    if olds == {new} and not any(maps.values()):
        return
    pats = set()
    for o in olds:
        pr, _, la = o.rpartition(".")
        pats.add(re.escape(o))
        pats.add(re.escape("/".join(o.split(".")[-2:]) + ".py"))
        pats.add(rf"from {re.escape(pr)} import (?:\([^)]*|[^\n]*)\b{la}\b")
    quick = re.compile("|".join(sorted(pats, key=len, reverse=True)))
    last_words = {o.split(".")[-1] for o in olds}
    tops = {".".join(o.split(".")[:2]) for o in olds}
    lasts = re.compile(r"\b(?:" + "|".join(sorted({o.split(".")[-1] for o in olds})) + r")\b")
    dotted = re.compile(r"\bconstat(?:\.[A-Za-z_]\w*)+")

    def final(m, sym):
        return maps.get(m, {}).get(sym, sym)

    def in_text(t):
        def one(m):
            parts = m[0].split(".")
            for k in range(len(parts), 1, -1):
                mod = ".".join(parts[:k])
                if mod in olds:
                    rest = parts[k:]
                    if mod == new and not rest:
                        return m[0]
                    # a package that stays is not moved by its parts
                    if rest:
                        rest[0] = final(mod, rest[0])
                    return ".".join([new, *rest])
                if mod in tree.by_name and mod not in olds:
                    return m[0]
            return m[0]

        t = dotted.sub(one, t)
        for o in olds:
            if o == new:
                continue
            rel = o.split(".", 1)[1].replace(".", "/") + ".py"
            if "/" in rel and rel in t:
                nf = new_path(tree, new).split("/", 1)[1]
                t = re.sub(r"(?<![\w/])((?:constat/)?)" + re.escape(rel), lambda m: m[1] + nf, t)
                t = re.sub(r"(?<=/constat/)" + re.escape(rel), nf, t)
        return t

    for p, t in list(tree.other.items()):
        if not hasattr(tree, "_ow"):
            tree._ow = {}
        if tree._ow.get(p, (None,))[0] is not t:
            tree._ow[p] = (t, frozenset(re.findall(r"\w+", t)))
        if last_words & tree._ow[p][1] and quick.search(t):
            # decisions are history; paths in them stay readable by following names
            tree.other[p] = in_text(t)

    parent = {o.rpartition(".")[0] for o in olds}
    for path, f in list(tree.files.items()):
        if f.name in olds and path.startswith("constat/"):
            continue
        if not (last_words & f.words):
            continue
        near = any(f.name == x or f.name.startswith(x + ".") for x in tops)
        if not quick.search(f.text) and not (near and "from ." in f.text and lasts.search(f.text)):
            continue
        edits = []
        lines = None
        renames = {}
        try:
            nodes = [n for n in ast.walk(f.tree) if isinstance(n, (ast.Import, ast.ImportFrom, ast.Constant, ast.Attribute, ast.Call))]
        except SyntaxError:
            continue
        lines = Lines(f.text)
        top = {id(n) for n in f.tree.body}
        for n in f.tree.body:
            if is_tc(n):
                top |= {id(x) for x in n.body}
        names_here = None
        alias_mods = {}  # local alias -> old module (for setattr strings)
        for n in nodes:
            if isinstance(n, ast.ImportFrom):
                mod = f.resolve(n)
                by_target = []
                hit = False
                for a in n.names:
                    sub = f"{mod}.{a.name}"
                    if sub in olds and not tree.binds(mod, a.name):
                        hit = True
                        np, _, nl = new.rpartition(".")
                        bound = a.asname or a.name
                        alias_mods[bound] = sub
                        if names_here is None:
                            names_here = used_names(f)
                        by_target.append((np, nl, bound))
                        if a.asname is None and nl != bound and id(n) in top and (nl not in names_here or renames.get(bound) == nl):
                            renames[bound] = nl
                            by_target[-1] = (np, nl, nl)
                    elif mod in olds:
                        hit = hit or mod != new or final(mod, a.name) != a.name
                        fin = final(mod, a.name)
                        bound = a.asname or a.name
                        if fin != a.name and a.asname is None and id(n) in top:
                            if names_here is None:
                                names_here = used_names(f)
                            if fin not in names_here:
                                renames[bound] = fin
                                bound = fin
                        by_target.append((new, fin, bound))
                    else:
                        by_target.append((mod if not n.level else None, a.name, a.asname or a.name))
                if not hit:
                    continue
                s, e = lines.span(n)
                indent = " " * n.col_offset
                eol = f.text.find("\n", e)
                tail = f.text[e:eol]
                groups = collections.OrderedDict()
                for m, sym, b in by_target:
                    if m is None:
                        m = "." * n.level + (n.module or "")
                    groups.setdefault(m, []).append(sym if sym == b else f"{sym} as {b}")
                stmts = []
                firstline = f.text[s : f.text.find("\n", s)]
                cm = re.search(r"#.*", firstline) if n.lineno != n.end_lineno else None
                extra = "  " + cm[0] if cm else ""
                for m, syms in groups.items():
                    stmts.append(f"from {m} import {', '.join(dict.fromkeys(syms))}" + extra)
                joined = (tail + "\n" + indent).join(stmts)
                edits.append((s, e, joined))
            elif isinstance(n, ast.Import):
                for a in n.names:
                    if a.name in olds and a.name != new:
                        s, e = lines.span(a)
                        edits.append((s, e, new + (f" as {a.asname}" if a.asname else "")))
                        if a.asname:
                            alias_mods[a.asname] = a.name
                        else:
                            alias_mods[a.name] = a.name
        # attributes of module aliases and dotted uses
        refs = None
        for n in nodes:
            if isinstance(n, ast.Attribute):
                d = ast.unparse(n.value) if isinstance(n.value, (ast.Name, ast.Attribute)) else ""
                if d in alias_mods:
                    fin = final(alias_mods[d], n.attr)
                    if fin != n.attr:
                        s, e = lines.span(n)
                        edits.append((e - len(n.attr), e, fin))
                    if "." in d:
                        s, e = lines.span(n.value)
                        edits.append((s, e, new))
            elif isinstance(n, ast.Call) and isinstance(n.func, (ast.Attribute, ast.Name)):
                fname = n.func.attr if isinstance(n.func, ast.Attribute) else n.func.id
                if fname in ("setattr", "getattr", "delattr", "object") and len(n.args) >= 2:
                    d = ast.unparse(n.args[0]) if isinstance(n.args[0], (ast.Name, ast.Attribute)) else ""
                    c = n.args[1]
                    if d in alias_mods and isinstance(c, ast.Constant) and isinstance(c.value, str):
                        fin = final(alias_mods[d], c.value)
                        if fin != c.value:
                            s, e = lines.span(c)
                            edits.append((s + 1, e - 1, fin))
        if renames:
            try:
                edits += rename_edits(f, lines, renames)
            except Capture as problem:
                raise ValueError(f"{path}: capture {problem.args}") from None
        # strings and comments
        if "constat" in f.text or ".py" in f.text:
            edits += string_edits(f, lines, in_text, nodes)
        if edits:
            try:
                tree.set(path, apply(f.text, edits))
                ast.parse(tree.files[path].text)
            except Exception as problem:
                raise ValueError(f"{path}: {problem}") from problem


def string_edits(f, lines, in_text, nodes):
    edits = []
    for n in nodes:
        if isinstance(n, ast.Constant) and isinstance(n.value, str) and ("constat" in n.value or ".py" in n.value):
            s, e = lines.span(n)
            raw = f.text[s:e]
            new = in_text(raw)
            if new != raw:
                # keep only the changed middle, so that renames elsewhere in a f-string do not overlap
                edits.append((s, e, new))
    for k, line in enumerate(lines.lines):
        if "#" in line and ("constat." in line or ".py" in line):
            m = re.search(r"(?:^|\s)#.*", line)
            if m:
                new = in_text(m[0])
                if new != m[0]:
                    st = lines.starts[k] + m.start()
                    if not any(s <= st < e for s, e, _ in edits):
                        edits.append((st, st + len(m[0]), new))
    return edits


def new_path(tree, new):
    f = tree.by_name.get(new)
    if f is not None:
        return f.path
    base = new.replace(".", "/")
    if any(p.startswith(base + "/") for p in tree.files):
        return base + "/__init__.py"
    return base + ".py"


def run_group(tree, new, olds, doc, renames):
    missing = [o for o in olds if o not in tree.by_name]
    if missing:
        print(f"  {new}: not there: {' '.join(missing)}")
        olds = [o for o in olds if o in tree.by_name]
    if not olds or olds == [new] and not doc and not any(k.startswith(new + ".") for k in renames):
        return
    if new in tree.by_name and new not in olds:
        raise ValueError(f"{new} exists and is no part")
    m = Merge(tree, new, olds, doc, renames)
    if len(olds) == 1 and not doc and not any(k.startswith(olds[0] + ".") for k in renames):
        text, maps = tree.by_name[olds[0]].text, {}
        text = absolute(tree.by_name[olds[0]])
    else:
        text = m.run()
        maps = m.maps
    for n in m.notes:
        print(f"    {n}")
    maps = {k: {a: b for a, b in v.items() if b and a != b} for k, v in maps.items()}
    for pn, al in getattr(m, "modules_as", {}).items():
        pass
    was_pkg = [o for o in olds if tree.by_name[o].is_pkg]
    path = new_path(tree, new)
    if was_pkg and new in was_pkg and all(not p.startswith(path[:-11]) or tree.files[p].name in olds for p in tree.files if p.startswith("constat/")):
        path = new.replace(".", "/") + ".py"  # the package becomes a module
    oldpaths = [tree.by_name[o].path for o in olds]
    mapper(tree, new, maps, olds)
    big = max(oldpaths, key=lambda p: len(tree.files[p].text))
    for p in oldpaths:
        tree.drop(p)
    if path not in oldpaths:
        src = big
        if src in tree.before:
            tree.moved.append((src, path))
    tree.set(path, text)
    # the new text may itself name old modules in strings
    f = tree.files[path]
    print(f"  {new}: {len(olds)} parts, {text.count(chr(10))} lines")


def absolute(f):
    """The text with relative imports made absolute (a move changes what they mean)."""
    lines = Lines(f.text)
    edits = []
    for n in ast.walk(f.tree):
        if isinstance(n, ast.ImportFrom) and n.level:
            s = lines.at(n.lineno, n.col_offset)
            m = re.compile(r"from\s+\.*[\w.]*\s+import").match(f.text, s)
            edits.append((s, m.end(), f"from {f.resolve(n)} import"))
    return apply(f.text, edits)


def parse_plan(paths):
    out, renames = [], {}
    for path in paths:
        cur = None
        for raw in Path(path).read_text().splitlines():
            line = raw.split(" #")[0].rstrip() if raw.lstrip().startswith(("=", "~", "!")) else raw.rstrip()
            s = line.strip()
            if not s or s.startswith("#"):
                continue
            if s[0] == "=":
                new, _, olds = s[1:].partition("<-")
                new = new.strip()
                cur = ["group", "constat." + new, ["constat." + o for o in olds.split()], []]
                out.append(cur)
            elif s[0] == "~":
                a, b = s[1:].split()
                renames["constat." + a] = b
            elif s[0] == "!":
                a, b = s[1:].split()
                out.append(["move", "constat." + a, "constat." + b, []])
            elif s[0] == '"':
                cur[3].append(s.strip('"'))
            elif cur is not None:
                cur[2] += ["constat." + o for o in s.split()]
    return out, renames


def cycles(tree, plan):
    """Knots that the plan would make, counting imports in functions."""
    import networkx as nx
    to = {}
    for step in plan:
        if step[0] == "group":
            for o in step[2]:
                to[o] = step[1]
    g = nx.DiGraph()
    why = {}
    for n, f in tree.by_name.items():
        typed = set()
        for x in ast.walk(f.tree):
            if is_tc(x):
                for y in ast.walk(x):
                    typed.add(id(y))
        for x in ast.walk(f.tree):
            if isinstance(x, ast.ImportFrom) and id(x) not in typed:
                m = f.resolve(x)
                for a in x.names:
                    t = f"{m}.{a.name}"
                    t = t if t in tree.by_name and not tree.binds(m, a.name) else m
                    if t in tree.by_name and not (f.is_pkg and x not in f.tree.body):
                        a1, b1 = to.get(n, n), to.get(t, t)
                        if a1 != b1:
                            g.add_edge(a1, b1)
                            why.setdefault((a1, b1), []).append(f"{n} -> {t}")
            elif isinstance(x, ast.Call) and ast.unparse(x.func).endswith("import_module") and x.args and isinstance(x.args[0], ast.Constant):
                t = x.args[0].value
                if t in tree.by_name:
                    a1, b1 = to.get(n, n), to.get(t, t)
                    if a1 != b1:
                        g.add_edge(a1, b1)
                        why.setdefault((a1, b1), []).append(f"{n} ~> {t}")
    bad = 0
    for knot in nx.strongly_connected_components(g):
        if len(knot) > 1:
            bad += 1
            print("KNOT", len(knot))
            sub = g.subgraph(knot)
            for a, b in sorted(sub.edges):
                print("   ", a, "->", b, ":", "; ".join(why[a, b][:6]))
    return bad


def main():
    args = [a for a in sys.argv[1:] if not a.startswith("--")]
    plan, renames = parse_plan(args)
    tree = Tree()
    if "--check" in sys.argv:
        seen = collections.Counter(o for s in plan if s[0] == "group" for o in s[2])
        for o, c in seen.items():
            if c > 1:
                print("TWICE", o)
            if o not in tree.by_name:
                print("NOT THERE", o)
        pk = {".".join(o.split(".")[:2]) for o in seen}
        for n in sorted(tree.by_name):
            if ".".join(n.split(".")[:2]) in pk and n not in seen and not tree.by_name[n].is_pkg:
                print("left alone", n, tree.by_name[n].text.count("\n"))
        sizes = collections.Counter()
        for s in plan:
            if s[0] == "group":
                size = sum(tree.by_name[o].text.count("\n") for o in s[2] if o in tree.by_name)
                if size > 900 or size < 120:
                    print("size", s[1], size)
        sys.exit(bool(cycles(tree, plan)))
    for step in plan:
        if step[0] == "group":
            run_group(tree, step[1], step[2], "\n".join(step[3]), renames)
        else:
            _, a, b, _ = step
            names = sorted(n for n in tree.by_name if n == a or n.startswith(a + "."))
            move_package(tree, a, b, names)
    changed = tree.write()
    py = [p for p in changed if os.path.exists(p)]
    print(f"{len(py)} files changed")
    for k in range(0, len(py), 200):
        subprocess.run([".venv/bin/ruff", "check", "-q", "--fix", "--output-format", "concise", *py[k : k + 200]])
        subprocess.run([".venv/bin/ruff", "format", "-q", *py[k : k + 200]])
    (Path(__file__).parent / "changed.txt").write_text("\n".join(py))


def move_package(tree, a, b, names):
    """Every module below a prefix to another prefix, in one pass."""
    files = sorted(p for p in subprocess.run(["git", "ls-files", a.replace(".", "/")], capture_output=True, text=True).stdout.split())
    base_a, base_b = a.replace(".", "/"), b.replace(".", "/")
    for n in names:
        f = tree.by_name[n]
        text = absolute(f)
        new = base_b + f.path[len(base_a):]
        if f.path in tree.before:
            tree.moved.append((f.path, new))
        tree.drop(f.path)
        tree.set(new, text)
    for p in files:
        if not p.endswith(".py") and os.path.exists(p):
            tree.moved.append((p, base_b + p[len(base_a):]))
    pat = re.compile(r"\b" + re.escape(a) + r"(?=[.\s\"'`:,)\]]|$)", re.M)
    rel = re.compile(r"(?<![\w])" + re.escape(base_a) + r"(?=[/\"`\s])")
    parent, _, last = a.rpartition(".")
    np, _, nl = b.rpartition(".")
    for p, f in list(tree.files.items()):
        t = rel.sub(base_b, pat.sub(b, f.text))
        t = re.sub(rf"from {re.escape(parent)} import {last}\b(?! as)", f"from {np} import {nl} as {last}", t)
        if t != f.text:
            tree.set(p, t)
    for p, t in list(tree.other.items()):
        tree.other[p] = rel.sub(base_b, pat.sub(b, t))


if __name__ == "__main__":
    main()
