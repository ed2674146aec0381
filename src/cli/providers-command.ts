import { Command } from 'commander';
import { noSuchName } from '../common/suggestion.ts';
import { max_reason, type NewControl, type ProviderControl } from '../records/provider-controls.ts';
import { RecordRefused } from '../records/record-errors.ts';
import {
  type CommandContext,
  CommandMistake,
  inStore,
  UsageMistake,
  type Voice,
  withConfig,
} from './command.ts';
import { endOf } from './key-times.ts';
import { type Column, type FormatOptions, shownRows, withFormat } from './output-table.ts';

/** `sluice providers …`. */
export function providersCommand(voice: Voice): Command {
  const providers = new Command('providers')
    .description('take providers out of service and back')
    .addHelpText(
      'after',
      `
Changes reach every running instance within a second, and last over restarts. Each takes the place of the one before.
With --for or --until it is over at that time, by the clock of each instance.`,
    );
  withFormat(withConfig(providers.command('list')))
    .description('list providers and what is set of them')
    .action(inStore(list, voice));
  withEnd(providers.command('pause <NAME>'))
    .description('let no attempt begin there; those that run go on')
    .action(inStore(setting('paused'), voice));
  withEnd(providers.command('drain <NAME>'))
    .description(
      'let no request begin there; those that run go on, with sticky routing conversations as well',
    )
    .action(inStore(setting('draining'), voice));
  withEnd(providers.command('weight <NAME> <WEIGHT>'))
    .description('replace the weights of its upstreams, of all models; 0 drains it')
    .action(inStore(weigh, voice));
  withConfig(providers.command('resume <NAME>'))
    .description('return it to what the configuration says')
    .action(inStore(resume, voice));
  return providers;
}

interface EndOptions {
  readonly for?: string;
  readonly until?: string;
  readonly reason: string;
}

const withEnd = (command: Command): Command =>
  withConfig(command)
    .option('--for <TIME>', 'how long, such as 30m, 2h or 7d; without it until it is changed')
    .option('--until <TIME>', 'until when, such as 2027-01-31T18:00Z')
    .option('--reason <TEXT>', `why, for other operators; ${max_reason} characters at most`, '');

const setting =
  (state: 'paused' | 'draining') => (context: CommandContext, provider: string, options: EndOptions) =>
    set(context, { provider, state, weight: null }, options);

async function weigh(
  context: CommandContext,
  provider: string,
  text: string,
  options: EndOptions,
): Promise<void> {
  const weight = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  await set(context, { provider, state: 'active', weight }, options);
}

async function set(
  context: CommandContext,
  control: Pick<NewControl, 'provider' | 'state' | 'weight'>,
  options: EndOptions,
): Promise<void> {
  const { provider } = control;
  expectKnown(context, provider);
  const until_ms = endOf(options);
  const { set } = controlsOf(context);
  const made = await set({ ...control, until_ms, reason: options.reason }, context.operator).catch(refused);
  context.print(`provider ${provider} is ${shownState(made)}${until_ms ? ` until ${shownEnd(made)}` : ''}`);
}

async function resume(context: CommandContext, provider: string): Promise<void> {
  const wasSet = await controlsOf(context).clear(provider, context.operator);
  if (!wasSet) expectKnown(context, provider);
  context.print(`provider ${provider} is ${wasSet ? '' : 'already '}as the configuration has it`);
}

const columns: readonly Column<Partial<ProviderControl> & { readonly provider: string }>[] = [
  { title: 'provider', value: ({ provider }) => provider },
  { title: 'state', value: shownState },
  { title: 'until', value: shownEnd },
  { title: 'reason', value: ({ reason = '' }) => reason },
  { title: 'by', value: ({ actor = '' }) => actor },
  { title: 'since', value: ({ at_ms }) => shownInstant(at_ms) },
];

async function list(context: CommandContext, options: FormatOptions): Promise<void> {
  const now_ms = context.operator.at_ms;
  const all = await controlsOf(context).list();
  const set = all.filter(({ until_ms }) => until_ms === null || until_ms > now_ms);
  const names = new Set(set.map(({ provider }) => provider));
  const others = context.settings.providers.filter(name => !names.has(name));
  const rows = [...set, ...others.map(provider => ({ provider }))];
  context.print(shownRows(rows, columns, options));
}

function shownState({ state = 'active', weight }: Partial<ProviderControl>): string {
  return state === 'active' && weight != null ? `active with the weight ${weight}` : state;
}

function shownEnd({ until_ms }: Partial<ProviderControl>): string {
  return shownInstant(until_ms);
}

const shownInstant = (at_ms: number | null | undefined): string =>
  at_ms == null ? '' : new Date(at_ms).toISOString();

function controlsOf({ store }: CommandContext) {
  if (store.controls) return store.controls;
  throw new CommandMistake('this records store keeps no controls of providers');
}

function expectKnown({ settings: { providers } }: CommandContext, provider: string): void {
  if (!providers.includes(provider)) throw new CommandMistake(noSuchName('provider', provider, providers));
}

function refused(thrown: unknown): never {
  throw thrown instanceof RecordRefused ? new UsageMistake(thrown.message) : thrown;
}
