"""Turn `import_module("constat...")` into typed imports inside functions. Usage: lazy.py FILES..."""
import ast, re, sys
from pathlib import Path
sys.path.insert(0, str(Path(__file__).parent))
from merge import Lines, apply, used_names, File

REASON = "# noqa: PLC0415  loaded when it is used"

def parents(tree):
    p = {}
    for n in ast.walk(tree):
        for c in ast.iter_child_nodes(n):
            p[c] = n
    return p

def convert(path):
    text = Path(path).read_text()
    if "import_module" not in text:
        return False
    f = File(path, text)
    tree, lines = f.tree, Lines(text)
    consts = {}
    for n in tree.body:
        if isinstance(n, (ast.Assign, ast.AnnAssign)) and isinstance(n.value, ast.Constant) and isinstance(n.value.value, str):
            t = n.targets[0] if isinstance(n, ast.Assign) else n.target
            if isinstance(t, ast.Name):
                consts[t.id] = (n.value.value, n)
    par = parents(tree)
    edits, used_consts, inserts = [], set(), {}
    for call in ast.walk(tree):
        if not (isinstance(call, ast.Call) and ast.unparse(call.func) in ("importlib.import_module", "import_module") and call.args):
            continue
        a = call.args[0]
        if isinstance(a, ast.Constant):
            mod = a.value
        elif isinstance(a, ast.Name) and a.id in consts:
            mod = consts[a.id][0]
            used_consts.add(a.id)
        else:
            print("by hand", path, call.lineno, ast.unparse(call))
            continue
        if not mod.startswith("constat"):
            continue
        # the function and the statement
        n, stmt, fn = call, None, None
        while n in par:
            if stmt is None and isinstance(n, ast.stmt):
                stmt = n
            if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)):
                fn = n
                break
            n = par[n]
        if fn is None:
            print("by hand (module level)", path, call.lineno)
            continue
        indent = " " * stmt.col_offset
        inside = {x.id for x in ast.walk(fn) if isinstance(x, ast.Name)} | {x.arg for x in ast.walk(fn) if isinstance(x, ast.arg)} | {
            (b.asname or b.name) for x in ast.walk(fn) if isinstance(x, (ast.Import, ast.ImportFrom)) for b in x.names}
        glob = used_names(f)
        up = par[call]
        target = None
        if isinstance(stmt, (ast.Assign, ast.AnnAssign)) and stmt.value is call:
            t = stmt.targets[0] if isinstance(stmt, ast.Assign) else stmt.target
            target = t.id if isinstance(t, ast.Name) else None
        if target:
            uses = [x for x in ast.walk(fn) if isinstance(x, ast.Name) and x.id == target and x is not (stmt.targets[0] if isinstance(stmt, ast.Assign) else stmt.target)]
            attrs = [par[x] for x in uses]
            names = []
            if uses and all(isinstance(x, ast.Attribute) for x in attrs):
                names = list(dict.fromkeys(x.attr for x in attrs))
            # another import of the same target in the same function: leave module form
            others = [x for x in ast.walk(fn) if isinstance(x, (ast.Assign, ast.AnnAssign)) and x is not stmt and any(isinstance(t, ast.Name) and t.id == target for t in (x.targets if isinstance(x, ast.Assign) else [x.target]))]
            s = lines.at(stmt.lineno, stmt.col_offset); e = lines.at(stmt.end_lineno, stmt.end_col_offset)
            eol = text.find("\n", e)
            if names and not others and len(names) <= 4 and not any(x in glob or x.startswith("_") for x in names):
                edits.append((s, eol, f"from {mod} import {', '.join(sorted(names))}  {REASON}"))
                for x in attrs:
                    xs, xe = lines.span(x)
                    edits.append((xs, xe, x.attr))
            else:
                p, _, last = mod.rpartition(".")
                imp = f"from {p} import {last}" + (f" as {target}" if target != last else "")
                edits.append((s, eol, f"{imp}  {REASON}"))
            continue
        s0 = lines.starts[stmt.lineno - 1]
        if isinstance(up, ast.Attribute):
            name = up.attr
            bound = name if name not in inside and name not in glob else name.lower() + "_" if name.lower() != name else f"{mod.split('.')[-1]}_{name}"
            xs, xe = lines.span(up)
            edits.append((xs, xe, bound))
            line = f"{indent}from {mod} import {name}" + (f" as {bound}" if bound != name else "") + f"  {REASON}\n\n"
        else:
            p, _, last = mod.rpartition(".")
            bound = last if last not in inside and last not in glob else last + "_module"
            xs, xe = lines.span(call)
            edits.append((xs, xe, bound))
            line = f"{indent}from {p} import {last}" + (f" as {bound}" if bound != last else "") + f"  {REASON}\n\n"
        inserts.setdefault(s0, []).append(line)
    for s0, ls in inserts.items():
        edits.append((s0, s0, "".join(dict.fromkeys(ls))))
    if not edits:
        return False
    new = apply(text, edits)
    t2 = ast.parse(new)
    for c in used_consts:
        if len(re.findall(rf"\b{c}\b", new)) == 1:
            new = re.sub(rf"(?m)^{c}\b.*\n(?:\"\"\".*\"\"\"\n)?", "", new)
    if "importlib." not in re.sub(r"(?m)^import importlib.*$", "", new):
        new = re.sub(r"(?m)^import importlib\n", "", new)
    ast.parse(new)
    Path(path).write_text(new)
    return True

for p in sys.argv[1:]:
    try:
        if convert(p):
            print("done", p)
    except Exception as problem:
        print("FAILED", p, repr(problem)[:300])
