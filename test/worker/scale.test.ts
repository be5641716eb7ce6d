// @module-tag long
import { expect, test } from "vitest";
import { scaleOf } from "../../scripts/scale/sessions.ts";
import { startHttpTap } from "../oracle/http-tap.ts";
import { WireOracle } from "../oracle/oracle.ts";

test("200 sessions on one workerd all respond, and each of 20 GET streams gets a notification", async () => {
  const oracle = new WireOracle();
  const closing: (() => Promise<void>)[] = [];
  const by = async (url: string) => {
    const tap = await startHttpTap(url, { oracle });
    closing.push(tap.close);
    return tap.url;
  };
  const { pings, heard } = await scaleOf({ sessions: 200, streams: 20, settleMs: 0, by });
  for (const close of closing) await close();
  expect([pings, heard]).toEqual([200, 20]);
  oracle.expectClean();
});
