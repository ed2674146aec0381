/** Those of `names` that an `Accept-Encoding` accepts, with the weights that it gives them, in the order of `names`. */
export function acceptedEncodings(header: string, names: readonly string[]): string[] {
  const weights = new Map<string, string>();
  for (const item of header.toLowerCase().split(',')) {
    const [name = '', weight = ''] = item.split(';').map(part => part.trim());
    weights.set(name, weight);
  }
  return names.flatMap(name => {
    const weight = weights.get(name) ?? weights.get('*') ?? 'q=0';
    if (/^q=0(?:\.0*)?$/.test(weight)) return [];
    return weight === '' ? name : `${name};${weight}`;
  });
}
