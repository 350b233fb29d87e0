/** How fast one API process accepts jobs, with all checks, estimates and writes, compared with a bare BullMQ `add`. */
import type { RatioFigure } from './harness.ts';
import { openPostRate } from './post-rate.ts';

export const figures: readonly RatioFigure[] = [
  {
    kind: 'ratio',
    name: "POST /v1/jobs on one API process over BullMQ's own add",
    unit: 'jobs/s',
    target: { atLeast: 0.5 },
    rounds: 7,
    open: async () => {
      const { post, add, close } = await openPostRate();
      return {
        ours: async () => (await post()).perSecond,
        baseline: async () => (await add()).perSecond,
        close,
      };
    },
  },
];
