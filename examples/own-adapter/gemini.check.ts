import { test } from 'node:test';
import { checkAdapter } from 'sluice/testing';
import { contract } from './fixtures.ts';
import gemini from './gemini.ts';

test('gemini keeps the contract', () =>
  checkAdapter(gemini, { ...contract, model: 'gemini-3-flash-preview' }));

// Requests differ with the model, replies do not.
for (const model of ['gemini-3.1-pro-preview', 'gemini-2.5-flash', 'gemini-2.5-pro', 'gemini-2.0-flash'])
  test(`gemini encodes requests for ${model}`, () =>
    checkAdapter(gemini, { fixtures: contract.fixtures.slice(0, 1), model }));
