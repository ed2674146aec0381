import type { ChatRequest } from '../../gateway/exchange/canonical.ts';
import type { Target } from '../../gateway/upstream/adapter.ts';
import type { MessageField } from '../../gateway/upstream/attempt/fit-messages.ts';

/** A request that every adapter must encode, or refuse by field. */
export interface StandardRequest {
  readonly name: string;
  readonly request: Partial<ChatRequest>;
  readonly target?: Partial<Target>;
  /** The field that must change what is sent, be named in `ignored`, or be refused. */
  readonly field?: string;
  /** What the same request is without it; the least request without this. */
  readonly without?: Partial<ChatRequest>;
  /** Texts that must be sent. */
  readonly says?: readonly string[];
  /** The field must change what is sent. */
  readonly isNeeded?: boolean;
  /** Only for adapters that declare this in `messageFields`. */
  readonly declared?: MessageField;
}
