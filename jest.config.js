import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// Hundreds of tests start the command: with compiled modules kept on disk that costs it half the CPU time.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('node_modules/.cache/node', import.meta.url));

const { dependencies, devDependencies } = JSON.parse(
  readFileSync(new URL('package.json', import.meta.url), 'utf8'),
);
// Jest loads its own packages, and tests a copy of OpenTelemetry of their own: it keeps what a file has registered.
const shared = Object.keys({ ...dependencies, ...devDependencies }).filter(
  name => !/jest|opentelemetry/.test(name),
);

/**
 * ESM TypeScript straight from the sources. What is tested is loaded by Node, once per worker, as users load it; of the tests themselves
 * swc strips the types. No module is mocked.
 */
export default {
  testEnvironment: '<rootDir>/test/support/test-environment.js',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    [`^${RegExp.escape(import.meta.dirname)}/(src|plugins|examples|test/fixtures/stages)/.+\\.ts$`]:
      '<rootDir>/test/support/package-transform.js',
    [`/node_modules/(${shared.join('|')})/`]: '<rootDir>/test/support/package-transform.js',
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2024' }, module: { type: 'es6' } },
    ],
  },
  transformIgnorePatterns: [],
  testEnvironmentOptions: { customExportConditions: ['sluice-source', 'node', 'node-addons'] },
  reporters: ['default', '<rootDir>/test/support/missing-programs-reporter.js'],
  testMatch: ['<rootDir>/test/{unit,contract,e2e}/**/*.test.ts'],
  // Some start browsers and servers, on machines that may be busy with other things.
  testTimeout: 90_000,
  // One more than the two cores of a small machine: many tests wait for processes, sockets and time limits. With four a quiet machine takes a
  // fifth less, and a busy one fails tests whose times are real.
  maxWorkers: 3,
  // Modules of finished files are not all freed, and collections of a large heap would slow the files that follow.
  workerIdleMemoryLimit: '1GB',
};
