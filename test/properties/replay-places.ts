/** The places in this process in which handlers that ask can run. Each runs one case and judges it. */

import { replayRounds } from "../../src/core/run/replay.ts";
import { createHttpHandler } from "../../src/http/handler.ts";
import { type Json, MODERN_VERSION, openPeer, resultOf } from "../features/peer.ts";
import { newKeys } from "../harness/workerd.ts";
import { CAPABILITIES_KEY, isMembers, type Members, meta, requestOf, standardHeaders } from "../http/messages.ts";
import { WireOracle } from "../oracle/oracle.ts";
import {
  type Case,
  driveRounds,
  Effects,
  judgeRounds,
  judgeUninterrupted,
  LIMITS,
  type Send,
  serverOf,
} from "./replay-drive.ts";
import { ABLE, Choices, Person, runStraight, textOf } from "./replay-person.ts";

/** Runs one case. Rejects with what is wrong. */
export type RunCase = (each: Case) => Promise<void>;

/** How long a peer waits for an answer, in milliseconds: longer than the engine waits for a late branch. */
const ANSWER_MS = 60_000;

/** Each round is a separate request; the state is sealed in between. */
export function roundsOverHttp(): RunCase {
  const env = { MCP_KEYS: newKeys() };
  return async (each) => {
    const effects = new Effects();
    const oracle = new WireOracle();
    const onError = (error: unknown) => {
      throw error;
    };
    const handle = createHttpHandler(serverOf(each.script, effects), { onError, limits: LIMITS, replay: replayRounds });
    const send: Send = async (more) => {
      const params = { name: "run", ...more, _meta: meta({ [CAPABILITIES_KEY]: ABLE }) };
      const message = requestOf("modern", "tools/call", params, effects.request);
      oracle.observe("client", message);
      const headers = {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...(standardHeaders(message) as Record<string, string>),
      };
      const body = JSON.stringify(message);
      const response = await handle(new Request("http://127.0.0.1/mcp", { method: "POST", headers, body }), env);
      const text = await response.text();
      const answer = JSON.parse(text.startsWith("{") ? text : (/data: (.*)\n\n$/.exec(text)?.[1] ?? "")) as Members;
      oracle.observe("server", answer);
      if (!isMembers(answer.result)) throw new Error(text);
      return answer.result;
    };
    const driven = await driveRounds(send, each, effects);
    oracle.expectClean();
    await judgeRounds(each, driven, effects);
  };
}

/** Each round is a request on one in-memory connection. */
export const roundsOverConnection: RunCase = async (each) => {
  const effects = new Effects();
  const server = serverOf(each.script, effects);
  const peer = await openPeer(server, MODERN_VERSION, { capabilities: ABLE, limits: LIMITS });
  const how = { timeoutMs: ANSWER_MS };
  const send: Send = async (more) => resultOf(await peer.request("tools/call", { name: "run", ...more }, {}, how));
  const driven = await driveRounds(send, each, effects);
  await peer.close();
  peer.oracle.expectClean();
  await judgeRounds(each, driven, effects);
};

/** A legacy client is asked in the middle of one request, and answers in any order. */
export const askedOverConnection: RunCase = async ({ script, personSeed, choices }) => {
  const effects = new Effects();
  const [person, decide] = [new Person(personSeed), new Choices(choices)];
  const peer = await openPeer(serverOf(script, effects), "2025-11-25", {
    capabilities: ABLE,
    limits: LIMITS,
    onRequest: async (question): Promise<Json> => {
      const answer = person.answer(question);
      await new Promise((resolve) => setTimeout(resolve, decide.next(4)));
      return answer;
    },
  });
  const result = resultOf(await peer.request("tools/call", { name: "run" }, {}, { timeoutMs: ANSWER_MS }));
  await peer.close();
  peer.oracle.expectClean();
  judgeUninterrupted(textOf(result), await runStraight(script, new Person(personSeed)), effects);
};
