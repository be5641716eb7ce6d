/** Tables of planted faults, and what the doctor must find. */
import { expect } from "vitest";
import { doctor, type Fault, idsOf, plant, type Received, type Reply } from "./planted.ts";

/** Whether a request has one of these methods. */
export const isMethod = ({ message }: Received, ...names: readonly string[]) => names.includes(String(message.method));
/** A response with a JSON-RPC error. */
export const error = (status: number, message: string): Reply => ({
  status,
  body: { jsonrpc: "2.0", id: null, error: { code: -32000, message } },
});
/** A fault, and what is found. */
export interface Row {
  readonly name: string;
  readonly fault: Fault;
  readonly args?: readonly string[];
  /** The ids and severities of all findings. */
  readonly found: readonly string[];
  readonly by: string;
  /** A part of what to change. */
  readonly fix: RegExp;
}

/** Plants a fault, and expects that exactly its findings are reported. */
export async function expectFound(
  { fault, args = [], found, by, fix }: Row,
  more: readonly string[] = [],
  url?: string,
) {
  await using server = await plant(fault);
  const report = await doctor(url ?? server.url, ...args, ...more);
  expect(idsOf(report).sort()).toEqual([...found].sort());
  const main = report.findings.find(({ id, severity }) => `${id} ${severity}` === found[0]);
  expect(main).toMatchObject({ fault: by, fix: expect.stringMatching(fix) });
  const isApart = report.findings.some(({ severity, hosts }) => severity === "breaks" && hosts.length === 0);
  expect(report.code).toBe(isApart || report.hosts.some(({ outcome }) => outcome === "breaks") ? 3 : 0);
}
