import re
def ed(p,*pairs):
    t=open(p).read()
    for a,b in pairs:
        if a not in t: print("MISSING",p,a[:60]); continue
        t=t.replace(a,b)
    open(p,'w').write(t)
ed('constat/memory/profiles/__init__.py',('"seed001", "seed002", "seed003", "seed004"','"scratchpad", "proactive", "summarising", "checkpoints"'))
t=open('constat/session/remembering.py').read()
t=re.sub(r"        from constat.memory.journal import \(\n            Checkpoints,\n            Journal,\n        \)\n","        from constat.memory.journal import Checkpoints, Journal  # noqa: PLC0415  loaded when it is used\n",t)
t=t.replace("from constat.memory.journal import Checkpoints, Journal\n","from constat.memory.journal import Checkpoints, Journal  # noqa: PLC0415  loaded when it is used\n") if "        from constat.memory.journal import Checkpoints, Journal\n" in t else t
open('constat/session/remembering.py','w').write(t)
ed('constat/cli/completion.py',('''
        known: Iterable[Offer] | None = known(''','''        words = known('''),('''        if known is not None:
            return known
        metavar''','''        if words is not None:
            return words
        metavar'''))
ed('constat/memory/extract/calls.py',('            for fact in extractor(reading):','            for one in extractor(reading):'),('content = fact.content','content = one.content'),('                    yield fact\n','                    yield one\n'))
g='constat/cli/groups.py'
t=open(g).read()
t=t.replace('''Listed = tuple[tuple[str, str], ...]''','''Listed = tuple[tuple[str, str, click.Command | str], ...]
"""Names, one-line helps, and commands, or where in `constat.cli` a command is found."""''')
t=re.sub(r'    """The group; `modules` is .*?\n\n','''    """The group; a command that is named by its place loads when it is used.

''',t,flags=re.S)
t=t.replace('        modules: str = "",\n','').replace('        self._modules = modules\n','')
t=t.replace('return [name for name, _ in self._listed]','return [name for name, _, _ in self._listed]')
t=t.replace('def summaries(self) -> Listed:','def summaries(self) -> tuple[tuple[str, str], ...]:').replace('        return self._listed\n','        return tuple((name, text) for name, text, _ in self._listed)\n')
t=t.replace('''        if cmd_name not in dict(self._listed):
            return None
        found: Command = importlib.import_module(self._modules + cmd_name.replace("-", "_")).command
        return found
''','''        home = {name: home for name, _, home in self._listed}.get(cmd_name)
        if not isinstance(home, str):
            return home
        module, _, symbol = home.partition(".")
        found: Command = getattr(importlib.import_module(f"constat.cli.{module}"), symbol)
        return found
''').replace('helps = dict(self._listed)','helps = dict(self.summaries())')
t=re.sub(r'\n# Invariant.*?\n\n\n(?=Listed)','\n\n',t,flags=re.S)
open(g,'w').write(t)
HOMES={'init':'begin.init_command','doctor':'begin.doctor_command','resume':'solve.resume_command','solve':'solve.solve_command','history':'history.command','why-not':'hypotheses.why_not_command','what-if':'hypotheses.what_if_command','missing':'hypotheses.missing_command','diff':'comparison.diff_command','replay':'comparison.replay_command','stale':'comparison.stale_command','sign':'signing.sign_command','keygen':'signing.keygen_command','snapshot':'snapshots.snapshot_command','openings':'snapshots.openings_command','cache':'stored.cache_command','recorded':'stored.recorded_command','materialize':'stored.materialize_command','explain':'help.explain_command','help':'help.help_command','schema':'help.schema_command'}
p='constat/cli/commands.py'; t=open(p).read()
def row(m):
    n=m[1]; return f'    ("{n}", "{m[2]}", "{HOMES.get(n, n.replace("-","_")+".command")}"),'
t=re.sub(r'^    \("([\w-]+)", "([^"]*)"\),$',row,t,flags=re.M)
t=t.replace('    modules="constat.cli.",\n','')
t=t.replace('''Invariant: each name in `_COMMANDS` is the attribute `command` of the module beside it. The help
lists them by `_SECTIONS`; a command that no section names comes last.''','''`_COMMANDS` is the one table of our own modules by name: what a command needs loads when it runs.
The help lists commands by `_SECTIONS`; a command that no section names comes last.''')
open(p,'w').write(t)
for g in ('catalog','log','memory','plan','rules'):
    p=f'constat/cli/{g}.py'; t=open(p).read()
    t=re.sub(r'\n# Each name in `_COMMANDS` is the attribute `command` of the module `\w+`\.\n','\n',t)
    a=t.index('_COMMANDS: Final'); 
    tail=t[a:]
    tail=re.sub(r'^    \("([\w-]+)", "([^"]*)"\),$',lambda m:f'    ("{m[1]}", "{m[2]}", {m[1].replace("-","_")}_command),',tail,flags=re.M)
    tail=re.sub(r', modules="constat.cli.\w+"','',tail)
    t=t[:a]+tail
    open(p,'w').write(t)
ed('constat/cli/verify.py',('''    code: int = more.verify_more(certificate, asked, form=form)
    return code
''','''    return more.verify_more(certificate, asked, form=form)
'''),('''    asked: Asked = more.Asked(''','''    asked = more.Asked('''))
ed('constat/cli/query.py',('_explaining().explain_row(','explain_row('),('''def _explaining() -> ModuleType:
    # Only this prints proofs.

    return explain_row


''',''))
