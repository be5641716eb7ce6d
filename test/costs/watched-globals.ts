/**
 * Counts expensive uses of the platform. Imported before all other modules, because they keep references to globals.
 */

export interface Uses {
  timers: number;
  abortControllers: number;
  streams: number;
  /** Number of values opened with a sealing key. */
  decrypted: number;
  /** The number of times that an object requested to be kept awake. */
  held: number;
  /** Characters of JSON created from values. */
  stringified: number;
}

const none = (): Uses => ({ timers: 0, abortControllers: 0, streams: 0, decrypted: 0, held: 0, stringified: 0 });
let uses = none();

/** Returns the counts since the previous call. */
export function takeUses(): Uses {
  const taken = uses;
  uses = none();
  return taken;
}

/** Starts counting the uses of an object. */
export function watchObject(state: DurableObjectState): void {
  const hold = state.waitUntil.bind(state);
  state.waitUntil = (work) => {
    uses.held += 1;
    hold(work);
  };
}

const [setTimer, Controller, Stream] = [setTimeout, AbortController, ReadableStream];
const stringify = JSON.stringify;
const decrypt = crypto.subtle.decrypt.bind(crypto.subtle);

Object.assign(globalThis, {
  setTimeout: (...args: Parameters<typeof setTimeout>) => {
    uses.timers += 1;
    return setTimer(...args);
  },
  AbortController: class extends Controller {
    constructor() {
      uses.abortControllers += 1;
      super();
    }
  },
  ReadableStream: class {
    constructor(...args: ConstructorParameters<typeof Stream>) {
      uses.streams += 1;
      // biome-ignore lint/correctness/noConstructorReturn: returns an object of the platform's own class.
      return new Stream(...args);
    }
  },
});
JSON.stringify = ((...args: Parameters<typeof stringify>) => {
  const text: string | undefined = stringify(...args);
  uses.stringified += text?.length ?? 0;
  return text;
}) as typeof stringify;
crypto.subtle.decrypt = (...args) => {
  uses.decrypted += 1;
  return decrypt(...args);
};
