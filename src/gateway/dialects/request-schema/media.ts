import { z } from 'zod';
import type { TextPart } from '../../exchange/canonical.ts';
import { fault } from './first-fault.ts';
import { acceptedImageUrl } from './image.ts';
import { nonEmptyText, notOffered, optionalText, present, text } from './shared-fields.ts';

const media = (
  words: string,
  item: { readonly type: string; readonly [name: string]: unknown },
): TextPart => ({
  type: 'text',
  text: `[${words}]`,
  native: { format: 'openai', item },
});

/** A file in OpenAI's form, by its content in base64 or its address, with a text for models that cannot be shown it. */
export const file = z
  .object({
    filename: optionalText,
    file_data: text,
    file_id: notOffered('files are not stored here; send file_data'),
  })
  .transform(({ filename, file_data }, issues): TextPart => {
    const url = /^data:[\w.+/-]{1,100};base64,/.test(file_data) ? file_data : acceptedImageUrl(file_data);
    if (url === undefined)
      return fault(
        issues,
        'must be a data: URL in base64, or an https: address of a public host',
        'file_data',
      );
    return media(`file: ${filename ?? 'unnamed'}`, {
      type: 'file',
      file: present({ filename, file_data: url }),
    });
  });

/** A sound in OpenAI's form, likewise. */
export const audio = z
  .object({ data: nonEmptyText, format: nonEmptyText })
  .transform((input_audio): TextPart => media('audio', { type: 'input_audio', input_audio }));
