/** ffmpeg, with which a worker decodes the audio of speech jobs: from PATH, else from apt. */
import { aptInstall } from './apt.mjs';
import { findProgram } from './command.mjs';
import { Problem } from './problem.mjs';

/** Installs ffmpeg when it is missing. Throws a Problem that lists the solutions when that fails. */
export async function ensureFfmpeg({ say, signal }) {
  if (await findProgram('ffmpeg')) return;
  await aptInstall(['ffmpeg'], { say, signal });
  if (await findProgram('ffmpeg')) return;
  signal.throwIfAborted();
  throw new Problem(
    'Lehr needs ffmpeg for speech, and there is none here. Any one of these helps:\n' +
      '  sudo apt-get install ffmpeg            (Debian, Ubuntu)\n' +
      '  brew install ffmpeg                    (macOS)\n' +
      '  LEHR_TASKS=diffusion npm start         (pictures only)',
  );
}
