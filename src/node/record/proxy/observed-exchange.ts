/**
 * Reports one exchange of a connection to the recorder.
 *
 * @module
 */
import type { Cut } from "../../../recorder/assemble/wire.ts";
import type { WireExchange } from "../../../recorder/assemble/wire-exchange.ts";
import { type BodyReader, readBody, readEvents } from "./body-reader.ts";
import { headerOf, type MessageHead, parseStatus } from "./http-reader.ts";

/** An exchange whose bytes pass the proxy. */
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
    this.#requestBody.end((body) => {
      if (body.kind === "json") this.wire.requestBody({ json: body.json, characters: body.bytes });
      else if (body.bytes > 0) this.wire.requestBody({ bytes: body.bytes });
    });
  }

  response(head: MessageHead): void {
    this.wire.response(parseStatus(head.startLine) ?? 0, head.headers);
    const isStream = /^\s*text\/event-stream\b/i.test(headerOf(head, "content-type") ?? "");
    const { wire } = this;
    this.#responseBody = isStream
      ? readEvents(head, {
          message: (json, characters, eventId) => wire.message(json, Date.now(), characters, eventId),
          event: (eventId) => wire.event(eventId),
        })
      : readBody(head);
  }

  responseData(data: readonly Buffer[]): void {
    for (const each of data) this.#responseBody?.read(each);
  }

  responseEnd(): void {
    const nowMs = Date.now();
    if (!this.#responseBody) {
      this.wire.complete(nowMs);
      return;
    }
    this.#responseBody.end((body) => {
      if (body.kind === "json") this.wire.responseBody(body.json, nowMs, body.bytes);
      this.wire.complete(nowMs);
    });
  }

  cut(how: Cut): void {
    this.wire.cut(how, Date.now());
  }
}
