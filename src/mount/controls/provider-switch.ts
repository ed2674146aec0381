import { noSuchName } from '../../common/suggestion.ts';
import type {
  ControlOptions,
  NewControl,
  ProviderControl,
  ProviderSwitch,
} from '../../records/provider-controls.ts';
import { NotThere, RecordRefused } from '../../records/record-errors.ts';
import type { GatewayRecords } from '../records/gateway-records.ts';

/** Sets controls of the providers of a configuration, and applies them in all processes of this instance at once. */
export function providerSwitch(records: GatewayRecords, names: () => readonly string[]): ProviderSwitch {
  const controls = () => {
    if (records.store.controls) return records.store.controls;
    throw new RecordRefused('this records store keeps no controls of providers');
  };
  const expectKnown = (provider: string) => {
    if (!names().includes(provider)) throw new NotThere(noSuchName('provider', provider, names()));
  };
  const set = async (
    control: Pick<NewControl, 'provider' | 'state' | 'weight'>,
    { until_ms = null, reason = '', operator }: ControlOptions,
  ): Promise<ProviderControl> => {
    expectKnown(control.provider);
    const made = await controls().set({ ...control, until_ms, reason }, operator);
    await records.refresh();
    return made;
  };
  return {
    all: () => [...records.controls.current.values()].map(({ record }) => record),
    pause: (provider, options) => set({ provider, state: 'paused', weight: null }, options),
    drain: (provider, options) => set({ provider, state: 'draining', weight: null }, options),
    weight: (provider, weight, options) => set({ provider, state: 'active', weight }, options),
    resume: async (provider, operator) => {
      const wasSet = await controls().clear(provider, operator);
      if (!wasSet) expectKnown(provider);
      await records.refresh();
      return wasSet;
    },
  };
}
