/** Opens the ControlNets of a model. One that cannot be used is left out, with the reason: the model serves without it. */
import { LehrError } from '@lehr/shared';
import { openWhole, reportOf } from '../../folder/open-whole.ts';
import type { OpenedPart } from '../../protocol/messages.ts';
import type { GraphReport, InferenceRuntime, LoadOptions } from '../../runtime/runtime.ts';
import type { PictureSize } from '../../values/resize.ts';
import { probeRow } from '../folder/load-rows.ts';
import type { Unet } from '../unet.ts';
import type { ResidualInputs } from './add-residual-inputs.ts';
import { type ControlNet, type ControlNetPlan, openControlNet, PIXELS, probePicture } from './control-net.ts';
import { ControlNets } from './control-nets.ts';

/** As the engine is told to open it. */
export interface ControlToOpen {
  readonly name: string;
  readonly folder: string;
}

export interface OpenControl extends OpenedPart {
  /** The only picture size that it takes, if its graph fixes one. */
  readonly onlySize?: PictureSize;
}

interface OpenControls {
  readonly controls: readonly OpenControl[];
  readonly graphs: readonly GraphReport[];
}

/** What a UNet needs of its ControlNets. `residuals`: what became of the inputs that its graph needs for them. */
interface GuidedUnet {
  readonly unet: Unet;
  readonly residuals: ResidualInputs;
  readonly plan: ControlNetPlan;
}

/** Never rejects for what is wrong with a ControlNet. */
export async function openControls(
  specs: readonly ControlToOpen[],
  guided: GuidedUnet,
  runtime: InferenceRuntime,
  options: LoadOptions,
): Promise<OpenControls> {
  const nets = new Map<string, ControlNet>();
  const controls: OpenControl[] = [];
  const graphs: GraphReport[] = [];
  for (const { name, folder } of specs) {
    try {
      const { net, graph } = await openOne(name, folder, guided, runtime, options);
      nets.set(name, net);
      graphs.push(graph);
      controls.push({ name, ...onlySizeOf(net) });
    } catch (error) {
      controls.push({ name, problem: problemFor(error as Error, folder) });
    }
  }
  guided.unet.useControlNets(new ControlNets(nets));
  return { controls, graphs };
}

/** Callers read it: without the folder, which is the operator's. */
const problemFor = ({ message }: Error, folder: string): string =>
  message.replaceAll(`${folder}/`, '').replaceAll(folder, 'The folder');

async function openOne(
  name: string,
  folder: string,
  { unet, residuals, plan }: GuidedUnet,
  runtime: InferenceRuntime,
  options: LoadOptions,
): Promise<{ readonly net: ControlNet; readonly graph: GraphReport }> {
  if (residuals.outcome === 'impossible') throw unusable(`No ControlNet can guide it: ${residuals.reason}.`);
  const { net, session, close } = await openWhole(folder, runtime, (tracked) =>
    openControlNet(folder, plan, tracked, options),
  );
  try {
    await checkFit(name, net, unet, plan);
    return { net, graph: reportOf(`control ${name}`, session) };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Runs it before the UNet once: what it gives must have the shapes of the UNet's values. */
async function checkFit(name: string, net: ControlNet, unet: Unet, plan: ControlNetPlan): Promise<void> {
  if (net.outputs !== unet.residualInputs) {
    throw unusable(
      `The ControlNet adds to ${net.outputs} values of a UNet, the unet has ${unet.residualInputs}. It is of another family of models.`,
    );
  }
  if (net.embeddingDim !== unet.embeddingDim) {
    const widths = `${net.embeddingDim} wide, those of the unet ${unet.embeddingDim}`;
    throw unusable(
      `The prompt embeddings of the ControlNet are ${widths}. It is of another family of models.`,
    );
  }
  const size = net.sizeOr(unet.sizeOr(plan.probe));
  unet.useControlNets(new ControlNets(new Map([[name, net]])));
  const row = probeRow(unet, size, plan.tokens, 1);
  try {
    await unet.predict([{ ...row, controls: [{ name, picture: probePicture(size), scale: 1 }] }], size);
  } catch (error) {
    throw unusable(`The unet does not run with what the ControlNet gives: ${(error as Error).message}`);
  }
}

function onlySizeOf(net: ControlNet): { readonly onlySize?: PictureSize } {
  const [a, b] = [1, 2].map((side) => net.sizeOr({ height: side, width: side }));
  if (a.height !== b.height || a.width !== b.width) return {};
  return { onlySize: { height: a.height * PIXELS, width: a.width * PIXELS } };
}

const unusable = (problem: string): LehrError => new LehrError('model-unavailable', problem);
