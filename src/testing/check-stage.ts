import { readFixture } from './arrivals.ts';
import type { ContractOptions, StageUnderTest } from './contract-options.ts';
import { checkBackPressure } from './rules/back-pressure.ts';
import { checkCuts } from './rules/cuts.ts';
import { checkDelay } from './rules/delay.ts';
import { checkErrors } from './rules/errors.ts';
import { checkFaults } from './rules/faults.ts';
import { checkIsolation } from './rules/isolation.ts';
import { checkLeaving } from './rules/leaving.ts';
import { checkSettlement } from './rules/settlement.ts';
import { checkWholeReplies } from './rules/whole-replies.ts';
import { Setting } from './setting.ts';
import { streamFixtures } from './stream-fixtures.ts';

/**
 * Holds a stage, or a chain of several, to the contract of `Stage`: runs it over every fixture cut at every byte and in every
 * text, broken off and left after every chunk. Throws a ContractError that names the stage, the fixture, the cut, what was
 * expected and what came. Thousands of exchanges pass the stage; give a stage with limits such as let them through.
 */
export async function checkStage(stage: StageUnderTest, options: ContractOptions = {}): Promise<void> {
  const setting = new Setting(stage, options);
  const fixtures = await Promise.all((options.fixtures ?? streamFixtures).map(readFixture));
  for (const [at, fixture] of fixtures.entries()) {
    await checkCuts(setting, fixture);
    await checkWholeReplies(setting, fixture);
    await checkFaults(setting, fixture);
    await checkLeaving(setting, fixture);
    await checkBackPressure(setting, fixture);
    await checkIsolation(setting, fixture, fixtures[(at + 1) % fixtures.length]!);
  }
  await checkDelay(setting);
  checkErrors(setting);
  await checkSettlement(setting);
}
