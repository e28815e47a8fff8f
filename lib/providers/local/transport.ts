/**
 * A provider inside the process that reads documents with the programs of this machine. It answers
 * in the dialect of Mistral's OCR, so calls to it pass the same stages as any other.
 */

import { wholeBody } from '../../whole-body.ts'
import { localPrograms } from './programs.ts'
import { readPages, Unreadable } from './read-pages.ts'
import type { Transport, UpstreamAnswer, UpstreamBody, UpstreamRequest } from '../provider.ts'

const headers = { 'content-type': 'application/json' }

/** Looks for the programs at once, and waits for what it finds with the first call. */
export function localTransport (): Transport {
  const found = localPrograms()
  return {
    send: async (request, { signal }) => {
      if (request.path !== '/ocr') return answer(404, { message: 'There is no such thing here.', code: 'not_found' })
      const document = await documentIn(request)
      if (document === undefined) return answer(400, { message: 'There is no document in the request.' })
      try {
        const pages = await readPages(document.bytes, document.isPdf, await found, signal)
        return answer(200, { pages: pages.map((markdown, index) => ({ index, markdown })), model: 'ocr' })
      } catch (error) {
        if (!(error instanceof Unreadable)) throw error
        return answer(400, { object: 'error', message: error.message, type: 'invalid_document' })
      }
    }
  }
}

/** The data URL that the adapter has put into the body. */
async function documentIn ({ body }: UpstreamRequest): Promise<{ bytes: Buffer, isPdf: boolean } | undefined> {
  const text = await wholeBody(body)
  const from = text.indexOf('data:')
  const start = text.indexOf(',', from) + 1
  const end = text.indexOf('"', start)
  if (from === -1 || start === 0 || end === -1) return undefined
  const bytes = Buffer.from(text.toString('latin1', start, end), 'base64')
  return { bytes, isPdf: text.subarray(from, start).includes('application/pdf') }
}

function answer (status: number, value: object): UpstreamAnswer {
  const bytes = Buffer.from(JSON.stringify(value))
  const body: UpstreamBody = {
    [Symbol.asyncIterator]: async function * () { yield bytes },
    whole: async () => bytes,
    cancel: () => undefined
  }
  return { status, headers, body }
}
