import { z } from 'zod';
import { issuesOf, shownIssue } from '../common/config-error.ts';
import { FileProblem, readSmallFile } from '../common/small-file.ts';
import { keyLimitsSchema } from '../gateway/limits/plan-limits.ts';
import { modelListSchema } from '../records/configured-accounts.ts';
import { type ImportedKey, isKeyName, max_key_name } from '../records/key-records.ts';
import { keyTagsSchema } from '../records/key-tags.ts';
import { CommandMistake } from './command.ts';

const max_file_bytes = 64 * 1024 * 1024;
const max_keys = 100_000;

const keySchema = z.strictObject({
  account: z.string().min(1),
  sha256: z.string().regex(/^[0-9a-f]{64}$/i, 'must be the SHA-256 of the key: 64 hexadecimal digits'),
  name: z
    .string()
    .refine(isKeyName, `has ${max_key_name} characters at most, none of them control characters`)
    .default(''),
  hint: z.string().max(8, 'are the last characters of the key, 8 at most').default(''),
  expires: z
    .union([z.iso.datetime({ offset: true }), z.iso.date()])
    .nullable()
    .default(null),
  limits: keyLimitsSchema.default({}),
  models: modelListSchema.nullable().default(null),
  tags: keyTagsSchema.default({}),
});

/** The keys in a file of JSON lines. Throws CommandMistake, which names the line. */
export function readImportedKeys(file: string): readonly ImportedKey[] {
  let text: string;
  try {
    text = readSmallFile(file, max_file_bytes);
  } catch (thrown) {
    if (thrown instanceof FileProblem) throw new CommandMistake(`${file} ${thrown.message}`);
    throw thrown;
  }
  const keys = text
    .split('\n')
    .flatMap((line, at) => (line.trim() === '' ? [] : [keyOf(line, `${file}:${at + 1}`)]));
  if (keys.length > max_keys)
    throw new CommandMistake(`${file} has ${keys.length} keys: at most ${max_keys} at once`);
  return keys;
}

function keyOf(line: string, where: string): ImportedKey {
  let given: unknown;
  try {
    given = JSON.parse(line);
  } catch {
    throw new CommandMistake(
      `${where}: is no JSON, such as {"account": "acme", "name": "ci", "sha256": "…"}`,
    );
  }
  const checked = keySchema.safeParse(given);
  if (!checked.success)
    throw new CommandMistake(`${where}: ${shownIssue(issuesOf(checked.error, keySchema, given)[0]!)}`);
  const { sha256, expires, ...key } = checked.data;
  return { ...key, digest: sha256.toLowerCase(), expires_ms: expires === null ? null : Date.parse(expires) };
}
