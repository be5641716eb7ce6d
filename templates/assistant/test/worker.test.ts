/** Tests the shop on real workerd, with crashes, evictions and a payment service that fails. */
import { startWorker, type TestWorker } from "mcp-edge/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { call, customer, fill, LEGACY, MODERN, open, Payments } from "./shop.ts";

let payments: Payments;
let worker: TestWorker;
const start = () =>
  startWorker({
    wrangler: "wrangler.toml",
    bindings: { PAYMENTS_URL: "https://payments.example.com" },
    outbound: (request) => payments.answer(request),
  });
beforeAll(async () => {
  worker = await start();
});
beforeEach(() => {
  payments = new Payments();
});
afterAll(() => worker?.stop());

const connectWith = (version: string, options = {}) => open(worker.url("/mcp"), version, options);

test("a repeated set_quantity has no effect", async () => {
  const client = await connectWith(MODERN);
  const basket = await fill(client);
  await call(client, "set_quantity", { basket, product: "mug", quantity: 1 });
  const twice = await call(client, "set_quantity", { basket, product: "mug", quantity: 1 });
  expect(twice).toBe("2 x Espresso beans, 500 g (espresso)\n1 x Stoneware mug (mug)\nTotal: 41.80 EUR");
  expect(await call(client, "set_quantity", { basket, product: "car", quantity: 1 })).toContain('no product "car"');
  await client.close();
});

test("an unknown basket id is refused", async () => {
  const client = await connectWith(MODERN);
  const basket = crypto.randomUUID();
  expect(await call(client, "set_quantity", { basket, product: "mug", quantity: 1 })).toContain("Call start_basket");
  expect(await call(client, "show_basket", { basket })).toContain("Call start_basket");
  await client.close();
});

test("a basket survives eviction, a crash, and a change of the client and of the protocol version", async () => {
  const first = await connectWith(LEGACY);
  const basket = await fill(first);
  expect(await worker.evict("BasketObject", basket)).toBe(1);
  expect(await call(first, "show_basket", { basket })).toContain("2 x Espresso");
  await first.close();
  await worker.kill();
  await worker.restart();
  const second = await connectWith(MODERN);
  expect(await call(second, "show_basket", { basket })).toContain("2 x Espresso");
  await second.close();
});

test("a basket is deleted after 30 days, but not one with an order", async () => {
  // A separate Worker, because its clock stays ahead, and alarms that other tests set would be due too late.
  await using own = await start();
  const client = await open(own.url("/mcp"), MODERN, { onElicit: customer().onElicit });
  const [left, ordered] = [await fill(client), await fill(client)];
  await call(client, "checkout", { basket: ordered });
  await own.advance(30 * 24 * 60 * 60_000);
  expect(await call(client, "show_basket", { basket: left })).toContain("no basket with this id");
  expect(await call(client, "show_basket", { basket: ordered })).toContain("paid, receipt receipt-1");
  await client.close();
});

test("a subscriber is notified of a change by another client", async () => {
  const client = await connectWith(MODERN);
  const basket = await fill(client);
  const changed = Promise.withResolvers<string>();
  const subscriber = await connectWith(LEGACY, { onResourceUpdated: changed.resolve });
  await subscriber.subscribe(`basket://${basket}`);
  await call(client, "set_quantity", { basket, product: "mug", quantity: 3 });
  expect(await changed.promise).toBe(`basket://${basket}`);
  const { contents } = await subscriber.readResource(`basket://${basket}`);
  expect(JSON.stringify(contents)).toContain("mug");
  await client.close();
  await subscriber.close();
});

describe.each([MODERN, LEGACY])("checkout in %s", (version) => {
  test("asks, pays once, reports progress and empties the basket", async () => {
    const { onElicit, questions } = customer();
    const client = await connectWith(version, { onElicit });
    const basket = await fill(client);
    const progress: number[] = [];
    const { content } = await client.callTool(
      "checkout",
      { basket },
      { onProgress: (each) => progress.push(each.progress) },
    );
    expect(JSON.stringify(content)).toContain("25.80 EUR, is on its way. Receipt: receipt-1.");
    expect([...questions]).toEqual([
      "Where should we deliver?",
      "Order 2 x Espresso beans, 500 g for 25.80 EUR, to 12345 Berlin?",
    ]);
    expect(progress).toEqual([1, 2, 3]);
    expect([...payments.charges.values()]).toEqual([2580]);
    expect(await call(client, "show_basket", { basket })).toContain("The basket is empty.");
    expect(await call(client, "checkout", { basket })).toContain("Error: The basket is empty.");
    await client.close();
  });

  test("continues after the Worker crashed while the customer was thinking", async () => {
    const { onElicit, questions } = customer(() => worker.restart());
    const client = await connectWith(version, { onElicit });
    const basket = await fill(client);
    expect(await call(client, "checkout", { basket })).toContain("is on its way");
    expect(questions.size).toBe(2);
    expect(payments.charges.size).toBe(1);
    await client.close();
  });

  test("retries when the payment service fails, always with the same key", async () => {
    payments.before = () => (payments.keys.length < 3 ? new Response("busy", { status: 503 }) : undefined);
    const client = await connectWith(version, { onElicit: customer().onElicit });
    expect(await call(client, "checkout", { basket: await fill(client) })).toContain("is on its way");
    expect(payments.keys).toHaveLength(3);
    expect(payments.charges.size).toBe(1);
    await client.close();
  });

  test("pays only once, even if the Worker crashes between the charge and the response", async () => {
    const charged = Promise.withResolvers<void>();
    const crashed = Promise.withResolvers<undefined>();
    payments.before = () => {
      charged.resolve();
      return payments.keys.length === 1 ? crashed.promise : undefined;
    };
    const client = await connectWith(version, { onElicit: customer().onElicit });
    const basket = await fill(client);
    // A legacy call continues by itself. A modern call may end with an error, in which case the customer has no result yet.
    const first = call(client, "checkout", { basket }).catch(String);
    await charged.promise;
    await worker.kill();
    crashed.resolve(undefined);
    await worker.restart();
    await first;

    // The customer has already agreed, so no question is asked; this client could not answer one.
    const later = await connectWith(version, { onElicit: () => ({ action: "cancel" }) });
    await call(later, "checkout", { basket });
    expect(await call(later, "show_basket", { basket })).toContain("The basket is empty.\nOrder");
    expect(await call(later, "show_basket", { basket })).toContain("paid, receipt receipt-1");
    expect(payments.charges.size).toBe(1);
    await client.close();
    await later.close();
  });
});

test("a refused payment leaves the basket unchanged, and it can be ordered again", async () => {
  const client = await connectWith(MODERN, { onElicit: customer().onElicit });
  const basket = await fill(client);
  payments.declines = true;
  expect(await call(client, "checkout", { basket })).toContain("Error: The payment was refused: the card was declined");
  payments.declines = false;
  expect(await call(client, "set_quantity", { basket, product: "mug", quantity: 1 })).toContain("Total: 41.80 EUR");
  expect(await call(client, "show_basket", { basket })).not.toContain("Order");
  await client.close();
});

test("a basket that changes after the customer has agreed is not ordered", async () => {
  const other = await connectWith(MODERN);
  const basket = await fill(other);
  const change = (question: string) =>
    question.startsWith("Order") ? call(other, "set_quantity", { basket, product: "grinder", quantity: 1 }) : undefined;
  const client = await connectWith(LEGACY, { onElicit: customer(change).onElicit });
  expect(await call(client, "checkout", { basket })).toContain("has changed since the customer agreed");
  expect(payments.keys).toEqual([]);
  await client.close();
  await other.close();
});

test("nothing is ordered if the customer declines", async () => {
  const client = await connectWith(MODERN, { onElicit: () => ({ action: "decline" }) });
  const basket = await fill(client);
  expect(await call(client, "checkout", { basket })).toContain("Nothing was ordered");
  expect(await call(client, "show_basket", { basket })).toContain("2 x Espresso");
  await client.close();
});
