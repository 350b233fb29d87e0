/** The pictures and the words of a job, while they are made and afterwards. */

import { titleOf } from '../gallery/shelf.ts';
import type { FollowedJob } from '../jobs/follow.ts';
import { Download } from '../make/result.tsx';
import { Picture } from '../parts/picture.tsx';
import { Downloads } from '../speak/downloads.tsx';
import { texts } from '../texts/index.ts';

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
            <figure key={image.sha256 + image.seed}>
              <Picture image={image} alt={texts.make.pictureOf(title)} />
              <figcaption>
                <Download image={image} />
                <span class="hint">
                  {image.width} × {image.height}, {texts.make.seed.toLowerCase()} {image.seed}
                </span>
              </figcaption>
            </figure>
          ))}
        </div>
      )}
      {words && (
        <section class="card">
          <h2>{texts.speak.transcript}</h2>
          <p class="job-words">{words}</p>
          {job.output?.segments && <Downloads job={job} />}
        </section>
      )}
    </>
  );
}
