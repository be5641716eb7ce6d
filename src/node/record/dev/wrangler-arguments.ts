/**
 * Parses the arguments of `wrangler dev` that the recorder uses or replaces.
 *
 * @module
 */

export interface WranglerArguments {
  /** The configuration files. The first file belongs to the Worker that clients reach. */
  readonly configs: readonly string[];
  readonly environment: string | undefined;
  readonly ip: string | undefined;
  readonly port: number | undefined;
  readonly isHttps: boolean;
  readonly isRemote: boolean;
  readonly persistTo: string | undefined;
  /** Whether a script replaces the `main` of the configuration. */
  readonly hasScript: boolean;
  /** All arguments apart from `--config`, `--ip` and `--port`. */
  readonly rest: readonly string[];
}

/** The options that are read, each with all of its names. The first name is the key. */
const VALUES: readonly (readonly string[])[] = [
  ["config", "c"],
  ["env", "e"],
  ["ip"],
  ["port"],
  ["local-protocol"],
  ["persist-to"],
];

/** Other options of `wrangler dev` that take a value. Without this list, the value would be mistaken for a script. */
const OTHER_VALUES: ReadonlySet<string> = new Set(
  (
    "cwd env-file name compatibility-date compatibility-flags compatibility-flag latest assets inspector-port inspector-ip routes route " +
    "host local-upstream upstream-protocol https-key-path https-cert-path site site-include site-exclude define alias var tsconfig " +
    "log-level jsx-factory jsx-fragment"
  ).split(" "),
);

/** Reads the arguments of `wrangler dev`. */
export function readWranglerArguments(args: readonly string[]): WranglerArguments {
  const values: Record<string, string[]> = {};
  const rest: string[] = [];
  let isRemote = false;
  let hasScript = false;
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] ?? "";
    const [, name = "", inline] = /^--?([\w-]+)(?:=([\s\S]*))?$/.exec(arg) ?? [];
    const key = VALUES.find((names) => names.includes(name))?.[0];
    if (key !== undefined) {
      const value = inline ?? args[++at] ?? "";
      const found = values[key] ?? [];
      found.push(value);
      values[key] = found;
      if (!REPLACED.has(key)) rest.push(`--${key}=${value}`);
      continue;
    }
    rest.push(arg);
    if (name === "remote" || name === "r") isRemote = inline !== "false";
    if (OTHER_VALUES.has(name) && inline === undefined) rest.push(...args.slice(at + 1, ++at + 1));
    else if (!arg.startsWith("-")) hasScript = true;
  }
  const last = (key: string) => values[key]?.at(-1);
  const port = Number(last("port"));
  return {
    configs: values.config ?? [],
    environment: last("env"),
    ip: last("ip"),
    port: Number.isInteger(port) && port >= 0 && port <= 65_535 && last("port") !== undefined ? port : undefined,
    isHttps: last("local-protocol") === "https",
    isRemote,
    persistTo: last("persist-to"),
    hasScript,
    rest,
  };
}

/** The options that the recorder replaces with its own. */
const REPLACED: ReadonlySet<string> = new Set(["config", "ip", "port"]);
