import type { TestWorker } from "mcp-edge/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connectTo, startProject, VERSIONS } from "../harness.ts";

let worker: TestWorker;
beforeAll(async () => {
  worker = await startProject();
});
afterAll(() => worker?.stop());

const CITIES = [
  "city://georgia/batumi",
  "city://georgia/tbilisi",
  "city://germany/berlin",
  "city://germany/bremen",
  "city://germany/munich",
  "city://peru/lima",
];

describe.each(VERSIONS)("in %s", (version) => {
  const open = () => connectTo(worker, { protocolVersions: [version] });

  test("each city is listed and can be read", async () => {
    const client = await open();
    expect((await client.resources().all()).map(({ uri }) => uri).sort()).toEqual(CITIES);
    for (const uri of CITIES) {
      const { contents } = await client.readResource(uri);
      const [country, city] = uri.slice("city://".length).split("/");
      expect(contents).toMatchObject([{ uri, mimeType: "application/json" }]);
      const { text = "" } = contents[0] as { text?: string };
      expect(JSON.parse(text)).toEqual({ country, city, inhabitants: expect.any(Number) });
    }
    const { contents } = await client.readResource("city://peru/lima");
    expect(JSON.parse((contents[0] as { text: string }).text)).toMatchObject({ inhabitants: 10_092_000 });
    await client.close();
  });

  test("a template completes countries, and the cities of the chosen country", async () => {
    const client = await open();
    const templates = await client.resourceTemplates().all();
    expect(templates).toHaveLength(1);
    const uri = templates[0]?.uriTemplate ?? "";
    const [, country = "", city = ""] = /^city:\/\/\{(\w+)\}\/\{(\w+)\}$/.exec(uri) ?? [];
    expect([country, city], uri).not.toContain("");
    const template = { type: "ref/resource", uri } as const;
    const complete = async (name: string, typed: string, context?: Record<string, string>) =>
      (await client.complete(template, name, typed, context && { context })).values;
    expect(await complete(country, "ge")).toEqual(["georgia", "germany"]);
    expect(await complete(country, "p")).toEqual(["peru"]);
    expect(await complete(country, "x")).toEqual([]);
    expect(await complete(city, "b", { [country]: "germany" })).toEqual(["berlin", "bremen"]);
    expect(await complete(city, "b", { [country]: "georgia" })).toEqual(["batumi"]);
    expect(await complete(city, "b", { [country]: "constructor" })).toEqual([]);
    await client.close();
  });

  test.each([
    "city://germany/tbilisi",
    "city://atlantis/lima",
    "city://germany/constructor",
    "city://__proto__/toString",
  ])("%s is an error", async (uri) => {
    const client = await open();
    const failure = await client.readResource(uri).then(
      () => "it was read",
      (error: Error) => error.message,
    );
    expect(failure).not.toMatch(/it was read|internal error/i);
    await client.close();
  });
});
