/*
 * Hidden values: commitments, what is opened of them, and what is told about them.
 *
 * In: the member `redaction`.  Out: answers to what a check asks about hidden values.  Invariant: a
 * hidden value equals itself and nothing else; what more is said of one that is not opened is the
 * writer's word, and the verdict rests on an assumption that says so.
 * Example: a hidden amount is above 100000 only where that was told.
 */

const SAYS_HIDDEN = "hidden: ";
const HIDDEN_VIEWS = ["subject", "authority", "auditor"];
const SALT_FORM = /^[0-9a-f]{32}$/;
const REDACTION_MEMBERS = ["of", "assumption", "columns", "view", "sources", "opened", "told"];

/** Return a value as it stands in a question. */
function spelledInQuestion(value) {
  const text = textOfValue(value);
  return isHidden(text) ? ["hidden", text.slice(HIDDEN.length)] : text;
}

function orderedTexts(texts, place) {
  if (texts.some((text, i) => i > 0 && compareText(texts[i - 1], text) >= 0)) {
    reject("order", "sorted and distinct", place);
  }
}

class Redaction {
  constructor(value, assumptions, sources) {
    objectOf(value, REDACTION_MEMBERS);
    this.of = inside("of", () => hashOf(value.of));
    this.assumption = indexOf(value.assumption, assumptions.length);
    const { kind, text } = assumptions[this.assumption];
    if (kind !== "fact" || !text.startsWith(SAYS_HIDDEN)) {
      reject("redaction", "the assumption does not say that values are hidden");
    }
    this.columns = each("columns", listOf(value.columns), (one) => {
      const [predicate, column] = listOf(one, 2);
      return [textOf(predicate), countOf(column)];
    });
    if (this.columns.some((one, i) => i > 0 && this.isBefore(one, this.columns[i - 1]))) {
      reject("order", "sorted and distinct", "columns");
    }
    this.view = value.view === null ? null : choiceOf(value.view, HIDDEN_VIEWS);
    this.sources = new Set(ascendingIndices(value.sources, sources, "order"));
    this.kinds = new Map();
    this.opened = new Map();
    this.tokens = new Map();
    const salts = each("opened", listOf(value.opened), (one) => this.open(one));
    orderedTexts([...this.opened.keys()], "opened");
    if (new Set(salts).size < salts.length) {
      reject("redaction", "one salt hides two values", "opened");
    }
    this.questions = listOf(value.told);
    this.told = new Map();
  }

  isBefore([predicate, column], [other, place]) {
    return (compareText(predicate, other) || column - place) <= 0;
  }

  open(value) {
    const [found, salt, kind, text] = listOf(value, 4).map(textOf);
    if (!SALT_FORM.test(salt)) {
      reject("schema", "not a salt");
    }
    if (!KINDS.includes(kind) || !isSpelled(kind, text)) {
      reject("value", "not the spelling of its kind");
    }
    if (sha256Of([canonicalForm([salt, kind, text])]) !== hashOf(found)) {
      reject("redaction", "what is opened is not what was hidden");
    }
    const key = keyOf([kind, text]);
    if (this.tokens.has(key)) {
      reject("redaction", "one value is hidden in two ways");
    }
    this.opened.set(HIDDEN + found, { kind, text });
    this.tokens.set(key, HIDDEN + found);
    return salt;
  }

  /** Return the hidden value that a cell is; it has one kind. */
  hidden(value, kind) {
    if (value.length !== 2 || value[0] !== "hidden") {
      reject("schema", "not a cell of a row");
    }
    const token = HIDDEN + hashOf(value[1]);
    const known = this.kinds.get(token);
    if (known !== undefined && known !== kind) {
      reject("kind", "a hidden value of two kinds");
    }
    this.kinds.set(token, kind);
    return token;
  }

  /** Read what is told: sorted by the question, each asked once. */
  readTold(cells) {
    each("told", this.questions, (one) => {
      const [question, answer] = listOf(one, 2);
      const [form, name, kind] = listOf(question);
      let found = null;
      if (textOf(form) === "?") {
        found = choiceOf(answer, ["true", "false"]) === "true";
      } else {
        choiceOf(form, ["a", "f"]);
        textOf(name);
        found = answer === null ? ERROR : cells.value(answer, choiceOf(kind, KINDS));
      }
      this.told.set(canonicalForm(question), found);
    });
    orderedTexts([...this.told.keys()], "told");
    if (this.told.size < this.questions.length) {
      reject("order", "what is told is sorted and distinct", "told");
    }
  }

  /** Reject what is opened and stands nowhere, or stands openly as well. */
  check(seen) {
    for (const [token, { kind, text }] of this.opened) {
      if (this.kinds.get(token) !== kind) {
        reject("redaction", "what is opened is no value here", "opened");
      }
      if (seen.has(keyOf([kind, text]))) {
        reject("redaction", "a hidden value stands openly as well", "opened");
      }
    }
  }

  /** How many values are hidden and not opened. */
  closed() {
    return [...this.kinds.keys()].filter((token) => !this.opened.has(token)).length;
  }

  /** Return what stands behind values, or null where one of them is not opened. */
  real(values) {
    if (values.some((value) => isHidden(value) && !this.opened.has(value))) {
      return null;
    }
    return values.map((value) => (isHidden(value) ? this.opened.get(value).text : value));
  }

  /** Return the truth of a comparison in which a value is hidden, null where nobody tells. */
  truth(operator, kind, sides, compute) {
    const [left, right] = sides;
    if (operator === "=" || operator === "!=") {
      return (left === right) === (operator === "=");
    }
    if (left === right && ["<", "<=", ">", ">="].includes(operator)) {
      return operator.endsWith("=");
    }
    const real = this.real(sides);
    if (real === null) {
      const told = this.told.get(canonicalForm(["?", operator, kind, ...sides.map(spelledInQuestion)]));
      return told === undefined ? null : told;
    }
    return compute(...real);
  }

  /** Return what a function or an aggregate makes of values of which some are hidden. */
  value(question, values, compute) {
    const real = this.real(values);
    if (real === null) {
      const told = this.told.get(canonicalForm(question));
      return told === undefined ? null : told;
    }
    const found = compute(real);
    const text = isKnown(found) ? textOfValue(found) : null;
    const token = text === null ? undefined : this.tokens.get(keyOf([question[2], text]));
    if (token !== undefined || text === null) {
      return token === undefined ? found : token;
    }
    // Other questions name it as it was told, where the value itself is not opened.
    const told = this.told.get(canonicalForm(question));
    return isHidden(told) && !this.opened.has(told) ? told : found;
  }

  notes() {
    const view = this.view === null ? "" : ` for the ${this.view}`;
    const hidden = `${this.closed()} values are hidden, ${this.opened.size} are opened`;
    const notes = [`a view${view} of ${this.of}: ${hidden}`];
    if (this.told.size > 0) {
      notes.push(`${this.told.size} comparisons, functions or totals over them stand as written`);
    }
    return notes;
  }
}
