/** The reference server contains the examples that are known from the protocol's documentation. */
import { afterEach, describe, expect, test } from "vitest";
import { createReferenceServer } from "../../src/reference/server.ts";
import { ALL_VERSIONS, closePeers, MODERN_VERSION, openPeer, resultOf } from "./peer.ts";

afterEach(closePeers);

describe.each(ALL_VERSIONS)("the examples in %s", (version) => {
  const open = () => openPeer(createReferenceServer(), version);

  test.each([
    ["echo", { message: "hello" }, "hello"],
    ["calculate_sum", { a: 5, b: 3 }, "8"],
    ["add", { a: 5, b: 3 }, '{"sum":8}'],
    ["calculate_stats", { numbers: [4, 1, 3, 2] }, '{"mean":2.5,"median":2.5,"count":4}'],
    ["calculate_stats", { numbers: [9, 1, 2] }, '{"mean":4,"median":2,"count":3}'],
    ["get_weather", { location: "Berlin" }, '{"temperature":11,"conditions":"partly cloudy","units":"metric"}'],
    [
      "get_weather",
      { location: "Berlin", units: "imperial" },
      '{"temperature":52,"conditions":"partly cloudy","units":"imperial"}',
    ],
  ])("the tool %s called with %j returns %s", async (name, args, text) => {
    const peer = await open();
    const result = resultOf(await peer.request("tools/call", { name, arguments: args }));
    expect(result).toMatchObject({ content: [{ type: "text", text }] });
    const isObject = text.startsWith("{");
    if (isObject && version >= "2025-06-18") expect(result.structuredContent).toEqual(JSON.parse(text));
    else expect(result).not.toHaveProperty("structuredContent");
  });

  test("the tool calculate_stats refuses invalid numbers, naming the field", async () => {
    const peer = await open();
    const call = { name: "calculate_stats", arguments: { numbers: [1, "two"] } };
    const result = resultOf(await peer.request("tools/call", call));
    expect(result).toMatchObject({ isError: true });
    expect(JSON.stringify(result.content)).toContain("numbers");
  });

  test.each([
    ["git-commit", { changes: "- old\n+ new" }, /commit message.*- old/s],
    ["explain-code", { code: "a + b" }, /a \+ b/],
    ["explain-code", { code: "a + b", language: "python" }, /python code.*a \+ b/s],
    ["analyze-code", { language: "rust" }, /rust code/],
  ])("the prompt %s with the arguments %j returns one message of the user", async (name, args, text) => {
    const peer = await open();
    const result = resultOf(await peer.request("prompts/get", { name, arguments: args }));
    expect(result.messages).toMatchObject([{ role: "user", content: { type: "text" } }]);
    const [message] = result.messages as [{ content: { text: string } }];
    expect(message.content.text).toMatch(text);
  });

  test("the prompt debug-error returns a conversation of three messages", async () => {
    const peer = await open();
    const result = resultOf(await peer.request("prompts/get", { name: "debug-error", arguments: { error: "ENOENT" } }));
    const roles = (result.messages as { role: string }[]).map(({ role }) => role);
    expect(roles).toEqual(["user", "assistant", "user"]);
    expect(JSON.stringify(result.messages)).toContain("ENOENT");
  });

  test("the prompt analyze-project embeds recent logs and the file", async () => {
    const peer = await open();
    const args = { timeframe: "2h", fileUri: "file:///logs/app.log" };
    const result = resultOf(await peer.request("prompts/get", { name: "analyze-project", arguments: args }));
    expect(result.messages).toMatchObject([
      { content: { type: "text" } },
      { content: { type: "resource", resource: { uri: "logs://recent?timeframe=2h", mimeType: "text/plain" } } },
      { content: { type: "resource", resource: { uri: "file:///logs/app.log", mimeType: "text/plain" } } },
    ]);
  });

  test("the application log is listed and read", async () => {
    const peer = await open();
    const listed = resultOf(await peer.request("resources/list")).resources as { uri: string }[];
    expect(listed.map(({ uri }) => uri)).toContain("file:///logs/app.log");
    const read = resultOf(await peer.request("resources/read", { uri: "file:///logs/app.log" }));
    expect(read).toMatchObject({ contents: [{ uri: "file:///logs/app.log", mimeType: "text/plain" }] });
  });

  test("the argument language has completions", async () => {
    const peer = await open();
    const params = { ref: { type: "ref/prompt", name: "analyze-code" }, argument: { name: "language", value: "py" } };
    expect(resultOf(await peer.request("completion/complete", params))).toMatchObject({
      completion: { values: ["python"] },
    });
    expect(version === MODERN_VERSION || peer.initialized !== undefined).toBe(true);
  });
});
