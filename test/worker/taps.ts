/** Taps between the tests of a file and its Worker. */
import { afterEach, beforeEach } from "vitest";
import { type HttpTap, startHttpTap } from "../oracle/http-tap.ts";
import { WireOracle } from "../oracle/oracle.ts";

/**
 * Gives each test an oracle for the messages that it exchanges. After the test, the taps are closed, and the test fails
 * if the oracle found a violation. Call it at the top of a test file.
 *
 * @returns A function that opens a tap in front of a URL and returns the URL of the tap.
 */
export function useTaps(): (url: string) => Promise<string> {
  let oracle: WireOracle;
  let taps: HttpTap[] = [];
  beforeEach(() => {
    oracle = new WireOracle();
  });
  afterEach(async () => {
    await Promise.all(taps.map((tap) => tap.close()));
    taps = [];
    if (oracle.messages > 0) oracle.expectClean();
  });
  return async (url) => {
    const tap = await startHttpTap(url, { oracle });
    taps.push(tap);
    return tap.url;
  };
}
