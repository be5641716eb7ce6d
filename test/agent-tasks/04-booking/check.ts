import type { Client, ElicitAnswer, ElicitRequestFormParams } from "mcp-edge/client";
import type { TestWorker } from "mcp-edge/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, connectTo, startProject, VERSIONS } from "../harness.ts";

let worker: TestWorker;
beforeAll(async () => {
  worker = await startProject();
});
afterAll(() => worker?.stop());

interface Booking {
  readonly number: string;
  readonly restaurant: string;
}
const bookingsOf = async (client: Client, restaurant: string) => {
  const { bookings } = (await call(client, "bookings")).value as { bookings: Booking[] };
  return bookings.filter((each) => each.restaurant === restaurant);
};

describe.each(VERSIONS)("in %s", (version) => {
  /** Connects a user who gives these answers, one after another, and keeps the questions. */
  async function open(...answers: readonly ElicitAnswer[]) {
    const asked: ElicitRequestFormParams[] = [];
    const left = [...answers];
    const onElicit = (question: ElicitRequestFormParams) => {
      asked.push(question);
      return left.shift() ?? ({ action: "cancel" } as const);
    };
    const client = await connectTo(worker, { protocolVersions: [version], onElicit });
    return { client, asked };
  }
  const accept = (content: Record<string, string | number | boolean>) => ({ action: "accept", content }) as const;

  test("a table is booked once with what the user has answered", async () => {
    const { client, asked } = await open(accept({ people: 2, day: "Friday" }));
    const restaurant = `Adria ${version}`;
    const { value, text } = await call(client, "book_table", { restaurant });
    expect(value, text).toEqual({ booked: true, number: expect.any(String) });
    expect(asked).toHaveLength(1);
    expect(Object.keys(asked[0]?.requestedSchema.properties ?? {}).sort()).toEqual(["day", "people"]);
    const { number } = value as { number: string };
    expect(await bookingsOf(client, restaurant)).toEqual([{ number, restaurant, people: 2, day: "Friday" }]);
    await client.close();
  });

  test("a large table needs a second answer, and is booked once", async () => {
    const { client, asked } = await open(accept({ people: 12, day: "Monday" }), accept({ sure: true }));
    const restaurant = `Large ${version}`;
    expect((await call(client, "book_table", { restaurant })).value).toMatchObject({ booked: true });
    expect(asked.map(({ requestedSchema }) => Object.keys(requestedSchema.properties).sort())).toEqual([
      ["day", "people"],
      ["sure"],
    ]);
    expect(await bookingsOf(client, restaurant)).toMatchObject([{ people: 12, day: "Monday" }]);
    await client.close();
  });

  test.each([
    { name: "refuses", answers: [{ action: "decline" }] },
    { name: "closes the form", answers: [{ action: "cancel" }] },
    { name: "is not sure", answers: [accept({ people: 9, day: "today" }), accept({ sure: false })] },
    { name: "closes the second form", answers: [accept({ people: 9, day: "today" }), { action: "cancel" }] },
  ] as const)("nothing is booked for a user who $name", async ({ name, answers }) => {
    const { client } = await open(...answers);
    const restaurant = `Not ${name} ${version}`;
    expect((await call(client, "book_table", { restaurant })).value).toEqual({ booked: false });
    expect(await bookingsOf(client, restaurant)).toEqual([]);
    await client.close();
  });

  test("bookings at the same time have different numbers, and survive a restart", async () => {
    const restaurant = `Many ${version}`;
    const answers = Array.from({ length: 5 }, (_, index) => accept({ people: index + 1, day: "Sunday" }));
    const { client } = await open(...answers);
    await Promise.all(answers.map(() => call(client, "book_table", { restaurant })));
    await client.close();
    await worker.kill();
    await worker.restart();
    const later = (await open()).client;
    const kept = await bookingsOf(later, restaurant);
    expect(kept).toHaveLength(5);
    expect(new Set(kept.map(({ number }) => number)).size).toBe(5);
    await later.close();
  });
});

test("an answer that is sent twice does not book twice", async () => {
  // A client may repeat its last request, for example after a broken connection. Most clients do not send keys for repetitions.
  const sent: { url: string; init: RequestInit }[] = [];
  const client = await connectTo(worker, {
    protocolVersions: ["2026-07-28"],
    onElicit: () => ({ action: "accept", content: { people: 3, day: "Tuesday" } }),
    fetch: (url, init) => {
      const request = { url, init: { ...init, ...(init.body && { body: withoutKey(String(init.body)) }) } };
      sent.push(request);
      return fetch(request.url, request.init);
    },
  });
  await call(client, "book_table", { restaurant: "Twice" });
  const last = sent.filter(({ init }) => String(init.body).includes("inputResponses")).at(-1);
  expect(last, "the question was answered").toBeDefined();
  if (last) await (await fetch(last.url, { ...last.init, signal: null })).text();
  expect(await bookingsOf(client, "Twice")).toHaveLength(1);
  await client.close();
});

/** Removes the key with which the client of mcp-edge marks repetitions. */
function withoutKey(body: string): string {
  const message = JSON.parse(body) as { params?: { _meta?: Record<string, unknown> } };
  delete message.params?._meta?.["mcp-edge/idempotencyKey"];
  return JSON.stringify(message);
}
