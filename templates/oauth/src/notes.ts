/**
 * The notes of one user, in a database of their own. notes-object.ts keeps it in a Durable Object, stdio.ts in a file.
 */
export interface Note {
  readonly id: string;
  readonly text: string;
  /** ISO 8601. */
  readonly createdAt: string;
}

/** Runs a statement with a value for each question mark, and returns its rows. */
export type RunSql = (statement: string, ...values: (string | number)[]) => Record<string, unknown>[];

/** The notes of one user, as tools reach them. */
export interface RemoteNotes {
  /** Returns undefined if the notebook is full. */
  add(text: string): Promise<Note | undefined>;
  /** The newest notes that contain a text. */
  search(text: string): Promise<Note[]>;
  find(id: string): Promise<Note | undefined>;
  /** Returns whether there was such a note. */
  remove(id: string): Promise<boolean>;
}

/** A bound for what one user can store. */
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
    // instr and not LIKE, in which % and _ have a meaning.
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
