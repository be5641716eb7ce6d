/**
 * Recognizes secrets by the names of headers and members, by their format, and because an earlier secret had the same value.
 *
 * @module
 */
import { isName } from "./words.ts";

/** Replaces a secret. */
export const REDACTED = "[redacted]";

/** Names of headers, variables and members whose values are secrets. */
const SECRET_NAME =
  /authori[sz]ation|(^|[-_])auth($|[-_])|cookie|credential|pass(word|wd|phrase|code)|secret|token|jwt|bearer|session[-_]?id|(api|access|private|signing|sealing)[-_]?key|[-_]key$|^(pin|otp|cvv|cvc)$|assertion$|code_verifier|request_?state|signature|^sig$/i;

/** Names whose values can be secrets, such as the code and state of an OAuth sign-in, or ordinary words. */
const AMBIGUOUS_NAME = /^(key|code|state)$/i;

/** Names whose numeric values are secrets. */
const SECRET_NUMBER = /^(pin|otp|cvv|cvc)$|pass(word|code)|secret/i;

/** Names that match `SECRET_NAME` although their values are not secrets. */
const PUBLIC_NAME =
  /^(progressToken|maxTokens|inputTokens|outputTokens|idempotencyKey|tokenEndpoint|token_endpoint.*|token_type|authorization_servers?)$/;

/** Secrets with a known format: Authorization values, keys of well-known services, JSON Web Tokens, and PEM blocks. */
const SECRET_VALUE =
  /\b(Bearer|Basic|DPoP)\s+(?![a-z_]+=")[\w+/=.~-]{6,}|\b(sk|pk|rk|ghp|gho|ghs|ghu|ghr|github_pat|glpat|xox[abeprs]|AKIA|ASIA|AIza|npm)[-_]?[A-Za-z0-9_-]{12,}|\beyJ[\w-]{1,600}\.[\w-]{1,4000}\.[\w-]{0,2000}|-----BEGIN [A-Z ]+-----[\s\S]*?(-----END [A-Z ]+-----|$)/g;

/** A run of characters that occur in tokens. Strings are split into runs to look for secrets. */
const RUN = /[\w+/=.~:@%-]+/g;

/** The maximum number of known secrets. The oldest are evicted. */
const KNOWN_MAX = 20_000;

/** The maximum number of known secrets that are not a single run. Every string is searched for each of them. */
const PHRASES_MAX = 200;

/** The minimum length of a known secret. Shorter values would match parts of ordinary words. */
const KNOWN_LENGTH_MIN = 6;

/** The maximum number of separators at which a run is split. */
const DIVISIONS_MAX = 12;

/** Returns whether the value of a header, variable or member with this name is a secret. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name) && !PUBLIC_NAME.test(name);
}

/** Returns whether the value of a member is a secret. */
export function isSecret(name: string, value: unknown): boolean {
  if (typeof value === "number") return SECRET_NUMBER.test(name);
  if (typeof value !== "string") return false;
  return isSecretName(name) || (AMBIGUOUS_NAME.test(name) && !isName(value));
}

/** The values of known secrets, such as those from Authorization headers. They are redacted wherever they appear. */
export class KnownSecrets {
  readonly #values = new Set<string>();
  /** Secrets that are not a single run. They are rare, such as passwords from a form or values from `.dev.vars`. */
  readonly #phrases = new Set<string>();

  /** Adds a secret, such as a token or the value of a cookie. */
  add(value: string): void {
    const trimmed = value.trim();
    if (trimmed.length < KNOWN_LENGTH_MIN) return;
    const isRun = trimmed.match(RUN)?.[0] === trimmed;
    if (isRun) addLast(this.#values, trimmed, KNOWN_MAX);
    else {
      addLast(this.#phrases, trimmed, PHRASES_MAX);
      // The secret as it appears in JSON.
      addLast(this.#phrases, JSON.stringify(trimmed).slice(1, -1), PHRASES_MAX);
    }
    const encoded = encodeURIComponent(trimmed.toWellFormed());
    if (encoded !== trimmed) addLast(this.#values, encoded, KNOWN_MAX);
  }

  /** Replaces known secrets in a string, and secrets with a known format. */
  redact(text: string): string {
    let shown = text.replace(SECRET_VALUE, REDACTED);
    for (const phrase of this.#phrases) if (shown.includes(phrase)) shown = shown.replaceAll(phrase, REDACTED);
    if (this.#values.size === 0) return shown;
    return shown.replace(RUN, (run) => this.#redactRun(run));
  }

  /** Redacts a run, which may contain more than the secret, such as `id=secret` or `secret.` */
  #redactRun(run: string): string {
    if (run.length < KNOWN_LENGTH_MIN) return run;
    if (this.#values.has(run)) return REDACTED;
    const ends = [...run.matchAll(/[=:@%./~+-]/g)].slice(0, DIVISIONS_MAX).map(({ index }) => index);
    const from = [0, ...ends.map((end) => end + 1)];
    const to = [...ends, run.length].reverse();
    for (const start of from) {
      for (const end of to) {
        const piece = run.slice(start, end);
        if (piece.length < KNOWN_LENGTH_MIN || !this.#values.has(piece)) continue;
        if (!isWord(piece) || /[=:@]/.test(run[start - 1] ?? "")) return run.replaceAll(piece, REDACTED);
      }
    }
    return run;
  }
}

/** Returns whether a string is an ordinary word, which is not redacted within another word, such as `session-unknown`. */
function isWord(text: string): boolean {
  return text.length <= 16 && isName(text);
}

/** Adds a value as the newest, and evicts the oldest if there are too many. */
function addLast(set: Set<string>, value: string, max: number): void {
  set.delete(value);
  set.add(value);
  const [oldest] = set;
  if (set.size > max && oldest !== undefined) set.delete(oldest);
}
