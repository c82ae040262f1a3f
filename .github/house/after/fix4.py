import re
def ed(p,*pairs):
    t=open(p).read()
    for a,b in pairs:
        if a not in t: print("MISSING",p,a[:60]); continue
        t=t.replace(a,b)
    open(p,'w').write(t)
p='pyproject.toml'; t=open(p).read()
a=t.index('[[tool.importlinter.contracts]]\nname = "No cycles between siblings"'); b=t.index('[[tool.importlinter.contracts]]',a+5)
t=t[:a]+t[b:]; open(p,'w').write(t)
p='constat/logic/__init__.py'; t=open(p).read()
t=re.sub(r'(from constat\.logic\.functors import \((?:[^)]*?))    EvaluationError,\n',r'\1',t)
t=t.replace('from constat.logic.functors import (','from constat.logic.values import EvaluationError\nfrom constat.logic.functors import (',1)
open(p,'w').write(t)
ed('constat/catalog/interruptible.py',('    _Result = TypeVar("_Given")','    _Result = TypeVar("_Result")'))
p='constat/forward/stages.py'; t=open(p).read()
t=t.replace('def _resources(self) -> object:','def _resources(self) -> Resources:')
if not re.search(r'import.*\bResources\b',t): t=t.replace('if TYPE_CHECKING:\n','if TYPE_CHECKING:\n    from constat.evaluation import Resources\n',1)
open(p,'w').write(t)
