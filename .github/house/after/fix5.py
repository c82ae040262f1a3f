import re,subprocess
def files(word): return subprocess.run(['grep','-rlwE',word,'constat','tests','--include=*.py'],capture_output=True,text=True).stdout.split()
def ren(a,b,only=None):
    for p in only or files(a):
        t=open(p).read(); t=re.sub(rf'\b{a}\b',b,t); open(p,'w').write(t)
c='constat/check/functions.py'
ren('signature_holds','field_signature_holds',[c]); 
t=open(c).read(); i=t.index('def field_signature_holds')
# parts before: the fields part has `call` and `signature_holds`
t=re.sub(r'(?<![.\w])call\(','field_call(',t); open(c,'w').write(t)
ren('functions_signature_holds','signature_holds'); ren('functions_call','call'); ren('_functions_combine','_joined',[c]); ren('_combine','_combine_bits',[c]); ren('_joined','_combine',[c])
p='constat/cli/facts.py'; t=open(p).read()
t=t.replace('def command(','def tell_command(').replace('add_command(command)','add_command(tell_command)').replace('facts_command','command'); open(p,'w').write(t)
ren('from_introspect','introspect_mysql',['constat/catalog/schema/servers.py']); ren('from_introspect_','introspect_postgresql'); ren('from_fingerprint','fingerprint_postgresql')
ren('from_introspect','introspect_duckdb',['constat/catalog/schema/local.py'])
p='constat/catalog/schema/introspection.py'; t=open(p).read()
t=t.replace('local.from_introspect','local.introspect_duckdb').replace('servers.from_introspect','servers.introspect_mysql'); open(p,'w').write(t)
ren('TotalsFail','Fail_'); 
p='constat/engine/steps.py'; t=open(p).read(); t=t.replace('Fail_','FailOfTotal'); open(p,'w').write(t)
ren('recursive_compute','compute_by_one_query'); ren('kind_no_order','no_order_of_kind'); ren('LINEARISE_NAME','LINEAR_CLOSURE'); ren('PROJECT_NAME','PROJECTION'); ren('SHARE_NAME','SHARING')
ren('MERMAID_MOST_DRAWN','MOST_IN_MERMAID'); ren('TellingTold','ToldInWords'); ren('FactsTold','Words')
p='constat/session/parts.py'; t=open(p).read()
if 'hypotheses import' in t and 'Suppositions' in t: print([l for l in t.splitlines() if 'Suppositions' in l])
