import { afterAll, describe, expect, it } from '@jest/globals';
import express, { type RequestHandler } from 'express';
import { readForm } from '../../src/dashboard/read-form.ts';
import { type RunningApp, startApp } from '../support/express-app.ts';

const apps: RunningApp[] = [];
afterAll(() => Promise.all(apps.map(app => app.close())));

/** The fields as the dashboard reads them behind `parser`. */
async function readBehind(parser: RequestHandler | undefined, sent: URLSearchParams) {
  const app = await startApp(app => {
    if (parser) app.use(parser);
    app.post('/', async (request, response) => void response.json([...(await readForm(request))]));
  });
  apps.push(app);
  const response = await fetch(app.url, { method: 'POST', body: sent });
  return (await response.json()) as [string, string][];
}

describe.each<[string, RequestHandler | undefined]>([
  ['without a parser', undefined],
  ['behind express.urlencoded', express.urlencoded({ extended: false })],
  ['behind express.urlencoded, extended', express.urlencoded({ extended: true })],
])('a form %s', (_, parser) => {
  it('has all its fields, repeated ones in their order, however many', async () => {
    const ids = Array.from({ length: 150 }, (_, at) => ['id', `key_${at}`] as [string, string]);
    const sent: [string, string][] = [['form_token', 'x&=ä'], ...ids, ['empty', '']];
    expect(await readBehind(parser, new URLSearchParams(sent))).toEqual(sent);
  });
});
