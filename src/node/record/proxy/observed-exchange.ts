/**
 * Reports one exchange of a connection to the recorder.
 *
 * @module
 */
import type { Cut } from "../../../recorder/assemble/wire.ts";
import type { WireExchange } from "../../../recorder/assemble/wire-exchange.ts";
import { type BodyReader, readBody, readEvents } from "./body-reader.ts";
import { headerOf, type MessageHead, parseStatus } from "./http-reader.ts";

/** An exchange that passes through the proxy. Its bytes are forwarded even if recording them fails. */
export class ObservedExchange {
  readonly wire: WireExchange;
  readonly #requestBody: BodyReader;
  #responseBody: BodyReader | undefined;

  constructor(wire: WireExchange, head: MessageHead) {
    this.wire = wire;
    this.#requestBody = readBody(head);
  }

  requestData(data: readonly Buffer[]): void {
    for (const each of data) this.#requestBody.read(each);
  }

  requestEnd(): void {
    this.#requestBody.end((body) =>
      attempt(() => {
        if (body.kind === "json") this.wire.requestBody({ json: body.json, characters: body.bytes });
        else if (body.bytes > 0) this.wire.requestBody({ bytes: body.bytes });
      }),
    );
  }

  response(head: MessageHead): void {
    attempt(() => this.wire.response(parseStatus(head.startLine) ?? 0, head.headers));
    const isStream = /^\s*text\/event-stream\b/i.test(headerOf(head, "content-type") ?? "");
    const { wire } = this;
    this.#responseBody = isStream
      ? readEvents(head, {
          message: (json, size, eventId) => attempt(() => wire.message(json, Date.now(), size, eventId)),
          event: (eventId) => attempt(() => wire.event(eventId)),
        })
      : readBody(head);
  }

  responseData(data: readonly Buffer[]): void {
    for (const each of data) this.#responseBody?.read(each);
  }

  responseEnd(): void {
    const nowMs = Date.now();
    const complete = () => attempt(() => this.wire.complete(nowMs));
    if (!this.#responseBody) {
      complete();
      return;
    }
    this.#responseBody.end((body) => {
      if (body.kind === "json") attempt(() => this.wire.responseBody(body.json, nowMs, body.bytes));
      complete();
    });
  }

  cut(how: Cut): void {
    this.#requestBody.discard();
    // A client that has half-closed the connection can still read the response.
    if (how !== "cut-by-client") this.#responseBody?.discard();
    attempt(() => this.wire.cut(how, Date.now()));
  }
}

/** Runs a function of the recorder. Its errors must not end the exchange or this process. */
function attempt(record: () => unknown): void {
  try {
    record();
  } catch (error) {
    console.error("mcp-edge: a part of an exchange could not be recorded", error);
  }
}
