/**
 * The state that the steps of a migration share.
 *
 * @module
 */
import type { Node, SourceFile } from "ts-morph";
import { Plans } from "./handlers.ts";
import type { Topic, Unit } from "./unit.ts";

/** The state of one migration of a project. */
export class Migration {
  readonly units = new Map<SourceFile, Unit>();
  readonly plans = new Plans();
  readonly topics = new Set<Topic>();
  /** Subclasses of `McpAgent` that became apps, each with its app and the name of its Durable Object class. */
  readonly agents = new Map<string, { readonly app: string; readonly className: string }>();
  /** Handlers of subscriptions, which become options of their server. */
  readonly subscriptions: { readonly created: Node; readonly option: string; readonly handler: Node }[] = [];
  /** Whether handlers read the props of the user from `ctx.auth`. */
  usesProps = false;
  /** Whether a server is now served over Durable Objects. */
  needsObjects = false;

  /** The unit of the file that contains a node; undefined for a file outside of the project. */
  unitOf(node: Node): Unit | undefined {
    return this.units.get(node.getSourceFile());
  }
}
