import type { AnyProviderDefinition } from '../../gateway/upstream/adapter.ts';
import type { AdapterContract, AdapterFixture } from './adapter-contract.ts';
import { AdapterSetting } from './adapter-setting.ts';
import { checkContract } from './contract-schema.ts';
import { checkError, checkErrorReplies } from './rules/errors.ts';
import { checkMutatedReply, checkMutatedStream, checkNoReplies } from './rules/nonsense.ts';
import { checkCuts, checkIsolation, checkReply, checkStream, checkTruncation } from './rules/replies.ts';
import { checkCredential, checkRequests, checkToolLoop } from './rules/requests.ts';

/** Checks of each fixture, in order; `beside` is another. */
const ofFixtures: readonly ((
  setting: AdapterSetting,
  fixture: AdapterFixture,
  beside: AdapterFixture,
) => void)[] = [checkStream, checkReply, checkCuts, checkTruncation, checkIsolation, checkToolLoop];

/** Checks of each fixture with every part of it malformed, which take longest. */
const ofMalformed: typeof ofFixtures = [checkMutatedReply, checkMutatedStream];

/**
 * Checks that an adapter keeps the contract of `Adapter`: decodes what the fixtures say, cut at every byte, broken off anywhere and with
 * every part malformed; encodes or refuses requests of every kind; reports errors. Throws a ContractError that names the adapter, the
 * fixture, what was expected and what came, and a ConfigError if the definition, the contract or its options are wrong.
 */
export async function checkAdapter(
  definition: AnyProviderDefinition,
  contract: AdapterContract,
): Promise<void> {
  checkContract(definition, contract);
  const setting = new AdapterSetting(definition, contract);
  const { fixtures, errors = [] } = contract;
  for (const { name, stream, reply } of fixtures)
    if (stream === undefined && reply === undefined)
      throw new Error(`the fixture ${name} has neither a stream nor a reply`);
  checkCredential(setting);
  checkRequests(setting);
  await checkEach(setting, ofFixtures);
  for (const error of errors) checkError(setting, error);
  checkErrorReplies(setting);
  checkNoReplies(setting);
  await checkEach(setting, ofMalformed);
}

async function checkEach(setting: AdapterSetting, checks: typeof ofFixtures): Promise<void> {
  const { fixtures } = setting.contract;
  for (const [at, fixture] of fixtures.entries()) {
    for (const check of checks) check(setting, fixture, fixtures[(at + 1) % fixtures.length]!);
    // Lets the timers of the test runner go on.
    await new Promise(setImmediate);
  }
}
