/**
 * Answers the image paths with real image files of the requested size, painted from the prompt.
 */

import { applyDirectives } from './apply-directives.ts'
import { readDirectives, withoutDirectives } from './directives.ts'
import { encodeImage } from './encode-image.ts'
import { readImageBody, type ImageBody } from './image-body.ts'
import { imageModel } from './sandbox-models.ts'
import { paint } from './paint.ts'
import { SandboxRefusal } from './sandbox-refusal.ts'
import { jsonScript, type Script, type Step } from './script.ts'
import { countTokens } from './tokens.ts'
import type { SandboxOptions } from './options.ts'
import type { UpstreamRequest } from '../providers/provider.ts'
import { nowSeconds } from '../core/reply.ts'

// A picture takes as long as so many words.
const wordsPerPicture = 10
const squares = 16

/** Answers `POST /images/generations` */
export async function makeImages (request: UpstreamRequest, options: SandboxOptions): Promise<Script> {
  return await imagesScript(request, options, 'image_generation')
}

/** Answers `POST /images/edits` and `POST /images/variations` */
export async function changeImages (request: UpstreamRequest, options: SandboxOptions): Promise<Script> {
  return await imagesScript(request, options, 'image_edit')
}

async function imagesScript (
  request: UpstreamRequest,
  { wordsPerSecond }: SandboxOptions,
  prefix: string
): Promise<Script> {
  const body = await readImageBody(request)
  const model = body.model.replace(/^sandbox\//, '')
  if (model !== imageModel) {
    throw new SandboxRefusal(404, `The model '${model}' does not exist. Available model: ${imageModel}.`, {
      code: 'model_not_found',
      param: 'model'
    })
  }
  const directives = readDirectives(body.text, model, 1)
  const text = withoutDirectives(body.text)
  const created = nowSeconds()
  const script = body.streamed
    ? await streamScript({ ...body, text }, directives.pace ?? wordsPerSecond, created, prefix)
    : jsonScript(200, {
        created,
        data: await pictures({ ...body, text }),
        ...aboutOf(body),
        usage: pictureUsage(text, body.n)
      })
  return applyDirectives(script, directives, body.streamed)
}

async function streamScript (
  body: ImageBody,
  wordsPerSecond: number,
  created: number,
  prefix: string
): Promise<Script> {
  const steps: Step[] = []
  const send = (type: string, fields: object): void => {
    if (wordsPerSecond > 0) steps.push({ type: 'pause', ms: 1000 * wordsPerPicture / wordsPerSecond })
    const name = `${prefix}.${type}`
    const data = JSON.stringify({ type: name, created_at: created, ...aboutOf(body), ...fields })
    steps.push({ type: 'send', bytes: `event: ${name}\ndata: ${data}\n\n`, words: 1 })
  }
  for (let number = 0; number < body.n; number++) {
    for (let index = 0; index < body.partialImages; index++) {
      send('partial_image', {
        b64_json: await picture(body, number, 2 ** (index + 1)),
        partial_image_index: index
      })
    }
    send('completed', { b64_json: await picture(body, number), usage: pictureUsage(body.text, 1) })
  }
  return {
    before: [],
    status: 200,
    headers: { 'content-type': 'text/event-stream; charset=utf-8' },
    body: steps
  }
}

/** Makes them one after the other: a large one takes a hundred megabytes while it is made. */
async function pictures (body: ImageBody): Promise<object[]> {
  const data: object[] = []
  for (let number = 0; number < body.n; number++) data.push(dataOf(body, await picture(body, number)))
  return data
}

/** Makes one, in base64. */
async function picture (body: ImageBody, number: number, detail = squares): Promise<string> {
  const bytes = await encodeImage(paint({ ...body, number, squares: detail }), body.format, body.quality)
  return bytes.toString('base64')
}

/** The sandbox has no address to put images at, so an address holds the image itself. */
function dataOf ({ asUrl, format }: ImageBody, base64: string): object {
  return asUrl ? { url: `data:image/${format};base64,${base64}` } : { b64_json: base64 }
}

function aboutOf ({ size, format, transparent }: ImageBody): object {
  return { size, quality: 'high', background: transparent ? 'transparent' : 'opaque', output_format: format }
}

function pictureUsage (text: string, count: number): object {
  const input = countTokens(text)
  const output = squares * squares * count
  return {
    input_tokens: input,
    output_tokens: output,
    total_tokens: input + output,
    input_tokens_details: { text_tokens: input, image_tokens: 0 }
  }
}
