import re,subprocess
W="  # noqa: PLC0415  loaded when it is used"
p='constat/proof/formats.py'; t=subprocess.run(['git','show','HEAD:'+p],capture_output=True,text=True).stdout
places=re.findall(r'"((?:report|export)\.\w+):(to_\w+)"',t)
fns=''.join(f'''def _{f[3:]}(certificate: bytes) -> str | bytes:
    from constat.proof.{m} import {f}{W}

    return {f}(certificate)


''' for m,f in places)
t=re.sub(r'"((?:report|export)\.\w+):to_(\w+)"',r'_\2',t)
t=t.replace('    place: str\n','    write: Callable[[bytes], str | bytes]\n').replace('import importlib\n','').replace('TYPE_CHECKING, Any, Final','TYPE_CHECKING, Final')
t=t.replace('FORMATS: Final = (',fns+'FORMATS: Final = (')
t=t.replace('    content: str | bytes = _function(chosen.place)(certificate)\n','    content = chosen.write(certificate)\n')
t=t.replace('''    graph: nx.DiGraph[str] = _function("export.graph:proof_graph")(certificate)
    return graph''',f'''    from constat.proof.export.graph import proof_graph{W}

    return proof_graph(certificate)''')
t=t[:t.index('def _function')].rstrip()+'\n'
t=t.replace("how its files end, where its function is, what it needs","how its files end, who writes it, what it needs")
open(p,'w').write(t)
