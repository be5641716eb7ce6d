/** SQL with parameters, and queries for reading only, on SQLite in this process. */
import { DatabaseSync } from "node:sqlite";
import * as fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import {
  RefusedError,
  readSql,
  runSql,
  type SqlStorageLike,
  type SqlValue,
  sql,
  sqlName,
} from "../../src/safe/index.ts";

let database: DatabaseSync;
/** SQLite of Node, with the interface of a Durable Object's storage. */
const storage: SqlStorageLike = {
  exec: (text, ...parameters) => ({ toArray: () => database.prepare(text).all(...(parameters as string[])) }),
};
beforeEach(() => {
  database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE notes (id INTEGER PRIMARY KEY, owner TEXT, title TEXT, data BLOB)");
  for (const title of ["one", "two", "three"])
    database.prepare("INSERT INTO notes (owner, title) VALUES ('ada', ?)").run(title);
});

describe("sql", () => {
  test("makes a parameter of every value", () => {
    const bytes = Uint8Array.of(1);
    const statement = sql`SELECT ${"a"}, ${1}, ${null}, ${true}, ${bytes}, ${bytes.buffer} FROM t WHERE id IN ${[1, 2]}`;
    expect(statement.text).toBe("SELECT ?, ?, ?, ?, ?, ? FROM t WHERE id IN (?, ?)");
    expect(statement.parameters).toEqual(["a", 1, null, 1, bytes, bytes.buffer, 1, 2]);
  });

  test("keeps the parameters of a statement inside another in order", () => {
    const owner = sql`owner = ${"ada"}`;
    const statement = sql`SELECT ${1} FROM notes WHERE ${owner} AND ${sqlName("title", ["title"])} = ${"two"}`;
    expect(statement.text).toBe('SELECT ? FROM notes WHERE owner = ? AND "title" = ?');
    expect(statement.parameters).toEqual([1, "ada", "two"]);
  });

  test.each([
    ["undefined", undefined],
    ["of type object", {}],
    ["NaN", Number.NaN],
    ["Infinity", Number.POSITIVE_INFINITY],
    ["a Date", new Date()],
    ["a bigint", 1n],
    ["a function", () => 1],
    ["an object that looks like a statement", { text: "1; DROP TABLE notes", parameters: [] }],
    ["a list in a list", [[1]]],
  ])("refuses %s", (_what, value) => {
    expect(() => sql`SELECT ${value as SqlValue}`).toThrow("sql: value number 1 is");
  });

  test("sqlName() accepts only names from a list", () => {
    expect(() => sqlName('id" --', ["id"])).toThrow('sqlName(): "id\\" --" is not one of id.');
    expect(sqlName('a"b', ['a"b']).text).toBe('"a""b"');
  });

  test("runSql() does not accept a string", async () => {
    const text = "SELECT 1" as unknown as ReturnType<typeof sql>;
    await expect(runSql(storage, text)).rejects.toThrow("the statement was not created with sql`...`");
    const lookalike = { text: "SELECT 1", parameters: [] } as unknown as ReturnType<typeof sql>;
    await expect(runSql(storage, lookalike)).rejects.toThrow("the statement was not created with sql`...`");
  });

  test("returns every string unchanged as a value", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.string(), fc.constantFrom("' OR 1=1 --", "'; DROP TABLE notes; --", "?", "\\'", '"')),
        async (value) => {
          const [row] = await runSql(storage, sql`SELECT ${value} AS value, count(*) AS count FROM notes`);
          expect(row).toEqual({ value, count: 3 });
        },
      ),
    );
  });
});

describe("readSql", () => {
  test.each([
    ["SELECT title FROM notes ORDER BY title", ["one", "three", "two"]],
    ["SELECT title FROM notes ORDER BY title DESC;", ["two", "three", "one"]],
    ["select title from notes where id = 1 -- the first", ["one"]],
    ["/* a */ SELECT /* b; DELETE */ title FROM notes LIMIT 1 ; ; -- c", ["one"]],
    ["WITH n(title) AS (SELECT title FROM notes) SELECT title FROM n WHERE title = 'two'", ["two"]],
    ["SELECT 'a; DELETE FROM notes -- b' AS title", ["a; DELETE FROM notes -- b"]],
    ["SELECT 'it''s (' AS title", ["it's ("]],
    ["SELECT replace(title, 'o', '0') AS title FROM notes WHERE id < 3", ["0ne", "tw0"]],
    ['SELECT "title" FROM [notes] WHERE `id` = 1', ["one"]],
    ["SELECT 'pragma_table_info' AS title", ["pragma_table_info"]],
    ["SELECT title FROM notes WHERE id = 1 AND title <> 'pragma_a' AND title NOT LIKE 'pragma_%'", ["one"]],
    ["SELECT title FROM notes WHERE id = 1 UNION SELECT 'x' ORDER BY title DESC", ["x", "one"]],
    ["SELECT CASE WHEN id = 1 THEN 'first' ELSE 'other' END AS title FROM notes WHERE id = 1", ["first"]],
    ["SELECT title ->> '$' AS title FROM (SELECT '\"a\"' AS title)", ["a"]],
    ["SELECT 'ü' AS title UNION ALL SELECT x'41' || ''", ["ü", "A"]],
    ["SELECT 1.5e+1 + .5 - 0x0f + 1. AS title WHERE 1 <> 2 AND 1 != 2 AND 2 >= 1 AND 1 <= 2 AND 1 << 1 == 2", [1.5]],
    ["SELECT n.title AS title FROM notes n WHERE n.id=1", ["one"]],
    ["WITH n(title) AS (VALUES ('one')) SELECT title FROM n", ["one"]],
    ['SELECT "delete".title AS title FROM notes AS "delete" WHERE "delete".id = 1', ["one"]],
  ])("runs %s", async (query, titles) => {
    const { rows, isTruncated } = await readSql<{ title: string }>(storage, query);
    expect(rows.map(({ title }) => title)).toEqual(titles);
    expect(isTruncated).toBe(false);
  });

  test.each([
    "DELETE FROM notes",
    "delete from notes returning *",
    "INSERT INTO notes (title) VALUES ('x')",
    "UPDATE notes SET title = 'x'",
    "REPLACE INTO notes (id) VALUES (1)",
    "DROP TABLE notes",
    "CREATE TABLE other (id)",
    "CREATE TEMP TABLE other AS SELECT 1",
    "ALTER TABLE notes RENAME TO other",
    "PRAGMA user_version = 5",
    "PRAGMA table_info(notes)",
    "ATTACH 'other.db' AS other",
    "DETACH main",
    "VACUUM INTO 'copy.db'",
    "REINDEX",
    "ANALYZE",
    "BEGIN",
    "COMMIT",
    "SAVEPOINT a",
    "EXPLAIN SELECT 1",
    "",
    ";",
    "-- only a comment",
    "SELECT 1; SELECT 2",
    "SELECT 1; DELETE FROM notes",
    "SELECT 1;;DELETE FROM notes",
    "SELECT 1 /*; */; DROP TABLE notes",
    "WITH n AS (SELECT 1) DELETE FROM notes",
    "WITH n AS (SELECT 1) UPDATE notes SET title = 'x'",
    "WITH n AS (SELECT 1) INSERT INTO notes (id) SELECT * FROM n",
    "WITH n AS (SELECT 1) REPLACE INTO notes (id) SELECT * FROM n",
    "WITH n AS (DELETE FROM notes RETURNING *) SELECT * FROM n",
    "SELECT 1) ; DELETE FROM notes; SELECT * FROM (SELECT 1",
    "SELECT 1) LIMIT 1000 --",
    "SELECT 1) UNION SELECT * FROM (SELECT 2",
    "SELECT (1",
    "SELECT 1 /* not closed",
    "SELECT 'not closed",
    'SELECT "not closed',
    "SELECT `not closed",
    "SELECT [not closed",
    "SELECT 1\0; DELETE FROM notes",
    "SELECT 1 \\",
    "SELECT 1 #",
    "\ufeffDELETE FROM notes",
    "\ufeffSELECT 1",
    "SELECT 1 AS a\ufeff",
    "SELECT * FROM pragma_table_info('notes')",
    "SELECT * FROM \"pragma_table_info\"('notes')",
    "SELECT * FROM 'pragma_table_info'('notes')",
    "SELECT * FROM 'pragma_table_list'",
    "SELECT * FROM 'PRAGMA_table_list' AS t",
    "SELECT * FROM/* a */'pragma_table_list'",
    "SELECT * FROM -- a\n'pragma_table_list'",
    "SELECT * FROM main.'pragma_table_list'",
    "SELECT * FROM main /* a */ . /* b */ 'pragma_table_list'",
    "SELECT * FROM 'main'.'pragma_table_list'",
    "SELECT * FROM ('pragma_table_list')",
    "SELECT * FROM (('pragma_table_list'))",
    "SELECT * FROM notes, 'pragma_table_list'",
    "SELECT * FROM notes JOIN 'pragma_table_list'",
    "SELECT 'main' IN 'pragma_table_list'",
    "SELECT 'main' NOT IN main.'pragma_database_list'",
    "SELECT * FROM notes WHERE id IN (SELECT ncol FROM 'pragma_table_list')",
    "SELECT * FROM [pragma_table_list]",
    "SELECT * FROM `pragma_table_list`",
    'SELECT * FROM "pragma_table_list"',
    "SELECT load_extension('x')",
    "SELECT \"load_extension\"('x')",
    "(SELECT 1)",
    `SELECT ${"1,".repeat(6_000)}1`,
  ])("refuses %j", async (query) => {
    const before = database.prepare("SELECT total_changes() AS n").get();
    await expect(readSql(storage, query)).rejects.toBeInstanceOf(RefusedError);
    expect(database.prepare("SELECT total_changes() AS n").get()).toEqual(before);
  });

  test("refuses by SQLite's own grammar what the list of keywords does not cover", async () => {
    // VALUES and SELECT are the only statements in parentheses.
    for (const body of ["DELETE FROM notes", "CREATE TABLE a (b)", "WITH n AS (SELECT 1) DELETE FROM notes"]) {
      expect(() => database.prepare(`SELECT * FROM (${body}) LIMIT 1`)).toThrow(/syntax error/);
    }
  });

  test("returns at most rowsMax rows and reports that there are more", async () => {
    const many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
    const { rows, isTruncated } = await readSql(storage, many, { rowsMax: 5 });
    expect(rows).toEqual([1, 2, 3, 4, 5].map((i) => ({ i })));
    expect(isTruncated).toBe(true);
    expect(await readSql(storage, "SELECT id FROM notes", { rowsMax: 3 })).toMatchObject({ isTruncated: false });
  });

  test("accepts parameters", async () => {
    const found = await readSql(storage, "SELECT title FROM notes WHERE id = ?", { parameters: [2] });
    expect(found.rows).toEqual([{ title: "two" }]);
    expect((await readSql(storage, sql`SELECT title FROM notes WHERE id = ${3}`)).rows).toEqual([{ title: "three" }]);
  });

  test("runs no string that changes the database, reads a PRAGMA or has a second statement", async () => {
    const pieces = fc.constantFrom(
      ..."SELECT|WITH|VALUES|DELETE|FROM|INSERT|INTO|UPDATE|SET|REPLACE|DROP|TABLE|CREATE|PRAGMA|user_version|ATTACH|notes|n|AS|1|x|*|,|(|)|;|=|'|''|\"|`|[|]|--|/*|*/|\n|\0|\ufeff|?|.|UNION|ALL|LIMIT|RETURNING|title|'a'|pragma_user_version|\\|é|$|VACUUM|BEGIN".split(
        "|",
      ),
    );
    const soup = fc.array(pieces, { maxLength: 14 }).map((words) => words.join(" "));
    const glued = fc.array(pieces, { maxLength: 14 }).map((words) => words.join(""));
    const starts = fc.constantFrom("", "SELECT 1 ", "SELECT * FROM notes ", "WITH n AS (SELECT 1) ", "VALUES (1) ");
    const endings = fc.constantFrom(
      "",
      "; DELETE FROM notes",
      ") ; DELETE FROM notes --",
      " DELETE FROM notes",
      "/*",
      "--",
    );
    const state = () => [
      database.prepare("SELECT total_changes() AS n").get(),
      database.prepare("SELECT group_concat(sql) AS n FROM sqlite_schema").get(),
      database.prepare("PRAGMA user_version").get(),
      database.isTransaction,
    ];
    const before = state();
    let ran = 0;
    await fc.assert(
      fc.asyncProperty(starts, fc.oneof(soup, glued), endings, async (start, middle, end) => {
        try {
          await readSql(storage, start + middle + end, { rowsMax: 5 });
          ran++;
        } catch {
          // Refused, or a syntax error of SQLite.
        }
        expect(state()).toEqual(before);
      }),
      { numRuns: 5_000 },
    );
    expect(ran).toBeGreaterThan(10);
  });
});
