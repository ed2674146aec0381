import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { estimateTokens } from '../../src/gateway/settlement/usage-meter.ts';
import { estimateTexts } from './estimate-texts.ts';

/** The estimate of a text divided by its tokens in o200k. */
export const estimateRatio = (text: string): number => estimateTokens(text) / countTokens(text);

/** The README's table of the estimator's error, measured as it is made. */
export function estimateTable(): string {
  const rows = Object.entries(estimateTexts).map(([language, texts]) => {
    const ratios = texts.map(estimateRatio);
    const mean = ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length;
    const cells = [mean, Math.min(...ratios), Math.max(...ratios)].map(percent);
    return `| ${language} | ${texts.length} | ${cells.join(' | ')} |`;
  });
  return ['| | excerpts | mean | lowest | highest |', '|---|---|---|---|---|', ...rows].join('\n');
}

function percent(ratio: number): string {
  const difference = Math.round((ratio - 1) * 100);
  return `${difference > 0 ? '+' : difference < 0 ? '−' : ''}${Math.abs(difference)} %`;
}
