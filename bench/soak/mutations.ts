import { each, finding, seeded, type Scenario } from './scenario.ts'
import { fakeProvider, sendJson } from './provider.ts'
import { completeAnswer } from '../../lib/load/answers.ts'
import { providerAt, startWorld } from './world.ts'

/** The name and the content of a file in a form. */
const file = 'RIFF an upload'
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const chat = {
  messages: [
    { role: 'system', content: 'Be brief.' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Hi' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
      ]
    }
  ],
  tools: [{ type: 'function', function: { name: 'weather', parameters } }],
  tool_choice: 'auto',
  temperature: 0.5,
  stop: ['x'],
  n: 1,
  response_format: { type: 'text' },
  metadata: { a: 'b' },
  logit_bias: { 1: 2 }
}

const message = {
  max_tokens: 20,
  system: 'Be brief.',
  temperature: 0.5,
  stop_sequences: ['x'],
  thinking: { type: 'disabled' },
  tool_choice: { type: 'auto' },
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Hi' },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
      ]
    },
    {
      role: 'assistant',
      content: [{ type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Bern' } }]
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'sun' }] }
  ],
  tools: [{ name: 'weather', input_schema: parameters }]
}
const response = {
  instructions: 'Be brief.',
  store: false,
  temperature: 0.5,
  reasoning: { effort: 'low' },
  tool_choice: 'auto',
  text: { format: { type: 'text' } },
  input: [
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'Hi' },
        { type: 'input_image', image_url: 'data:image/png;base64,AAAA' }
      ]
    },
    { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{}' },
    { type: 'function_call_output', call_id: 'call_1', output: 'sun' }
  ],
  tools: [{ type: 'function', name: 'weather', parameters }]
}

/** A body per endpoint and, for conversations, per wire format of a provider. */
const seeds: ReadonlyArray<readonly [path: string, body: object]> = [
  ...[
    'sandbox/echo',
    'openai/gpt-5',
    'anthropic/claude-sonnet-4-5',
    'google/gemini-2.5-flash',
    'xai/grok-4',
    'mistral/mistral-large-latest'
  ].map(model => ['/v1/chat/completions', { model, ...chat }] as const),
  ...['sandbox/echo', 'openai/gpt-5', 'anthropic/claude-sonnet-4-5'].flatMap(model => [
    ['/v1/messages', { model, ...message }] as const,
    ['/v1/responses', { model, ...response }] as const
  ]),
  ['/v1/messages/count_tokens', { model: 'sandbox/echo', messages: message.messages, tools: message.tools }],
  ['/v1/responses/input_tokens', { model: 'sandbox/echo', input: response.input, tools: response.tools }],
  [
    '/v1/audio/transcriptions',
    { model: 'openai/whisper-1', language: 'de', response_format: 'json', temperature: 0, file }
  ],
  ['/v1/audio/translations', { model: 'openai/whisper-1', response_format: 'text', prompt: 'x', file }],
  ['/v1/images/edits', { model: 'openai/gpt-image-1', prompt: 'x', n: 1, size: '1024x1024', image: file }],
  ['/v1/images/variations', { model: 'openai/dall-e-2', n: 1, response_format: 'b64_json', image: file }],
  [
    '/v1/embeddings',
    { model: 'sandbox/embedding', input: ['a', 'b'], encoding_format: 'float', dimensions: 8 }
  ],
  [
    '/v1/audio/speech',
    { model: 'openai/tts-1', input: 'x', voice: 'alloy', response_format: 'mp3', speed: 1 }
  ],
  [
    '/v1/images/generations',
    { model: 'openai/gpt-image-1', prompt: 'x', n: 1, size: '1024x1024', quality: 'auto' }
  ],
  [
    '/v1/ocr',
    {
      model: 'mistral/mistral-ocr-latest',
      document: { type: 'document_url', document_url: 'data:application/pdf;base64,AAAA' }
    }
  ]
]

/** The endpoints whose bodies are forms. */
const isForm = (path: string): boolean => /transcriptions|translations|edits|variations/.test(path)

/** A form with the members of an object; a member that has the name of the file becomes one. */
function formOf (value: unknown): FormData {
  const form = new FormData()
  for (const [name, member] of Object.entries(Object(value) as object)) {
    for (const one of [member].flat()) {
      if (one === file) form.append(name, new Blob([file]), 'a.png')
      else form.append(name, typeof one === 'string' ? one : JSON.stringify(one) ?? '')
    }
  }
  return form
}

const odd: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1e308,
  '',
  'x'.repeat(300),
  '\ud800',
  [],
  {},
  [[]],
  [null],
  { a: { b: [] } }
]

/** Mutated bodies for every endpoint and wire format: no 500, and the process survives. */
export const mutations: Scenario = {
  name: 'mutated bodies',
  run: async short => {
    const count = short ? 4000 : 50_000
    const provider = await fakeProvider((_, response) => sendJson(response, completeAnswer))
    const { port } = provider
    const world = await startWorld({
      configuration: {
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
    const random = seeded(4)
    const statuses = new Map<number, number>()
    const unexpected: string[] = []
    const startedMs = performance.now()
    try {
      await each(count, 16, async number => {
        const [path, body] = seeds[number % seeds.length] ?? seeds[0] ?? ['', {}]
        const text =
          random() < 0.8 ? JSON.stringify(mutated(body, random)) : torn(JSON.stringify(body), random)
        const { status } = await (isForm(path)
          ? world.postForm(path, formOf(mutated(body, random)))
          : world.post(path, text))
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        if (status === 500) unexpected.push(`${path} ${text.slice(0, 200)}`)
      })
      const seconds = (performance.now() - startedMs) / 1000
      const alive =
        (await world.post('/v1/chat/completions', { model: 'sandbox/echo', messages: 'x' })).status === 200
      const counts = [...statuses]
        .toSorted(([one], [other]) => one - other)
        .map(([status, times]) => `${status}: ${times}`)
        .join(', ')
      return [
        finding('no body gives a 500', unexpected.length === 0, unexpected[0] ?? counts),
        finding('the process keeps running', alive, `${(count / seconds).toFixed(0)} bodies/s, ${world.rssMb()} MB`)
      ]
    } finally {
      await world.stop()
      provider.close()
    }
  }
}

/** A copy with one to three values replaced, removed, doubled or moved. */
function mutated (body: object, random: () => number): unknown {
  const copy: unknown = structuredClone(body)
  for (let times = 1 + Math.floor(random() * 3); times > 0; times--) {
    const places = holders(copy)
    const holder = places[Math.floor(random() * places.length)]
    if (holder === undefined) return copy
    const keys = Object.keys(holder)
    const name = random() < 0.1 ? 'unknown' : keys[Math.floor(random() * keys.length)] ?? 'x'
    const kind = random()
    if (kind < 0.6) holder[name] = structuredClone(odd[Math.floor(random() * odd.length)])
    else if (kind < 0.8) Reflect.deleteProperty(holder, name)
    else holder[name] = [holder[name], holder[name]]
  }
  return copy
}

function holders (value: unknown): Array<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return []
  return [value as Record<string, unknown>, ...Object.values(value).flatMap(holders)]
}

/** The text with one byte changed, removed or cut off. */
function torn (text: string, random: () => number): string {
  const at = Math.floor(random() * text.length)
  const kind = random()
  if (kind < 0.4) return text.slice(0, at)
  return (
    text.slice(0, at) +
    (kind < 0.7 ? '' : String.fromCharCode(Math.floor(random() * 256))) +
    text.slice(at + 1)
  )
}
