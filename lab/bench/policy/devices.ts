/** Simulated devices: what a step takes as a function of its rows. None of them was here. */
import type { LatencyModel } from '../../../apps/worker/src/engine/runtime/simulated.ts';
import type { Card } from '../capacity/arithmetic.ts';
import { DEVICES } from '../capacity/assumptions.ts';
import { aloneMs } from './load.ts';

export interface Device {
  readonly name: string;
  readonly latency: LatencyModel;
}

const latencyOf = ({ floorMs, ...card }: Card): LatencyModel => ({ ...card, stepLeastMs: floorMs });

/** As published: lab/capacity.md says where. */
export const [T4, A100, H100] = DEVICES.map(({ name, card }): Device => ({ name, latency: latencyOf(card) }));
/** Measured on two cores, UNets with latents of 8x8 and 16x16. */
export const U8: Device = {
  name: 'U8',
  latency: { stepBaseMs: 3.4, stepPerRowMs: 1.32, pictureMs: 5.5, textMs: 2 },
};
export const U16: Device = {
  name: 'U16',
  latency: { stepBaseMs: 8.2, stepPerRowMs: 10.3, pictureMs: 43, textMs: 2 },
};

/** As 500 ms are to the 3.3 s that a picture takes alone on the card for which the classic window was chosen. */
export const scaledWindowMs = ({ latency }: Device): number => 0.15 * aloneMs(latency, { steps: 20 });
