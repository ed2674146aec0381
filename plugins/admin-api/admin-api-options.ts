import { z } from 'zod';
import { hashKey, operatorRoles } from '../../src/plugin.ts';

const common = {
  name: z
    .string()
    .min(1)
    .max(100)
    .regex(/^[^\p{Cc}]+$/u, 'must have no control characters')
    .meta({ shown: true })
    .describe('Who or what uses it: its name in the audit log.'),
  role: z
    .enum(operatorRoles)
    .meta({ shown: true })
    .describe(
      '`admin` may do everything. `operator` changes accounts and keys, but sees neither amounts of money nor the audit log. `viewer` sees everything and changes nothing.',
    ),
  expires: z.iso
    .datetime({ offset: true })
    .meta({ shown: true })
    .optional()
    .describe('Until when it may be used, such as `2027-01-31T00:00:00Z`.'),
};

const keySchema = z.union(
  [
    z.strictObject({
      ...common,
      value: z
        .string()
        .min(32, 'must have at least 32 characters')
        .describe('The key itself, of at least 32 characters; usually `${NAME}` or `${file:PATH}`.'),
    }),
    z.strictObject({
      ...common,
      sha256: z
        .string()
        .regex(/^[0-9a-f]{64}$/i, 'must be the SHA-256 of the key: 64 hexadecimal digits')
        .describe('The SHA-256 of the key, as 64 hexadecimal digits.'),
    }),
  ],
  'must be an object with name, role, and value or sha256',
);

export type ConfiguredAdminKey = z.output<typeof keySchema>;

/** Digest of a configured key, written as text or as digest. */
export const digestOfAdminKey = (key: ConfiguredAdminKey): string =>
  'sha256' in key ? key.sha256.toLowerCase() : hashKey(key.value);

const namesOf = (keys: readonly ConfiguredAdminKey[]) => keys.map(({ name }) => name.toLowerCase());

/** Options of the Admin API. */
export const adminApiOptions = z.strictObject({
  enabled: z
    .boolean()
    .default(false)
    .describe(
      'Serve the Admin API: below `/admin-api/v1` of the admin listener, or as `gateway.extension("admin-api").admin` in an application.',
    ),
  keys: z
    .array(keySchema)
    .default([])
    .refine(keys => new Set(namesOf(keys)).size === keys.length, 'must have another name for each key')
    .describe(
      'Keys of the Admin API beside those that `sluice admin-keys` makes: `{ name, role, value }`, or better `{ name, role, sha256 }`.',
    ),
});

export type AdminApiOptions = z.output<typeof adminApiOptions>;
