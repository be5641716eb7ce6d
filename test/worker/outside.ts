/** Responses of other servers to the fetches of a Worker. */

export class Outside {
  readonly #answers = new Map<string, () => Response | Promise<Response>>();
  readonly requests: Request[] = [];

  /** The option `outbound` of `startWorker`. */
  readonly answer = (request: Request): Response | Promise<Response> => {
    this.requests.push(request);
    return this.#answers.get(request.url)?.() ?? new Response("not found", { status: 404 });
  };

  publish(url: string, answer: () => Response): void {
    this.#answers.set(url, answer);
  }

  /** Publishes a response that is held until `release()`. The URL with the query `?asked` answers when it was requested. */
  hold(url: string, answer: () => Response): Held {
    const [asked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const asking = `${url}?asked`;
    this.#answers.set(asking, () => asked.promise.then(() => new Response()));
    this.#answers.set(url, async () => {
      asked.resolve();
      await held.promise;
      return answer();
    });
    return { isAsked: asking, asked: asked.promise, release: held.resolve };
  }
}

export interface Held {
  /** A URL that answers when the held one was requested. */
  readonly isAsked: string;
  readonly asked: Promise<void>;
  readonly release: () => void;
}
