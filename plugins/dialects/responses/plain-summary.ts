import type { Message } from '../../../src/plugin.ts';

/** Version of the form. */
const prefix = 'sls1.';
/** Characters of a summary in this form. */
const max_characters = 1_398_101;
/** Before a summary, for the model. */
const heading = 'Summary of the conversation so far:\n\n';

/** A summary as the `encrypted_content` of an item. Not encrypted, where nothing is stored: a client may read what its own request has produced. */
export const plainSummaryOf = (summary: string): string =>
  prefix + Buffer.from(summary).toString('base64url');

/** A summary as the model gets it. */
export const messageOf = (summary: string) => ({ role: 'user' as const, content: `${heading}${summary}` });

/** The message of a summary in this form; undefined for any other content. */
export function summaryMessage(content: unknown): Message | undefined {
  if (typeof content !== 'string' || !content.startsWith(prefix) || content.length > max_characters)
    return undefined;
  return messageOf(Buffer.from(content.slice(prefix.length), 'base64url').toString());
}
