import { type ChatRequest, invalidField, type Model } from '../../../src/plugin.ts';

/** Rejects an image for a model whose modality takes none. */
export function checkImages({ messages }: ChatRequest, { id, architecture: { modality } }: Model): void {
  if (modality.slice(0, modality.indexOf('->')).includes('image')) return;
  for (const [at, { content }] of messages.entries()) {
    if (!Array.isArray(content)) continue;
    const part = content.findIndex(({ type }) => type === 'image_url');
    if (part === -1) continue;
    const rule = `must be "text": ${id} takes no images, its modality is ${modality}.`;
    throw invalidField(`messages[${at}].content[${part}].type`, rule);
  }
}
