/**
 * The lines for the changes of a contract.
 *
 * @module
 */
import type { Change, Severity } from "../../../lock/changes.ts";
import { escapeHidden } from "../../../lock/hidden.ts";
import { oneLine, type Paint, type Terminal } from "../../terminal/terminal.ts";

/** The severities, in the order in which changes are printed, with their colours. */
const PAINTS: Readonly<Record<Severity, (paint: Paint, text: string) => string>> = {
  breaking: (paint, text) => paint.red(text),
  review: (paint, text) => paint.yellow(text),
  compatible: (paint, text) => paint.green(text),
};
const SEVERITIES = Object.keys(PAINTS) as readonly Severity[];
const WIDTH = Math.max(...SEVERITIES.map(({ length }) => length));
/** The maximum number of characters of a name, which comes from the server, and of a place or reason with its values. */
const [NAME_CHARS_MAX, TEXT_CHARS_MAX] = [100, 300];

/** Prints one line for each change, breaking ones first, and the number of changes of each severity. */
export function printChanges(changes: readonly Change[], terminal: Terminal): void {
  for (const severity of SEVERITIES) {
    for (const change of changes.filter((each) => each.severity === severity)) {
      terminal.print(`${PAINTS[severity](terminal.out, severity.padEnd(WIDTH))}  ${describe(change)}`);
    }
  }
  const counts = countBySeverity(changes);
  terminal.print(`${counts.breaking} breaking, ${counts.review} to review, ${counts.compatible} compatible`);
}

function describe({ kind, name, path, reason }: Change): string {
  const subject = [kind, oneLine(escapeHidden(name), NAME_CHARS_MAX), oneLine(path, TEXT_CHARS_MAX)].filter(
    (part) => part !== "",
  );
  return `${subject.join(" ")}: ${oneLine(reason, TEXT_CHARS_MAX)}`;
}

/** Returns the number of changes of each severity. */
export function countBySeverity(changes: readonly Change[]): Readonly<Record<Severity, number>> {
  const count = (severity: Severity) => changes.filter((each) => each.severity === severity).length;
  return { breaking: count("breaking"), review: count("review"), compatible: count("compatible") };
}
