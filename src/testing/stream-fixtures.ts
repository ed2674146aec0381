import { framingFixtures } from './fixtures/framing.ts';
import { reasoningFixtures } from './fixtures/reasoning.ts';
import { textFixtures } from './fixtures/text.ts';
import { toolCallFixtures } from './fixtures/tool-calls.ts';
import { usageFixtures } from './fixtures/usage.ts';
import type { StreamFixture } from './wire.ts';

/** Streams as servers really send them, small, each for one habit. */
export const streamFixtures: readonly StreamFixture[] = [
  ...textFixtures,
  ...reasoningFixtures,
  ...toolCallFixtures,
  ...usageFixtures,
  ...framingFixtures,
];
