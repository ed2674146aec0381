import {
  type ImagePart,
  isObject,
  type Json,
  type NativeItem,
  type ReplyExtras,
} from '../../../src/plugin.ts';

/** The answer of a reply as blocks: text with its citations, what hosted tools did, images. */

/** Format of items that are passed on as they are. */
const native_format = 'anthropic';

const isCitation = ({ item }: NativeItem): boolean => String(item.type).endsWith('_location');

/** Citations and blocks of a message or delta. Citations that came in OpenAI's form alone lack what Anthropic needs to read them again. */
export function nativesIn({ native = [], annotations = [] }: ReplyExtras) {
  const own = native.filter(({ format }) => format === native_format);
  const [cited, blocks] = [own.filter(isCitation), own.filter(one => !isCitation(one))];
  return { cited: cited.length > 0 ? cited : annotations.flatMap(citationOf), blocks };
}

function citationOf({ url_citation: cited }: Json): NativeItem[] {
  if (!isObject(cited) || typeof cited.url !== 'string') return [];
  const { url, title, content, end_index } = cited;
  const cited_text = typeof content === 'string' ? content : '';
  const item = {
    type: 'web_search_result_location',
    url,
    title: title ?? null,
    encrypted_index: '',
    cited_text,
  };
  return [{ format: native_format, item, ...(typeof end_index === 'number' && { at: end_index }) }];
}

/** The block of an image, as requests have it: replies of Anthropic have none. */
export function imageBlock({ image_url: { url } }: ImagePart): Json {
  const [, media_type] = /^data:([^;,]+);base64,/.exec(url.slice(0, 100)) ?? [];
  const data = url.slice(url.indexOf(',') + 1);
  return { type: 'image', source: media_type ? { type: 'base64', media_type, data } : { type: 'url', url } };
}

/** The blocks of a whole answer: a text ends where it is cited, and where a tool was used. */
export function answerBlocks(message: ReplyExtras & { readonly content?: string | null }): Json[] {
  const { cited, blocks } = nativesIn(message);
  const content = message.content ?? '';
  const answer: Json[] = [];
  let from = 0;
  const textTo = (end: number, citations: Json[]): void => {
    const text = content.slice(from, end);
    from = Math.max(from, end);
    if (text !== '') answer.push({ type: 'text', text, ...(citations.length > 0 && { citations }) });
    else if (citations.length > 0) lastText(answer, citations);
  };
  const placed = [
    ...cited.map(({ item, at = content.length }) => ({ item, at, isBlock: false })),
    ...blocks.map(({ item, at = 0 }) => ({ item, at, isBlock: true })),
  ].sort((one, other) => one.at - other.at);
  for (const { item, at, isBlock } of placed) {
    textTo(at, isBlock ? [] : [item]);
    if (isBlock) answer.push(item);
  }
  textTo(content.length, []);
  return [...answer, ...(message.images ?? []).map(imageBlock)];
}

/** Adds citations to the text before them. */
function lastText(answer: readonly Json[], citations: readonly Json[]): void {
  const last = answer.at(-1);
  if (last?.type === 'text') last.citations = [...((last.citations as Json[]) ?? []), ...citations];
}
