import { isObject, type Json } from '../../../src/plugin.ts';
import { type Block, textOf } from './blocks.ts';

/** Version of the API's search that every model with one has. */
const type = 'web_search_20250305';

/** The API's tool for a request's `web_search_options`, in OpenAI's form with `filters` and `max_uses`; undefined without any. */
export function searchTool(options: unknown): Json | undefined {
  if (!isObject(options)) return undefined;
  const { filters, user_location: place, max_uses } = options;
  const { allowed_domains, blocked_domains } = isObject(filters) ? filters : {};
  const { approximate, ...flat } = isObject(place) ? place : {};
  const near = isObject(approximate) ? approximate : flat;
  return {
    type,
    name: 'web_search',
    ...given({ max_uses, allowed_domains, blocked_domains }),
    ...(isObject(place) && { user_location: { ...given(near), type: 'approximate' } }),
  };
}

const given = (fields: Json): Json =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null));

/** Whether a choice of tools is the search. */
export const isSearch = (choice: unknown): boolean => isObject(choice) && choice.type === 'web_search';

/** Whether a block is what one of the API's own tools did. */
export const isServerBlock = ({ type: kind }: Block): boolean =>
  kind === 'server_tool_use' ||
  kind === 'mcp_tool_use' ||
  kind === 'container_upload' ||
  kind.endsWith('_tool_result');

/** A citation of a page in OpenAI's form; none for citations of documents, which have no address. */
export function annotationsOf(citation: Json, start_index: number, end_index: number): Json[] {
  const { url, title, cited_text } = citation;
  if (typeof url !== 'string') return [];
  const content = textOf(cited_text);
  const cited = {
    url,
    title: textOf(title) || url,
    ...(content !== '' && { content }),
    start_index,
    end_index,
  };
  return [{ type: 'url_citation', url_citation: cited }];
}
