/**
 * Changes between two contracts.
 *
 * @module
 */
import { escapeHidden } from "./hidden.ts";

/** Whether a change breaks callers, does not break them, or must be judged by a person. */
export type Severity = "breaking" | "compatible" | "review";

/** The kind of the definition that has changed. */
export type ChangedKind = "server" | "scope" | "tool" | "prompt" | "resource" | "template";

/** A change between two contracts. All strings may contain text of the server, so remove control characters before you display them. */
export interface Change {
  /** Whether the change breaks callers. */
  readonly severity: Severity;
  /** The kind of the definition. */
  readonly kind: ChangedKind;
  /** The name, URI or URI template of the definition. */
  readonly name: string;
  /** The place within the definition, such as `input.city`; empty for the definition as a whole. */
  readonly path: string;
  /** What has changed and what that means, as a sentence without its subject, such as `is now required`. */
  readonly reason: string;
}

/** A change within a definition. */
export type InnerChange = Pick<Change, "severity" | "path" | "reason">;

/** The maximum number of changes that are listed. Above it, one more change says so, and counts as breaking. @limit internal */
export const CHANGES_MAX = 2_000;

/** Collects the changes of one comparison, up to a maximum. */
export class Changes {
  readonly list: Change[] = [];
  #isFull = false;

  add(kind: ChangedKind, name: string, severity: Severity, reason: string, path = ""): void {
    if (this.#isFull) return;
    if (this.list.length < CHANGES_MAX) {
      this.list.push({ severity, kind, name, path: escapeHidden(path), reason: escapeHidden(reason) });
      return;
    }
    this.#isFull = true;
    // What is not listed may break callers.
    const more = `has more than ${CHANGES_MAX} differences, and the remaining ones are not listed`;
    this.list.push({ severity: "breaking", kind: "server", name: "", path: "", reason: more });
  }
}
