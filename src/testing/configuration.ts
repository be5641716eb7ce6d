/** Combines the options of a test and the Worker's wrangler configuration into options for miniflare. */
import { dirname, resolve } from "node:path";
import { type BundleOptions, bundle, bundleControl, type WorkerEntry } from "./bundle.ts";
import { CLOCK, CONTROL_NAME, KIT_BINDING, KIT_CLASS, TWIN_NAME, WORKER_NAME } from "./names.ts";
import { loadWrangler } from "./tools.ts";

/** The Worker to run, and its configuration. Either `wrangler` or `entry` is required. */
export interface WorkerOptions {
  /**
   * The path of a wrangler configuration file. It provides the entry file, objects, variables (including those in `.dev.vars`), other
   * bindings, and the compatibility date and flags. The other options extend and override it. WebAssembly modules are not bundled.
   */
  readonly wrangler?: string;
  /** The environment in the configuration file. @default the top-level configuration */
  readonly environment?: string;
  /** The path of the entry file, or TypeScript source. @default `main` in the configuration file */
  readonly entry?: WorkerEntry;
  /** The folder against which relative paths are resolved, and in which packages are looked up. @default the current folder */
  readonly root?: string;
  /**
   * SQLite-backed Durable Object classes: a list of the names of exported classes, or a record from binding names to class names.
   */
  readonly objects?: readonly string[] | Readonly<Record<string, string>>;
  /** Workflow bindings: a record from binding names to the names of exported classes. */
  readonly workflows?: Readonly<Record<string, string>>;
  /** Variables and secrets: strings or JSON values. */
  readonly bindings?: Readonly<Record<string, unknown>>;
  /** The compatibility date of the Worker. @default the date in the configuration file, or 2026-10-20 */
  readonly compatibilityDate?: string;
  /** The compatibility flags of the Worker. @default the flags in the configuration file, or enable_request_signal */
  readonly compatibilityFlags?: readonly string[];
  /** Responds to every fetch of the Worker instead of the network. Without it, fetches go to the network. */
  readonly outbound?: (request: Request) => Response | Promise<Response>;
  /**
   * The port on 127.0.0.1 to which developer tools can attach, to debug, profile, or read the size of the heap.
   *
   * @default none
   */
  readonly inspectorPort?: number;
  /** If true, a second isolate of the same Worker uses the objects of the first. The first isolate can call it by the binding TWIN. */
  readonly twin?: boolean;
}

type Legacy = Record<string, unknown>;
type ObjectDesignator =
  | string
  | { readonly className: string; readonly scriptName?: string | undefined; readonly useSQLite?: boolean | undefined };

/** A Worker that is ready to start. */
export interface PreparedWorker {
  /** Options for miniflare 4, one for each Worker. They do not use miniflare's types, because users may not have them installed. */
  readonly workers: readonly object[];
  /** The Durable Object classes that the Worker itself exports, by class name and by binding name. */
  readonly classes: ReadonlyMap<string, string>;
  /** The bindings of the control Worker that move clocks, one for each isolate. */
  readonly clocks: readonly string[];
  readonly inspectorPort: number | undefined;
}

/** Reads the configuration and bundles the Worker. */
export async function prepare(options: WorkerOptions): Promise<PreparedWorker> {
  const root = resolve(options.root ?? ".");
  const { entry, worker, others, define, alias, tsconfig } = await configured(options, root);
  if (entry === undefined)
    throw new Error("startWorker() needs the option `wrangler` (a configuration file) or `entry`.");
  const [bindings, unbound] = declaredObjects(options.objects);
  const objects: Record<string, ObjectDesignator> = {
    ...(worker.durableObjects as Record<string, ObjectDesignator>),
    ...bindings,
  };
  const withoutBinding = [...((worker.additionalUnboundDurableObjects as OwnObject[] | undefined) ?? []), ...unbound];
  // The second isolate can use the objects of the first one only through bindings.
  if (options.twin) Object.assign(objects, bindingsOfTwin(withoutBinding, ownObjects(objects)));
  const additionalUnboundDurableObjects = options.twin ? [] : withoutBinding;
  const own = { ...ownObjects(objects), ...byClass(additionalUnboundDurableObjects) };
  const classes = new Map(
    Object.entries(own).flatMap(([name, { className }]): [string, string][] => [
      [name, className],
      [className, className],
    ]),
  );
  const { compatibilityDate, compatibilityFlags, outbound } = options;
  const flags = compatibilityFlags ?? (worker.compatibilityFlags as string[] | undefined) ?? [];
  const hasNode = flags.some((flag) => flag.startsWith("nodejs_compat"));
  const classNames = [...new Set(classes.values())];
  const script = await bundle({ entry, root, classNames, define, alias, tsconfig, hasNode });
  const first = {
    ...worker,
    name: WORKER_NAME,
    modules: true,
    script,
    ...(compatibilityDate ? { compatibilityDate } : {}),
    compatibilityFlags: [...flags],
    durableObjects: objects,
    additionalUnboundDurableObjects,
    workflows: {
      ...(worker.workflows as object),
      ...mapValues(options.workflows ?? {}, (className) => ({ name: className, className })),
    },
    bindings: { ...(worker.bindings as object), ...options.bindings },
    ...(outbound ? { outboundService: outbound } : {}),
  };
  const shared = mapValues(ownObjects(objects), (target) => ({ ...target, scriptName: WORKER_NAME }));
  const clocks = options.twin ? [WORKER_NAME, TWIN_NAME] : [WORKER_NAME];
  const control = {
    name: CONTROL_NAME,
    modules: true,
    script: await bundleControl(root),
    // Supported by every version of workerd that can be installed.
    compatibilityDate: "2025-01-01",
    durableObjects: mapValues(byClass(Object.values(own)), (target) => ({ ...target, scriptName: WORKER_NAME })),
    serviceBindings: Object.fromEntries(clocks.map((name) => [name, { name, entrypoint: CLOCK }])),
  };
  const workers = [...(options.twin ? withTwin(first, shared) : [first]), control, ...others];
  return { workers, classes, clocks, inspectorPort: options.inspectorPort };
}

type ReadConfiguration = Pick<BundleOptions, "define" | "alias" | "tsconfig"> & {
  readonly entry: WorkerEntry | undefined;
  readonly worker: Legacy;
  readonly others: readonly object[];
};

async function configured(options: WorkerOptions, root: string): Promise<ReadConfiguration> {
  const { wrangler: path, environment, entry } = options;
  if (path === undefined) {
    const worker = { compatibilityDate: "2026-10-20", compatibilityFlags: ["enable_request_signal"] };
    return { entry, worker, others: [], define: {}, alias: {}, tsconfig: undefined };
  }
  const wrangler = await loadWrangler(root);
  const file = resolve(root, path);
  const config = wrangler.unstable_readConfig({ config: file, env: environment }, { hideWarnings: true });
  const { workerOptions, define, main, externalWorkers } = wrangler.unstable_getMiniflareWorkerOptions(
    file,
    environment,
  );
  // Module rules do not apply, because this Worker is bundled into a single module.
  const { modulesRules: _, ...rest } = workerOptions as Legacy;
  return {
    entry: entry ?? main,
    worker: { ...rest, rootPath: dirname(file) },
    others: externalWorkers,
    define,
    alias: config.alias ?? {},
    tsconfig: config.tsconfig,
  };
}

/** A Durable Object class that the Worker itself exports. */
interface OwnObject {
  readonly className: string;
  readonly useSQLite?: boolean | undefined;
}

/** Returns the bindings of the option `objects`, and the classes without a binding. */
function declaredObjects(objects: WorkerOptions["objects"] = []): [Record<string, OwnObject>, OwnObject[]] {
  const declared = (className: string) => ({ className, useSQLite: true });
  return Array.isArray(objects)
    ? [{}, objects.map(declared)]
    : [mapValues(objects as Readonly<Record<string, string>>, declared), []];
}

/** Returns the bindings to classes that the Worker itself exports. */
function ownObjects(objects: Record<string, ObjectDesignator>): Record<string, OwnObject> {
  const own = Object.entries(objects).flatMap(([binding, target]): [string, OwnObject][] => {
    if (typeof target === "string") return [[binding, { className: target }]];
    return target.scriptName === undefined ? [[binding, target]] : [];
  });
  return Object.fromEntries(own);
}

function byClass(objects: readonly OwnObject[]): Record<string, OwnObject> {
  return Object.fromEntries(objects.map((each) => [each.className, each]));
}

/**
 * Returns a binding for each class that does not have one. Only the name for the class of the kit is known.
 *
 * @param bound The classes that have bindings.
 * @throws if any other class does not have a binding.
 */
function bindingsOfTwin(
  objects: readonly OwnObject[],
  bound: Readonly<Record<string, OwnObject>>,
): Record<string, OwnObject> {
  const known = new Set(Object.values(bound).map(({ className }) => className));
  const missing = objects.filter(({ className }) => !known.has(className));
  const unknown = missing.find(({ className }) => className !== KIT_CLASS);
  if (unknown) {
    const { className } = unknown;
    const text = `startWorker({ twin: true }): both isolates need a binding to use the same objects of the class ${className}.`;
    throw new Error(
      `${text} Add [[durable_objects.bindings]] to the configuration file, or write objects: { BINDING: "${className}" }.`,
    );
  }
  return Object.fromEntries(missing.map((each) => [KIT_BINDING, each]));
}

function withTwin(first: Legacy, shared: Legacy): Legacy[] {
  return [
    { ...first, serviceBindings: { ...(first.serviceBindings as object), TWIN: TWIN_NAME } },
    { ...first, name: TWIN_NAME, durableObjects: { ...(first.durableObjects as object), ...shared } },
  ];
}

function mapValues<V, W>(record: Readonly<Record<string, V>>, change: (value: V) => W): Record<string, W> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
}
