const steps = [
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'k'],
] as const;

/** A value as people read it, for the few of Grafana's units that the panels use. */
export function formatted(value: number, unit: string): string {
  switch (unit) {
    case 's':
      return value >= 1
        ? `${short(value)} s`
        : value >= 1e-3
          ? `${short(value * 1e3)} ms`
          : `${short(value * 1e6)} µs`;
    case 'd':
      return `${short(value)} d`;
    case 'percentunit':
      return `${short(value * 100)} %`;
    case 'bytes':
      return binary(value);
    case 'currencyUSD':
      return `$${value.toPrecision(2)}`;
    case 'reqps':
      return `${short(value)} req/s`;
    default:
      return short(value);
  }
}

function binary(bytes: number): string {
  const at = Math.min(3, Math.floor(Math.log2(Math.max(bytes, 1)) / 10));
  return `${Number((bytes / 1024 ** at).toPrecision(3))} ${['B', 'KiB', 'MiB', 'GiB'][at]}`;
}

function short(value: number): string {
  for (const [size, letter] of steps) if (value >= size) return `${(value / size).toPrecision(3)} ${letter}`;
  return value === 0 ? '0' : String(Number(value.toPrecision(2)));
}
