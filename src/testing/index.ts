/**
 * For tests of plugins, with any test runner: `import { checkAdapter, checkStage } from 'sluice/testing'`.
 *
 * @module sluice/testing
 */
export type {
  AdapterContract,
  AdapterErrorFixture,
  AdapterFixture,
  ExpectedCall,
  ExpectedChoice,
  ShownError,
} from './adapter/adapter-contract.ts';
export { checkAdapter } from './adapter/check-adapter.ts';
export { checkStage } from './check-stage.ts';
export {
  type AdapterRule,
  type Breach,
  ContractError,
  type Rule,
  type StageRule,
  type StoreRule,
} from './contract-error.ts';
export type { Change, ContractOptions, StageUnderTest } from './contract-options.ts';
export { checkExtension } from './stores/check-extension.ts';
export { checkRecordsStore } from './stores/check-records-store.ts';
export { checkStateStore } from './stores/check-state-store.ts';
export { streamFixtures } from './stream-fixtures.ts';
export type { StreamFixture } from './wire.ts';
