/** The requests of operations: how parameters and bodies are written, and which operations tools cannot send. */
import { describe, expect, test } from "vitest";
import { Session } from "../../packages/openapi/src/main.ts";
import { type Answer, api, get, readDescription, writeAll } from "./generated.ts";

/** Returns the code of the only tool of a description, on one line. */
function codeOf(operation: object, more: object = {}): string {
  const files = writeAll(api({ "/items/{id}": { post: { tags: ["items"], ...operation } } }, more));
  return (files["src/shop/items.ts"] ?? "").replace(/\s+/g, " ");
}

describe("requests", () => {
  test.each([
    [{ explode: false }, "query: { q: api.joined(args.q) }"],
    [{}, "query: { q: args.q }"],
    [{ style: "pipeDelimited" }, 'query: { q: api.joined(args.q, "|") }'],
    [{ style: "spaceDelimited" }, 'query: { q: api.joined(args.q, " ") }'],
  ])("write a list as %j", (style, code) => {
    const schema = { type: "array", items: { type: "string" } };
    expect(codeOf({ parameters: [{ name: "q", in: "query", schema, ...style }] })).toContain(code);
  });

  test("write objects in the query, headers, and names that are not identifiers", () => {
    const code = codeOf({
      parameters: [
        {
          name: "filter",
          in: "query",
          style: "deepObject",
          schema: { type: "object", properties: { a: { type: "string" } } },
        },
        { name: "page[size]", in: "query", schema: { type: "integer" } },
        { name: "X-Trace", in: "header", schema: { type: "string" } },
        { name: "Authorization", in: "header", schema: { type: "string" } },
      ],
    });
    expect(code).toContain('query: { ...api.deep("filter", args.filter), "page[size]": args.page_size }');
    expect(code).toContain('headers: { "X-Trace": args["X-Trace"] }');
    expect(code).not.toContain("Authorization");
  });

  test("have arguments of different names for a path, a query and a body that have one name", () => {
    const schema = {
      type: "object",
      required: ["id"],
      properties: { id: { type: "integer" }, name: { type: "string" } },
    };
    const code = codeOf({
      parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
      requestBody: { required: true, content: { "application/json": { schema } } },
    });
    expect(code).toContain("path: api.path`/items/${args.id}`, json: { id: args.id_2, name: args.name }");
  });

  const object = { type: "object", properties: { a: { type: "string" }, b: { type: "integer" } } };
  const list = { type: "array", items: { type: "string" } };
  test.each([
    ["query", { schema: object }, "query: { ...api.members(args.q) }", "?a=text&b=1"],
    ["query", { schema: { allOf: [object] } }, "query: { ...api.members(args.q) }", "?a=text&b=1"],
    ["query", { schema: object, explode: false }, "query: { q: api.joined(args.q) }", "?q=a%2Ctext%2Cb%2C1"],
    ["query", { schema: object, style: "deepObject" }, 'query: { ...api.deep("q", args.q) }', "?q%5Ba%5D=text"],
    ["query", { schema: list, style: "pipeDelimited", explode: true }, "query: { q: args.q }", "?q=text"],
    ["query", { content: { "application/json": { schema: object } } }, "query: { q: api.json(args.q) }", "?q=%7B"],
    ["header", { schema: list }, "headers: { q: api.joined(args.q) }", '{ q: "text" }'],
    ["header", { schema: object }, "headers: { q: api.joined(args.q) }", '{ q: "a,text,b,1" }'],
    [
      "header",
      { schema: object, explode: true },
      'headers: { q: api.joined(args.q, ",", "=") }',
      '{ q: "a=text,b=1" }',
    ],
    ["path", { schema: list }, "api.path`/items/${args.q}`", "/items/text"],
  ])("write a value in the %s with %j as the specification says", (place, more, code, expected) => {
    const schema = { ...(more as { schema?: object }).schema, required: ["a", "b"] };
    const own = Object.hasOwn(more, "schema") ? { ...more, schema } : more;
    const parameters = [{ name: "q", in: place, required: true, ...own }];
    const files = writeAll(api({ [place === "path" ? "/items/{q}" : "/items"]: get({ parameters }) }));
    expect((files["src/shop/items.ts"] ?? "").replace(/\s+/g, " ")).toContain(code);
    expect(files["test/shop.test.ts"]).toContain(expected);
  });

  test("are expected in the tests with the encoding of headers", () => {
    const parameters = [{ name: "X-A", in: "header", required: true, schema: { enum: ["Zoë"] } }];
    expect(writeAll(api({ "/items": get({ parameters }) }))["test/shop.test.ts"]).toContain('"x-a": "Zo%C3%AB"');
  });

  test("write the members of a form as its encoding says", () => {
    const member = { type: "object", required: ["x"], properties: { x: list } };
    const properties = { plain: list, comma: list, deep: member, json: member };
    const schema = { type: "object", required: Object.keys(properties), properties };
    const encoding = { comma: { explode: false }, deep: { style: "deepObject", explode: true } };
    const content = { "application/x-www-form-urlencoded": { schema, encoding } };
    const files = writeAll(api({ "/items": { post: { tags: ["items"], requestBody: { required: true, content } } } }));
    expect((files["src/shop/items.ts"] ?? "").replace(/\s+/g, " ")).toContain(
      'form: { plain: args.plain, comma: api.joined(args.comma), ...api.deep("deep", args.deep), json: api.json(args.json), }',
    );
    expect(files["test/shop.test.ts"]).toContain(
      'text: "plain=text&comma=text&deep%5Bx%5D%5B%5D=text&json=%7B%22x%22%3A%5B%22text%22%5D%7D"',
    );
  });

  test.each([[undefined], [{ oneOf: [object, { type: "object", properties: { c: {} } }] }], [list]])(
    "send a form that is described as %j as an object",
    (schema) => {
      const content = {
        "application/x-www-form-urlencoded": {
          schema,
          encoding: { a: { style: "deepObject" }, b: { explode: false }, c: { style: "form" } },
        },
      };
      const code = codeOf({ requestBody: { required: true, content } });
      expect(code).toContain('form: api.members(args.body, { a: "deep", b: "comma" })');
      expect(code).toMatch(/body: z\.(union|record)\(/);
    },
  );

  test.each([
    [
      { get: { requestBody: { required: true, content: { "application/json": {} } } } },
      "a GET request cannot have a body",
    ],
    [{ trace: {} }, "tools cannot send the method TRACE"],
    [{ query: {} }, "tools cannot send the method QUERY"],
    [{ additionalOperations: { COPY: {} } }, "tools cannot send the method COPY"],
    [
      { get: { parameters: [{ name: "q", in: "querystring", required: true }] } },
      "it needs a parameter in querystring",
    ],
    [{ get: { parameters: [{ name: "q", in: "cookie", required: true }] } }, "it needs the cookie q"],
    [
      { get: { responses: { 200: { content: { "text/event-stream": {} } } } } },
      "its response is neither JSON nor text",
    ],
    [
      { post: { requestBody: { content: { "application/json\r\nX-A: 1": {} }, required: true } } },
      "its body is application/json\r\nX-A: 1, which is neither JSON nor a form",
    ],
    [
      { get: { servers: [{ url: "https://other.example.com" }] } },
      "it is at https://other.example.com, which is not the base URL. Take it separately, with --server and --name",
    ],
    [
      { servers: [{ url: "https://other.example.com" }], get: {} },
      "it is at https://other.example.com, which is not the base URL. Take it separately, with --server and --name",
    ],
    [
      { get: { servers: [{ url: "http://{x}/" }] } },
      "it is at a server that cannot be used, which is not the base URL. Take it separately, with --server and --name",
    ],
  ])("that tools cannot send are refused with the reason: %j", (item, reason) => {
    const { tools, refused } = readDescription(api({ "/a": item }, { servers: [{ url: "https://api.example.com/" }] }));
    expect([tools, refused?.map((each) => each.reason)]).toEqual([[], [reason]]);
  });

  test("may name the base URL as their own server, or the one that the author has named", () => {
    const servers = [{ url: "https://api.example.com/v1" }];
    const paths = { "/a": get({ servers: [{ url: "https://api.example.com/v1/" }] }), "/b": { ...get(), servers } };
    expect(readDescription(api(paths, { servers })).tools).toHaveLength(2);
    expect(readDescription(api(paths, { servers: [{ url: "https://b.example.com" }] })).tools).toEqual([]);
    const session = new Session();
    const texts = { a: JSON.stringify(api(paths, { servers: [{ url: "https://b.example.com" }] })) };
    const request = {
      type: "read",
      main: "a",
      texts,
      schemaBytesMax: 9_999,
      server: "https://api.example.com/v1",
    } as const;
    expect((session.answer(request) as Answer).tools).toHaveLength(2);
  });

  test("of GET leave out a body that is not required", () => {
    const requestBody = { content: { "application/json": { schema: object } } };
    expect(writeAll(api({ "/items": get({ requestBody }) }))["src/shop/items.ts"]).toContain('{ path: "/items" }');
  });

  test.each([
    [
      { "application/json-patch+json": {}, "application/json": {} },
      "path: api.path`/items/${args.id}`, json: args.body }",
    ],
    [{ "application/merge-patch+json; charset=utf-8": {} }, 'contentType: "application/merge-patch+json"'],
    [{ "*/*": {} }, "json: args.body })"],
  ])("have the media type of %j", (content, code) => {
    expect(codeOf({ requestBody: { required: true, content } })).toContain(code);
  });

  test.each([
    ["multipart/form-data", "its body is multipart/form-data, which is neither JSON nor a form"],
    ["application/octet-stream", "its body is application/octet-stream, which is neither JSON nor a form"],
  ])("with the body %s are refused with the reason", (type, reason) => {
    const requestBody = { required: true, content: { [type]: { schema: {} } } };
    const { tools, refused } = readDescription(api({ "/a": { post: { requestBody } } }));
    expect([tools, refused]).toEqual([[], [{ id: "POST /a", reason }]]);
  });
});

test.each([
  [
    { url: "https://{region}.example.com/{v}", variables: { region: { default: "eu" }, v: { default: 2 } } },
    "https://eu.example.com/2",
  ],
  [{ url: "https://{tenant}.example.com" }, undefined],
  [{ url: "https://{tenant}.example.com", variables: { tenant: { enum: ["a", "b"] } } }, undefined],
  [{ url: "https://{tenant}.example.com", variables: { tenant: { default: " " } } }, undefined],
])("the server %j has the base URL %s, and none if a variable has no value", (server, expected) => {
  const { servers } = readDescription(api({}, { servers: [server] }));
  expect(servers).toEqual(expected === undefined ? [] : [expected]);
});

describe("forms of Swagger 2.0", () => {
  const list = { in: "formData", type: "array", items: { type: "string" }, required: true };
  const parameters = [
    { ...list, name: "joined" },
    { ...list, name: "repeated", collectionFormat: "multi" },
  ];
  const codeFor = (more: object) => {
    const paths = { "/items": { post: { tags: ["items"], parameters, responses: {}, ...more } } };
    return writeAll({ swagger: "2.0", info: { title: "Old", version: "1" }, host: "old.example.com", paths });
  };

  test("join a list with commas, unless the description says otherwise", () => {
    const files = codeFor({ consumes: ["application/x-www-form-urlencoded"] });
    expect(files["src/shop/items.ts"]).toContain("form: { joined: api.joined(args.joined), repeated: args.repeated }");
  });

  test.each([[["application/json"]], [undefined], [[]]])("are sent as a form if the media types are %j", (consumes) => {
    expect(codeFor({ consumes })["src/shop/items.ts"]).toContain("form: { joined: ");
  });
});
