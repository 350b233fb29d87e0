/** The API of the Stable Diffusion web UI of AUTOMATIC1111, under /sdapi/v1. */
import { authenticate } from '../../http/middleware/auth.ts';
import { readBody } from '../../http/middleware/read-body.ts';
import type { Api, ApiParts } from '../../parts.ts';
import { webUiCallRoutes } from './calls.ts';
import { webUiControlRoutes } from './control-lists.ts';
import { webUiListRoutes } from './lists.ts';
import { webUiOptionRoutes } from './options.ts';
import { webUiPictureRoutes } from './picture-tools.ts';
import { webUiProgressRoutes } from './progress.ts';
import { webUiUpscaleRoutes } from './upscale.ts';

const PREFIXES = ['/sdapi/*', '/controlnet/*'];
const CARRIES_PICTURES = /\/(?:txt2img|img2img|png-info|extra-single-image)$/;

export function webUiRoutes(app: Api, parts: ApiParts): void {
  for (const prefix of PREFIXES) {
    app.use(
      prefix,
      authenticate(parts, { takesBasic: true }),
      readBody({ ...parts, mayBeLarge: (path) => CARRIES_PICTURES.test(path), isSkipped: () => false }),
    );
  }
  webUiCallRoutes(app, parts);
  webUiProgressRoutes(app, parts);
  webUiListRoutes(app, parts);
  webUiControlRoutes(app, parts);
  webUiOptionRoutes(app, parts);
  webUiPictureRoutes(app);
  webUiUpscaleRoutes(app, parts);
}
