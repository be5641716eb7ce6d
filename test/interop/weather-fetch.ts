/**
 * `node --import weather-fetch.ts?api=<origin>`: every fetch of the process goes to a stand-in on loopback, with the
 * intended URL in a header. Redirects are resolved against the intended URL, because that host does not exist here.
 */
import { MEANT_FOR } from "../harness/weather-api.ts";

const api = new URL(import.meta.url).searchParams.get("api") ?? "";
const send = globalThis.fetch;
const REDIRECTS_MAX = 20;

globalThis.fetch = async (input, init = {}) => {
  let url = new URL(input instanceof Request ? input.url : input);
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
    const headers = new Headers(init.headers);
    headers.set(MEANT_FOR, url.href);
    const response = await send(api, { ...init, headers, redirect: "manual" });
    const location = response.headers.get("location");
    if (location === null || (init.redirect ?? "follow") !== "follow") return response;
    await response.body?.cancel();
    url = new URL(location, url);
  }
  throw new TypeError("fetch failed: too many redirects");
};
