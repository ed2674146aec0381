import { isNoticeType, type NoticeType, noticeTypes } from './notice-types.ts';

/** Words of a notice in place of the usual ones. */
export interface Template {
  readonly subject?: string | undefined;
  readonly text?: string | undefined;
}

const placeholder = /\{\{\s*(\w+)\s*\}\}/g;
const always = ['id', 'created', 'type'];
/** Characters of one value, and of a subject. */
const max_value = 300;
const max_subject = 200;

/** The first placeholder of a template that its notice does not have. */
export function unknownPlaceholder(
  type: NoticeType,
  { subject = '', text = '' }: Template,
): string | undefined {
  const known: readonly string[] = [...always, ...noticeTypes[type].fields];
  return [...`${subject} ${text}`.matchAll(placeholder)]
    .map(([, name]) => name!)
    .find(name => !known.includes(name));
}

/** On one line, so that no value adds a header to a mail, or a line to a text. */
const oneLine = (text: string, max: number): string =>
  text
    .replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .trim()
    .slice(0, max);

const shown = (value: unknown): string => {
  if (value === undefined || value === null) return '';
  return oneLine(typeof value === 'object' ? JSON.stringify(value) : String(value), max_value);
};

/** What a notice is told with. Values of its data are put in as they are, and never looked at for placeholders. */
export function wordsOf(
  notice: {
    readonly id: string;
    readonly type: string;
    readonly created_ms: number;
    readonly data: Readonly<Record<string, unknown>>;
  },
  own: Template = {},
): { readonly subject: string; readonly text: string } {
  const { id, type, created_ms, data } = notice;
  const usual = isNoticeType(type) ? noticeTypes[type] : { subject: type, text: JSON.stringify(data) };
  const values: Readonly<Record<string, unknown>> = {
    ...data,
    id,
    type,
    created: new Date(created_ms).toISOString(),
    ...(data.resets_at === null && { resets_at: 'never' }),
  };
  const filled = (text: string) =>
    text.replaceAll(placeholder, (_, name: string) =>
      shown(Object.hasOwn(values, name) ? values[name] : undefined),
    );
  return {
    subject: oneLine(filled(own.subject ?? `[sluice] ${usual.subject}`), max_subject),
    text: `${filled(own.text ?? usual.text)}\n`,
  };
}
