/*
 * Every variable of a rule gets its values from somewhere.
 *
 * In: a rule and where its variables occur.  Out: nothing, or a rejection; the rule learns which
 * variables stand for any value (`wild`).  Invariant: what is bound is the least set that section 4
 * describes, reached by counting down what each binding still waits for.
 * Example: in `p(X) :- X = Y.` nothing binds X, and nothing binds Y.
 */

/** Add the variables of a term to a list, each as often as it occurs. */
function addVariables(term, found) {
  if (term.form === "v") {
    found.push(term.slot);
  } else if (term.form === "f") {
    term.args.forEach((arg) => addVariables(arg, found));
  }
  return found;
}

function variablesOf(...terms) {
  return terms.reduce((found, term) => addVariables(term, found), []);
}

/** Return what a literal binds: a list of [variables that it needs, variables that it gives]. */
function bindings(literal) {
  if (literal.form === "+") {
    return [[[], literal.terms.filter(({ form }) => form === "v" || form === "_").map(({ slot }) => slot)]];
  }
  if (literal.form === "a") {
    return [[literal.outers, [literal.result]]];
  }
  if (literal.form === "?" && literal.operator === "=") {
    const { left, right } = literal;
    const sides = [[left, right], [right, left]];
    return sides
      .filter(([side]) => side.form === "v")
      .map(([side, other]) => [variablesOf(other), [side.slot]]);
  }
  return [];
}

/** Return all variables that are bound when these are given. */
function closeBindings(literals, given) {
  const bound = new Set();
  const waiting = new Map();
  const ready = [...given];
  for (const [needs, gives] of literals.flatMap(bindings)) {
    const needed = new Set(needs);
    const binding = { left: needed.size, gives };
    needed.forEach((slot) => append(waiting, slot, binding));
    if (binding.left === 0) {
      gives.forEach((slot) => ready.push(slot));
    }
  }
  while (ready.length > 0) {
    const slot = ready.pop();
    if (!bound.has(slot)) {
      bound.add(slot);
      for (const binding of waiting.get(slot) || []) {
        binding.left -= 1;
        if (binding.left === 0) {
          binding.gives.forEach((given) => ready.push(given));
        }
      }
    }
  }
  return bound;
}

/** Return the variables that occur once, as an argument of a negated literal. */
function wildVariables(occurrences) {
  const times = new Map();
  for (const { slot } of occurrences) {
    times.set(slot, (times.get(slot) || 0) + 1);
  }
  return new Set(
    occurrences
      .filter((one) => times.get(one.slot) === 1 && one.form === "-" && one.argument && !one.unread)
      .map(({ slot }) => slot),
  );
}

function checkSafety(rule, occurrences) {
  const outside = wildVariables(occurrences);
  const unread = new Set(occurrences.filter((one) => one.unread).map(({ slot }) => slot));
  const { head } = rule;
  const given = head.predicate.given.map((column) => head.terms[column]);
  const bound = closeBindings(rule.body, given.filter(({ form }) => form === "v").map(({ slot }) => slot));
  rule.variables.forEach(([name], slot) => {
    const free = outside.has(slot) || unread.has(slot);
    if (!rule.locals[slot] && !bound.has(slot) && !free) {
      reject("safety", `nothing binds the variable ${name}`);
    }
  });
  rule.wild = outside;
  rule.unread = unread;
  for (const aggregate of rule.body.filter(({ form }) => form === "a")) {
    const bound = closeBindings(aggregate.body, aggregate.outers);
    for (const slot of aggregate.locals) {
      if (!bound.has(slot)) {
        reject("safety", `nothing binds the variable ${rule.variables[slot][0]}`);
      }
    }
  }
}
