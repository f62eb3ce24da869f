// The service's public API. The token lives in this tab's session storage and travels in a header,
// never in a URL.

import { readJson } from "./values.js";

const KEPT = "postri.token";
const BASE = new URL("v1/", document.baseURI);

/** What the service answers when it does not do what was asked: problem details. */
export class Problem extends Error {
  constructor(status, fields) {
    super(fields.detail ?? `the service answered with status ${status}`);
    this.status = status;
    this.code = fields.code ?? null;
    this.fields = fields;
  }
}

/** No answer came: it is not known whether the request arrived. */
export class LostConnection extends Error {}

let expelled = () => {};

/** What to do when the token is no longer accepted. */
export function onUnauthorized(listener) {
  expelled = listener;
}

export function token() {
  return sessionStorage.getItem(KEPT);
}

export function keepToken(text) {
  sessionStorage.setItem(KEPT, text);
}

export function forgetToken() {
  sessionStorage.removeItem(KEPT);
}

/** Ask the service; a Problem or LostConnection if it does not do it. */
export async function request(method, path, { body, headers = {}, signal } = {}) {
  const response = await fetched(method, path, body, headers, signal);
  const fields = read(response, await text(response, signal));
  if (response.ok) return fields;
  const problem = new Problem(response.status, fields ?? {});
  if (problem.status === 401) expelled(problem);
  throw problem;
}

async function fetched(method, path, body, headers, signal) {
  const sent = { Authorization: `Bearer ${token()}`, Accept: "application/json", ...headers };
  if (body !== undefined) sent["Content-Type"] = "application/json";
  try {
    return await fetch(new URL(path, BASE), {
      method,
      headers: sent,
      body: body && JSON.stringify(body),
      signal,
      cache: "no-store",
    });
  } catch (error) {
    throw signal?.aborted ? error : new LostConnection("The connection to the service was lost.");
  }
}

async function text(response, signal) {
  try {
    return await response.text();
  } catch (error) {
    throw signal?.aborted ? error : new LostConnection("The connection to the service was lost.");
  }
}

function read(response, content) {
  if (!content) return null;
  try {
    return readJson(content);
  } catch {
    if (!response.ok) return null;
    throw new LostConnection("The service's answer could not be read.");
  }
}

export const get = (path, options) => request("GET", path, options);
export const post = (path, body, options = {}) => request("POST", path, { ...options, body });
export const put = (path, body) => request("PUT", path, { body });
export const remove = (path) => request("DELETE", path);

/** Ask a question. The same key again gives the same answer and is charged once. */
export const query = (question, key) =>
  post("query", question, { headers: { "Idempotency-Key": key } });
