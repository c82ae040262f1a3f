/*
 * From bytes to values: a reader of canonical JSON that accepts no other spelling.
 *
 * In: the bytes or the text of a file.  Out: arrays, strings, numbers, null, and objects without a
 * prototype.  Invariant: what is returned has exactly the text that was read as its canonical form,
 * so hashes are taken of pieces of the text.
 * Example: `{"a":1, "b":2}` is rejected for its space, `{"b":2,"a":1}` for its order.
 */

const MOST_BYTES = 256 * 1024 * 1024;
const DEEPEST_NESTING = 64;
const GREATEST_INDEX = 2147483647;
const ESCAPED_CHARACTERS = new Map(Array.from(SHORT_ESCAPES, ([unit, escape]) => [escape[1], unit]));

/** What an object may be: only of certificates the places of the members are kept. */
const PLAIN = 0;
const CERTIFICATE = 1;
const CERTIFICATES = 2;

class Reader {
  constructor(text) {
    this.text = text;
    this.at = 0;
    this.depth = 0;
    /** Of each certificate: its members' places, [name, start, end] in order. */
    this.members = new Map();
  }

  reject() {
    let problem = "this is not JSON";
    let code = "json";
    try {
      JSON.parse(this.text);
      [code, problem] = ["canonical", "the bytes are not the canonical form of what they say"];
    } catch (error) {
      // It is not JSON at all.
    }
    reject(code, problem);
  }

  value(role) {
    const first = this.text[this.at];
    if (first === '"') {
      return this.string();
    }
    if (first === "[" || first === "{") {
      this.depth += 1;
      if (this.depth > DEEPEST_NESTING) {
        reject("depth", `nested more than ${DEEPEST_NESTING} deep`);
      }
      const found = first === "[" ? this.array(role) : this.object(role);
      this.depth -= 1;
      return found;
    }
    return first === "n" ? this.nothing() : this.number();
  }

  nothing() {
    if (!this.text.startsWith("null", this.at)) {
      this.reject();
    }
    this.at += 4;
    return null;
  }

  number() {
    const start = this.at;
    let found = 0;
    for (;;) {
      const digit = this.text.charCodeAt(this.at) - 48;
      if (!(digit >= 0 && digit <= 9)) {
        break;
      }
      found = 10 * found + digit;
      this.at += 1;
    }
    if (/^(?:true|false|-[0-9]|[.eE])/.test(this.text.substr(this.at, 5))) {
      reject("number", "a number is an index or a count");
    }
    const digits = this.at - start;
    if (digits === 0 || (digits > 1 && this.text[start] === "0")) {
      this.reject();
    }
    if (found > GREATEST_INDEX) {
      reject("number", "a number above 2147483647");
    }
    return found;
  }

  string() {
    const { text } = this;
    const start = this.at + 1;
    let end = start;
    for (;;) {
      const unit = text.charCodeAt(end);
      if (unit === 34) {
        this.at = end + 1;
        return text.slice(start, end);
      }
      if (unit === 92) {
        return this.escaped(start, end);
      }
      // Also at the end of the text, where the unit is no number.
      if (!(unit >= 32 && unit <= 126)) {
        this.reject();
      }
      end += 1;
    }
  }

  /** Read on in a string from its first escape. */
  escaped(start, firstEscape) {
    const pieces = [];
    let from = start;
    let i = firstEscape;
    for (;;) {
      const unit = this.text.charCodeAt(i);
      if (unit === 34) {
        pieces.push(this.text.slice(from, i));
        this.at = i + 1;
        return this.characters(pieces.join(""));
      }
      if (unit === 92) {
        pieces.push(this.text.slice(from, i));
        const [character, length] = this.escape(i);
        pieces.push(character);
        i += length;
        from = i;
      } else if (unit >= 32 && unit <= 126) {
        i += 1;
      } else {
        this.reject();
      }
    }
  }

  escape(at) {
    const short = ESCAPED_CHARACTERS.get(this.text[at + 1]);
    if (short !== undefined) {
      return [short, 2];
    }
    const digits = this.text.substr(at + 2, 4);
    if (this.text[at + 1] !== "u" || !/^[0-9a-f]{4}$/.test(digits)) {
      this.reject();
    }
    const character = String.fromCharCode(parseInt(digits, 16));
    // What has a shorter spelling, or needs no escape, is not canonical in this one.
    if (canonicalString(character) !== `"\\u${digits}"`) {
      this.reject();
    }
    return [character, 6];
  }

  characters(text) {
    for (let i = 0; i < text.length; i += 1) {
      const unit = text.charCodeAt(i);
      if (isHighSurrogate(unit) && isLowSurrogate(text.charCodeAt(i + 1))) {
        i += 1;
      } else if (unit === 0 || isHighSurrogate(unit) || isLowSurrogate(unit)) {
        reject("text", "a string holds NUL or a lone surrogate");
      }
    }
    return text;
  }

  expect(character) {
    if (this.text[this.at] !== character) {
      this.reject();
    }
    this.at += 1;
  }

  array(role) {
    const found = [];
    const element = role === CERTIFICATES ? CERTIFICATE : PLAIN;
    this.at += 1;
    if (this.text[this.at] === "]") {
      this.at += 1;
      return found;
    }
    for (;;) {
      found.push(this.value(element));
      if (this.text[this.at] === "]") {
        this.at += 1;
        return found;
      }
      this.expect(",");
    }
  }

  object(role) {
    const found = Object.create(null);
    const members = role === CERTIFICATE ? [] : null;
    let previous = null;
    this.at += 1;
    for (let first = true; this.text[this.at] !== "}"; first = false) {
      if (!first) {
        this.expect(",");
      }
      const start = this.at;
      if (this.text[start] !== '"') {
        this.reject();
      }
      const name = this.string();
      if (previous !== null && compareText(previous, name) >= 0) {
        this.reject();
      }
      previous = name;
      this.expect(":");
      found[name] = this.value(role === CERTIFICATE && name === "proofs" ? CERTIFICATES : PLAIN);
      if (members !== null) {
        members.push([name, start, this.at]);
      }
    }
    this.at += 1;
    if (members !== null) {
      this.members.set(found, members);
    }
    return found;
  }

  /** Return the hash of the canonical form of a certificate without some of its members. */
  hashWithout(certificate, left) {
    const hash = new Sha256();
    let joint = "{";
    for (const [name, start, end] of this.members.get(certificate)) {
      if (!left.includes(name)) {
        hash.update(joint);
        hash.update(this.text, start, end);
        joint = ",";
      }
    }
    hash.update(joint === "{" ? "{}" : "}");
    return hash.finish();
  }

  /** Return the hash of the canonical form of the object of these members alone. */
  hashOf(certificate, names) {
    const others = this.members.get(certificate).map(([name]) => name);
    return this.hashWithout(certificate, others.filter((name) => !names.includes(name)));
  }
}

/** Return the bytes as text, one unit per byte: those above ASCII are rejected where they stand. */
function textOfBytes(bytes) {
  const pieces = [];
  for (let start = 0; start < bytes.length; start += 8192) {
    pieces.push(String.fromCharCode.apply(null, bytes.subarray(start, start + 8192)));
  }
  return pieces.join("");
}

/** Return the reader of a file, at its end, and the object that it holds. */
function readFile(content) {
  if (typeof content !== "string" && !(content instanceof Uint8Array)) {
    reject("json", "neither text nor bytes");
  }
  if (content.length > MOST_BYTES) {
    reject("size", "more than 256 MiB");
  }
  const reader = new Reader(typeof content === "string" ? content : textOfBytes(content));
  const found = reader.value(CERTIFICATE);
  if (reader.text.slice(reader.at) !== "\n") {
    reader.reject();
  }
  return [reader, found];
}
