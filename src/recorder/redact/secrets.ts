/**
 * Recognizes secrets: by the names of headers and members, by their form, and because they were seen in a place of secrets before.
 *
 * @module
 */
import { isName } from "./words.ts";

/** Stands in place of a secret. */
export const REDACTED = "[redacted]";

/** Names of headers, variables and members whose values are secrets. */
const SECRET_NAME =
  /authori[sz]ation|(^|[-_])auth($|[-_])|cookie|credential|pass(word|wd|phrase|code)|secret|token|jwt|bearer|session[-_]?id|(api|access|private|signing|sealing)[-_]?key|[-_]key$|^(pin|otp|cvv|cvc)$|assertion$|code_verifier|request_?state|signature|^sig$/i;

/** Names whose values are secrets in some places and words in others: codes and states of a sign-in. */
const AMBIGUOUS_NAME = /^(key|code|state)$/i;

/** Names of numbers that are secrets. */
const SECRET_NUMBER = /^(pin|otp|cvv|cvc)$|pass(word|code)|secret/i;

/** Names that look like names of secrets and are not. */
const PUBLIC_NAME =
  /^(progressToken|maxTokens|inputTokens|outputTokens|idempotencyKey|tokenEndpoint|token_endpoint.*|token_type|authorization_servers?)$/;

/** Secrets that are recognized by their form: schemes of headers, keys of well-known services, and JSON Web Tokens. */
const SECRET_VALUE =
  /\b(Bearer|Basic|DPoP)\s+(?![a-z_]+=")[\w+/=.~-]{6,}|\b(sk|pk|rk|ghp|gho|ghs|ghu|ghr|github_pat|glpat|xox[abeprs]|AKIA|ASIA|AIza|npm)[-_]?[A-Za-z0-9_-]{12,}|\beyJ[\w-]{1,600}\.[\w-]{1,4000}\.[\w-]{0,2000}|-----BEGIN [A-Z ]+-----[\s\S]*?(-----END [A-Z ]+-----|$)/g;

/** Characters of tokens. A text is divided at all others to look for secrets in it. */
const RUN = /[\w+/=.~:@%-]+/g;

/** The maximum number of secrets that are known at a time. The oldest are removed first. */
const KNOWN_MAX = 20_000;

/** The same of those that are not one run. Each is looked for in every text. */
const PHRASES_MAX = 200;

/** Shorter values are not secrets, and would be found in ordinary words. */
const KNOWN_LENGTH_MIN = 6;

/** The maximum number of places at which a run is divided. */
const DIVISIONS_MAX = 12;

/** Whether the value of a header, a variable or a member with this name is a secret. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name) && !PUBLIC_NAME.test(name);
}

/** Whether a value under a name is a secret. */
export function isSecret(name: string, value: unknown): boolean {
  if (typeof value === "number") return SECRET_NUMBER.test(name);
  if (typeof value !== "string") return false;
  return isSecretName(name) || (AMBIGUOUS_NAME.test(name) && !isName(value));
}

/** The secrets that were seen in a place of secrets, such as the header Authorization. They are found wherever they appear again. */
export class KnownSecrets {
  readonly #values = new Set<string>();
  /** Secrets that contain other characters than those of a run. They are few: texts from a form or from `.dev.vars`. */
  readonly #phrases = new Set<string>();

  /** Adds a secret, such as a token or the value of a cookie. */
  add(value: string): void {
    const trimmed = value.trim();
    if (trimmed.length < KNOWN_LENGTH_MIN) return;
    const isRun = trimmed.match(RUN)?.[0] === trimmed;
    if (isRun) addLast(this.#values, trimmed, KNOWN_MAX);
    else {
      addLast(this.#phrases, trimmed, PHRASES_MAX);
      // As it is written in JSON and in URLs.
      addLast(this.#phrases, JSON.stringify(trimmed).slice(1, -1), PHRASES_MAX);
    }
    const encoded = encodeURIComponent(trimmed.toWellFormed());
    if (encoded !== trimmed) addLast(this.#values, encoded, KNOWN_MAX);
  }

  /** Returns a text in which the secrets are replaced that are known, or that are recognized by their form. */
  redact(text: string): string {
    let shown = text.replace(SECRET_VALUE, REDACTED);
    for (const phrase of this.#phrases) if (shown.includes(phrase)) shown = shown.replaceAll(phrase, REDACTED);
    if (this.#values.size === 0) return shown;
    return shown.replace(RUN, (run) => this.#redactRun(run));
  }

  /** A run may be a secret with something before or after it, such as `id=secret` or `secret.` */
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

/** A word may be a secret, but in another word, such as `session-unknown`, it is none. */
function isWord(text: string): boolean {
  return text.length <= 16 && isName(text);
}

/** Adds a value as the newest, and removes the oldest if there are too many. */
function addLast(set: Set<string>, value: string, max: number): void {
  set.delete(value);
  set.add(value);
  const [oldest] = set;
  if (set.size > max && oldest !== undefined) set.delete(oldest);
}
