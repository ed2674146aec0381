import { type OpenMetricsContentType, Registry } from 'prom-client';

type Metric = Parameters<Registry['registerMetric']>[0];

export const openMetricsType = Registry.OPENMETRICS_CONTENT_TYPE;

/** Whether a scraper asks for OpenMetrics, the form that has exemplars. */
export const wantsOpenMetrics = (accept: string | undefined): boolean =>
  accept?.includes('application/openmetrics-text') === true;

/** Everything on `registry` as OpenMetrics 1.0, whatever form the registry itself has. */
export function openMetricsOf(registry: Registry): Promise<string> {
  const open = new Registry<OpenMetricsContentType>();
  open.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  for (const metric of registry.getMetricsAsArray() as unknown as Metric[])
    open.registerMetric(withoutTotal(metric));
  return open.metrics();
}

/** A view of `metric` that prom-client may rename: it names counters without `_total`, in the metric itself, and adds the ending again. */
function withoutTotal(metric: Metric): Metric {
  const get = async () => {
    const described = await metric.get();
    const { name, type } = described as { name: string; type: unknown };
    return type === 'counter' ? { ...described, name: name.replace(/_total$/, '') } : described;
  };
  const { name, type } = metric as unknown as { name: string; type: string };
  return { name, type, get } as unknown as Metric;
}
