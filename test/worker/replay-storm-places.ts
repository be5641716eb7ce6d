/** Random handlers in sessions and as tasks, with frequent losses. */
import assert from "node:assert/strict";
import { Person, runStraight, textOf } from "../properties/replay-person.ts";
import type { OpenPlace } from "../properties/replay-runs.ts";
import type { NearOutcome } from "./fixtures/replay-storm.ts";
import { Attempt, judgeAttempt, Storm } from "./replay-storm.ts";
import { runAttempt, type StormPlace, type Surroundings, scriptOf } from "./replay-storm-clients.ts";
import { send } from "./replay-storm-http.ts";

/** Clients in Node, over HTTP. The process is lost as well as objects. */
export function openStorm(place: StormPlace): OpenPlace {
  return async (seed) => {
    const storm = await Storm.start(seed);
    const around: Surroundings = {
      send: (path, headers, message) => send(storm.url(path), headers, message),
      insist: (work) => storm.insist(work),
      lossesOf: (attempt) => storm.lossesOf(attempt),
    };
    return {
      run: async (each, name) => {
        for (let time = 0; ; time += 1) {
          const attempt = storm.begin(`${name}.${time}`);
          try {
            const result = await runAttempt(place, around, each, attempt.id);
            if (!result) continue;
            const straight = await runStraight(scriptOf(place, each), new Person(each.personSeed));
            judgeAttempt(textOf(result), straight, attempt);
            return;
          } finally {
            storm.forget(attempt);
          }
        }
      },
      close: () => storm.stop(),
      interrupted: () => storm.interrupted(),
    };
  };
}

/** Clients within the Worker. Objects are lost, at the same points. */
export function openNear(place: StormPlace): OpenPlace {
  return async (seed) => {
    const storm = await Storm.start(seed, { isKilled: false });
    const losses = new Map<string, readonly string[]>();
    return {
      run: async (each, name) => {
        const reply = await send(storm.url(`/near/${place}`), { "content-type": "application/json" }, { each, name });
        const text = await reply.text();
        assert.equal(reply.status, 200, text);
        const outcome = JSON.parse(text) as NearOutcome;
        for (const [attempt, points] of outcome.losses) losses.set(attempt, points);
        const attempt = new Attempt(name);
        attempt.heard.push(...outcome.heard);
        const straight = await runStraight(scriptOf(place, each), new Person(each.personSeed));
        judgeAttempt(textOf(outcome.result), straight, attempt);
      },
      close: () => storm.stop(),
      interrupted: () => ({ killed: [], lost: [...losses.keys()], points: [...losses.values()].flat() }),
    };
  };
}
