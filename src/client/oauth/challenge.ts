/** A challenge in a `WWW-Authenticate` header. The names of its parameters are in lower case. */
export interface Challenge {
  readonly scheme: string;
  readonly parameters: Readonly<Record<string, string>>;
}

/** Matches a parameter with its value, or the name of a scheme. Values may lack quotes, because some servers omit them. */
const PART = /([\w!#$%&'*+.^`|~-]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+)))?/g;

/** Parses a `WWW-Authenticate` header. Invalid parts are ignored. @see RFC 9110, section 11.6.1 */
export function parseChallenges(header: string | null): Challenge[] {
  const challenges: { scheme: string; parameters: Record<string, string> }[] = [];
  for (const [, name = "", quoted, bare] of (header ?? "").matchAll(PART)) {
    const value = quoted?.replaceAll(/\\(.)/g, "$1") ?? bare;
    if (value === undefined) challenges.push({ scheme: name.toLowerCase(), parameters: {} });
    else {
      const { parameters } = challenges.at(-1) ?? { parameters: {} as Record<string, string> };
      parameters[name.toLowerCase()] ??= value;
    }
  }
  return challenges;
}

/** Returns the parameters of the challenge in a response; undefined if it is not a refusal that a new token could remove. */
export function readChallenge({ status, headers }: Response): Readonly<Record<string, string>> | undefined {
  if (status !== 401 && status !== 403) return undefined;
  const challenges = parseChallenges(headers.get("www-authenticate"));
  const found = challenges.find(({ scheme }) => scheme === "bearer" || scheme === "dpop");
  const parameters = found?.parameters ?? {};
  return status === 401 || parameters.error === "insufficient_scope" ? parameters : undefined;
}
