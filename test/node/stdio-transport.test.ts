import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import type { JSONRPCMessage } from "../../src/core/index.ts";
import { StdioServerTransport } from "../../src/node/index.ts";

async function start() {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const transport = new StdioServerTransport({ input, output });
  const errors: Error[] = [];
  transport.onerror = (error) => errors.push(error);
  await transport.start();
  return { transport, output, errors };
}

test("W1 an invalid message is refused before it is written, and onerror is told", async () => {
  const { transport, output, errors } = await start();
  const invalid = { jsonrpc: "2.0", id: null, method: "ping" } as unknown as JSONRPCMessage;
  await expect(transport.send(invalid)).rejects.toMatchObject({ code: "message-invalid" });
  expect(errors).toHaveLength(1);
  expect(output.read()).toBeNull();
  await transport.send({ jsonrpc: "2.0", id: 1, result: {} });
  expect(String(output.read())).toBe('{"jsonrpc":"2.0","id":1,"result":{}}\n');
});

test("W1 a send after close rejects and tells onerror; onclose comes once", async () => {
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
