/** What can be done with finished pictures. */
import type { Image, Job } from '@lehr/client';
import { settingText } from '../jobs/setting-text.ts';
import { Icon, type IconName } from '../parts/icon.tsx';
import { Link } from '../parts/link.tsx';
import { copy } from '../parts/toast.tsx';
import { texts } from '../texts/index.ts';
import { ControlButton } from './control/control-button.tsx';
import { makeWithSeed, vary } from './making.ts';
import { EditButton } from './picture/edit-button.tsx';
import { UpscaleButton } from './picture/upscale-button.tsx';

export function Result({ job }: { readonly job: Job }) {
  const images = job.output?.images ?? [];
  return (
    <div class="result">
      <p class="result-done" role="status">
        {texts.make.done((job.metrics?.total_ms ?? 0) / 1000)}
      </p>
      <div class="actions">
        {images.map((image, index) => (
          <Download key={image.sha256} image={image} number={images.length > 1 ? index + 1 : undefined} />
        ))}
        <Action
          icon="link"
          text={texts.result.copyLink}
          onClick={() => copy(images[0]?.url ?? '', texts.result.linkCopied)}
        />
        <Action
          icon="again"
          text={texts.result.sameSeed}
          onClick={() => makeWithSeed(Number(job.input.seed ?? 0))}
        />
        <Action icon="vary" text={texts.result.vary} onClick={vary} />
        {images.map((image, index) => {
          const picture = { job, image, number: images.length > 1 ? index + 1 : undefined };
          return [
            <EditButton key={`edit ${image.sha256}`} {...picture} />,
            <UpscaleButton key={`upscale ${image.sha256}`} {...picture} />,
            <ControlButton key={`guide ${image.sha256}`} {...picture} />,
          ];
        })}
        <Link to={{ name: 'job', id: job.id }} class="button">
          <Icon name="page" />
          {texts.result.open}
        </Link>
      </div>
      <CutNotes job={job} />
      <Parameters job={job} />
    </div>
  );
}

/** How much of the prompts the model has read, where that was not all. */
export function CutNotes({ job: { output } }: { readonly job: Job }) {
  const cuts = [
    [texts.result.cutPrompt, output?.truncated_prompt],
    [texts.result.cutNegative, output?.truncated_negative_prompt],
  ] as const;
  return cuts.map(
    ([name, cut]) =>
      cut && (
        <p key={name} class="cut-note">
          {texts.result.cut(name, cut.read, cut.tokens)}
        </p>
      ),
  );
}

export function Download({ image, number }: { readonly image: Image; readonly number?: number | undefined }) {
  const ending = image.content_type.split('/')[1];
  return (
    <a class="button" href={image.url} download={`lehr-${image.seed ?? image.sha256.slice(0, 8)}.${ending}`}>
      <Icon name="download" />
      {texts.result.download}
      {number === undefined ? '' : ` ${number}`}
    </a>
  );
}

interface ActionProps {
  readonly icon: IconName;
  readonly text: string;
  readonly onClick: () => void;
}

function Action({ icon, text, onClick }: ActionProps) {
  return (
    <button type="button" class="button" onClick={onClick}>
      <Icon name={icon} />
      {text}
    </button>
  );
}

const SHOWN = 'seed width height steps guidance sampler negative_prompt adapters control'.split(' ');

const MAX_SHOWN = 16;

/** Where the picture comes from. Its file names the job, the model and the settings as well. */
function provenanceOf({ id, metrics, output }: Job): readonly (readonly [name: string, value: string])[] {
  const [image] = output?.images ?? [];
  const worker = metrics?.worker ? ([['worker', metrics.worker]] as const) : [];
  const digest = image ? ([['sha256', image.sha256]] as const) : [];
  return [...worker, ['job', id], ...digest];
}

/** What the picture was made with. */
function Parameters({ job }: { readonly job: Job }) {
  const shown = SHOWN.filter((name) => job.input[name] !== undefined && job.input[name] !== '');
  return (
    <dl class="parameters" aria-label={texts.result.parameters}>
      <div>
        <dt>model</dt>
        <dd>{job.model}</dd>
      </div>
      {shown.map((name) => (
        <div key={name}>
          <dt>{name.replace('_', ' ')}</dt>
          <dd>{settingText(name, job.input[name])}</dd>
        </div>
      ))}
      {provenanceOf(job).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd title={value}>{value.slice(0, MAX_SHOWN)}</dd>
        </div>
      ))}
    </dl>
  );
}
