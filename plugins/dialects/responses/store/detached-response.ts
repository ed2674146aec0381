import {
  type DetachedReply,
  GatewayError,
  type Identity,
  isObject,
  refusal,
} from '../../../../src/plugin.ts';
import type { ReplyForm } from '../reply-form.ts';
import { ResponseObject } from '../response-object.ts';
import { type KeepResponse, ResponseStream } from '../response-stream.ts';
import type { ContinuedRequests, Turn } from './continued-requests.ts';

/** Begins a response that is generated without its client, if its request wants that. */
export function detachedResponse(
  continued: ContinuedRequests,
  identity: Identity,
  form: ReplyForm,
  stop: (why: 'client_gone' | 'time_limit') => void,
): Promise<DetachedReply> | undefined {
  const { turn } = form;
  return turn?.background && begun(continued, identity, { ...form, turn }, stop);
}

async function begun(
  continued: ContinuedRequests,
  identity: Identity,
  form: ReplyForm & { readonly turn: Turn },
  stop: (why: 'client_gone' | 'time_limit') => void,
): Promise<DetachedReply> {
  const { turn } = form;
  turn.identity = identity;
  const object = new ResponseObject(identity, turn);
  const run = await continued.begin(turn, identity, object.encoded('in_progress'), stop);
  turn.run = run;
  const body = turn.background!.wantsStream ? run.follow(-1) : object.encoded('queued');
  const fail = async (error: GatewayError) => {
    const renderer = new ResponseStream(identity, form, keeperOf(continued, turn, identity));
    const events = renderer.error(error);
    await renderer.ending();
    run.take(events);
    run.end();
  };
  return {
    answer: { status: 200, headers: {}, body },
    write: text => run.take(text),
    end(refused) {
      if (run.isOver) return;
      if (refused) void fail(errorIn(refused));
      else if (turn.isKept) run.end();
      else void fail(refusal('server_error'));
    },
  };
}

/** Stores the response of a turn at its end; one that was cancelled meanwhile stays as it is. */
export function keeperOf(
  continued: ContinuedRequests,
  turn: Turn,
  identity: Identity,
): KeepResponse | undefined {
  const { run } = turn;
  if (!turn.isStored) return undefined;
  return async (response, outputs) => {
    if (run?.isOver) return;
    if (run) run.response = response;
    turn.isKept = true;
    await continued.keep(turn, identity, response, outputs);
  };
}

/** The error of a reply that was refused before anything was generated. */
function errorIn({ status, body }: { readonly status: number; readonly body: string }): GatewayError {
  const { error } = JSON.parse(body) as { readonly error?: unknown };
  if (!isObject(error)) return refusal('server_error');
  return new GatewayError(String(error.type), status, String(error.message));
}
