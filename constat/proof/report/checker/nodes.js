/*
 * Facts that are true: each is a row of a source, or follows by a rule from facts before it.
 *
 * In: `nodes`.  Out: nodes with predicates and rows, checked one by one.  Invariant: a node rests on
 * earlier nodes only, on absences, and on totals of its own reading; so what it says is true.
 * Example: a node whose premise is another fact than the literal's instance is rejected.
 */

const RULE_NODE = ["fact", "kind", "rule", "bind", "premises", "confidence"];
const FACT_NODE = ["fact", "kind", "facts", "row", "confidence"];

function readNode(value, index, predicates, rules, groups) {
  const kind = value === null || typeof value !== "object" ? null : value.kind;
  objectOf(value, kind === "fact" ? FACT_NODE : RULE_NODE);
  choiceOf(kind, ["fact", "rule"]);
  const fact = listOf(value.fact, 2);
  const predicate = declared(predicates, fact[0]);
  const row = inside("fact", () => predicate.cells.cells(fact[1], predicate.kinds));
  const node = { index, predicate, row, confidence: confidenceOf(value.confidence), used: false };
  if (kind === "fact") {
    node.group = groups[countOf(value.facts)];
    node.at = countOf(value.row);
    if (node.group === undefined || node.at >= node.group.rows.length) {
      reject("node", "there is no such row");
    }
    return node;
  }
  node.rule = rules[indexOf(value.rule, rules.length)];
  node.bind = readBind(value.bind, node.rule);
  node.premises = listOf(value.premises, node.rule.body.length);
  return node;
}

/** Return the values of a rule's variables, undefined for those that have none in a node. */
function readBind(value, rule) {
  const without = new Set([...rule.wild, ...rule.unread]);
  const { cells } = rule.head.predicate;
  rule.thresholds.forEach((aggregate) => without.add(aggregate.result));
  return each("bind", listOf(value, rule.variables.length), (own, slot) => {
    if (rule.locals[slot] || without.has(slot)) {
      if (own !== null) {
        reject("schema", "a value of a variable without one");
      }
      return undefined;
    }
    return cells.carried(own, rule.variables[slot][1]);
  });
}

class NodeChecker {
  constructor(nodes, world, totals) {
    this.nodes = nodes;
    this.world = world;
    this.totals = totals;
  }

  check(node) {
    const confidence = node.group === undefined ? this.checkRule(node) : this.checkFact(node);
    if (confidence !== node.confidence) {
      reject("confidence", `it should be ${spellConfidence(confidence)}`);
    }
  }

  checkFact({ predicate, row, group, at }) {
    const shown = group.shown[at];
    if (group.predicate !== predicate || !sameRow(row, shown.row)) {
      reject("node", "the row of the source is another fact");
    }
    if (!shown.holds) {
      reject("assumption", "the row rests on what is not accepted");
    }
    this.world.use(shown.resting);
    return shown.confidence;
  }

  checkRule(node) {
    const { rule } = node;
    this.useRule(rule);
    const assignment = new Assignment(node.bind.slice(), this.world.budget);
    const { head } = rule;
    const same = head.terms.every((term, i) => assignment.value(term) === node.row[i]);
    if (head.predicate !== node.predicate || !same) {
      reject("head", "the head of the rule is another fact");
    }
    node.levels = rule.body.map(() => null);
    let least = MILLION;
    for (let i = 0; i < rule.body.length; i += 1) {
      const own = this.checkPremise(node, assignment, i);
      least = own < least ? own : least;
    }
    return Math.floor((least * rule.confidence) / MILLION);
  }

  /** Reject a rule that does not hold; its assumption is used. */
  useRule({ assumption }) {
    if (assumption !== null) {
      if (!this.world.under.has(assumption)) {
        reject("assumption", "the rule rests on what is not accepted");
      }
      this.world.use([assumption]);
    }
  }

  /** Check a literal of the body and return its confidence. */
  checkPremise(node, assignment, i) {
    const literal = node.rule.body[i];
    const premise = node.premises[i];
    if (literal.form === "+") {
      return this.positive(literal, premise, assignment, node.index);
    }
    if (literal.form === "a" && literal.threshold !== null) {
      return this.withGrounds(node, i, () => this.threshold(node, i, assignment));
    }
    if (premise !== null) {
      reject("premise", "a premise where none belongs", `premises[${i}]`);
    }
    if (literal.form === "-") {
      return this.withGrounds(node, i, () => this.absent(literal, assignment));
    }
    if (literal.form === "a") {
      return this.withGrounds(node, i, () => this.aggregate(node.rule, i, assignment));
    }
    if (!node.rule.thresholds.has(i) && assignment.compare(literal) !== true) {
      reject("comparison", `the comparison is not true`, `body[${i}]`);
    }
    return MILLION;
  }

  withGrounds(node, i, step) {
    const { world } = this;
    world.grounds = new Grounds();
    const confidence = step();
    node.levels[i] = world.grounds;
    return confidence;
  }

  positive({ predicate, terms }, premise, assignment, before) {
    if (premise === null || countOf(premise) >= before) {
      reject("premise", "a premise that is no earlier node");
    }
    const node = this.nodes[premise];
    const wanted = assignment.instance(terms);
    const same = sameRow(wanted, node.row) || surelyMatches(node.row, wanted);
    if (node.predicate !== predicate || !same) {
      reject("premise", "the premise is another fact");
    }
    return node.confidence;
  }

  absent({ predicate, terms }, assignment) {
    const [pattern, starred] = assignment.pattern(terms);
    const row = assignment.instance(terms);
    if (pattern === null || row.includes(null) || row.includes(ERROR)) {
      reject("negation", "the instance has no value");
    }
    if (this.world.possible(predicate, pattern, starred).length > 0) {
      reject("negation", "what should be absent is possible");
    }
    return this.world.absence;
  }

  aggregate(rule, i, assignment) {
    const { value, confidence } = this.totals.exact(rule, i, assignment);
    if (value === null || value !== assignment.values[rule.body[i].result]) {
      reject("aggregate", "its exact value is not this one", `body[${i}]`);
    }
    return confidence;
  }

  /** Check the summands of a recursive threshold. */
  threshold(node, i, assignment) {
    const { rule, premises, index } = node;
    const aggregate = rule.body[i];
    const { threshold } = aggregate;
    let confidence = MILLION;
    const targets = [];
    const summands = [];
    let previous = null;
    each(`premises[${i}]`, listOf(premises[i]), (summand) => {
      const [values, own] = listOf(summand, 2);
      const mark = assignment.trail.length;
      summands.push(this.bindSummand(rule, aggregate, values, assignment));
      if (previous !== null && compareRows(previous, values) >= 0) {
        reject("order", "the summands are not sorted and distinct");
      }
      previous = values;
      listOf(own, aggregate.body.length);
      aggregate.body.forEach((literal, j) => {
        const found = this.summandPremise(literal, own[j], assignment, index);
        confidence = Math.min(confidence, found);
      });
      targets.push(this.summandTarget(aggregate, assignment));
      assignment.undo(mark);
    });
    if (someMayBeOne(summands, this.world.budget)) {
      reject("threshold", "two of what is listed may be one");
    }
    if (!threshold.guarded) {
      this.totals.refuseNegative(rule, i, assignment);
      confidence = Math.min(confidence, this.world.absence);
    }
    const bound = assignment.value(threshold.bound);
    const sum = exactSum(targetKind(aggregate), targets);
    if (!isShown(bound) || !isBeyond(sum, threshold, aggregate.kind, bound)) {
      reject("threshold", "the summands are not beyond the bound");
    }
    return confidence;
  }

  bindSummand(rule, aggregate, values, assignment) {
    const kinds = aggregate.locals.map((slot) => rule.variables[slot][1]);
    const row = rule.head.predicate.cells.cells(values, kinds);
    aggregate.locals.forEach((slot, j) => assignment.bind(slot, row[j]));
    return row;
  }

  summandPremise(literal, premise, assignment, before) {
    if (literal.form === "+") {
      return this.positive(literal, premise, assignment, before);
    }
    if (premise !== null) {
      reject("premise", "a premise where none belongs");
    }
    if (literal.form === "-") {
      return this.absent(literal, assignment);
    }
    if (assignment.compare(literal) !== true) {
      reject("comparison", "a comparison of a summand is not true");
    }
    return MILLION;
  }

  summandTarget({ target }, assignment) {
    const found = target === null ? "1" : assignment.value(target);
    if (typeof found !== "string" || found.startsWith("-")) {
      reject("threshold", "a summand has no value of at least 0");
    }
    return found;
  }

  /** Mark the premises of used nodes as used; all premises are earlier. */
  spreadUse() {
    for (let i = this.nodes.length - 1; i >= 0; i -= 1) {
      const { used, premises } = this.nodes[i];
      for (const premise of used && premises !== undefined ? premises : []) {
        const listed = Array.isArray(premise) ? premise.flatMap(([, own]) => own) : [premise];
        for (const index of listed) {
          if (index !== null) {
            this.nodes[index].used = true;
          }
        }
      }
    }
    each("nodes", this.nodes, ({ used }) => {
      if (!used) {
        reject("unused", "nothing rests on this node");
      }
    });
  }
}
