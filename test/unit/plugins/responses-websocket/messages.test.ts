import { describe, expect, it } from '@jest/globals';
import { callHeaders } from '../../../../plugins/responses-websocket/call-headers.ts';
import { createMessageOf } from '../../../../plugins/responses-websocket/client-message.ts';
import {
  errorIn,
  errorMessage,
  refusalMessage,
  streamErrorMessage,
} from '../../../../plugins/responses-websocket/error-message.ts';
import { refusal } from '../../../../src/plugin.ts';

const limits = { max_body_values: 100, max_body_keys: 100 };
const read = (message: unknown) => createMessageOf(Buffer.from(JSON.stringify(message)), limits);

describe('a message of the client', () => {
  it('is the body of a POST without what only a transport has', () => {
    const fields = { model: 'm', input: 'Hi', store: false, tools: [] };
    const given = { type: 'response.create', ...fields, stream: false, background: false, event_id: 'e' };
    expect(read(given)).toEqual({ body: { ...fields, stream: true }, generate: true });
    expect(read({ type: 'response.create', response: fields })).toEqual(read(given));
    expect(read({ ...given, generate: false })).toMatchObject({ generate: false });
  });

  it('that tells of a response asks for nothing', () => {
    expect(read({ type: 'response.processed', response_id: 'resp_1' })).toBeUndefined();
  });
});

describe('an error as a message', () => {
  it('has status, error and headers of a refusal, as HTTP would have them', () => {
    const error = refusal('rate_limited', { headers: { 'retry-after': '3' } });
    expect(JSON.parse(refusalMessage(error))).toEqual({
      type: 'error',
      status: 429,
      error: { type: 'rate_limit_error', code: 'rate_limited', message: error.message, param: null },
      headers: { 'retry-after': '3' },
    });
  });

  it('has no headers of a body or a connection', () => {
    const headers = { date: 'x', connection: 'close', 'content-type': 'x', 'x-request-id': 'req_1' };
    expect(JSON.parse(errorMessage(400, {}, headers)).headers).toEqual({ 'x-request-id': 'req_1' });
  });

  it('has the status that an error in a stream would have had before it', () => {
    const event = { type: 'error', sequence_number: 7, error: { type: 'provider_error', message: 'm' } };
    expect(JSON.parse(streamErrorMessage(JSON.stringify(event)))).toEqual({ ...event, status: 502 });
    expect(JSON.parse(streamErrorMessage('{"type":"error"}'))).toMatchObject({ status: 500 });
  });

  it('is a server error where the body of a reply is none', () => {
    expect(errorIn('{"error":{"type":"t"}}')).toEqual({ type: 't' });
    for (const body of ['<html>', '[]', '{"error":1}'])
      expect(errorIn(body)).toMatchObject({ type: 'server_error' });
  });
});

describe('headers of the request for a reply', () => {
  const opened = {
    authorization: 'Bearer k',
    traceparent: '00-a-b-01',
    'x-reasoning-placement': 'item',
    host: 'gateway',
    connection: 'upgrade',
    upgrade: 'websocket',
    'sec-websocket-key': 'k',
    'sec-websocket-version': '13',
    'x-request-id': 'mine',
    'content-length': '7',
    'content-encoding': 'br',
    'transfer-encoding': 'chunked',
    accept: 'text/html',
    expect: '100-continue',
  };

  it('are those that opened the connection, but for the connection and the body, with an id of its own', () => {
    expect(callHeaders(opened, 'mine', 3, 12)).toEqual({
      authorization: 'Bearer k',
      traceparent: '00-a-b-01',
      'x-reasoning-placement': 'item',
      host: 'gateway',
      'content-type': 'application/json',
      'content-length': 12,
      'x-request-id': 'mine.3',
    });
  });

  it('leave the id to the gateway where it would be too long', () => {
    expect(callHeaders(opened, 'm'.repeat(127), 1, 1)).not.toHaveProperty('x-request-id');
  });
});
