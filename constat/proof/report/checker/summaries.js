/*
 * Summaries of aggregates over more rows than a certificate shows.
 *
 * In: `summaries`.  Out: for a rule, a literal and a group, the value that the chunks give.
 * Invariant: a summary never decides what can be enumerated, and never speaks of derived rows.
 * Example: a chunk of 1,024 rows and one of 10 make a count of 1,034.
 */

const MOST_INLINE = 1000;
const ROWS_PER_CHUNK = 1024;
const MOST_CHUNKS = 512;
const LONGEST_FRACTION = 2000;
const FRACTION_FORM = /^(?:0|-?[1-9][0-9]*)\/[1-9][0-9]*$/;
const SUMMARY_MEMBERS = ["rule", "literal", "group", "count", "chunks", "hash", "sources"];

function refuseSummary(reason) {
  reject("summary", reason);
}

function readFraction(text) {
  if (textOf(text).length > LONGEST_FRACTION || !FRACTION_FORM.test(text)) {
    refuseSummary("not a fraction");
  }
  const [dividend, divisor] = text.split("/").map(BigInt);
  let [a, b] = [absolute(dividend), divisor];
  while (b > 0n) {
    [a, b] = [b, a % b];
  }
  if (a !== 1n) {
    refuseSummary("a fraction that is not in lowest terms");
  }
  return [dividend, divisor];
}

/** Return how many assignments each chunk but the last has. */
function sizeOfChunks(count) {
  let size = ROWS_PER_CHUNK;
  while (Math.ceil(count / size) > MOST_CHUNKS) {
    size *= 2;
  }
  return size;
}

function readChunk(value, aggregate, size, isLast) {
  const [count, sum, least, greatest, hash] = listOf(value, 5);
  hashOf(hash);
  const wrong = isLast ? count > size : count !== size;
  if (countOf(count) === 0 || wrong) {
    refuseSummary("a chunk of another size");
  }
  if (aggregate.name === "count") {
    if (sum !== null || least !== null || greatest !== null) {
      refuseSummary("a count has no sum, least or greatest");
    }
    return { count, hash };
  }
  const { kind } = aggregate.target;
  const numeric = NUMERIC_KINDS.includes(kind);
  if ((sum !== null) !== numeric) {
    refuseSummary("a sum is there exactly for numbers");
  }
  valueOf(least, kind);
  valueOf(greatest, kind);
  const order = compareValues(kind, least, greatest);
  if (order > 0 || (count === 1 && order < 0)) {
    refuseSummary("no values have such bounds");
  }
  const chunk = { count, hash, sum: numeric ? readFraction(sum) : null, least, greatest };
  if (numeric) {
    checkSum(chunk, kind);
  }
  return chunk;
}

/** Reject a sum that so many values of the kind, from least to greatest, cannot have. */
function checkSum({ count, sum, least, greatest }, kind) {
  const ends = [least, greatest].map((text) => fractionOf(kind, text));
  const others = BigInt(count - Math.min(count, 2));
  const both = count > 1 ? sumOfFractions(ends) : ends[0];
  const [low, high] = ends.map(([top, bottom]) => sumOfFractions([both, [others * top, bottom]]));
  if (compareFractions(low, sum) > 0 || compareFractions(sum, high) > 0) {
    refuseSummary("no such values have this sum");
  }
  const [, divisor] = sum;
  const twos = (divisor & (divisor - 1n)) === 0n;
  const tens = DECIMAL_BOUND % divisor === 0n;
  if (!(kind === "float" ? twos : kind === "Decimal" ? tens : divisor === 1n)) {
    refuseSummary("values of this kind have no such sum");
  }
}

/** Return the aggregate that a summary names; it reads what sources said, and nothing else. */
function summarisedAggregate(value, rules) {
  const rule = rules[indexOf(value.rule, rules.length)];
  const aggregate = rule.body[indexOf(value.literal, rule.body.length)];
  if (aggregate.form !== "a") {
    refuseSummary("the literal is no aggregate");
  }
  const plain = ({ form, predicate }) =>
    form === "?" || (form === "+" && predicate.rules.length === 0);
  if (!aggregate.body.every(plain)) {
    refuseSummary("it reads more than sources said");
  }
  return [rule, aggregate];
}

function readSummary(value, rules, sources) {
  objectOf(value, SUMMARY_MEMBERS);
  const [rule, aggregate] = summarisedAggregate(value, rules);
  const kinds = aggregate.outers.map((slot) => rule.variables[slot][1]);
  const group = rule.head.predicate.cells.row(value.group, kinds);
  const last = listOf(value.chunks).length - 1;
  const size = sizeOfChunks(countOf(value.count));
  const chunks = each("chunks", value.chunks, (chunk, i) =>
    readChunk(chunk, aggregate, size, i === last),
  );
  const count = chunks.reduce((sum, chunk) => sum + chunk.count, 0);
  if (count !== value.count || count <= MOST_INLINE) {
    refuseSummary("its count is not that of its chunks, or too small");
  }
  if (sha256Of(chunks.map(({ hash }) => `${hash}\n`)) !== hashOf(value.hash)) {
    refuseSummary("its hash is not that of its chunks");
  }
  each("sources", listOf(value.sources), (index) => indexOf(index, sources.length));
  const named = value.sources.map((index) => sources[index]);
  const world = named.every(({ origin }) => ORIGINS_OF_THE_WORLD.includes(origin));
  if (named.length === 0 || !world) {
    refuseSummary("its sources are not those of the world");
  }
  const confidence = named.reduce((least, source) => Math.min(least, source.confidence), MILLION);
  const totals = foldChunks(aggregate, chunks, count);
  const { literal: index } = value;
  return { rule, index, aggregate, group, count, confidence, totals, used: false };
}

/** Return what all chunks add up to. */
function foldChunks({ target }, chunks, count) {
  if (target === null) {
    return { count, sum: null, least: null, greatest: null };
  }
  const { kind } = target;
  const sums = chunks.map((chunk) => chunk.sum).filter((sum) => sum !== null);
  return {
    count,
    sum: sums.length > 0 ? sumOfFractions(sums) : null,
    least: extreme(kind, chunks.map((chunk) => chunk.least), -1),
    greatest: extreme(kind, chunks.map((chunk) => chunk.greatest), 1),
  };
}

function readSummaries(value, rules, sources) {
  const names = new Set();
  return each("summaries", listOf(value), (one) => {
    const summary = readSummary(one, rules, sources);
    const name = keyOf([summary.rule.index, summary.index, ...summary.group]);
    if (names.has(name)) {
      refuseSummary("a group has two summaries");
    }
    names.add(name);
    append(summary.aggregate.summaries, keyOf(summary.group), summary);
    return summary;
  });
}

/** Check a summary against the rows of its group that are inline. */
function checkInlineRows(rule, index, outer, world, { totals }) {
  const aggregate = rule.body[index];
  const inline = new InlineGroup(rule, index, world, outer).totals();
  if (inline === null) {
    refuseSummary("a row inline is not certain");
  }
  if (inline.count > totals.count) {
    refuseSummary("more rows are inline than it counts");
  }
  if (aggregate.target !== null && inline.count > 0) {
    const { kind } = aggregate.target;
    const below = compareValues(kind, inline.least, totals.least) < 0;
    if (below || compareValues(kind, inline.greatest, totals.greatest) > 0) {
      refuseSummary("a row inline lies outside of it");
    }
  }
}
