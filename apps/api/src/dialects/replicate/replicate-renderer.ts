/** Webhooks in Replicate's dialect: the prediction as GET shows it, less what makes it too large. */
import { isEnd, type Renderer } from '../../webhooks/event-message.ts';
import type { Prediction } from './prediction-contract.ts';
import { PredictionsView, type PredictionsViewOptions } from './predictions-view.ts';

/** Many receivers refuse larger bodies; GET has what is left out. */
const MAX_BODY_BYTES = 20_000;

export function replicateRenderer(options: PredictionsViewOptions): Renderer {
  const view = new PredictionsView(options);
  return {
    retries: isEnd,
    render: async (record) => {
      const whole = await view.of(record);
      return fits(whole) ? whole : fitted(await view.of(record, { brief: true }));
    },
  };
}

const fits = (prediction: Prediction): boolean =>
  Buffer.byteLength(JSON.stringify(prediction)) <= MAX_BODY_BYTES;

function fitted(prediction: Prediction): Prediction {
  let { input, output } = prediction;
  const isSmall = () => fits({ ...prediction, input, output });
  if (!isSmall() && typeof output === 'object' && output !== null && 'segments' in output) {
    output = { ...output, segments: undefined };
  }
  if (!isSmall()) input = {};
  if (!isSmall()) output = null;
  return { ...prediction, input, output };
}
