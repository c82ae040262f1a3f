/*
 * How this checker says no.
 *
 * In: nothing.  Out: `Rejection`, the only exception that ends a check, and `each` and `inside`, which
 * complete the place.  Invariant: the place is built from inside out while the exception travels, so a
 * check that passes pays nothing for it.
 * Example: `reject("premise", "...")` under `each("nodes", ...)` ends as the place `nodes[7]`.
 */

class Rejection {
  constructor(code, reason, place) {
    this.code = code;
    this.reason = reason;
    this.place = place;
  }

  within(outer) {
    const joint = this.place && this.place[0] !== "[" ? "." : "";
    this.place = outer + joint + this.place;
  }
}

function reject(code, reason, place = "") {
  throw new Rejection(code, reason, place);
}

/** Return `step` of each element; a rejection is placed at `name[index]`. */
function each(name, elements, step) {
  const results = [];
  let index = 0;
  try {
    for (; index < elements.length; index += 1) {
      results.push(step(elements[index], index));
    }
  } catch (problem) {
    if (problem instanceof Rejection) {
      problem.within(`${name}[${index}]`);
    }
    throw problem;
  }
  return results;
}

/** Return the result of `step`; a rejection is placed at `name`. */
function inside(name, step) {
  try {
    return step();
  } catch (problem) {
    if (problem instanceof Rejection) {
      problem.within(name);
    }
    throw problem;
  }
}
