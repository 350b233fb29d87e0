/** What lab/peers.md says about the comparison of pictures, and the figures of the load that it names. */
import { SHORT_STEPS } from './load.ts';
import { THREADS } from './servers.ts';

/** Folder of the programs. */
export const HERE = 'lab/peers/pictures';
/** Seconds of a closed loop that are not counted. */
export const WARM_S = 2;
/** Load of the open loop, as a share of what the best of the others draws in the closed loop. */
export const OPEN_SHARE = 0.7;

/** What the graph alone allows, and how noise shows in the table. */
const LIMITS = `**What can be won.** A call of the UNet of the demo model takes 5.2 ms of CPU time with 1 row, 7.5 with 2, 11.9 with 4, 20 with 8, 36 with 16
and 75 with 32 (2026-11-23, two cores). With batches of at most 8 pictures of this mix, the graph costs the four others about 60 ms a picture, and Lehr, which fills every
call, about 49: without any other work Lehr would make 1.22 times as many pictures. A CPU gains little from wider calls; a card gains more. Beside
its engine, Lehr's API, worker and Redis take CPU time for HTTP, claims, records, messages at every step and the files of the store: the table has
it by part.

**How to read the table.** The columns of Lehr and of the other server have the medians of their rounds, and the figure is the first divided by the
second; min .. max are the ratios within each round. Where the smallest is below 1 and the largest above, the rounds show no winner. The row of cores in use says how much of the machine a server got; the CPU time per picture depends less on what else runs there.`;

export const ABOUT = `Each server serves the same ONNX graphs on the CPU with ${THREADS} threads of ONNX Runtime 1.30, draws with Euler and guidance, and answers
\`POST /t2i\` with a PNG (BentoML: base64 in JSON, as its batchable APIs answer). The threads do not spin between two pieces of work, in all five:
a thread that spins, which is ONNX Runtime's default, holds a core that the rest of the server needs. The four others share
[one module](peers/pictures/sampler.py) that draws a batch; each has a batch of at most 8 pictures, its documented settings for batching, and one
process with the model. Prompts that were encoded already are not encoded again, in all five. All run on the same two cores, also the load
generator; the others are stopped while one is measured (Ray Serve and the worker of BentoML only idle: Ray's processes watch each other).

**The promises differ.** Lehr is all of Lehr: API, queue and log in Redis, records, worker, engine, and a picture that is written and synced to the
disk before its job ends. A request that it has accepted survives the death of any process. The four others keep requests and pictures in
memory, and lose what waits and runs when their process dies.

A stock UNet takes one timestep for all rows of a call. The four others therefore share calls between pictures with equal numbers of steps; FastAPI
also groups by guidance. Of the pictures 30 % have ${SHORT_STEPS} steps, 50 % 10 and 20 % 25, with guidance of 3, 5 or 7.5. The demo model draws
64x64 pixels here, latents of 8x8. \`--only u16\` compares Lehr with two of the four on a larger model, which draws 128x128 pixels and is
[made by a script](peers/pictures/u16.ts): 17 million random weights, latents of 16x16.

The closed loop counts answers after ${WARM_S} seconds of warm-up. In the open loop a latency counts from the moment when the request was due; its load
is ${OPEN_SHARE} of what the best of the four drew in the closed loop.

${LIMITS}`;
