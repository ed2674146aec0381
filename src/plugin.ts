/** The plugin API, published as `sluice/plugin`. The built-in plugins import nothing else, so it is sufficient for others. */

export { acceptedEncodings } from './common/accepted-encodings.ts';
export { calendarPeriods } from './common/calendar-periods.ts';
export type { Clock } from './common/clock.ts';
export { issuesOf, mistakesIn } from './common/config-error.ts';
export { decodePath } from './common/decode-path.ts';
export { fieldPath, shown } from './common/field-path.ts';
export { isObject, type Json } from './common/json-object.ts';
export {
  exceeds,
  type JsonSize,
  jsonSizeOf,
  max_arguments_size,
  mayExceed,
} from './common/json-size.ts';
export type { AccountOptions, PlanOptions } from './common/options.ts';
export { hashPassword, isPassword } from './common/password.ts';
export { ReasoningCache, type ReasoningCacheLimits } from './common/reasoning-cache.ts';
export { RepeatingTask } from './common/repeating-task.ts';
export { type SeveralHosts, severalHostsOf } from './common/several-hosts.ts';
export { shortText } from './common/short-text.ts';
export { dayIn, timeZoneName } from './common/time-zone.ts';
export {
  type Account,
  type AccountDirectory,
  type ModelList,
  rootOf,
  unusableAccount,
} from './gateway/accounts/accounts.ts';
export {
  allName,
  allowModels,
  catalogReader,
  forbiddenModel,
  namesModel,
  unreadLists,
} from './gateway/accounts/model-lists.ts';
export type { CacheStore } from './gateway/cache/cache-store.ts';
export { Catalog, type Model, takesImages } from './gateway/catalog/catalog.ts';
export { catalogEntry, publicModelFields } from './gateway/catalog/catalog-entry.ts';
export { CallIds } from './gateway/dialects/call-ids.ts';
export { summaryAgents } from './gateway/dialects/client-agents.ts';
export {
  type CatalogAnswer,
  type CatalogAnswers,
  type DetachedReply,
  type Dialect,
  type DialectDefinition,
  type DialectSetup,
  defineDialect,
  type GenerationFormat,
  type Identity,
  type ModelAliases,
  type RequestAnswers,
  type RequestContext,
  type StreamRenderer,
} from './gateway/dialects/define-dialect.ts';
export type { DialectHeaders } from './gateway/dialects/dialect-headers.ts';
export { openAiErrorBody } from './gateway/dialects/openai-error.ts';
export { requestFields } from './gateway/dialects/request-schema/fields.ts';
export { arrayOf, parseBody } from './gateway/dialects/request-schema/first-fault.ts';
export { setAsideUnknown } from './gateway/dialects/request-schema/unknown-fields.ts';
export { ReplyAssembler } from './gateway/exchange/assemble-reply.ts';
export type { AttemptRecord } from './gateway/exchange/attempt-record.ts';
export type {
  CacheControl,
  ChatRequest,
  Choice,
  Chunk,
  ChunkChoice,
  Completion,
  ContentPart,
  Delta,
  FinishReason,
  ImagePart,
  Message,
  NativeItem,
  Operation,
  ReasoningDetail,
  ReplyExtras,
  ReplyMessage,
  StreamDecoder,
  TextPart,
  Tool,
  ToolCall,
  ToolCallDelta,
  Usage,
} from './gateway/exchange/canonical.ts';
export { encryptedDetails, textOf, tokenCount, usageOf } from './gateway/exchange/canonical.ts';
export { defineStage } from './gateway/exchange/define-stage.ts';
export {
  type ErrorCode,
  type ErrorDetail,
  errorCatalogue,
  GatewayError,
  invalidField,
  refusal,
} from './gateway/exchange/errors.ts';
export type { StageRecord } from './gateway/exchange/exchange-view.ts';
export {
  defineKey,
  type Endpoint,
  type ExchangeView as Exchange,
  type Key,
  type Outcome,
  type RunningUsage,
  type UnreadUse,
} from './gateway/exchange/exchange-view.ts';
export { fromGenerator } from './gateway/exchange/from-generator.ts';
export { ignoreParameters } from './gateway/exchange/ignored-parameters.ts';
export type { Answer, Stage } from './gateway/exchange/stage.ts';
export type {
  FindAccount,
  Hooks,
  RequestHandler,
  StageFactory,
  StageSetup,
} from './gateway/exchange/stage-plan.ts';
export type { StreamController, StreamTransformer } from './gateway/exchange/stream.ts';
export { discardBody } from './gateway/inbound/discard-body.ts';
export { sendContinue } from './gateway/inbound/expect-continue.ts';
export { addressOf, lastOf, requestIdOf } from './gateway/inbound/start-exchange.ts';
export {
  amountsOf,
  counterKey,
  isCalendar,
  type Limit,
  type LimitName,
  type LimitWindow,
  limitLabel,
  limitNames,
  limitTable,
  limitWindows,
  neverResets,
  periodsOf,
  rowOf,
  unitOf,
  windowOf,
} from './gateway/limits/limit-table.ts';
export { type Charge, type LimitUnit, limitUnits } from './gateway/limits/limit-units.ts';
export {
  amountUsed,
  type LimitStatus,
  type Reservation,
  type ReservationRequest,
  type ReservationResult,
  type StateStore,
} from './gateway/limits/state-store.ts';
export { costOf } from './gateway/settlement/cost.ts';
export { max_tokens_per_character } from './gateway/settlement/token-estimator.ts';
export { estimateTokens } from './gateway/settlement/usage-meter.ts';
export { doneEvent, encodeEvent, keepAliveComment } from './gateway/sse/encode.ts';
export type { SseEvent } from './gateway/sse/parse.ts';
export { SseParser } from './gateway/sse/parse.ts';
export {
  type Adapter,
  type AdapterSetup,
  defineProvider,
  type OperationForm,
  type ProviderDefinition,
  type Target,
  type UpstreamRequest,
} from './gateway/upstream/adapter.ts';
export type { MessageField } from './gateway/upstream/attempt/fit-messages.ts';
export { chunkOf, eventObject } from './gateway/upstream/http/decode-reply.ts';
export { scrubbed } from './gateway/upstream/http/scrub.ts';
export { UpstreamError } from './gateway/upstream/http/upstream-error.ts';
export {
  effortFields,
  knownEfforts,
  leavesReasoning,
  templateEffort,
  thinkingSwitches,
} from './gateway/upstream/openai/effort-fields.ts';
export { type Finish, finishOf } from './gateway/upstream/openai/finish-reason.ts';
export {
  type OpenAiServer,
  openAiAdapter,
  openAiParameters,
} from './gateway/upstream/openai/openai-adapter.ts';
export {
  decodeOpenAiReply,
  encodeOpenAi,
  newCallId,
} from './gateway/upstream/openai/openai-format.ts';
export type { OpenAiMessageForm } from './gateway/upstream/openai/openai-messages.ts';
export {
  OpenAiStreamDecoder,
  type OpenAiStreamOptions,
} from './gateway/upstream/openai/openai-stream-decoder.ts';
export { atMost, max_parts } from './gateway/upstream/reply-bounds.ts';
export type { Upstream } from './gateway/upstream/routing/upstream.ts';
export { checkToolArguments, toolArguments } from './gateway/upstream/tool-arguments.ts';
export { modelBeforeFallback, restrictFallbacks } from './mount/fallback/model-filter.ts';
export { slots_per_window } from './mount/state/counters/counters.ts';
export {
  type AccountRules,
  checkAccountChange,
  checkContacts,
  checkedAccountChange,
  checkedKeyChange,
  checkIsStored,
  checkKey,
  checkModels,
  checkNewAccount,
  checkParent,
} from './records/account-rules.ts';
export { callHandler } from './records/call-handler.ts';
export {
  accountsSchema,
  ConfiguredAccounts,
  digestOfKey,
  modelListSchema,
} from './records/configured-accounts.ts';
export { csvOf } from './records/csv.ts';
export {
  type AnyExtensionDefinition,
  type ConfigPlace,
  defineExtension,
  type ExtensionContext,
  type ExtensionDefinition,
  type ExtensionSettings,
  type ListedProvider,
  type OpenExtension,
  type OperatorAnswer,
  type OperatorOf,
  type ProcessStatus,
  type ProviderStatus,
  type Reloaded,
  type UpgradeRequest,
} from './records/define-extension.ts';
export {
  defineStateStore,
  type Examination,
  type StatePlace,
  type StateStoreDefinition,
  type StateStoreSetup,
} from './records/define-state-store.ts';
export { type DialectGateway, dialectGateway } from './records/dialect-gateway.ts';
export {
  isAskedForReturns,
  type LeaseAnswer,
  type LeaseMessage,
  type LeaseTimes,
  machine_times,
  mostOf,
  type RowAnswer,
  type RowReport,
  type SharedTable,
  type TableTime,
  told_machine_times,
  type Verdict,
  type Want,
} from './records/lease-protocol.ts';
export {
  accountsAbove,
  creditOf,
  hasLimitsWithoutPlan,
  type LimitedAccount,
  type LimitSettings,
  type LimitSource,
  type LimitState,
  limitStates,
  limitsOf,
  type NoLimits,
  planLimitsOf,
} from './records/limit-states.ts';
export { limitedAccount, limitedKey } from './records/limited-accounts.ts';
export { type LoginAttempt, LoginThrottle } from './records/login-throttle.ts';
export { isMoneyLimit, keepingMoney, moneyLimitIn, withoutMoney } from './records/money-limits.ts';
export { type OperatorRole, operatorRoles } from './records/operator-role.ts';
export { type ProviderState, providerStates } from './records/provider-states.ts';
export { BodyTooLarge, receivedBody } from './records/received-body.ts';
export {
  CannotServe,
  CommandRejected,
  type RemoteServer,
  type RemoteState,
  Unreachable,
} from './records/remote-state.ts';
export type { RunningExchange, RunningExchanges, RunningPlace } from './records/running-exchange.ts';
export {
  fixedUsd,
  isMonth,
  max_statement_lines,
  type Statement,
  type StatementColumn,
  type StatementLine,
  statementColumns,
  statementOf,
} from './records/statement.ts';
export {
  isTagGroup,
  sumByTags,
  type TaggedQuery,
  type TaggedSum,
  type TagSource,
} from './records/tagged-usage.ts';
export { hasPaid, no_model, usageColumns } from './records/usage-columns.ts';
export { usageNotice } from './records/usage-notice.ts';
export { type Totals, totalOf } from './records/usage-total.ts';
export * from './store-plugin.ts';
export type { CollectedValue } from './telemetry/metric.ts';
export type { PluginMetrics } from './telemetry/metric-factory.ts';
export type { Counter, Gauge, Histogram } from './telemetry/metric-kinds.ts';
export { StoreHealth } from './telemetry/store-health.ts';
export { StoreMetrics } from './telemetry/store-metrics.ts';
