/**
 * Requests to {TITLE}: which hosts are reached, with which credentials, and what a model reads if a request fails. This file is yours: change what does not fit.
 */
import { ToolError } from "mcp-edge";
import { cleanText, createSafeFetch, markAsData, RefusedError } from "mcp-edge/safe";

// #region constants
const NAME = "the API";
/** The base URL of the API. */
export const BASE_URL = "https://api.example.com";
/** The binding that names another base URL, such as that of an API on your machine. */
const URL_BINDING = "API_URL";
// #endregion

/** The maximum number of pages that one call requests. */
const PAGES_MAX = 5;
/** The maximum number of items that one call returns. */
const ITEMS_MAX = 200;
/** The maximum length of a result, in characters. Hosts cut longer ones. */
const TEXT_CHARS_MAX = 80_000;
/** The maximum length of a cursor, in characters. */
const CURSOR_CHARS_MAX = 2_000;
/** The maximum length of an explanation from the API, in characters. */
const ERROR_CHARS_MAX = 1_000;

/** The host of the requests. Redirects are not followed, because they could lead to another path with the credentials. */
const LIMITS = { hosts: [new URL(BASE_URL).host], redirectsMax: 0, timeoutMs: 30_000 };
/** Can only reach the host of the API. */
const safeFetch = createSafeFetch(LIMITS);

/** What a tool knows about its caller. `ctx` of a handler has these members. */
export interface Caller {
  readonly env: unknown;
  readonly signal: AbortSignal;
  readonly auth?: { readonly upstream?: () => Promise<{ readonly accessToken: string }> } | undefined;
}

type Value = string | number | boolean | null | undefined;
/** A list is sent as several parameters of the same name. */
type Fields = Readonly<Record<string, Value | readonly Value[]>>;

/** A request. Members that are undefined are not sent. */
export interface ApiRequest {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The path after the base URL, made with `path`. */
  readonly path: string;
  readonly query?: Fields;
  readonly headers?: Readonly<Record<string, Value>>;
  /** The body as JSON. */
  readonly json?: unknown;
  readonly contentType?: string;
  /** The body as a form. */
  readonly form?: Fields;
  /** The body as text. */
  readonly text?: string | undefined;
  /** The names of the credentials, if they are not the usual ones. */
  readonly auth?: readonly string[];
}

/** How the next page is requested. */
export interface Pages {
  readonly by: "cursor" | "number" | "offset" | "last";
  /** The number of the first page. @default 1 */
  readonly first?: number;
  /** The parameter of the query. */
  readonly parameter: string;
  /** The path of members to the items in the response; empty if the response is the list. */
  readonly items: readonly string[];
  /** The path of members to the cursor, to its URL, or to the value that says whether there are more items. */
  readonly next?: readonly string[];
  /** The parameter of the query with the number of items of a page. */
  readonly size?: string;
}

/** Adds one kind of credentials to a request. */
type Credential = (caller: Caller, request: { readonly headers: Headers; readonly url: URL }) => void | Promise<void>;

// #region credentials
const CREDENTIALS: Readonly<Record<string, Credential>> = {};
const USUAL: readonly string[] = [];
// #endregion

/** The characters that a header can have. */
const SENDABLE = /^[\x20-\x7e\x80-\xff]+$/;

/** The credentials that were read for a call. An API may repeat them in an error, which a model must not read. */
const given = new WeakMap<Caller, string[]>();

function remember(caller: Caller, value: string): string {
  given.set(caller, [...(given.get(caller) ?? []), value]);
  return value;
}

/** Replaces the credentials of a call, in each form in which they were sent. */
function withoutCredentials(caller: Caller, text: string): string {
  const forms = (given.get(caller) ?? []).flatMap((value) => {
    const inForm = new URLSearchParams({ "": value }).toString().slice(1);
    return [value, inForm, encodeURIComponent(value), ...(SENDABLE.test(value) ? [btoa(value)] : [])];
  });
  // A very short one would be found in every text.
  return forms.filter((form) => form.length > 3).reduce((before, form) => before.replaceAll(form, "[removed]"), text);
}

/** Adds a cookie. Several kinds of credentials may each have one. */
export function addCookie(headers: Headers, name: string, value: string): void {
  const before = headers.get("Cookie");
  headers.set("Cookie", `${before === null ? "" : `${before}; `}${name}=${encodeURIComponent(value)}`);
}

/** Reads a secret. `npx wrangler secret put NAME` sets it, and the file .dev.vars on your machine. */
export function secret(caller: Caller, name: string): string {
  const value = (caller.env as Readonly<Record<string, unknown>>)[name];
  if (typeof value !== "string" || value === "")
    throw new ToolError(`The server has no credentials for ${NAME}. Its operator has to set the secret ${name}.`);
  // A line break at the end is easily pasted.
  if (!SENDABLE.test(value))
    throw new ToolError(
      `The secret ${name} has a line break or another character that cannot be sent. Its operator has to set it again.`,
    );
  return remember(caller, value);
}

/** Returns the user's own token, with which the user signed in to authorizationServer(). */
export async function userToken(caller: Caller): Promise<string> {
  const token = await caller.auth?.upstream?.().catch(() => undefined);
  if (token === undefined) throw new ToolError(`Sign in first: this tool acts in ${NAME} with your own access.`);
  return remember(caller, token.accessToken);
}

type PathValue = string | number | boolean;

/** Writes a path. Each value is one part of it: a value can neither add a part nor lead to the folder above. */
function path(parts: TemplateStringsArray, ...values: readonly (PathValue | readonly PathValue[])[]): string {
  const encoded = values.map((value) => {
    const list: readonly PathValue[] = Array.isArray(value) ? value : [value];
    const text = list.join(",");
    if (/^\.{0,2}$/.test(text))
      throw new ToolError(`${JSON.stringify(text)} cannot be a part of a path. Give an id or a name.`);
    return list.map((each) => encodeURIComponent(String(each).toWellFormed())).join(",");
  });
  return parts.map((part, at) => part + (encoded[at] ?? "")).join("");
}

/** Writes a list, or the members of an object, as one parameter. */
function joined(values: unknown, separator = ",", pair = separator): string | undefined {
  if (values === undefined || values === null) return undefined;
  if (typeof values !== "object") return String(values);
  if (Array.isArray(values)) return values.map(json).join(separator);
  const entries = Object.entries(values).filter(([, each]) => each !== undefined && each !== null);
  return entries.map(([name, each]) => `${name}${pair}${json(each)}`).join(separator);
}

/** Writes a value that is neither a text nor a number as JSON. */
function json(value: unknown): string | undefined {
  return value === undefined || value === null ? undefined : typeof value === "string" ? value : JSON.stringify(value);
}

/** Writes the members of an object as parameters: `filter[status]=open`. */
function deep(name: string, value: unknown): Fields {
  if (typeof value !== "object" || value === null) return { [name]: value as Value };
  if (Array.isArray(value) && value.every((each) => typeof each !== "object")) return { [`${name}[]`]: value };
  return Object.fromEntries(
    Object.entries(value).flatMap(([member, each]) => Object.entries(deep(`${name}[${member}]`, each))),
  );
}

/** How a member of an object is written: with brackets, or as one parameter. */
type MemberStyle = "deep" | "comma" | "space" | "pipe";

/** Writes each member of an object as a parameter of its own name. @param styles How members are written, if not as usual. */
function members(value: unknown, styles: Readonly<Record<string, MemberStyle>> = {}): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return {};
  const isPlain = (each: unknown) => typeof each !== "object" || (Array.isArray(each) && each.every(isPlain));
  const entries = Object.entries(value).flatMap(([name, each]): [string, Value | readonly Value[]][] => {
    const style = Object.hasOwn(styles, name) ? styles[name] : undefined;
    if (style === "deep") return Object.entries(deep(name, each));
    if (style !== undefined) return [[name, joined(each, { comma: ",", space: " ", pipe: "|" }[style])]];
    return [[name, isPlain(each) ? (each as Value) : json(each)]];
  });
  return Object.fromEntries(entries);
}

/** Where requests are sent. */
interface Target {
  readonly baseUrl: string;
  readonly fetch: typeof safeFetch;
}

/** Returns where requests are sent: to the API, unless the operator has named another base URL. Callers cannot name one. */
function targetOf(caller: Caller): Target {
  const given = (caller.env as Readonly<Record<string, unknown>> | undefined)?.[URL_BINDING];
  if (given === undefined || given === "") return { baseUrl: BASE_URL, fetch: safeFetch };
  const url = typeof given === "string" && URL.canParse(given) ? new URL(given) : undefined;
  const isLocal = url !== undefined && /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname);
  if (url === undefined || !(url.protocol === "https:" || (url.protocol === "http:" && isLocal)) || url.username !== "")
    throw new ToolError(
      `${NAME} cannot be requested. The operator of this server has to correct ${URL_BINDING}: it has to be an https: URL, or an http: URL of the same machine.`,
    );
  const hosts = [url.host];
  return {
    baseUrl: `${url.origin}${url.pathname.replace(/\/+$/, "")}`,
    fetch: createSafeFetch({ ...LIMITS, hosts, privateHosts: isLocal ? hosts : [] }),
  };
}

function urlOf(baseUrl: string, request: ApiRequest): URL {
  const url = new URL(baseUrl + request.path);
  append(url.searchParams, request.query);
  return url;
}

function append(to: URLSearchParams, fields: Fields = {}): void {
  for (const [name, value] of Object.entries(fields)) {
    const texts = (Array.isArray(value) ? value : [value]).flatMap((each) => json(each) ?? []);
    for (const text of texts) to.append(name, text);
  }
}

function bodyOf(request: ApiRequest, headers: Headers): string | undefined {
  if (request.json !== undefined) {
    headers.set("Content-Type", request.contentType ?? "application/json");
    return JSON.stringify(request.json);
  }
  if (request.form !== undefined) {
    headers.set("Content-Type", "application/x-www-form-urlencoded");
    const form = new URLSearchParams();
    append(form, request.form);
    return form.toString();
  }
  if (request.text !== undefined) headers.set("Content-Type", request.contentType ?? "text/plain");
  return request.text;
}

/** Sends a request. @throws {ToolError} with a text that says what the model can do, unless the API succeeds. */
async function send(caller: Caller, request: ApiRequest): Promise<Response> {
  const headers = new Headers({ Accept: "application/json, text/*;q=0.5, */*;q=0.1", "User-Agent": "mcp-edge" });
  for (const [name, value] of Object.entries(request.headers ?? {})) {
    if (value !== undefined && value !== null) headers.set(name, encodeHeader(value));
  }
  const body = bodyOf(request, headers);
  const target = targetOf(caller);
  const url = urlOf(target.baseUrl, request);
  for (const name of request.auth ?? USUAL) await CREDENTIALS[name]?.(caller, { headers, url });
  let response: Response;
  try {
    const { method = "GET" } = request;
    response = await target.fetch(url, {
      method,
      headers,
      signal: caller.signal,
      ...(body === undefined ? {} : { body }),
    });
  } catch (error) {
    caller.signal.throwIfAborted();
    const why = error instanceof Error ? error.message : String(error);
    console.error(`${NAME} could not be reached: ${withoutCredentials(caller, why)}`);
    throw new ToolError(`${NAME} could not be reached. Try again later.`);
  }
  if (response.ok) return response;
  throw Object.assign(new ApiError(await explain(caller, response)), { status: response.status });
}

/** The API has refused a request. */
class ApiError extends ToolError {
  readonly status: number = 0;
}

/** Characters other than those of ASCII are not allowed in headers. */
function encodeHeader(value: string | number | boolean): string {
  return String(value)
    .toWellFormed()
    .replace(/[^\x20-\x7e]+/g, encodeURIComponent);
}

/** What to do, by the status of a response. */
const ADVICE: Readonly<Record<number, string>> = {
  401: "The credentials were not accepted. The operator of this server, or a new sign-in, has to renew them; another call will not help.",
  403: "The credentials do not permit this. Do not try again.",
  404: "There is no such thing. Check the ids, or list what exists first.",
  409: "This contradicts the present state. Read the present state first.",
};

function adviceFor(status: number, wait: string): string {
  if (status >= 500) return "The service has a problem. Try again later.";
  if (status < 400) return "The service redirects to another URL, which is not followed.";
  if (status !== 429) return "Correct the arguments.";
  return `There were too many requests. Wait ${/^\d{1,6}$/.test(wait) ? `${wait} seconds` : "a while"} before the next call.`;
}

/** Says what went wrong, and what to do. The explanation of the API is marked as data, because it may repeat the text of others. */
async function explain(caller: Caller, response: Response): Promise<string> {
  const { status } = response;
  const said = withoutCredentials(caller, cleanText(await response.text().catch(() => "")))
    .trim()
    .slice(0, ERROR_CHARS_MAX);
  const advice = ADVICE[status === 410 ? 404 : status] ?? adviceFor(status, response.headers.get("Retry-After") ?? "");
  const text = `${NAME} refused the request with the status ${status}. ${advice}`;
  return said === "" ? text : `${text}\n${markAsData(said, { source: NAME })}`;
}

async function read(response: Response): Promise<unknown> {
  const type = response.headers.get("Content-Type") ?? "";
  try {
    if (/[/+]json/i.test(type)) {
      const text = await response.text();
      return text === "" ? undefined : (JSON.parse(text, cleaned) as unknown);
    }
    if (type === "" || /^text\/|xml|yaml/i.test(type)) return cleanText(await response.text());
  } catch (error) {
    if (error instanceof RefusedError) throw new ToolError(`The response of ${NAME} is too large. Ask for less.`);
    throw new ToolError(`The response of ${NAME} could not be read.`);
  }
  await response.body?.cancel();
  throw new ToolError(`The response of ${NAME} is ${type.slice(0, 100)}, which this tool cannot return.`);
}

/**
 * Removes what people cannot see from the texts and names of JSON. Others may have written them, and a model would read it. An integer
 * that JavaScript would round, such as a long id, becomes a text.
 */
function cleaned(_name: string, value: unknown, { source = "" }: { readonly source?: string } = {}): unknown {
  if (typeof value === "string") return cleanText(value);
  if (typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d{1,40}$/.test(source)) return source;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  if (Object.keys(value).every((name) => cleanText(name) === name)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [cleanText(name), each]));
}

/** Returns a value as text for a model. */
function show(value: unknown): string {
  if (value === undefined || value === "") return "Done.";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (text.length <= TEXT_CHARS_MAX) return text;
  return `${text.slice(0, TEXT_CHARS_MAX)}\n[Cut: the result has ${text.length} characters. Ask for less.]`;
}

/** Sends a request, and returns the response as text. */
async function call(caller: Caller, request: ApiRequest): Promise<string> {
  return show(await read(await send(caller, request)));
}

/** Sends a request, and returns the response as structured data, which is checked against the schema `output` of the tool. */
async function data<T>(caller: Caller, request: ApiRequest): Promise<T> {
  const value = await read(await send(caller, request));
  // The operation has succeeded, so this is not an error: a model would repeat it. Nothing in the schema is required.
  if (value === undefined) return {} as T;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return { result: value } as T;
  // Data that was cut would not fit the schema.
  const { length } = JSON.stringify(value) ?? "";
  if (length > TEXT_CHARS_MAX)
    throw new ToolError(`The result of ${NAME} is too large: it has ${length} characters. Ask for less.`);
  return value as T;
}

/**
 * Sends a request, and the requests for the next pages within the limits. Returns the items of all of them as text. If the model has named
 * a page or the size of a page, it wants that page, and receives the response as it is.
 */
async function pages(caller: Caller, request: ApiRequest, how: Pages): Promise<string> {
  const isGiven = (name: string | undefined) =>
    name !== undefined && (request.query?.[name] ?? undefined) !== undefined;
  const isPage = (how.by === "number" || how.by === "offset") && isGiven(how.parameter);
  if (isPage || isGiven(how.size)) return call(caller, request);
  const items: unknown[] = [];
  let query = { ...request.query };
  let previous: string | undefined;
  for (let page = 1; ; page += 1) {
    let value: unknown;
    try {
      value = await read(await send(caller, { ...request, query }));
    } catch (error) {
      if (page === 1 || !(error instanceof ToolError)) throw error;
      // For many APIs, the page after the last one does not exist.
      const isEnd = how.by !== "cursor" && error instanceof ApiError && error.status === 404;
      return isEnd ? show(items) : `${show(items)}\n[The next page could not be read. ${continueWith(how, query)}]`;
    }
    const found = memberAt(value, how.items);
    if (!Array.isArray(found)) return show(page === 1 ? value : items);
    // An API that ignores the parameter would return the first page again and again.
    const same = JSON.stringify(found);
    if (same === previous) return show(items);
    previous = same;
    // As arguments of one call, very many items would exceed the stack.
    for (const item of found) items.push(item);
    const next = found.length === 0 ? undefined : nextPage(value, found, query[how.parameter], how);
    if (next === undefined || next === query[how.parameter]) return show(items);
    query = { ...query, [how.parameter]: next };
    if (page >= PAGES_MAX || items.length >= ITEMS_MAX)
      return `${show(items)}\n[There may be more items. ${continueWith(how, query)}]`;
  }
}

function continueWith({ parameter }: Pages, query: Readonly<Record<string, unknown>>): string {
  return `To continue, call again with the same arguments and ${parameter}: ${JSON.stringify(query[parameter])}`;
}

function nextPage(value: unknown, found: readonly unknown[], now: unknown, how: Pages): Value {
  const next = how.next === undefined ? undefined : memberAt(value, how.next);
  switch (how.by) {
    case "cursor":
      return cursorOf(inUrl(next, how.parameter));
    case "number":
      return isLast(next) ? undefined : Number(now ?? how.first ?? 1) + 1;
    case "offset":
      return isLast(next) ? undefined : Number(now ?? 0) + found.length;
    case "last":
      return next === true ? cursorOf(memberAt(found.at(-1), ["id"])) : undefined;
  }
}

/** Whether a value says that there are no more items. */
function isLast(next: unknown): boolean {
  return next === null || next === false || next === "";
}

/** Returns the cursor that the URL of the next page contains; the value itself if it is not a URL. */
function inUrl(next: unknown, parameter: string): unknown {
  if (typeof next !== "string" || !/^(?:https?:\/\/|\/|\?)/i.test(next)) return next;
  return URL.canParse(next, BASE_URL) ? new URL(next, BASE_URL).searchParams.get(parameter) : undefined;
}

/** A cursor is repeated to the model, so it has to be short. */
function cursorOf(value: unknown): Value {
  if (typeof value === "number") return value;
  return typeof value === "string" && value !== "" && value.length <= CURSOR_CHARS_MAX ? value : undefined;
}

function memberAt(value: unknown, names: readonly string[]): unknown {
  let found = value;
  for (const name of names) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as Readonly<Record<string, unknown>>)[name];
  }
  return found;
}

/** The functions with which the tools call the API. */
export const api = { call, data, pages, path, joined, json, deep, members };
