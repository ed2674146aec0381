import { type Finding, finding } from '../../common/finding.ts';
import { noSuchName } from '../../common/suggestion.ts';
import { within } from '../../common/within.ts';
import type { Settings } from '../../config/load.ts';
import { NotThere } from '../../records/record-errors.ts';
import { checkProvider } from './provider-check.ts';

/** Less than proxies wait for a page. */
const patience_ms = 30_000;

let running: string | undefined;

/** Asks a provider for its models, and for one token of `model`, its name there, if it is given. One at a time in this process. */
export async function testProvider(
  { providers, models }: Pick<Settings, 'providers' | 'models'>,
  name: string,
  model?: string,
): Promise<readonly Finding[]> {
  const settings = providers.find(provider => provider.name === name);
  if (!settings)
    throw new NotThere(
      noSuchName(
        'provider',
        name,
        providers.map(one => one.name),
      ),
    );
  const thing = `provider ${name}`;
  if (running !== undefined)
    return [finding.warning(thing, `${running} is being tested`, 'test this one again in some seconds')];
  running = name;
  const asked = models.map(one => ({
    ...one,
    upstreams: one.upstreams.filter(upstream => model === undefined || upstream.model === model),
  }));
  const late = () => new Error(`no answer within ${patience_ms / 1000} s`);
  const check = checkProvider(settings, asked, model !== undefined).finally(() => (running = undefined));
  try {
    return (await within(check, patience_ms, late)).findings;
  } catch (thrown) {
    return [finding.fault(thing, (thrown as Error).message, 'look at the log of the server')];
  }
}
