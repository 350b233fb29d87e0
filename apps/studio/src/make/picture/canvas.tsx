/** The picture to change, as large as the stage, with what is painted on it or drawn around it. */
import { texts } from '../../texts/index.ts';
import { Edges } from './edges.tsx';
import { edit, expandNow } from './edit.ts';
import { placeOf, wholeOf } from './frame.ts';
import { MaskCanvas } from './mask-canvas.tsx';
import { MaskTools } from './mask-tools.tsx';
import type { PictureFile } from './picture-file.ts';

export function Canvas({ picture }: { readonly picture: PictureFile }) {
  const { part } = edit.value;
  const expand = expandNow();
  const whole = wholeOf(picture, expand);
  return (
    <>
      <div class="pictures" data-count={1}>
        <div
          class="canvas"
          data-part={part}
          style={{ aspectRatio: `${whole.width} / ${whole.height}`, '--ratio': whole.width / whole.height }}
        >
          <img
            src={picture.url}
            alt={texts.edit.picture}
            draggable={false}
            style={placeOf(picture, expand)}
          />
          {part === 'painted' && <MaskCanvas picture={picture} />}
          {part === 'beyond' && <Edges picture={picture} />}
        </div>
      </div>
      {part === 'painted' && <MaskTools picture={picture} />}
    </>
  );
}
