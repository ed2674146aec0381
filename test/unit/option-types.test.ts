import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { builtInStages } from '../../plugins/index.ts';
import { optionTypeFiles } from '../support/option-types/option-types.ts';

describe('types of options', () => {
  it('are those of every built-in stage', () => {
    for (const { stageName } of builtInStages) {
      const stage = new URL(`../../plugins/stages/${stageName}/index.ts`, import.meta.url);
      expect(readFileSync(stage, 'utf8')).toMatch(/: StageFactory<\w+Options> = defineStage\(/);
    }
  });

  it.each([...optionTypeFiles()])('stand in %s as the schemas generate them (npm run docs)', (path, text) => {
    const file = new URL(`../../${path}`, import.meta.url);
    expect(existsSync(file) && readFileSync(file, 'utf8')).toBe(text);
  });
});
