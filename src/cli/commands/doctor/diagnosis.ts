/**
 * Collects the findings of the doctor.
 *
 * @module
 */
import { HOST_NAMES, type HostName } from "../../host-profiles/profile.ts";
import type { Source } from "../../host-profiles/source.ts";

/** The steps of a connection, in their order. */
export const STEPS = [
  "address",
  "endpoint",
  "sign-in",
  "token",
  "handshake",
  "session",
  "lists",
  "stream",
  "modern",
  "limits",
  "origin",
  "call",
  "project",
] as const;

/** A step of a connection. */
export type Step = (typeof STEPS)[number];

/** The steps whose findings do not concern hosts, unless they name some. */
const APART: ReadonlySet<Step> = new Set(["origin", "call", "project"]);

/** `breaks`: the hosts cannot use the server, or a part of it. `degrades`: something is lost. `note`: nothing has to change. */
export type Severity = "breaks" | "degrades" | "note";

/** The part that has to change. */
export type Fault = "server" | "configuration" | "host" | "network";

/** A fault that was found. */
export interface Finding {
  readonly id: string;
  readonly step: Step;
  readonly severity: Severity;
  readonly fault: Fault;
  /** The affected hosts. Empty if the finding is not about a host, but about a web page, a call or the project. */
  readonly hosts: readonly HostName[];
  /** The affected hosts whose behaviour is not known. They are assumed to follow the specification. */
  readonly notKnown?: readonly HostName[];
  /** A sentence that says what is wrong. */
  readonly what: string;
  /** A sentence that says what to change. */
  readonly fix: string;
  /** Where the behaviour of the hosts is described. */
  readonly source?: Source;
}

/** A finding to add. */
export interface FindingInput extends Omit<Finding, "hosts"> {
  /** @default all hosts; none for the steps `origin`, `call` and `project` */
  readonly hosts?: readonly HostName[] | undefined;
  /** What to change in a server that uses mcp-edge: the name of the option, and its value. */
  readonly ours?: string | undefined;
}

/** Collects the findings about one server. */
export class Diagnosis {
  readonly #added: FindingInput[] = [];
  readonly #hosts: readonly HostName[];
  /** Whether the server uses mcp-edge. */
  isOurs = false;
  /** The last step that was begun. */
  reached: Step = "address";
  /** Whether the server requires a sign-in, and no token was given. */
  needsSignIn = false;
  /** Whether the server has completed a handshake, or is known to need none. */
  isOpen = false;
  /** Whether the tool that the user named was called, or a finding says why not. */
  isCallChecked = false;
  /** The size of the list of tools. */
  toolsSize: string | undefined;

  constructor(hosts: readonly HostName[] = HOST_NAMES) {
    this.#hosts = hosts;
  }

  /** Adds a finding. Findings that differ only in their hosts become one. */
  add(finding: FindingInput): void {
    const { id, severity, what, source, hosts = APART.has(finding.step) ? [] : HOST_NAMES } = finding;
    const at = this.#added.findIndex(
      (each) => each.id === id && each.severity === severity && each.what === what && each.source?.url === source?.url,
    );
    const known = this.#added[at];
    if (known) this.#added[at] = { ...known, hosts: [...new Set([...(known.hosts ?? []), ...hosts])] };
    else this.#added.push({ ...finding, hosts });
  }

  has(id: string): boolean {
    return this.#added.some((each) => each.id === id);
  }

  /** The findings that concern the chosen hosts, in the order of the steps, and the more severe ones first. */
  get findings(): Finding[] {
    const rank = ({ step, severity }: FindingInput) => STEPS.indexOf(step) * 3 + SEVERITIES.indexOf(severity);
    return this.#added
      .map(({ ours, fix, hosts = [], ...rest }) => ({
        ...rest,
        fix: (this.isOurs ? ours : undefined) ?? fix,
        isApart: hosts.length === 0,
        hosts: hosts.filter((each) => this.#hosts.includes(each)),
      }))
      .filter(({ hosts, isApart }) => isApart || hosts.length > 0)
      .map(({ isApart, notKnown = [], ...finding }) => {
        const unclear = notKnown.filter((each) => finding.hosts.includes(each));
        return unclear.length === 0 ? finding : { ...finding, notKnown: unclear };
      })
      .sort((a, b) => rank(a) - rank(b));
  }

  /** The severity of a step that could not be completed: before the handshake, nothing is known about the server. */
  get severityOfGap(): Severity {
    return this.isOpen || this.needsSignIn ? "note" : "breaks";
  }

  /** The chosen hosts. */
  get hosts(): readonly HostName[] {
    return this.#hosts;
  }
}

const SEVERITIES: readonly Severity[] = ["breaks", "degrades", "note"];
