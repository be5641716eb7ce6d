import { createInterface } from "node:readline";
import { PassThrough, Writable } from "node:stream";
import { describe, expect, test } from "vitest";
import { DEFAULT_LIMITS, type JSONRPCMessage, type Limits, McpServer, serveTransport } from "../../src/core/index.ts";
import type { UnreadableMessage } from "../../src/core/protocol/transport.ts";
import { StdioServerTransport, serveStdio } from "../../src/node/index.ts";

async function start(options: { output?: Writable; limits?: Partial<Limits> } = {}) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const transport = new StdioServerTransport({ input, output: options.output ?? output });
  transport.limits = { ...DEFAULT_LIMITS, ...options.limits };
  const received: unknown[] = [];
  const unreadable: string[] = [];
  const heads: Pick<UnreadableMessage, "id" | "method">[] = [];
  transport.onmessage = (message) => received.push(message);
  transport.onunreadable = ({ reason, message: _, ...head }) => {
    unreadable.push(reason);
    heads.push(head);
  };
  const errors: Error[] = [];
  transport.onerror = (error) => errors.push(error);
  await transport.start();
  return { transport, input, output, errors, received, unreadable, heads };
}

async function end({ transport, input }: Awaited<ReturnType<typeof start>>): Promise<void> {
  input.end();
  await transport.ended;
}

test("an invalid message is refused before it is written, and onerror is called", async () => {
  const { transport, output, errors } = await start();
  const invalid = { jsonrpc: "2.0", id: null, method: "ping" } as unknown as JSONRPCMessage;
  await expect(transport.send(invalid)).rejects.toMatchObject({ code: "message-invalid" });
  expect(errors).toHaveLength(1);
  expect(output.read()).toBeNull();
  await transport.send({ jsonrpc: "2.0", id: 1, result: {} });
  expect(String(output.read())).toBe('{"jsonrpc":"2.0","id":1,"result":{}}\n');
});

test("a send after close rejects and calls onerror; onclose is called once", async () => {
  const { transport, errors } = await start();
  let closed = 0;
  transport.onclose = () => {
    closed += 1;
  };
  await transport.close();
  await transport.close();
  await transport.ended;
  await expect(transport.send({ jsonrpc: "2.0", id: 1, result: {} })).rejects.toMatchObject({
    code: "transport-closed",
  });
  expect([closed, errors.length]).toEqual([1, 1]);
});

/** An output whose every write fails. */
const failing = (error: Error) => new Writable({ write: (_chunk, _encoding, done) => done(error) });

test.each([
  ["null", null],
  ["a string", "ping"],
  ["a batch", [{ jsonrpc: "2.0", id: 1, result: {} }]],
  ["no version", { id: 1, result: {} }],
  ["both a result and an error", { jsonrpc: "2.0", id: 1, result: {}, error: { code: 1, message: "" } }],
  ["an error without a code", { jsonrpc: "2.0", id: 1, error: { message: "" } }],
  ["params that are an array", { jsonrpc: "2.0", method: "x", params: [] }],
  ["a result without an id", { jsonrpc: "2.0", result: {} }],
])("%s is refused before it is written", async (_, value) => {
  const { transport, output, errors } = await start();
  await expect(transport.send(value as JSONRPCMessage)).rejects.toMatchObject({ code: "message-invalid" });
  expect([errors.length, output.read()]).toEqual([1, null]);
});

test("a write that fails rejects, calls onerror once, and ends the transport", async () => {
  const error = Object.assign(new Error("the disk is full"), { code: "ENOSPC" });
  const { transport, errors } = await start({ output: failing(error) });
  let closed = 0;
  transport.onclose = () => {
    closed += 1;
  };
  await expect(transport.send({ jsonrpc: "2.0", id: 1, result: {} })).rejects.toBe(error);
  await transport.ended;
  await new Promise((resolve) => setTimeout(resolve, 10));
  expect(errors).toEqual([error]);
  expect(closed).toBe(1);
});

test("a reader that disconnects rejects the send and ends the transport, and is not reported as an error", async () => {
  const error = Object.assign(new Error("write EPIPE"), { code: "EPIPE" });
  const { transport, errors } = await start({ output: failing(error) });
  await expect(transport.sendText("{}")).rejects.toBe(error);
  await transport.ended;
  expect(errors).toEqual([]);
});

test("an input that fails calls onerror and ends the transport", async () => {
  const { transport, input, errors } = await start();
  const closed = new Promise<void>((resolve) => {
    transport.onclose = resolve;
  });
  input.destroy(new Error("the terminal is gone"));
  await closed;
  await transport.ended;
  expect(errors).toMatchObject([{ message: "the terminal is gone" }]);
});

test("after close no message is delivered, and no listener stays on the input", async () => {
  const { transport, input, received } = await start();
  await transport.close();
  input.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
  await new Promise((resolve) => setTimeout(resolve, 10));
  expect(received).toEqual([]);
  expect([input.listenerCount("data"), input.listenerCount("error")]).toEqual([0, 0]);
});

test("a close between two lines of one chunk stops after the first", async () => {
  const { transport, input, received } = await start();
  transport.onmessage = (message) => {
    received.push(message);
    void transport.close();
  };
  input.write('{"id":1}\n{"id":2}\n');
  await transport.ended;
  expect(received).toEqual([{ id: 1 }]);
});

describe("lines on stdio", () => {
  test("can be many in one chunk or one in many chunks, and stay in order", async () => {
    const open = await start();
    for (const chunk of ['{"a":1}\n{"a":2}\n{"a"', ":3", "}", '\n\r\n{"a":4}\r\n{"a":5}']) open.input.write(chunk);
    await end(open);
    expect(open.received).toEqual([1, 2, 3, 4, 5].map((a) => ({ a })));
    expect(open.unreadable).toEqual([]);
  });

  test("can arrive as strings or as bytes", async () => {
    const open = await start();
    open.input.setEncoding("utf8");
    open.input.write(Buffer.from('{"a":"é\u2028\u2029\u0085🌧"}\n'));
    await end(open);
    expect(open.received).toEqual([{ a: "é\u2028\u2029\u0085🌧" }]);
  });

  test("are limited in bytes, including the limit itself", async () => {
    const fits = '{"a":"éé"}';
    const open = await start({ limits: { bodyBytesMax: Buffer.byteLength(fits) } });
    open.input.write(`${fits}\n{"a":"ééé"}\n${fits}\n`);
    await end(open);
    expect(open.received).toHaveLength(2);
    expect(open.unreadable).toEqual(["too-large"]);
  });

  test("are reported once if they exceed the limit, and never as invalid JSON", async () => {
    const open = await start({ limits: { bodyBytesMax: 20 } });
    for (let n = 0; n < 10; n++) open.input.write("x".repeat(15));
    open.input.write('\n{"a":1}\n');
    open.input.write("y".repeat(21));
    await end(open);
    expect(open.unreadable).toEqual(["too-large", "too-large"]);
    expect(open.received).toEqual([{ a: 1 }]);
  });

  test.each(["oops", "{", "[1,]", "NaN", "{} {}", "'x'"])("are skipped if not JSON: %j", async (line) => {
    const open = await start();
    open.input.write(`${line}\n{"a":1}\n`);
    await end(open);
    expect(open.unreadable).toEqual(["not-json"]);
    expect(open.received).toEqual([{ a: 1 }]);
  });
});

describe("the report of a line that is too large", () => {
  const filler = `["${String.raw`\\\"]}`.repeat(2_000)}", {"id": 9, "method": "nested"}]`;
  test.each([
    [
      "before the large member",
      `{"jsonrpc":"2.0","id":7,"method":"a/b","params":{"x":${filler}}}`,
      { id: 7, method: "a/b" },
    ],
    [
      "after the large member",
      `{"params":{"x":${filler}},"method":"a/b","jsonrpc":"2.0","id":"s\\"7"}`,
      { id: 's"7', method: "a/b" },
    ],
    ["with spaces", `\t{ "id" : -1 ,"params" : ${filler.replaceAll(",", " ,\t")} }\r`, { id: -1 }],
    ["of a response", `{"jsonrpc":"2.0","id":0,"result":{"x":${filler}}}`, { id: 0 }],
    ["of a notification", `{"jsonrpc":"2.0","method":"n","params":{"x":${filler}}}`, { method: "n" }],
    ["unless the id is invalid", `{"id":1.5,"method":"n","params":{"x":${filler}}}`, { method: "n" }],
    ["unless it is a batch", `[{"id":1,"method":"n","params":{"x":${filler}}}]`, {}],
    ["unless it is not JSON", `{"id":1,"method":"n","params":{"x":${filler}}`, {}],
    ["unless a member is large as well", `{"id":1,"method":"${"n".repeat(5_000)}"}`, {}],
  ])("has the id and the method %s", async (_, line, head) => {
    // In one piece, and byte by byte.
    for (const size of [line.length, 1]) {
      const open = await start({ limits: { bodyBytesMax: 100 } });
      const bytes = Buffer.from(`${line}\n`);
      for (let at = 0; at < bytes.length; at += size) open.input.write(bytes.subarray(at, at + size));
      await end(open);
      expect(open.heads).toEqual([head]);
    }
  });
});

test("a message that JSON cannot express is refused, and onerror is called", async () => {
  const { transport, output, errors } = await start();
  let deep: unknown = [];
  for (let depth = 0; depth < 20_000; depth += 1) deep = [deep];
  await expect(transport.send({ jsonrpc: "2.0", id: 1, result: { deep } })).rejects.toMatchObject({
    code: "message-invalid",
  });
  expect([errors.length, output.read()]).toEqual([1, null]);
});

test("data that arrives while reading is paused is read afterwards", async () => {
  const { transport, input, received } = await start();
  transport.pause();
  input.write('{"a":1}\n');
  await new Promise((resolve) => setImmediate(resolve));
  expect(received).toEqual([]);
  transport.resume();
  await expect.poll(() => received).toEqual([{ a: 1 }]);
  await transport.close();
  // A transport that is closed stays so.
  transport.resume();
  input.write('{"a":2}\n');
  await new Promise((resolve) => setImmediate(resolve));
  expect(received).toEqual([{ a: 1 }]);
});

describe("serveStdio() with streams of the author", () => {
  test("serves requests, passes the env to handlers, and resolves at the end of input; the output stays open", async () => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const server = new McpServer<{ greeting: string }>({ name: "streams", version: "1.0.0" });
    server.tool("greet", {}, (_, ctx) => ctx.env.greeting);
    const served = serveStdio(server, { input, output, env: { greeting: "Moin" } });
    input.end('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet"}}');
    await served;
    expect(JSON.parse(String(output.read()))).toMatchObject({ id: 1, result: { content: [{ text: "Moin" }] } });
    expect(output.writableEnded).toBe(false);
  });

  test("does not change process.stdout", async () => {
    const { write } = process.stdout;
    const [input, output] = [new PassThrough(), new PassThrough()];
    const served = serveStdio(new McpServer({ name: "streams", version: "1.0.0" }), { input, output });
    expect(process.stdout.write).toBe(write);
    input.end();
    await served;
  });
});

test("a line nested too deeply is skipped as a whole; brackets in strings and in other lines do not count", async () => {
  const { input, received, unreadable } = await start({ limits: { bodyDepthMax: 2 } });
  input.write('{"a":{"b":');
  input.write('{}}}\n{"a":"{{{{"}\n{"b":[]}\n{"c":{}}\n');
  await expect.poll(() => received).toEqual([{ a: "{{{{" }, { b: [] }, { c: {} }]);
  expect(unreadable).toEqual(["too-deep"]);
});

test("a line that is not UTF-8 is treated as invalid JSON, as over HTTP", async () => {
  const { input, received, unreadable } = await start();
  input.write(Buffer.from([0x22, 0xff, 0x22, 0x0a]));
  input.write('"\u00fc"\n"ü"\n');
  await expect.poll(() => received).toEqual(["ü", "ü"]);
  expect(unreadable).toEqual(["not-json"]);
});

test.each([
  ["a byte order mark, then a lone byte", '\xef\xbb\xbf"\xff"'],
  ["a truncated character of four bytes", '"\xf0\x9f\x98"'],
  ["a truncated character at the end", '"\xf0\x9f\x98'],
  ["an overlong form", '"\xc0\xaf"'],
  ["a pair of encoded surrogates", '"\xed\xa0\xbd\xed\xb8\x80"'],
])("a line with %s is treated as invalid JSON, and the next line is read", async (_, line) => {
  const { input, received, unreadable } = await start();
  input.write(Buffer.from(`${line}\n`, "latin1"));
  input.write('\ufeff"a\ufffdb😀"\n');
  await expect.poll(() => received).toEqual(["a\ufffdb😀"]);
  expect(unreadable).toEqual(["not-json"]);
});

test("a line with too many values is skipped, wherever it was split, and the next line is read", async () => {
  const { input, received, unreadable } = await start({ limits: { bodyValuesMax: 4 } });
  input.write("[1,2");
  input.write(',3,{"a":1},5]\n{"a":",,,,,,,,"}\n[1,2,3,4]\n[1,2,3,4,5]\n{"a":1,"b":[1,2]}\n');
  await expect.poll(() => received).toEqual([{ a: ",,,,,,,," }, [1, 2, 3, 4], { a: 1, b: [1, 2] }]);
  expect(unreadable).toEqual(["too-many-values", "too-many-values"]);
});

test("connect() passes its limits to the transport, which has no other limits", async () => {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const transport = new StdioServerTransport({ input, output });
  const onError = () => undefined;
  const connection = await serveTransport(new McpServer({ name: "limits", version: "1.0.0" }), transport, {
    limits: { bodyBytesMax: 50 },
    onError,
  });
  input.write(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}${" ".repeat(50)}\n`);
  const refused = { code: -32600, message: "A line is larger than 50 bytes.", data: { reason: "too-large" } };
  const answer = async () => JSON.parse(String(output.read()));
  await expect.poll(answer).toEqual({ jsonrpc: "2.0", id: 1, error: refused });
  await connection.close();
});

test("an answer to a question that is too large to be read makes the question fail, and the call continues", async () => {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const server = new McpServer<object>({ name: "asking", version: "1.0.0" });
  server.tool("ask", {}, async (_, ctx) => {
    const asked = ctx.elicit("Name?", { type: "object", properties: { name: { type: "string" } } });
    return asked.then(
      () => "answered",
      (error) => String(error.message),
    );
  });
  const served = serveStdio(server, { input, output, env: {}, limits: { bodyBytesMax: 500 } });
  const say = (message: object) => input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const lines = createInterface({ input: output })[Symbol.asyncIterator]();
  const heard = async () => JSON.parse((await lines.next()).value as string);
  const clientInfo = { name: "host", version: "1.0.0" };
  const capabilities = { elicitation: {} };
  say({ id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities, clientInfo } });
  await heard();
  say({ id: 2, method: "tools/call", params: { name: "ask", arguments: {} } });
  const { id } = await heard();
  say({ id, result: { action: "accept", content: { name: "x".repeat(600) } } });
  expect(await heard()).toMatchObject({
    id: 2,
    result: { content: [{ text: expect.stringContaining("larger than 500") }] },
  });
  input.end();
  await served;
});
