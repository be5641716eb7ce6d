/** Pays an order. Adapt this file to your payment service. */
import { createSafeFetch } from "mcp-edge/safe";
import type { Order, ShopEnv } from "./basket.ts";

export type Payment = { readonly receipt: string } | { readonly refused: string };

const LIMITS = { timeoutMs: 20_000, responseBytesMax: 100_000, redirectsMax: 0 };

/** Returns a fetch for the payment service alone, which may run on your own machine. No redirect gets the key or an order. */
const createFetch = (service: string) =>
  createSafeFetch({ ...LIMITS, privateHosts: [new URL(service).host], hosts: [] });

/**
 * Pays an order, or returns why the service refused. The number of the order is the idempotency key: a service that sees
 * it again does not charge again, but repeats its first answer. So this may be called as often as needed.
 *
 * @throws {Error} if it is not known whether the order was paid.
 */
export async function pay(env: ShopEnv, { number, cents }: Order, signal: AbortSignal): Promise<Payment> {
  if (!env.PAYMENTS_URL) return { receipt: "Pay on delivery" };
  const response = await createFetch(env.PAYMENTS_URL)(`${env.PAYMENTS_URL}/charges`, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      "Idempotency-Key": number,
      ...(env.PAYMENTS_KEY ? { Authorization: `Bearer ${env.PAYMENTS_KEY}` } : {}),
    },
    body: JSON.stringify({ amount: cents, currency: "EUR", reference: number }),
    signal,
  });
  if (response.status === 402) return { refused: "the card was declined" };
  if (!response.ok) throw new Error(`The payment service answered ${response.status}.`);
  const { id } = (await response.json()) as { id?: unknown };
  if (typeof id !== "string") throw new Error("The payment service answered without an id.");
  return { receipt: id };
}
