import { describe, expect, it } from '@jest/globals';
import { presetProviders } from '../../plugins/providers/presets/index.ts';
import { checkAdapter } from '../../src/testing/index.ts';
import { presetContract } from '../support/preset-fixtures.ts';

describe.each(presetProviders.map(preset => [preset.name, preset] as const))(
  'the preset %s',
  (name, preset) => {
    it('keeps the contract of adapters over what its server sends', async () => {
      await expect(checkAdapter(preset, presetContract(name))).resolves.toBeUndefined();
    });
  },
);
