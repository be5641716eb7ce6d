/** A SQLite file with the interface of D1, for the server on a desktop. */
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import type { Database } from "./database.ts";

export function openDatabase(file: string): Database {
  const db = new DatabaseSync(file);
  const statement = (text: string, parameters: unknown[] = []): FileStatement => ({
    bind: (...values) => statement(text, values),
    all: async () => ({ results: db.prepare(text).all(...(parameters as SQLInputValue[])) }),
    run: () => void db.prepare(text).run(...(parameters as SQLInputValue[])),
  });
  return {
    prepare: (text) => statement(text),
    batch: async (statements) => {
      db.exec("BEGIN");
      try {
        for (const each of statements) (each as FileStatement).run();
        db.exec("COMMIT");
      } catch (error) {
        db.exec("ROLLBACK");
        throw error;
      }
    },
  };
}

interface FileStatement {
  bind(...parameters: unknown[]): FileStatement;
  all(): Promise<{ results: unknown[] }>;
  run(): void;
}
