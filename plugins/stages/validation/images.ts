import { type ChatRequest, invalidField, type Model, takesImages } from '../../../src/plugin.ts';

/** Rejects an image for a model whose modality takes none. */
export function checkImages({ messages }: ChatRequest, model: Model): void {
  if (takesImages(model)) return;
  const { id, architecture } = model;
  for (let at = 0; at < messages.length; at++) {
    const { content } = messages[at]!;
    if (!Array.isArray(content)) continue;
    const part = content.findIndex(({ type }) => type === 'image_url');
    if (part === -1) continue;
    const rule = `images are not accepted by ${id}, whose modality is ${architecture.modality}.`;
    throw invalidField(`messages[${at}].content[${part}].type`, rule);
  }
}
