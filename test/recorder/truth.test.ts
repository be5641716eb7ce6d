// @module-tag long
/** The counts of the recorder equal the billed usage, which is counted inside the objects, for every usage pattern. */
import { expect, test } from "vitest";
import type { Billed } from "../../scripts/cost/counted-worker.ts";
import { countShapes, SHAPES } from "../../scripts/cost/shapes.ts";
import { OURS, readServers } from "../../scripts/cost/write.ts";
import type { Counts } from "../../src/recorder/entry.ts";
import { newKeys } from "../../src/testing/index.ts";
import { until } from "../../src/testing/until.ts";
import { postForm, signIn } from "../worker/authorization.ts";
import { ModernClient } from "../worker/client.ts";
import { findSecrets } from "./planted-secrets.ts";
import { startRecorded } from "./recorded-worker.ts";

/** The time after which every session has expired and the alarm that deletes its rows has run. */
const EXPIRED_MS = 30 * 24 * 60 * 60_000;

type Compared = Pick<Billed, "requests" | "messages" | "alarms" | "rowsRead" | "rowsWritten">;

const NONE: Compared = { requests: 0, messages: 0, alarms: 0, rowsRead: 0, rowsWritten: 0 };

function sum(all: Iterable<Compared>): Compared {
  const total: Record<keyof Compared, number> = { ...NONE };
  for (const each of all) for (const key of Object.keys(NONE) as (keyof Compared)[]) total[key] += each[key];
  return total;
}

function toCompared({ objectRequests, messages, alarmsRun, rowsRead, rowsWritten }: Counts): Compared {
  return { requests: objectRequests, messages, alarms: alarmsRun, rowsRead, rowsWritten };
}

test("rows, object requests, messages and alarms equal the counts inside the objects, for every usage pattern", {
  timeout: 300_000,
}, async () => {
  const bindings = { MCP_KEYS: newKeys() };
  const objects = { MCP: "McpObject" };
  await using recorded = await startRecorded({ entry: "scripts/cost/worker.ts", objects, bindings });
  const { worker, recorder } = recorded;
  // Entries of the harness are removed when they end, so the last state of each is stored here.
  const recordedCounts = new Map<string, Compared>();
  recorder.onChange((entry) => recordedCounts.set(entry.id, toCompared(entry.counts)));
  let counted = NONE;
  const compared: { readonly shape: string; readonly counted: Compared; readonly recorded: Compared }[] = [];
  const take = async () => {
    const billed = (await (await fetch(worker.url("/billed"))).json()) as Billed;
    counted = sum([counted, billed]);
    return billed;
  };
  const counts = await countShapes({
    url: recorded.url("/mcp"),
    take,
    async expire() {
      const shape = SHAPES[compared.length]?.what ?? "";
      const total = () => sum(recordedCounts.values());
      // Tail events arrive slightly later.
      await until("the report", () => JSON.stringify(total()) === JSON.stringify(counted), 5_000).catch(
        () => undefined,
      );
      compared.push({ shape, counted, recorded: total() });
      await worker.advance(EXPIRED_MS);
    },
  });
  expect(compared.map(({ shape, recorded: found }) => [shape, found])).toEqual(
    compared.map(({ shape, counted: expected }) => [shape, expected]),
  );
  expect(compared.map(({ shape }) => shape)).toEqual(SHAPES.map(({ what }) => what));
  // The recorder does not change the usage: docs/cost.md was measured without a recorder.
  const [unrecorded] = readServers(OURS);
  for (const shape of SHAPES.map(({ what }) => what).filter((what) => !what.includes("1,000"))) {
    const { workerRequests, requests, messages, alarms, rowsWritten } = unrecorded?.counts[shape] ?? {};
    expect(counts[shape], shape).toMatchObject({ workerRequests, requests, messages, alarms, rowsWritten });
  }
  // Of these calls, only the call with 1,000 notifications has a finding.
  const findings = [...recorder.entries()].flatMap((entry) => entry.findings.map(({ what }) => what));
  expect(findings).toEqual(["1000 progress notifications in one call"]);
  const { rowsWritten, alarms } = compared.at(-1)?.counted ?? NONE;
  expect([rowsWritten > 0, alarms > 0]).toEqual([true, true]);
});

test("the counts are equal for signing in, refreshing, calling with a token, and revoking", async () => {
  const bindings = { MCP_KEYS: newKeys() };
  const objects = { MCP: "McpObject" };
  await using recorded = await startRecorded({ entry: "scripts/cost/sign-in-worker.ts", objects, bindings });
  const { worker, recorder } = recorded;
  const client = { client_id: "known", redirect_uri: "https://known.example/callback" };
  const origin = new URL(recorded.url("/")).origin;
  const { refresh_token } = await signIn(origin, client);
  const refresh = { grant_type: "refresh_token", refresh_token, client_id: "known" };
  const { body } = await postForm(`${origin}/token`, refresh);
  const headers = { authorization: `Bearer ${String(body.access_token)}` };
  await (await new ModernClient(`${origin}/mcp`).call("who", {}, { headers })).text();
  await postForm(`${origin}/revoke`, { token: String(body.refresh_token), client_id: "known" });
  let counted = NONE;
  const total = () => sum([...recorder.entries()].map(({ counts }) => toCompared(counts)));
  await until("the report", async () => {
    counted = sum([counted, (await (await fetch(worker.url("/billed"))).json()) as Billed]);
    return JSON.stringify(total()) === JSON.stringify(counted);
  }).catch(() => undefined);
  expect(total()).toEqual(counted);
  expect(counted.rowsWritten).toBeGreaterThan(3);
  const shown = JSON.stringify([...recorder.entries()]);
  expect(findSecrets(shown, [refresh_token, String(body.access_token), String(body.refresh_token)])).toEqual([]);
});
