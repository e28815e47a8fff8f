/** POST /v1/images/…: a prompt, or an image and a prompt, in; images out. */

import { pipe } from 'it-pipe'
import { checkImageFile } from '../lib/images/files.ts'
import { needsNewestFamily, type ImageParameters } from '../lib/images/rules.ts'
import { toImages } from '../lib/images/complete.ts'
import { streamOrJson } from '../lib/replies/stream-or-json.ts'
import { once } from '../lib/core/stage.ts'
import { auth } from '../lib/stages/auth.ts'
import { dryRun, dryRunReply } from '../lib/stages/dry-run.ts'
import { imageFrames } from '../lib/stages/images/image-frames.ts'
import { imageRules } from '../lib/stages/images/image-rules.ts'
import { limits } from '../lib/stages/limits.ts'
import { recordUsage } from '../lib/stages/record-usage.ts'
import { providerCall } from '../lib/stages/provider-call.ts'
import { routeModel } from '../lib/stages/route-model.ts'
import { validate, validateForm } from '../lib/stages/validate.ts'
import { ImageEditRequest, ImageRequest, ImageVariationRequest } from '../schemas/images.ts'
import type { Call, RoutedCall } from '../lib/core/call.ts'
import type { ImageEvent } from '../lib/core/events.ts'
import type { ImageEdit, ImageVariation } from '../lib/images/input.ts'
import type { Reply } from '../lib/core/reply.ts'
import type { Services } from '../lib/services.ts'
import type { ProviderCallOptions } from '../lib/upstream/attempt.ts'
import type { Limits } from '../lib/core/settings.ts'

const oldest = 'openai/dall-e-2'
const newest = 'openai/gpt-image-1'

/** POST /v1/images/generations */
export function images (services: Services): (call: Call) => Promise<Reply> {
  const { keys, models, providers, settings } = services
  const stages = [
    auth(keys),
    validate(ImageRequest),
    routeModel<ImageRequest>(models, providers, { defaultModel }),
    imageRules<ImageRequest>(models, { task: 'generation' }),
    dryRun<RoutedCall<ImageRequest>>(services, 'images'),
    limits<RoutedCall<ImageRequest>>(services),
    providerCall(services, 'images', sizes(settings.limits)),
    recordUsage<ImageRequest, ImageEvent>()
  ] as const
  const reply = streamOrJson({ streamed: imageFrames<ImageRequest>('image_generation'), whole: toImages<ImageRequest> })
  return async call => await pipe(once(call), ...stages, reply).catch(dryRunReply)
}

/** POST /v1/images/edits */
export function imageEdits (services: Services): (call: Call) => Promise<Reply> {
  const { keys, models, providers, settings } = services
  const stages = [
    auth(keys),
    validateForm(ImageEditRequest),
    routeModel<ImageEdit>(models, providers, { defaultModel }),
    imageRules<ImageEdit>(models, {
      task: 'edit',
      checkFiles: ({ image, mask }, family) => {
        for (const file of image) checkImageFile(file, 'image', family)
        if (mask !== undefined) checkImageFile(mask, 'mask', family)
      }
    }),
    dryRun<RoutedCall<ImageEdit>>(services, 'imageEdits'),
    limits<RoutedCall<ImageEdit>>(services),
    providerCall(services, 'imageEdits', sizes(settings.limits)),
    recordUsage<ImageEdit, ImageEvent>()
  ] as const
  const reply = streamOrJson({ streamed: imageFrames<ImageEdit>('image_edit'), whole: toImages<ImageEdit> })
  return async call => await pipe(once(call), ...stages, reply).catch(dryRunReply)
}

/** POST /v1/images/variations */
export function imageVariations (services: Services): (call: Call) => Promise<Reply> {
  const { keys, models, providers, settings } = services
  const stages = [
    auth(keys),
    validateForm(ImageVariationRequest),
    routeModel<ImageVariation>(models, providers, { defaultModel: () => oldest }),
    imageRules<ImageVariation>(models, {
      task: 'variation', checkFiles: ({ image }, family) => checkImageFile(image, 'image', family)
    }),
    dryRun<RoutedCall<ImageVariation>>(services, 'imageVariations'),
    limits<RoutedCall<ImageVariation>>(services),
    providerCall(services, 'imageVariations', sizes(settings.limits)),
    recordUsage<ImageVariation, ImageEvent>()
  ] as const
  const reply = streamOrJson({ streamed: imageFrames<ImageVariation>('image_edit'), whole: toImages<ImageVariation> })
  return async call => await pipe(once(call), ...stages, reply).catch(dryRunReply)
}

/** A request that names no model and asks for what only the newest can do means that one. */
function defaultModel (request: ImageParameters): string {
  return needsNewestFamily(request) ? newest : oldest
}

/** One event holds a whole image, and a whole answer up to ten of them. */
function sizes ({ eventBytes, answerBytes }: Limits): ProviderCallOptions {
  const imageBytes = 64 * 1024 * 1024
  return { eventBytes: Math.max(eventBytes, imageBytes), answerBytes: Math.max(answerBytes, 4 * imageBytes) }
}
