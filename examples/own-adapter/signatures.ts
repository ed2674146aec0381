import type { ReasoningCache } from 'sluice/plugin';

/**
 * What the API wants back of a turn that called tools, and the canonical form has no field for: the ids that it gave, and the signatures of
 * its thoughts. Kept until the results come; the key is the calls.
 */
export interface Signatures {
  readonly calls: readonly { readonly id?: string; readonly signature?: string }[];
  /** Of the text before the calls. */
  readonly text?: string;
}

export type SignatureMemory = ReasoningCache<Signatures>;

/** Stands for a signature that is lost, as after a restart. Gemini 3 refuses a call without any. */
export const lost_signature = 'skip_thought_signature_validator';
