import { randomBytes } from "node:crypto";
import { chmodSync } from "node:fs";
import type { Command } from "commander";
import type { CliCommand } from "../command.ts";
import { readBytes, writeProjectFile } from "../files/files.ts";

const NAME = "MCP_KEYS";

/** `mcp-edge keys`: creates a sealing key. */
export const keys: CliCommand = {
  name: "keys",
  define: (command: Command) =>
    command
      .description("print a new sealing key")
      .option("--file <file>", `add a new key to the file as ${NAME}, unless it already has one`)
      .action(({ file }: { readonly file?: string }) => {
        const key = randomBytes(32).toString("base64url");
        if (file === undefined) console.log(key);
        else process.exitCode = addKey(file, key);
      }),
};

/** Adds a key to a file. An existing key is kept, because a new one would end every session sealed with the old one. */
function addKey(file: string, key: string): number {
  try {
    const text = readBytes(file)?.toString() ?? "";
    if (!new RegExp(`^\\s*${NAME}\\s*=`, "m").test(text)) {
      const separator = text === "" || text.endsWith("\n") ? "" : "\n";
      writeProjectFile(file, `${text}${separator}${NAME}="${key}"\n`, { mode: 0o600 });
      console.error(`mcp-edge: a new sealing key was added to ${file}. Do not put this file under version control.`);
    }
    // Only the owner may read the secret, even if the file existed before.
    chmodSync(file, 0o600);
    return 0;
  } catch (error) {
    console.error(`mcp-edge: ${file} cannot be written: ${error instanceof Error ? error.message : error}`);
    return 1;
  }
}
