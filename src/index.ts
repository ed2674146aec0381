/**
 * The public API: `import { createGateway } from 'sluice'`. Plugins use `sluice/plugin` as well.
 *
 * @module sluice
 */
export {
  aliases,
  auth,
  errorEnvelope,
  modelAccess,
  rateLimit,
  reasoningSplit,
  redact,
  requestRewrite,
  responseCache,
  streamRechunk,
  validation,
} from '../plugins/index.ts';
export { ConfigError, type ConfigIssue } from './common/config-error.ts';
export type {
  AccountOptions,
  ConfiguredAccountOptions,
  ModelOptions,
  PlanOptions,
  ProviderOptions,
} from './common/options.ts';
export type { ConfiguredProvider, ConfiguredStage, GatewayConfig } from './config/gateway-config.ts';
export type { StageEntry } from './config/given-plugins.ts';
export { defineStage } from './gateway/exchange/define-stage.ts';
export { errorCatalogue, GatewayError } from './gateway/exchange/errors.ts';
export type { ErrorHandler, RequestHandler, StageFactory } from './gateway/exchange/stage-plan.ts';
export type { StateStore } from './gateway/limits/state-store.ts';
export type { ChangedBy } from './mount/administration/administrator.ts';
export type { AccountToCreate, GatewayAccounts } from './mount/administration/gateway-accounts.ts';
export type { GatewayKeys, KeyRotation, KeyToCreate } from './mount/administration/gateway-keys.ts';
export type { ControlledBy, GatewayProviders } from './mount/administration/gateway-providers.ts';
export type { GatewayUsage } from './mount/administration/gateway-usage.ts';
export type {
  AccountAnswer,
  AccountOf,
  ApplicationAccount,
} from './mount/chain/application-accounts.ts';
export type { ChainOptions } from './mount/chain/chain-options.ts';
export { type ChainHandler, createChain } from './mount/chain/create-chain.ts';
export type { Gateway } from './mount/gateway.ts';
export type { GatewayOptions } from './mount/gateway-options.ts';
export { createGateway } from './mount/lazy-gateway.ts';
export { MemoryStateStore } from './mount/state/counters/memory-state-store.ts';
export { openStateStore } from './mount/state/open-state-store.ts';
export type { OperatorOf, Reloaded } from './records/define-extension.ts';
export type { PostgresPool } from './records/postgres-pool.ts';
export type { Log } from './telemetry/log.ts';
export type { Logger } from './telemetry/logger.ts';
