/**
 * Reads documents and speaks with the programs of this machine, as an in-process provider. It answers in the
 * dialects of Mistral's OCR and OpenAI's speech, so calls to it pass the same stages as any other.
 */

import { bufferBody } from '../wire/buffer-body.ts'
import { localPrograms, type LocalPrograms } from './programs.ts'
import { readPages, UnreadableDocument } from './read-pages.ts'
import { speak } from './speak.ts'
import type { SpeechRequest } from '../../schemas/speech.ts'
import type {
  SendOptions,
  Transport,
  UpstreamResponse,
  UpstreamBody,
  UpstreamRequest
} from '../providers/provider.ts'

/** Starts searching for the programs immediately, and waits for the result with the first call. */
export function localTransport (): Transport {
  const found = localPrograms()
  return {
    send: async (request, sending) => {
      sending.onSent?.()
      switch (request.path) {
        case '/ocr': return await readDocument(request, await found, sending)
        case '/audio/speech': return await say(request, await found, sending)
        default: return answer(404, { message: 'Not found.', code: 'not_found' })
      }
    }
  }
}

async function readDocument (
  request: UpstreamRequest,
  programs: LocalPrograms,
  sending: SendOptions
): Promise<UpstreamResponse> {
  const document = await documentIn(request)
  if (document === undefined) return answer(400, { message: 'The request has no document.' })
  try {
    const { bytes, isPdf, selected } = document
    const pages = await readPages(bytes, isPdf, programs, sending, selected)
    return answer(200, {
      pages: pages.map((markdown, index) => ({ index: selected?.[index] ?? index, markdown })),
      model: 'ocr'
    })
  } catch (error) {
    if (!(error instanceof UnreadableDocument)) throw error
    return answer(400, { object: 'error', message: error.message, type: 'invalid_document' })
  }
}

/** Speaks a text; without a format as a WAV file, since MP3 needs an encoder as well. */
async function say (
  { body }: UpstreamRequest,
  { espeak }: LocalPrograms,
  sending: SendOptions
): Promise<UpstreamResponse> {
  if (espeak === undefined) {
    return answer(404, { message: 'eSpeak NG is not installed.', code: 'model_not_found' })
  }
  // The adapter writes this body out of a request that was validated.
  const request = JSON.parse((await bufferBody(body)).toString()) as SpeechRequest
  const { input, voice, speed = 1, response_format: format = 'wav' } = request
  const name = typeof voice === 'object' ? voice.id : voice
  if (format !== 'wav' && format !== 'pcm') {
    return answer(400, {
      error: {
        message: 'Only wav and pcm are supported.',
        code: 'unsupported_parameter',
        param: 'response_format'
      }
    })
  }
  const spoken = await speak({ input, voice: name, speed, format }, espeak, sending)
  return bytesAnswer(200, `audio/${format}`, spoken)
}

interface LocalDocument {
  readonly bytes: Buffer
  readonly isPdf: boolean
  readonly selected?: readonly number[]
}

/** Returns the data URL and the selected pages that the adapter has put into the body. */
async function documentIn ({ body }: UpstreamRequest): Promise<LocalDocument | undefined> {
  const text = await bufferBody(body)
  const from = text.indexOf('data:')
  const start = text.indexOf(',', from) + 1
  const end = text.indexOf('"', start)
  if (from === -1 || start === 0 || end === -1) return undefined
  const bytes = Buffer.from(text.toString('latin1', start, end), 'base64')
  const numbers = /"pages":\[([\d,]+)\]/.exec(text.toString('latin1', end))?.[1]
  return {
    bytes,
    isPdf: text.subarray(from, start).includes('application/pdf'),
    ...numbers !== undefined && { selected: numbers.split(',').map(Number) }
  }
}

function answer (status: number, value: object): UpstreamResponse {
  return bytesAnswer(status, 'application/json', Buffer.from(JSON.stringify(value)))
}

function bytesAnswer (status: number, contentType: string, bytes: Buffer): UpstreamResponse {
  const body: UpstreamBody = {
    [Symbol.asyncIterator]: async function * () { yield bytes },
    buffer: async () => bytes,
    cancel: () => undefined
  }
  return { status, headers: { 'content-type': contentType }, body }
}
