import { GatewayError } from '../../../../src/plugin.ts';

const shownId = (id: string): string => JSON.stringify(id.slice(0, 100));

/** 404 for a response that the account does not have. */
export const noResponse = (id: string): GatewayError =>
  new GatewayError('invalid_request_error', 404, `Response with id ${shownId(id)} not found.`);

/** 404 for a conversation that the account does not have. */
export const noConversation = (id: string): GatewayError =>
  new GatewayError('invalid_request_error', 404, `Conversation with id ${shownId(id)} not found.`);

/** 400 for a request that continues a response which the account does not have, or no longer. Clients look for the code. */
export function noPrevious(id: string): GatewayError {
  const message = `Previous response with id ${shownId(id)} not found.`;
  const detail = { code: 'previous_response_not_found', param: 'previous_response_id' };
  return Object.assign(new GatewayError('invalid_request_error', 400, message, detail), {
    openaiFields: true,
  });
}

/** 503 while the store does not answer. */
export const storeDown = (cause: unknown): GatewayError =>
  new GatewayError(
    'server_error',
    503,
    'Stored responses cannot be read at the moment. Retry the request, or send the whole conversation as input.',
    { headers: { 'retry-after': '1' }, cause },
  );
