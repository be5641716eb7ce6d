/** The headers of every request: fixed, or computed for each. */
export type HeadersOption = Readonly<Record<string, string>> | (() => HeadersGiven | Promise<HeadersGiven>);

/** Headers as a function returns them. */
export type HeadersGiven = Readonly<Record<string, string>>;

/** The part of `fetch` that the client uses. */
export type FetchFunction = (url: string, init: RequestInit) => Promise<Response>;
