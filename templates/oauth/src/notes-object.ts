/**
 * Stores the notes of each user in a separate Durable Object. The object is found by the user's subject, so a mistake in a query
 * cannot reach the notes of another user.
 */
import { DurableObject } from "cloudflare:workers";
import { Notes } from "./notes.ts";

export class NotesObject extends DurableObject<Env> {
  readonly #notes = new Notes((statement, ...values) => this.ctx.storage.sql.exec(statement, ...values).toArray());

  // Only these methods can be called over RPC.
  add(text: string) {
    return this.#notes.add(text);
  }
  search(text: string) {
    return this.#notes.search(text);
  }
  find(id: string) {
    return this.#notes.find(id);
  }
  remove(id: string) {
    return this.#notes.remove(id);
  }
}
