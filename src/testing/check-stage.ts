import { checkedBy } from '../common/config-error.ts';
import { readFixture } from './arrivals.ts';
import { type ContractOptions, contractOptionsSchema, type StageUnderTest } from './contract-options.ts';
import { textEverywhere } from './fixtures/text-everywhere.ts';
import { type Case, readWhole } from './reading.ts';
import { resultOf } from './result.ts';
import { checkErrors, checkSettlement } from './rules/hooks.ts';
import { checkLeaks } from './rules/leaks.ts';
import { checkBackPressure, checkDelay, checkLeaving } from './rules/readers.ts';
import {
  checkCuts,
  checkFaults,
  checkIsolation,
  checkLeftovers,
  checkWholeReplies,
} from './rules/results.ts';
import { Setting } from './setting.ts';
import { streamFixtures } from './stream-fixtures.ts';

/** Checks with each fixture, in order. */
const ofFixtures: readonly ((setting: Setting, fixture: Case) => Promise<void>)[] = [
  checkCuts,
  checkWholeReplies,
  checkFaults,
  checkLeaving,
  checkBackPressure,
  checkIsolation,
  checkLeftovers,
];

/** Checks without fixtures, in order. */
const ofHooks: readonly ((setting: Setting) => void | Promise<void>)[] = [
  checkDelay,
  checkErrors,
  checkSettlement,
];

/**
 * Checks that a stage, or a chain of several, keeps the contract of `Stage`: runs it over every fixture cut at every byte and in every
 * text, broken off and left after every chunk. Throws a ContractError that names the stage, the fixture, the cut, what was expected and
 * what came; a TypeError if no stage is given, and a ConfigError for unknown options. Runs thousands of exchanges: configure a stage with limits so that it lets them through.
 */
export async function checkStage(stage: StageUnderTest, options: ContractOptions = {}): Promise<void> {
  checkedBy('options of checkStage', contractOptionsSchema, options);
  const setting = new Setting(stage, options);
  const changesText = setting.changes.has('text') || setting.changes.has('content');
  const everywhere = changesText ? [textEverywhere(setting.sample)] : [];
  const fixtures = [...(options.fixtures ?? streamFixtures), ...everywhere].map(readFixture);
  for (const [at, fixture] of fixtures.entries()) {
    const uncut = resultOf(await readWhole(setting, fixture.name, fixture.whole));
    const beside = fixtures[(at + 1) % fixtures.length]!;
    const checked = { ...fixture, uncut, beside };
    for (const check of ofFixtures) await check(setting, checked);
    if (fixture.name === everywhere[0]?.name) await checkLeaks(setting, checked);
  }
  for (const check of ofHooks) await check(setting);
  await setting.afterwards();
  setting.checkWatch({});
}
