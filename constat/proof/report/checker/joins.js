/*
 * All instances of a body: one assignment after the other, without recursion.
 *
 * In: literals, an assignment, and who chooses the next literal.  Out: a call for each instance.
 * Invariant: the assignment is as before when the join is over, and every row tried is charged.
 * Example: the body `p(X), q(X)` is tried for each possible row of p, and then of q.
 */

/**
 * Run through all instances.
 *
 * `choose(taken, count)` returns the index of the next literal, `rowsOf(literal)` the rows of a positive one
 * and the pattern they were found by, `passes(literal)` whether any other literal keeps the instance.
 */
function forEachInstance(literals, assignment, { choose, rowsOf, passes, found }) {
  const { budget } = assignment;
  const path = [];
  const taken = new Array(literals.length).fill(false);
  const frames = [];
  const start = assignment.trail.length;
  let alive = true;
  budget.charge(literals.length >> 3);
  for (;;) {
    while (alive && path.length < literals.length) {
      const index = choose(taken, path.length);
      const literal = literals[index];
      taken[index] = true;
      path.push(index);
      budget.charge(1);
      if (literal.form === "+") {
        const [rows, pattern] = rowsOf(literal);
        frames.push({ literal, rows, pattern, next: 0, path: path.length, trail: assignment.trail.length });
        alive = false;
      } else {
        alive = passes(literal);
      }
    }
    if (alive) {
      found(path);
    }
    alive = nextRow(frames, path, taken, assignment);
    if (!alive) {
      assignment.undo(start);
      return;
    }
  }
}

/** Go back to the last literal that has another row that fits; tell whether there is one. */
function nextRow(frames, path, taken, assignment) {
  while (frames.length > 0) {
    const frame = frames[frames.length - 1];
    while (path.length > frame.path) {
      taken[path.pop()] = false;
    }
    while (frame.next < frame.rows.length) {
      assignment.undo(frame.trail);
      const row = frame.rows[frame.next];
      frame.next += 1;
      assignment.budget.charge(1);
      if (assignment.unify(frame.literal.terms, frame.pattern, row)) {
        return true;
      }
    }
    frames.pop();
    assignment.undo(frame.trail);
    taken[path.pop()] = false;
  }
  return false;
}

/** Return the side of an `=` that its other side can bind, or null. */
function bindableSide(literal, assignment) {
  if (literal.operator !== "=") {
    return null;
  }
  for (const [side, other] of [[literal.left, literal.right], [literal.right, literal.left]]) {
    const free = side.form === "v" && assignment.values[side.slot] === undefined;
    if (free && assignment.value(other) !== undefined) {
      return { slot: side.slot, other };
    }
  }
  return null;
}

/** Bind what an `=` can bind, or return the truth of the comparison: undefined where it has none. */
function bindOrCompare(literal, assignment) {
  const bindable = bindableSide(literal, assignment);
  if (bindable === null) {
    return assignment.compare(literal);
  }
  const value = assignment.value(bindable.other);
  assignment.bind(bindable.slot, value === ERROR ? null : value);
  return true;
}
