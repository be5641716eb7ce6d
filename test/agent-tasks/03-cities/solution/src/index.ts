import { McpServer } from "mcp-edge";
import { edge } from "mcp-edge/worker";
import { durable } from "mcp-edge/worker/durable";

const CITIES = [
  { country: "germany", city: "berlin", inhabitants: 3_677_472 },
  { country: "germany", city: "bremen", inhabitants: 566_573 },
  { country: "germany", city: "munich", inhabitants: 1_487_708 },
  { country: "georgia", city: "batumi", inhabitants: 172_100 },
  { country: "georgia", city: "tbilisi", inhabitants: 1_201_769 },
  { country: "peru", city: "lima", inhabitants: 10_092_000 },
];
const startingWith = (typed: string, values: readonly string[]) =>
  [...new Set(values)].filter((value) => value.startsWith(typed)).sort();

const server = new McpServer({ name: "cities", version: "1.0.0" });
server.resourceTemplate(
  "city://{country}/{city}",
  {
    name: "city",
    description: "A city with its inhabitants",
    mimeType: "application/json",
    complete: {
      country: (typed) =>
        startingWith(
          typed,
          CITIES.map(({ country }) => country),
        ),
      city: (typed, chosen) =>
        startingWith(
          typed,
          CITIES.filter(({ country }) => country === chosen.country).map(({ city }) => city),
        ),
    },
  },
  (_, variables) => {
    const found = CITIES.find(({ country, city }) => country === variables.country && city === variables.city);
    return found && JSON.stringify(found);
  },
);

// A template is not a list, so each city is a resource too.
for (const each of CITIES) {
  server.resource(`city://${each.country}/${each.city}`, { name: each.city, mimeType: "application/json" }, () =>
    JSON.stringify(each),
  );
}

const app = edge(server, { use: [durable()] });
export default app;
export class McpObject extends app.McpObject {}
