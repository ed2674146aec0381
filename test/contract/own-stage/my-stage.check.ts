import { test } from 'node:test';
import { checkStage } from 'sluice/testing';
import myStage from './my-stage.ts';

test('my-stage keeps the contract', () => checkStage(myStage({ word: 'open' })));
