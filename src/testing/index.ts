/** For tests of stages, with any test runner: `import { checkStage } from 'sluice/testing'`. */
export { checkStage } from './check-stage.ts';
export { type Breach, ContractError, type Rule } from './contract-error.ts';
export type { Change, ContractOptions, StageUnderTest } from './contract-options.ts';
export { streamFixtures } from './stream-fixtures.ts';
export type { StreamFixture } from './wire.ts';
