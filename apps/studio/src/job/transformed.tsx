/** A picture that a model made of another one, which lies below it where the studio knows it. */
import type { Image, Job } from '@lehr/client';
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { sourceOf } from '../jobs/source.ts';
import { BeforeAfter } from '../parts/before-after.tsx';
import { Picture } from '../parts/picture.tsx';
import { texts } from '../texts/index.ts';

interface TransformedProps {
  readonly job: Job;
  readonly image: Image;
  readonly alt: string;
}

export function Transformed({ job, image, alt }: TransformedProps) {
  const source = useSignal<Image | undefined>(undefined);
  useEffect(() => {
    void sourceOf(job).then((found) => {
      source.value = found;
    });
  }, [job.id]);
  const after = <Picture image={image} alt={alt} />;
  if (!source.value) return after;
  return (
    <div
      class="transformed"
      style={{ width: `${image.width}px`, aspectRatio: `${image.width} / ${image.height}` }}
    >
      <BeforeAfter before={<img src={source.value.url} alt={texts.edit.before} />} after={after} />
    </div>
  );
}

/** What a model sees in a picture, best first. */
export function Labels({ job }: { readonly job: Job }) {
  const [labels] = job.output?.labels ?? [];
  if (!labels) return null;
  return (
    <section class="card">
      <h2>{texts.job.labels}</h2>
      <table class="label-table">
        <thead>
          <tr>
            <th scope="col">{texts.job.label}</th>
            <th scope="col">{texts.job.score}</th>
          </tr>
        </thead>
        <tbody>
          {labels.map(({ label, score }) => (
            <tr key={label}>
              <th scope="row">{label}</th>
              <td style={{ '--share': `${score * 100}%` }}>{texts.textJob.score(score)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
