/** What is known about hosts, as tables for documents: from the data of `mcp-edge doctor` and `mcp-edge connect`. */
import {
  COMBINED_NAME_CHARS,
  CUT_NAME_CHARS,
  DESCRIPTION_CHARS,
  type HostLimit,
  INSTRUCTIONS_CHARS,
  NAME_PATTERNS,
  RESULT_CHARS,
  SCHEMA_BYTES,
  TOOL_COUNTS,
  TOP_LEVEL_KEYWORDS,
} from "../src/cli/host-profiles/limits.ts";
import type { HostName, HostProfile } from "../src/cli/host-profiles/profile.ts";
import { PROFILES, titleOf } from "../src/cli/host-profiles/profiles.ts";
import type { Source, Sourced } from "../src/cli/host-profiles/source.ts";

type Row = readonly string[];

/** The members of a profile that readers look for, with their descriptions. The document says which of them are unknown. */
const ASKED: Readonly<Partial<Record<keyof HostProfile, string>>> = {
  version: "the newest protocol version that it offers",
  sessionPerCall: "whether it opens a session for each call",
  replacesSessionOn: "what it does if the server no longer has its session",
  readsChangedTools: "whether it reads the tools again after they have changed",
  registration: "how it registers at an authorization server",
  after401: "what it does after a 401",
  callTimeoutMs: "how long it waits for a call",
  logs: "where its logs are",
};

/** Returns a table of the behaviour of a host, and a list of what is not known. */
export function factsTable(name: HostName): string {
  const profile = profileOf(name);
  const rows = [...facts(profile)].map(([text, fact]) => [text, sourcesOf(fact)]);
  const missing = Object.entries(ASKED).filter(([member]) => profile[member as keyof HostProfile] === undefined);
  const unknown = missing.map(([, what]) => what);
  const rest = unknown.length === 0 ? "" : `\n\nWe found no published source for the following: ${unknown.join("; ")}.`;
  return `${table(["what it does", "source"], rows)}${rest}`;
}

/** Returns where a user finds the logs of a host. */
export function logsTable(name: HostName): string {
  const logs = profileOf(name).logs ?? [];
  return table(
    ["logs", "source"],
    logs.map((fact) => [fact.value, sourcesOf(fact)]),
  );
}

/** Returns a table of the limits of a host, or of all hosts. */
export function limitsTable(name?: HostName): string {
  const found = [...limits()].filter(({ limit }) => name === undefined || limit.hosts.includes(name));
  if (found.length === 0) return "No limit is known.";
  const hosts = ({ hosts }: HostLimit) => (name === undefined ? [hosts.map(titleOf).join(", ")] : []);
  return table(
    ["limit", ...(name === undefined ? ["host"] : []), "what happens", "source"],
    found.map(({ what, limit, effect }) => [what, ...hosts(limit), effect, linkTo(limit.source)]),
  );
}

/** Returns a table that compares all hosts. */
export function overviewTable(): string {
  return table(
    ["host", "local servers", "newest version", "session for each call", "new session after", "sees changed tools"],
    PROFILES.map((each) => [
      `[${each.title}](${each.name}.md)`,
      each.startsProcesses ? "yes" : "no",
      cell(each.version, (version) => version),
      cell(each.sessionPerCall, yesOrNo),
      cell(each.replacesSessionOn, (codes) => (codes.length === 0 ? "never" : codes.join(", "))),
      cell(each.readsChangedTools, yesOrNo),
    ]),
  );
}

function cell<T>(fact: Sourced<T> | undefined, toText: (value: T) => string): string {
  if (!fact) return "-";
  return fact.contradictedBy ? `${toText(fact.value)} (contradicted)` : toText(fact.value);
}

function yesOrNo(value: boolean): string {
  return value ? "yes" : "no";
}

function profileOf(name: HostName): HostProfile {
  const profile = PROFILES.find((each) => each.name === name);
  if (!profile) throw new Error(`There is no host ${name}.`);
  return profile;
}

/** The facts about a host as sentences. */
function* facts(profile: HostProfile): Generator<readonly [string, Sourced<unknown>]> {
  const { isCloud, version, sessionPerCall, replacesSessionOn, readsChangedTools, registration, after401 } = profile;
  if (isCloud) yield ["It connects over the internet, so it cannot reach an address on your machine.", isCloud];
  if (version) yield [`The newest protocol version that it offers is ${version.value}.`, version];
  yield* requestFacts(profile);
  if (sessionPerCall)
    yield ["It opens a session for each call, or for each group of calls in a turn of the model.", sessionPerCall];
  if (replacesSessionOn) yield [sessionSentence(replacesSessionOn.value), replacesSessionOn];
  if (readsChangedTools)
    yield [
      `It ${readsChangedTools.value ? "reads" : "does not read"} the tools again after \`notifications/tools/list_changed\`.`,
      readsChangedTools,
    ];
  if (registration) yield [`It registers at an authorization server ${registered(registration.value)}.`, registration];
  if (after401) yield [`After a 401, ${after401.value}`, after401];
  yield* waitFacts(profile);
  for (const habit of profile.habits ?? []) yield [habit.value, habit];
}

function* requestFacts(profile: HostProfile): Generator<readonly [string, Sourced<unknown>]> {
  const { accept, followsRedirects, requiresStreamOr405, requiresExactResource, readsRootMetadata } = profile;
  if (accept) yield [`Its POST requests have the header \`Accept: ${accept.value}\`.`, accept];
  if (followsRedirects) yield ["It follows redirects of POST requests.", followsRedirects];
  if (requiresStreamOr405)
    yield ["It connects again and again if GET is refused with a status other than 405.", requiresStreamOr405];
  if (requiresExactResource)
    yield [
      "`resource` in the protected resource metadata must equal the URL that the user has entered.",
      requiresExactResource,
    ];
  if (readsRootMetadata)
    yield ["It also reads the protected resource metadata at the root of the host.", readsRootMetadata];
}

function* waitFacts(profile: HostProfile): Generator<readonly [string, Sourced<unknown>]> {
  const { startTimeoutMs, callTimeoutMs } = profile;
  const waits = (what: string, ms: number) => `It waits ${ms / 1000} s for ${what} by default.`;
  if (startTimeoutMs) yield [waits("a server to start", startTimeoutMs.value), startTimeoutMs];
  if (callTimeoutMs) yield [waits("the result of a call", callTimeoutMs.value), callTimeoutMs];
}

function sessionSentence(codes: readonly number[]): string {
  if (codes.length === 0) return "It does not replace a session that the server no longer has.";
  return `It opens a new session if the server refuses the old one with ${codes.join(" or ")}.`;
}

function registered(ways: readonly ("dynamic" | "document")[]): string {
  const texts = { dynamic: "by dynamic registration", document: "with a client ID metadata document" };
  return ways.map((way) => texts[way]).join(" or ");
}

interface Limit {
  readonly what: string;
  readonly effect: string;
  readonly limit: HostLimit;
}

const DROPPED = "the tool is dropped without a message";
const CUT = "the rest is cut";

function* limits(): Generator<Limit> {
  const count = (value: number) => value.toLocaleString("en-US");
  const keywords = TOP_LEVEL_KEYWORDS.keywords.map((each) => `\`${each}\``).join(", ");
  yield { what: `${count(SCHEMA_BYTES.max)} bytes of input schema`, effect: DROPPED, limit: SCHEMA_BYTES };
  yield { what: `${keywords} at the top level of an input schema`, effect: DROPPED, limit: TOP_LEVEL_KEYWORDS };
  yield { what: `${count(DESCRIPTION_CHARS.max)} characters of description`, effect: CUT, limit: DESCRIPTION_CHARS };
  yield {
    what: `${count(INSTRUCTIONS_CHARS.max)} characters of the instructions of the server`,
    effect: CUT,
    limit: INSTRUCTIONS_CHARS,
  };
  yield {
    what: `${COMBINED_NAME_CHARS.max} characters of server name and tool name together`,
    effect: "the tool is dropped",
    limit: COMBINED_NAME_CHARS,
  };
  yield {
    what: `${CUT_NAME_CHARS.max} characters of \`mcp_<server>_<tool>\``,
    effect: "the middle is cut; one of two equal names is dropped",
    limit: CUT_NAME_CHARS,
  };
  for (const limit of NAME_PATTERNS) {
    const admits = limit.admits.replaceAll(/(?<= )[_-](?= |$)/g, "`$&`");
    const effect = limit.affectsAll
      ? "all tools of the server are refused"
      : "an error is reported, and the tool may be left out";
    yield { what: `${admits} in names`, effect, limit };
  }
  for (const limit of TOOL_COUNTS)
    yield { what: `${limit.max} tools of all servers together`, effect: limit.effect, limit };
  for (const limit of RESULT_CHARS)
    yield { what: `about ${count(limit.max)} characters of result`, effect: CUT, limit };
}

function sourcesOf({ source, contradictedBy }: Sourced<unknown>): string {
  return contradictedBy ? `${linkTo(source)}, contradicted by ${linkTo(contradictedBy)}` : linkTo(source);
}

function linkTo({ url, date }: Source): string {
  return `[${date}](${url})`;
}

/** Returns a table as Markdown. */
export function table(head: Row, rows: readonly Row[]): string {
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
