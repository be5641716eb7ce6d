/** The stored counts, and the document that is written from them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../tools.ts";
import type { IdleCounts } from "./idle.ts";
import { pageOf, type Server } from "./page.ts";
import { SHAPES } from "./shapes.ts";
import type { SignInCounts } from "./sign-in.ts";

/** The generated document. */
export const PAGE: string = join(ROOT, "docs/cost.md");
/** The counts of mcp-edge, those of its authorization server and of idle clients, and those of the other servers. */
export const OURS: string = join(import.meta.dirname, "ours.json");
export const SIGN_IN: string = join(import.meta.dirname, "sign-in.json");
export const IDLE: string = join(import.meta.dirname, "idle.json");
export const PEERS: string = join(import.meta.dirname, "peers.json");

export function readServers(path: string): Server[] {
  return JSON.parse(readFileSync(path, "utf8")) as Server[];
}

/** Returns the stored counts of an authorization server. */
export function readSignIn(): SignInCounts {
  return JSON.parse(readFileSync(SIGN_IN, "utf8")) as SignInCounts;
}

/** Returns the stored measurements of idle clients. */
export function readIdle(): IdleCounts {
  return JSON.parse(readFileSync(IDLE, "utf8")) as IdleCounts;
}

/** Returns the document of the stored counts. */
export function pageOfStored(): string {
  return pageOf(
    [...readServers(OURS), ...readServers(PEERS)],
    SHAPES.map(({ what }) => what),
    readSignIn(),
    readIdle(),
  );
}
