import { isObject, type Json } from '../../../../src/plugin.ts';

/** An item as a client sends it, or as a response has it. */
export type StoredItem = Json;

/** The items of a request's own input; none of one that will be refused. */
export function itemsOf({ input, messages }: Json): StoredItem[] {
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }];
  const given: unknown = input ?? messages;
  return Array.isArray(given) && given.every(isObject) ? (given as StoredItem[]) : [];
}

/** The id of the item for which this one stands, if it stands for one. */
export function referenceIn({ type, id, role, content }: StoredItem): string | undefined {
  const isReference = type === 'item_reference' || (type == null && role == null && content == null);
  return isReference && typeof id === 'string' ? id : undefined;
}

/** The response that an item is of: its key is in the ids of all its items. */
export function responseOfItem(id: string): string | undefined {
  const key = /^[a-z]+_([0-9a-f]{32})(?:_\w+)?$/.exec(id)?.[1];
  return key && `resp_${key}`;
}

const prefixes: Readonly<Record<string, string>> = { message: 'msg', reasoning: 'rs' };

/** The items with an id each, made of the key of their response where the client has sent none. */
export const withIds = (items: readonly StoredItem[], key: string): StoredItem[] =>
  items.map((item, at) => {
    if (typeof item.id === 'string' && item.id !== '') return item;
    const type = typeof item.type === 'string' ? item.type : 'message';
    return { ...item, id: `${prefixes[type] ?? 'item'}_${key}_in${at + 1}` };
  });

/** An item as lists show it: a message with parts and a status. */
export function listedItem(item: StoredItem): StoredItem {
  const { type = 'message', content } = item;
  if (type !== 'message') return item;
  const part = item.role === 'assistant' ? 'output_text' : 'input_text';
  const parts = typeof content === 'string' ? [{ type: part, text: content }] : content;
  return { ...item, type, status: item.status ?? 'completed', content: parts };
}
