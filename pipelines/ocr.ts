/** POST /v1/ocr: a document in, the Markdown of its pages out. */

import { pipe } from 'it-pipe'
import { GatewayError } from '../lib/core/errors.ts'
import { readDocument } from '../lib/ocr/document.ts'
import { countPages } from '../lib/ocr/pdf.ts'
import { jsonReply } from '../lib/replies/json.ts'
import { once, map } from '../lib/core/stage.ts'
import { retryAsImage } from '../lib/stages/ocr/retry-as-image.ts'
import { auth } from '../lib/stages/auth.ts'
import { deadline } from '../lib/stages/deadline.ts'
import { dryRun, dryRunReply } from '../lib/stages/dry-run.ts'
import { limits } from '../lib/stages/limits.ts'
import { providerCall } from '../lib/stages/provider-call.ts'
import { routeModel } from '../lib/stages/route-model.ts'
import { validate } from '../lib/stages/validate.ts'
import { OcrRequest, type OcrAnswer } from '../schemas/ocr.ts'
import type { Batch } from '../lib/core/batch.ts'
import type { Call, RoutedCall, ValidCall } from '../lib/core/call.ts'
import type { ResultEvent } from '../lib/core/events.ts'
import type { OcrPages, OcrInput } from '../lib/ocr/input.ts'
import type { Reply } from '../lib/core/reply.ts'
import type { Services } from '../lib/services.ts'
import type { WithoutNulls } from '../schemas/nullable.ts'

type AskedOcr = WithoutNulls<OcrRequest>

const limitMs = 120_000
const maxPages = 1000
const defaultModel = (): string => 'mistral/mistral-ocr-latest'

export function ocr (services: Services): (call: Call) => Promise<Reply> {
  const { keys, models, providers, settings } = services
  const stages = [
    auth(keys),
    validate(OcrRequest),
    deadline<ValidCall<AskedOcr>>(limitMs),
    routeModel<AskedOcr>(models, providers, { defaultModel }),
    dryRun<RoutedCall<AskedOcr>>(services, 'ocr'),
    limits<RoutedCall<AskedOcr>>(services),
    map(documentReader(settings.limits.documentBytes)),
    map(checkPageCount),
    retryAsImage(providerCall(services, 'ocr')),
    map(answerOf)
  ] as const
  const reply = jsonReply<OcrAnswer>()
  return async call => await pipe(once(call), ...stages, reply).catch(dryRunReply)
}

function documentReader (maxBytes: number) {
  return async (call: RoutedCall<AskedOcr>): Promise<RoutedCall<OcrInput>> => {
    const { model, document: { document_url: url } } = call.request
    const document = await readDocument(call.largeStrings?.get(url) ?? url, maxBytes, call.signal)
    return { ...call, request: { ...(model !== undefined && { model }), document } }
  }
}

/** What cannot be counted here is for the provider to judge. */
async function checkPageCount (call: RoutedCall<OcrInput>): Promise<RoutedCall<OcrInput>> {
  const { document } = call.request
  if (document.kind === 'bytes' && document.mediaType === 'application/pdf') {
    const pages = await countPages(document.bytes, call.key.id, call.signal)
    if (pages !== undefined && pages > maxPages) throw tooManyPages(pages)
  }
  return call
}

function answerOf ({ call, route, events }: Batch<OcrInput, ResultEvent<OcrPages>>): OcrAnswer {
  const pages = events[0]?.result.pages ?? []
  if (pages.length > maxPages) throw tooManyPages(pages.length)
  call.record.pages = pages.length
  return { pages: pages.map(page => ({ ...page })), model: route.modelId }
}

function tooManyPages (pages: number): GatewayError {
  return new GatewayError('invalid_document', {
    message: `The document has ${pages} pages; at most ${maxPages} are read.`, param: 'document'
  })
}
