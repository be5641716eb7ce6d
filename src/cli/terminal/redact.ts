/**
 * Redacts secrets from everything that is printed.
 *
 * @module
 */
import { isObject } from "../../core/protocol/jsonrpc.ts";

/** Names of headers, variables and members whose values are secrets. */
const SECRET =
  /authori[sz]ation|(^|[-_])auth($|[-_])|cookie|credential|pass(word|wd|phrase|code)|secret|token|jwt|bearer|session[-_]?id|(api|access|private|signing|sealing)[-_]?key|[-_]key$|^key$/i;
/** Names that look like names of secrets but are not. */
const PUBLIC = /^(progressToken|maxTokens|idempotencyKey|tokenEndpoint|token_endpoint.*|authorization_servers?)$/;
/**
 * Strings that are recognised as secrets by their form. The time to search text grows only linearly with its length, because a JWT is
 * searched only where no character of one precedes it, and because the repetitions have limits.
 */
const VALUE =
  /\b(Bearer|Basic|DPoP)\s{1,64}[\w+/=.~-]{6,16384}|\b(sk|pk|ghp|gho|ghs|github_pat|xox[abp])[-_][\w-]{8,16384}|(?<![\w-])eyJ[\w-]{1,16384}\.[\w-]{1,16384}\.[\w-]{1,16384}/g;

export const REDACTED = "[redacted]";

/** Whether the value of a header, an environment variable or a member with this name is a secret. */
export function isSecretName(name: string): boolean {
  return SECRET.test(name) && !PUBLIC.test(name);
}

/** The headers whose values `--debug` shows. All other headers may contain secrets, such as those that the user has given. */
const SHOWN_HEADERS: ReadonlySet<string> = new Set([
  "accept",
  "access-control-allow-origin",
  "allow",
  "cache-control",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "date",
  "mcp-method",
  "mcp-name",
  "mcp-protocol-version",
  "retry-after",
  "server",
  "transfer-encoding",
  "vary",
  "www-authenticate",
]);

/** Returns the value of a header with secrets redacted. */
export function redactHeader(name: string, value: string): string {
  const lower = name.toLowerCase();
  if (lower === "location") return redactQuery(value);
  return SHOWN_HEADERS.has(lower) ? redactText(value) : REDACTED;
}

/** Returns an absolute or relative URL without its password, query and fragment. */
export function redactQuery(text: string): string {
  const [address = "", mark] = text.split(/([?#])/);
  return redactUrl(address) + (mark === undefined ? "" : mark + REDACTED);
}

/** Additional names of query parameters whose values are secrets: signatures, and codes of a sign-in. */
const SECRET_PARAMETER =
  /^(sig|signature|code|state|assertion|ticket|hmac|x-amz-(signature|credential|security-token))$/i;

/** Matches URLs in text. */
const ADDRESS = /\bhttps?:\/\/[^\s"'<>]+/g;

/** The minimum length of a secret, in characters. A shorter value would be found in ordinary words. */
export const SECRET_LENGTH_MIN = 4;

/** The secrets from the command line. They cannot be recognised by their form. */
const given = new Set<string>();

/** Registers a secret. It is redacted from everything that is printed from now on, except results. */
export function keepSecret(value: string): void {
  if (value.length >= SECRET_LENGTH_MIN) given.add(value);
}

/** Whether text contains a registered secret with at least this number of characters. */
export function containsGiven(text: string, lengthMin: number): boolean {
  return [...given].some((value) => value.length >= lengthMin && text.includes(value));
}

/**
 * Redacts the registered secrets. Call it before text is cut or divided, because a part of a secret would not be recognised.
 */
export function withoutGiven(text: string): string {
  return [...given].reduce((before, value) => before.replaceAll(value, REDACTED), text);
}

/** Redacts the registered secrets, and those that are recognised by their form. */
export function redactText(text: string): string {
  return withoutGiven(text).replace(ADDRESS, redactAddress).replace(VALUE, REDACTED);
}

/** Returns a copy of a JSON value with secrets redacted, including all strings in members with secret names. */
export function redact(value: unknown): unknown {
  if (typeof value === "string") return redactText(value);
  if (Array.isArray(value)) return value.map(redact);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const isSecret = typeof member === "string" && isSecretName(name);
      return [name, isSecret ? REDACTED : redact(member)];
    }),
  );
}

/** Returns a URL without its user name and password, and with the values of secret query parameters redacted. */
export function redactUrl(text: string): string {
  return redactAddress(text).replace(VALUE, REDACTED);
}

function redactAddress(text: string): string {
  if (!URL.canParse(text)) return text;
  const url = new URL(text);
  const secret = [...url.searchParams.keys()].filter((name) => isSecretName(name) || SECRET_PARAMETER.test(name));
  if (secret.length === 0 && url.password === "" && url.username === "") return text;
  [url.username, url.password] = ["", ""];
  for (const name of new Set(secret)) url.searchParams.set(name, REDACTED);
  return url.href.replaceAll(encodeURIComponent(REDACTED), REDACTED);
}

/** Returns the arguments of a command with the values of secret options redacted. */
export function redactArguments(args: readonly string[]): string[] {
  return args.map((arg, index) => {
    const before = args[index - 1] ?? "";
    if (before.startsWith("-") && !before.includes("=") && isSecretName(before)) return REDACTED;
    const [, name = "", separator = ""] = /^(-{0,2}[\w.-]+)([=:])/.exec(arg) ?? [];
    if (separator !== "" && isSecretName(name) && !arg.startsWith("http")) return `${name}${separator}${REDACTED}`;
    return /^https?:/.test(arg) ? redactUrl(arg) : redactText(arg);
  });
}
