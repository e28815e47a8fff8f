import t from 'tap'
import { callerError } from '../../lib/providers/provider-failure.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import { checkImageFile, imageKind, pngSize } from '../../lib/images/files.ts'
import {
  anyImageFamily,
  checkImageRules,
  familyOf,
  hasParameters,
  type ImageFamily,
  type ImageParameters,
  type ImageTask
} from '../../lib/images/rules.ts'
import { catalogue } from '../../lib/models/catalogue.ts'
import { readImageStream } from '../../lib/providers/openai/image-stream.ts'
import { readEvents } from '../support/read-events.ts'
import { cut, cutSizes } from '../support/cuts.ts'
import type { UploadedFile } from '../../lib/core/upload.ts'

/** The rules of a catalogue model; for others, rules that forbid nothing. */
function known (model: string): ImageFamily {
  return familyOf(catalogue.find(({ id }) => id === `openai/${model}`)?.traits?.images)
}

/** The code and parameter of the refusal; undefined if the request is allowed. */
function refusal (
  family: string,
  request: ImageParameters,
  task: ImageTask = 'generation'
): string | undefined {
  try {
    checkImageRules({ prompt: 'a cat', ...request }, known(family), task, family)
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return `${error.status} ${error.code} ${String(error.param)}`
  }
  return undefined
}

const file: UploadedFile = {
  name: 'x',
  mediaType: 'text/plain',
  sizeBytes: 100,
  head: new Uint8Array(),
  open: () => {
    throw new Error('not needed')
  }
}
const [a, b, c] = ['dall-e-2', 'dall-e-3', 'gpt-image-1'] as const
const unsupported = (param: string): string => `400 unsupported_parameter ${param}`
const invalid = (param: string): string => `400 invalid_value ${param}`

const rows: ReadonlyArray<
  readonly [family: string, request: ImageParameters, expected: string | undefined, task?: ImageTask]
> = [
  // Length is in code points: an emoji counts as one, though it is two UTF-16 units.
  [a, { prompt: '🐱'.repeat(1000) }, undefined],
  [a, { prompt: '🐱'.repeat(1001) }, invalid('prompt')],
  [b, { prompt: 'x'.repeat(4000) }, undefined],
  [b, { prompt: 'x'.repeat(4001) }, invalid('prompt')],
  [c, { prompt: 'x'.repeat(32_000) }, undefined],
  [c, { prompt: 'x'.repeat(32_001) }, invalid('prompt')],
  [c, { prompt: 'x'.repeat(70_000) }, invalid('prompt')],
  ['newer', { prompt: 'x'.repeat(70_000) }, undefined],
  [a, { n: 10 }, undefined],
  [b, { n: 1 }, undefined],
  [b, { n: 2 }, invalid('n')],
  [c, { n: 10 }, undefined],
  [a, { size: '256x256' }, undefined],
  [a, { size: '512x512' }, undefined],
  [a, { size: '1024x1024' }, undefined],
  [a, { size: '1536x1024' }, invalid('size')],
  [a, { size: 'auto' }, invalid('size')],
  [b, { size: '1792x1024' }, undefined],
  [b, { size: '1024x1792' }, undefined],
  [b, { size: '256x256' }, invalid('size')],
  [c, { size: '1536x1024' }, undefined],
  [c, { size: '1024x1536' }, undefined],
  [c, { size: 'auto' }, undefined],
  [c, { size: '512x512' }, invalid('size')],
  ['newer', { size: '2048x512' }, undefined],
  [a, { quality: 'auto' }, undefined],
  [a, { quality: 'standard' }, undefined],
  [a, { quality: 'hd' }, invalid('quality')],
  [a, { quality: 'low' }, invalid('quality')],
  [b, { quality: 'hd' }, undefined],
  [b, { quality: 'high' }, invalid('quality')],
  [c, { quality: 'high' }, undefined],
  [c, { quality: 'hd' }, invalid('quality')],
  [b, { style: 'vivid' }, undefined],
  [a, { style: 'vivid' }, unsupported('style')],
  [c, { style: 'natural' }, unsupported('style')],
  [a, { response_format: 'url' }, undefined],
  [b, { response_format: 'b64_json' }, undefined],
  [c, { response_format: 'b64_json' }, undefined],
  ...([a, b] as const).flatMap(family =>
    (
      [
        ['output_format', { output_format: 'png' }],
        ['output_compression', { output_compression: 100 }],
        ['stream', { stream: true }],
        ['partial_images', { partial_images: 0 }],
        ['moderation', { moderation: 'low' }],
        ['background', { background: 'auto' }]
      ] as const
    ).map(([param, request]) => [family, request, unsupported(param)] as const)
  ),
  [a, { stream: false }, undefined],
  [c, { stream: true, partial_images: 3, moderation: 'low' }, undefined],
  [c, { background: 'transparent' }, undefined],
  [c, { background: 'transparent', output_format: 'webp' }, undefined],
  [c, { background: 'transparent', output_format: 'jpeg' }, invalid('background')],
  [c, { output_compression: 50, output_format: 'webp' }, undefined],
  [c, { output_compression: 50, output_format: 'jpeg' }, undefined],
  [c, { output_compression: 50, output_format: 'png' }, invalid('output_compression')],
  [c, { output_compression: 50 }, invalid('output_compression')],
  [c, { output_compression: 100 }, undefined],
  ['newer', { background: 'transparent', output_format: 'jpeg' }, invalid('background')],
  ...['1024x1536', '1792x1024', '2048x2048'].map(size => [a, { size }, invalid('size')] as const),
  [b, { size: '1024x1024' }, undefined],
  ...['512x512', '1536x1024', 'auto'].map(size => [b, { size }, invalid('size')] as const),
  [c, { size: '1024x1024' }, undefined],
  ...['256x256', '1792x1024', '1024x1792'].map(size => [c, { size }, invalid('size')] as const),
  ...['high', 'medium'].map(quality => [a, { quality }, invalid('quality')] as const),
  ...['auto', 'standard'].map(quality => [b, { quality }, undefined] as const),
  ...['medium', 'low'].map(quality => [b, { quality }, invalid('quality')] as const),
  ...['auto', 'medium', 'low'].map(quality => [c, { quality }, undefined] as const),
  [c, { quality: 'standard' }, invalid('quality')],
  [b, { style: 'natural' }, undefined],
  [a, { response_format: 'b64_json' }, undefined],
  [b, { response_format: 'url' }, undefined],
  [c, { response_format: 'url' }, unsupported('response_format')],
  [c, { moderation: 'auto', background: 'opaque', partial_images: 0 }, undefined],
  [c, { background: 'transparent', output_format: 'png' }, undefined],
  [c, { output_compression: 0, output_format: 'webp' }, undefined],
  [a, {}, undefined, 'edit'],
  [a, { image: [file] }, undefined, 'edit'],
  [a, { image: [file, file] }, invalid('image'), 'edit'],
  [a, { image: file }, undefined, 'variation'],
  [b, {}, unsupported('model'), 'edit'],
  [c, { image: Array.from({ length: 16 }, () => file) }, undefined, 'edit'],
  [c, { input_fidelity: 'high' }, undefined, 'edit'],
  [a, { input_fidelity: 'high' }, unsupported('input_fidelity'), 'edit'],
  [a, {}, undefined, 'variation'],
  [b, {}, unsupported('model'), 'variation'],
  [c, {}, unsupported('model'), 'variation'],
  ['newer', {}, undefined, 'variation']
]

t.test('each rule of each family gives its code and parameter', async t => {
  for (const [family, request, expected, task] of rows) {
    t.equal(
      refusal(family, request, task),
      expected,
      `${family} ${JSON.stringify(request).slice(0, 60)} ${task ?? ''}`
    )
  }
  t.equal(familyOf(undefined), anyImageFamily)
})

t.test('a family allows its own features, whatever the lengths and numbers', async t => {
  const oldest: ImageFamily = {
    ...anyImageFamily,
    tasks: ['edit'],
    sizes: ['1x1'],
    qualities: ['low'],
    unsupported: ['stream', 'style'],
    maxFiles: 1,
    maxImages: 1,
    maxPromptCharacters: 1
  }
  for (const request of [
    {},
    { stream: false },
    { size: '1x1', quality: 'low' },
    { n: 9, prompt: 'long' },
    { image: [file] },
    { image: file, background: 'auto' }
  ]) {
    t.ok(hasParameters(oldest, request, 'edit'), JSON.stringify(request))
  }
  for (const request of [
    { stream: true },
    { style: 'vivid' },
    { size: '2x2' },
    { quality: 'high' },
    { image: [file, file] }
  ]) {
    t.notOk(hasParameters(oldest, request, 'edit'), JSON.stringify(request))
  }
  t.notOk(hasParameters(oldest, {}, 'generation'))
})

function png (width: number, height: number): Buffer {
  const bytes = Buffer.from('89504e470d0a1a0a0000000d494844520000000000000000', 'hex')
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(height, 20)
  return bytes
}

t.test('image files are recognised by their bytes', async t => {
  t.match(imageKind(png(1, 1)), { mediaType: 'image/png' })
  t.match(imageKind(Buffer.from('ffd8ffe0', 'hex')), { mediaType: 'image/jpeg' })
  t.match(imageKind(Buffer.from('RIFF\0\0\0\0WEBPVP8 ')), { mediaType: 'image/webp' })
  for (const bytes of ['', 'GIF89a', 'RIFF\0\0\0\0WAVE', '<svg/>']) {
    t.equal(imageKind(Buffer.from(bytes)), undefined, bytes)
  }
  t.same(pngSize(png(640, 480)), { width: 640, height: 480 })
  t.equal(pngSize(png(1, 1).subarray(0, 20)), undefined)

  const check = (head: Buffer, family: string, sizeBytes = 100): string => {
    try {
      checkImageFile({ ...file, sizeBytes, head }, 'image', known(family))
      return 'fine'
    } catch (error) {
      return error instanceof GatewayError
        ? `${error.status} ${error.code} ${String(error.param)}`
        : 'another error'
    }
  }
  t.equal(check(png(8, 8), a), 'fine')
  t.equal(check(png(8, 9), a), '400 invalid_value image')
  t.equal(check(png(8, 9), c), 'fine')
  t.equal(check(png(8, 8), a, 4 * 1024 * 1024), '413 file_too_large image')
  t.equal(check(Buffer.from('ffd8ffe0', 'hex'), a), '400 unsupported_format image')
  t.equal(check(Buffer.from('ffd8ffe0', 'hex'), c), 'fine')
  t.equal(check(Buffer.from('GIF89a'), 'newer'), '400 unsupported_format image')
})

t.test('streams are read alike at any cut, whatever the order and shape of their events', async t => {
  const long = 'A'.repeat(40_000)
  const usage = {
    total_tokens: 30,
    input_tokens: 10,
    output_tokens: 20,
    input_tokens_details: { text_tokens: 10, image_tokens: 0 }
  }
  const completed = { type: 'image_generation.completed', b64_json: long, created_at: 1, usage }
  const partial = { type: 'image_generation.partial_image', b64_json: long, partial_image_index: 0 }
  const named = (value: { type: string }): string =>
    `event: ${value.type}\r\ndata: ${JSON.stringify(value)}\r\n\r\n`
  const { type: _, ...nameless } = partial
  const text = [
    ': hello\n\n',
    named(completed),
    'event: image_generation.partial_image\ndata: ' + JSON.stringify(nameless) + '\n\n',
    'data: ' + JSON.stringify(partial, null, 1).replaceAll('\n', '\ndata: ') + '\n\n',
    'data: ' + JSON.stringify({ b64_json: long, type: 'image_edit.partial_image' }) + '\n\n',
    'event: something.new\ndata: {"type":"something.new"}\n\n',
    'data: ' + JSON.stringify({ ...completed, usage: undefined }) + '\n\n',
    'data: ' + JSON.stringify({ type: 'image_edit.completed', usage, b64_json: long }) + '\n\n'
  ].join('')
  const ask = {
    request: { n: 3 },
    route: { providerId: 'openai', model: 'm', modelId: 'openai/m' },
    quirks: {},
    streamed: true
  }
  for (const size of cutSizes.filter(size => size !== 1)) {
    const events = readEvents(cut(Buffer.from(text), size), readImageStream(ask))
    t.same(events.map(({ type }) => type), [
      'image-end', 'usage', 'image-partial', 'image-partial', 'image-partial',
      'image-end', 'image-end', 'usage'
    ], String(size))
    for (const event of events) {
      if (!('json' in event)) continue
      t.notMatch(event.json, /[\r\n]/, 'one line')
      t.match(JSON.parse(event.json), {
        type: /^image_(generation|edit)\.(partial_image|completed)$/,
        b64_json: long
      })
    }
    t.match(
      events.at(-1),
      { usage: { promptTokens: 20, completionTokens: 40, totalTokens: 60 } },
      'summed, from either end of a line'
    )
  }
  const read = (lines: string, n = 1): string => {
    try {
      readEvents([Buffer.from(lines)], readImageStream({ ...ask, request: { n } }))
      return 'complete'
    } catch (error) {
      const shown = callerError(error)
      return shown instanceof GatewayError ? shown.code : String(shown)
    }
  }
  const plain = (value: { type: string }): string => named(value).replaceAll('\r', '')
  t.equal(read(named(partial)), 'upstream_stream_interrupted')
  t.equal(read(named(completed), 2), 'upstream_stream_interrupted')
  t.equal(read(`${named(completed)}data: [DONE]\n\n`, 2), 'complete', 'the provider says that this is all')
  t.equal(read('data: [DONE]\n\n'), 'upstream_stream_interrupted')
  for (const complete of [named(completed), plain(completed)].map(message => message.trimEnd())) {
    t.equal(read(complete), 'complete', 'the blank line may be missing')
    for (const missing of [1, 2, 10, 60, 200, 30_000]) {
      const cutOff = complete.slice(0, -missing)
      t.equal(read(cutOff), 'upstream_invalid_response', `without its last ${missing} characters`)
      t.equal(read(`${cutOff}\n\n`), 'upstream_invalid_response', 'and with a blank line')
    }
  }
  t.equal(
    read(
      'event: error\ndata: {"type":"error","error":{"code":"moderation_blocked","type":"image_generation_user_error","message":"no"}}\n\n'
    ),
    'content_policy_violation'
  )
  t.equal(read('data: {"error":{"message":"x","code":429}}\n\n'), 'rate_limit_exceeded')
  t.equal(read('data: {"type":"error","message":"x"}\n\n'), 'upstream_error')
  t.equal(read('event: error\ndata: oh no\n\n'), 'upstream_error')
  t.equal(read('data: oh no\n\n'), 'upstream_invalid_response')
})
