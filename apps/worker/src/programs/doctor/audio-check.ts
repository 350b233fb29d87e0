import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ffmpegProblem } from '../../parent/audio/ffmpeg.ts';
import type { Check } from './check.ts';

/** Whether speech jobs could be decoded on this machine, by decoding a small file. */
export async function checkAudio(): Promise<Check> {
  const name = 'ffmpeg';
  const problem = await ffmpegProblem();
  if (problem === undefined) return { name, state: 'ok', detail: `${await version()} decodes audio` };
  const advice =
    'Install ffmpeg (sudo apt-get install ffmpeg), or set LEHR_TASKS=diffusion on workers that serve no speech.';
  return { name, state: 'fail', detail: problem, advice };
}

/** The first line begins "ffmpeg version 5.1.9-0+deb12u1 Copyright". */
async function version(): Promise<string> {
  const { stdout } = await promisify(execFile)('ffmpeg', ['-version']);
  return stdout.split(' ').slice(1, 3).join(' ');
}
