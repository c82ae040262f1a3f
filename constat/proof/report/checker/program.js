/*
 * The declarations and rules of a certificate, from their JSON.
 *
 * In: `declarations` and `rules`.  Out: predicates by name, and rules whose variables are places in a
 * list of values.  Invariant: every name is declared, every kind fits, and `variables` lists exactly
 * the variables that occur, outer ones first.
 * Example: `["v", "?x"]` becomes `{form: "v", slot: 0, kind: "symbol"}`.
 */

const AGGREGATES = ["count", "sum", "min", "max", "mean"];

class Predicate {
  constructor(name, kinds, external, says, cells) {
    this.name = name;
    this.kinds = kinds;
    /** What a cell without a value means in each column, and the columns that callers bind. */
    this.nulls = kinds.map(() => null);
    this.given = [];
    this.cells = cells;
    this.external = external;
    this.says = says;
    this.rules = [];
  }
}

function readColumn(value) {
  listOf(value, 2);
  nameOf(value[0]);
  if (!KINDS.includes(textOf(value[1]))) {
    reject("schema", "an unknown kind");
  }
  return value[1];
}

const DECLARATION_MEMBERS = ["name", "columns", "external", "says"];
const RULE_MEMBERS = ["id", "head", "body", "variables", "confidence", "says", "assumption"];

/** Check sentences, reason codes and units: pairs that are sorted by distinct names. */
function checkTexts(value) {
  each("", listOf(value), (pair) => listOf(pair, 2).forEach(textOf));
  ascending(value.map(([name]) => [name]), "names");
  if (value.some(([name]) => name === "says")) {
    reject("order", "the sentence is none of the other texts");
  }
}

function readDeclaration(value, cells) {
  const more = cells.second ? ["texts", "nulls", "given"] : [];
  objectOf(value, [...DECLARATION_MEMBERS, ...more]);
  if (/^[?0-9]/.test(nameOf(value.name))) {
    reject("schema", "a predicate's name begins with ? or a digit");
  }
  if (countOf(value.external) > 1) {
    reject("schema", "external is 0 or 1");
  }
  const kinds = inside("columns", () => each("", listOf(value.columns), readColumn));
  const external = value.external === 1;
  const found = new Predicate(value.name, kinds, external, textOrNull(value.says), cells);
  if (cells.second) {
    inside("texts", () => checkTexts(value.texts));
    found.nulls = each("nulls", listOf(value.nulls, kinds.length), (policy) =>
      policy === null ? null : choiceOf(policy, NULL_POLICIES),
    );
    if (!external && found.nulls.some((policy) => policy !== null)) {
      reject("declaration", "only rows from outside have cells without a value", "nulls");
    }
    found.given = inside("given", () => ascendingIndices(value.given, kinds.length, "schema"));
  }
  return found;
}

function readDeclarations(value, cells) {
  const predicates = new Map();
  each("declarations", listOf(value), (declaration) => {
    const predicate = readDeclaration(declaration, cells);
    if (predicates.has(predicate.name)) {
      reject("declaration", "a predicate is declared twice");
    }
    predicates.set(predicate.name, predicate);
  });
  return predicates;
}

function declared(predicates, name) {
  const found = predicates.get(textOf(name));
  if (found === undefined) {
    reject("declaration", `${name} is not declared`);
  }
  return found;
}

function declaredExternal(predicates, name) {
  const found = declared(predicates, name);
  if (!found.external) {
    reject("declaration", `${name} has no rows from outside`);
  }
  return found;
}

/** Reads one rule; `slots` gives each variable of it its place. */
class RuleReader {
  constructor(predicates, variables, cells) {
    this.predicates = predicates;
    this.cells = cells;
    this.kinds = variables.map(([, kind]) => kind);
    this.slots = new Map(variables.map(([name], slot) => [name, slot]));
    /** The variables as they occur, in order: [slot, where], where an object per place. */
    this.occurrences = [];
    this.where = null;
  }

  variable(value) {
    const slot = this.slots.get(nameOf(value));
    if (slot === undefined) {
      reject("schema", `the variable ${value} is not listed`);
    }
    this.occurrences.push({ slot, ...this.where });
    return { form: "v", slot, kind: this.kinds[slot] };
  }

  term(value) {
    listOf(value);
    if (value[0] === "v") {
      listOf(value, 2);
      return this.variable(value[1]);
    }
    if (value[0] === "c") {
      listOf(value, 3);
      if (!KINDS.includes(textOf(value[1]))) {
        reject("schema", "an unknown kind");
      }
      return { form: "c", kind: value[1], value: this.constant(value[2], value[1]) };
    }
    if (value[0] !== "f") {
      reject("schema", "not a term");
    }
    return this.call(listOf(value, 4));
  }

  constant(text, kind) {
    const found = kind === STRUCTURE ? this.cells.structures.read(valueOf(text, kind)) : text;
    return typeof found === "string" ? valueOf(found, kind) : found;
  }

  /** Return an argument of an atom: a term, or a wildcard. */
  argument(value) {
    if (!this.cells.second || listOf(value)[0] !== "_") {
      return this.term(value);
    }
    const { slot, kind } = this.variable(listOf(value, 2)[1]);
    if (this.where.form === "head") {
      reject("rule", "a wildcard in the head");
    }
    this.occurrences[this.occurrences.length - 1].unread = true;
    return { form: "_", slot, kind };
  }

  call([, name, kind, args]) {
    textOf(name);
    if (!KINDS.includes(textOf(kind))) {
      reject("schema", "an unknown kind");
    }
    const outer = this.where;
    this.where = { ...outer, argument: false };
    const terms = each("", listOf(args), (arg) => this.term(arg));
    this.where = outer;
    const kinds = terms.map((term) => term.kind);
    if (!signatureHolds(name, kinds, kind)) {
      reject("kind", `${name} does not lead from these kinds to ${kind}`);
    }
    return { form: "f", name, kind, kinds, args: terms, structures: this.cells.structures };
  }

  atom(value) {
    listOf(value, 2);
    const predicate = declared(this.predicates, value[0]);
    const args = listOf(value[1]);
    if (args.length !== predicate.kinds.length) {
      reject("kind", `${predicate.name} has ${predicate.kinds.length} columns`);
    }
    const terms = each("", args, (arg, column) => {
      const term = this.argument(arg);
      if (term.kind !== predicate.kinds[column]) {
        reject("kind", "a term of another kind than its column");
      }
      if (predicate.nulls[column] === "unread" && term.form !== "_") {
        reject("declaration", "a rule reads a column that nobody reads");
      }
      return term;
    });
    return { predicate, terms };
  }

  /** Return a literal; `place` says where its variables occur. */
  literal(value, place, nested) {
    const form = listOf(value)[0];
    this.where = { ...place, form, argument: form === "+" || form === "-" };
    if (form === "+" || form === "-") {
      listOf(value, 2);
      return { form, ...this.atom(value[1]) };
    }
    if (form === "?") {
      return this.comparison(listOf(value, 4));
    }
    if (form !== "a" || nested) {
      reject("schema", "not a literal that may stand here");
    }
    return this.aggregate(listOf(value, 5), place);
  }

  comparison([form, operator, leftValue, rightValue]) {
    textOf(operator);
    const left = this.term(leftValue);
    const right = this.term(rightValue);
    if (left.kind !== right.kind) {
      reject("kind", "a comparison of two kinds");
    }
    if (!operatorHolds(operator, left.kind)) {
      reject("kind", `${operator} is no comparison of ${left.kind}`);
    }
    return { form, operator, left, right, structures: this.cells.structures };
  }

  aggregate([form, name, resultValue, targetValue, bodyValue], place) {
    choiceOf(name, AGGREGATES);
    this.where = { ...place, form: "result" };
    const result = this.term(resultValue);
    if (result.form !== "v") {
      reject("schema", "the result of an aggregate is a variable");
    }
    const within = { ...place, aggregate: place.literal };
    this.where = { ...within, form: "target" };
    if ((targetValue === null) !== (name === "count")) {
      reject("schema", "only count has no target");
    }
    const target = targetValue === null ? null : this.term(targetValue);
    if (result.kind !== kindOfAggregate(name, target)) {
      reject("kind", `${name} gives another kind than its result has`);
    }
    const body = inside("body", () =>
      each("", listOf(bodyValue), (literal) => this.literal(literal, within, true)),
    );
    const found = { form, name, result: result.slot, kind: result.kind, target, body };
    return { ...found, threshold: null, summaries: new Map() };
  }
}

/** Return the kind of an aggregate, or null where it takes no such target. */
function kindOfAggregate(name, target) {
  if (name === "count") {
    return "number";
  }
  if (name === "min" || name === "max") {
    return ORDERED_KINDS.includes(target.kind) ? target.kind : null;
  }
  if (!NUMERIC_KINDS.includes(target.kind)) {
    return null;
  }
  return name === "sum" || target.kind === "Decimal" ? target.kind : "float";
}

function readVariables(value) {
  const bare = new Set();
  return each("variables", listOf(value), (variable) => {
    listOf(variable, 2);
    const name = nameOf(variable[0]);
    const without = name[0] === "?" ? name.slice(1) : name;
    if (bare.has(without)) {
      reject("rule", `two variables are called ${without}`);
    }
    bare.add(without);
    return [name, readColumn(variable)];
  });
}

/**
 * Complete a rule by what its occurrences say: which variables are local, and to which aggregates.
 *
 * A variable is outer when it occurs anywhere but inside aggregates.
 */
function sortOutVariables(rule, occurrences) {
  const outer = new Set();
  for (const { slot, aggregate } of occurrences) {
    if (aggregate === undefined) {
      outer.add(slot);
    }
  }
  rule.locals = rule.variables.map((_, slot) => !outer.has(slot));
  const found = new Set(occurrences.map(({ slot }) => slot));
  if (found.size < rule.variables.length || rule.locals.some((local, i) => local && i < outer.size)) {
    reject("rule", "not the variables that occur, outer ones first");
  }
  const inAggregates = new Map();
  for (const one of occurrences) {
    if (one.aggregate !== undefined) {
      append(inAggregates, one.aggregate, one.slot);
    }
  }
  rule.body.forEach((literal, i) => {
    if (literal.form === "a") {
      const slots = [...new Set(inAggregates.get(i))].sort((a, b) => a - b);
      literal.locals = slots.filter((slot) => rule.locals[slot]);
      literal.outers = slots.filter((slot) => !rule.locals[slot]);
    }
  });
}

const RULE_PEOPLE = ["author", "owner", "version"];

function readRule(value, index, predicates, assumptions, cells) {
  objectOf(value, [...RULE_MEMBERS, ...(cells.second ? ["texts", ...RULE_PEOPLE] : [])]);
  if (cells.second) {
    inside("texts", () => checkTexts(value.texts));
    RULE_PEOPLE.forEach((name) => {
      if (textOrNull(value[name]) === "") {
        reject("schema", "nobody has an empty name", name);
      }
    });
  }
  const variables = readVariables(value.variables);
  const reader = new RuleReader(predicates, variables, cells);
  reader.where = { form: "head" };
  const head = inside("head", () => reader.atom(value.head));
  const body = each("body", listOf(value.body), (literal, i) => ({
    ...reader.literal(literal, { literal: i }, false),
    index: i,
  }));
  const rule = { index, name: textOf(value.id), head, body, variables, says: textOrNull(value.says) };
  rule.confidence = confidenceOf(value.confidence);
  rule.assumption = indexOrNull(value.assumption, assumptions.length);
  if (rule.confidence === 0 || (rule.confidence < MILLION && rule.assumption === null)) {
    reject("assumption", "a confidence without an assumption, or 0");
  }
  if (rule.assumption !== null && assumptions[rule.assumption].kind !== "rule") {
    reject("assumption", "the assumption of a rule is of kind rule");
  }
  checkUnread(reader.occurrences);
  sortOutVariables(rule, reader.occurrences);
  checkSafety(rule, reader.occurrences);
  return rule;
}

/** Reject a wildcard that occurs twice. */
function checkUnread(occurrences) {
  const unread = new Set(occurrences.filter((one) => one.unread).map(({ slot }) => slot));
  const times = new Map();
  occurrences.forEach(({ slot }) => times.set(slot, (times.get(slot) || 0) + 1));
  if ([...unread].some((slot) => times.get(slot) > 1)) {
    reject("rule", "a wildcard occurs twice");
  }
}

function readRules(value, predicates, assumptions, cells) {
  const rules = each("rules", listOf(value), (rule, i) =>
    readRule(rule, i, predicates, assumptions, cells),
  );
  const names = new Set();
  for (const rule of rules) {
    if (names.has(rule.name)) {
      reject("rule", "two rules have the same id", "rules");
    }
    names.add(rule.name);
    rule.head.predicate.rules.push(rule);
  }
  return rules;
}
