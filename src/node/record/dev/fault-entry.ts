/**
 * The main module that `mcp-edge dev --faults` runs instead of the Worker's own. It has the same exports, and adds a route that
 * injects faults.
 *
 * @module
 */
import { randomBytes } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { isObject, type JsonObject } from "../../../core/protocol/jsonrpc.ts";
import { removeStale, type UserConfig } from "./config-copy.ts";
import { moduleBeside } from "./module-beside.ts";

export class FaultEntry {
  /** The secret that a command must contain. */
  readonly secret: string = randomBytes(24).toString("base64url");
  readonly #folder: string;
  readonly #environment: string | undefined;
  #path: string | undefined;

  constructor(user: UserConfig, environment: string | undefined) {
    this.#folder = dirname(user.path);
    this.#environment = environment;
  }

  /** Writes the module beside the Worker's own. Returns its path relative to the configuration; undefined without `main`. */
  write(config: JsonObject): string | undefined {
    const own = this.#environment !== undefined && isObject(config.env) ? config.env[this.#environment] : undefined;
    const main = isObject(own) && typeof own.main === "string" ? own.main : config.main;
    if (typeof main !== "string") return undefined;
    const file = resolve(this.#folder, main);
    const path = join(dirname(file), `.mcp-edge.${process.pid}.entry.ts`);
    if (this.#path === undefined) removeStale(dirname(file));
    else if (this.#path !== path) this.remove();
    this.#path = path;
    const module = JSON.stringify(`./${basename(file)}`);
    const text = [
      `import * as worker from ${module};`,
      `import { withFaults } from ${JSON.stringify(moduleBeside("../../../testing/fault-route"))};`,
      `export * from ${module};`,
      `export default withFaults(worker, ${JSON.stringify(this.secret)});\n`,
    ].join("\n");
    writeFileSync(path, text, { mode: 0o600 });
    return relative(this.#folder, path);
  }

  remove(): void {
    if (this.#path !== undefined) rmSync(this.#path, { force: true });
  }
}
