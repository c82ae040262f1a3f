/*
 * No predicate depends on its own absence, and no total on itself but a threshold.
 *
 * In: the rules.  Out: nothing, or a rejection; aggregates learn whether they are recursive
 * thresholds.  Invariant: the components are those of the graph of all dependencies (Tarjan 1972,
 * without recursion).
 * Example: `p(X) :- q(X), !p(X).` is rejected.
 */

const TURNED_OPERATORS = new Map([["<", ">"], ["<=", ">="]]);

/** Return the literals that a literal's evaluation looks up: itself, or an aggregate's body. */
function atomsOf(literal) {
  if (literal.form === "a") {
    return literal.body.filter((one) => one.form !== "?");
  }
  return literal.form === "?" ? [] : [literal];
}

function dependencies(predicates) {
  const edges = new Map();
  for (const predicate of predicates.values()) {
    const reached = new Set();
    for (const rule of predicate.rules) {
      for (const atom of rule.body.flatMap(atomsOf)) {
        reached.add(atom.predicate);
      }
    }
    edges.set(predicate, [...reached]);
  }
  return edges;
}

/** Return the number of the strongly connected component of each node. */
function components(edges) {
  const order = new Map();
  const low = new Map();
  const component = new Map();
  const open = [];
  for (const root of edges.keys()) {
    const path = order.has(root) ? [] : [[root, 0]];
    while (path.length > 0) {
      const top = path[path.length - 1];
      const [node, next] = top;
      if (next === 0 && !order.has(node)) {
        order.set(node, order.size);
        low.set(node, order.get(node));
        open.push(node);
      }
      const successor = edges.get(node)[next];
      top[1] += 1;
      if (successor === undefined) {
        path.pop();
        closeComponent(node, order, low, component, open);
        const parent = path.length > 0 ? path[path.length - 1][0] : node;
        low.set(parent, Math.min(low.get(parent), low.get(node)));
      } else if (!order.has(successor)) {
        path.push([successor, 0]);
      } else if (!component.has(successor)) {
        low.set(node, Math.min(low.get(node), order.get(successor)));
      }
    }
  }
  return component;
}

function closeComponent(node, order, low, component, open) {
  if (low.get(node) === order.get(node)) {
    let member;
    do {
      member = open.pop();
      component.set(member, order.get(node));
    } while (member !== node);
  }
}

/** Return a comparison by > or >= as [operator, greater side, lesser side], others as null. */
function turnedRight({ form, operator, left, right }) {
  if (form !== "?") {
    return null;
  }
  if (TURNED_OPERATORS.has(operator)) {
    return [TURNED_OPERATORS.get(operator), right, left];
  }
  return operator === ">" || operator === ">=" ? [operator, left, right] : null;
}

/** Return the variables that a body holds at 0 or above by a comparison with a constant. */
function heldAtZero(body) {
  const found = new Set();
  for (const turned of body.map(turnedRight).filter((one) => one !== null)) {
    const [, greater, lesser] = turned;
    const isBound = lesser.form === "c" && NUMERIC_KINDS.includes(lesser.kind);
    if (greater.form === "v" && isBound && !lesser.value.startsWith("-")) {
      found.add(greater.slot);
    }
  }
  return found;
}

function neverNegative(term, held) {
  if (term.kind === "unsigned") {
    return true;
  }
  if (term.form === "c") {
    return !term.value.startsWith("-");
  }
  if (term.form === "v") {
    return held.has(term.slot);
  }
  return (term.name === "+" || term.name === "*") && term.args.every((a) => neverNegative(a, held));
}

/** Return for variables that stand alone on the greater side of a comparison what it says. */
function lowerBounds(rule) {
  const found = new Map();
  rule.body.forEach((literal, comparison) => {
    const turned = turnedRight(literal);
    if (turned !== null && turned[1].form === "v") {
      const [operator, { slot }, bound] = turned;
      found.set(slot, { comparison, strict: operator === ">", bound });
    }
  });
  return found;
}

/** Return what makes an aggregate a threshold, or null where it is none. */
function thresholdOf({ name, kind, result, target, body }, occurrences, bounds) {
  const adds = name === "sum" || name === "count";
  if (!adds || kind === "float" || occurrences.get(result) !== 2 || !bounds.has(result)) {
    return null;
  }
  const guarded = name === "count" || neverNegative(target, heldAtZero(body));
  return { ...bounds.get(result), guarded };
}

/** Return how often each variable occurs in a rule. */
function countOccurrences(rule) {
  const times = new Map();
  const count = (slot) => times.set(slot, (times.get(slot) || 0) + 1);
  const visit = (literal) => {
    if (literal.form === "?") {
      variablesOf(literal.left, literal.right).forEach(count);
    } else if (literal.form === "a") {
      count(literal.result);
      variablesOf(...(literal.target === null ? [] : [literal.target])).forEach(count);
      literal.body.forEach(visit);
    } else {
      variablesOf(...literal.terms).forEach(count);
    }
  };
  variablesOf(...rule.head.terms).forEach(count);
  rule.body.forEach(visit);
  return times;
}

/** Check the strata, and tell the rules which of their aggregates are recursive thresholds. */
function checkStrata(predicates, rules) {
  const component = components(dependencies(predicates));
  for (const rule of rules) {
    const own = component.get(rule.head.predicate);
    const recursive = (atom) => component.get(atom.predicate) === own;
    const refuse = (atom) => {
      const [head, other] = [rule.head.predicate.name, atom.predicate.name];
      reject("strata", `${head} depends on the absence or the total of ${other} and back`, "rules");
    };
    rule.thresholds = new Map();
    const occurrences = countOccurrences(rule);
    const bounds = lowerBounds(rule);
    rule.body.forEach((literal) => {
      const atoms = literal.form === "+" ? [] : atomsOf(literal).filter(recursive);
      const negated = atoms.find((atom) => atom.form === "-");
      if (negated !== undefined) {
        refuse(negated);
      }
      if (atoms.length > 0) {
        literal.threshold = thresholdOf(literal, occurrences, bounds);
        if (literal.threshold === null) {
          refuse(atoms[0]);
        }
        rule.thresholds.set(literal.threshold.comparison, literal);
      }
    });
  }
}
