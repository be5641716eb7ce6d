/** Edge cases of replayed handlers: unusual keys, concurrent branches, running steps, and mixed ways of asking. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, describe, expect, test } from "vitest";
import * as z from "zod";
import {
  elicitQuestion,
  type HandlerContext,
  type InputRequired,
  inputRequired,
  type JSONRPCRequest,
  McpServer,
  QuestionError,
  UrlElicitationRequiredError,
} from "../../src/core/index.ts";
import {
  closePeers,
  errorOf,
  type Json,
  MODERN_VERSION,
  openPeer,
  type Peer,
  type PeerOptions,
  resultOf,
} from "./peer.ts";

afterEach(closePeers);

type Handler = (ctx: HandlerContext) => Promise<string | InputRequired>;
type Answer = (key: string, message: string) => unknown;

const FORM = z.object({ value: z.string() });
const RAW = { type: "object", properties: { value: { type: "string" } }, required: ["value"] } as const;
const accept = (value: string) => ({ action: "accept", content: { value } });
const echo: Answer = (_, message) => accept(message);
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const say = ({ method, params }: Pick<JSONRPCRequest, "method" | "params">) => String(params?.message ?? method);

/** Asks a question and returns the answered value. */
const value = async (ctx: HandlerContext, message: string, key = message) => {
  const answered = await ctx.elicit(message, FORM, { key });
  return answered.action === "accept" ? answered.content.value : answered.action;
};

const open = (run: Handler, version: string = MODERN_VERSION, options: PeerOptions = {}) => {
  const server = new McpServer({ name: "edges", version: "1.0.0" }).tool("ask", {}, async (_, ctx) => run(ctx));
  return openPeer(server, version, { capabilities: { elicitation: { form: {}, url: {} }, sampling: {} }, ...options });
};

const call = async (peer: Peer, more: Json = {}) =>
  resultOf(await peer.request("tools/call", { name: "ask", ...more }));
const textOf = (result: Json) => (result.content as { text: string }[])[0]?.text;
const askedIn = (result: Json) => Object.keys((result.inputRequests ?? {}) as Json);

/** Answers the questions of one round; `undefined` leaves a question open. */
function reply(result: Json, answer: Answer = echo): Json {
  const asked = Object.entries(result.inputRequests as Record<string, JSONRPCRequest>);
  const answers = asked.map(([key, question]) => [key, answer(key, say(question))] as const);
  return {
    inputResponses: Object.fromEntries(answers.filter(([, given]) => given !== undefined)),
    ...(result.requestState === undefined ? {} : { requestState: result.requestState }),
  };
}

/** Runs a call to its end. Returns its text and the keys of each round. */
async function finish(peer: Peer, answer: Answer = echo) {
  const rounds: string[][] = [];
  for (let result = await call(peer); ; result = await call(peer, reply(result, answer))) {
    if (result.resultType !== "input_required") return { result, text: textOf(result), rounds };
    rounds.push(askedIn(result));
    if (rounds.length > 20) throw new Error("it asks forever");
  }
}

/** The same in any version: legacy clients answer by message. */
function finishIn(version: string, run: Handler, answer: Answer = echo, options: PeerOptions = {}) {
  const onRequest = (question: JSONRPCRequest) => answer("", say(question)) as Json;
  return open(run, version, { onRequest, ...options }).then((peer) => finish(peer, answer));
}

describe.each(["2025-11-25", MODERN_VERSION])("a handler that asks in the middle, in %s", (version) => {
  test("a step that returns nothing runs once", async () => {
    let done = 0;
    const { text } = await finishIn(version, async (ctx) => {
      const nothing = await ctx.step("notify", () => {
        done += 1;
      });
      await value(ctx, "sure?");
      return `${nothing} ${done}`;
    });
    expect(text).toBe("undefined 1");
  });

  test("a handler that modifies a result or an answer changes only its own copy", async () => {
    const { text } = await finishIn(version, async (ctx) => {
      const list = await ctx.step("list", () => ["a"]);
      const answered = await ctx.elicit("more?", RAW, { key: "more" });
      if (answered.action === "accept") list.push(String(answered.content.value));
      if (answered.action === "accept") answered.content.value = "changed";
      await value(ctx, "one");
      await value(ctx, "two");
      return list.join();
    });
    expect(text).toBe("a,more?");
  });

  test("a key that is used again later names another question", async () => {
    let asked = 0;
    const { text } = await finishIn(
      version,
      async (ctx) => {
        const values = [];
        for (let index = 0; index < 3; index += 1) values.push(await value(ctx, "next?", "k"));
        return values.join();
      },
      () => {
        asked += 1;
        return accept(String(asked));
      },
    );
    expect([text, asked]).toEqual(["1,2,3", 3]);
  });

  test("a key that is used twice at the same time is refused, because the order could change", async () => {
    const peer = await open(async (ctx) => {
      await Promise.all([value(ctx, "a", "k"), value(ctx, "b", "k")]);
      return "done";
    }, version);
    expect(await call(peer)).toMatchObject({ isError: true });
    expect(String(peer.reports.at(-1))).toContain('"k" names two open questions');
  });

  test.each(["__proto__", "constructor", "toString", "", "step a", "step a.1", "1", "k~1", "x".repeat(5_000)])(
    "a key can be any string, even %j",
    async (key) => {
      const { text } = await finishIn(version, async (ctx) => {
        const first = await ctx.step("a", () => "step");
        return `${first} ${await value(ctx, "odd", key)} ${await value(ctx, "even", "even")}`;
      });
      expect(text).toBe("step odd even");
    },
  );

  test("steps are told apart whatever their names", async () => {
    const names = ["a", "a", "a.2", "a.2.1", "__proto__", "", "a"];
    const keys = new Set<string>();
    const { text } = await finishIn(version, async (ctx) => {
      const had = [];
      for (const [index, name] of names.entries()) {
        had.push(
          await ctx.step(name, ({ key }) => {
            keys.add(key);
            return index;
          }),
        );
      }
      await value(ctx, "sure?");
      return had.join();
    });
    expect([text, keys.size]).toEqual(["0,1,2,3,4,5,6", 7]);
  });

  test("a step that asks gets an error that explains it", async () => {
    const peer = await open(async (ctx) => ctx.step("wrong", () => value(ctx, "in a step?")), version);
    expect(await call(peer)).toMatchObject({ isError: true });
    expect(String(peer.reports.at(-1))).toContain('Step "wrong" asks elicitation/create');
  });

  test("a call can sample at most limits.samplesPerCallMax times", async () => {
    const sampled = { role: "assistant", model: "m", content: { type: "text", text: "!" } };
    const params = { messages: [{ role: "user", content: { type: "text", text: "?" } }], maxTokens: 5 } as const;
    const run: Handler = async (ctx) => {
      for (let count = 0; ; count += 1) {
        try {
          await ctx.sample(params);
        } catch (error) {
          return `${count} ${error instanceof QuestionError && error.reason}`;
        }
      }
    };
    const peer = await open(run, version, { limits: { samplesPerCallMax: 3 }, onRequest: () => sampled });
    expect((await finish(peer, () => sampled)).text).toBe("3 limit");
  });

  test("with returned questions in between, each run has the answers of all earlier runs", async () => {
    let charged = 0;
    const run: Handler = async (ctx) => {
      const name = await value(ctx, "name");
      await ctx.step("charge", () => {
        charged += 1;
      });
      if (ctx.requestState !== "asked") return inputRequired({ size: elicitQuestion("size", RAW) }, "asked");
      const more = [await value(ctx, "one"), await value(ctx, "two")];
      return JSON.stringify([name, ctx.inputResponses, ctx.requestState, ...more]);
    };
    const { text } = await finishIn(version, run);
    expect(JSON.parse(text ?? "")).toEqual(["name", { size: accept("size") }, "asked", "one", "two"]);
    expect(charged).toBe(1);
  });

  test("a step that is running when the handler asks by returning is not started again", async () => {
    const keys: string[] = [];
    const { text } = await finishIn(version, async (ctx) => {
      const slow = ctx.step("slow", async ({ key }) => {
        keys.push(key);
        await pause(20);
        return "slow";
      });
      if (ctx.inputResponses.q === undefined) return inputRequired({ q: elicitQuestion("q", RAW) });
      return slow;
    });
    expect([text, keys.length]).toEqual(["slow", 1]);
  });

  test("a handler that returns or throws while it asks determines the outcome", async () => {
    for (const end of ["return", "throw"]) {
      const peer = await open(async (ctx) => {
        value(ctx, "unheard").catch(() => undefined);
        if (end === "throw") throw new Error("gone");
        return "done";
      }, version);
      const result = await call(peer);
      expect(result.resultType ?? "complete").toBe("complete");
      expect(result.isError ?? false).toBe(end === "throw");
    }
  });

  test("work that a step started may ask after the step has ended", async () => {
    const { text } = await finishIn(version, async (ctx) => {
      const done = Promise.withResolvers<void>();
      let behind: Promise<string> | undefined;
      const first = await ctx.step("begin", () => {
        behind = done.promise.then(() => value(ctx, "later?"));
        return "begun";
      });
      done.resolve();
      // A later run does not repeat the step, and asks again.
      return `${first} ${await (behind ?? value(ctx, "later?"))}`;
    });
    expect(text).toBe("begun later?");
  });

  test("no step starts after the handler has ended", async () => {
    const did: string[] = [];
    const ends: Promise<unknown>[] = [];
    const peer = await open(async (ctx) => {
      const late = async () => {
        await pause(10);
        return ctx.step("late", () => did.push("late"));
      };
      ends.push(late().catch((error: { code?: string }) => error.code));
      return "done";
    }, version);
    expect(textOf(await call(peer))).toBe("done");
    expect([await ends[0], did]).toEqual(["context-closed", []]);
  });

  test("a step that fails while a question waits does not end the run", async () => {
    const { text } = await finishIn(version, async (ctx) => {
      const failing = ctx.step("fails", () => Promise.reject(new Error("step failed")));
      const answered = await value(ctx, "sure?");
      return failing.catch((error: Error) => `${answered} ${error.message}`);
    });
    expect(text).toBe("sure? step failed");
  });

  test("questions of later microtasks are asked in the same turn, those after a timer later; none is lost", async () => {
    const { text } = await finishIn(version, async (ctx) => {
      const later = async (turns: number, ms: number, message: string) => {
        for (let turn = 0; turn < turns; turn += 1) await undefined;
        if (ms > 0) await pause(ms);
        return value(ctx, message);
      };
      return (await Promise.all([later(0, 0, "a"), later(50, 0, "b"), later(0, 20, "c"), later(3, 5, "d")])).join();
    });
    expect(text).toBe("a,b,c,d");
  });

  test("if one of several concurrent questions fails, the other questions are cancelled", async () => {
    const { text } = await finishIn(
      version,
      async (ctx) => {
        const both = await Promise.all([value(ctx, "a"), value(ctx, "b")]).catch(
          (error: QuestionError) => error.reason,
        );
        return `${both} ${await value(ctx, "after")}`;
      },
      (_, message) => (message === "b" ? { action: "perhaps" } : accept(message)),
      { judgeClient: false },
    );
    expect(text).toBe("invalid-answer after");
  });
});

describe("in 2026-07-28", () => {
  test("concurrent branches may make different progress in each run", async () => {
    const peer = await open(async (ctx) => {
      const left = async () => {
        await ctx.step("slow", () => pause(40).then(() => "slow"));
        return [await value(ctx, "a"), await value(ctx, "c"), await value(ctx, "d")];
      };
      const right = async () => {
        await pause(20);
        return [await value(ctx, "b")];
      };
      return (await Promise.all([left(), right()])).flat().join();
    });
    const { text, rounds } = await finish(peer);
    expect(text).toBe("a,c,d,b");
    expect(rounds.flat().sort()).toEqual(["a", "b", "c", "d"]);
  });

  test("a branch may be slower in a later run: the other branches wait for the answered question", {
    tags: "long",
  }, async () => {
    let runs = 0;
    const peer = await open(async (ctx) => {
      runs += 1;
      const isFirst = runs === 1;
      const asked = Promise.withResolvers<void>();
      const slow = async () => {
        if (!isFirst) await pause(2_500);
        const answer = value(ctx, "a");
        asked.resolve();
        return answer;
      };
      const other = async () => {
        if (isFirst) await asked.promise;
        await pause(20);
        return value(ctx, "b");
      };
      return (await Promise.all([slow(), other()])).join();
    });
    const { text, rounds } = await finish(peer);
    expect([text, rounds]).toEqual(["a,b", [["a"], ["b"]]]);
  });

  test("branches that ask the same question may reach it in another order than before", async () => {
    const peer = await open(
      async (ctx) => {
        const first = async () => {
          for (let turn = 0; turn < 200; turn += 1) await undefined;
          const { length } = await ctx.listRoots();
          return `${length} ${await value(ctx, "which?")}`;
        };
        const second = async () => {
          const gate = await value(ctx, "gate?");
          // Once the gate is answered, this branch asks for roots first and takes the answer that the other one had.
          return `${gate} ${(await ctx.listRoots()).length}`;
        };
        return (await Promise.all([first(), second()])).join();
      },
      MODERN_VERSION,
      { capabilities: { elicitation: { form: {} }, roots: {} } },
    );
    let left = 1;
    const { text, rounds } = await finish(peer, (_, message) => {
      if (message === "roots/list") return { roots: [{ uri: "file:///home" }] };
      // The gate is not answered in the first round.
      if (message === "gate?" && left-- > 0) return undefined;
      return accept("this");
    });
    expect(text).toBe("1 this,this 1");
    expect(rounds.map((keys) => keys.map((key) => key.replace(/-.*?(?=\.|$)/, "")))).toEqual([
      ["gate?", "roots"],
      ["gate?", "which?"],
      ["roots.2"],
    ]);
  });

  test("a branch may take another branch's answer, which then asks again", async () => {
    let runs = 0;
    const peer = await open(
      async (ctx) => {
        runs += 1;
        const first = async () => {
          for (let turn = 0; turn < 200; turn += 1) await undefined;
          const { length } = await ctx.listRoots();
          return `${length} ${await value(ctx, "which?")}`;
        };
        const second = async () => {
          // It does not reach its question before the third run, in which it asks first.
          if (runs < 3) await new Promise(() => undefined);
          return (await ctx.listRoots()).length;
        };
        return (await Promise.all([first(), second()])).join();
      },
      MODERN_VERSION,
      { capabilities: { elicitation: { form: {} }, roots: {} } },
    );
    const { text, rounds } = await finish(peer, (_, message) =>
      message === "roots/list" ? { roots: [{ uri: "file:///home" }] } : accept("this"),
    );
    expect(text).toBe("1 this,1");
    expect(rounds.map((keys) => keys.map((key) => key.replace(/-.*?(?=\.|$)/, "")))).toEqual([
      ["roots"],
      ["which?"],
      ["roots.2"],
    ]);
  });

  test("other branches do not wait for a late one, and the handler does not count as diverged", async () => {
    let runs = 0;
    const peer = await open(async (ctx) => {
      runs += 1;
      const late = async () => {
        // In the second run it never reaches its question.
        if (runs === 2) await new Promise(() => undefined);
        return value(ctx, "late");
      };
      const other = async () => `${await value(ctx, "a")} ${await value(ctx, "b")}`;
      return (await Promise.all([late(), other()])).join();
    });
    const { text, rounds } = await finish(peer);
    expect([text, rounds]).toEqual(["late,a b", [["late", "a"], ["b"]]]);
  });

  test("a handler may ask a different question once a failed step succeeds", async () => {
    let tries = 0;
    const peer = await open(async (ctx) => {
      const charge = () =>
        ctx.step("charge", () => {
          tries += 1;
          if (tries === 1) throw new Error("no connection");
          return "charged";
        });
      const charged = await charge().catch(async () => {
        await value(ctx, "Try again?");
        return charge();
      });
      return `${charged} ${await value(ctx, "Whom to tell?")}`;
    });
    const { text, rounds } = await finish(peer);
    expect([text, rounds]).toEqual(["charged Whom to tell?", [["Try again?"], ["Whom to tell?"]]]);
  });

  test("a suspended run has no further effect through its context", async () => {
    const did: string[] = [];
    const server = new McpServer({ name: "edges", version: "1.0.0" })
      .resource("test://own", { name: "own" }, () => {
        did.push("read");
        return "own";
      })
      .tool("ask", {}, async (_, ctx) => {
        const late = async (name: string, work: () => Promise<unknown>) => {
          await pause(10);
          await work().catch(() => undefined);
          did.push(name);
        };
        void late("read after", () => ctx.readResource("test://own"));
        void late("ping", () => ctx.ping());
        void late("ask", () => ctx.elicit("late", { type: "object", properties: { nested: { type: "object" } } }));
        void late("step", () => ctx.step("late", () => did.push("work")));
        return value(ctx, "wait");
      });
    const peer = await openPeer(server, MODERN_VERSION, { capabilities: { elicitation: {} } });
    expect(askedIn(await call(peer))).toEqual(["wait"]);
    await pause(40);
    expect(did).toEqual([]);
  });

  test("suspension does not abort the signal", async () => {
    const signals: AbortSignal[] = [];
    const peer = await open(async (ctx) => {
      signals.push(ctx.signal);
      return value(ctx, "wait");
    });
    await call(peer);
    await pause(10);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  });

  test("a suspended run is garbage-collected", async () => {
    const contexts: WeakRef<HandlerContext>[] = [];
    const peer = await open(async (ctx) => {
      contexts.push(new WeakRef(ctx));
      const late = pause(5).then(() => ctx.step("late", () => 1));
      return `${await value(ctx, "wait")} ${await late}`;
    });
    await call(peer);
    await pause(20);
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    await expect
      .poll(() => {
        collect();
        return contexts[0]?.deref();
      })
      .toBeUndefined();
  });

  test("progress before a repeated question, or after a failed step, is not sent again", async () => {
    const peer = await open(async (ctx) => {
      ctx.progress(1);
      await ctx.step("fails", () => Promise.reject(new Error())).catch(() => undefined);
      ctx.progress(2);
      await Promise.all([value(ctx, "a"), value(ctx, "b")]);
      ctx.progress(3);
      await ctx.step("outer", () => ctx.step("inner", () => 1));
      await value(ctx, "c");
      ctx.progress(4);
      return "done";
    });
    const step = async (more: Json, token: string) =>
      resultOf(await peer.request("tools/call", { name: "ask", ...more }, { progressToken: token }));
    const first = await step({}, "1");
    const none = await step({ inputResponses: {}, requestState: first.requestState }, "2");
    const one = await step(
      reply(none, (key) => (key === "a" ? accept("a") : undefined)),
      "3",
    );
    const both = await step(reply(one), "4");
    expect(textOf(await step(reply(both), "5"))).toBe("done");
    expect(peer.notifications.map(({ params }) => [params?.progressToken, params?.progress])).toEqual([
      ["1", 1],
      ["1", 2],
      ["4", 3],
      ["5", 4],
    ]);
  });

  test("UrlElicitationRequiredError keeps the results of the steps that ran before it", async () => {
    const keys: string[] = [];
    const peer = await open(async (ctx) => {
      const opened = ctx.inputResponses["url-1"] !== undefined;
      const name = await value(ctx, "name");
      await ctx.step("charge", ({ key }) => {
        keys.push(key);
      });
      if (!opened) throw new UrlElicitationRequiredError([{ message: "Log in", url: "https://log.in/" }]);
      return `${name} ${await value(ctx, "after")}`;
    });
    const { text, rounds } = await finish(peer, (key, message) =>
      key === "url-1" ? { action: "accept" } : accept(message),
    );
    expect(text).toBe("name after");
    expect(rounds).toEqual([["name"], ["url-1"], ["after"]]);
    expect(keys).toHaveLength(1);
  });

  test("a step that failed before the handler asked by returning has the same key in the next run", async () => {
    const keys = new Set<string>();
    const peer = await open(async (ctx) => {
      const done = await ctx
        .step("flaky", ({ key }) => {
          keys.add(key);
          if (ctx.requestState === undefined) throw new Error("not yet");
          return "done";
        })
        .catch(() => undefined);
      return done ?? inputRequired({}, "again");
    });
    const first = await call(peer);
    expect(textOf(await call(peer, { requestState: first.requestState }))).toBe("done");
    expect(keys.size).toBe(1);
  });

  test("the handler gets a malformed answer as invalid, as in other versions; invalid content is asked for again", async () => {
    const peer = await open(async (ctx) => value(ctx, "a").catch((error: QuestionError) => error.reason));
    const { requestState } = await call(peer);
    const present = (a: unknown) =>
      peer.request("tools/call", { name: "ask", inputResponses: { a }, requestState }, {}, { bad: true });
    for (const odd of [{}, { action: 1 }]) expect(textOf(resultOf(await present(odd)))).toBe("invalid-answer");
    expect(askedIn(resultOf(await present({ action: "accept", content: "text" })))).toEqual(["a~1"]);
    // These do not even have the form of an answer on the wire.
    for (const odd of [null, 1, "text", []]) expect(errorOf(await present(odd)).code).toBe(-32602);
  });

  test("unsolicited answers are not stored and cannot replace a step's result", async () => {
    const peer = await open(async (ctx) => {
      const done = await ctx.step("a", () => "step");
      return `${done} ${await value(ctx, "early")} ${await value(ctx, "late")}`;
    });
    const junk = { early: accept("early"), "step a": accept("x"), "step a.1": accept("x"), ["__proto__"]: accept("x") };
    const first = await call(peer, { inputResponses: junk });
    expect(askedIn(first)).toEqual(["late"]);
    expect(textOf(await call(peer, reply(first)))).toBe("step early late");
  });

  test("a tool's timeout applies to each run, but not to the time it waits for answers", async () => {
    const server = new McpServer({ name: "edges", version: "1.0.0" })
      .tool("ask", { timeoutMs: 1_500 }, async (_, ctx) => {
        await ctx.step("slow", () => pause(10));
        const answered = await value(ctx, "a");
        await ctx.step("slow too", () => pause(10));
        return answered;
      })
      .tool("slow", { timeoutMs: 20 }, async (_, ctx) => {
        value(ctx, "never sent").catch(() => undefined);
        await ctx.step("slow", () => pause(60));
        return "done";
      });
    const peer = await openPeer(server, MODERN_VERSION, { capabilities: { elicitation: {} } });
    const first = await call(peer);
    // Longer than the tool's timeout.
    await pause(1_600);
    expect(textOf(await call(peer, reply(first)))).toBe("a");
    const late = resultOf(await peer.request("tools/call", { name: "slow" }));
    expect(late).toMatchObject({ isError: true });
    expect(String(peer.reports.at(-1))).toContain("did not finish within 20 ms");
  });
});
