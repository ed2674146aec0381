import { test } from 'node:test';
import { checkStage } from 'sluice/testing';
import { losesTheTail } from '../broken-stages.ts';

test('a broken stage fails', () => checkStage(losesTheTail));
