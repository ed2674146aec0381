import { presetProvider } from './preset.ts';
import { presets } from './table.ts';

/** The adapters of all presets. */
export const presetProviders = presets.map(presetProvider);
