/** The products of the shop. Replace this list, or read the products from your own service. */

export interface Product {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** The price in cents, as a whole number, because sums of fractions are not exact. */
  readonly cents: number;
}

const PRODUCTS: readonly Product[] = [
  { id: "espresso", name: "Espresso beans, 500 g", description: "dark coffee with notes of chocolate", cents: 1290 },
  { id: "filter", name: "Filter coffee, 500 g", description: "light coffee from Ethiopia, fruity", cents: 1490 },
  { id: "decaf", name: "Decaf beans, 250 g", description: "coffee without caffeine, for the evening", cents: 890 },
  { id: "sencha", name: "Sencha, 100 g", description: "green tea from Japan, fresh", cents: 950 },
  { id: "darjeeling", name: "Darjeeling, 100 g", description: "black tea, first flush, flowery", cents: 1150 },
  {
    id: "grinder",
    name: "Hand grinder",
    description: "steel burrs for coffee beans, a present that lasts",
    cents: 5900,
  },
  { id: "teapot", name: "Glass teapot, 1 l", description: "with a strainer for loose tea", cents: 3400 },
  { id: "mug", name: "Stoneware mug", description: "for tea or coffee, 300 ml", cents: 1600 },
];

const byId = new Map(PRODUCTS.map((product) => [product.id, product]));

export const productIds: readonly string[] = PRODUCTS.map(({ id }) => id);

export function findProduct(id: string): Product | undefined {
  return byId.get(id);
}

/** Returns the products that match a word of the query, best match first; all products for an empty query. */
export function searchProducts(query: string, centsMax = Number.POSITIVE_INFINITY): Product[] {
  const words = query.toLowerCase().match(/\p{L}{3,}/gu) ?? [];
  const affordable = PRODUCTS.filter(({ cents }) => cents <= centsMax);
  if (words.length === 0) return affordable;
  const score = ({ name, description }: Product) => {
    const text = `${name} ${description}`.toLowerCase();
    return words.filter((word) => text.includes(word)).length;
  };
  return affordable.filter((product) => score(product) > 0).sort((a, b) => score(b) - score(a));
}

export const inEuros = (cents: number): string => `${(cents / 100).toFixed(2)} EUR`;

export const describeProduct = ({ id, name, description, cents }: Product): string =>
  `${id}: ${name}, ${inEuros(cents)} (${description})`;
