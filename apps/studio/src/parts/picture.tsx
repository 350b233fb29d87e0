/** A stored picture. Its link expires and its file is deleted after a while: then it says so. */
import type { Image } from '@lehr/client';
import { useSignal } from '@preact/signals';
import { texts } from '../texts/index.ts';

interface PictureProps {
  readonly image: Pick<Image, 'url' | 'width' | 'height'>;
  readonly alt: string;
  /** Shown until the picture has loaded. */
  readonly underlay?: string | undefined;
  readonly lazy?: boolean;
}

export function Picture({ image, alt, underlay, lazy }: PictureProps) {
  const isGone = useSignal(false);
  const isLoaded = useSignal(false);
  if (isGone.value) return <p class="gone">{texts.make.gone}</p>;
  return (
    <>
      {underlay && !isLoaded.value && <img class="pane-preview" src={underlay} alt="" />}
      <img
        class="picture"
        src={image.url}
        alt={alt}
        width={image.width}
        height={image.height}
        loading={lazy ? 'lazy' : undefined}
        data-loaded={isLoaded.value}
        onLoad={() => {
          isLoaded.value = true;
        }}
        onError={() => {
          isGone.value = true;
        }}
      />
    </>
  );
}
