/*
 * How well completeness is founded: the levels of section 6a.
 *
 * In: what the certificate holds, and the grounds that look-ups left.  Out: the level that the header
 * must name, and one for each absence and each aggregate.  Invariant: levels are made from what was
 * checked, never from what the certificate says about itself.
 * Example: an absence in a table of which not all rows are shown is of level C1.
 */

function levelName(level) {
  return level === null ? null : `C${level}`;
}

/** Return the weakest level that occurs in a certificate, or null. */
function weakestLevel(header, assumptions, evidence, summaries, closure, nested) {
  const grounds = new Grounds();
  for (const index of header.under) {
    if (["closure", "fall-through"].includes(assumptions[index].kind)) {
      grounds.add(DECLARED);
    }
  }
  const levels = evidence.coverage.map(levelOfCoverage);
  if (summaries.length > 0) {
    levels.push(RERUNNABLE);
  }
  if (closure.entries.length > 0) {
    levels.push(DERIVED);
  }
  nested.forEach(({ level }) => levels.push(level));
  levels.filter((level) => level !== null).forEach((level) => grounds.add(level));
  return grounds.level;
}

/** Find the weakest level under each key of the closure, also through other keys. */
function spreadLevels(keys) {
  const above = new Map();
  const waiting = [[], [], [], [], []];
  for (const grounds of keys) {
    if (grounds.level !== null) {
      waiting[grounds.level].push(grounds);
    }
    grounds.keys.forEach((below) => append(above, below, grounds));
  }
  // The weakest first: what was reached once cannot get weaker.
  waiting.forEach((reached, level) => {
    while (reached.length > 0) {
      const grounds = reached.pop();
      if (grounds.weakest === null) {
        grounds.weakest = level;
        (above.get(grounds) || []).forEach((one) => reached.push(one));
      }
    }
  });
}

/** Return the levels of all absences and aggregates of nodes, and of a goal that is disproved. */
function listLevels(nodes, goalGrounds) {
  const found = [];
  const add = (node, literal, { level, keys }) => {
    const all = new Grounds();
    [level, ...Array.from(keys, ({ weakest }) => weakest)]
      .filter((one) => one !== null)
      .forEach((one) => all.add(one));
    found.push({ node, literal, level: levelName(level), restsOn: levelName(all.level) });
  };
  nodes.forEach(({ index, levels }) => {
    (levels || []).forEach((grounds, literal) => grounds !== null && add(index, literal, grounds));
  });
  if (goalGrounds !== null) {
    add(null, null, goalGrounds);
  }
  return found;
}
