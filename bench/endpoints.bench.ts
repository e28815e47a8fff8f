/** Complete in-process calls to endpoints with large answers: embeddings, images, audio. */

import { equal, ok } from 'node:assert/strict'
import { CallRecord } from '../lib/core/record.ts'
import { embeddings } from '../pipelines/embeddings.ts'
import { images } from '../pipelines/images.ts'
import { speech } from '../pipelines/speech.ts'
import { benchKey } from './support/settings.ts'
import { servicesTo, textOf } from './support/services.ts'
import type { Call } from '../lib/core/call.ts'
import type { Reply } from '../lib/core/reply.ts'
import type { Scenario } from './support/scenario.ts'

const inputs = 2048
const dimensions = 256
/** In the pieces of a socket. */
const readBytes = 64 * 1024

const vector = Float32Array.from({ length: dimensions }, (_, index) => Math.sin(index) / 16)
const base64 = Buffer.from(vector.buffer).toString('base64')
const numbers = [...vector].map(value => Number(value.toPrecision(9)))

function callTo (endpoint: string, body: object): Call {
  return {
    id: 'req-bench',
    headers: { authorization: `Bearer ${benchKey}` },
    params: {},
    body: async () => await Promise.resolve(body),
    signal: new AbortController().signal,
    receivedAtMs: performance.now(),
    record: new CallRecord(endpoint)
  }
}

function embeddingAnswer (embedding: unknown): Buffer {
  return Buffer.from(JSON.stringify({
    object: 'list',
    data: Array.from({ length: inputs }, (_, index) => ({ object: 'embedding', index, embedding })),
    model: 'm-1',
    usage: { prompt_tokens: inputs, total_tokens: inputs }
  }))
}

/** @param given the form of the provider's answer */
function embedding (name: string, format: 'float' | 'base64', given: unknown): Scenario {
  const handle = embeddings(servicesTo(inReads(embeddingAnswer(given))))
  const body = {
    model: 'mock/embedder',
    input: Array.from({ length: inputs }, (_, index) => `text ${index}`),
    encoding_format: format,
    dimensions
  }
  const last = JSON.stringify({ object: 'embedding', index: inputs - 1 }).slice(1, -1)
  return {
    name: `pipeline: embeddings ${inputs}×${dimensions}, ${name}`,
    per: 'call',
    count: 1,
    run: async () => await textOf(await handle(callTo('embeddings', body))),
    check: result => {
      const text = String(result)
      ok(text.includes(format === 'base64' ? base64 : String(numbers[1])), 'the vector is there')
      ok(last.split(',').every(part => text.includes(part)), 'up to the last')
      equal(text.split('"index"').length - 1, inputs)
    }
  }
}

const pictureBase64 = Buffer.alloc(1_500_000, 'headgate').toString('base64')
const frames = [
  ...[0, 1].map(index => imageFrame('partial_image', { partial_image_index: index })),
  imageFrame('completed', {})
]

function imageFrame (kind: string, more: object): string {
  const type = `image_generation.${kind}`
  return `event: ${type}\ndata: ${JSON.stringify({ type, b64_json: pictureBase64, created_at: 1_763_686_800, ...more })}\n\n`
}

const paint = images(servicesTo(inReads(Buffer.from(frames.join('')))))
const prompt = { model: 'mock/gpt-image-1', prompt: 'a dune', stream: true, partial_images: 2 }

const sound = Buffer.alloc(5_000_000, 'headgate')
const speak = speech(servicesTo(inReads(sound)))
const words = { model: 'mock/tts-1', input: 'The door is open.', voice: 'alloy' }

export const scenarios: readonly Scenario[] = [
  embedding('float as it came', 'float', numbers),
  embedding('base64 as it came', 'base64', base64),
  embedding('base64 made of float', 'base64', numbers),
  {
    name: 'pipeline: image, a stream of 3 × 2 MB',
    per: 'call',
    count: 1,
    run: async () => await sizeOf(await paint(callTo('images', prompt))),
    check: result =>
      equal(result, frames.join('').replaceAll(/^event: .*\n/gm, '').length + 'data: [DONE]\n\n'.length)
  },
  {
    name: 'pipeline: speech, 5 MB',
    per: 'call',
    count: 1,
    run: async () => await sizeOf(await speak(callTo('speech', words))),
    check: result => equal(result, sound.length)
  }
]

function inReads (bytes: Buffer): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / readBytes) }, (_, index) =>
    bytes.subarray(index * readBytes, (index + 1) * readBytes)
  )
}

/** Returns the size of a body in bytes, without joining it. */
async function sizeOf ({ body }: Reply): Promise<number> {
  if (typeof body === 'string' || body instanceof Uint8Array) return Buffer.byteLength(body)
  let size = 0
  for await (const piece of body) size += Buffer.byteLength(piece)
  return size
}
