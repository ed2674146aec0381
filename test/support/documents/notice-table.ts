import { noticeTypes } from '../../../plugins/notices/notice-types.ts';

/** The table of notices: when each is told, and what it has. */
export function noticeTable(): string {
  const rows = Object.entries(noticeTypes).map(
    ([name, { when, fields }]) =>
      `| \`${name}\` | ${when} | ${fields.map(field => `\`${field}\``).join(', ')} |`,
  );
  return ['| type | when | placeholders, and fields of `data` |', '|---|---|---|', ...rows].join('\n');
}
