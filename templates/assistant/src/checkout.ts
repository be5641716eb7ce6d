/**
 * The checkout: questions, payment and order as straight-line code. The call may be interrupted anywhere, by a crash or by a customer
 * who takes an hour to answer. In that case, this handler runs again from the top, and answered questions and finished steps return
 * their stored results immediately. So everything that reads or changes data must be a step.
 */
import { type HandlerContext, retrying, ToolError } from "mcp-edge";
import * as z from "zod";
import { computeTotal, findUnpaidOrder, need, type ShopEnv } from "./basket.ts";
import { findProduct, inEuros } from "./catalogue.ts";
import { pay } from "./payment.ts";

const addressForm = z.object({
  name: z.string().min(1).max(100).meta({ title: "Name" }),
  street: z.string().min(1).max(200).meta({ title: "Street and number" }),
  city: z.string().min(1).max(100).meta({ title: "Postal code and city" }),
});
const agreementForm = z.object({ agreed: z.boolean().meta({ title: "Order and pay" }) });

const NOTHING_ORDERED = "Nothing was ordered. The basket is unchanged.";

/** Orders a basket. Returns a message for the model. */
export async function checkOut(basketId: string, ctx: HandlerContext<ShopEnv>): Promise<string> {
  const basket = ctx.env.BASKETS.getByName(basketId);
  const contents = need(await ctx.step("read the basket", () => basket.view()));

  // An earlier checkout may have been lost during the payment. The customer agreed to that order, so do not ask again.
  let order = findUnpaidOrder(contents);
  if (!order) {
    const cents = computeTotal(contents.lines);
    if (contents.lines.length === 0) throw new ToolError("The basket is empty. Add a product first.");

    const address = await ctx.elicit("Where should we deliver?", addressForm);
    if (address.action !== "accept") return NOTHING_ORDERED;

    const items = contents.lines.map(({ product, quantity }) => `${quantity} x ${findProduct(product)?.name}`);
    const question = `Order ${items.join(", ")} for ${inEuros(cents)}, to ${address.content.city}?`;
    const agreement = await ctx.elicit(question, agreementForm);
    if (agreement.action !== "accept" || !agreement.content.agreed) return NOTHING_ORDERED;

    order = need(await ctx.step("order", () => basket.beginOrder(cents, address.content)));
  }
  ctx.progress(1, { total: 3, message: `Order ${order.number} is stored.` });

  // At most five attempts with growing pauses. All use the order number as the idempotency key, so the order is paid only once.
  const tries = { retries: 4, signal: ctx.signal };
  const payment = await ctx
    .step(
      "pay",
      retrying(() => pay(ctx.env, order, ctx.signal), tries),
    )
    .catch((error) => {
      ctx.signal.throwIfAborted();
      console.error(`assistant: order ${order.number} could not be paid:`, error);
      throw new ToolError(
        "The payment service is not responding. Call checkout again later. The order was saved and will be paid only once.",
      );
    });
  if ("refused" in payment) {
    await ctx.step("cancel", () => basket.cancelOrder(order.number));
    throw new ToolError(`The payment was refused: ${payment.refused}. The basket can be changed and ordered again.`);
  }
  ctx.progress(2, { total: 3, message: "The order is paid." });

  const { number, receipt } = need(await ctx.step("finish", () => basket.finishOrder(order.number, payment.receipt)));
  ctx.progress(3, { total: 3, message: "Done." });
  return `Order ${number}, ${inEuros(order.cents)}, is on its way. Receipt: ${receipt}.`;
}
