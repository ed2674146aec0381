/** The part of the plugin API that records stores are made with: commands on records load it without the rest. */

export { dayOf, hourOf, isDay, lastDayOf, monthOf, monthStart, wholeMonths } from './common/calendar-day.ts';
export { day_ms, hour_ms, minute_ms } from './common/durations.ts';
export {
  classOfReason,
  classOfType,
  clientTypes,
  type EndClass,
  type ErrorClass,
  type ErrorCounts,
  endClassOf,
  endReasons,
  errorClasses,
  errorNameOf,
  isErrorClass,
  noErrors,
  refusal_statuses,
  serviceFailures,
} from './common/end-class.ts';
export { type Finding, finding } from './common/finding.ts';
export { firstUuidOf, keyId, timeOrderedUuid } from './common/ids.ts';
export { missingPackage } from './common/missing-package.ts';
export { exactNanoUsdOf, nanoUsdOf, picoUsd, signedPicoUsd, signedUsdOf, usdOf } from './common/money.ts';
export { within } from './common/within.ts';
export {
  AccountLimits,
  amountOfRule,
  fieldsOfRule,
  type KeyLimits,
  keyLimitsSchema,
  type LimitedKey,
  type LimitRule,
  type LimitRuleFields,
  type LimitSet,
  type LimitsOfOne,
  limitOverridesSchema,
  type PlaceInTree,
  type Plan,
  type Plans,
  planSchema,
  plansSchema,
} from './gateway/limits/plan-limits.ts';
export {
  type AttemptRow,
  isBatch,
  isRow,
  type LedgerEntry,
  type LedgerRow,
  type RefusalBatch,
  type RefusalCount,
  type StageRow,
} from './gateway/settlement/ledger-entry.ts';
export {
  type AccountChange,
  type AccountQuery,
  type AccountRecord,
  type AccountRecords,
  type ChangeOf,
  type CheckOf,
  type Credit,
  isAccountName,
  isContact,
  isDisplayName,
  max_contacts,
  max_display_name,
  type NewAccount,
  sameName,
} from './records/account-records.ts';
export { idsAbove, max_parents } from './records/account-tree.ts';
export {
  type AdminKeyQuery,
  type AdminKeyRecord,
  type AdminKeyRecords,
  isAdminKeyName,
  type MadeAdminKey,
  type NewAdminKey,
} from './records/admin-key-records.ts';
export {
  type AuditEntry,
  type AuditLog,
  type AuditQuery,
  actionsNamed,
  auditActions,
  auditGroups,
  type Operator,
} from './records/audit-log.ts';
export type { ChangeFeed, Changes } from './records/change-feed.ts';
export {
  type CustomerCheck,
  type CustomerLogin,
  type CustomerLogins,
  type Invitation,
  isCustomerName,
  max_customers,
} from './records/customer-logins.ts';
export { type Connection, type Database, type Row, rowMarks, type Value } from './records/database.ts';
export {
  defineRecordsStore,
  type RecordsPlace,
  type RecordsStoreDefinition,
} from './records/define-records-store.ts';
export {
  type CarriedOut,
  type IdempotentRequest,
  type IdempotentRequests,
  idempotency_ms,
} from './records/idempotent-requests.ts';
export {
  type FoundKey,
  type ImportedKey,
  isKeyName,
  type KeyChange,
  type KeyImport,
  type KeyOptions,
  type KeyQuery,
  type KeyRecord,
  type KeyRecords,
  max_key_name,
  type NewKey,
  rotatedExpiry,
} from './records/key-records.ts';
export { hashKey, isAdminKeyForm, isStoredKeyForm, newAdminSecret, newSecret } from './records/key-secret.ts';
export { type AllowedTags, type KeyTags, keyTagsSchema, type TagGroup } from './records/key-tags.ts';
export type { LedgerPlace, LedgerQuery, LedgerRecords, ListedRow } from './records/ledger-records.ts';
export { attemptColumns, rowSchema } from './records/ledger-schema.ts';
export {
  type ClaimedDelivery,
  type DeliveryResult,
  type NewNotice,
  type NoticeDelivery,
  type NoticeQuery,
  type NoticeRecord,
  type NoticeRecords,
  testNotice,
} from './records/notice-records.ts';
export type { PageQuery } from './records/page-query.ts';
export type { PostgresClient, PostgresPool, PostgresQuery } from './records/postgres-pool.ts';
export {
  type ControlOptions,
  checkControl,
  max_reason,
  max_weight,
  type NewControl,
  type ProviderControl,
  type ProviderControls,
  type ProviderSwitch,
} from './records/provider-controls.ts';
export { hours_ms, type Pruned, type Pruning } from './records/pruning.ts';
export {
  AlreadyThere,
  ConfiguredRecord,
  databaseCode,
  isOutage,
  KeyEnded,
  KeyExists,
  NameTaken,
  NotThere,
  RecordRefused,
  RequestRepeated,
  StoreUnavailable,
  TooManyKeys,
} from './records/record-errors.ts';
export type { RecordsStore } from './records/records-store.ts';
export type { SessionEnds, SessionRecord, SessionRecords } from './records/session-records.ts';
export { openSqlite, sqliteInMemory } from './records/sqlite/sqlite.ts';
export type { StoredResponse, StoredResponses } from './records/stored-responses.ts';
export {
  type AttemptSum,
  duration_bounds_ms,
  type FailurePoint,
  first_token_bounds_ms,
  type TrafficFilter,
  type TrafficPoint,
  type TrafficQuery,
  type TrafficRange,
  type TrafficRecords,
  type TrafficSplit,
  trafficSplits,
  trafficSteps,
} from './records/traffic-records.ts';
export {
  all_models,
  type BudgetSum,
  type KeyUse,
  type RefusalQuery,
  type RefusalSum,
  type UsageGroup,
  type UsageQuery,
  type UsageRecords,
  type UsageSum,
  usageGroups,
} from './records/usage-records.ts';
export type { Log } from './telemetry/log.ts';
