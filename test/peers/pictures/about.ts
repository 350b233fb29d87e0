/** What docs/peers.md says about the comparison of pictures, and the figures of the load that it names. */
import { SHORT_STEPS } from './load.ts';
import { THREADS } from './servers.ts';

/** Folder of the programs. */
export const HERE = 'test/peers/pictures';
/** Seconds of a closed loop that are not counted. */
export const WARM_S = 2;
/** Load of the open loop, as a share of what the best of the others draws in the closed loop. */
export const OPEN_SHARE = 0.7;

/** What profiles have shown; figures of 2026-11-23. */
const FOUND = `**Where the time goes, and what can be won.** With spinning threads, the default of ONNX Runtime, a server needs about twice the CPU time on this
machine: a thread that spins holds a core that API, Redis, event loops and load generator need. Lehr with spinning threads took 150 to 180 ms of
CPU time for a picture of the demo model and 78 to 94 ms without, Ray Serve 185 to 214 and 85 to 90, FastAPI 177 to 193 and 74. Lehr's engine no
longer spins, and the four others get the same option here.

A call of the UNet of the demo model takes 5.2 ms of CPU time with 1 row, 7.5 with 2, 11.9 with 4, 20 with 8, 36 with 16 and 75 with 32. With these
figures and batches of 8 of the mix, the graph costs the four others about 60 ms a picture, and Lehr, which fills every call, about 49: without
any host work Lehr would make 1.22 times as many pictures. For U16 (8.2 ms and 10.3 ms a row, [measured
earlier](performance.md)) it is 1.14 times. So 1.3 times is out of reach where
a CPU gains so little from wider calls; a card gains more. Of that gain, Lehr's API, worker and Redis take about 20 ms of CPU time a picture: HTTP,
claims, records, messages of the engine at every step, and the files of the store. A profile of the engine's JavaScript has 91 % in ONNX Runtime
and 3 % in messages to the worker.

The row of cores in use says how much of the machine a server got. An earlier table, measured beside other programs at a load of 4 to 5.5, had
Lehr at 0.47 of Ray Serve with 1.1 times its CPU time per picture: Ray Serve had 1.7 cores in use in its rounds and Lehr 1.2. With all sides in
one control group for the CPU and threads that still spun, Lehr made 9.1 to 11.7 pictures/s and Ray Serve 8.0 to 8.3. A comparison on a machine
that does other work is therefore only fair in a control group of its own; tables with a load above 10 were measured in one.

Two rounds of 24 seconds with U16 at a load of 30 to 39 gave Lehr 2.23 and 2.27 pictures/s, Ray Serve 2.32 and 2.18, LitServe 2.18 and 2.18, with 500, 528
and 474 ms of CPU time a picture. The first round of the open loop with the demo model at a load of 45 (113 pictures, 9.4 a second or 0.6 of Lehr's
saturation) had a mean latency of 261 ms with Lehr, 243 with BentoML, 434 with LitServe, 480 with Ray Serve and 625 with FastAPI.`;

export const ABOUT = `Each server serves the same ONNX graphs on the CPU with ${THREADS} threads of ONNX Runtime 1.30 that do not spin between two pieces of work, draws
with Euler and guidance, and answers \`POST /t2i\` with a PNG (BentoML: base64 in JSON, as its batchable APIs answer). The four others share
[one module](../${HERE}/sampler.py) that draws a batch; each has a batch of at most 8 pictures, its documented settings for batching, and one
process with the model. Prompts that were encoded already are not encoded again, in all five. All run on the same two cores, also the load
generator; the others are stopped while one is measured (Ray Serve and the worker of BentoML only idle: Ray's processes watch each other).

**The promises differ.** Lehr is all of Lehr: API, queue and log in Redis, records, worker, engine, and a picture that is written and synced to the
disk before its job ends. A request that it has accepted survives the death of any process. The four others keep requests and pictures in
memory, and lose what waits and runs when their process dies.

A stock UNet takes one timestep for all rows of a call. The four others therefore share calls between pictures with equal numbers of steps; FastAPI
follows the article and also groups by guidance. Of the pictures 30 % have ${SHORT_STEPS} steps, 50 % 10 and 20 % 25 (half of 4, 20 and 50, so that a
round has enough pictures), with guidance of 3, 5 or 7.5. The demo model draws 64x64 pixels here, latents of 8x8, where batching pays most on a CPU; U16 draws 128x128 pixels and is [made by a script](../${HERE}/u16.ts): 17 million random weights,
latents of 16x16, and is compared with two of the four.

The closed loop counts answers after ${WARM_S} seconds of warm-up. In the open loop a latency counts from the moment when the request was due; its load
is ${OPEN_SHARE} of what the best of the four drew in the closed loop.

${FOUND}`;
