/** A stored picture. Its link expires and its file is deleted after a while: then it says so. */
import type { Image } from '@lehr/client';
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { texts } from '../texts/index.ts';

interface PictureProps {
  readonly image: Pick<Image, 'url' | 'width' | 'height' | 'expires_at'>;
  readonly alt: string;
  /** Shown until the picture has loaded. */
  readonly underlay?: string | undefined;
  readonly lazy?: boolean;
  /** Called when only the link has expired, so that the job can be read again for a new one. */
  readonly onStale?: () => void;
}

/** Paths of outputs that are gone: a tile that is shown again does not ask for them again. */
const gone = new Set<string>();
const pathOf = (url: string): string => new URL(url, location.href).pathname;

/** Whether this page has seen that the output is gone. */
export const isKnownGone = (url: string): boolean => gone.has(pathOf(url));

export function Picture({ image, alt, underlay, lazy, onStale }: PictureProps) {
  const isGone = useSignal(isKnownGone(image.url));
  const isLoaded = useSignal(false);
  useEffect(() => {
    isGone.value = isKnownGone(image.url);
  }, [image.url]);
  const lost = (): void => {
    const isStale = Date.parse(image.expires_at) < Date.now();
    if (isStale && onStale) {
      onStale();
      return;
    }
    // Behind a link that has expired, the output may still be there.
    if (!isStale) gone.add(pathOf(image.url));
    isGone.value = true;
  };
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
        onError={lost}
      />
    </>
  );
}
