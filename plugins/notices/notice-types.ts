const used = {
  subject: '{{account}}: {{used_percent}} % of {{title}} used',
  text: `Account {{account}} has used {{used_percent}} % of a limit.

Limit: {{title}}, {{max}}
Used: {{used}}
Resets: {{resets_at}}`,
  fields: ['account', 'model', 'limit', 'title', 'used_percent', 'used', 'max', 'remaining', 'resets_at'],
} as const;

/** What can be told, when, and with which usual words. `fields` are the placeholders that its template may have, beside `id` and `created`. */
export const noticeTypes = {
  'limit.threshold_reached': {
    ...used,
    when: 'An account, or a key with limits of its own, has used one of `thresholds` per cent of a limit on days, weeks, months or in total, soft ones included. Once in each period; of several that are reached at once the highest. In total again when the limit is raised.',
    fields: [...used.fields, 'key', 'threshold_percent'],
  },
  'limit.used': {
    ...used,
    when: 'An operator tells the contacts of an account how much of a limit is used, from the page of its limits: by mail to them alone, once in each hour of the clock for each limit.',
  },
  'provider.out': {
    when: 'The circuit breaker of a provider is open, or its health check fails, for `provider_out_ms`.',
    subject: 'provider {{provider}} is out',
    text: 'Provider {{provider}} has been out since {{since}}: {{reason}}. Seen by {{instance}}.',
    fields: ['provider', 'reason', 'since', 'instance'],
  },
  'provider.back': {
    when: 'It has been in service again for `provider_out_ms`.',
    subject: 'provider {{provider}} is back',
    text: 'Provider {{provider}} is in service again since {{since}}. Seen by {{instance}}.',
    fields: ['provider', 'since', 'instance'],
  },
  'ledger.behind': {
    when: 'A row of the ledger waits, or the records store is unavailable, for `ledger_behind_ms`.',
    subject: 'the ledger is behind',
    text: 'The ledger is behind since {{since}}: {{reason}}. Rows that wait: {{rows_waiting}}. Seen by {{instance}}.',
    fields: ['reason', 'rows_waiting', 'since', 'instance'],
  },
  'ledger.caught_up': {
    when: 'No row waits any longer.',
    subject: 'the ledger has caught up',
    text: 'Every row is in the ledger again since {{since}}. Seen by {{instance}}.',
    fields: ['since', 'instance'],
  },
  'configuration.refused': {
    when: 'A reload was refused.',
    subject: 'a configuration was refused',
    text: 'A reload of the configuration was refused; the previous one stays in use. The log of {{instance}} has the mistakes.',
    fields: ['since', 'instance'],
  },
  'configuration.accepted': {
    when: 'The next reload that is accepted.',
    subject: 'the configuration is accepted again',
    text: 'A reload of the configuration was accepted at {{instance}}.',
    fields: ['since', 'instance'],
  },
  test: {
    when: '`sluice notices test`, or the button in the dashboard.',
    subject: 'a test',
    text: 'This is a test, asked for by {{actor}}. Nothing has happened.',
    fields: ['actor'],
  },
} as const satisfies Record<
  string,
  { when: string; subject: string; text: string; fields: readonly string[] }
>;

/** The name of something that can be told. */
export type NoticeType = keyof typeof noticeTypes;

/** All names. */
export const noticeTypeNames = Object.keys(noticeTypes) as [NoticeType, ...NoticeType[]];

/** Whether this sluice knows a notice: another instance may be newer. */
export const isNoticeType = (type: string): type is NoticeType => Object.hasOwn(noticeTypes, type);
