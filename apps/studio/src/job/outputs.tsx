/** The pictures and the words of a job, while they are made and afterwards. */
import { titleOf } from '../gallery/shelf.ts';
import { textResults } from '../gallery/text-results.ts';
import type { FollowedJob } from '../jobs/follow.ts';
import { ControlButton } from '../make/control/control-button.tsx';
import { EditButton } from '../make/picture/edit-button.tsx';
import { UpscaleButton } from '../make/picture/upscale-button.tsx';
import { CutNotes, Download } from '../make/result.tsx';
import { Downloads } from '../speak/downloads.tsx';
import { texts } from '../texts/index.ts';
import { Labels, Transformed } from './transformed.tsx';

const MAX_LINES = 50;

export function Outputs({ followed }: { readonly followed: FollowedJob }) {
  const job = followed.job.value;
  const images = job.output?.images ?? [];
  const previews = Object.entries(followed.previews.value);
  const words = job.output?.text ?? followed.text.value;
  const title = titleOf(job);
  return (
    <>
      {images.length === 0 && previews.length > 0 && (
        <div class="job-pictures">
          {previews.map(([index, url]) => (
            <img key={index} class="picture picture-unfinished" src={url} alt={texts.make.previewOf(title)} />
          ))}
        </div>
      )}
      {images.length > 0 && (
        <div class="job-pictures">
          {images.map((image) => (
            <figure key={`${image.sha256}${image.seed}`}>
              <Transformed job={job} image={image} alt={texts.make.pictureOf(title)} />
              <figcaption>
                <Download image={image} />
                <EditButton job={job} image={image} />
                <UpscaleButton job={job} image={image} />
                <ControlButton job={job} image={image} />
                <span class="hint">
                  {image.width} × {image.height}
                  {image.seed !== undefined && `, ${texts.make.seed.toLowerCase()} ${image.seed}`}
                </span>
              </figcaption>
            </figure>
          ))}
        </div>
      )}
      <CutNotes job={job} />
      {words && (
        <section class="card">
          <h2>{texts.speak.transcript}</h2>
          <p class="job-words">{words}</p>
          {job.output?.segments && <Downloads job={job} />}
        </section>
      )}
      {job.type === 'picture-transform' ? <Labels job={job} /> : <TextResults lines={textResults(job)} />}
    </>
  );
}

/** Of a text job. A job may have thousands of texts; the API has all results. */
function TextResults({ lines }: { readonly lines: readonly string[] }) {
  if (lines.length === 0) return null;
  const left = lines.length - MAX_LINES;
  return (
    <section class="card">
      <h2>{texts.textJob.results}</h2>
      <ol class="text-results">
        {lines.slice(0, MAX_LINES).map((line, index) => (
          <li key={index}>{line}</li>
        ))}
      </ol>
      {left > 0 && <p class="hint">{texts.textJob.more(left)}</p>}
    </section>
  );
}
