/** The table of endpoints: path, body, documentation and pipeline of each. */

import { adminRows } from './admin.ts'
import { aliasDocs } from './aliases.ts'
import { chat, chatDocs } from './chat.ts'
import { cancelDeferred, cancelDeferredDocs, retrieveDeferred, retrieveDeferredDocs } from './deferred.ts'
import { completions, completionsDocs } from './text-completions.ts'
import { embeddings, embeddingsDocs } from './embeddings.ts'
import { health, healthDocs, livez, livezDocs, readyz, readyzDocs } from './health.ts'
import {
  imageEdits, imageEditsDocs, imageVariations, imageVariationsDocs, images, imagesDocs
} from './images.ts'
import { describeKey, keyDocs } from './key.ts'
import { keyInfo, keyInfoDocs } from './key-info.ts'
import { listModels, listModelsDocs, retrieveModel, retrieveModelDocs } from './models.ts'
import { modelInfo, modelInfoDocs } from './model-info.ts'
import { countTokens, countTokensDocs, messages, messagesDocs } from './messages.ts'
import { ocr, ocrDocs } from './ocr.ts'
import { openApi, openApiDocs } from './openapi.ts'
import { transcription, transcriptionDocs, translation, translationDocs } from './recordings.ts'
import {
  compact,
  compactDocs,
  countInputTokens,
  countInputTokensDocs,
  responses,
  responsesDocs
} from './responses.ts'
import {
  cancelResponse,
  cancelResponseDocs,
  deleteResponse,
  deleteResponseDocs,
  listInputItems,
  listInputItemsDocs,
  retrieveResponse,
  retrieveResponseDocs
} from './stored-responses.ts'
import { speech, speechDocs } from './speech.ts'
import { version } from '../lib/text/version.ts'
import type { Call } from '../lib/core/call.ts'
import type { Endpoint } from '../lib/core/endpoint.ts'
import type { LimitSettings, ServerSettings } from '../lib/core/settings.ts'
import type { Services } from '../lib/services.ts'
import type { EndpointName } from '../schemas/endpoints.ts'
import type { EndpointDoc } from '../lib/wire/endpoint-doc.ts'
import type { Docs } from './docs.ts'
import type { Handler } from './pipeline.ts'

/** An endpoint before its services exist. */
interface EndpointRow extends Omit<Endpoint, 'name' | 'maxBodyBytes' | 'handle'> {
  /** The scope of keys it belongs to; absent for the admin API, which takes no gateway key. */
  readonly name: EndpointName | 'admin'
  /** Maximum body in bytes. Default: no body is read. */
  readonly maxBodyBytes?: (limits: LimitSettings) => number
  readonly docs: Docs
  readonly pipeline: (services: Services) => Handler<Call>
}

const noBody = { body: 'none' } as const
const get = { ...noBody, method: 'GET' } as const
const post = {
  method: 'POST',
  body: 'json',
  maxBodyBytes: ({ jsonBodyBytes, jsonBodyTotalBytes }: LimitSettings) =>
    Math.max(jsonBodyBytes, jsonBodyTotalBytes)
} as const
/** Conversations may hold media in base64. */
const conversationBody = { ...post, keepsMedia: true } as const
/** Room for the maximum number of images of an edit, at a usual size. */
const imageForm = {
  method: 'POST',
  body: 'multipart',
  maxBodyBytes: ({ jsonBodyBytes }: LimitSettings) => Math.max(jsonBodyBytes, 16 * 4 * 1024 * 1024)
} as const
const recording = {
  method: 'POST',
  body: 'multipart',
  maxBodyBytes: ({ audioFileBytes }: LimitSettings) => audioFileBytes
} as const
/** A document in base64, with the JSON around it. */
const document = {
  method: 'POST',
  body: 'json',
  maxBodyBytes: ({ jsonBodyBytes, documentBytes }: LimitSettings) =>
    Math.max(jsonBodyBytes, Math.ceil(documentBytes / 3) * 4 + 1024 * 1024),
  keepsMedia: true,
  largeField: 'document'
} as const

const deferredPath = '/v1/chat/deferred-completion/:request_id'

const responsePath = '/v1/responses/:response_id'

const table: readonly EndpointRow[] = [
  {
    ...conversationBody,
    keepsBodiesFromBytes: 8 * 1024,
    name: 'chat',
    path: '/v1/chat/completions',
    docs: chatDocs,
    pipeline: chat
  },
  { ...post, name: 'completions', path: '/v1/completions', docs: completionsDocs, pipeline: completions },
  {
    ...conversationBody,
    keepsBodiesFromBytes: 0,
    name: 'messages',
    path: '/v1/messages',
    docs: messagesDocs,
    pipeline: messages
  },
  {
    ...conversationBody,
    keepsBodiesFromBytes: 0,
    name: 'messages',
    path: '/v1/messages/count_tokens',
    docs: countTokensDocs,
    pipeline: countTokens
  },
  {
    ...conversationBody,
    keepsBodiesFromBytes: 0,
    name: 'responses',
    path: '/v1/responses',
    docs: responsesDocs,
    pipeline: responses
  },
  {
    ...conversationBody,
    name: 'responses',
    path: '/v1/responses/input_tokens',
    docs: countInputTokensDocs,
    pipeline: countInputTokens
  },
  {
    ...conversationBody,
    keepsBodiesFromBytes: 0,
    name: 'responses',
    path: '/v1/responses/compact',
    docs: compactDocs,
    pipeline: compact
  },
  { ...get, name: 'responses', path: responsePath, docs: retrieveResponseDocs, pipeline: retrieveResponse },
  {
    ...noBody,
    name: 'responses',
    method: 'DELETE',
    path: responsePath,
    docs: deleteResponseDocs,
    pipeline: deleteResponse
  },
  {
    ...noBody,
    name: 'responses',
    method: 'POST',
    path: `${responsePath}/cancel`,
    docs: cancelResponseDocs,
    pipeline: cancelResponse
  },
  {
    ...get,
    name: 'responses',
    path: `${responsePath}/input_items`,
    docs: listInputItemsDocs,
    pipeline: listInputItems
  },
  { ...get, name: 'chat', path: deferredPath, docs: retrieveDeferredDocs, pipeline: retrieveDeferred },
  {
    ...noBody,
    name: 'chat',
    method: 'DELETE',
    path: deferredPath,
    docs: cancelDeferredDocs,
    pipeline: cancelDeferred
  },
  { ...post, name: 'images', path: '/v1/images/generations', docs: imagesDocs, pipeline: images },
  { ...imageForm, name: 'images', path: '/v1/images/edits', docs: imageEditsDocs, pipeline: imageEdits },
  {
    ...imageForm,
    name: 'images',
    path: '/v1/images/variations',
    docs: imageVariationsDocs,
    pipeline: imageVariations
  },
  { ...document, name: 'ocr', path: '/v1/ocr', docs: ocrDocs, pipeline: ocr },
  { ...post, name: 'embeddings', path: '/v1/embeddings', docs: embeddingsDocs, pipeline: embeddings },
  { ...post, name: 'speech', path: '/v1/audio/speech', docs: speechDocs, pipeline: speech },
  {
    ...recording,
    name: 'transcriptions',
    path: '/v1/audio/transcriptions',
    docs: transcriptionDocs,
    pipeline: transcription
  },
  {
    ...recording,
    name: 'translations',
    path: '/v1/audio/translations',
    docs: translationDocs,
    pipeline: translation
  },
  { ...get, name: 'models', path: '/v1/models', docs: listModelsDocs, pipeline: listModels },
  { ...get, name: 'models', path: '/v1/models/*model', docs: retrieveModelDocs, pipeline: retrieveModel },
  { ...get, name: 'key', path: '/v1/key', docs: keyDocs, pipeline: describeKey },
  {
    ...get,
    isAlias: true,
    name: 'models',
    path: '/v1/model/info',
    docs: modelInfoDocs,
    pipeline: modelInfo
  },
  { ...get, isAlias: true, name: 'key', path: '/key/info', docs: keyInfoDocs, pipeline: keyInfo },
  {
    ...get,
    name: 'health',
    path: '/health',
    docs: healthDocs,
    pipeline: services => health(services, services)
  },
  { ...get, name: 'livez', path: '/livez', docs: livezDocs, pipeline: livez },
  { ...get, name: 'readyz', path: '/readyz', docs: readyzDocs, pipeline: readyz },
  {
    ...get,
    name: 'openapi',
    path: '/openapi.json',
    docs: openApiDocs,
    pipeline: ({ settings }) => {
      const docs = servedDocs(settings.server)
      return openApi(settings.server.aliases ? [...docs, ...aliasDocs(docs)] : docs, version)
    }
  },
  ...adminRows
]

/** The documentation of every endpoint, as `/openapi.json` serves it. */
export const endpointDocs: readonly EndpointDoc[] = table.map(docOf)

/** Returns the documentation of the endpoints that are served. */
function servedDocs (server: Pick<ServerSettings, 'aliases'>): EndpointDoc[] {
  return table.filter(row => isServed(row, server)).map(docOf)
}

function docOf ({ method, path, docs }: EndpointRow): EndpointDoc {
  return { method, path, ...docs }
}

/** Returns true unless a row is for programs of another gateway and these are switched off. */
function isServed ({ isAlias = false }: EndpointRow, { aliases }: Pick<ServerSettings, 'aliases'>): boolean {
  return !isAlias || aliases
}

/** Builds the pipelines. */
export function createEndpoints (services: Services): Endpoint[] {
  const { limits, server } = services.settings
  return table.filter(row => isServed(row, server)).map(({ docs: _, pipeline, maxBodyBytes, ...row }) => ({
    ...row, maxBodyBytes: maxBodyBytes?.(limits) ?? 0, handle: pipeline(services)
  }))
}
