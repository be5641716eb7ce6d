/** Pays an order. Adapt this file to your payment service. */
import { createSafeFetch } from "mcp-edge/safe";
import type { Order, ShopEnv } from "./basket.ts";

export type Payment = { readonly receipt: string } | { readonly refused: string };

const LIMITS = { timeoutMs: 20_000, responseBytesMax: 100_000, redirectsMax: 0 };

/** Returns a fetch that can only reach the payment service, which may run on your own machine. It does not follow redirects. */
const createFetch = (service: string) =>
  createSafeFetch({ ...LIMITS, privateHosts: [new URL(service).host], hosts: [] });

/**
 * Pays an order, or returns why the service refused. The order number is the idempotency key: if the service receives it again, it
 * does not charge again, but repeats its first response. So this can be called repeatedly.
 *
 * @throws {Error} if it is unknown whether the order was paid.
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
  if (!response.ok) throw new Error(`The payment service returned HTTP status ${response.status}.`);
  const { id } = (await response.json()) as { id?: unknown };
  if (typeof id !== "string") throw new Error("The response of the payment service has no id.");
  return { receipt: id };
}
