/** Serves POST /v1/ocr: a document in, the Markdown of its pages out. */

import { copyCall, type Batch, type Call, type RoutedCall, type ValidCall } from '../lib/core/call.ts'
import { GatewayError } from '../lib/core/errors.ts'
import { chain } from '../lib/pipeline/chain.ts'
import { map } from '../lib/pipeline/stage.ts'
import { estimateDocument, maxPages } from '../lib/limits/estimate-units.ts'
import { defaultModels } from '../lib/models/default-models.ts'
import { readDocument } from '../lib/ocr/document.ts'
import { rejectUnansweredParameters, type OcrInput, type OcrPages } from '../lib/ocr/input.ts'
import { checkPages, parsePages } from '../lib/ocr/page-selection.ts'
import { countPages } from '../lib/ocr/pdf.ts'
import { replaceDocumentAddress, replacePageTexts } from '../lib/ocr/text-places.ts'
import { jsonReply } from '../lib/replies/reply-with.ts'
import { auth } from '../lib/stages/auth.ts'
import { checkAddresses, type NamedAddress } from '../lib/stages/check-addresses.ts'
import { checkProviderUses } from '../lib/stages/check-provider-uses.ts'
import { deadline } from '../lib/stages/deadline.ts'
import { dryRun } from '../lib/stages/dry-run.ts'
import { inspectRequest, type ReplaceTexts } from '../lib/stages/inspect-request.ts'
import { inspectResults } from '../lib/stages/inspect-results.ts'
import { limits } from '../lib/stages/limits.ts'
import { retryAsImage } from '../lib/stages/ocr/retry-as-image.ts'
import { namedGuards } from '../lib/stages/named-guards.ts'
import { providerCall } from '../lib/stages/provider-call.ts'
import { recordUsage } from '../lib/stages/record-usage.ts'
import { routeModel } from '../lib/stages/route-model.ts'
import { validate } from '../lib/stages/validate.ts'
import { OcrAnswer, OcrRequest } from '../schemas/ocr.ts'
import { pipeline, type Handler } from './pipeline.ts'
import type { ResultEvent } from '../lib/core/events.ts'
import type { ProviderUse } from '../lib/core/provider-use.ts'
import type { Services } from '../lib/services.ts'
import type { WithoutNulls } from '../schemas/nullable.ts'
import { providerErrors, type Docs } from './docs.ts'
import { RouteDecision } from '../schemas/route-decision.ts'

export const ocrDocs: Docs = {
  operationId: 'ocr',
  group: 'Documents',
  summary: 'Convert a PDF or an image to Markdown, page by page.',
  request: { schema: OcrRequest },
  answers: [{ description: 'The pages.', schema: OcrAnswer }],
  named: { OcrRequest, OcrAnswer },
  errors: [
    'invalid_value',
    'unsupported_parameter',
    'unsupported_format',
    'invalid_document',
    ...providerErrors
  ],
  dryRun: RouteDecision
}

const limitMs = 120_000

const validOcr = validate(OcrRequest)

export function ocr (services: Services): Handler<Call> {
  const [{ id: defaultModel }] = defaultModels(services.settings, 'ocr')
  const { textGuards } = services
  const answer = chain(
    retryAsImage(providerCall(services, 'ocr')),
    recordUsage<OcrInput, ResultEvent<OcrPages>>()
  )
  return pipeline(
    auth(services),
    validOcr,
    map(checked),
    namedGuards(services),
    deadline(limitMs),
    routeModel(services, { defaultModel: () => defaultModel }),
    dryRun(services, 'ocr'),
    map(documentReader(services.settings.limits.documentBytes)),
    checkProviderUses(services, usesOf),
    map(countedPages),
    limits<OcrInput>(services, { estimate: estimateDocument }),
    checkAddresses(services, addressesOf),
    inspectRequest(textGuards, { replaceTexts, lacksFields: true }),
    inspectResults(textGuards, replacePageTexts, answer),
    map(answerOf),
    jsonReply()
  )
}

function checked<C extends ValidCall<object>> (call: C): C {
  rejectUnansweredParameters(call.request)
  return call
}

const replaceTexts: ReplaceTexts<OcrInput> = (call, replace) => {
  const request = replaceDocumentAddress(call.request, replace)
  if (request === call.request || request.document.kind !== 'address') return call
  // Keep only the replaced request.
  const {
    model,
    document: { url },
    selected,
    image_limit: limit,
    image_min_size: minSize,
    asImage = false
  } = request
  const document = asImage
    ? { type: 'image_url', image_url: url }
    : { type: 'document_url', document_url: url }
  const kept = { model, document, pages: selected, image_limit: limit, image_min_size: minSize }
  call.record.bodies?.takeRequest([Buffer.from(JSON.stringify(kept))])
  return copyCall(call, { request })
}

/** A call before its document is read. It has no `fit`, which would be for this type of request. */
type UnreadCall = Omit<RoutedCall<WithoutNulls<OcrRequest>>, 'fit'>

function documentReader (maxBytes: number) {
  return async (call: UnreadCall): Promise<RoutedCall<OcrInput>> => {
    const { model, document: given, pages, image_limit: limit, image_min_size: minSize } = call.request
    const selected = pages === undefined ? undefined : parsePages(pages, maxPages)
    const url = urlOf(given)
    const document = await readDocument(call.media?.()?.bytesOf(url) ?? url, maxBytes, call.signal)
    return copyCall(call, {
      request: {
        ...model !== undefined && { model },
        document,
        ...selected !== undefined && { selected },
        ...limit !== undefined && { image_limit: limit },
        ...minSize !== undefined && { image_min_size: minSize },
        ...given.type === 'image_url' && { asImage: true }
      }
    })
  }
}

function urlOf (document: OcrRequest['document']): string {
  if (document.type !== 'image_url') return document.document_url
  return typeof document.image_url === 'string' ? document.image_url : document.image_url.url
}

function usesOf (request: OcrInput): ProviderUse[] {
  return addressesOf(request).map(address => ({ kind: 'address', ...address }))
}

function addressesOf ({ document }: OcrInput): NamedAddress[] {
  return document.kind === 'address' ? [{ url: document.url, param: 'document' }] : []
}

/** Records how many pages are read and refuses too many. If they cannot be counted, the provider decides. */
async function countedPages (call: RoutedCall<OcrInput>): Promise<RoutedCall<OcrInput>> {
  const { document, selected } = call.request
  if (document.kind !== 'bytes') return call
  const isPdf = document.mediaType === 'application/pdf'
  const count = isPdf ? await countPages(document.bytes, call.key.id, call.signal) : 1
  if (count === undefined) return call
  if (count > maxPages) throw tooManyPages(count)
  if (selected !== undefined) checkPages(selected, count)
  return copyCall(call, { request: { ...call.request, pages: selected?.length ?? count } })
}

function answerOf ({ route, events }: Batch<OcrInput, ResultEvent<OcrPages>>): OcrAnswer {
  const pages = events[0]?.result.pages ?? []
  if (pages.length > maxPages) throw tooManyPages(pages.length)
  return { pages: pages.map(page => ({ ...page })), model: route.modelId }
}

function tooManyPages (pages: number): GatewayError {
  return new GatewayError('invalid_document', {
    message: `The document has ${pages} pages; at most ${maxPages} are read.`, param: 'document'
  })
}
