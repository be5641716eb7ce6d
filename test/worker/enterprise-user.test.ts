/** The object of a user with assertions: what it stores is bounded, and what still counts survives its alarm. */
import { expect, test } from "vitest";
import { ignoreLogs } from "../harness/logs.ts";
import type { Members } from "../http/messages.ts";
import { AGENT, acme, exchange, setUp, worker } from "./companies.ts";

// The fixture makes so many calls that some of their results are collected during the tests.
ignoreLogs(/^An RPC stub was not disposed/);

setUp(() => ({ companies: [{ issuer: acme.url, allow: { anyone: true } }] }));

const HOUR_MS = 3_600_000;

/** Calls a method of the object of a user, once for each list of arguments. */
async function call(user: string, method: string, calls: readonly unknown[][]): Promise<Members[]> {
  const body = JSON.stringify({ user, method, calls });
  return (await (await fetch(worker.url("/object"), { method: "POST", body })).json()) as Members[];
}

/** An assertion, as the Worker passes it to the object. */
const assertion = (number: number, client = "agent", more: Members = {}): unknown[] => [
  {
    id: `assertion ${number}`,
    untilMs: Date.now() + HOUR_MS,
    attempt: `attempt ${number}`,
    client: { id: client, name: client, isVerified: true },
    scopes: ["read"],
    issuer: { issuer: acme.url },
    ...more,
  },
];

const stored = async (user: string) => (await worker.storage("McpObject", `user:${user}`)).keys;

test("ids of assertions are stored up to a limit", async () => {
  const calls = Array.from({ length: 502 }, (_, number) => assertion(number));
  const results = await call("many", "admit", calls);
  expect(results.findIndex((result) => "problem" in result)).toBe(500);
  expect(results.at(-1)).toEqual({ problem: "too-many" });
  // All of them belong to one grant, because they are for one client.
  expect(new Set(results.slice(0, 500).map(({ grant }) => grant)).size).toBe(1);
});

test("the access of clients is stored up to a limit, and the one that ends first makes room", async () => {
  const results = await call(
    "clients",
    "admit",
    Array.from({ length: 102 }, (_, number) => assertion(number, `client ${number}`)),
  );
  expect(Object.keys(await stored("clients")).filter((key) => key.startsWith("user/managed/"))).toHaveLength(100);
  const live = await call("clients", "isLive", [[results[0]?.grant], [results[101]?.grant]]);
  expect(live).toEqual([false, true]);
});

test("ids of assertions are stored for a limited number of clients, and those of the others are still accepted", async () => {
  const calls = Array.from({ length: 201 }, (_, number) => assertion(number, `client ${number}`));
  const results = await call("crowd", "admit", calls);
  expect(results.findIndex((result) => "problem" in result)).toBe(200);
  expect(results.at(-1)).toEqual({ problem: "too-many" });
  expect(await call("crowd", "admit", [assertion(201, "client 0")])).toEqual([{ grant: expect.any(String) }]);
});

test("the decisions of a user are stored up to a limit, and the oldest is removed", async () => {
  const user = { issuer: acme.url, subject: "decider" };
  const [session] = (await call("decider", "signIn", [[{ user }, "people"]])) as readonly unknown[];
  // Revoking a client again does not count as another decision.
  const clients = Array.from({ length: 101 }, (_, number) => [session, `client ${number}`]);
  await call("decider", "revokeClient", [...clients, [session, "client 100"]]);
  expect((await stored("decider"))["user/denied"]).toHaveLength(100);
  const admitted = await call("decider", "admit", [assertion(0, "client 0"), assertion(1, "client 1")]);
  expect(admitted).toEqual([{ grant: expect.any(String) }, { problem: "denied" }]);
});

/** 99 assertions of one client, each with another scope. */
const greedy = (untilMs: number) =>
  Array.from({ length: 99 }, (_, number) => assertion(number, "greedy", { scopes: [`scope ${number}`], untilMs }));

/** Returns how many grants each client has. */
const countGrants = async (user: string): Promise<Members> => {
  const grants = Object.entries(await stored(user)).filter(([key]) => key.startsWith("user/managed/"));
  const byClient = Object.groupBy(
    grants,
    ([, value]) => (value as { readonly client: { readonly id: string } }).client.id,
  );
  return Object.fromEntries(Object.entries(byClient).map(([id, list]) => [id, list?.length]));
};

test("a client with many grants makes room with its own, and not with those of others", async () => {
  await call("greed", "admit", [assertion(100, "modest"), ...greedy(Date.now() + HOUR_MS), assertion(101, "new")]);
  expect(await countGrants("greed")).toEqual({ modest: 1, greedy: 98, new: 1 });
});

test("a session that is not valid revokes nothing, and stores nothing", async () => {
  const [admitted] = await call("victim", "admit", [assertion(1)]);
  await call("victim", "revokeClient", [["no session", "agent"]]);
  expect(await call("victim", "isLive", [[admitted?.grant]])).toEqual([true]);
  expect(Object.keys(await stored("victim"))).not.toContain("user/denied");
  expect(await call("victim", "visit", [["no session"]])).toEqual([null]);
});

test("an object of which another role is asked refuses, and a grant that does not exist is not live", async () => {
  expect(await call("nobody", "isLive", [["no grant"]])).toEqual([false]);
  expect(await call("nobody", "upstream", [["no grant"]])).toEqual([{ problem: "revoked" }]);
});

// These move the clock of the Worker.
let aheadMs = 0;
const advance = (ms: number): Promise<number> => {
  aheadMs += ms;
  return worker.advance(ms);
};
/** An assertion of now by the clock of the Worker. */
const assertNow = (sub: string): Promise<string> => {
  const nowS = Math.floor((Date.now() + aheadMs) / 1000);
  return acme.assert(worker, { sub, iat: nowS, exp: nowS + 300 });
};

test("ids that have expired make room for others", { tags: "long" }, async () => {
  const short = { untilMs: Date.now() + aheadMs + 600_000 };
  const lasting = { untilMs: Date.now() + aheadMs + 2 * HOUR_MS };
  const first = Array.from({ length: 100 }, (_, number) => assertion(number, "agent", short));
  const others = Array.from({ length: 400 }, (_, number) => assertion(100 + number, "agent", lasting));
  await call("room", "admit", [...first, ...others]);
  expect(await call("room", "admit", [assertion(500, "agent", lasting)])).toEqual([{ problem: "too-many" }]);
  // Ids are stored for 5 minutes longer than their assertions are accepted.
  await advance(900_001);
  expect(await call("room", "admit", [assertion(500, "agent", lasting)])).toEqual([{ grant: expect.any(String) }]);
  const again = { ...lasting, attempt: "another" };
  expect(await call("room", "admit", [assertion(300, "agent", again)])).toEqual([{ problem: "used" }]);
});

test("access that has ended makes room before access that is in use", async () => {
  await call("ended", "admit", [assertion(100, "former", { untilMs: Date.now() + aheadMs + HOUR_MS })]);
  await advance(HOUR_MS + 1_000);
  const untilMs = Date.now() + aheadMs + HOUR_MS;
  await call("ended", "admit", [...greedy(untilMs), assertion(101, "new", { untilMs })]);
  expect(await countGrants("ended")).toEqual({ greedy: 99, new: 1 });
});

test("access that is given again keeps the time at which it was first given", async () => {
  const untilMs = () => Date.now() + aheadMs + HOUR_MS;
  const grantOf = async () =>
    Object.entries(await stored("kept")).find(([key]) => key.startsWith("user/managed/"))?.[1];
  await call("kept", "admit", [assertion(1, "agent", { untilMs: untilMs() })]);
  const { createdAtMs, expiresAtMs } = (await grantOf()) as Members;
  await advance(60_000);
  await call("kept", "admit", [assertion(2, "agent", { untilMs: untilMs() })]);
  const again = (await grantOf()) as Members;
  expect(again.createdAtMs).toBe(createdAtMs);
  expect(Number(again.expiresAtMs)).toBeGreaterThanOrEqual(Number(expiresAtMs) + 60_000);
});

test("an alarm that is due soon after an assertion keeps its id and the access", async () => {
  const first = await exchange(worker, await assertNow("alarmed"));
  expect(first.status).toBe(200);
  await advance(24 * HOUR_MS - 10_000);
  const later = await assertNow("alarmed");
  expect((await exchange(worker, later)).status).toBe(200);
  // The alarm that the first assertion has set is due now.
  expect(await advance(20_000)).toBeGreaterThan(0);
  expect((await exchange(worker, later, {}, AGENT)).body.error_description).toBe("The assertion was used before.");
});
