/** ESM TypeScript straight from the sources: swc strips the types, nothing else is transformed and no module is mocked. */
export default {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2024' }, module: { type: 'es6' } },
    ],
  },
  testEnvironmentOptions: { customExportConditions: ['sluice-source', 'node', 'node-addons'] },
  testMatch: ['<rootDir>/test/{unit,contract,e2e}/**/*.test.ts'],
  testTimeout: 30_000,
  maxWorkers: 2,
};
