/**
 * Detects whether code runs within a step. Without `AsyncLocalStorage`, this works only until the first `await` of the
 * step.
 *
 * @module
 */

/** A step whose work has begun. */
export interface StepScope {
  readonly name: string;
  /** Whether the work is done. Code that still runs afterwards is no longer part of the step. */
  isOver: boolean;
}

interface ScopeStorage {
  run<Result>(scope: StepScope, work: () => Result): Result;
  getStore(): StepScope | undefined;
}

/** The part of Node and workerd that is used. workerd has it only with some compatibility dates and flags. */
interface Runtime {
  readonly process?: {
    readonly getBuiltinModule?: (name: string) => { readonly AsyncLocalStorage: new () => ScopeStorage } | undefined;
  };
}

/** Stores the scope of synchronous code. */
class SynchronousStorage implements ScopeStorage {
  #scope: StepScope | undefined;

  run<Result>(scope: StepScope, work: () => Result): Result {
    const outer = this.#scope;
    this.#scope = scope;
    try {
      return work();
    } finally {
      this.#scope = outer;
    }
  }

  getStore(): StepScope | undefined {
    return this.#scope;
  }
}

let storage: ScopeStorage | undefined;

function found(): ScopeStorage {
  if (!storage) {
    const { AsyncLocalStorage } = (globalThis as Runtime).process?.getBuiltinModule?.("node:async_hooks") ?? {};
    storage = AsyncLocalStorage ? new AsyncLocalStorage() : new SynchronousStorage();
  }
  return storage;
}

/** Calls the work of a step. */
export async function withinStep<T>(name: string, work: () => T | Promise<T>): Promise<T> {
  const scope: StepScope = { name, isOver: false };
  try {
    return await found().run(scope, work);
  } finally {
    scope.isOver = true;
  }
}

/** Returns the name of the step that calls this, or undefined outside of steps. */
export function currentStep(): string | undefined {
  const scope = found().getStore();
  return scope && !scope.isOver ? scope.name : undefined;
}
