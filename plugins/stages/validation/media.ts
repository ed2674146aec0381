import { type ChatRequest, type ContentPart, invalidField, type Model } from '../../../src/plugin.ts';

/** Kinds of parts beside text: the word of a modality for each, and what it is called. */
const kinds = {
  image_url: ['image', 'images'],
  file: ['file', 'files'],
  input_audio: ['audio', 'audio'],
} as const;

/**
 * Rejects an image, a file or a sound for a model whose modality takes none; with `note` it is replaced by a text that says that there was
 * one, in place.
 */
export function checkMedia({ messages }: ChatRequest, model: Model, unseen: 'refuse' | 'note'): void {
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at]!;
    if (!Array.isArray(message.content)) continue;
    for (const [place, part] of message.content.entries()) {
      const kind = kindOf(part);
      if (!kind || takes(model, kinds[kind][0])) continue;
      if (unseen === 'refuse')
        throw unseenPart(model, `messages[${at}].content[${place}].type`, kinds[kind][1]);
      message.content[place] = noted(part);
    }
  }
}

function kindOf(part: ContentPart): keyof typeof kinds | undefined {
  if (part.type === 'image_url') return part.type;
  const type = part.native?.format === 'openai' ? part.native.item.type : undefined;
  return type === 'file' || type === 'input_audio' ? type : undefined;
}

const takes = ({ architecture: { modality } }: Model, word: string): boolean =>
  modality.slice(0, modality.indexOf('->')).includes(word);

/** The part in words. */
function noted(part: ContentPart): ContentPart {
  if (part.type === 'image_url') return { type: 'text', text: '[image]' };
  const { native, ...rest } = part;
  return rest;
}

function unseenPart({ id, architecture: { modality } }: Model, field: string, what: string) {
  return invalidField(field, `${what} are not accepted by ${id}, whose modality is ${modality}.`);
}
