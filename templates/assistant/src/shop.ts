/** The shop assistant: its tools and resources. index.ts serves it as a Worker, stdio.ts over standard input and output. */
import { McpServer } from "mcp-edge";
import * as z from "zod";
import { advise } from "./advice.ts";
import { type Contents, computeTotal, findUnpaidOrder, need, type ShopEnv } from "./basket.ts";
import { describeProduct, findProduct, inEuros, searchProducts } from "./catalogue.ts";
import { checkOut } from "./checkout.ts";

export const server = new McpServer<ShopEnv>({
  name: "assistant",
  title: "Shop assistant",
  version: "1.0.0",
  instructions: "Sells coffee and tea. Start a basket first, keep its id, and pass the id to the other tools.",
});

/**
 * A basket is found by its id, which the model keeps. That works in every version of the protocol and outlives the
 * conversation. The id is random and gives access, so it is a secret. If your callers sign in, use `ctx.auth.subject`
 * instead.
 */
const basket = z.uuid().describe("The id that start_basket returned");
const toUri = (id: string) => `basket://${id}`;

server.tool(
  "search_products",
  {
    title: "Search products",
    description: "Find products by words. Without words it lists all products.",
    input: z.object({ query: z.string().max(200).default("") }),
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  ({ query }) => searchProducts(query).map(describeProduct).join("\n") || "No product fits.",
);

server.tool(
  "recommend",
  {
    title: "Recommend",
    description: "Get advice on what to buy, for a wish in the customer's own words",
    input: z.object({ wish: z.string().min(1).max(1_000), euros: z.number().positive().optional() }),
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  ({ wish, euros }, ctx) => advise(wish, euros, ctx),
);

server.tool(
  "start_basket",
  {
    title: "Start a basket",
    description: "Start an empty basket. Keep the id that it returns.",
    output: z.object({ basket: z.uuid() }),
    annotations: { destructiveHint: false, openWorldHint: false },
  },
  async (_, ctx) => {
    const id = crypto.randomUUID();
    await ctx.env.BASKETS.getByName(id).create();
    return { basket: id };
  },
);

server.tool(
  "set_quantity",
  {
    title: "Set a quantity",
    description: "Set how many of a product are in the basket. 0 removes it.",
    input: z.object({ basket, product: z.string().max(100), quantity: z.number().int().min(0).max(99) }),
    annotations: { destructiveHint: false, idempotentHint: true, openWorldHint: false },
  },
  async ({ basket: id, product, quantity }, ctx) => {
    const contents = need(await ctx.env.BASKETS.getByName(id).setQuantity(product, quantity));
    server.resourceUpdated(toUri(id));
    return describeBasket(contents);
  },
);

server.tool(
  "show_basket",
  {
    title: "Show the basket",
    description: "Show what is in the basket, and its orders",
    input: z.object({ basket }),
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  async ({ basket: id }, ctx) => describeBasket(need(await ctx.env.BASKETS.getByName(id).view())),
);

server.tool(
  "checkout",
  {
    title: "Check out",
    description: "Order the basket. Asks the customer for the address and for agreement to the price.",
    input: z.object({ basket }),
    annotations: { destructiveHint: false, idempotentHint: true },
    // A request that a client sends twice joins the first one.
    once: true,
    // A client that cannot ask its user is told so before anything happens.
    requires: ["elicitation"],
  },
  async ({ basket: id }, ctx) => {
    const text = await checkOut(id, ctx);
    server.resourceUpdated(toUri(id));
    return text;
  },
);

/** The basket as a resource: a client that subscribes to it learns of changes that others make. */
server.resourceTemplate(
  "basket://{basket}",
  { name: "basket", title: "A basket", mimeType: "application/json" },
  async (_, variables, ctx) => {
    const id = basket.safeParse(variables.basket);
    const contents = id.success ? await ctx.env.BASKETS.getByName(id.data).view() : undefined;
    // Undefined means that there is no such resource.
    return contents && "lines" in contents ? JSON.stringify(contents) : undefined;
  },
);

function describeBasket(contents: Contents): string {
  const { lines, orders } = contents;
  const items = lines.map(
    ({ product, quantity }) => `${quantity} x ${findProduct(product)?.name ?? product} (${product})`,
  );
  const ordered = orders.map(
    ({ number, cents, receipt }) =>
      `Order ${number}, ${inEuros(cents)}: ${receipt ? `paid, receipt ${receipt}` : "unpaid"}`,
  );
  const state = findUnpaidOrder(contents) ? "The basket is being ordered. Call checkout to finish." : undefined;
  const total = lines.length > 0 ? `Total: ${inEuros(computeTotal(lines))}` : "The basket is empty.";
  return [...items, total, ...ordered, state].filter(Boolean).join("\n");
}
