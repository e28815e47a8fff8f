/** Every endpoint of the API: its path, its body, and the pipeline that answers. */

import { chat } from './chat.ts'
import { cancelDeferred, retrieveDeferred } from './deferred.ts'
import { embeddings } from './embeddings.ts'
import { health, livez, readyz } from './health.ts'
import { imageEdits, imageVariations, images } from './images.ts'
import { ocr } from './ocr.ts'
import { openApi } from './openapi.ts'
import { speech } from './speech.ts'
import { transcription, translation } from './recordings.ts'
import { version } from '../lib/text/version.ts'
import { listModels, retrieveModel } from './models.ts'
import type { Endpoint } from '../lib/core/endpoint.ts'
import type { Services } from '../lib/services.ts'

/** Under the right to chat: whoever may ask may fetch. */
const deferredPath = '/v1/chat/deferred-completion/:request_id'

/** The same endpoints in the same order for any services. */
export function createEndpoints (services: Services): Endpoint[] {
  const { jsonBodyBytes, mediaBodyBytes, documentBytes, audioFileBytes } = services.settings.limits
  const get = { method: 'GET', body: 'none', maxBodyBytes: 0 } as const
  const post = { method: 'POST', body: 'json', maxBodyBytes: Math.max(jsonBodyBytes, mediaBodyBytes) } as const
  // As many images as an edit may have, of the size they usually are.
  const imageForm = { method: 'POST', body: 'multipart', maxBodyBytes: Math.max(jsonBodyBytes, 16 * 4 * 1024 * 1024) } as const
  const recording = { method: 'POST', body: 'multipart', maxBodyBytes: audioFileBytes } as const
  return [
    { ...post, name: 'chat', path: '/v1/chat/completions', handle: chat(services) },
    { ...get, name: 'chat', path: deferredPath, handle: retrieveDeferred(services) },
    { ...get, name: 'chat', method: 'DELETE', path: deferredPath, handle: cancelDeferred(services) },
    { ...post, name: 'embeddings', path: '/v1/embeddings', handle: embeddings(services) },
    { ...post, name: 'speech', path: '/v1/audio/speech', handle: speech(services) },
    { ...recording, name: 'transcriptions', path: '/v1/audio/transcriptions', handle: transcription(services) },
    { ...recording, name: 'translations', path: '/v1/audio/translations', handle: translation(services) },
    { ...post, name: 'images', path: '/v1/images/generations', handle: images(services) },
    { ...imageForm, name: 'images', path: '/v1/images/edits', handle: imageEdits(services) },
    { ...imageForm, name: 'images', path: '/v1/images/variations', handle: imageVariations(services) },
    {
      ...post,
      name: 'ocr',
      path: '/v1/ocr',
      // A document in base64, and what stands around it.
      maxBodyBytes: Math.max(jsonBodyBytes, Math.ceil(documentBytes / 3) * 4 + 1024 * 1024),
      largeStringBytes: 64 * 1024,
      handle: ocr(services)
    },
    { ...get, name: 'models', path: '/v1/models', handle: listModels(services) },
    { ...get, name: 'models', path: '/v1/models/*model', handle: retrieveModel(services) },
    { ...get, name: 'openapi', path: '/openapi.json', handle: openApi(version) },
    { ...get, name: 'health', path: '/health', handle: health(services, services) },
    { ...get, name: 'livez', path: '/livez', handle: livez() },
    { ...get, name: 'readyz', path: '/readyz', handle: readyz(services) }
  ]
}
