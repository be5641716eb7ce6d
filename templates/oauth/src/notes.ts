/**
 * The notes of one user, in a separate database. In notes-object.ts, the database is in a Durable Object; in stdio.ts, in a file.
 */
export interface Note {
  readonly id: string;
  readonly text: string;
  /** The time of creation, in ISO 8601 format. */
  readonly createdAt: string;
}

/** Runs a statement with a value for each question mark, and returns its rows. */
export type RunSql = (statement: string, ...values: (string | number)[]) => Record<string, unknown>[];

/** The notes of one user, called over RPC. */
export interface RemoteNotes {
  /** Adds a note. Returns undefined if the notebook is full. */
  add(text: string): Promise<Note | undefined>;
  /** Returns the newest notes that contain a string. */
  search(text: string): Promise<Note[]>;
  find(id: string): Promise<Note | undefined>;
  /** Removes a note. Returns whether it existed. */
  remove(id: string): Promise<boolean>;
}

/** The maximum number of notes of a user. */
export const NOTES_MAX = 1_000;
const FOUND_MAX = 50;

export class Notes {
  readonly #run: RunSql;

  constructor(run: RunSql) {
    this.#run = run;
    run("CREATE TABLE IF NOT EXISTS notes (id TEXT PRIMARY KEY, text TEXT NOT NULL, created_at TEXT NOT NULL)");
  }

  add(text: string): Note | undefined {
    const [{ count } = { count: 0 }] = this.#run("SELECT COUNT(*) AS count FROM notes");
    if (Number(count) >= NOTES_MAX) return undefined;
    const note = { id: crypto.randomUUID(), text, createdAt: new Date().toISOString() };
    this.#run("INSERT INTO notes (id, text, created_at) VALUES (?, ?, ?)", note.id, note.text, note.createdAt);
    return note;
  }

  search(text: string): Note[] {
    // instr() instead of LIKE, in which % and _ are wildcards.
    const condition = "instr(lower(text), lower(?)) > 0";
    const rows = this.#run(
      `SELECT * FROM notes WHERE ${condition} ORDER BY created_at DESC, rowid DESC LIMIT ?`,
      text,
      FOUND_MAX,
    );
    return rows.map(toNote);
  }

  find(id: string): Note | undefined {
    return this.#run("SELECT * FROM notes WHERE id = ?", id).map(toNote)[0];
  }

  remove(id: string): boolean {
    return this.#run("DELETE FROM notes WHERE id = ? RETURNING id", id).length > 0;
  }
}

const toNote = ({ id, text, created_at }: Record<string, unknown>): Note => ({
  id: String(id),
  text: String(text),
  createdAt: String(created_at),
});
