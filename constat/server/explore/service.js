// What the server answers. The token is sent in a header alone, and lives as long as this tab.

const KEY = "constat-token";
let outside = () => {};

export class Refusal extends Error {
  constructor(status, errors) {
    super(errors[0].message);
    this.status = status;
    this.errors = errors;
  }
}

export function enter(token) {
  if (token) sessionStorage.setItem(KEY, token);
  else sessionStorage.removeItem(KEY);
}

export const inside = () => sessionStorage.getItem(KEY) !== null;

// What to do where the server knows the token no more.
export function whenOutside(work) {
  outside = work;
}

export async function ask(operation, body = {}, signal = undefined) {
  const headers = { "Content-Type": "application/json" };
  const token = sessionStorage.getItem(KEY);
  if (token) headers.Authorization = `Bearer ${token}`;
  let response, answer;
  try {
    response = await fetch(`v1/${operation}`, { method: "POST", headers, body: JSON.stringify(body), signal });
    answer = await response.json();
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw new Refusal(0, [{ code: "HTTP", message: "the server does not answer" }]);
  }
  if (response.status === 401) outside(answer.error);
  if (!response.ok) throw new Refusal(response.status, answer.error);
  return answer;
}

// Follow a subscription: `tell` gets each message as it comes; gives the result that is last.
export async function follow(query, variables, tell, signal) {
  const headers = { "Content-Type": "application/json", Accept: "text/event-stream" };
  const token = sessionStorage.getItem(KEY);
  if (token) headers.Authorization = `Bearer ${token}`;
  let response, kept = "", result = null;
  try {
    response = await fetch("graphql", { method: "POST", headers, body: JSON.stringify({ query, variables }), signal });
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw new Refusal(0, [{ code: "HTTP", message: "the server does not answer" }]);
  }
  if (!response.ok) {
    const answer = await response.json();
    if (response.status === 401) outside(answer.error);
    throw new Refusal(response.status, answer.error);
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const events = (kept + part.value).split("\n\n");
    kept = events.pop();
    for (const event of events) {
      const line = event.split("\n").find((one) => one.startsWith("data:") && one.length > 5);
      if (!line) continue;
      const { data, errors } = JSON.parse(line.slice(5));
      if (errors) throw new Refusal(200, errors.flatMap((one) => one.extensions?.error ?? [{ code: "GraphQL", message: one.message }]));
      if (data.events.result) ({ result } = data.events);
      else tell(data.events.message);
    }
  }
  if (!result) throw new Refusal(0, [{ code: "HTTP", message: "the answer ended before its end" }]);
  return result;
}

// The whole of a text that may have been cut.
export async function whole(text) {
  if (typeof text === "string") return text;
  let all = text.text;
  for (let left = text.left; left > 0;) {
    // Places are counted in characters, not in the halves of which JavaScript makes some.
    const part = await ask("read-on", { reference: text.reference, start: [...all].length });
    all += part.text;
    left = part.left;
  }
  return all;
}
