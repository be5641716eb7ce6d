/** Headers for every request: an object, or a function that is called before each request. */
export type HeadersOption = Readonly<Record<string, string>> | (() => HeadersGiven | Promise<HeadersGiven>);

/** The headers that a function of {@link HeadersOption} returns. */
export type HeadersGiven = Readonly<Record<string, string>>;

/** The part of `fetch` that the client uses. */
export type FetchFunction = (url: string, init: RequestInit) => Promise<Response>;
