/** Makes a result larger: a job of its own, whose page opens. Absent where no model does it. */
import type { Image, Job } from '@lehr/client';
import { useEffect } from 'preact/hooks';
import { titleOf } from '../../gallery/shelf.ts';
import { sourceLabels, sourceTitle } from '../../jobs/source.ts';
import { go } from '../../shell/router.ts';
import { texts } from '../../texts/index.ts';
import { lehr } from '../../wire/lehr.ts';
import { fileOf } from '../files.ts';
import { loadModels, upscalerOf } from '../models.ts';
import { type ActionOnPicture, PictureAction } from './picture-action.tsx';

export function UpscaleButton(picture: ActionOnPicture) {
  useEffect(() => {
    // Without the list of models there is no button; whatever else asks for it says why.
    loadModels().catch(() => undefined);
  }, []);
  if (!upscalerOf(picture.image)) return null;
  return (
    <PictureAction
      {...picture}
      icon="upscale"
      text={texts.upscale.action}
      textOf={texts.upscale.actionOf}
      act={upscale}
    />
  );
}

async function upscale(job: Job, image: Image): Promise<void> {
  const model = upscalerOf(image);
  if (!model) return;
  const [, format] = image.content_type.split('/');
  const { id } = await lehr.upload(await fileOf(job, image), { name: `picture.${format}` });
  const made = await lehr.submit({
    type: 'picture-transform',
    model: model.id,
    input: { image: id, output_format: format as 'png' },
    metadata: sourceLabels(job, image, sourceTitle(job) ?? titleOf(job)),
  });
  go({ name: 'job', id: made.id });
}
