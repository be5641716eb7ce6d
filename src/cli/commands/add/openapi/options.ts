/**
 * The options of `add openapi`.
 *
 * @module
 */
import { usageError } from "../../../exit.ts";
import { oneLine } from "../../../terminal/terminal.ts";

/** The options of `add openapi`. */
export interface OpenapiOptions {
  /** Patterns of the operations to take. */
  readonly include?: readonly string[];
  /** Patterns of operations to take in addition to those that were chosen before. */
  readonly also?: readonly string[];
  /** Patterns of the operations to leave out. */
  readonly exclude?: readonly string[];
  /** The tags whose operations are taken. */
  readonly tag?: readonly string[];
  readonly all?: boolean;
  /** Whether the operations are only listed. */
  readonly list?: boolean;
  /** The name of the folder. */
  readonly name?: string;
  /** The base URL of the API. */
  readonly server?: string;
  /** Whose access to the API is used. */
  readonly access?: "service" | "user";
  /** Whether the files to which the description refers are read. */
  readonly followRefs?: boolean;
  /** Whether more tools than hosts accept are allowed. */
  readonly force?: boolean;
  readonly print?: boolean;
  readonly yes?: boolean;
}

/**
 * Returns the description that the user has named.
 *
 * @throws {CliError} if there is none, or an option has the next option as its value.
 */
export function checkGiven(given: string | undefined, options: OpenapiOptions): string {
  const { tag = [], include = [], also = [], exclude = [], name, server } = options;
  const values: [option: string, values: readonly (string | undefined)[]][] = [
    ["--tag", tag],
    ["--include", include],
    ["--also", also],
    ["--exclude", exclude],
    ["--name", [name]],
    ["--server", [server]],
  ];
  for (const [option, all] of values) {
    const other = all.find((each) => each?.startsWith("-"));
    if (other !== undefined)
      throw usageError(`${option} has no value: ${oneLine(other, 60)} is an option. Name a value after ${option}.`);
  }
  if (given !== undefined) return given;
  const lists = [tag, include, also, exclude].map((each) => each.at(-1));
  const swallowed = lists.find((each) => each !== undefined && /^https?:|\.(?:json|ya?ml)$/i.test(each));
  if (swallowed === undefined) throw usageError("Name the description: mcp-edge add openapi <file or URL>");
  const [option] = values.find(([, all]) => all.includes(swallowed)) ?? [];
  throw usageError(
    `${oneLine(swallowed, 100)} was read as a value of ${option}. Write the description first: mcp-edge add openapi <file or URL> ${option} ...`,
  );
}
