import { test } from 'node:test';
import { checkStage, streamFixtures } from 'sluice/testing';
import { losesTheTail } from '../broken-stages.ts';

test('a broken stage fails', () => checkStage(losesTheTail, { fixtures: streamFixtures.slice(0, 1) }));
