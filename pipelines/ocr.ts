/** POST /v1/ocr: a document in, the Markdown of its pages out. */

import { pipe } from 'it-pipe'
import { GatewayError } from '../lib/errors.ts'
import { readDocument } from '../lib/ocr/document.ts'
import { countPages } from '../lib/pdf.ts'
import { jsonReply } from '../lib/replies/json.ts'
import { once, perCall } from '../lib/stage.ts'
import { askAsImage } from '../lib/stages/ask-as-image.ts'
import { auth } from '../lib/stages/auth.ts'
import { deadline } from '../lib/stages/deadline.ts'
import { providerCall } from '../lib/stages/provider-call.ts'
import { routeModel } from '../lib/stages/route-model.ts'
import { validate } from '../lib/stages/validate.ts'
import { OcrRequest, type OcrAnswer } from '../schemas/ocr.ts'
import type { Batch } from '../lib/batch.ts'
import type { Call, ValidCall } from '../lib/call.ts'
import type { ResultEvent } from '../lib/events.ts'
import type { OcrPages, OcrQuestion } from '../lib/ocr/question.ts'
import type { Reply } from '../lib/reply.ts'
import type { Services } from '../lib/services.ts'
import type { WithoutNulls } from '../schemas/nullable.ts'

const limitMs = 120_000
const maxPages = 1000
const defaultModel = (): string => 'mistral/mistral-ocr-latest'

export function ocr ({ keys, models, providers, settings }: Services): (call: Call) => Promise<Reply> {
  const { limits } = settings
  const stages = [
    auth(keys),
    validate(OcrRequest),
    deadline<ValidCall<WithoutNulls<OcrRequest>>>(limitMs),
    perCall(documentReader(limits.documentBytes)),
    perCall(checkPageCount),
    routeModel<OcrQuestion>(models, providers, { defaultModel }),
    askAsImage(providerCall(providers, provider => provider.ocr, limits)),
    perCall(answerOf)
  ] as const
  const reply = jsonReply<OcrAnswer>()
  return async call => await pipe(once(call), ...stages, reply)
}

function documentReader (maxBytes: number) {
  return async (call: ValidCall<WithoutNulls<OcrRequest>>): Promise<ValidCall<OcrQuestion>> => {
    const { model, document: { document_url: url } } = call.request
    const document = await readDocument(call.longTexts?.get(url) ?? url, maxBytes, call.signal)
    return { ...call, request: { ...(model !== undefined && { model }), document } }
  }
}

/** What cannot be counted here is for the provider to judge. */
async function checkPageCount (call: ValidCall<OcrQuestion>): Promise<ValidCall<OcrQuestion>> {
  const { document } = call.request
  if (document.kind === 'bytes' && document.mediaType === 'application/pdf') {
    const pages = await countPages(document.bytes, call.key.id, call.signal)
    if (pages !== undefined && pages > maxPages) throw tooManyPages(pages)
  }
  return call
}

function answerOf ({ call, route, events }: Batch<OcrQuestion, ResultEvent<OcrPages>>): OcrAnswer {
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
