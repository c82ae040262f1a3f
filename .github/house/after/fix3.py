import re
def ed(p,*pairs):
    t=open(p).read()
    for a,b in pairs:
        if a not in t: print("MISSING",p,a[:60]); continue
        t=t.replace(a,b)
    open(p,'w').write(t)
W="  # noqa: PLC0415  loaded when it is used"
p='constat/catalog/interruptible.py'; t=open(p).read()
t=t.replace('_InterruptibleResult = TypeVar("_Result")','_Given = TypeVar("_Given")').replace('_InterruptibleResult','_Given'); open(p,'w').write(t)
for p in ('constat/session/session.py','constat/session/stored_answers.py'):
    t=open(p).read()
    t=re.sub(r'( +)from constat\.session\.bulk import \(?\s*Asked,\s*answer_in_bulk,?\s*\)?(  # noqa.*)?\n', lambda m: m[1]+'from constat.session.bulk import Asked, answer_in_bulk'+W+'\n',t)
    open(p,'w').write(t)
ed('constat/proof/export/drawing.py',('"""What a picture of a proof shows: one figure per step and source, in colours for light and dark."""','"""What a picture of a proof shows: a figure per step and source, in colours for light and dark."""'))
ed('constat/session/snapshots.py',('"""Snapshots of relations: a source commits to its rows, and certificates are opened against that."""','"""Snapshots of relations: a source commits to its rows; certificates are opened against that."""'))
t=open('constat/proof/written.py').read()
t=re.sub(r'\A""".*?"""','"""The body of a rule as its text has it: patterns one literal again, projections as denied."""',t,flags=re.S)
open('constat/proof/written.py','w').write(t)
t=open('constat/catalog/interruptible.py').read()
t=re.sub(r'^_Result = TypeVar\("_Given"',r'_Result = TypeVar("_Result"',t,flags=re.M); open('constat/catalog/interruptible.py','w').write(t)
p='constat/proof/abduction_steps.py'; t=open(p).read()
t=t.replace('for at, (term, field) in enumerate','for at, (term, column) in enumerate').replace('Variable(f".{place}.{field.name}")','Variable(f".{place}.{column.name}")').replace('named[f".{place}.{field.name}"] = field.kind','named[f".{place}.{column.name}"] = column.kind'); open(p,'w').write(t)
ed('constat/session/rows.py',('''        return rows.values
    kinds''','''        return rows.values  # noqa: PD011  no frame of pandas
    kinds'''))
p='constat/proof/missing.py'; t=open(p).read()
if 'MissingGap' in t:
    t=re.sub(r'\bGap\b','OpenGap',t); t=re.sub(r'\bMissingGap\b','Gap',t); open(p,'w').write(t)
import subprocess
for p in subprocess.run(['git','grep','-lw','MissingGap','--','constat','tests'],capture_output=True,text=True).stdout.split():
    t=open(p).read(); t=re.sub(r'\bMissingGap\b','Gap',t); open(p,'w').write(t)
