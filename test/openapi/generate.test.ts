/** What becomes of the operations of a description: names, schemas, credentials, pages. */
import { describe, expect, test } from "vitest";
import { merge, recordOf } from "../../packages/openapi/src/regions.ts";
import { api, get, readDescription, writeAll } from "./generated.ts";

/** Returns the names of the tools by their operations. */
function namesOf(paths: object): Record<string, string> {
  const { tools = [] } = readDescription(api(paths));
  return Object.fromEntries(tools.map(({ id, name }) => [id, name]));
}

describe("names", () => {
  test.each([
    ["getPetById", "/pets/{id}", "get_pet_by_id"],
    ["getApiV1UsersId", "/api/v1/users/{id}", "get_user"],
    ["read_item_api_v1_items__item_id__get", "/api/v1/items/{item_id}", "get_item"],
    ["issues/list-for-repo", "/repos/{owner}/{repo}/issues", "list_issues_for_repo"],
    ["users.list", "/users.list", "list_users"],
    ["conversations_history", "/conversations.history", "conversations_history"],
    [undefined, "/users/{id}/posts", "list_user_posts"],
    [undefined, "/v2/categories/{id}", "get_category"],
    [undefined, "/", "get_root"],
    ["日本", "/日本", "get_root"],
    ["x".repeat(200), "/a", "x".repeat(48)],
  ])("%s of GET %s is %s", (operationId, path, name) => {
    expect(namesOf({ [path]: get({ operationId }) })).toEqual({ [`GET ${path}`]: name });
  });

  test("say what the method does, if there is no other name", () => {
    const operation = { responses: {} };
    const item = { get: operation, put: operation, patch: operation, delete: operation };
    expect(
      namesOf({
        "/pets": { get: operation, post: operation },
        "/pets/{id}": item,
        "/pets/{id}/archive": { post: operation },
      }),
    ).toEqual({
      "GET /pets": "list_pets",
      "POST /pets": "create_pet",
      "GET /pets/{id}": "get_pet",
      "PUT /pets/{id}": "replace_pet",
      "PATCH /pets/{id}": "update_pet",
      "DELETE /pets/{id}": "delete_pet",
      "POST /pets/{id}/archive": "archive_pet",
    });
  });

  test.each([
    ["auditLog", "get", "audit_log"],
    ["blogPost", "get", "blog_post"],
    ["audit.log", "post", "log_audit"],
    ["chat.postMessage", "post", "post_chat_message"],
    ["pets_list", "get", "list_pets"],
  ])("begin with the verb, unless it is a noun: %s of %s is %s", (operationId, method, name) => {
    expect(Object.values(namesOf({ "/x": { [method]: { operationId } } }))).toEqual([name]);
  });

  test("are different for each operation, and stay as they were given before", () => {
    const paths = Object.fromEntries(["/a", "/b", "/c"].map((path) => [path, get({ operationId: "same" })]));
    expect(new Set(Object.values(namesOf(paths))).size).toBe(3);
  });
});

describe("schemas", () => {
  /** Returns the schema of an argument as clients receive it. */
  function inputOf(schema: object, version = "3.1.0"): object | undefined {
    const requestBody = {
      required: true,
      content: { "application/json": { schema: { type: "object", properties: { a: schema } } } },
    };
    const { tools = [] } = readDescription({ ...api({ "/x": { post: { requestBody } } }), openapi: version });
    return (tools[0]?.listed.inputSchema as { properties: { a: object } } | undefined)?.properties.a;
  }

  test.each([
    [
      "3.0.3",
      { type: "string", nullable: true, maxLength: 5 },
      { anyOf: [{ type: "string", maxLength: 5 }, { type: "null" }] },
    ],
    ["3.1.0", { type: ["string", "null"] }, { type: ["string", "null"] }],
    ["3.1.0", { type: ["string", "boolean"] }, { anyOf: [{ type: "string" }, { type: "boolean" }] }],
    ["3.1.0", { const: 3 }, { enum: [3] }],
    ["3.1.0", { enum: ["a", "b", null] }, { anyOf: [{ type: "string", enum: ["a", "b"] }, { type: "null" }] }],
    ["3.0.3", { type: "number", minimum: 0, default: 1 }, { type: "number", minimum: 0, description: "Default: 1." }],
    ["3.1.0", { type: "string", format: "date-time" }, { type: "string", description: "(date-time)" }],
    [
      "3.1.0",
      { additionalProperties: { type: "boolean" } },
      { type: "object", propertyNames: { type: "string" }, additionalProperties: { type: "boolean" } },
    ],
    ["3.1.0", true, {}],
    ["3.1.0", { type: "string", minLength: 5, maxLength: 1 }, { type: "string" }],
    ["3.1.0", { type: "string", minLength: 501 }, { type: "string" }],
    ["3.1.0", { type: "array", minItems: 21, items: {} }, { type: "array", items: {} }],
  ])("of OpenAPI %s: %j", (version, schema, expected) => {
    expect(inputOf(schema as object, version)).toEqual(expected);
  });

  test("of responses have no limits, because a result that does not fit would be lost", () => {
    const properties = {
      state: { type: "string", enum: ["a"], maxLength: 1 },
      id: { type: "integer", format: "int64" },
      count: { type: "integer", minimum: 0, maximum: 5 },
    };
    const responses = { 200: { content: { "application/json": { schema: { type: "object", properties } } } } };
    const code = (writeAll(api({ "/items": get({ responses }) }))["src/shop/items.ts"] ?? "").replace(/\s+/g, " ");
    expect(code).toContain(
      "output: z.looseObject({ state: z.string().nullable().optional(), id: z.unknown().nullable().optional(), count: z.number().nullable().optional(), }),",
    );
  });

  test("of responses are not declared for operations that change something, because a model would repeat them", () => {
    const schema = { type: "object", properties: { id: { type: "string" } } };
    const responses = { 200: { content: { "application/json": { schema } } } };
    const item = Object.fromEntries(["get", "post", "put", "patch", "delete"].map((method) => [method, { responses }]));
    const { tools = [] } = readDescription(api({ "/items": item }));
    const declared = tools.filter(({ listed }) => Object.hasOwn(listed, "outputSchema"));
    expect([tools.length, declared.map(({ id }) => id)]).toEqual([5, ["GET /items"]]);
  });

  test("have examples with as many items as they demand", () => {
    const schema = { type: "array", minItems: 3, items: { type: "string", minLength: 5 } };
    const parameters = [{ name: "q", in: "query", required: true, schema }];
    const files = writeAll(api({ "/items": get({ parameters }) }));
    expect(files["test/shop.test.ts"]).toContain('args: { q: ["textx", "textx", "textx"] }');
  });

  test.each(["2.0", '"2.0"', "2"])("are read of swagger: %s, with names that YAML reads as numbers", (version) => {
    const parameter = "{ name: 5, in: query, required: true, type: string }";
    const text = `swagger: ${version}\nhost: a.example.com\npaths: { /a: { get: { parameters: [${parameter}] } } }\n`;
    expect(readDescription(text).tools?.[0]?.listed.inputSchema).toMatchObject({ required: ["a_5"] });
  });

  test("of Swagger 2.0 have the body, the form and the parameters of all operations of a path", () => {
    const { tools = [] } = readDescription({
      swagger: "2.0",
      info: { title: "Old", version: "1" },
      host: "old.example.com",
      parameters: {
        id: { name: "id", in: "path", required: true, type: "integer" },
        pet: { name: "pet", in: "body", schema: { $ref: "#/definitions/Pet" } },
      },
      definitions: { Pet: { type: "object", properties: { name: { type: "string" } } } },
      paths: {
        "/pets/{id}": {
          parameters: [{ $ref: "#/parameters/id" }],
          put: { parameters: [{ $ref: "#/parameters/pet" }], responses: {} },
        },
      },
    });
    expect(Object.keys((tools[0]?.listed.inputSchema as { properties: object } | undefined)?.properties ?? {})).toEqual(
      ["id", "name"],
    );
  });
});

describe("credentials", () => {
  const schemes = {
    header: { type: "apiKey", in: "header", name: "X-Key" },
    query: { type: "apiKey", in: "query", name: "key" },
    cookie: { type: "apiKey", in: "cookie", name: "sid" },
    basic: { type: "http", scheme: "basic" },
    bearer: { type: "http", scheme: "bearer" },
    oauth: { type: "oauth2", flows: {} },
  };
  test.each([
    ["header", 'headers.set("X-Key", secret(caller, "SHOP_API_KEY"))'],
    ["query", 'url.searchParams.set("key", secret(caller, "SHOP_API_KEY"))'],
    ["cookie", 'addCookie(headers, "sid", secret(caller, "SHOP_API_KEY"))'],
    ["basic", '`Basic ${btoa(secret(caller, "SHOP_USER_AND_PASSWORD"))}`'],
    ["bearer", '`Bearer ${secret(caller, "SHOP_TOKEN")}`'],
    ["oauth", '`Bearer ${secret(caller, "SHOP_TOKEN")}`'],
  ])("of the kind %s are read from the environment when they are needed", (name, code) => {
    const securitySchemes = { [name]: schemes[name as keyof typeof schemes] };
    const files = writeAll(api({ "/a": get() }, { components: { securitySchemes }, security: [{ [name]: [] }] }));
    expect(files["src/shop/api.ts"]).toContain(code);
    expect(files["src/shop/api.ts"]).toContain(`const USUAL: readonly string[] = ["${name}"];`);
  });

  test("of one kind have secrets with the names of their schemes, in any order of operations", () => {
    const [one, two] = [get({ security: [{ header: [] }] }), get({ security: [{ query: [] }] })];
    for (const paths of [{ "/a": one, "/b": two }, { "/a": two, "/b": one }, { "/a": two }]) {
      const code = writeAll(api(paths, { components: { securitySchemes: schemes } }))["src/shop/api.ts"] ?? "";
      expect(code).toContain('set("key", secret(caller, "SHOP_QUERY_API_KEY"))');
      expect(code).not.toContain('"SHOP_API_KEY"');
      if (Object.hasOwn(paths, "/b")) expect(code).toContain('set("X-Key", secret(caller, "SHOP_HEADER_API_KEY"))');
    }
  });

  test.each([
    ["user", [{ header: [] }, { bearer: [] }], "await userToken(caller)"],
    ["user", [{ header: [] }, { oauth: [] }], "await userToken(caller)"],
    ["service", [{ oauth: [] }, { bearer: [] }], '"bearer"'],
    ["service", [{ oauth: [] }, { header: [] }], '"header"'],
  ] as const)("of the %s are chosen from %j", (access, security, code) => {
    const text = writeAll(api({ "/a": get({ security }) }, { components: { securitySchemes: schemes } }), access);
    const api_ = text["src/shop/api.ts"] ?? "";
    expect(api_.slice(api_.indexOf("#region credentials"), api_.indexOf("/** The characters"))).toContain(code);
  });

  test.each([
    [{ type: "mutualTLS" }, "it needs credentials of the kind mutualTLS, which are not supported"],
    [{ type: "http", scheme: "digest" }, "it needs credentials of the kind http digest, which are not supported"],
    [undefined, "it needs the credentials odd, which the description does not define"],
  ])("that cannot be sent are a reason to refuse an operation: %j", (odd, reason) => {
    const securitySchemes = { ...schemes, ...(odd === undefined ? {} : { odd }) };
    const paths = {
      "/a": get({ security: [{ odd: [] }] }),
      "/b": get({ security: [{ odd: [] }, { header: [] }] }),
      "/c": get({ security: [{ odd: [] }, {}] }),
      "/d": get({ security: [{ odd: [], header: [] }] }),
    };
    const { tools = [], refused } = readDescription(api(paths, { components: { securitySchemes } }));
    expect(tools.map(({ id }) => id)).toEqual(["GET /b", "GET /c"]);
    expect(refused).toEqual([
      { id: "GET /a", reason },
      { id: "GET /d", reason },
    ]);
  });

  test("are not sent by operations that need none", () => {
    const paths = { "/a": get(), "/b": get(), "/c": get({ security: [] }) };
    const files = writeAll(api(paths, { components: { securitySchemes: schemes }, security: [{ header: [] }] }));
    expect(files["src/shop/items.ts"]?.match(/auth: \[\]/g)).toHaveLength(1);
  });
});

describe("pages", () => {
  const list = { type: "array", items: { type: "string" } };
  test.each([
    [
      ["cursor"],
      { items: list, next_cursor: { type: "string" } },
      '{ by: "cursor", parameter: "cursor", items: ["items"], next: ["next_cursor"] }',
    ],
    [
      ["pageToken"],
      { data: list, meta: { type: "object", properties: { nextPageToken: { type: "string" } } } },
      '{ by: "cursor", parameter: "pageToken", items: ["data"], next: ["meta", "nextPageToken"] }',
    ],
    [
      ["starting_after"],
      { data: list, has_more: { type: "boolean" } },
      '{ by: "last", parameter: "starting_after", items: ["data"], next: ["has_more"] }',
    ],
    [["page"], { results: list, warnings: list }, '{ by: "number", parameter: "page", items: ["results"] }'],
    [["offset"], { users: list }, '{ by: "offset", parameter: "offset", items: ["users"] }'],
    [
      ["page", "per_page"],
      { results: list },
      '{ by: "number", parameter: "page", items: ["results"], size: "per_page" }',
    ],
    [
      ["page"],
      { results: list, next: { type: "string" } },
      '{ by: "number", parameter: "page", items: ["results"], next: ["next"] }',
    ],
    [
      ["offset"],
      { data: list, meta: { type: "object", properties: { hasMore: { type: "boolean" } } } },
      '{ by: "offset", parameter: "offset", items: ["data"], next: ["meta", "hasMore"] }',
    ],
  ])("are found by %j", (names, properties, code) => {
    const parameters = names.map((name) => ({ name, in: "query", schema: {} }));
    const responses = { 200: { content: { "application/json": { schema: { type: "object", properties } } } } };
    const files = writeAll(api({ "/items": get({ parameters, responses }) }));
    expect((files["src/shop/items.ts"] ?? "").replace(/\s+/g, " ").replaceAll(", }", " }")).toContain(code);
  });
});

describe("regions", () => {
  const region = (name: string, text: string) => `  // #region ${name}\n  ${text}\n  // #endregion\n`;
  const file = (...regions: string[]) => `head\n${regions.join("\n")}}\n`;
  const [a, b, c] = [region("a", "old a"), region("b", "old b"), region("c", "new c")];
  const record = recordOf(file(a, b));

  test("are replaced, kept, added, removed and left deleted", () => {
    const present = file(a, region("b", "my b"), region("mine", "my own"));
    const fresh = file(region("a", "new a"), region("b", "old b"), c);
    const { text, conflicts } = merge(present, fresh, record);
    for (const each of ["new a", "my b", "my own", "new c"]) expect(text).toContain(each);
    expect(conflicts).toEqual([]);
    expect(merge(file(a), file(a, b), record).text).not.toContain("old b");
    expect(merge(file(a, b), file(b), record).text).not.toContain("old a");
    const { orphans, text: kept } = merge(file(region("a", "my a"), b), file(b), record);
    expect([orphans, kept]).toEqual([["a"], expect.stringContaining("my a")]);
  });

  test("are compared without white space, so that a formatter changes nothing", () => {
    const formatted = file(region("a", "old  a;"), b).replace("head", "head;");
    expect(merge(formatted, file(region("a", "new a"), b), record)).toMatchObject({
      conflicts: [],
      text: expect.stringContaining("new a"),
    });
  });

  test("that author and API have changed are kept and reported", () => {
    const { text, conflicts } = merge(file(region("a", "my a"), b), file(region("a", "new a"), b), record);
    expect(text).toContain("my a");
    expect(conflicts).toEqual([{ part: "a", kept: region("a", "my a"), offered: region("a", "new a") }]);
  });

  test("are found again in text that the author has moved and changed", () => {
    const present = `// mine\n${b}\n${a}tail\n`;
    const { text } = merge(present, file(region("a", "new a"), b, c), record);
    expect(text).toBe(`// mine\n${b}\n${region("a", "new a")}\n${c}tail\n`);
  });
});
