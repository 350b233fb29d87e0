/**
 * Switches the instruments of a process off, to measure what they cost. `--import .../metrics-switch.mjs?off` keeps all of them off from
 * the start.
 */
import { Registry } from 'prom-client';

const METHODS = ['inc', 'dec', 'set', 'observe'];
const isOffFromStart = import.meta.url.endsWith('?off');
const instruments = new Map();
const { registerMetric } = Registry.prototype;
const nothing = () => {};

Registry.prototype.registerMetric = function register(metric) {
  instruments.set(metric, {});
  if (isOffFromStart) keepOff(metric);
  return registerMetric.call(this, metric);
};

/** Also against its constructor, which sets some methods after it has registered the instrument. */
function keepOff(metric) {
  for (const name of METHODS) {
    Object.defineProperty(metric, name, { configurable: true, get: () => nothing, set: () => {} });
  }
}

/** Off: what is observed is dropped. */
export function switchMetrics(isOn) {
  for (const [metric, kept] of instruments) {
    for (const name of METHODS.filter((each) => each in metric)) {
      kept[name] ??= metric[name];
      metric[name] = isOn ? kept[name] : nothing;
    }
  }
}

/** From now on every call of an instrument is also kept, to be made again; `switchMetrics` ends it. */
export function recordCalls() {
  const calls = [];
  for (const [metric, kept] of instruments) {
    for (const name of METHODS.filter((each) => each in metric)) {
      kept[name] ??= metric[name];
      metric[name] = (...args) => {
        calls.push(() => kept[name].apply(metric, args));
        return kept[name].apply(metric, args);
      };
    }
  }
  return calls;
}
