import { z } from 'zod';
import { type NoticeType, noticeTypeNames, noticeTypes } from './notice-types.ts';
import { unknownPlaceholder } from './templates.ts';

const ms = (value: number) => z.int().positive().default(value);

const events = z
  .array(z.enum(noticeTypeNames))
  .min(1)
  .optional()
  .describe('Which notices it gets; without it all.');

/** 24 to 64 bytes, as Standard Webhooks has it. */
const isSecret = (text: string): boolean => {
  const [, base64 = ''] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text) ?? [];
  const bytes = Buffer.from(base64, 'base64').length;
  return bytes >= 24 && bytes <= 64;
};

/** Options of one webhook. */
export const webhookSchema = z.strictObject({
  url: z
    .url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' })
    .refine(
      url => new URL(url).username === '' && new URL(url).password === '',
      'must have no user and no password: receivers check the signature',
    )
    .describe('Where notices are posted; also an address of a private network. Redirects are not followed.'),
  secrets: z
    .array(
      z
        .string()
        .refine(
          isSecret,
          'must be whsec_ and 24 to 64 bytes in base64: echo whsec_$(openssl rand -base64 32)',
        ),
    )
    .min(1, 'must have at least one secret')
    .max(4)
    .describe(
      'Secrets that notices are signed with as Standard Webhooks has it, each usually `${NAME}`: two while one replaces the other.',
    ),
  events,
  timeout_ms: ms(20_000).describe(
    'The longest that one attempt may take; half of it without a byte ends it as well.',
  ),
});

const address = z.email('must be an address such as ops@example.com').max(254);

/** Options of mails. */
export const mailSchema = z.strictObject({
  host: z
    .string()
    .min(1)
    .meta({ shown: true })
    .describe('The SMTP server (needs the package nodemailer, to be installed beside sluice).'),
  port: z.int().min(1).max(65_535).default(587).describe('Its port.'),
  tls: z
    .enum(['starttls', 'always', 'never'])
    .default('starttls')
    .describe(
      '`starttls` sends nothing before the connection is encrypted, `always` is TLS from the start (port 465), `never` is for a relay on this machine.',
    ),
  user: z.string().min(1).meta({ shown: true }).optional().describe('Name to sign in with.'),
  password: z.string().min(1).optional().describe('Its password, usually `${NAME}`.'),
  from: address.meta({ shown: true }).describe('The sender.'),
  to: z.array(address).meta({ shown: true }).default([]).describe('Operators who get notices.'),
  customers: z
    .boolean()
    .default(false)
    .describe('Tell customers of the limits of their account: its `contacts`.'),
  events,
  timeout_ms: ms(20_000).describe('The longest that one attempt may take.'),
});

const templateOf = (type: NoticeType) =>
  z
    .strictObject({
      subject: z.string().max(500).meta({ shown: true }).optional().describe('The subject.'),
      text: z.string().max(20_000).meta({ shown: true }).optional().describe('The text.'),
    })
    .check(({ value, issues }) => {
      const unknown = unknownPlaceholder(type, value);
      if (unknown !== undefined)
        issues.push({ code: 'custom', input: value, message: `there is no {{${unknown}}} in it` });
    })
    .optional()
    .describe(`With \`{{${noticeTypes[type].fields.join('}}`, `{{')}}}\`.`);

const templates = Object.fromEntries(noticeTypeNames.map(type => [type, templateOf(type)])) as {
  readonly [Type in NoticeType]: ReturnType<typeof templateOf>;
};

/** Options of notices: who is told, and of what. Nobody is told by default, and nothing is watched then. */
export const noticesOptions = z.strictObject({
  webhooks: z
    .record(z.string().regex(/^[\w-]{1,64}$/, 'must have letters, digits, - and _ only'), webhookSchema)
    .default({})
    .describe('Receivers of notices as JSON, by names of your own.'),
  mail: mailSchema.optional().describe('Receivers of notices by mail.'),
  thresholds: z
    .array(z.int().min(1).max(100))
    .max(20)
    .default([50, 80, 100])
    .describe(
      'Per cent of a limit on days, weeks, months or in total at which a notice is sent, once in each period. One that refuses requests with 90 % used counts as used up.',
    ),
  provider_out_ms: ms(60_000).describe(
    'How long a provider must be out of service before a notice is sent, and back in service before the next one.',
  ),
  ledger_behind_ms: ms(60_000).describe(
    'How long rows of the ledger must wait, or the records store be unavailable, before a notice is sent.',
  ),
  poll_ms: z
    .int()
    .min(100)
    .default(10_000)
    .describe(
      'Time between two checks for notices. A threshold counts if two checks in a row find it reached.',
    ),
  retry_ms: ms(5000).describe(
    'Time before the second attempt; doubled for each further one up to an hour, a half of it at random.',
  ),
  retry_for_ms: ms(86_400_000).describe('How long a notice is tried before it is given up.'),
  templates: z
    .strictObject(templates)
    .default({})
    .describe(
      'Words of mails in place of the usual ones, with placeholders; all have `{{id}}`, `{{type}}` and `{{created}}`.',
    ),
});

/** The checked options. */
export type NoticesOptions = z.output<typeof noticesOptions>;
/** A checked webhook. */
export type WebhookOptions = z.output<typeof webhookSchema>;
/** The checked options of mails. */
export type MailOptions = z.output<typeof mailSchema>;
