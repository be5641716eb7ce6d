/**
 * The command line: `mcp-edge dev` runs the server of a project, `mcp-edge keys` creates a sealing key, and
 * `mcp-edge check-config` lists what is missing in a configuration.
 *
 * @module
 */
import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { checkConfig } from "./check-config.ts";
import { dev } from "./dev.ts";

const USAGE = `Usage:
  mcp-edge dev [--path /mcp]  run wrangler dev and print the endpoint's URL; takes the options of wrangler dev
  mcp-edge keys               print a new sealing key
  mcp-edge keys --file FILE   add a new key to FILE as MCP_KEYS, unless it has one
  mcp-edge check-config       print what the wrangler configuration of this folder lacks
                              --config FILE, --env NAME: use another file or environment`;

const NAME = "MCP_KEYS";

interface Parsed {
  values: {
    file?: string | undefined;
    config?: string | undefined;
    env?: string | undefined;
    help?: boolean | undefined;
  };
  positionals: string[];
}

async function main(args: readonly string[]): Promise<number> {
  let parsed: Parsed;
  try {
    const text = { type: "string" } as const;
    const options = { file: text, config: text, env: text, help: { type: "boolean" } } as const;
    parsed = parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n${USAGE}`);
    return 2;
  }
  const { values, positionals } = parsed;
  if (values.help) {
    console.log(USAGE);
    return 0;
  }
  if (positionals.join(" ") === "check-config") return checkConfig(process.cwd(), values);
  if (positionals.join(" ") !== "keys") {
    console.error(USAGE);
    return 2;
  }
  const key = randomBytes(32).toString("base64url");
  if (values.file === undefined) console.log(key);
  else return addKey(values.file, key);
  return 0;
}

/** Adds a key to a file. An existing key stays, since a new one would end every session that the old one sealed. */
function addKey(file: string, key: string): number {
  try {
    const text = existsSync(file) ? readFileSync(file, "utf8") : "";
    if (!new RegExp(`^\\s*${NAME}\\s*=`, "m").test(text)) {
      const separator = text === "" || text.endsWith("\n") ? "" : "\n";
      writeFileSync(file, `${text}${separator}${NAME}="${key}"\n`, { mode: 0o600 });
      console.error(`mcp-edge: a new sealing key is in ${file}. Keep it out of version control.`);
    }
    // Only the owner may read the secret, even if the file existed before.
    chmodSync(file, 0o600);
    return 0;
  } catch (error) {
    console.error(`mcp-edge: ${file} cannot be written: ${error instanceof Error ? error.message : error}`);
    return 1;
  }
}

const [command, ...rest] = process.argv.slice(2);
// `dev` passes every option except --path to wrangler, including --help.
process.exitCode = command === "dev" ? await dev(rest) : await main(process.argv.slice(2));
