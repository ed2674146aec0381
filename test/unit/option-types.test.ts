import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { optionTypeFiles } from '../../build/option-types.ts';
import { builtInStages } from '../../plugins/index.ts';

describe('types of options', () => {
  it('are those of every built-in stage', () => {
    for (const { stageName } of builtInStages) {
      const stage = new URL(`../../plugins/stages/${stageName}/index.ts`, import.meta.url);
      expect(readFileSync(stage, 'utf8')).toMatch(/: StageFactory<\w+Options> = defineStage\(/);
    }
  });

  it('are written for each of them, with the schema of the configuration, by npm install', () => {
    const written = [...optionTypeFiles().keys(), 'sluice.schema.json'];
    expect(written.filter(path => !existsSync(new URL(`../../${path}`, import.meta.url)))).toEqual([]);
  });
});
