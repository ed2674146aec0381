import { AsyncLocalStorage } from 'node:async_hooks';
import { createRequire } from 'node:module';
import tls from 'node:tls';
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
/** Where `PrintingProcess` keeps the processes that still run. */
const children = Symbol.for('sluice-tests.children');
const kept = new Set([...Reflect.ownKeys(globalThis), load]);

/** Loads a module of the sources or an installed package once per worker, as Node does. */
globalThis[load] = path => {
  const before = new Set(Reflect.ownKeys(globalThis));
  const exports = require(path);
  for (const key of Reflect.ownKeys(globalThis)) if (!before.has(key)) kept.add(key);
  return exports;
};

// Nothing is open any more by then, but to free the heap of a hundred files takes longer than the half second that jest waits.
if (process.send) process.once('exit', code => process.exit(code));

/** Events whose listeners are the tests' own: others belong to jest and to packages that stay loaded. */
const events = ['warning', 'unhandledRejection', 'uncaughtException', 'SIGTERM', 'SIGINT', 'SIGHUP'];

/** Remembers what a test file can change of the process; the function that it returns takes all of it back. */
function takeBack() {
  const cwd = process.cwd();
  const umask = process.umask();
  const env = { ...process.env };
  const trusted = tls.getCACertificates('default');
  const listeners = events.map(name => new Set(process.rawListeners(name)));
  // Accessors are Node's own, of what it loads on first use.
  const values = Object.entries(Object.getOwnPropertyDescriptors(globalThis)).filter(([, { get }]) => !get);
  return () => {
    if (process.cwd() !== cwd) process.chdir(cwd);
    process.umask(umask);
    for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
    for (const [name, value] of Object.entries(env))
      if (process.env[name] !== value) process.env[name] = value;
    // The list is another object once it was set anew.
    if (tls.getCACertificates('default') !== trusted) tls.setDefaultCACertificates(trusted);
    for (const [at, name] of events.entries())
      for (const listener of process.rawListeners(name))
        if (!listeners[at].has(listener)) process.removeListener(name, listener);
    for (const child of globalThis[children] ?? []) child.kill('SIGKILL');
    for (const [name, { value }] of values)
      if (globalThis[name] !== value) Reflect.set(globalThis, name, value);
    // Jest has set its own before `values` were read.
    Object.assign(globalThis, { console });
    Object.assign(process, { exit, getBuiltinModule });
    for (const key of Reflect.ownKeys(globalThis))
      if (!kept.has(key)) Reflect.deleteProperty(globalThis, key);
  };
}

/** Set in what a test or hook begins, by its file. */
const running = new AsyncLocalStorage();
const { clearInterval, clearTimeout, setInterval, setTimeout } = globalThis;
const Timeout = setTimeout(() => {}).constructor;

/**
 * A clock that only the tests of one file see. Jest itself and what an earlier file has left behind set timers of the same globals: they
 * have real ones, which a test neither counts nor stops.
 */
class TestClock extends ModernFakeTimers {
  #file;

  constructor(options, file) {
    super(options);
    this.#file = file;
  }

  useFakeTimers(config) {
    super.useFakeTimers(config);
    const isOfTest = () => running.getStore() === this.#file;
    for (const [name, real] of Object.entries({ setTimeout, setInterval }))
      this.#replace(
        name,
        fake =>
          (...args) =>
            (isOfTest() ? fake : real)(...args),
      );
    for (const [name, real] of Object.entries({ clearTimeout, clearInterval }))
      this.#replace(name, fake => timer => (timer instanceof Timeout ? real : fake)(timer));
  }

  #replace(name, by) {
    const fake = globalThis[name];
    // Those that are not to be faked.
    if (!fake.clock) return;
    globalThis[name] = Object.defineProperties(by(fake), Object.getOwnPropertyDescriptors(fake));
  }
}

/** Whether what a test or hook has thrown says that a program is not installed. */
const saysMissing = error =>
  error?.name === 'MissingProgram' || (error?.cause !== undefined && saysMissing(error.cause));

const testsOf = ({ children }) =>
  children.flatMap(child => (child.type === 'test' ? [child] : testsOf(child)));

/**
 * Runs each test file in Node's own realm. What it imports of the sources and of installed packages is shared with the other files of its
 * worker, so that a module which keeps something beyond a gateway fails a test.
 * A `vm` context per file, jest's way, costs 0.2 s of CPU more per file and makes every access to a global slow.
 */
export default class TestEnvironment {
  global = globalThis;
  fakeTimers = null;
  moduleMocker = new ModuleMocker(globalThis);
  #conditions;
  #takeBack = () => {};

  constructor({ projectConfig }) {
    this.fakeTimersModern = new TestClock({ config: projectConfig, global: globalThis }, this);
    this.#conditions = projectConfig.testEnvironmentOptions.customExportConditions;
  }

  exportConditions() {
    return this.#conditions;
  }

  getVmContext() {
    return realm;
  }

  async setup() {
    this.#takeBack = takeBack();
  }

  /** Lets what a test or hook begins be known as its own. */
  #mark(entry) {
    const { fn } = entry;
    if (!fn) return;
    const marked = (...args) => running.run(this, fn, ...args);
    // By its length jest knows whether it takes a callback.
    entry.fn = Object.defineProperty(marked, 'length', { value: fn.length });
  }

  /** Leaves out the tests whose program is not installed. In CI they fail, with the error that says so. */
  handleTestEvent(event, state) {
    if (event.name === 'add_test') this.#mark(state.currentDescribeBlock.children.at(-1));
    if (event.name === 'add_hook') this.#mark(state.currentDescribeBlock.hooks.at(-1));
    if (process.env.CI) return;
    const { name, test, describeBlock, hook } = event;
    if (name === 'test_done' && test.errors.some(([error]) => saysMissing(error))) {
      test.errors = [];
      test.status = 'skip';
    }
    // Where nothing could start there is nothing to end.
    if (name === 'hook_failure' && hook.type === 'afterAll')
      if (testsOf(describeBlock).some(({ status }) => status === 'skip')) state.unhandledErrors.pop();
  }

  /** Takes back what jest and the tests have changed of the process. */
  async teardown() {
    this.fakeTimersModern.dispose();
    this.#takeBack();
  }
}
