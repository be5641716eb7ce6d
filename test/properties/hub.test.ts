// @module-tag long
/**
 * The streams of a shard over several objects, while it grows: the code of the hub in a model of the platform, under
 * concurrent attachments and publications, and losses of objects at every moment.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { fingerprint } from "../../src/core/basics/bytes.ts";
import type { ChangeSubscription } from "../../src/core/protocol/change-notifications.ts";
import { OBJECTS_HEADER } from "../../src/worker/hub/hub-messages.ts";
import { Placement } from "../../src/worker/hub/placement.ts";
import { HubModel, ModelIsolate, type ModelOptions } from "./hub-model.ts";

const COSTS = { request: 0.05, send: 0.01, call: 0.05, write: 5, receive: 0.01 };

/** One deed at a moment. Indexes that are too large start again from 0. */
type Deed = { readonly atMs: number; readonly index: number } & (
  | { readonly what: "attach" | "publish"; readonly isolate: number }
  | { readonly what: "leave" | "reset" | "cut" | "hibernate" }
);

interface Stream {
  readonly heard: Set<string>;
  attachedAtMs: number;
  failed?: unknown;
  hasLeft: boolean;
  hasEnded: boolean;
  subscription?: ChangeSubscription;
}

interface Publication {
  readonly uri: string;
  readonly begunAtMs: number;
  outcome: "open" | "sent" | "failed";
}

const ISOLATES = 3;

/** Runs the deeds, and waits until nothing is left to happen. */
async function play(deeds: readonly Deed[], options: Partial<ModelOptions>) {
  const model = new HubModel({
    ...COSTS,
    hop: (random) => 1 + 40 * random() ** 2,
    seed: 1,
    streamsMax: 2,
    objectsMax: 512,
    ...options,
  });
  const isolates = Array.from({ length: ISOLATES }, () => new ModelIsolate(model));
  const streams: Stream[] = [];
  const publications: Publication[] = [];
  const uris = deeds.map((_, at) => `test://${at}`);
  const run = (deed: Deed, uri: string) => {
    const objects = [...model.objects.values()];
    const object = objects[deed.index % Math.max(1, objects.length)];
    const isolate = isolates["isolate" in deed ? deed.isolate % ISOLATES : 0] as ModelIsolate;
    if (deed.what === "attach") streams.push(attach(model, isolate, uris));
    else if (deed.what === "publish") publications.push(publish(model, isolate, uri));
    else if (deed.what === "leave") leave(streams[deed.index % Math.max(1, streams.length)]);
    else if (deed.what === "reset") object?.reset();
    else if (deed.what === "cut") object?.cut();
    else object?.hibernate();
  };
  await model.run(() => {
    for (const [at, deed] of deeds.entries()) model.clock.at(deed.atMs, () => run(deed, uris[at] ?? ""));
  });
  return { model, streams, publications };
}

function attach(model: HubModel, isolate: ModelIsolate, uris: readonly string[]): Stream {
  const stream: Stream = { heard: new Set(), attachedAtMs: Number.POSITIVE_INFINITY, hasLeft: false, hasEnded: false };
  const filter = { lists: ["tools"] as const, uris };
  isolate
    .open(filter, (notification) => void ("uri" in notification && stream.heard.add(notification.uri)))
    .then(
      (subscription) => {
        stream.attachedAtMs = model.clock.nowMs;
        stream.subscription = subscription;
        void subscription.ended.then(() => {
          stream.hasEnded = true;
        });
        if (stream.hasLeft) subscription.stop();
      },
      (error: unknown) => {
        stream.failed = error;
      },
    );
  return stream;
}

function leave(stream: Stream | undefined): void {
  if (!stream) return;
  stream.hasLeft = true;
  stream.subscription?.stop();
}

function publish(model: HubModel, isolate: ModelIsolate, uri: string): Publication {
  const publication: Publication = { uri, begunAtMs: model.clock.nowMs, outcome: "open" };
  isolate.publish([{ kind: "resource", uri }]).then(
    () => {
      publication.outcome = "sent";
    },
    () => {
      publication.outcome = "failed";
    },
  );
  return publication;
}

const moment = { atMs: fc.nat(1_500), index: fc.nat(40) };
const isolate = fc.nat(ISOLATES - 1);
const peaceful = fc.oneof(
  { weight: 4, arbitrary: fc.record({ ...moment, what: fc.constant("attach" as const), isolate }) },
  { weight: 2, arbitrary: fc.record({ ...moment, what: fc.constant("publish" as const), isolate }) },
  { weight: 1, arbitrary: fc.record({ ...moment, what: fc.constant("leave" as const) }) },
);
const harmful = fc.record({ ...moment, what: fc.constantFrom("reset" as const, "cut" as const, "hibernate" as const) });

function expectNothingMissed({ streams, publications }: Awaited<ReturnType<typeof play>>): void {
  for (const { attachedAtMs, heard, hasLeft, failed } of streams) {
    expect(failed).toBeUndefined();
    if (hasLeft) continue;
    expect(attachedAtMs).toBeLessThan(Number.POSITIVE_INFINITY);
    const due = publications.filter(({ begunAtMs, outcome }) => begunAtMs >= attachedAtMs && outcome === "sent");
    expect(due.filter(({ uri }) => !heard.has(uri))).toEqual([]);
  }
}

test("no stream that is attached before a publication misses it, however many streams attach, leave and publish meanwhile", async () => {
  const deeds = fc.array(peaceful, { minLength: 20, maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(deeds, fc.nat(), fc.integer({ min: 1, max: 4 }), async (deeds, seed, streamsMax) => {
      const played = await play(deeds, { seed, streamsMax });
      expectNothingMissed(played);
      expect(played.publications.map(({ outcome }) => outcome)).not.toContain("failed");
      expect(played.streams.filter(({ hasEnded, hasLeft }) => hasEnded && !hasLeft)).toEqual([]);
      expect(played.model.counts.mostSockets).toBeLessThanOrEqual(streamsMax);
      expect(played.model.unread.size).toBe(0);
    }),
    { numRuns: 200 },
  );
}, 60_000);

test("no stream misses a publication when objects lose memory or sockets at any moment, unless the publisher gets an error", async () => {
  const deeds = fc.array(fc.oneof({ weight: 4, arbitrary: peaceful }, { weight: 1, arbitrary: harmful }), {
    minLength: 20,
    maxLength: 80,
  });
  await fc.assert(
    fc.asyncProperty(deeds, fc.nat(), fc.integer({ min: 1, max: 4 }), async (deeds, seed, streamsMax) => {
      const played = await play(deeds, { seed, streamsMax });
      // An attachment fails only when its object is reset twice in a row.
      const streams = played.streams.filter(({ failed }) => failed === undefined);
      expectNothingMissed({ ...played, streams });
      expect(streams.filter(({ hasEnded, hasLeft }) => hasEnded && !hasLeft)).toEqual([]);
    }),
    { numRuns: 300 },
  );
}, 60_000);

const TOOLS = { lists: ["tools"], uris: [] } as const;

/** Runs steps one after another in a model. Each step begins when nothing of the one before is left to happen. */
async function inModel(options: Partial<ModelOptions>, run: (model: HubModel) => Promise<void>): Promise<HubModel> {
  const model = new HubModel({ ...COSTS, hop: () => 10, seed: 1, streamsMax: 10, objectsMax: 64, ...options });
  let failure: unknown = "unfinished";
  await model.run(() => {
    run(model).then(
      () => {
        failure = undefined;
      },
      (error: unknown) => {
        failure = error;
      },
    );
  });
  if (failure) throw failure;
  return model;
}

const openMany = (isolate: ModelIsolate, count: number, owner?: string) =>
  Promise.all(Array.from({ length: count }, () => isolate.open(TOOLS, () => undefined, owner)));
const placesOf = (model: HubModel) =>
  [...model.objects].flatMap(([name, { sockets }]) => (sockets.size > 0 ? [[name, sockets.size]] : []));

test("isolates that find the same objects full at the same time make the hub grow once", async () => {
  const model = await inModel({}, async (model) => {
    const isolates = Array.from({ length: 5 }, () => new ModelIsolate(model));
    await Promise.all(isolates.map((isolate) => openMany(isolate, 3)));
  });
  expect(placesOf(model)).toEqual([
    ["hub:0", 10],
    ["hub:0.1", 5],
  ]);
  expect(model.counts).toMatchObject({ grows: 5, rowsWritten: 1 });
});

test("an isolate without the number of objects gets it from the root, at one additional request for its first stream", async () => {
  await inModel({}, async (model) => {
    await openMany(new ModelIsolate(model), 35);
    const before = { ...model.counts };
    const isolate = new ModelIsolate(model);
    await openMany(isolate, 1);
    expect(model.counts).toMatchObject({ dials: before.dials + 2, grows: before.grows });
    await openMany(isolate, 1);
    expect(model.counts).toMatchObject({ dials: before.dials + 3, grows: before.grows });
  });
});

test("places in older objects are used again when newer objects are full, so that reconnecting clients do not make the hub grow", async () => {
  const model = await inModel({}, async (model) => {
    const isolate = new ModelIsolate(model);
    const open = await openMany(isolate, 20);
    for (let turn = 0; turn < 100; turn += 1) {
      open.shift()?.stop();
      await model.clock.pause(1_000);
      open.push(...(await openMany(isolate, 1)));
    }
  });
  expect(placesOf(model)).toEqual([
    ["hub:0", 10],
    ["hub:0.1", 10],
  ]);
  expect([...model.objects.keys()]).toEqual(["hub:0", "hub:0.1"]);
});

test("streams that lose their sockets stay at their object although the hub has grown, and get no superfluous notifications", async () => {
  const heard: unknown[] = [];
  const model = await inModel({}, async (model) => {
    const isolate = new ModelIsolate(model);
    for (let count = 0; count < 15; count += 1) await isolate.open(TOOLS, (notification) => heard.push(notification));
    model.object(0, 0).cut();
    await model.clock.pause(5_000);
  });
  expect(placesOf(model)).toEqual([
    ["hub:0", 10],
    ["hub:0.1", 5],
  ]);
  expect(heard).toEqual([]);
});

test("the streams of one principal are in one object, where their number is limited", async () => {
  const model = await inModel({ streamsMax: 100 }, async (model) => {
    const isolate = new ModelIsolate(model);
    await openMany(isolate, 210);
    const before = placesOf(model).map(String);
    await openMany(isolate, 64, "alice");
    await expect(openMany(isolate, 1, "alice")).rejects.toThrow("limits.listensPerPrincipalMax");
    expect(before).toHaveLength(4);
    expect(placesOf(model).filter((place) => !before.includes(String(place)))).toHaveLength(1);
  });
  expect(model.counts.mostSockets).toBeLessThanOrEqual(100);
});

test("a principal that may have more streams than an object serves has streams in several objects", async () => {
  const model = await inModel({ ownerMax: 50 }, (model) =>
    openMany(new ModelIsolate(model), 50, "alice").then(() => {}),
  );
  const places = placesOf(model);
  expect(places.reduce((sum, [, sockets]) => sum + Number(sockets), 0)).toBe(50);
  expect(model.objects.size).toBeLessThanOrEqual(16);
});

test("the streams of a principal try the same object first if it could serve all of them, and otherwise any object", async () => {
  const askedFirst = async (ownerMax: number) => {
    const placement = new Placement(8);
    const asked = new Set<number>();
    for (let stream = 0; stream < 50; stream += 1) {
      const dialed: number[] = [];
      const dial = async (object: number) => {
        dialed.push(object);
        return new Response("full", { status: 429, headers: { [OBJECTS_HEADER]: "8" } });
      };
      await placement.connector({ owner: "alice", ownerMax, streamsMax: 10 }, { dial, grow: async () => 8 })();
      if (stream > 0) asked.add(dialed[0] as number);
    }
    return asked.size;
  };
  expect(await askedFirst(10)).toBe(1);
  expect(await askedFirst(11)).toBe(4);
});

/** Principals whose streams prefer the same object, of up to 64. */
const NEIGHBOURS = Array.from({ length: 10_000 }, (_, at) => `principal ${at}`).filter(
  (owner) => fingerprint(owner) < 2 ** 32 / 64,
);

test("principals that prefer the same object do not make the hub grow while other objects have room", async () => {
  const counts = fc.array(fc.integer({ min: 1, max: 10 }), { minLength: 10, maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(counts, fc.nat(), async (counts, seed) => {
      const model = await inModel({ seed, ownerMax: 10, objectsMax: 512 }, async (model) => {
        const isolate = new ModelIsolate(model);
        for (const [at, count] of counts.entries()) await openMany(isolate, count, NEIGHBOURS[at]);
      });
      const needed = Math.ceil(counts.reduce((sum, count) => sum + count) / 10);
      expect(model.objects.size).toBeLessThanOrEqual(6 * needed);
    }),
    { numRuns: 100 },
  );
});

test("every refusal is read, even the refusal of a stream that reconnects, so that its object can hibernate", async () => {
  const model = await inModel({ streamsMax: 1, objectsMax: 1 }, async (model) => {
    const stream = await new ModelIsolate(model).open(TOOLS, () => undefined);
    model.object(0, 0).cut();
    // The other stream takes the place before the first one reconnects.
    await openMany(new ModelIsolate(model), 1);
    await expect(openMany(new ModelIsolate(model), 1)).rejects.toThrow("hub(): streamsMax");
    await stream.ended;
  });
  expect(model.unread.size).toBe(0);
});

test("a stream is refused without growing if no object can take it, or beyond the last object", async () => {
  const large = await inModel({ charsMax: 50 }, async (model) => {
    await expect(openMany(new ModelIsolate(model), 1)).rejects.toThrow("hub(): charsMax");
  });
  expect(large.counts).toMatchObject({ dials: 1, grows: 0 });
  const full = await inModel({ objectsMax: 1 }, async (model) => {
    await openMany(new ModelIsolate(model), 10);
    await expect(openMany(new ModelIsolate(model), 1)).rejects.toThrow("hub(): streamsMax");
  });
  expect(full.counts).toMatchObject({ dials: 11, grows: 0 });
});

test("the refusal of an object of an older release, which contains no number, is final", async () => {
  const refusal = new Response("full", { status: 429 });
  const links = { dial: async () => refusal, grow: () => Promise.reject(new Error("An older object cannot grow.")) };
  expect(await new Placement(8).connector({ ownerMax: 64, streamsMax: 10 }, links)()).toBe(refusal);
});
