/**
 * A scope that a resource needs cannot be avoided by another spelling of its URI. The laws are checked against a whole
 * endpoint: needs, definitions, templates and a provider.
 */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { McpServer } from "../../src/core/index.ts";
import type { JsonObject } from "../../src/core/protocol/jsonrpc.ts";
import { normalUri, uriKey } from "../../src/core/protocol/uri.ts";
import { joinPath } from "../../src/safe/index.ts";
import { bearer } from "../../src/worker/access/auth/index.ts";
import { anonymous, edge } from "../../src/worker/index.ts";
import { requestOf } from "../http/messages.ts";

const RESERVED = ":/?#[]@!$&'()*+,;=";

/** The resources that need a scope, and the strings that only their readers return. */
const PROTECTED = [
  "note://secret",
  "deep://a/secret",
  "deep://a@b/c,d/[x]",
  "find://all?level=top&when=now",
  "kept://k",
  "file:///logs/today",
  "file:///keys/",
];

function makeServer(): McpServer {
  const server = new McpServer({ name: "spellings", version: "1.0.0" });
  server.resource("note://secret", {}, () => "exact");
  server.resourceTemplate("note://{name}", {}, (_, variables) => JSON.stringify(["note", variables]));
  server.resourceTemplate("deep://{+path}", {}, (_, variables) => JSON.stringify(["deep", variables]));
  server.resourceTemplate("file:///{+path}", {}, (_, { path }) => joinPath("files", String(path)));
  server.resourceTemplate("find://all{?level,when}", {}, (_, variables) => JSON.stringify(["find", variables]));
  // A provider that parses URIs, as `URL` does it.
  server.resourceProvider({
    read: (uri) => {
      try {
        return decodeURIComponent(new URL(uri).href.replace(/#.*$/s, ""));
      } catch {
        return undefined;
      }
    },
  });
  return server;
}

/** A token with every scope. */
const ALL = "top+private+column+level+never";

const auth = bearer({
  issuer: "https://login.example.com",
  verify: (token) => ({ subject: "alice", scopes: token.split("+") }),
  needs: {
    resources: {
      ...Object.fromEntries(PROTECTED.map((uri) => [uri, ["top"]])),
      "deep://private/{name}": ["private"],
      "deep://private/{table}:{column}": ["column"],
      "kept://private/{+path}": ["private"],
      "file:///{+path}": [],
      "file:///private/{+path}": ["private"],
      "file:///public": [],
      "file:///public/": ["top"],
      "find://all?level=a{&when}": ["level"],
      "find://all?when=never{&level}": ["never"],
    },
  },
});
const app = edge(makeServer(), { use: [auth] });

const JSON_ONLY = { "content-type": "application/json", accept: "application/json" };

/** Reads a resource, and returns the status, the text that was read, and the scopes that are missing. */
async function read(uri: string, token = "none") {
  return ask("resources/read", { uri }, token);
}

async function ask(method: string, params: JsonObject, token = "none") {
  const body = JSON.stringify(requestOf("legacy", method, params));
  const init = { method: "POST", headers: { ...JSON_ONLY, authorization: `Bearer ${token}` }, body };
  const response = await app.fetch(new Request("https://mcp.example.com/mcp", init), {});
  const { result } = (await response.json()) as { result?: { contents: { text: string }[] } };
  const scopes = /scope="([^"]*)"/.exec(response.headers.get("WWW-Authenticate") ?? "")?.[1];
  return { status: response.status, text: result?.contents[0]?.text, scopes };
}

/** Every way to write one character of a URI. */
function spellingsOf(character: string): string[] {
  const bytes = [...new TextEncoder().encode(character)].map((byte) => byte.toString(16).padStart(2, "0"));
  const escaped = bytes.map((byte) => `%${byte}`).join("");
  return [character, escaped, escaped.toUpperCase()];
}

/** A random spelling of a URI: some characters are escaped, the scheme is in any case, and a fragment may follow. */
function spelling(uri: string): fc.Arbitrary<string> {
  const at = uri.indexOf(":");
  const scheme = [...uri.slice(0, at)].map((each) => fc.constantFrom(each, each.toUpperCase()));
  const rest = [...uri.slice(at + 3)].map((each) => {
    return fc.oneof({ weight: 3, arbitrary: fc.constant(each) }, fc.constantFrom(...spellingsOf(each)));
  });
  const ends = fc.constantFrom("", "", "", "#", "#x", "%23");
  return fc
    .tuple(fc.tuple(...scheme), fc.tuple(...rest), ends)
    .map(([before, after, end]) => `${before.join("")}://${after.join("")}${end}`);
}

describe("the normal form of a URI", () => {
  test("is the same for every spelling that is equivalent by RFC 3986", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...PROTECTED).chain((uri) => fc.tuple(fc.constant(uri), spelling(uri))),
        ([uri, spelled]) => {
          const isReserved = new RegExp(
            `%(?:${[...RESERVED].map((each) => encodeURIComponent(each).slice(1)).join("|")}|2[1789A]|5[BD])`,
            "i",
          );
          if (isReserved.test(spelled) || spelled.includes("#")) return;
          expect(normalUri(spelled)).toBe(uri);
        },
      ),
    );
    expect(normalUri("NOTE://caf%c3%a9/%7euser/%2f")).toBe("note://caf%C3%A9/~user/%2F");
  });

  test("is its own normal form, and so is the key, for any string", () => {
    const piece = fc.constantFrom("%", "%4", "1", "a", "A", "é", "%41", "%2f", "%25", "%3a", "[", "://", "?", "#", " ");
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const normal = normalUri(pieces.join(""));
        expect(normalUri(normal)).toBe(normal);
        const key = uriKey(normal);
        expect([uriKey(key), uriKey(pieces.join(""))]).toEqual([key, key]);
      }),
      { numRuns: 2_000 },
    );
  });

  test("keeps what RFC 3986 distinguishes: case, reserved characters and dots", () => {
    for (const uri of ["note://Secret", "note://a%2Fb", "note://a%3Fb", "note://../x", "note://a%252Fb", "a:%ff"]) {
      expect(normalUri(uri)).toBe(uri.replace("%ff", "%FF"));
    }
  });
});

describe("a resource that needs a scope", () => {
  test("is not read in any spelling by a caller without the scope", { tags: "long" }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...PROTECTED).chain(spelling), async (uri) => {
        const { status, text } = await read(uri);
        expect([uri, status, text]).toEqual([uri, 403, undefined]);
      }),
      { numRuns: 1_000 },
    );
  });

  test.each([
    "note://s%65cret",
    "NOTE://secret",
    "deep://a%2Fsecret",
    "deep://a%2fsecret#top",
    "deep://a/y/../secret",
    "deep://a/y%2F%2E%2e%2fsecret",
    "kept://%6b",
    "ke\tpt://k",
    "kept://k\n",
    "kept://private%2Fx%",
    "kept://private/x y%",
  ])("is refused as %j", async (uri) => {
    // The last ones are other URIs, but not to a provider that parses them.
    const { status, text } = await read(uri);
    expect([status, text === undefined || !/secret|kept:\/\/k$/.test(text)]).toEqual([status, true]);
  });

  test.each([
    "file:///logs//today",
    "file:///logs/today/",
    "file:///./logs/././today//",
    "file:///%2e//logs/today",
    "file:///keys",
    "file:///keys//",
    "file:///.//keys/.",
    "file:///.//private/x",
    "file:///private//./x",
    "deep://a//secret",
    "deep://b/../a/secret",
    "deep://%2e%2e/a/secret/",
  ])("is refused as %j, which a reader that joins path segments treats as the resource", async (uri) => {
    expect(await read(uri)).toMatchObject({ status: 403 });
  });

  test("is not read by a caller whose request has more URIs than can be compared", async () => {
    const many = Array.from({ length: 100_000 }, (_, at) => `x://${at}`);
    for (const uris of [many, [`x://${"/.%2f".repeat(100_000)}`]]) {
      const refused = await ask("subscriptions/listen", { notifications: { resourceSubscriptions: uris } });
      expect(refused).toMatchObject({ status: 403, scopes: "top private column level never" });
    }
    expect(await read(`deep://${"x".repeat(100_000)}`)).toMatchObject({ status: 403 });
    expect(await read(`deep://${"x".repeat(60_000)}`)).toMatchObject({ status: 200 });
  });

  test("does not affect other resources, even if a reader joins their segments", async () => {
    for (const [uri, path] of [
      ["file:///logs/today/x", "files/logs/today/x"],
      ["file:///public", "files/public"],
      ["file:///publi%63", "files/public"],
      ["file:///private", "files/private"],
    ]) {
      expect([uri, await read(uri ?? "")]).toEqual([uri, expect.objectContaining({ status: 200, text: path })]);
    }
  });

  test("can be read by a caller with the scope, in any spelling, by the reader of its exact URI", async () => {
    for (const uri of ["note://secret", "note://s%65cret", "NOTE://%73ecret"]) {
      expect(await read(uri, "top")).toMatchObject({ status: 200, text: "exact" });
    }
    expect(await read("deep://a%40b/c%2Cd/%5Bx%5D", "top")).toMatchObject({ status: 200 });
  });
});

/** Any value of a variable, with the characters that matter more often. */
const value = fc
  .array(fc.oneof(fc.constantFrom(...RESERVED, "a", "b", "%", "é", "-"), fc.string({ maxLength: 2 })), {
    minLength: 1,
    maxLength: 6,
  })
  .map((pieces) => pieces.join("").toWellFormed());

/** URIs as clients write them for templates, with the same variables. */
const written = fc.oneof(
  fc
    .tuple(fc.constantFrom("deep://", "deep://private/", "deep://private/t:", "kept://private/"), value)
    .map(([start, path]) => {
      // Clients differ in which reserved characters they escape.
      return [encodeURI(path), path.split("/").map(encodeURIComponent).join("/"), encodeURIComponent(path)].map(
        (each) => start + each,
      );
    }),
  value.map((name) => [`note://${encodeURIComponent(name)}`]),
  fc.tuple(value, value).map((values) => {
    const [level, when] = values.map((each) => encodeURIComponent(each));
    return [`find://all?level=${level}&when=${when}`, `find://all?when=${when}&level=${level}`];
  }),
);

test("all spellings that give a reader the same variables need the same scopes", { tags: "long" }, async () => {
  const some = written.chain((uris) => fc.oneof(fc.constantFrom(...uris), spelling(uris[0] ?? "")));
  const pair = written.chain((uris) => {
    const any = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...uris) }, spelling(uris[0] ?? ""));
    return fc.oneof({ weight: 9, arbitrary: fc.tuple(any, any) }, fc.tuple(any, some));
  });
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(pair, async ([one, two]) => {
      // With all scopes, the response shows the variables that the reader got.
      const [first, second] = [await read(one, ALL), await read(two, ALL)];
      if (first.status !== 200 || !first.text?.startsWith("[") || first.text !== second.text || one === two) return;
      compared += 1;
      const [a, b] = [await read(one), await read(two)];
      expect([one, two, a.status, a.scopes]).toEqual([one, two, b.status, b.scopes]);
    }),
    { numRuns: 2_000 },
  );
  // The law says nothing about URIs that are not served, so many must be.
  expect(compared).toBeGreaterThan(50);
});

test.each([
  ["deep://private/a", "private"],
  ["deep://private/a%3Fb", "private"],
  ["deep://private%2Fa", "private"],
  ["deep://private/a/b", undefined],
  ["deep://private/", undefined],
  ["deep://private/a:b", "private column"],
  ["deep://private/a%3ab:c", "private column"],
  ["find://all?level=a", "level"],
  ["find://all?level=a&when=now", "level"],
  ["find://all?when=now&level=%61", "level"],
  ["find://all?when=now&level=b", undefined],
  ["find://all?when=level=a", undefined],
  ["find://all?level=b&when=never", "never"],
  ["find://all", undefined],
  ["kept://private/", "private"],
  ["kept://private/a/b?c", "private"],
])("%s needs the scopes of all templates that match one of its spellings: %s", async (uri, scopes) => {
  expect([uri, (await read(uri)).scopes]).toEqual([uri, scopes]);
});

test("a URI that a template would write differently is not read, and the error says how to write it", async () => {
  const body = JSON.stringify(requestOf("legacy", "resources/read", { uri: "deep://b%2Fc" }));
  const plain = new McpServer({ name: "plain", version: "1.0.0" });
  plain.resourceTemplate("deep://{+path}", {}, (_, { path }) => path);
  const served = edge(plain, { use: [anonymous()] });
  const request = new Request("https://mcp.example.com/mcp", { method: "POST", headers: JSON_ONLY, body });
  const answer = await (await served.fetch(request, {})).json();
  expect(answer).toMatchObject({ error: { message: expect.stringContaining('"deep://b/c"') } });
});
