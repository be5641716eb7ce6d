// @module-tag long
/**
 * For every handler, every way to answer it and every set of interruptions, the result and the effects are those of an
 * uninterrupted run with the same answers. For long runs use `npm run long -- replay`.
 */
import * as fc from "fast-check";
import { afterEach, describe, test } from "vitest";
import { closePeers } from "../features/peer.ts";
import { askedOverConnection, type RunCase, roundsOverConnection, roundsOverHttp } from "./replay-places.ts";
import { boundsOf, cases, failedOnce, holds } from "./replay-property.ts";

const BOUNDS = boundsOf(100, 500);

afterEach(closePeers);

describe.each<[string, RunCase]>([
  ["in rounds, over a connection", roundsOverConnection],
  ["in rounds, over HTTP: each round is its own request, the state is sealed", roundsOverHttp()],
  ["in the middle of one request, over a legacy connection, with answers in any order", askedOverConnection],
])("a handler that asks %s", (_, run) => {
  test.each(failedOnce)("has results of an uninterrupted run in case $id", run);
  test("has the results of an uninterrupted run", () => holds(fc.asyncProperty(cases, run), BOUNDS), BOUNDS.timeoutMs);
});
