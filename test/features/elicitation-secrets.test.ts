import * as fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { findSecretFields } from "../../src/core/ask/secret-fields.ts";
import { type ElicitationSchema, elicitQuestion, inputRequired, KitError, McpServer } from "../../src/core/index.ts";
import { closePeers, type Json, MODERN_VERSION, openPeer, resultOf } from "./peer.ts";

afterEach(closePeers);

const text = { type: "string" } as const;
const formOf = (properties: { [name: string]: Json }): ElicitationSchema => ({ type: "object", properties });
const options = { capabilities: { elicitation: {} }, onRequest: () => ({ action: "decline" }) };

describe.each(["2025-06-18", "2025-11-25"])("forms in %s", (version) => {
  test("a form that asks for a secret is still sent, and reported once for its tool with the property", async () => {
    const reports: unknown[] = [];
    const server = new McpServer({
      name: "login",
      version: "1.0.0",
      onError: (error, where) => void reports.push([error, where.tool]),
    });
    for (const tool of ["login", "renew"]) {
      server.tool(tool, {}, async (_, ctx) => {
        return (await ctx.elicit("Who are you?", formOf({ user: text, apiKey: text }))).action;
      });
    }
    const peers = [await openPeer(server, version, options), await openPeer(server, version, options)];
    for (const peer of peers) {
      for (const name of ["login", "login", "renew"]) {
        expect(resultOf(await peer.request("tools/call", { name })).isError).toBeUndefined();
      }
      expect(peer.questions).toHaveLength(3);
      expect(peer.questions[0]?.params?.requestedSchema).toEqual(formOf({ user: text, apiKey: text }));
    }
    expect(reports).toEqual([
      [expect.any(KitError), "login"],
      [expect.any(KitError), "renew"],
    ]);
    expect(reports).toMatchObject([
      [{ code: "elicitation-secret" }, "login"],
      [{}, "renew"],
    ]);
    const [[error]] = reports as [[KitError]];
    expect(error.message).toMatch(/"apiKey".*elicitUrl/);
    expect(error.message).not.toContain('"user"');
  });

  test("another form of the same tool is reported too; inputRequired and prompts are checked as well", async () => {
    const server = new McpServer({ name: "login", version: "1.0.0" })
      .tool("login", {}, async (_, ctx) => {
        await ctx.elicit("One?", formOf({ password: text }));
        await ctx.elicit("Two?", formOf({ pin: text }));
        return "";
      })
      .prompt("login", {}, (_, ctx) =>
        ctx.inputResponses.who ? "hello" : inputRequired({ who: elicitQuestion("Who?", formOf({ token: text })) }),
      );
    const peer = await openPeer(server, version, options);
    resultOf(await peer.request("tools/call", { name: "login" }));
    resultOf(await peer.request("prompts/get", { name: "login" }));
    expect(peer.reports.map((error) => (error as KitError).message)).toEqual([
      expect.stringMatching(/tool "login".*"password"/),
      expect.stringMatching(/tool "login".*"pin"/),
      expect.stringMatching(/prompt "login".*"token"/),
    ]);
  });

  test("a form without secrets is not reported", async () => {
    const server = new McpServer({ name: "login", version: "1.0.0" }).tool("login", {}, async (_, ctx) => {
      return (await ctx.elicit("Who?", formOf({ name: text, tokenizer: text }))).action;
    });
    const peer = await openPeer(server, version, options);
    resultOf(await peer.request("tools/call", { name: "login" }));
    expect([peer.questions.length, peer.reports]).toEqual([1, []]);
  });
});

describe("forms in 2026-07-28", () => {
  const newServer = () =>
    new McpServer({ name: "login", version: "1.0.0" })
      .tool("login", {}, async (_, ctx) => {
        return (await ctx.elicit("Who are you?", formOf({ user: text, apiKey: text }))).action;
      })
      .prompt("login", {}, (_, ctx) =>
        ctx.inputResponses.who ? "hello" : inputRequired({ who: elicitQuestion("Who?", formOf({ token: text })) }),
      )
      .tool("plain", {}, async (_, ctx) => (await ctx.elicit("Who?", formOf({ name: text }))).action);

  test("are sent even if they ask for a secret, and reported once for each tool or prompt, whether asked in the middle or returned", async () => {
    const peer = await openPeer(newServer(), MODERN_VERSION, options);
    for (const method of ["tools/call", "tools/call", "prompts/get"]) {
      expect(resultOf(await peer.request(method, { name: "login" }))).toMatchObject({ resultType: "input_required" });
    }
    expect(peer.reports.map((error) => (error as KitError).message)).toEqual([
      expect.stringMatching(/tool "login".*"apiKey".*elicitUrl/),
      expect.stringMatching(/prompt "login".*"token"/),
    ]);
  });

  test("are not reported if they have no secrets or cannot be sent", async () => {
    const peer = await openPeer(newServer(), MODERN_VERSION, options);
    expect(resultOf(await peer.request("tools/call", { name: "plain" }))).toMatchObject({
      resultType: "input_required",
    });
    const unable = await openPeer(newServer(), MODERN_VERSION);
    expect(await unable.request("tools/call", { name: "login" })).toMatchObject({ error: { code: -32021 } });
    expect([...peer.reports, ...unable.reports]).toEqual([]);
  });
});

describe("findSecretFields", () => {
  test.each([
    "password",
    "Password",
    "user_password",
    "newPassWord",
    "passphrase",
    "pwd",
    "secret",
    "clientSecret",
    "token",
    "access-token",
    "apikey",
    "api_key",
    "apiKey",
    "APIKey",
    "API_KEY",
    "X-API-Key",
    "privateKey",
    "credentials",
    "cardNumber",
    "card_no",
    "creditCard",
    "cvv",
    "pin",
    "PIN",
    "otp",
  ])("finds %s, both as a name and as a title", (name) => {
    expect(findSecretFields(formOf({ [name]: text }))).toEqual([name]);
    expect(findSecretFields(formOf({ field: { ...text, title: `Your ${name}` } }))).toEqual(["field"]);
  });

  test.each([
    "name",
    "email",
    "tokenizer",
    "secretary",
    "spinner",
    "shipping",
    "keyboard",
    "passenger",
    "bypass",
    "card",
  ])("does not find %s", (name) => expect(findSecretFields(formOf({ [name]: text }))).toEqual([]));

  test.each<[string, Json, boolean]>([
    ["maxTokens", { type: "integer" }, false],
    ["cardNumber", { type: "integer" }, true],
    ["pin", { type: "number" }, true],
    ["hasPassword", { type: "boolean" }, false],
    ["token", { type: "string", enum: ["ETH", "BTC"] }, false],
    ["token", { type: "string", oneOf: [{ const: "ETH", title: "Ether" }] }, false],
    ["tokens", { type: "array", items: { type: "string", enum: ["ETH"] } }, false],
  ])("checks the property %s with schema %j: %j", (name, property, isSecret) => {
    expect(findSecretFields(formOf({ [name]: property })).length > 0).toBe(isSecret);
  });

  test("never throws, and returns only existing properties", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.dictionary(fc.string(), fc.jsonValue()), (any, properties) => {
        expect(findSecretFields(any)).toEqual(expect.any(Array));
        for (const name of findSecretFields({ type: "object", properties })) expect(properties).toHaveProperty([name]);
      }),
    );
  });
});
