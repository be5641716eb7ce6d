/** The shop assistant, with its tools and resources. index.ts serves it as a Worker, stdio.ts over standard input and output. */
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
  instructions: "Sells coffee and tea. First start a basket, keep its id, and pass the id to the other tools.",
});

/**
 * A basket is identified by an id, which the model keeps. That works in every protocol version, and beyond the conversation. The id is
 * random and gives access to the basket, so it is a secret. If your callers sign in, use `ctx.auth.subject` instead.
 */
const basket = z.uuid().describe("The id returned by start_basket");
const toUri = (id: string) => `basket://${id}`;

server.tool(
  "search_products",
  {
    title: "Search products",
    description: "Find products by keywords. An empty query lists all products.",
    input: z.object({ query: z.string().max(200).default("") }),
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  ({ query }) => searchProducts(query).map(describeProduct).join("\n") || "No product matches.",
);

server.tool(
  "recommend",
  {
    title: "Recommend",
    description: "Get advice on what to buy, based on a wish in the customer's own words",
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
    description: "Set the quantity of a product in the basket. 0 removes the product.",
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
    description: "Show the contents of the basket, and its orders",
    input: z.object({ basket }),
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  async ({ basket: id }, ctx) => describeBasket(need(await ctx.env.BASKETS.getByName(id).view())),
);

server.tool(
  "checkout",
  {
    title: "Check out",
    description: "Order the basket. Asks the customer for the address, and to agree to the price.",
    input: z.object({ basket }),
    annotations: { destructiveHint: false, idempotentHint: true },
    // If a client sends a request twice, the second one joins the first.
    once: true,
    // A client that cannot ask its user receives an error before anything happens.
    requires: ["elicitation"],
  },
  async ({ basket: id }, ctx) => {
    const text = await checkOut(id, ctx);
    server.resourceUpdated(toUri(id));
    return text;
  },
);

/** The basket as a resource. A client that subscribes to it is notified of changes by other clients. */
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
