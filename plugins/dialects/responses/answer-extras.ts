import { type ImagePart, isObject, type Json, type NativeItem } from '../../../src/plugin.ts';

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

/** What a reply has beside text and calls, as OpenAI's items and annotations. */

export type HostedItem = ReturnType<typeof searchItem | typeof imageItem>;

/** What a search was for; `undefined` for what other tools did, which have no item here. */
export function queryIn({ format, item: { type, name, input } }: NativeItem): string | undefined {
  if (format !== 'anthropic' || type !== 'server_tool_use' || name !== 'web_search') return undefined;
  return isObject(input) && typeof input.query === 'string' ? input.query : '';
}

export const searchItem = (id: string, status: ItemStatus, query: string) => ({
  id,
  type: 'web_search_call' as const,
  status,
  action: { type: 'search', query, queries: [query], sources: [] },
});

/** An image that the model made: its data, or its address where it has only that. */
export function imageItem(id: string, status: ItemStatus, { image_url: { url } }: ImagePart) {
  const [, output_format] = /^data:image\/([^;,]+);base64,/.exec(url.slice(0, 100)) ?? [];
  return {
    id,
    type: 'image_generation_call' as const,
    status,
    result: output_format === undefined ? url : url.slice(url.indexOf(',') + 1),
    ...(output_format !== undefined && { output_format }),
  };
}

/** A citation, which has the members of its page beside its type here. */
export const annotationOf = ({ type, url_citation: cited }: Json): object => ({
  type,
  ...(isObject(cited) && cited),
});
