/** Serves POST /v1/images/…: a prompt, or an image and a prompt, in; images out. */

import { toImages } from '../lib/images/complete.ts'
import { checkImageFile } from '../lib/images/files.ts'
import { estimateImages } from '../lib/limits/estimate-units.ts'
import { imageRequestTexts, replaceImageTexts } from '../lib/images/text-places.ts'
import { streamOrJson } from '../lib/replies/answer-reply.ts'
import { auth } from '../lib/stages/auth.ts'
import { checkProviderUses } from '../lib/stages/check-provider-uses.ts'
import { dryRun } from '../lib/stages/dry-run.ts'
import { defaultImageModel } from '../lib/stages/images/default-image-model.ts'
import { imageFrames } from '../lib/stages/images/image-frames.ts'
import { imageRules, type ImageRulesOptions } from '../lib/stages/images/image-rules.ts'
import { inspectRequest, type RequestTexts } from '../lib/stages/inspect-request.ts'
import { inspectResults } from '../lib/stages/inspect-results.ts'
import { limits } from '../lib/stages/limits.ts'
import { namedGuards } from '../lib/stages/named-guards.ts'
import { providerCall } from '../lib/stages/provider-call.ts'
import { recordUsage } from '../lib/stages/record-usage.ts'
import { formTextsAt, textsAt } from '../lib/stages/texts-at.ts'
import { routeModel } from '../lib/stages/route-model.ts'
import { validate } from '../lib/stages/validate.ts'
import { validateForm } from '../lib/stages/validate-form.ts'
import {
  ImageAnswer,
  ImageEditRequest,
  ImageRequest,
  ImageStreamEvent,
  ImageVariationRequest
} from '../schemas/images.ts'
import { pipeline, type Handler } from './pipeline.ts'
import type { Batch, Call, RoutedCall } from '../lib/core/call.ts'
import type { ImageEvent } from '../lib/core/events.ts'
import type { RequestOf } from '../lib/providers/provider.ts'
import type { Services } from '../lib/services.ts'
import { chain } from '../lib/pipeline/chain.ts'
import type { Stage } from '../lib/pipeline/stage.ts'
import { providerErrors, type Docs } from './docs.ts'
import { RouteDecision } from '../schemas/route-decision.ts'
import type { AnswerDoc } from '../lib/wire/endpoint-doc.ts'

const imageAnswers: readonly AnswerDoc[] = [
  { description: 'The images.', schema: ImageAnswer },
  { description: 'With `stream`, partial images.', mediaType: 'text/event-stream', schema: ImageStreamEvent }
]

export const imagesDocs: Docs = {
  operationId: 'images',
  group: 'Images',
  summary: 'Create images from a prompt.',
  request: { schema: ImageRequest },
  answers: imageAnswers,
  named: { ImageRequest, ImageEditRequest, ImageVariationRequest, ImageAnswer, ImageStreamEvent },
  errors: ['invalid_value', 'unsupported_parameter', ...providerErrors],
  dryRun: RouteDecision
}

export const imageEditsDocs: Docs = {
  operationId: 'image-edits',
  group: 'Images',
  summary: 'Edit images with a prompt.',
  request: { schema: ImageEditRequest, mediaType: 'multipart/form-data' },
  answers: imageAnswers,
  errors: ['invalid_value', 'unsupported_parameter', 'unsupported_format', ...providerErrors],
  dryRun: RouteDecision
}

export const imageVariationsDocs: Docs = {
  operationId: 'image-variations',
  group: 'Images',
  summary: 'Create variations of an image.',
  request: { schema: ImageVariationRequest, mediaType: 'multipart/form-data' },
  answers: [{ description: 'The images.', schema: ImageAnswer }],
  errors: ['invalid_value', 'unsupported_parameter', 'unsupported_format', ...providerErrors],
  dryRun: RouteDecision
}

/**
 * Maximum bytes of an event, which holds a complete image, and of a complete answer, which holds up to ten.
 */
const imageBytes = 64 * 1024 * 1024

type Capability = 'images' | 'imageEdits' | 'imageVariations'

const validImages = validate(ImageRequest)
const validEdits = validateForm(ImageEditRequest)
const validVariations = validateForm(ImageVariationRequest)

/** Serves POST /v1/images/generations */
export function images (services: Services): Handler<Call> {
  return pipeline(
    auth(services),
    validImages,
    namedGuards(services),
    routeModel(services, { defaultModel: defaultImageModel(services, 'generation') }),
    imageRules<RequestOf<'images'>>({ task: 'generation' }),
    answer(services, 'images'),
    streamOrJson({ streamed: imageFrames('image_generation'), complete: toImages })
  )
}

/** Serves POST /v1/images/edits */
export function imageEdits (services: Services): Handler<Call> {
  const checkFiles: ImageRulesOptions<RequestOf<'imageEdits'>>['checkFiles'] = ({ image, mask }, family) => {
    for (const file of image) checkImageFile(file, 'image', family)
    if (mask !== undefined) checkImageFile(mask, 'mask', family)
  }
  return pipeline(
    auth(services),
    validEdits,
    namedGuards(services),
    routeModel(services, { defaultModel: defaultImageModel(services, 'edit') }),
    imageRules({ task: 'edit', checkFiles }),
    answer(services, 'imageEdits'),
    streamOrJson({ streamed: imageFrames('image_edit'), complete: toImages })
  )
}

/** Serves POST /v1/images/variations */
export function imageVariations (services: Services): Handler<Call> {
  const checkFiles: ImageRulesOptions<RequestOf<'imageVariations'>>['checkFiles'] = ({ image }, family) => {
    checkImageFile(image, 'image', family)
  }
  return pipeline(
    auth(services),
    validVariations,
    namedGuards(services),
    routeModel(services, { defaultModel: defaultImageModel(services, 'variation') }),
    imageRules({ task: 'variation', checkFiles }),
    answer(services, 'imageVariations'),
    streamOrJson({ streamed: imageFrames('image_edit'), complete: toImages })
  )
}

function answer (
  services: Services,
  capability: Capability
): Stage<RoutedCall<RequestOf<Capability>>, Batch<RequestOf<Capability>, ImageEvent>> {
  const { textGuards, settings: { limits: { eventBytes, answerBytes } } } = services
  const given = chain(
    providerCall(services, capability, {
      eventBytes: Math.max(eventBytes, imageBytes), answerBytes: Math.max(answerBytes, 4 * imageBytes)
    }),
    recordUsage<RequestOf<Capability>, ImageEvent>()
  )
  return chain(
    dryRun<RequestOf<Capability>>(services, capability, { estimate: estimateImages }),
    checkProviderUses(services, () => []),
    limits<RequestOf<Capability>>(services, { estimate: estimateImages }),
    inspectRequest(textGuards, texts[capability]),
    inspectResults(textGuards, replaceImageTexts, given)
  )
}

const form = formTextsAt<RequestOf<Capability> & { readonly prompt?: string }>(['prompt', 'user'])
const texts: Readonly<Record<Capability, RequestTexts<RequestOf<Capability>>>> = {
  images: textsAt(imageRequestTexts),
  imageEdits: form,
  imageVariations: form
}
