import type { Message, ReasoningCache, ReasoningDetail } from 'sluice/plugin';

/**
 * What the API wants back of a turn that called tools, and most clients have no field for: the ids that it gave, and the signatures of its
 * thoughts. Kept until the results come; the key is the calls.
 */
export interface Signatures {
  readonly calls: readonly { readonly id?: string; readonly signature?: string }[];
  /** Of the text before the calls. */
  readonly text?: string;
}

export type SignatureMemory = ReasoningCache<Signatures>;

/** Stands for a signature that is lost, as after a restart. Gemini 3 refuses a call without any. */
export const lost_signature = 'skip_thought_signature_validator';

/** Marks signatures of this API; another maker's would be refused. */
const format = 'google-gemini-v1';

/** A signature in the form in which clients get it; `id` is that of its call, if it is one's. */
export const detailOf = (signature: string, index: number, id?: string): ReasoningDetail => ({
  type: 'reasoning.encrypted',
  ...(id !== undefined && { id }),
  data: signature,
  format,
  index,
});

/** The signatures that the client has kept with a message, by the ids of their calls; that of the text has none. */
export function ownSignatures({ reasoning_details = [] }: Message): ReadonlyMap<unknown, string> {
  const own = reasoning_details.flatMap(({ format: given, id, data }) =>
    given === format && data ? [[id, data] as const] : [],
  );
  return new Map(own);
}
