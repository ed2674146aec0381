import { z } from 'zod';
import { noSuchName } from '../common/suggestion.ts';
import { RecordRefused } from './record-errors.ts';

/** Tags that keys may have: the values of each, by its name. */
export type AllowedTags = Readonly<Record<string, readonly string[]>>;

/** Tags of a key: one value of each, by its name. */
export type KeyTags = Readonly<Record<string, string>>;

/** A tag by its name, as usage is grouped by it: `tag:team`. */
export type TagGroup = `tag:${string}`;

const max_tags = 10;
const max_values = 100;

const tagName = z
  .string()
  .regex(/^[a-z][a-z0-9_-]{0,31}$/, 'must be 1 to 32 small letters, digits and _ -, a letter first');

/** Commas divide tags at the command. */
const tagValue = z
  .string()
  .regex(
    /^(?!\s)[^\p{C},]{1,64}(?<!\s)$/u,
    'must be 1 to 64 characters without commas, control characters and space around them',
  );

/** Schema of the tags that keys may have. */
export const allowedTagsSchema = z
  .record(tagName, z.array(tagValue).min(1).max(max_values).meta({ shown: true }))
  .refine(tags => Object.keys(tags).length <= max_tags, `has ${max_tags} names at most`);

/** Schema of the tags of a key. */
export const keyTagsSchema = z.record(tagName, tagValue.meta({ shown: true }));

/** What is wrong with tags that are not allowed: which, and why; undefined for none. */
export function tagFault(
  allowed: AllowedTags,
  tags: KeyTags,
): { readonly name: string; readonly message: string } | undefined {
  for (const [name, value] of Object.entries(tags)) {
    if (!Object.hasOwn(allowed, name))
      return { name, message: noSuchName('tag', name, Object.keys(allowed)) };
    if (!allowed[name]!.includes(value))
      return { name, message: noSuchName(`value of the tag ${name}`, value, allowed[name]!) };
  }
  return undefined;
}

/** Throws RecordRefused for tags that the configuration does not list. */
export function checkTags(allowed: AllowedTags = {}, tags: KeyTags = {}): void {
  const fault = tagFault(allowed, tags);
  if (fault) throw new RecordRefused(`tags: ${fault.message}`, 'tags');
}
