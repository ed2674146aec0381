import { isObject, type Json } from '../../../src/plugin.ts';
import { type Block, textOf } from './blocks.ts';

/** The block of a file in OpenAI's form; undefined for what this API cannot be shown, such as audio. */
export function documentOf({ type, file }: Json): Block | undefined {
  if (type !== 'file' || !isObject(file)) return undefined;
  const source = sourceOf(textOf(file.file_data));
  const title = textOf(file.filename);
  return source && { type: 'document', source, ...(title !== '' && { title }) };
}

function sourceOf(url: string): Json | undefined {
  const [start, media_type] = /^data:([^;,]+);base64,/.exec(url.slice(0, 200)) ?? [];
  if (start === undefined) return { type: 'url', url };
  const data = url.slice(start.length);
  if (media_type === 'application/pdf') return { type: 'base64', media_type, data };
  // Of other files the API takes plain text only.
  if (!media_type?.startsWith('text/')) return undefined;
  return { type: 'text', media_type: 'text/plain', data: Buffer.from(data, 'base64').toString() };
}
