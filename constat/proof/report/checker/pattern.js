/*
 * The patterns of `match`: a small regular language, in time linear in pattern times text.
 *
 * In: a pattern and a text.  Out: whether the pattern matches all of the text, or ERROR.  Invariant:
 * no pattern makes this search back; the set of reached places is carried along (Thompson 1968).
 * Example: `fullMatch("C[0-9]+", "C001")` is true, of "C001x" false, and of "(" it is ERROR.
 */

const MOST_TESTS = 10000;
const DEEPEST_GROUPS = 64;
const MOST_MATCHING = 10000000;
const MOST_REPEATS = 100;
const LAST_POINT = 0x10ffff;
const PUNCTUATION = /^[!-/:-@[-`{-~]$/;
const CONTROL_ESCAPES = new Map([["t", 9], ["n", 10], ["r", 13], ["f", 12], ["v", 11]]);
const ESCAPED_SETS = new Map([
  ["d", [[48, 57]]],
  ["w", [[48, 57], [65, 90], [95, 95], [97, 122]]],
  ["s", [[9, 13], [32, 32]]],
]);

/** What no pattern can hold; caught where matching begins. */
class PatternError extends Error {}

/** Return sorted ranges that do not touch. */
function mergedRanges(ranges) {
  const merged = [];
  for (const [low, high] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const last = merged[merged.length - 1];
    if (last !== undefined && low <= last[1] + 1) {
      last[1] = Math.max(last[1], high);
    } else {
      merged.push([low, high]);
    }
  }
  return merged;
}

function complement(ranges) {
  const found = [];
  let next = 0;
  for (const [low, high] of mergedRanges(ranges)) {
    if (low > next) {
      found.push([next, low - 1]);
    }
    next = high + 1;
  }
  if (next <= LAST_POINT) {
    found.push([next, LAST_POINT]);
  }
  return found;
}

function inRanges(ranges, point) {
  let low = 0;
  let high = ranges.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (point < ranges[middle][0]) {
      high = middle - 1;
    } else if (point > ranges[middle][1]) {
      low = middle + 1;
    } else {
      return true;
    }
  }
  return false;
}

/** Reads a pattern into a tree: ["set", ranges], ["all", parts], ["any", parts], ["repeat", ...]. */
class PatternParser {
  constructor(pattern) {
    this.characters = Array.from(pattern);
    this.at = 0;
  }

  next() {
    return this.characters[this.at];
  }

  take() {
    const character = this.next();
    if (character === undefined) {
      throw new PatternError();
    }
    this.at += 1;
    return character;
  }

  pattern() {
    const found = this.alternatives(0);
    if (this.next() !== undefined) {
      throw new PatternError();
    }
    return found;
  }

  alternatives(depth) {
    const found = [this.sequence(depth)];
    while (this.next() === "|") {
      this.at += 1;
      found.push(this.sequence(depth));
    }
    return found.length === 1 ? found[0] : ["any", found];
  }

  sequence(depth) {
    const parts = [];
    while (this.next() !== undefined && this.next() !== "|" && this.next() !== ")") {
      parts.push(this.repeated(this.part(depth)));
    }
    return ["all", parts];
  }

  part(depth) {
    const character = this.take();
    if (character === "(") {
      if (depth === DEEPEST_GROUPS) {
        throw new PatternError();
      }
      const found = this.alternatives(depth + 1);
      if (this.take() !== ")") {
        throw new PatternError();
      }
      return found;
    }
    if (character === "[") {
      return ["set", this.characterClass()];
    }
    if (character === ".") {
      return ["set", complement([[10, 10]])];
    }
    if (character === "\\") {
      return ["set", this.escape()];
    }
    if ("^$]{}*+?".includes(character)) {
      throw new PatternError();
    }
    const point = character.codePointAt(0);
    return ["set", [[point, point]]];
  }

  /** Return the ranges of what follows a backslash. */
  escape() {
    const letter = this.take();
    const control = CONTROL_ESCAPES.get(letter);
    if (control !== undefined) {
      return [[control, control]];
    }
    const set = ESCAPED_SETS.get(letter.toLowerCase());
    if (set !== undefined) {
      return letter === letter.toLowerCase() ? set : complement(set);
    }
    if (!PUNCTUATION.test(letter)) {
      throw new PatternError();
    }
    return [[letter.charCodeAt(0), letter.charCodeAt(0)]];
  }

  characterClass() {
    const negated = this.next() === "^";
    if (negated) {
      this.at += 1;
    }
    const ranges = [];
    for (let first = true; first || this.next() !== "]"; first = false) {
      ranges.push(...this.classItem(first));
    }
    this.at += 1;
    return negated ? complement(ranges) : mergedRanges(ranges);
  }

  classItem(first) {
    const start = this.classCharacter(first);
    const after = this.characters[this.at + 1];
    if (this.next() !== "-" || after === "]" || after === undefined) {
      return start;
    }
    this.at += 1;
    // A `-` may also end a range.
    const end = this.classCharacter(true);
    const single = (ranges) => ranges.length === 1 && ranges[0][0] === ranges[0][1];
    if (!single(start) || !single(end) || start[0][0] > end[0][0]) {
      throw new PatternError();
    }
    return [[start[0][0], end[0][0]]];
  }

  /** Return the ranges of one character or escape; a `-` that begins no part stands first or last. */
  classCharacter(first) {
    const character = this.take();
    if (character === "\\") {
      return this.escape();
    }
    if (character === "[" || character === "]") {
      throw new PatternError();
    }
    if (character === "-" && !first && this.next() !== "]") {
      throw new PatternError();
    }
    const point = character.codePointAt(0);
    return [[point, point]];
  }

  repeated(part) {
    const character = this.next();
    const bounds = { "*": [0, Infinity], "+": [1, Infinity], "?": [0, 1] }[character];
    if (bounds !== undefined) {
      this.at += 1;
      return ["repeat", part, ...bounds];
    }
    if (character !== "{") {
      return part;
    }
    this.at += 1;
    const least = this.count();
    let most = least;
    if (this.next() === ",") {
      this.at += 1;
      most = this.next() === "}" ? Infinity : this.count();
    }
    if (this.take() !== "}" || least > most) {
      throw new PatternError();
    }
    return ["repeat", part, least, most];
  }

  count() {
    let digits = "";
    while (digits.length < 3 && /^[0-9]$/.test(this.next() || "")) {
      digits += this.take();
    }
    if (digits === "" || Number(digits) > MOST_REPEATS) {
      throw new PatternError();
    }
    return Number(digits);
  }
}

/** Return the number of single-character tests when each repetition is written out. */
function countTests(tree) {
  const [form, parts, least, most] = tree;
  if (form === "set") {
    return 1;
  }
  if (form === "repeat") {
    return countTests(parts) * Math.max(1, most === Infinity ? least : most);
  }
  return Math.max(1, parts.reduce((sum, part) => sum + countTests(part), 0));
}

/** Builds the steps of a pattern: ["set", ranges], ["split", one, other], ["jump", to], ["end"]. */
class PatternSteps {
  constructor(tree) {
    this.steps = [];
    this.emit(tree);
    this.steps.push(["end"]);
  }

  emit(tree) {
    const [form, parts, least, most] = tree;
    if (form === "set") {
      this.steps.push(tree);
    } else if (form === "all") {
      parts.forEach((part) => this.emit(part));
    } else if (form === "any") {
      this.emitAlternatives(parts);
    } else {
      this.emitRepeated(parts, least, most);
    }
  }

  emitAlternatives(parts) {
    const jumps = parts.slice(1).map((_, i) => {
      const split = this.push(["split", this.steps.length + 1, 0]);
      this.emit(parts[i]);
      const jump = this.push(["jump", 0]);
      split[2] = this.steps.length;
      return jump;
    });
    this.emit(parts[parts.length - 1]);
    for (const jump of jumps) {
      jump[1] = this.steps.length;
    }
  }

  emitRepeated(part, least, most) {
    let start = this.steps.length;
    for (let i = 0; i < least; i += 1) {
      start = this.steps.length;
      this.emit(part);
    }
    if (most === Infinity && least > 0) {
      this.steps.push(["split", start, this.steps.length + 1]);
    } else if (most === Infinity) {
      const split = this.push(["split", start + 1, 0]);
      this.emit(part);
      this.steps.push(["jump", start]);
      split[2] = this.steps.length;
    } else {
      const splits = [];
      for (let i = least; i < most; i += 1) {
        splits.push(this.push(["split", this.steps.length + 1, 0]));
        this.emit(part);
      }
      for (const split of splits) {
        split[2] = this.steps.length;
      }
    }
  }

  push(step) {
    this.steps.push(step);
    return step;
  }
}

/** Return [tests, steps] of a pattern, or ERROR. */
function compilePattern(pattern) {
  try {
    const tree = new PatternParser(pattern).pattern();
    const tests = countTests(tree);
    return tests > MOST_TESTS ? ERROR : [tests, new PatternSteps(tree).steps];
  } catch (problem) {
    if (problem instanceof PatternError) {
      return ERROR;
    }
    throw problem;
  }
}

/** Add a step to the reached ones, and all that are reached from it without a character. */
function reach(steps, reached, marks, mark, from) {
  const open = [from];
  while (open.length > 0) {
    const at = open.pop();
    if (marks[at] !== mark) {
      marks[at] = mark;
      const [form, one, other] = steps[at];
      if (form === "split") {
        open.push(other, one);
      } else if (form === "jump") {
        open.push(one);
      } else {
        reached.push(at);
      }
    }
  }
}

function matchesSteps(steps, text) {
  const marks = new Int32Array(steps.length).fill(-1);
  let mark = 0;
  let reached = [];
  reach(steps, reached, marks, mark, 0);
  for (const character of text) {
    const point = character.codePointAt(0);
    const next = [];
    mark += 1;
    for (const at of reached) {
      if (steps[at][0] === "set" && inRanges(steps[at][1], point)) {
        reach(steps, next, marks, mark, at + 1);
      }
    }
    if (next.length === 0) {
      return false;
    }
    reached = next;
  }
  return reached.includes(steps.length - 1);
}

/** Tell whether the pattern matches all of the text, or return ERROR; `charge` hears of the tests. */
function fullMatch(pattern, text, charge = () => {}) {
  const compiled = compilePattern(pattern);
  if (compiled === ERROR) {
    return ERROR;
  }
  const [tests, steps] = compiled;
  let characters = 0;
  for (const _ of text) {
    characters += 1;
  }
  if (tests * (characters + 1) > MOST_MATCHING) {
    return ERROR;
  }
  charge(tests * (characters + 1));
  return matchesSteps(steps, text);
}
