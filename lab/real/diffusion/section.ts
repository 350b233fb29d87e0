/** Diffusion at full size: pipelines with random weights, exported by Optimum, in Lehr and in the programs that they came from. */
import type { Section } from '../section.ts';
import { edits } from './edits.ts';
import { families } from './families.ts';
import { fusedOthers, fusedUnet, fusedXl } from './fused.ts';
import { hostCost } from './host-cost.ts';
import { imports } from './imported.ts';
import { opening } from './opening.ts';
import { parity, parityOfVelocity, parityOfXl } from './parity.ts';
import { promptLengths } from './prompt-lengths.ts';
import { stepTime } from './step-time.ts';

export const section: Section = {
  title: 'Diffusion at full size',
  about: `The pipeline of Stable Diffusion 1.5 as its published configuration describes it (860 million parameters in the UNet), with seeded
random weights, because no weights can be downloaded here. Optimum exports it in float32 from a local folder. Equal pictures show that the
graphs, samplers, guidance and seeds are equal; they show nothing about the pictures' quality. Stable Diffusion 2.1 has half of its
published width, SDXL three tenths and its refiner a third, with all of their blocks and layers, because the machine has 23 GB of memory for several
users. The tables of all families have pipelines with the published blocks, layers and options and few channels: the fixtures of \`npm test\`, made and exported again.`,
  environments: [
    {
      name: 'diffusion',
      requirements: 'lab/real/diffusion/requirements.txt',
      size: '3 GB, 7 GB on the disk, and 8 GB for the models',
    },
  ],
  comparisons: [
    { name: 'opening', title: 'Opening Stable Diffusion 1.5', run: opening },
    { name: 'parity', title: 'The same pictures from the same weights', run: parity },
    { name: 'step', title: "A step of 512x512 beside the bare loop and Optimum's pipeline", run: stepTime },
    { name: 'lengths', title: 'A step with prompts of one chunk and of more', run: promptLengths },
    { name: 'fused', title: 'Fused attention beside the graph as exported', run: fusedUnet },
    { name: 'fused-xl', title: 'The same for SDXL at three tenths of its width', run: fusedXl },
    { name: 'fused-others', title: 'The same for Whisper base and text models', run: fusedOthers },
    {
      name: 'velocity',
      title: 'Stable Diffusion 2.1, which predicts velocity, at half width',
      run: parityOfVelocity,
    },
    { name: 'xl', title: 'SDXL at three tenths of its width', run: parityOfXl },
    ...edits,
    ...imports,
    ...families,
    {
      name: 'host',
      title: "Lehr's own work between two runs of the UNet, with a device that takes 0 ms",
      run: hostCost,
    },
  ],
};
