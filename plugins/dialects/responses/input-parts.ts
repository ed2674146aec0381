import { z } from 'zod';
import { arrayOf, type ContentPart, isObject, requestFields } from '../../../src/plugin.ts';

const { audio, fault, file, parsedBy, imagePart, imageUrl, notOffered, optionalText, text } = requestFields;

/** Parts of input items. */

const textPart = z.object(
  {
    type: z.enum(['input_text', 'output_text', 'text']),
    text,
  },
  'must be an object {type: "input_text", text}',
);

const inputImage = z
  .object({
    file_id: z
      .custom<null | undefined>(
        value => value == null,
        'is not offered: files are not stored here; send image_url.',
      )
      .nullish(),
    image_url: imageUrl,
    detail: z.enum(['auto', 'low', 'high'], 'must be one of: auto, low, high').nullish(),
  })
  .transform(({ image_url, detail }) => imagePart(image_url, detail ?? undefined));

const inputFile = z
  .object({
    filename: optionalText,
    file_data: optionalText,
    file_url: optionalText,
    file_id: notOffered('files are not stored here; send file_data or file_url'),
  })
  .transform(({ filename, file_data, file_url }, issues): ContentPart => {
    const parsed = file.safeParse({ filename, file_data: file_data ?? file_url });
    const field = file_data == null ? 'file_url' : 'file_data';
    return parsed.success ? parsed.data : fault(issues, parsed.error.issues[0]!.message, field);
  });

const media: Readonly<Record<string, z.ZodType<ContentPart>>> = {
  input_image: inputImage,
  input_file: inputFile,
  input_audio: z.object({ input_audio: audio }).transform(part => part.input_audio),
};

const partOf = (accepted: string, withMedia: boolean) =>
  z.unknown().transform((given, issues): ContentPart | undefined => {
    const kind =
      withMedia && isObject(given) && typeof given.type === 'string' ? media[given.type] : undefined;
    if (kind) return parsedBy(kind, given, issues);
    const messageOf = ({ path, message }: z.core.$ZodIssue) =>
      path[0] === 'type' ? `must be ${accepted}` : message;
    const part = parsedBy(textPart, given, issues, [], messageOf);
    return part && { type: 'text', text: part.text };
  });

/** A text. */
export const textOnly = partOf('"input_text", "output_text" or "text"', false);

/** A text, an image, a file or a sound. */
export const anyPart = partOf(
  '"input_text", "output_text", "text", "input_image", "input_file" or "input_audio"',
  true,
);

/** A part of an assistant's message, which may be one that only replies have; reasoning is read apart. */
export const assistantPart = z.unknown().transform((given, issues): ContentPart | undefined => {
  if (isReasoningPart(given)) return undefined;
  if (isObject(given) && given.type === 'refusal' && typeof given.refusal === 'string')
    return { type: 'text', text: given.refusal };
  return parsedBy(textOnly, given, issues);
});

/** Reasoning as this interface has it, among the parts of a message. */
const isReasoningPart = (part: unknown): part is { readonly text?: unknown } =>
  isObject(part) && part.type === 'reasoning';

/** Text of the reasoning among the parts of a message. */
export const reasoningAmong = (parts: readonly unknown[]): string =>
  parts
    .flatMap(part => (isReasoningPart(part) && typeof part.text === 'string' ? [part.text] : []))
    .join('\n');

/** Reasoning that a client sends back. */
export interface ReasoningInput {
  readonly text: string;
  readonly encrypted_content: string | null | undefined;
}

const reasoningTexts = (type: string) =>
  arrayOf(
    z.object(
      { type: z.literal(type, `must be "${type}"`), text },
      `must be an object {type: "${type}", text}`,
    ),
    'must be an array',
  ).nullish();

/** A reasoning item. Its content is the whole text, and its summary the only one if there is no content. */
export const reasoningInput = z
  .object({
    summary: reasoningTexts('summary_text'),
    content: reasoningTexts('reasoning_text'),
    encrypted_content: optionalText,
  })
  .transform(({ summary, content, encrypted_content }): ReasoningInput => {
    const texts = content?.length ? content : (summary ?? []);
    return { text: texts.map(part => part.text).join('\n'), encrypted_content };
  });
