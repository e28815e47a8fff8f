import { gzipSync } from 'node:zlib'
import { dimensions } from '../../test/scaling/chat-bodies.ts'
import { ValueCounter } from '../../lib/json/parse-bounded.ts'
import { loadFactor } from './liveness.ts'
import { send, type Input } from './input.ts'
import { fakeProvider } from './provider.ts'
import { finding, type Finding, type Scenario } from './scenario.ts'
import { largeAnswers, maxBytesPerKey, storedInputs } from './stored-inputs.ts'
import { watchTurns } from './turn-watch.ts'
import { providerAt, startWorld, type World } from './world.ts'
import type { LongestTurn } from './loop-turns.ts'

const models = [
  'sandbox/echo',
  'openai/gpt-5',
  'anthropic/claude-sonnet-4-5',
  'google/gemini-2.5-flash',
  'xai/grok-4'
]
const chatPath = '/v1/chat/completions'
const MB = 1_000_000
/** How often each input is sent. */
const times = Number(process.env['SOAK_TIMES'] ?? 1)

/** The default values of `limits.json_body_bytes` and `json_values`. */
const most = { bytes: 16 * 1024 * 1024, values: 500_000 }

function isAllowed (text: Buffer): boolean {
  const counter = new ValueCounter(most.bytes)
  counter.push(text)
  return text.length <= most.bytes && counter.parseCost <= most.values
}

/** Returns the largest body of a kind that is not refused for its size, to within an eighth. */
function largest (make: (size: number) => object, from = 1): Buffer {
  const print = (size: number): Buffer => Buffer.from(JSON.stringify(make(Math.floor(size))))
  let size = from
  while (size < most.bytes && isAllowed(print(size * 2))) size *= 2
  for (const share of [1.75, 1.5, 1.25]) {
    const body = print(size * share)
    if (isAllowed(body)) return body
  }
  return print(size)
}

const provider = (model: string): string => model.split('/', 1)[0] ?? ''

/** Every kind of request, each for one provider and then for the next. */
const chatInputs: readonly Input[] = dimensions.flatMap(({ name, body, from = 1, doublings }, index) =>
  [0, 2].map(ahead => {
    const model = models[(index + ahead) % models.length] ?? ''
    return {
      name: `${provider(model)}: ${name}`,
      path: chatPath,
      // A nested or doubling one is as large as its depth limit allows.
      body: () =>
        doublings === undefined
          ? largest(size => ({ model, ...body(size) }), from)
          : Buffer.from(JSON.stringify({ model, ...body(from * 2 ** doublings) }))
    }
  })
)

const strings: Readonly<Record<string, string>> = {
  'text': 'a'.repeat(16 * MB),
  'text beyond ASCII': 'ä€😀'.repeat(1.75 * MB),
  'text with one accent': `${'a'.repeat(16 * MB)}ä`,
  'escapes': String.raw`\u00e4`.repeat(2.6 * MB),
  'line ends': String.raw`\n`.repeat(8 * MB),
  'quotes': String.raw`\"`.repeat(8 * MB)
}

const stringInputs: readonly Input[] = Object.entries(strings).flatMap(([name, text]) =>
  models.map(model => ({
    name: `${provider(model)}: 16 MB of ${name}`,
    path: chatPath,
    body: () => Buffer.from(`{"model":"${model}","messages":"${text}"}`)
  }))
)

const mediaInputs: readonly Input[] = models.map(model => ({
  name: `${provider(model)}: 48 MB in base64`,
  path: chatPath,
  body: () =>
    Buffer.from(
      JSON.stringify({
        model,
        messages: [
          {
            role: 'user',
            content: [
              { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(48 * MB)}` } }
            ]
          }
        ]
      })
    )
}))

const list = (count: number, item: (number: number) => string): string =>
  `[${Array.from({ length: count }, (_, number) => item(number)).join()}]`
const shapes: Readonly<Record<string, () => string>> = {
  'empty objects': () => list(55_000, () => '{}'),
  'distinct keys': () => `{${Array.from({ length: 49_000 }, (_, number) => `"k${number}":1`).join()}}`,
  'objects of 20 distinct keys': () =>
    list(2400, number => `{${Array.from({ length: 20 }, (_, index) => `"k${number}_${index}":1`).join()}}`),
  'short texts': () => list(61_000, number => `"s${number}"`),
  'texts of 250 bytes beyond ASCII': () => list(60_000, () => `"${'ä'.repeat(125)}"`),
  'texts of 100 escapes': () => list(25_000, () => `"${String.raw`\u00e4`.repeat(100)}"`),
  'numbers': () => list(490_000, number => `0.${number}7`),
  'long numbers': () => list(160_000, number => `${number}.${'7'.repeat(90)}`),
  'exponents': () => list(490_000, number => `${number}e-300`),
  'nested lists': () => '['.repeat(60_000) + ']'.repeat(60_000)
}

const dialectSeeds = {
  '/v1/messages': (content: unknown) => ({
    model: 'anthropic/claude-sonnet-4-5',
    max_tokens: 10,
    messages: [{ role: 'user', content }]
  }),
  '/v1/messages/count_tokens': (content: unknown) => ({
    model: 'sandbox/echo',
    messages: [{ role: 'user', content }]
  }),
  '/v1/responses': (content: unknown) => ({
    model: 'openai/gpt-5',
    store: false,
    input: [{ role: 'user', content }]
  })
}

/** The other wire formats, with the input most expensive for chat completions. */
const dialectInputs: readonly Input[] = Object.entries(dialectSeeds).flatMap(([path, bodyOf]) => {
  const isResponses = path.endsWith('responses')
  const json = (value: () => object) => (): Buffer => Buffer.from(JSON.stringify(value()))
  return [
    { name: `${path}: 16 MB of text`, path, body: json(() => bodyOf('word '.repeat(3 * MB))) },
    { name: `${path}: 16 MB of text beyond ASCII`, path, body: json(() => bodyOf('ä€😀'.repeat(1.7 * MB))) },
    {
      name: `${path}: 48 MB in base64`,
      path,
      body: json(() =>
        bodyOf([
          isResponses
            ? { type: 'input_image', image_url: `data:image/png;base64,${'A'.repeat(48 * MB)}` }
            : {
                type: 'image',
                source: { type: 'base64', media_type: 'image/png', data: 'A'.repeat(48 * MB) }
              }
        ])
      )
    },
    {
      name: `${path}: parts`,
      path,
      body: () =>
        largest(
          size =>
            bodyOf(
              Array.from({ length: size }, (_, index) => ({
                type: isResponses ? 'input_text' : 'text',
                text: `number ${index}`
              }))
            ),
          64
        )
    },
    {
      name: `${path}: tools`,
      path,
      body: () =>
        largest(
          size => ({
            ...bodyOf('x'),
            tools: Array.from({ length: size }, (_, index) =>
              isResponses
                ? { type: 'function', name: `get_${index}`, parameters: { type: 'object', properties: {} } }
                : { name: `get_${index}`, input_schema: { type: 'object', properties: {} } }
            )
          }),
          64
        )
    },
    {
      name: `${path}: fields that no schema names`,
      path,
      body: () =>
        largest(
          size => ({
            ...bodyOf('x'),
            ...Object.fromEntries(Array.from({ length: size }, (_, index) => [`x${index}`, index]))
          }),
          64
        )
    }
  ]
})

const seeds: ReadonlyArray<readonly [path: string, start: string]> = [
  [chatPath, '"model":"sandbox/echo","messages":"x"'],
  ['/v1/embeddings', '"model":"sandbox/embedding","input":"x"'],
  ['/v1/audio/speech', '"model":"sandbox/speaker","voice":"alloy","input":"x"'],
  ['/v1/images/generations', '"model":"sandbox/painter","prompt":"x"'],
  [
    '/v1/ocr',
    '"model":"sandbox/reader","document":{"type":"document_url","document_url":"data:text/plain;base64,AAAA"}'
  ]
]

const shapeInputs: readonly Input[] = Object.entries(shapes).flatMap(([name, make]) =>
  seeds.flatMap(([path, start]) => [
    { name: `${path} ${name}`, path, body: () => Buffer.from(`{${start},"zz":${make()}}`) },
    {
      name: `${path} ${name} where a text is wanted`,
      path,
      body: () =>
        Buffer.from(
          `{${start.replace(/:"x"$/, ':')}${start.endsWith('"x"') ? make() : `,"pages":${make()}`}}`
        )
    },
    {
      name: `${path} ${name}, compressed`,
      path,
      headers: { 'content-encoding': 'gzip' },
      body: () => gzipSync(`{${start},"zz":${make()}}`, { level: 1 })
    }
  ])
)

const embeddings = (name: string, input: () => unknown): Input => ({
  name: `embeddings: ${name}`,
  path: '/v1/embeddings',
  body: () => Buffer.from(JSON.stringify({ model: 'openai/text-embedding-3-small', input: input() }))
})

const pdf = (bytes: number): string =>
  `data:application/pdf;base64,${Buffer.concat([Buffer.from('%PDF-1.7\n'), Buffer.alloc(bytes, 0x20)]).toString('base64')}`
const document = (name: string, model: string, url: () => string): Input => ({
  name: `ocr: ${name}`,
  path: '/v1/ocr',
  body: () => Buffer.from(JSON.stringify({ model, document: { type: 'document_url', document_url: url() } }))
})

function form (
  fields: Readonly<Record<string, string>>,
  file: readonly [field: string, name: string, bytes: Buffer]
): FormData {
  const data = new FormData()
  for (const [name, value] of Object.entries(fields)) data.append(name, value)
  const [field, name, bytes] = file
  data.append(field, new Blob([new Uint8Array(bytes)]), name)
  return data
}

const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(4 * MB, 1)])
const wav = Buffer.concat([Buffer.from('RIFF\x00\x00\x00\x00WAVEfmt '), Buffer.alloc(24 * MB, 1)])

const written = { 'content-type': 'multipart/form-data; boundary=soak' }

const otherInputs: readonly Input[] = [
  embeddings('2,048 texts of 8 KB', () => Array.from({ length: 2000 }, () => 'word '.repeat(1600))),
  embeddings('2,048 texts of 8 KB beyond ASCII', () =>
    Array.from({ length: 2000 }, () => 'ä€😀'.repeat(900))
  ),
  embeddings('2,048 texts without spaces', () => Array.from({ length: 2000 }, () => 'a'.repeat(8000))),
  embeddings('one text of 16 MB', () => 'word '.repeat(3 * MB)),
  embeddings('one text of 40 MB without spaces', () => 'a'.repeat(40 * MB)),
  embeddings('tokens', () =>
    Array.from({ length: 200 }, () => Array.from({ length: 2000 }, (_, index) => index))
  ),
  document('a document of 48 MB', 'mistral/mistral-ocr-latest', () => pdf(48 * MB)),
  document('a document of 48 MB for a chat model', 'google/gemini-2.5-flash', () => pdf(48 * MB)),
  document('a document of 48 MB for the sandbox', 'sandbox/reader', () => pdf(48 * MB)),
  document(
    'a text of 48 MB',
    'sandbox/reader',
    () => `data:text/plain;base64,${Buffer.alloc(48 * MB, 0x61).toString('base64')}`
  ),
  {
    name: 'speech of 4,096 characters',
    path: '/v1/audio/speech',
    body: () =>
      Buffer.from(JSON.stringify({ model: 'sandbox/speaker', voice: 'alloy', input: 'a '.repeat(2048) }))
  },
  {
    name: 'images: a prompt of 32,000 characters',
    path: '/v1/images/generations',
    body: () => Buffer.from(JSON.stringify({ model: 'sandbox/painter', prompt: 'a '.repeat(16_000), n: 10 }))
  },
  {
    name: 'transcription of 24 MB',
    path: '/v1/audio/transcriptions',
    body: () => form({ model: 'openai/whisper-1' }, ['file', 'a.wav', wav])
  },
  {
    name: 'transcription of 24 MB in the sandbox',
    path: '/v1/audio/transcriptions',
    body: () => form({ model: 'sandbox/listener' }, ['file', 'a.wav', wav])
  },
  {
    name: 'translation of 24 MB',
    path: '/v1/audio/translations',
    body: () => form({ model: 'openai/whisper-1' }, ['file', 'a.wav', wav])
  },
  {
    name: 'a form of many fields',
    path: '/v1/audio/transcriptions',
    body: () =>
      form(Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`x${index}`, 'y'])), [
        'file',
        'a.wav',
        wav.subarray(0, 1000)
      ])
  },
  {
    name: 'a form of many headers',
    path: '/v1/audio/transcriptions',
    headers: written,
    body: () => Buffer.from(`--soak\r\n${'a:b\r\n'.repeat(2 * MB)}`)
  },
  {
    name: 'a recording of carriage returns',
    path: '/v1/audio/transcriptions',
    body: () =>
      form({ model: 'sandbox/listener' }, [
        'file',
        'a.wav',
        Buffer.concat([wav.subarray(0, 12), Buffer.alloc(20 * MB, 0x0d)])
      ])
  },
  {
    name: 'a field of carriage returns',
    path: '/v1/audio/transcriptions',
    body: () =>
      form({ model: 'sandbox/listener', prompt: '\r'.repeat(MB) }, ['file', 'a.wav', wav.subarray(0, 1000)])
  },
  {
    name: 'a form with a field of 10 MB',
    path: '/v1/audio/transcriptions',
    body: () =>
      form({ model: 'openai/whisper-1', prompt: 'a'.repeat(10 * MB) }, [
        'file',
        'a.wav',
        wav.subarray(0, 1000)
      ])
  },
  {
    name: 'an edit of 16 images',
    path: '/v1/images/edits',
    body: () => {
      const data = form({ model: 'openai/gpt-image-1', prompt: 'x' }, ['image[]', 'a.png', png])
      for (let more = 0; more < 14; more++) data.append('image[]', new Blob([new Uint8Array(png)]), 'a.png')
      return data
    }
  },
  {
    name: 'a variation of an image',
    path: '/v1/images/variations',
    body: () => form({ model: 'openai/dall-e-2' }, ['image', 'a.png', png])
  }
]

interface Group {
  readonly inputs: readonly Input[]
  /** Processor time that one tick of the event loop may take, in milliseconds on an idle machine. */
  readonly maxTurnMs: number
}

const groups: Readonly<Record<string, Group>> = {
  'chat requests of every kind, as large as they may be': { inputs: chatInputs, maxTurnMs: 50 },
  'chat requests with 16 MB of text': { inputs: stringInputs, maxTurnMs: 50 },
  'chat requests with 48 MB of an image': { inputs: mediaInputs, maxTurnMs: 50 },
  'messages, responses and counts of tokens': { inputs: dialectInputs, maxTurnMs: 50 },
  'every JSON endpoint: as many values as a body may have': { inputs: shapeInputs, maxTurnMs: 50 },
  'the first call that names a tool server': {
    inputs: [
      {
        name: 'a tool server that is not there',
        path: chatPath,
        body: () =>
          Buffer.from(JSON.stringify({ model: 'openai/gpt-5', messages: 'x', mcp_servers: ['soak/tools'] }))
      }
    ],
    maxTurnMs: 50
  },
  'calls that are stored, read and deleted: deferred, responses, in the background': {
    inputs: storedInputs,
    maxTurnMs: 50
  },
  'texts, documents, recordings and images at other endpoints': { inputs: otherInputs, maxTurnMs: 50 }
}

/** The most expensive bodies, one after another: none of them blocks the process for long. */
export const stalls: Scenario = {
  name: 'ticks of the event loop',
  run: async () => {
    const turns = watchTurns()
    const upstream = await fakeProvider(largeAnswers)
    const { port } = upstream
    const world = await startWorld({
      ...turns.options,
      configuration: {
        deferred: { for_all_providers: true },
        responses: { max_bytes_per_key: maxBytesPerKey },
        mcp_servers: { 'soak/tools': { url: 'http://127.0.0.1:9/mcp' } },
        providers: {
          sandbox: { kind: 'sandbox', options: { words_per_second: 0 } },
          openai: providerAt(port),
          anthropic: providerAt(port, 'anthropic'),
          google: providerAt(port, 'google'),
          xai: providerAt(port, 'xai'),
          mistral: providerAt(port, 'mistral')
        }
      }
    })
    const findings: Finding[] = []
    try {
      await warmUp(world)
      for (const [name, { inputs, maxTurnMs }] of Object.entries(groups)) {
        const chosen = inputs.filter(input =>
          `${name}: ${input.name}`.includes(process.env['SOAK_INPUT'] ?? '')
        )
        const sent: Array<{ readonly label: string, readonly turn: LongestTurn }> = []
        for (const input of chosen.flatMap(input => Array.from({ length: times }, () => input))) {
          await turns.ask(world)
          const label = `${input.name}, status ${await send(world, input)}`
          const turn = await turns.ask(world)
          if (process.env['SOAK_VERBOSE'] !== undefined) console.error(`${printTurn(turn)}: ${label}`)
          sent.push({ label, turn })
        }
        const [worst] = sent.toSorted((one, other) => other.turn.workMs - one.turn.workMs)
        if (worst === undefined) continue
        findings.push(
          finding(
            `${name}: less than ${maxTurnMs} ms in a turn`,
            worst.turn.workMs < maxTurnMs * loadFactor(),
            `${chosen.length} bodies; at most ${printTurn(worst.turn)} (${worst.label}); pauses of the garbage collector at most ${Math.max(...sent.map(({ turn }) => turn.maxGcMs)).toFixed(0)} ms; ${world.rssMb()} MB`
          )
        )
      }
      return findings
    } finally {
      await world.stop()
      upstream.close()
      turns.stop()
    }
  }
}

function printTurn ({ workMs, turnMs, gcMs, kernelMs, faults }: LongestTurn): string {
  return `${workMs.toFixed(0)} ms in a turn of ${turnMs.toFixed(0)} (kernel ${kernelMs.toFixed(0)}, ${faults} page faults, garbage collector ${gcMs.toFixed(0)})`
}

/** Runs each endpoint once to compile it: a first call waits for that, not for its input. */
async function warmUp (world: World): Promise<void> {
  for (let round = 0; round < 30; round++) {
    for (const [path, start] of seeds) await world.post(path, `{${start}}`)
    for (const model of models) await world.post(chatPath, { model, messages: 'x' })
    for (const model of ['openai/whisper-1', 'sandbox/listener']) {
      await world.postForm(
        '/v1/audio/transcriptions',
        form({ model }, ['file', 'a.wav', wav.subarray(0, 1000)])
      )
    }
  }
  for (let round = 0; round < 5; round++) {
    await world.post('/v1/responses', {
      model: 'openai/gpt-5',
      background: true,
      stream: true,
      input: 'an answer of 1 MB'
    })
  }
}
