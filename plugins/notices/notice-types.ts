const used = {
  subject: '{{account}}: {{used_percent}} % of {{title}} used',
  text: `Account {{account}} has used {{used_percent}} % of a limit.

Limit: {{title}}, {{max}}
Used: {{used}}
Resets: {{resets_at}}`,
  fields: ['account', 'model', 'limit', 'title', 'used_percent', 'used', 'max', 'remaining', 'resets_at'],
} as const;

/** What can be told, with the usual words. `fields` are the placeholders that its template may have, beside `id` and `created`. */
export const noticeTypes = {
  'limit.threshold_reached': { ...used, fields: [...used.fields, 'key', 'threshold_percent'] },
  'limit.used': used,
  'provider.out': {
    subject: 'provider {{provider}} is out',
    text: 'Provider {{provider}} has been out since {{since}}: {{reason}}. Seen by {{instance}}.',
    fields: ['provider', 'reason', 'since', 'instance'],
  },
  'provider.back': {
    subject: 'provider {{provider}} is back',
    text: 'Provider {{provider}} is in service again since {{since}}. Seen by {{instance}}.',
    fields: ['provider', 'since', 'instance'],
  },
  'ledger.behind': {
    subject: 'the ledger is behind',
    text: 'The ledger is behind since {{since}}: {{reason}}. Rows that wait: {{rows_waiting}}. Seen by {{instance}}.',
    fields: ['reason', 'rows_waiting', 'since', 'instance'],
  },
  'ledger.caught_up': {
    subject: 'the ledger has caught up',
    text: 'Every row is in the ledger again since {{since}}. Seen by {{instance}}.',
    fields: ['since', 'instance'],
  },
  'configuration.refused': {
    subject: 'a configuration was refused',
    text: 'A reload of the configuration was refused; the previous one stays in use. The log of {{instance}} has the mistakes.',
    fields: ['since', 'instance'],
  },
  'configuration.accepted': {
    subject: 'the configuration is accepted again',
    text: 'A reload of the configuration was accepted at {{instance}}.',
    fields: ['since', 'instance'],
  },
  test: {
    subject: 'a test',
    text: 'This is a test, asked for by {{actor}}. Nothing has happened.',
    fields: ['actor'],
  },
} as const satisfies Record<string, { subject: string; text: string; fields: readonly string[] }>;

/** The name of something that can be told. */
export type NoticeType = keyof typeof noticeTypes;

/** All names. */
export const noticeTypeNames = Object.keys(noticeTypes) as [NoticeType, ...NoticeType[]];

/** Whether this sluice knows a notice: another instance may be newer. */
export const isNoticeType = (type: string): type is NoticeType => Object.hasOwn(noticeTypes, type);
