/*
 * Rows that were opened in the root of a relation: level C2.
 *
 * In: the members `commitment` of the sources, with the rows and the coverage that name them.  Out:
 * `opened` of each source, the keys whose rows in the tree are those that are shown.  Invariant: every
 * row of such a source is in its tree, and what an opening leaves out would break its root.
 * Example: two neighbours that touch show that no row of the key between them exists.
 */

const MOST_COLUMN_LISTS = 16;

function readCommitment(value, source, predicates) {
  if (value === null) {
    return null;
  }
  if (!ORIGINS_OF_THE_WORLD.includes(source.origin)) {
    reject("commitment", `rows of ${source.origin} are in no root`);
  }
  const members = ["predicate", "root", "rows", "order", "openings"];
  const { predicate: name, root, rows, order, openings } = objectOf(value, members);
  const predicate = declaredExternal(predicates, name);
  const width = predicate.kinds.length;
  inside("order", () => each("", listOf(order, width), (column) => indexOf(column, width)));
  if (new Set(order).size !== width) {
    reject("commitment", "a column is named twice", "order");
  }
  const read = each("openings", listOf(openings), (one) => readOpening(one, predicate));
  inside("openings", () => checkOpeningOrder(read));
  return { predicate, root: hashOf(root), rows: countOf(rows), order, openings: read };
}

function readOpening(value, predicate) {
  const { kinds } = predicate;
  const members = ["columns", "key", "start", "before", "after", "path"];
  const { columns, key, start, before, after, path } = objectOf(value, members);
  inside("columns", () => readKeyColumns(columns, predicate));
  const texts = (row, own) => (row === null ? null : bareRow(predicate.cells.row(row, own)));
  each("path", listOf(path), hashOf);
  return {
    columns,
    key: texts(listOf(key), columns.map((column) => kinds[column])),
    start: countOf(start),
    before: texts(before, kinds),
    after: texts(after, kinds),
    path,
  };
}

function compareColumns(left, right) {
  const at = left.findIndex((column, i) => column !== right[i]);
  if (at < 0) {
    return left.length - right.length;
  }
  return at < right.length ? left[at] - right[at] : 1;
}

function checkOpeningOrder(openings) {
  openings.slice(1).forEach(({ columns, key }, i) => {
    const last = openings[i];
    if ((compareColumns(last.columns, columns) || compareRows(last.key, key)) >= 0) {
      reject("order", "openings are not sorted and distinct", `[${i + 1}]`);
    }
  });
  const lists = new Set(openings.map(({ columns }) => columns.join(" ")));
  if (lists.size > MOST_COLUMN_LISTS) {
    reject("limit", "too many lists of columns");
  }
}

/** Read the commitments and check what is opened in each root. */
function checkCommitments(told, sources, groups, coverage, predicates) {
  const relations = new Map();
  each("sources", sources, (source, i) =>
    inside("commitment", () => {
      source.commitment = readCommitment(told[i].commitment, source, predicates);
      if (source.commitment !== null) {
        const { predicate, root } = source.commitment;
        append(relations, `${predicate.name} ${root}`, source);
      }
    }),
  );
  for (const [first, ...others] of relations.values()) {
    inside(`sources[${sources.indexOf(first)}].commitment`, () => {
      others.forEach((other) => checkSameRelation(first, other));
      checkRelation([first, ...others], groups, coverage);
    });
  }
}

function checkSameRelation(first, other) {
  const [one, two] = [first.commitment, other.commitment];
  const sameOrder = one.order.every((column, i) => column === two.order[i]);
  if (first.origin !== other.origin || first.name !== other.name) {
    reject("commitment", "two sources say that a root is theirs");
  }
  if (one.rows !== two.rows || !sameOrder || two.openings.length > 0) {
    reject("commitment", "a later source of this root says otherwise");
  }
}

/** A key with its columns, as a text. */
function placeOf(columns, key) {
  return `${columns.join(" ")}\0${key.join("\0")}`;
}

function checkRelation(members, groups, coverage) {
  const { commitment } = members[0];
  const ours = (predicate) => {
    if (predicate !== commitment.predicate) {
      reject("commitment", "the source answered for another predicate");
    }
  };
  const rows = new Map();
  groups.filter(({ source }) => members.includes(source)).forEach((group) => {
    ours(group.predicate);
    for (const row of group.rows.map(bareRow)) {
      if (row.includes(null)) {
        reject("commitment", "a row without a value is in no tree yet");
      }
      rows.set(keyOf(row), row);
    }
  });
  const complete = new Set();
  coverage.filter(({ named }) => named.some((one) => members.includes(one))).forEach((entry) => {
    ours(entry.predicate);
    entry.keys.forEach((key) => complete.add(placeOf(entry.columns, bareRow(key))));
  });
  const relation = new CommittedRows(commitment, rows);
  each("openings", commitment.openings, (opening) => relation.check(opening));
  relation.checkNeed(complete);
  const opened = new Set(commitment.openings.map(({ columns, key }) => placeOf(columns, key)));
  members.forEach((source) => {
    source.opened = opened;
  });
}

class CommittedRows {
  constructor(commitment, rows) {
    this.commitment = commitment;
    this.rows = rows;
    this.sorted = (a, b) => compareRows(this.inOrder(a), this.inOrder(b));
    this.byColumns = new Map();
    commitment.openings.forEach(({ columns }) => {
      const name = columns.join(" ");
      if (!this.byColumns.has(name)) {
        const found = new Map();
        rows.forEach((row) => append(found, placeOf(columns, columns.map((c) => row[c])), row));
        this.byColumns.set(name, found);
      }
    });
  }

  inOrder(row) {
    return this.commitment.order.map((column) => row[column]);
  }

  of({ columns, key }) {
    return this.byColumns.get(columns.join(" ")).get(placeOf(columns, key)) || [];
  }

  check(opening) {
    const { order, rows: count, root } = this.commitment;
    const first = order.slice(0, opening.columns.length);
    if (!opening.columns.every((column) => first.includes(column))) {
      reject("commitment", "the root is sorted by other columns first", "columns");
    }
    const { before, after, start, path } = opening;
    const rows = [...this.of(opening)].sort(this.sorted);
    const end = start + rows.length;
    const wanted = first.map((column) => opening.key[opening.columns.indexOf(column)]);
    const side = (row) => compareRows(first.map((column) => row[column]), wanted);
    if ((before === null) !== (start === 0) || (before !== null && side(before) >= 0)) {
      reject("commitment", "the row before the key is not shown", "before");
    }
    if (end > count || (after === null) !== (end === count) || (after !== null && side(after) <= 0)) {
      reject("commitment", "the row behind the key is not shown", "after");
    }
    const leaves = [before, ...rows, after].filter((row) => row !== null);
    if (treeRoot(count, before === null ? start : start - 1, leaves, path) !== root) {
      reject("commitment", "the rows do not lead to the root", "path");
    }
  }

  /** Check that each opening is of a key that is called complete or of a row by itself. */
  checkNeed(complete) {
    const { openings, order } = this.commitment;
    const found = new Set();
    const isComplete = ({ columns, key }) => complete.has(placeOf(columns, key));
    openings.filter(isComplete).forEach((one) => this.of(one).forEach((row) => found.add(row)));
    each("openings", openings, (opening) => {
      if (isComplete(opening)) {
        return;
      }
      const [row] = opening.columns.length === order.length ? this.of(opening) : [];
      if (row === undefined || found.has(row)) {
        reject("commitment", "nothing rests on this opening");
      }
      found.add(row);
    });
    if (found.size < this.rows.size) {
      reject("commitment", "a row lies in no opening");
    }
  }
}

/** Return the root over so many leaves, of which some are rows and the rest stands in the path. */
function treeRoot(count, start, rows, path) {
  if (count === 0) {
    return path.length === 0 ? sha256Of([]) : null;
  }
  const leaves = rows.map((row) => sha256Of(["\0", canonicalForm(row)]));
  let used = 0;
  const hash = (low, high) => {
    if (high <= start || low >= start + leaves.length) {
      used += 1;
      return path[used - 1];
    }
    if (high - low === 1) {
      return leaves[low - start];
    }
    let half = 1;
    while (2 * half < high - low) {
      half *= 2;
    }
    const left = hash(low, low + half);
    const right = hash(low + half, high);
    return left && right && sha256Of(["\x01", bytesOf(left), bytesOf(right)]);
  };
  const root = hash(0, count);
  return used === path.length ? root : null;
}

/** Return the bytes that a hash spells, each as one character. */
function bytesOf(hash) {
  const pairs = hash.slice("sha256:".length).match(/../g);
  return String.fromCharCode(...pairs.map((pair) => parseInt(pair, 16)));
}
