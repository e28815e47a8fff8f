import t from 'tap'
import fc from 'fast-check'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { chatCompletions } from '../../lib/providers/chat-completions/index.ts'
import { sandboxModels } from '../../lib/sandbox/sandbox-models.ts'
import { stringFromPattern } from '../../lib/sandbox/string-from-pattern.ts'
import { countTokens, tokensOf } from '../../lib/sandbox/tokens.ts'
import { sandboxTransport } from '../../lib/sandbox/transport.ts'
import { readResponse, streamOf } from '../support/adapters.ts'
import { readEvents } from '../support/read-events.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { ChatEvent } from '../../lib/core/events.ts'
import type { Ask, SendOptions, UpstreamResponse } from '../../lib/providers/provider.ts'

// What the tests read of an answer. A stream is folded into the same shape.
interface Logprob { token: string, logprob: number, bytes: number[], top_logprobs: Logprob[] }
interface Logprobs { content: Logprob[] | null, refusal: Logprob[] | null }
interface ToolCall { id: string, type: string, function?: { name: string, arguments: string }, custom?: { name: string, input: string } }
interface Message {
  role: string
  content: string | null
  refusal: string | null
  reasoning_content?: string
  tool_calls?: ToolCall[]
  function_call?: { name: string, arguments: string }
}
interface Choice { index: number, message: Message, logprobs: Logprobs | null, finish_reason: string | null }
interface Usage {
  prompt_tokens: number
  completion_tokens: number
  total_tokens: number
  completion_tokens_details: { reasoning_tokens: number }
}
interface Completion {
  id: string
  model: string
  choices: Choice[]
  usage?: Usage | null
  system_fingerprint: string
  error?: { message: string, type: string, code: string | null, param: string | null }
}
interface Delta extends Omit<Partial<Message>, 'tool_calls'> { tool_calls?: Array<Partial<ToolCall> & { index: number }> }
interface Chunk extends Omit<Completion, 'choices'> {
  choices: Array<{ index: number, delta: Delta, logprobs: Logprobs | null, finish_reason: string | null }>
}

const timeouts = { connectMs: 1000, firstByteMs: 60_000, responseMs: 60_000, idleBytesMs: 60_000, idleEventsMs: 60_000 }
const transport = sandboxTransport({ words_per_second: 0 })
const weather = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, unit: { enum: ['celsius', 'fahrenheit'] }, days: { type: 'integer', minimum: 1 } },
      required: ['city', 'unit', 'days']
    }
  }
}
const time = { type: 'function', function: { name: 'get_time', parameters: { type: 'object', properties: {} } } }
const query = { type: 'custom', custom: { name: 'run_sql' } }

function user (content: unknown): object[] {
  return [{ role: 'user', content }]
}

function send (body: object, options: Partial<SendOptions> = {}, via = transport): Promise<UpstreamResponse> {
  const { signal } = new AbortController()
  const streamed = Reflect.get(body, 'stream') === true
  return via.send(
    { method: 'POST', path: '/chat/completions', headers: {}, body: JSON.stringify({ model: 'echo', ...body }) },
    { signal, credential: {}, timeouts, streamed, ...options }
  )
}

async function textOf ({ body }: UpstreamResponse): Promise<string> {
  return (await body.buffer(1e8)).toString()
}

async function complete (body: object): Promise<Completion> {
  return JSON.parse(await textOf(await send(body)))
}

/** The only message of a complete answer. */
async function message (body: object): Promise<Message> {
  const { choices: [choice] } = await complete(body)
  if (choice === undefined) throw new Error('The answer has no choice.')
  return choice.message
}

function framesIn (text: string): string[] {
  return text.split('\n\n').filter(frame => frame !== '').map(frame => frame.replace(/^data: /, ''))
}

async function chunks (body: object): Promise<Chunk[]> {
  const frames = framesIn(await textOf(await send({ ...body, stream: true })))
  if (frames.pop() !== '[DONE]') throw new Error('The stream does not end with its mark.')
  return frames.map(frame => JSON.parse(frame))
}

/** An independent fold, after the rules of the dialect. */
function folded (list: Chunk[]): Completion {
  const choices: Choice[] = []
  let usage: Usage | null = null
  for (const chunk of list) {
    usage = chunk.usage ?? usage
    for (const { index, delta, logprobs, finish_reason } of chunk.choices) {
      const choice = choices[index] ??= {
        index, message: { role: '', content: null, refusal: null }, logprobs: null, finish_reason: null
      }
      const { message } = choice
      choice.finish_reason = finish_reason ?? choice.finish_reason
      if (logprobs !== null) choice.logprobs = joined(choice.logprobs, logprobs)
      if (delta.role !== undefined) message.role = delta.role
      if (typeof delta.content === 'string') message.content = (message.content ?? '') + delta.content
      if (typeof delta.refusal === 'string') message.refusal = (message.refusal ?? '') + delta.refusal
      if (delta.reasoning_content !== undefined) {
        message.reasoning_content = (message.reasoning_content ?? '') + delta.reasoning_content
      }
      if (delta.function_call !== undefined) {
        message.function_call ??= { name: delta.function_call.name, arguments: '' }
        message.function_call.arguments += delta.function_call.arguments
      }
      for (const { index, ...part } of delta.tool_calls ?? []) {
        message.tool_calls ??= []
        const call = message.tool_calls[index]
        if (call === undefined) message.tool_calls[index] = { id: '', type: '', ...part }
        else if (call.function !== undefined) call.function.arguments += part.function?.arguments ?? ''
        else if (call.custom !== undefined) call.custom.input += part.custom?.input ?? ''
      }
    }
  }
  const [first] = list
  return { id: first?.id ?? '', model: first?.model ?? '', choices, usage, system_fingerprint: first?.system_fingerprint ?? '' }
}

function joined (a: Logprobs | null, b: Logprobs): Logprobs {
  const list = (key: keyof Logprobs): Logprob[] | null => b[key] === null ? a?.[key] ?? null : [...a?.[key] ?? [], ...b[key]]
  return { content: list('content'), refusal: list('refusal') }
}

/** The answer without what differs from one request to the next. */
function lasting ({ choices, model, usage, system_fingerprint }: Completion): object {
  const withoutIds = choices.map(choice => ({
    ...choice, message: { ...choice.message, tool_calls: choice.message.tool_calls?.map(call => ({ ...call, id: '' })) }
  }))
  return { choices: withoutIds, model, usage, system_fingerprint }
}

t.test('a stream folds into the complete answer, and the same request gives the same again', async t => {
  const questions: Record<string, object> = {
    echo: { messages: user('Hello 🌍, how are you?') },
    parts: { messages: user([{ type: 'text', text: 'Look' }, { type: 'image_url', image_url: { url: 'data:image/png;base64,' } }]) },
    story: { model: 'story', messages: user('a story of 40 words'), seed: 7 },
    'a thinker': { model: 'thinker', messages: user('Why?'), max_completion_tokens: 70 },
    'several choices': { messages: user('Hi'), n: 3 },
    'log probabilities': { messages: user('Hi'), logprobs: true, top_logprobs: 3 },
    'a refusal': { messages: user('Hi [sandbox: refuse]'), logprobs: true },
    'parallel tools': { messages: user('get_time and get_weather with {"city":"Rome and all of its surroundings"}'), tools: [weather, time] },
    'a custom tool': { messages: user('call run_sql with "select * from t"'), tools: [query] },
    'a legacy function': { messages: user('get_weather'), functions: [weather.function] },
    'a cut tool call': { messages: user('get_weather with {"a b":"c d e"}'), tools: [weather], max_tokens: 2 },
    'a schema': { messages: user('x'), response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object', properties: { a: {} } } } } }
  }
  for (const [name, question] of Object.entries(questions)) {
    const body = { ...question, stream_options: { include_usage: true } }
    const answer = await complete(body)
    t.match(answer.id, /^chatcmpl-/)
    t.same(lasting(folded(await chunks(body))), lasting(answer), name)
    t.same(lasting(await complete(body)), lasting(answer), `${name}, again`)
  }
})

t.test('the frames of a stream come in the order of the dialect', async t => {
  const list = await chunks({ messages: user('Hi'), n: 2, max_tokens: 2, stream_options: { include_usage: true } })
  t.same(list.map(({ choices: [choice] }) => choice && [choice.index, choice.delta, choice.finish_reason]), [
    [0, { role: 'assistant', content: '', refusal: null }, null],
    [1, { role: 'assistant', content: '', refusal: null }, null],
    [0, { content: 'This' }, null],
    [1, { content: '(Answer' }, null],
    [0, { content: ' is' }, null],
    [1, { content: ' 2.)' }, null],
    [0, {}, 'length'],
    [1, {}, 'length'],
    undefined
  ])
  t.same(list.map(chunk => chunk.usage === null), [...Array(8).fill(true), false], 'usage stands in the last chunk only')
  t.equal(new Set(list.map(chunk => chunk.id)).size, 1)
  const without = await chunks({ messages: user('Hi') })
  t.notOk(without.some(chunk => 'usage' in chunk || chunk.choices.length === 0), 'no usage unless it is requested')
})

t.test('the echo repeats question, instructions and attachments, and says that it is a simulator', async t => {
  const { content } = await message({
    messages: [{ role: 'system', content: 'Be brief.' }, ...user([
      { type: 'text', text: 'What is this?' },
      { type: 'file', file: { file_id: 'f' } }, { type: 'file', file: { file_id: 'g' } }
    ])]
  })
  t.match(content, 'simulator')
  t.match(content, '"What is this?"')
  t.match(content, '"Be brief."')
  t.match(content, '2 file')
  t.match((await message({ messages: [] })).content, 'Your message is empty')
})

t.test('the prompts of agents do not become the answer: long instructions are cut, reminders are no question', async t => {
  const reminder = { type: 'text', text: '<system-reminder>\nUse get_weather.\n</system-reminder>' }
  const { content } = await message({
    messages: [{ role: 'system', content: 'x'.repeat(5000) }, ...user([reminder, { type: 'text', text: 'Hi' }, reminder])]
  })
  t.match(content, 'You said: "Hi".')
  t.ok(String(content).length < 600)
})

t.test('models are listed as what they are, and unknown ones are not found', async t => {
  for (const { id, model, displayName, description, providerId, upstreamApi } of sandboxModels) {
    t.equal(id, `${providerId}/${model}`)
    t.match(`${displayName} ${description}`, /simulator.*simulator/)
    if (upstreamApi !== 'openai/chat/completions') continue
    t.equal((await send({ model, messages: user('Hi') })).status, 200)
    t.equal((await send({ model: id, messages: user('Hi') })).status, 200, 'the prefix may be there')
  }
  const missing = await send({ model: 'gpt', messages: [] })
  t.equal(missing.status, 404)
  t.match(JSON.parse(await textOf(missing)), { error: { code: 'model_not_found', param: 'model', type: 'invalid_request_error' } })
})

t.test('what is not a chat request is refused', async t => {
  const { signal } = new AbortController()
  const options = { signal, credential: {}, timeouts, streamed: false }
  const ask = (path: string, body: string | Uint8Array) => transport.send({ method: 'POST', path, headers: {}, body }, options)
  t.equal((await ask('/nowhere', '{}')).status, 404)
  t.equal((await ask('/embeddings', '{}')).status, 400)
  t.equal((await ask('/chat/completions', '{')).status, 400)
  t.equal((await ask('/chat/completions', '{"model":"echo"}')).status, 400)
  t.equal((await ask('/chat/completions', Buffer.from('{"model":"echo","messages":[]}'))).status, 200)
})

t.test('a text has as many words as are requested', async t => {
  const words = async (body: object): Promise<number> => (await message(body)).content?.split(' ').length ?? 0
  t.equal(await words({ model: 'story', messages: user('Write me a story of 300 words') }), 300)
  t.equal(await words({ model: 'story', messages: user('A story, please') }), 120)
  t.equal(await words({ messages: user('Hi [sandbox: words=57]') }), 57)
  t.equal(await words({ messages: user('Hi [sandbox: words=2]') }), 2)
  const seeded = async (seed: number) => (await message({ model: 'story', messages: user('A story'), seed })).content
  t.not(await seeded(1), await seeded(2))
})

t.test('limits, stop sequences and usage agree with each other', async t => {
  const cut = await complete({ messages: user('Hi'), max_completion_tokens: 4, max_tokens: 9 })
  t.equal(cut.choices[0]?.finish_reason, 'length')
  t.equal(cut.choices[0]?.message.content, "This is Headgate's sandbox,")
  t.equal(cut.usage?.completion_tokens, 4)
  t.equal((await complete({ messages: user('Hi'), max_tokens: 5 })).usage?.completion_tokens, 5)
  const stopped = await complete({ messages: user('Hi'), stop: ['nowhere', ' model', 'sandbox'] })
  t.equal(stopped.choices[0]?.finish_reason, 'stop')
  t.equal(stopped.choices[0]?.message.content, "This is Headgate's ")
  t.equal((await message({ messages: user('Hi'), stop: ',' })).content, "This is Headgate's sandbox")

  const { choices: [choice], usage } = await complete({ model: 'thinker', messages: user('Hi') })
  t.equal(usage?.completion_tokens_details.reasoning_tokens, countTokens(choice?.message.reasoning_content ?? ''))
  t.equal(usage?.completion_tokens,
    countTokens(choice?.message.reasoning_content ?? '') + countTokens(choice?.message.content ?? ''))
  t.equal(usage?.total_tokens, (usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0))
  const most = await complete({ model: 'story', messages: user('[sandbox: words=10000]'), n: 128 })
  t.ok((most.usage?.completion_tokens ?? Infinity) <= 32_768, 'an answer has a bound, however many choices it has')
})

t.test('tokens join to the text they come from', t => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), text => {
    const tokens = tokensOf(text)
    return tokens.join('') === text && tokens.length === countTokens(text)
  }))
  t.equal(tokensOf(`a ${'b'.repeat(40)}`).length, 4)
  t.same(tokensOf('🌍'.repeat(17)), ['🌍'.repeat(16), '🌍'], 'no character is cut in two')
  t.end()
})

t.test('a reasoning model reasons as long as its effort says, and others do not reason', async t => {
  const effort = async (reasoning_effort?: string): Promise<number> =>
    (await message({ model: 'thinker', messages: user('Hi'), reasoning_effort })).reasoning_content?.length ?? 0
  const lengths = [await effort('none'), await effort('minimal'), await effort('low'), await effort(), await effort('high')]
  t.equal(lengths[0], 0)
  t.same(lengths, lengths.toSorted((a, b) => a - b))
  t.equal(new Set(lengths).size, 5)
  t.notOk('reasoning_content' in await message({ messages: user('Hi'), reasoning_effort: 'high' }))
})

t.test('log probabilities hold the bytes of their tokens, the likeliest first', async t => {
  const { choices: [choice] } = await complete({ messages: user('Grüße 🌍'), logprobs: true, top_logprobs: 3 })
  const list = choice?.logprobs?.content ?? []
  t.equal(list.map(({ token }) => token).join(''), choice?.message.content)
  for (const { token, logprob, bytes, top_logprobs: top } of list) {
    t.equal(Buffer.from(bytes).toString(), token)
    t.equal(top.length, 3)
    t.match(top[0], { token, logprob })
    t.ok(logprob <= 0 && top.every((entry, i) => i === 0 || entry.logprob < (top[i - 1]?.logprob ?? 0)))
  }
  const none = await complete({ messages: user('Hi'), logprobs: true })
  t.same(none.choices[0]?.logprobs?.content?.[0]?.top_logprobs, [])
})

t.test('choices differ, and the same choice is always the same', async t => {
  const ask = async () => (await complete({ messages: user('Hi'), n: 4 })).choices.map(({ message }) => message.content)
  t.equal(new Set(await ask()).size, 4)
  t.same(await ask(), await ask())
})

t.test('tools are called when the question asks for them', async t => {
  const calls = async (content: string, more: object = {}): Promise<unknown[]> => {
    const { tool_calls: calls = [] } = await message({ messages: user(content), tools: [weather, time, query], ...more })
    t.equal(new Set(calls.map(({ id }) => id)).size, calls.length, 'every call has its own id')
    return calls.map(({ function: f, custom: c }) => f ? [f.name, JSON.parse(f.arguments)] : [c?.name, c?.input])
  }
  const paris = ['get_weather', { city: 'Paris', unit: 'celsius', days: 1 }]
  t.same(await calls('call the tool get_weather with {"city":"Paris {1}"}'), [['get_weather', { city: 'Paris {1}' }]])
  t.same(await calls('What is the weather in Paris?'), [paris])
  t.same(await calls('What is the weather in New York for 3 days, in Fahrenheit?'),
    [['get_weather', { city: 'New York', unit: 'fahrenheit', days: 3 }]])
  t.same(await calls('weather and time in Paris'), [paris, ['get_time', {}]])
  t.same(await calls('use get_time, then get_weather with {"city":"A"} and get_weather with {"city":"B"}'),
    [['get_time', {}], ['get_weather', { city: 'A' }], ['get_weather', { city: 'B' }]])
  t.same(await calls('get_time get_time'), [['get_time', {}]])
  t.same(await calls('use run_sql with "select 1"'), [['run_sql', 'select 1']])
  t.same(await calls('run_sql please'), [['run_sql', 'run_sql please']])
  t.same(await calls('Hello'), [])
  t.same(await calls('forget_weather'), [], 'a name inside another word is none')

  t.same(await calls('weather', { tool_choice: 'none' }), [])
  t.same(await calls('Hello', { tool_choice: 'required' }), [['get_weather', { city: 'Hello', unit: 'celsius', days: 1 }]])
  t.same(await calls('weather', { tool_choice: { type: 'function', function: { name: 'get_time' } } }), [['get_time', {}]])
  t.same(await calls('weather', { tool_choice: { type: 'custom', custom: { name: 'run_sql' } } }), [['run_sql', 'weather']])
  const allowed = { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [time] } }
  t.same(await calls('weather and time', { tool_choice: allowed }), [['get_time', {}]])
  t.same(await calls('time and weather in Paris', { parallel_tool_calls: false }), [paris])
})

t.test('an answer that calls tools says so', async t => {
  const finish = async (body: object) => (await complete({ messages: user('weather'), ...body })).choices[0]
  const tools = [weather]
  t.match(await finish({ tools }), { finish_reason: 'tool_calls', message: { content: null } })
  t.match(await finish({ tools, tool_choice: { type: 'function', function: { name: 'get_weather' } } }), { finish_reason: 'stop' })
  t.match(await finish({ functions: [weather.function] }), {
    finish_reason: 'function_call', message: { content: null, function_call: { name: 'get_weather' } }
  })
  t.match(await finish({ functions: [weather.function], function_call: 'none' }), { finish_reason: 'stop' })
  t.match(await finish({ messages: user('Hi'), functions: [time.function, weather.function], function_call: { name: 'get_weather' } }),
    { message: { function_call: { name: 'get_weather' } } })
  const unknown = await send({ messages: user('Hi'), tools, tool_choice: { type: 'function', function: { name: 'x' } } })
  t.equal(unknown.status, 400)
  t.match(JSON.parse(await textOf(unknown)), { error: { param: 'tool_choice' } })
})

t.test('tool results are followed by a text that contains them', async t => {
  const tools = [weather, time]
  const after = (turns: number, question = 'weather and time') => [...user(question), ...Array.from({ length: turns }, (_, turn) => [
    { role: 'assistant', tool_calls: [{ id: `a${turn}`, type: 'function', function: { name: 'get_weather', arguments: '{}' } }] },
    { role: 'tool', tool_call_id: `a${turn}`, content: [{ type: 'text', text: `sunny, ${turn} degrees` }] }
  ]).flat()]
  t.match(await message({ messages: after(1), tools }), { content: 'The tool get_weather returned: sunny, 0 degrees' })
  t.match(await message({ messages: after(1), tools, parallel_tool_calls: false }),
    { tool_calls: [{ function: { name: 'get_time' } }] }, 'one at a time: the second call takes the second turn')
  t.match(await message({ messages: after(2), tools, parallel_tool_calls: false }), { content: /1 degrees/ })
  const rounds = 'weather [sandbox: rounds=2]'
  t.match(await message({ messages: after(1, rounds), tools }), { tool_calls: [{}] })
  t.match(await message({ messages: after(2, rounds), tools }), { content: /1 degrees/ })
  t.match(await message({ messages: [...after(1), ...user('weather')], tools }), { tool_calls: [{}] }, 'a new question, a first turn')
  const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }
  const shown = { role: 'user', content: [{ type: 'text', text: 'Image 1 of the result of get_weather:' }, picture] }
  t.match(await message({ messages: [...after(1), shown], tools }),
    { content: 'The tool get_weather returned: sunny, 0 degrees' }, 'pictures of the results are no new question')
  t.match(await message({ messages: after(1), functions: [weather.function, time.function] }), { function_call: { name: 'get_time' } })
  t.match(await message({
    messages: [...user('weather'), { role: 'assistant', content: null, function_call: { name: 'get_weather', arguments: '{}' } },
      { role: 'function', name: 'get_weather', content: 'rain' }],
    functions: [weather.function]
  }), { content: 'The tool get_weather returned: rain' })
})

t.test('a JSON answer is JSON', async t => {
  const { content } = await message({ messages: user('Hi'), response_format: { type: 'json_object' } })
  t.match(JSON.parse(content ?? ''), { simulator: 'sandbox', answer: /You said: "Hi"/ })
})

const scalar = fc.oneof(
  fc.record({ type: fc.constant('boolean') }),
  fc.record({ type: fc.constant('null') }),
  fc.record({ enum: fc.uniqueArray(fc.oneof(fc.string(), fc.integer()), { minLength: 1 }) }),
  fc.record({ const: fc.oneof(fc.string(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constant({ a: [null] })) }),
  fc.tuple(fc.nat(40), fc.nat(40)).map(([a, b]) => ({ type: 'string', minLength: Math.min(a, b), maxLength: Math.max(a, b) })),
  fc.constantFrom('^[A-Z]{3}-\\d{4}$', '^(?:a|b)+c?$', '^[^a-z]x*$', '^#[0-9a-fA-F]{6}$', '\\w+@\\w+\\.com')
    .chain(pattern => fc.nat(8).map(minLength => pattern.includes('+') ? { type: 'string', pattern, minLength } : { type: 'string', pattern })),
  fc.tuple(fc.integer({ min: -99, max: 99 }), fc.integer({ min: 8, max: 99 }), fc.integer({ min: 1, max: 4 }))
    .map(([minimum, span, multipleOf]) => ({ type: 'integer', minimum, maximum: minimum + span, multipleOf })),
  fc.tuple(fc.integer({ min: -99, max: 99 }), fc.integer({ min: 9, max: 99 }), fc.integer({ min: 1, max: 4 }))
    .map(([low, span, multipleOf]) => ({ type: 'integer', exclusiveMinimum: low, exclusiveMaximum: low + span, multipleOf })),
  fc.tuple(fc.double({ min: -9, max: 9, noNaN: true }), fc.integer({ min: 1, max: 9 }))
    .map(([low, span]) => ({ type: ['number', 'null'], exclusiveMinimum: low, exclusiveMaximum: low + span }))
)
// The validator looks over a property of this name, and then finds it unexpected.
const propertyName = fc.string().filter(name => name !== '__proto__')
const { schema: anySchema } = fc.letrec<{ schema: object }>(tie => ({
  schema: fc.oneof({ maxDepth: 4 },
    scalar,
    fc.tuple(tie('schema'), fc.nat(3), fc.nat(3)).map(([items, a, b]) => ({ type: 'array', items, minItems: Math.min(a, b), maxItems: a + b })),
    fc.tuple(fc.dictionary(propertyName, tie('schema'), { maxKeys: 4 }), fc.boolean()).map(([properties, strict]) => ({
      type: 'object', properties, additionalProperties: false, required: strict ? Object.keys(properties) : []
    })),
    fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map(anyOf => ({ anyOf }))
  )
}))

t.test('a value made from a schema validates against it, in every choice', async () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  await fc.assert(fc.asyncProperty(anySchema, async schema => {
    const { choices } = await complete({
      messages: user('x'), n: 2, response_format: { type: 'json_schema', json_schema: { name: 'x', schema } }
    })
    for (const { message } of choices) {
      const value: unknown = JSON.parse(message.content ?? '')
      if (!ajv.validate(schema, value)) throw new Error(`${JSON.stringify(value)}: ${ajv.errorsText()}`)
    }
  }), { numRuns: 300 })
})

t.test('schemas with references, unions and requirements of their own are met', async t => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  const node = { type: 'object', properties: { value: { type: 'integer' }, next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] } }, required: ['value', 'next'], additionalProperties: false }
  const schemas: Record<string, object> = {
    'a recursive list': { $ref: '#/$defs/node', $defs: { node } },
    'a tree': { type: 'object', properties: { children: { type: 'array', items: { $ref: '#' } } }, required: ['children'] },
    'all of them': { allOf: [{ properties: { a: { minimum: 3 } }, required: ['a'] }, { properties: { b: { type: 'null' } }, required: ['b'] }] },
    'required but not described': { type: 'object', required: ['x'], minProperties: 3 },
    'different items': { type: 'array', items: { type: 'string' }, minItems: 3, uniqueItems: true },
    'a tuple': { type: 'array', prefixItems: [{ type: 'integer' }, { type: 'boolean' }], items: false, minItems: 2 },
    'a key of the prototype': { type: 'object', properties: { toString: { type: 'string' } }, required: ['toString', 'valueOf'] }
  }
  for (const [name, schema] of Object.entries(schemas)) {
    const { content } = await message({ messages: user('x'), response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } })
    t.ok(ajv.validate(schema, JSON.parse(content ?? '')), `${name}: ${content}`)
  }
  for (const schema of [
    { $ref: '#' },
    { type: 'object', properties: { a: { $ref: '#' } }, required: ['a'] },
    { type: 'array', minItems: 1e9 },
    { type: 'string', minLength: 1e9 }
  ]) {
    const { status } = await send({ messages: user('x'), response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } })
    t.equal(status, 400, `refused: ${JSON.stringify(schema)}`)
  }
})

t.test('strings are made from patterns, or not at all', t => {
  for (const pattern of ['', 'abc', '^a.c$', '[\\d_-]{2,5}', '(?:x|y){3}', '(?<year>\\d{4})-?', '\\S\\s\\W\\D\\t', 'a|b|c', '[^ -y]', '\\/\\.', 'a{3}?', '[a-]']) {
    t.match(stringFromPattern(pattern), new RegExp(`^(?:${pattern})$`, 'u'), pattern)
    t.match(stringFromPattern(pattern, 2), new RegExp(pattern, 'u'), `${pattern}, stretched`)
  }
  for (const pattern of ['(?=a)b', '\\bx', '(a)\\1', '*', '(', '[', 'a{99999}', ')', '\\p{L}', '[^ -~]']) {
    t.equal(stringFromPattern(pattern), undefined, pattern)
  }
  t.end()
})

t.test('an error status comes with the body and the header of the dialect', async t => {
  for (const stream of [true, false]) {
    const answer = await send({ messages: user('Hi [sandbox: status=429 retry-after=7]'), stream })
    t.equal(answer.status, 429)
    t.equal(answer.headers['retry-after'], '7')
    t.equal(answer.headers['content-type'], 'application/json')
    t.match(JSON.parse(await textOf(answer)), { error: { type: 'rate_limit_error', code: 'rate_limit_exceeded' } })
  }
  const coded = await send({ messages: user('[sandbox: status=400 code=context_length_exceeded]') })
  t.match(JSON.parse(await textOf(coded)), { error: { type: 'invalid_request_error', code: 'context_length_exceeded' } })
  for (const [status, type] of [[401, 'authentication_error'], [403, 'permission_error'], [503, 'server_error']]) {
    t.match(JSON.parse(await textOf(await send({ messages: user(`[sandbox: status=${status}]`) }))), { error: { type } })
  }
})

t.test('directives apply to the model and the turn they name, add up, and are not repeated', async t => {
  const status = async (content: string, model = 'echo') => (await send({ model, messages: user(content) })).status
  t.equal(await status('[sandbox: status=500 model=story]'), 200)
  t.equal(await status('[sandbox: status=500 model=story]', 'story'), 500)
  t.equal(await status('[sandbox: status=500 turn=2]'), 200)
  t.equal(await status('[sandbox: status=500] [sandbox: status=503]'), 503)
  const order = '[sandbox: status=500 turn=2]'
  const second = [...user(order), { role: 'assistant', content: 'x' }]
  t.equal((await send({ messages: second })).status, 500)
  t.equal((await send({ messages: [...second, ...user('Next')] })).status, 200, 'only the last user message counts')
  t.match((await message({ messages: user(`Say ${order} it`) })).content, '"Say it"')
  t.match((await message({ messages: user(' a  b ') })).content, '" a  b "', 'nothing else is touched')
  t.match((await message({ messages: user('[sandbox: words=40] [SANDBOX: refuse]') })).refusal, 'instructed to refuse')
  for (const slip of ['wat', 'status', 'status=200', 'words=x', 'words=0', 'stall=1', 'after=-1', '__proto__=1', 'code', 'ms=1e9']) {
    const answer = await send({ messages: user(`[sandbox: ${slip}]`) })
    t.equal(answer.status, 400, slip)
    t.match(JSON.parse(await textOf(answer)), { error: { code: 'invalid_directive', message: slip } })
  }
})

/** Returns what was read of a body before it failed, and how it failed. */
async function readAll ({ body }: UpstreamResponse): Promise<{ text: string, error: unknown }> {
  let text = ''
  try {
    for await (const bytes of body) text += Buffer.from(bytes).toString()
  } catch (error) {
    return { text, error }
  }
  return { text, error: undefined }
}

t.test('a stream fails after the given number of words', async t => {
  const fail = async (order: string, more: object = {}) => {
    const { text, error } = await readAll(await send({ messages: user(`Hi [sandbox: ${order}]`), stream: true },
      { timeouts: { ...timeouts, idleBytesMs: 1, firstByteMs: 1 }, ...more }))
    const frames = framesIn(text)
    const words = frames.filter(frame => /"content":"[^"]/.test(frame)).length
    return { frames, words, error, last: frames.at(-1) }
  }
  t.match(await fail('cut after=3'), { words: 3, error: { code: 'upstream_stream_interrupted' } })
  t.match(await fail('stall after=2'), { words: 2, error: { code: 'upstream_timeout' } })
  t.match(await fail('end after=3'), { words: 3, error: undefined, last: /"content":" Headgate's"/ })
  t.match(await fail('end after=0'), { words: 0, frames: [/"role"/], error: undefined })
  t.match(await fail('end'), { frames: [], error: undefined })
  t.match(await fail('garbage after=1'), { words: 1, error: undefined, last: '<html>' })
  t.match(await fail('error after=1 code=overloaded'), { words: 1, error: undefined, last: '[DONE]' })
  const { frames } = await fail('error')
  t.match(JSON.parse(frames[0] ?? ''), { error: { type: 'server_error' } })
  t.match(await fail('filter after=2'), { words: 2, last: '[DONE]', error: undefined })
  t.match(await fail('cut after=9999'), { last: '[DONE]', error: undefined }, 'a shorter answer is not disturbed')
  await t.rejects(fail('stall'), { code: 'upstream_timeout' })
  await t.rejects(fail('cut'), { code: 'upstream_unreachable' })
  await t.rejects(fail('delay ms=9000'), { code: 'upstream_timeout' })
})

t.test('a complete answer fails half way, or says what is wrong', async t => {
  const fail = async (order: string) => {
    const answer = await send({ messages: user(`Hi [sandbox: ${order}]`) }, { timeouts: { ...timeouts, idleBytesMs: 1, responseMs: 1 } })
    return { status: answer.status, ...await readAll(answer) }
  }
  t.match(await fail('cut after=3'), { text: /^\{"id"/, error: { code: 'upstream_stream_interrupted' } })
  t.match(await fail('stall after=3'), { text: /^\{"id"/, error: { code: 'upstream_timeout' } })
  const { text, error } = await fail('end')
  t.equal(error, undefined)
  t.throws(() => JSON.parse(text))
  t.match(await fail('garbage'), { status: 200, text: '<html>', error: undefined })
  t.match(JSON.parse((await fail('error code=x')).text), { error: { type: 'server_error', code: 'x' } })
  t.match(JSON.parse((await fail('filter after=1')).text), { choices: [{ finish_reason: 'content_filter', message: { content: 'This' } }] })
  await t.rejects(fail('stall'), { code: 'upstream_timeout' })
  await t.rejects(fail('cut'), { code: 'upstream_unreachable' })
})

t.test('a drip is read byte by byte and is the same answer', async t => {
  const drip = await send({ messages: user('Hé [sandbox: drip ms=0]'), stream: true })
  const pieces: Uint8Array[] = []
  for await (const bytes of drip.body) pieces.push(bytes)
  t.ok(pieces.every(({ length }) => length === 1))
  t.match(framesIn(Buffer.concat(pieces).toString()).at(-1), '[DONE]')
  t.match(await message({ messages: user('Hi [sandbox: drip ms=0]') }), { content: /Hi/ })
})

t.test('words come no faster than the pace, whichever way it is set', async t => {
  // The pauses themselves, by the timeout a pause of that length runs into.
  const paced = async (content: string, model = 'echo', options: Record<string, unknown> = {}) => {
    const answer = await send({ model, messages: user(content), stream: true, max_tokens: 1 },
      { timeouts: { ...timeouts, idleBytesMs: 1 } }, sandboxTransport(options))
    return await readAll(answer)
  }
  const tooSlow = { error: { code: 'upstream_timeout' }, text: /"role"/ }
  t.match(await paced('Hi'), tooSlow, '50 words a second unless set')
  t.match(await paced('Hi', 'slow', { words_per_second: 0 }), tooSlow)
  t.match(await paced('Hi', 'echo', { words_per_second: 1000 }), { error: undefined })
  t.match(await paced('Hi [sandbox: pace=0]'), { error: undefined })
  t.match(await paced('Hi [sandbox: pace=10]', 'echo', { words_per_second: 0 }), tooSlow)
  for (const words_per_second of ['50', -1, Number.NaN]) {
    t.throws(() => sandboxTransport({ words_per_second }), { message: /words_per_second/ })
  }
})

function timers (): number {
  return process.getActiveResourcesInfo().filter(name => name === 'Timeout').length
}

t.test('the signal ends an answer at once, wherever it stands, and leaves no timer', async t => {
  const before = timers()
  const reason = new Error('gone')
  const waits: Array<[string, (signal: AbortSignal) => Promise<unknown>]> = [
    ['waiting for the head', signal => send({ messages: user('[sandbox: stall]') }, { signal })],
    ['a late head', signal => send({ messages: user('[sandbox: delay ms=60000]') }, { signal })],
    ['reading a complete answer', async signal => (await send({ messages: user('[sandbox: stall after=0]') }, { signal })).body.buffer(1e6)],
    ['between two words', async signal => (await send({ messages: user('[sandbox: pace=0.001]'), stream: true }, { signal })).body.buffer(1e6)]
  ]
  for (const [name, wait] of waits) {
    const controller = new AbortController()
    const waiting = wait(controller.signal)
    await new Promise(resolve => { setImmediate(resolve) })
    t.equal(timers(), before + 1, `${name}: a timer while it lasts`)
    controller.abort(reason)
    t.equal(timers(), before, `${name}: none after`)
    await t.rejects(waiting, reason, name)
  }
  const controller = new AbortController()
  const { body } = await send({ messages: user('Hi'), stream: true }, { signal: controller.signal })
  const reader = body[Symbol.asyncIterator]()
  await reader.next()
  controller.abort(reason)
  await t.rejects(reader.next(), reason, 'also where there was nothing to wait for')
  t.same(await reader.next(), { done: true, value: undefined })
  await t.rejects(send({ messages: user('Hi') }, { signal: controller.signal }), reason, 'and before it began')
})

t.test('a caller who leaves early ends the pause and the answer', async t => {
  const before = timers()
  const { body } = await send({ messages: user('[sandbox: pace=0.001]'), stream: true })
  const reader = body[Symbol.asyncIterator]()
  await reader.next()
  const pending = reader.next()
  await new Promise(resolve => { setImmediate(resolve) })
  t.equal(timers(), before + 1)
  body.cancel()
  t.equal(timers(), before)
  await t.rejects(pending, { code: 'upstream_stream_interrupted' })

  const { body: second } = await send({ messages: user('Hi'), stream: true })
  for await (const bytes of second) {
    t.ok(bytes.length > 0)
    break
  }
  t.same(await second[Symbol.asyncIterator]().next(), { done: true, value: undefined })
})

t.test('a body over the limit is not read to its end', async t => {
  const { body } = await send({ messages: user('Hi') })
  await t.rejects(body.buffer(10), { code: 'upstream_invalid_response' })
})

t.test('the adapter of the dialect reads a stream and a complete answer alike', async t => {
  const gather = (events: readonly ChatEvent[]): object => {
    const seen: Record<string, unknown> = {}
    for (const event of events) {
      const key = [event.type, 'choice' in event ? event.choice : '', 'call' in event ? event.call : ''].join(' ')
      const { [key]: before } = seen
      const text = typeof before === 'string' ? before : ''
      seen[key] = 'text' in event ? text + event.text : { ...event, id: '' }
    }
    return seen
  }
  const { signal } = new AbortController()
  const through = async (request: object, streamed: boolean): Promise<ChatEvent[]> => {
    const ask: Ask<ChatInput> = {
      request: { model: 'sandbox/thinker', messages: [{ role: 'user', content: 'Hi' }], n: 2, ...request },
      route: { providerId: 'sandbox', model: 'thinker', modelId: 'sandbox/thinker' },
      quirks: { tokenLimitField: 'max_completion_tokens' },
      streamed
    }
    const answer = await transport.send(chatCompletions.request(ask), { signal, credential: {}, timeouts, streamed })
    const bytes = await answer.body.buffer(1e8)
    return streamed
      ? readEvents([bytes], streamOf(chatCompletions, ask))
      : readResponse(chatCompletions, JSON.parse(bytes.toString()), ask)
  }
  for (const request of [
    { reasoning_effort: 'low' },
    { messages: user('weather and time, and run_sql with "x"'), tools: [weather, time, query] },
    { messages: user('weather'), functions: [weather.function] },
    { messages: user('[sandbox: refuse]'), max_tokens: 3 }
  ]) {
    const complete = gather(await through(request, false))
    t.same(gather(await through(request, true)), complete, JSON.stringify(request))
    t.match(complete, { 'choice-end 0 ': {}, 'choice-end 1 ': {}, 'usage  ': {} })
  }
  const directed = (directive: string) => ({ messages: user(`Hi [sandbox: ${directive}]`) })
  await t.rejects(through(directed('end after=2'), true), { code: 'upstream_stream_interrupted' })
  await t.rejects(through(directed('garbage after=2'), true), { code: 'upstream_invalid_response' })
  await t.rejects(through(directed('error code=rate_limit_exceeded'), true), { code: 'rate_limit_exceeded' })
  await t.rejects(through(directed('error code=rate_limit_exceeded'), false), { code: 'rate_limit_exceeded' })
})
