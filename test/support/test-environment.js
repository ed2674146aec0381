import { createRequire } from 'node:module';
import { ModernFakeTimers } from '@jest/fake-timers';
import { ModuleMocker } from 'jest-mock';
import { realm } from './shared-realm.js';

const require = createRequire(import.meta.url);

// Node loads its fetch on first use, and that leaves a global which outlives the test file.
globalThis.Response;

const { console, process } = globalThis;
const { exit, getBuiltinModule } = process;
/** Where the stand-ins of installed packages find the function. */
const load = Symbol.for('sluice-tests.load-package');
const kept = new Set([...Reflect.ownKeys(globalThis), load]);

/** Loads an installed package once per worker, as Node does. */
globalThis[load] = path => {
  const before = new Set(Reflect.ownKeys(globalThis));
  const exports = require(path);
  for (const key of Reflect.ownKeys(globalThis)) if (!before.has(key)) kept.add(key);
  return exports;
};

// Nothing is open any more by then, but to free the heap of a hundred files takes longer than the half second that jest waits.
if (process.send) process.once('exit', code => process.exit(code));

/**
 * Runs each test file in Node's own realm, with its own instances of our sources but with installed packages shared.
 * A `vm` context per file, jest's way, costs 0.2 s of CPU more per file and makes every access to a global slow.
 */
export default class TestEnvironment {
  global = globalThis;
  fakeTimers = null;
  moduleMocker = new ModuleMocker(globalThis);
  #conditions;

  constructor({ projectConfig }) {
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
    this.#conditions = projectConfig.testEnvironmentOptions.customExportConditions;
  }

  exportConditions() {
    return this.#conditions;
  }

  getVmContext() {
    return realm;
  }

  async setup() {}

  /** Takes back what jest and the tests have changed of the realm. */
  async teardown() {
    this.fakeTimersModern.dispose();
    Object.assign(globalThis, { console });
    Object.assign(process, { exit, getBuiltinModule });
    for (const key of Reflect.ownKeys(globalThis))
      if (!kept.has(key)) Reflect.deleteProperty(globalThis, key);
  }
}
