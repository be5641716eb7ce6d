import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { UriTemplate } from "../../src/core/define/uri-template.ts";
import { KitError } from "../../src/core/protocol/errors.ts";

const anyText = fc.string({ unit: "binary", minLength: 1 });

describe("UriTemplate", () => {
  test("match(expand(t, v)) is v for every value of a variable at the end of the URI", () => {
    const template = new UriTemplate("note://all/{name}");
    fc.assert(
      fc.property(anyText, (name) => {
        expect(template.match(template.expand({ name }))).toEqual({ name });
      }),
    );
  });

  test("match(expand(t, v)) is v if the written value does not contain the literal that follows", () => {
    const template = new UriTemplate("db://{schema}/{table}!{column}");
    fc.assert(
      fc.property(anyText, anyText, anyText, (schema, table, column) => {
        const variables = { schema, table, column };
        // "/" and "!" are always escaped, so no written value contains them.
        expect(template.match(template.expand(variables))).toEqual(variables);
      }),
    );
  });

  test("match(expand(t, v)) is v if the literal is an unreserved character that the value does not contain", () => {
    const template = new UriTemplate("a://{a}-{b}.{c}");
    const without = (character: string) => anyText.filter((value) => !value.includes(character));
    fc.assert(
      fc.property(without("-"), without("."), anyText, (a, b, c) => {
        expect(template.match(template.expand({ a, b, c }))).toEqual({ a, b, c });
      }),
    );
  });

  test.each([
    "x:{a}{/b}{/c}",
    "x:a{?a,b,c}",
    "x:a{?a}{&b,c}",
    "x:a{;a,b,c}",
    "x:{a}{.b}{?c}",
    "x:{a,b,c}",
    "x:{a}{#b}",
  ])("match(expand(%s)) is v for any values, without the operators' own characters", (text) => {
    const template = new UriTemplate(text);
    const value = anyText.filter((each) => !/[.#?&;,/]/.test(each));
    fc.assert(
      fc.property(value, value, value, (a, b, c) => {
        const variables = Object.fromEntries(
          Object.entries({ a, b, c }).filter(([name]) => template.names.includes(name)),
        );
        expect(template.match(template.expand(variables))).toEqual(variables);
      }),
    );
  });

  test("keeps slashes in a reserved expansion, which can be matched again", () => {
    const template = new UriTemplate("file:///{+path}");
    fc.assert(
      fc.property(anyText, (path) => {
        expect(template.match(template.expand({ path }))).toEqual({ path });
      }),
    );
    expect(template.match("file:///a/b/c.txt")).toEqual({ path: "a/b/c.txt" });
  });

  test("does not match a slash, query or fragment with a plain variable", () => {
    const template = new UriTemplate("file:///{name}");
    for (const uri of ["file:///a/b", "file:///a?b", "file:///a#b", "file:///../x"]) {
      expect([uri, template.match(uri)]).toEqual([uri, undefined]);
    }
    expect(template.match("file:///a%2Fb")).toEqual({ name: "a/b" });
  });

  test("leaves out an omitted query variable, and the order of the other variables does not matter", () => {
    const template = new UriTemplate("logs://recent{?timeframe,level}");
    expect(template.match("logs://recent")).toEqual({});
    expect(template.match("logs://recent?level=info")).toEqual({ level: "info" });
    expect(template.match("logs://recent?level=info&timeframe=1h")).toEqual({ level: "info", timeframe: "1h" });
    expect(template.match("logs://recent?other=1")).toBeUndefined();
  });

  test("returns in time for 100,000 characters that match almost to the end", () => {
    const template = new UriTemplate("a://{a}-{b}-{c}-{d}-{e}!");
    for (const filler of ["-", "a-", "a", "%41-", "!"]) {
      const uri = `a://${filler.repeat(Math.floor(100_000 / filler.length))}`;
      const found = template.match(uri);
      expect(["object", "undefined"]).toContain(typeof found);
    }
    const whole = `a://${"x".repeat(20_000)}-${"x".repeat(20_000)}-c-d-${"e".repeat(60_000)}!`;
    expect(template.match(whole)?.e).toBe("e".repeat(60_000));
    expect(template.match(whole.slice(0, -1))).toBeUndefined();
  });

  test.each(["%", "%4", "%zz", "%ff", "%c3", "%c3%28", "%ed%a0%80", "a%", "%E4%BD"])(
    "does not match the malformed escape %s, and does not throw",
    (escaped) => {
      for (const text of ["a://{v}", "a://{+v}", "a://x{?v}", "a://x{;v}", "a://x{/v}"]) {
        const template = new UriTemplate(text);
        const uri = template.expand({ v: "MARK" }).replace("MARK", escaped);
        expect([text, template.match(uri)]).toEqual([text, undefined]);
      }
    },
  );

  test("does not match text after the last part of the template", () => {
    expect(new UriTemplate("a://{v}/end").match("a://x/end")).toEqual({ v: "x" });
    expect(new UriTemplate("a://{v}/end").match("a://x/ending")).toBeUndefined();
    expect(new UriTemplate("a://fixed").match("a://fixed/more")).toBeUndefined();
  });

  test("can match any string with any accepted template without an exception", () => {
    const piece = fc.oneof(
      fc.constantFrom("a", "://", "/", "-", "é", "%20", "?", "&"),
      fc
        .tuple(fc.constantFrom("", "+", "#", ".", "/", ";", "?", "&"), fc.integer({ min: 0, max: 99 }))
        .map(([op, n]) => `{${op}v${n}}`),
    );
    const uriPiece = fc.constantFrom(
      "a",
      "://",
      "/",
      "-",
      "é",
      "%20",
      "%",
      "?",
      "&",
      "v1=",
      "=",
      ";",
      "#",
      ",",
      ".",
      "%ff",
    );
    fc.assert(
      fc.property(fc.array(piece), fc.array(uriPiece), (pieces, uriPieces) => {
        let template: UriTemplate;
        try {
          template = new UriTemplate(pieces.join(""));
        } catch (error) {
          expect(KitError.is(error)).toBe(true);
          return;
        }
        const found = template.match(uriPieces.join(""));
        for (const name of Object.keys(found ?? {})) expect(template.names).toContain(name);
      }),
      { numRuns: 2_000 },
    );
  });

  test("accepts variables named like inherited members", () => {
    const template = new UriTemplate("a://x{?constructor,toString}");
    expect(template.match("a://x")).toEqual({});
    const found = template.match("a://x?constructor=1&toString=2");
    expect(Object.entries(found ?? {})).toEqual([
      ["constructor", "1"],
      ["toString", "2"],
    ]);
    expect(template.expand({})).toBe("a://x");
  });

  test("accepts a variable named __proto__", () => {
    const found = new UriTemplate("a://x/{__proto__}").match("a://x/1") ?? {};
    expect(Object.entries(found)).toEqual([["__proto__", "1"]]);
  });

  test.each([
    "a://{",
    "a://}",
    "a://{}",
    "a://{a",
    "a://{a}{b}",
    "a://{a*}",
    "a://{a:3}",
    "a://{a b}",
    "a://{=a}",
    "a://{a}/{a}",
    "a://{{a}}",
  ])("refuses the template %s with its name", (text) => {
    expect(() => new UriTemplate(text)).toThrow(expect.objectContaining({ code: "definition-invalid" }));
  });
});
