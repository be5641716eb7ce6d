/** Responses as JSON or as a stream, and limits on bodies, with peers that violate the protocol. */
import { describe, expect, test } from "vitest";
import { readBody } from "../../src/http/body.ts";
import { type Run, respond } from "../../src/http/respond.ts";
import { resolveHttpLimits } from "../../src/http/response-times.ts";

describe("responses", () => {
  test("a response to a slow client omits notifications, but neither questions nor the result", async () => {
    const run: Run = async (emit) => {
      for (let id = 1; id <= 3; id += 1) {
        emit({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: 1, progress: id } });
        emit({ jsonrpc: "2.0", id, method: "ping" });
      }
      return { text: "the answer", status: 200 };
    };
    const answer = await respond(run, {
      form: "sse",
      limits: resolveHttpLimits({ limits: { streamBufferBytesMax: 150 } }),
    });
    const text = await answer.text();
    expect(text.match(/"progress":\d/g)).toEqual(['"progress":1']);
    expect(text.match(/"id":\d/g)).toEqual(['"id":1', '"id":2', '"id":3']);
    expect(text).toContain("the answer");
  });

  test("the response to a notification is 202 without a body or a content type", async () => {
    const run: Run = async () => ({ text: undefined, status: 202 });
    const answer = await respond(run, { form: "either", limits: resolveHttpLimits({}) });
    expect([answer.status, answer.body, answer.headers.get("content-type")]).toEqual([202, null, null]);
  });
});

describe("readBody", () => {
  const post = (body: BodyInit, headers: Record<string, string> = {}) =>
    new Request("https://server.example/", { method: "POST", body, headers, duplex: "half" } as RequestInit);

  test("refuses a body that exceeds both its announced length and the limit", async () => {
    const limits = resolveHttpLimits({ limits: { bodyBytesMax: 10 } });
    const body = JSON.stringify("x".repeat(20));
    const { refusal } = await readBody(post(body, { "Content-Length": "5" }), limits);
    expect(refusal).toEqual({ reason: "body-too-large", bytesMax: 10 });
  });

  test("refuses a chunked body that ends within a character", async () => {
    const bytes = Uint8Array.of(...new TextEncoder().encode("{}"), 0xe2, 0x82);
    const body = new ReadableStream({
      start: (controller) => {
        controller.enqueue(bytes);
        controller.close();
      },
    });
    expect(await readBody(post(body), resolveHttpLimits({}))).toEqual({ refusal: { reason: "not-json" } });
  });
});
