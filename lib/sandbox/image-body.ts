/** An image request as the sandbox receives it, from JSON or from a form. */

import { yieldFairly } from '../async/yield-fairly.ts'
import { bufferBody } from '../wire/buffer-body.ts'
import { readFormBody } from './read-form-body.ts'
import { SandboxRefusal } from './sandbox-refusal.ts'
import type { ImageFormat } from './encode-image.ts'
import type { UpstreamRequest } from '../providers/provider.ts'

export interface ImageBody {
  readonly model: string
  /** The text to paint; for a variation, which has no prompt, one derived from its image. */
  readonly text: string
  readonly n: number
  readonly width: number
  readonly height: number
  readonly size: string
  readonly format: ImageFormat
  readonly quality: number
  readonly transparent: boolean
  readonly asUrl: boolean
  readonly streamed: boolean
  readonly partialImages: number
}

const formats = ['png', 'jpeg', 'webp'] as const

/** @throws SandboxRefusal 400 for anything but an image request, and for an image that is too large */
export async function readImageBody (request: UpstreamRequest): Promise<ImageBody> {
  const fields = await readFields(request)
  const text = (name: string): string => fields.get(name) ?? ''
  const size = text('size') === '' || text('size') === 'auto' ? '1024x1024' : text('size')
  const [width = 0, height = 0] = size.split('x').map(Number)
  if (!(width >= 1 && width <= 4096 && height >= 1 && height <= 4096)) {
    throw new SandboxRefusal(400, 'The sandbox paints up to 4096x4096.', {
      param: 'size',
      code: 'invalid_value'
    })
  }
  if (text('model') === '') throw new SandboxRefusal(400, 'The body needs a model.', { param: 'model' })
  return {
    model: text('model'),
    text: text('prompt') === '' ? text('image') : text('prompt'),
    n: Number(fields.get('n') ?? 1),
    width,
    height,
    size,
    format: formats.find(format => format === fields.get('output_format')) ?? 'png',
    quality: Number(fields.get('output_compression') ?? 100),
    transparent: text('background') === 'transparent',
    asUrl: text('response_format') === 'url',
    streamed: text('stream') === 'true',
    partialImages: Number(fields.get('partial_images') ?? 0)
  }
}

/** Represents files by texts, so that other images give other pictures. */
async function readFields (request: UpstreamRequest): Promise<Map<string, string>> {
  const type = request.headers['content-type'] ?? ''
  try {
    const fields = new Map<string, string>()
    if (!type.startsWith('multipart/')) {
      const json = JSON.parse((await bufferBody(request.body)).toString()) as object // written by the adapter
      for (const [name, value] of Object.entries(json)) fields.set(name, String(value))
      return fields
    }
    for (const { name, fileName, bytes } of await readFormBody(request)) {
      fields.set(name.replace('[]', ''), bytes.toString(fileName === undefined ? 'utf8' : 'latin1'))
      await yieldFairly()
    }
    return fields
  } catch {
    throw new SandboxRefusal(400, 'The body is neither JSON nor a form.', { code: 'invalid_json' })
  }
}
