import type { ChatRequest } from './chat-request.ts';
import type { Directives } from './directives.ts';
import type { SimulatorOptions } from './options.ts';

/** A request that was read and checked: all that its reply depends on. */
export interface Source {
  readonly request: ChatRequest;
  readonly model: string;
  readonly directives: Directives;
  /** The server's options, with those of the directives. */
  readonly options: SimulatorOptions;
  /** The request as it arrived, for `echo`. */
  readonly body_text: string;
}
