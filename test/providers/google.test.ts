import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { toCompletion } from '../../lib/dialects/chat-completions/complete.ts'
import { googleChat, googleHeaders } from '../../lib/providers/google/index.ts'
import { errorOf, readResponse, readerOf, streamOf } from '../support/adapters.ts'
import { cut, cutSizes } from '../support/cuts.ts'
import { googleAsk, googleBody } from '../support/google.ts'
import { readEvents } from '../support/read-events.ts'
import type { ChatEvent } from '../../lib/core/events.ts'
import type { ChatInput } from '../../lib/chat/input.ts'

const fixtures = join(import.meta.dirname, '../../../test/fixtures/google')
const recorded = readdirSync(fixtures).filter(name => name.endsWith('.sse')).map(name => name.slice(0, -4))

function bytesOf (name: string): Buffer {
  return readFileSync(join(fixtures, `${name}.sse`))
}

function jsonOf (file: string): unknown {
  return JSON.parse(readFileSync(join(fixtures, file), 'utf8'))
}

/** Returns the request of a recorded answer. */
function requestOf (name: string): Partial<ChatInput> {
  return name === 'two-candidates' ? { n: 2 } : {}
}

/** Ids that the reader makes differ from run to run. */
function plain (value: unknown): unknown {
  return JSON.parse(JSON.stringify(value).replace(/call_[0-9a-f]{24}/g, 'call_made'))
}

function completion (events: readonly ChatEvent[]): unknown {
  const head = { type: 'response-start', id: 'chatcmpl-1', model: 'google/m', createdSeconds: 1 } as const
  return plain(toCompletion([{ events: [head, ...events.slice(1)] }]))
}

function sse (...payloads: unknown[]): Buffer {
  return Buffer.from(payloads.map(payload => `data: ${JSON.stringify(payload)}\r\n\r\n`).join(''))
}

t.test('every recorded stream gives its events, however its bytes are cut', async t => {
  t.ok(recorded.length > 10)
  for (const name of recorded) {
    const expected = jsonOf(`${name}.events.json`)
    for (const size of cutSizes) {
      const events = readEvents(cut(bytesOf(name), size), streamOf(googleChat, googleAsk(requestOf(name))))
      t.same(plain(events), expected, `${name} ${size}`)
    }
  }
})

t.test('a recorded stream folds to the complete answer that says the same', async t => {
  const both = recorded.filter(name => readdirSync(fixtures).includes(`${name}.json`))
  t.ok(both.length > 8)
  for (const name of both) {
    const ask = googleAsk(requestOf(name))
    const streamed = readEvents([bytesOf(name)], streamOf(googleChat, ask))
    t.same(completion(streamed), completion(readResponse(googleChat, jsonOf(`${name}.json`), ask)), name)
  }
})

t.test('a stream that ends before a candidate it began is an error', async t => {
  const one = { candidates: [{ index: 0, content: { parts: [{ text: 'half' }] }, finishReason: 'STOP' }] }
  const half = { candidates: [{ index: 0, content: { parts: [{ text: 'half' }] } }] }
  const interrupted = { code: 'upstream_stream_interrupted', fault: 'transient' }
  t.throws(() => readEvents([sse(half)], streamOf(googleChat, googleAsk())), interrupted)
  t.throws(() => readEvents([], streamOf(googleChat, googleAsk())), interrupted, 'nothing at all')
  t.throws(() => readEvents([sse({ usageMetadata: {} })], streamOf(googleChat, googleAsk())), interrupted)
  const second = { candidates: [{ index: 1, content: { parts: [{ text: 'half' }] } }] }
  t.throws(() => readEvents([sse(one, second)], streamOf(googleChat, googleAsk({ n: 2 }))), interrupted, 'one of two')
  t.doesNotThrow(() => readEvents([sse(one)], streamOf(googleChat, googleAsk({ n: 2 }))), 'as in a complete answer, there may be fewer')
  t.doesNotThrow(() => readEvents([sse(one)], streamOf(googleChat, googleAsk())))
  t.throws(
    () => readEvents([sse(half), Buffer.from('data: {"candidates":[{"ind')], streamOf(googleChat, googleAsk())),
    { code: 'upstream_invalid_response' }
  )
})

t.test('choices are numbered densely and in order, whatever candidates the provider leaves out or does not number', t => {
  const candidate = (text: string, index?: number): object => ({ index, content: { parts: [{ text }] }, finishReason: 'STOP' })
  const cases: Array<[object[], string[]]> = [
    [[candidate('a', 1)], ['a']],
    [[candidate('a', 0), candidate('b', 2)], ['a', 'b']],
    [[candidate('b', 5), candidate('a', 3)], ['a', 'b']],
    [[candidate('a'), candidate('b'), candidate('c')], ['a', 'b', 'c']],
    [[candidate('b', 1), candidate('a')], ['a', 'b']],
    [[candidate('a'), candidate('c', 2), candidate('b')], ['a', 'b', 'c']]
  ]
  for (const [candidates, texts] of cases) {
    const ask = googleAsk({ n: 3 })
    const expected = { choices: texts.map((content, index) => ({ index, message: { content }, finish_reason: 'stop' })) }
    const answers = {
      complete: readResponse(googleChat, { candidates }, ask),
      'streamed at once': readEvents([sse({ candidates })], streamOf(googleChat, ask))
    }
    for (const [name, events] of Object.entries(answers)) {
      t.match(completion(events), expected, `${name}: ${JSON.stringify(candidates)}`)
      t.equal(events.filter(({ type }) => type === 'choice-end').length, texts.length)
    }
  }
  const apart = readEvents([sse({ candidates: [candidate('a', 2)] }, { candidates: [candidate('b', 4)] })], streamOf(googleChat, googleAsk({ n: 3 })))
  t.match(completion(apart), { choices: [{ index: 0, message: { content: 'a' } }, { index: 1, message: { content: 'b' } }] })
  t.end()
})

t.test('an error inside a stream is thrown as what it means, once wrapped in a list or not', async t => {
  const busy = { error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } }
  const slow = {
    error: {
      code: 429,
      message: 'Quota',
      status: 'RESOURCE_EXHAUSTED',
      details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '17.2s' }]
    }
  }
  const cases: Array<[unknown, { code: string, status: number, retryAfterSeconds?: number }]> = [
    [busy, { code: 'upstream_overloaded', status: 503 }],
    [[busy], { code: 'upstream_overloaded', status: 503 }],
    [slow, { code: 'rate_limit_exceeded', status: 429, retryAfterSeconds: 18 }],
    [{ error: { status: 'DEADLINE_EXCEEDED' } }, { code: 'upstream_timeout', status: 504 }],
    [{ error: 'odd' }, { code: 'upstream_error', status: 502 }]
  ]
  for (const [payload, expected] of cases) {
    const read = readerOf(streamOf(googleChat, googleAsk()))
    const first = { candidates: [{ content: { parts: [{ text: 'Hi' }] } }] }
    t.same(read({ id: undefined, event: undefined, data: JSON.stringify(first) }).length, 2)
    t.throws(() => read({ id: undefined, event: undefined, data: JSON.stringify(payload) }), expected)
  }
})

t.test('every reason to end is one of ours', async t => {
  const reason = (finishReason: string, call = false): unknown => readResponse(googleChat, {
    candidates: [{ finishReason, content: { parts: call ? [{ functionCall: { name: 'f' } }] : [{ text: 'x' }] } }]
  }, googleAsk()).at(-1)
  const ours = {
    stop: ['STOP', 'OTHER', 'MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL', 'TOO_MANY_TOOL_CALLS', 'NO_IMAGE', 'IMAGE_OTHER',
      'FINISH_REASON_UNSPECIFIED', 'NEWER_THAN_US', 'constructor', ''],
    length: ['MAX_TOKENS', 'CONTINUATION'],
    content_filter: ['SAFETY', 'RECITATION', 'LANGUAGE', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'SPII', 'IMAGE_SAFETY',
      'IMAGE_PROHIBITED_CONTENT', 'IMAGE_RECITATION']
  }
  for (const [expected, theirs] of Object.entries(ours)) {
    for (const wire of theirs) t.match(reason(wire), { type: 'choice-end', reason: expected }, wire)
  }
  t.match(reason('STOP', true), { reason: 'tool_calls' })
  t.match(reason('SAFETY', true), { reason: 'content_filter' })
})

t.test('a token that is part of a character has no bytes', async t => {
  const [, text] = readResponse(googleChat, {
    candidates: [{ finishReason: 'STOP', logprobsResult: { chosenCandidates: [{ token: '\uFFFD', logProbability: -1 }] } }]
  }, googleAsk())
  t.same(text, {
    type: 'text-delta', choice: 0, text: '', logprobs: { content: [{ token: '\uFFFD', logprob: -1, bytes: null, top_logprobs: [] }] }
  })
})

t.test('a complete body without an answer is an error', async t => {
  for (const bad of [{}, { candidates: [] }, { usageMetadata: {} }, [], 'text', null, { candidates: 'no' }]) {
    t.throws(() => readResponse(googleChat, bad, googleAsk()), { code: 'upstream_invalid_response' }, JSON.stringify(bad))
  }
  t.throws(() => readResponse(googleChat, [{ error: { code: 500 } }], googleAsk()), { code: 'upstream_error' })
  t.doesNotThrow(() => readResponse(googleChat, {
    candidates: [null, { content: { parts: [null, 'x', { text: 5 }, { functionCall: {} }] }, index: 'x' }], usageMetadata: []
  }, googleAsk()), 'odd values are passed over')
})

t.test('a refusal by status is mapped, and its words reach only the caller at fault', async t => {
  const row = (status: number, body: unknown, expected: object, callerKey = false, headers = {}): void => {
    const error = errorOf(googleChat, { status, headers, body }, googleAsk(), callerKey ? 'own-key' : undefined)
    const { code, message, fault: failure, param, retryAfterSeconds: after, type } = error
    t.match({ status: error.status, code, message, failure, param, after, type }, expected, JSON.stringify(body))
  }
  const said = (code: number, status: string, message: string, details: unknown[] = []): unknown =>
    ({ error: { code, status, message, details } })
  const badKey = said(400, 'INVALID_ARGUMENT', 'It is not valid.', [{ reason: 'API_KEY_INVALID' }])
  const gatewayKey = { status: 502, code: 'upstream_auth_failed', failure: 'credential', message: /^(?!.*not valid)/ }

  row(400, said(400, 'INVALID_ARGUMENT', 'Temperature is 9.'), {
    status: 400, code: 'upstream_invalid_request', message: 'Temperature is 9.', failure: 'caller', type: 'invalid_request_error'
  })
  row(400, [said(400, 'OUT_OF_RANGE', 'In a list.')], { status: 400, message: 'In a list.' })
  row(400, badKey, gatewayKey)
  row(400, badKey, { status: 401, code: 'invalid_provider_key', type: 'authentication_error' }, true)
  row(401, said(401, 'UNAUTHENTICATED', 'x'), gatewayKey)
  row(403, said(403, 'PERMISSION_DENIED', 'x'), gatewayKey)
  row(403, said(403, 'PERMISSION_DENIED', 'API not used in project 123456789 before.'), {
    status: 403, code: 'invalid_provider_key', message: /^(?!.*123456789).*project \[redacted\]/
  }, true)
  row(400, said(400, 'FAILED_PRECONDITION', 'Please enable billing on your project.'), gatewayKey)
  row(400, said(400, 'FAILED_PRECONDITION', 'The cached content has expired.'), { status: 400, failure: 'caller' })
  row(400, said(400, 'INVALID_ARGUMENT', 'The input token count (99) exceeds the maximum number of tokens allowed (9).'), {
    status: 400, code: 'context_length_exceeded', failure: 'context_length', param: 'messages'
  })
  row(404, said(404, 'NOT_FOUND', 'models/x is not found'), { status: 404, code: 'model_not_found', param: 'model' })
  row(404, '<html>AIzaSyA1234567890</html>', { status: 404, message: /^(?!.*html)/ })
  row(400, said(400, 'INVALID_ARGUMENT', 'Bad AIzaSyA12345678901 for project_number:4711 a@b.example'), {
    message: 'Bad [redacted] for project_number:[redacted] [redacted]'
  })
  const quota = (retryDelay: string): unknown => said(429, 'RESOURCE_EXHAUSTED', 'secret quota', [{ retryDelay }])
  row(429, quota('34.4s'), { status: 429, code: 'rate_limit_exceeded', after: 35, failure: 'rate_limit', message: /^(?!.*secret)/ })
  row(429, quota('3600s'), { after: 60 })
  row(429, quota('0s'), { after: 1 })
  row(429, quota('soon'), { after: undefined })
  row(429, quota('34s'), { after: 7 }, false, { 'retry-after': '7' })
  row(503, said(503, 'UNAVAILABLE', 'x'), { status: 503, code: 'upstream_overloaded', failure: 'transient' })
  row(504, '', { status: 504, code: 'upstream_timeout' })
  for (const status of [409, 499, 500, 501, 301]) {
    row(status, said(status, 'INTERNAL', 'boom'), { status: 502, code: 'upstream_error', message: /^(?!.*boom)/ })
  }
})

t.test('model and manner go into the path, the key into a header, nothing else leaks', async t => {
  const complete = googleChat.request(googleAsk())
  t.match(complete, { method: 'POST', path: '/v1beta/models/gemini-2.5-flash:generateContent' })
  const streamed = googleChat.request({ ...googleAsk({}, 'odd/na me?x'), streamed: true })
  t.equal(streamed.path, '/v1beta/models/odd%2Fna%20me%3Fx:streamGenerateContent?alt=sse')
  t.same(googleHeaders('k'), { 'x-goog-api-key': 'k' })
  t.same(googleBody({
    model: 'google/m', stream: true, user: 'u', metadata: { a: 'b' }, store: true, logit_bias: { 1: 2 },
    parallel_tool_calls: false, thinking: { type: 'disabled' }, deferred: true, search_parameters: {}, verbosity: 'low',
    disable_automatic_function_calling: true, stop: [], tools: [], tool_choice: 'none', service_tier: 'auto', n: 1
  }), { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] })
})

t.test('settings become a generation config, and the caller\'s own keys win one by one', async t => {
  const config = (request: Partial<ChatInput>, model?: string): unknown => googleBody(request, model).generationConfig
  t.same(config({
    max_tokens: 5, max_completion_tokens: 7, temperature: 2, top_p: 0, top_k: 4, stop: ['a', ''], seed: 2 ** 32 + 5, n: 3,
    logprobs: true, top_logprobs: 2
  }), {
    maxOutputTokens: 7, temperature: 2, topP: 0, topK: 4, stopSequences: ['a'], seed: 5, candidateCount: 3,
    responseLogprobs: true, logprobs: 2
  })
  t.same(config({ top_k: 0 }), undefined, 'no limit is not a limit of zero')
  t.same(config({ presence_penalty: 1 }, 'gemini-2.0-flash'), { presencePenalty: 1 })
  t.same(config({ presence_penalty: 1 }, 'gemini-2.5-pro'), undefined, 'it would be refused there')
  t.same(config({
    temperature: 0.5, top_p: 0.1,
    generation_config: {
      top_p: 0.9, max_output_tokens: 3, maxOutputTokens: 4, topK: null, brand_new_key: { inner_key: 1 },
      response_json_schema: {
        type: 'object', required: ['city_name'], property_ordering: ['city_name'],
        properties: { city_name: { any_of: [{ enum: [{ a_b: 1 }] }] }, enum: { min_items: 1 } }
      }
    }
  }), {
    temperature: 0.5, topP: 0.9, maxOutputTokens: 4, brandNewKey: { innerKey: 1 },
    responseJsonSchema: {
      type: 'object', required: ['city_name'], propertyOrdering: ['city_name'],
      properties: { city_name: { anyOf: [{ enum: [{ a_b: 1 }] }] }, enum: { minItems: 1 } }
    }
  })
})

t.test('reasoning effort is a budget, a level or nothing, by the model', async t => {
  const thinking = (model: string, effort: NonNullable<ChatInput['reasoning_effort']>, own?: object): unknown =>
    googleBody({ reasoning_effort: effort, ...own && { generation_config: { ...own } } }, model).generationConfig?.thinkingConfig
  t.same(thinking('gemini-2.5-flash', 'low'), { includeThoughts: true, thinkingBudget: 1024 })
  t.same(thinking('gemini-2.5-pro', 'high'), { includeThoughts: true, thinkingBudget: 24576 })
  t.same(thinking('gemini-2.5-flash', 'none'), { includeThoughts: false, thinkingBudget: 0 })
  t.same(thinking('gemini-2.5-pro', 'none'), undefined, 'it cannot be switched off there')
  t.same(thinking('gemini-3-pro-preview', 'xhigh'), { includeThoughts: true, thinkingLevel: 'HIGH' })
  t.same(thinking('gemini-4-argon', 'minimal'), { includeThoughts: true, thinkingLevel: 'LOW' })
  t.same(thinking('gemini-flash-latest', 'medium'), { includeThoughts: true, thinkingLevel: 'MEDIUM' })
  t.same(thinking('gemini-2.0-flash', 'high'), undefined)
  t.same(thinking('gemini-3-flash', 'high', { thinking_config: { thinking_budget: 9 } }), { thinkingBudget: 9 })
})

t.test('one request asks for as many candidates as the model gives', async t => {
  t.same(googleChat.split?.(googleAsk({ n: 9 })).map(({ request }) => request.n), [8, undefined])
  t.equal(googleChat.split?.(googleAsk({ n: 2 }, 'gemini-3-pro-preview')).length, 2)
})

t.test('what would get a wrong answer is refused, with the exact parameter', async t => {
  const user = (part: object): Partial<ChatInput> =>
    ({ messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }, part as { type: 'text', text: string }] }] })
  const call = (args: string): Partial<ChatInput> => ({
    messages: [
      { role: 'user', content: 'x' },
      { role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'f', arguments: args } }] },
      { role: 'tool', tool_call_id: 'a', content: '' }
    ]
  })
  const tool = (name: string): Partial<ChatInput> => ({ tools: [{ type: 'function', function: { name } }] })
  const cases: Array<[Partial<ChatInput>, string]> = [
    [{ response_format: { type: 'text' } }, 'response_format'],
    [{ modalities: ['text', 'audio'] }, 'modalities'],
    [{ audio: { format: 'mp3', voice: 'v' } }, 'audio'],
    [user({ type: 'file', file: { file_id: 'f' } }), 'messages[0].content[1].file.file_id'],
    [user({ type: 'file', file: {} }), 'messages[0].content[1].file.file_data'],
    [user({ type: 'image_url', image_url: { url: 'file:///etc/passwd' } }), 'messages[0].content[1].image_url.url'],
    [user({ type: 'image_url', image_url: { url: 'data:image/png,raw' } }), 'messages[0].content[1].image_url.url'],
    [{ tools: [{ type: 'custom', custom: { name: 'c' } }] }, 'tools[0].type'],
    [tool('a b'), 'tools[0].function.name'],
    [tool('1a'), 'tools[0].function.name'],
    [tool('a'.repeat(129)), 'tools[0].function.name'],
    [{ functions: [{ name: 'a/b' }] }, 'functions[0].name'],
    [{ ...tool('a'), tool_choice: { type: 'function', function: { name: 'b' } } }, 'tool_choice'],
    [{ ...tool('a'), tool_choice: { type: 'custom', custom: { name: 'a' } } }, 'tool_choice'],
    [{ functions: [{ name: 'a' }], function_call: 'b' }, 'function_call'],
    [{ tools: [{ function: { name: 'a', parameters: { type: 'string' } } }] }, 'tools[0].function.parameters'],
    [call('[1]'), 'messages[1].tool_calls[0].function.arguments'],
    [call('{"a":'), 'messages[1].tool_calls[0].function.arguments'],
    [{ messages: call('').messages?.slice(0, 2) ?? [] }, 'messages[1].tool_calls[0].id'],
    [{ messages: [{ role: 'user', content: 'x' }, { role: 'tool', tool_call_id: 'a', content: '' }] }, 'messages[1].tool_call_id'],
    [{ messages: [{ role: 'user', content: '' }] }, 'messages']
  ]
  for (const [request, param] of cases) {
    t.throws(() => googleBody(request), { name: 'GatewayError', status: 400, param, fault: 'caller' }, param)
  }
})

t.test('a conversation alternates, holds no empty parts, and keeps every system prompt', async t => {
  const { contents, systemInstruction } = googleBody({
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: '' }, { type: 'text', text: 'a' }] },
      { role: 'developer', content: [{ type: 'text', text: 'Be kind.' }, { type: 'text', text: '' }] },
      { role: 'user', content: 'b' },
      { role: 'assistant', content: '' },
      { role: 'user', content: 'c' },
      {
        role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }], reasoning_content: 'secret',
        thinking_blocks: [{ type: 'thinking', thinking: 'x', signature: 'y' }]
      },
      { role: 'assistant', content: 'More.' }
    ]
  })
  t.same(systemInstruction, { parts: [{ text: 'Be brief.' }, { text: 'Be kind.' }] })
  t.same(contents, [
    { role: 'user', parts: [{ text: 'a' }, { text: 'b' }, { text: 'c' }] },
    { role: 'model', parts: [{ text: 'No.' }, { text: 'More.' }] }
  ])
  const system = { role: 'system', content: 'S' } as const
  t.same(googleBody({ messages: [system, { role: 'user', content: 'u' }] }, 'gemma-3-27b-it'), {
    contents: [{ role: 'user', parts: [{ text: 'S' }, { text: 'u' }] }]
  }, 'no system instruction there')
  t.same(googleBody({ messages: [system] }), { contents: [{ role: 'user', parts: [{ text: 'S' }] }] }, 'instructions alone')
})

t.test('media go up inline or by address, with a registered media type', async t => {
  const image = (url: string): object => ({ type: 'image_url', image_url: { url } })
  const parts = [
    image('data:image/jpg;base64,AAAA'), image('data:;base64,AAAA'), image('https://e.example/a.PNG?w=1.gif'), image('http://e.example/a'),
    { type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } },
    { type: 'file', file: { file_data: 'data:application/pdf;charset=x;base64,AAAA' } },
    { type: 'file', file: { file_data: 'AAAA', filename: 'notes.txt' } }
  ]
  t.same(googleBody({ messages: [{ role: 'user', content: parts as [] }] }).contents[0]?.parts, [
    { inlineData: { mimeType: 'image/jpeg', data: 'AAAA' } },
    { inlineData: { mimeType: 'image/jpeg', data: 'AAAA' } },
    { fileData: { mimeType: 'image/png', fileUri: 'https://e.example/a.PNG?w=1.gif' } },
    { fileData: { mimeType: 'image/jpeg', fileUri: 'http://e.example/a' } },
    { inlineData: { mimeType: 'audio/mp3', data: 'AAAA' } },
    { inlineData: { mimeType: 'application/pdf', data: 'AAAA' } },
    { inlineData: { mimeType: 'text/plain', data: 'AAAA' } }
  ])
})

t.test('results follow their calls in one content, in the order of the calls', async t => {
  const call = (id: string, name: string, args = '{}', extra = {}): object => ({ id, type: 'function', function: { name, arguments: args }, ...extra })
  const messages = [
    { role: 'user', content: 'go' },
    { role: 'assistant', content: null, tool_calls: [
      call('c1', 'one', '', { extra_content: { google: { thought_signature: 'c2ln' } } }), call('c2', 'two', '{"$ref":"x"}')
    ] },
    { role: 'tool', tool_call_id: 'c2', content: [{ type: 'text', text: '{"$ref":' }, { type: 'text', text: '1}' }] },
    { role: 'tool', tool_call_id: 'c1', content: 'first' },
    { role: 'tool', tool_call_id: 'c1', content: 'again' },
    { role: 'user', content: 'and?' },
    { role: 'assistant', tool_calls: [call('', 'three'), call('', 'three')] },
    { role: 'tool', tool_call_id: '', content: '3' },
    { role: 'tool', tool_call_id: '', content: '4' }
  ]
  const expected = (lost?: string): object[] => [
    { role: 'user', parts: [{ text: 'go' }] },
    { role: 'model', parts: [
      { functionCall: { id: 'c1', name: 'one', args: {} }, thoughtSignature: 'c2ln' },
      { functionCall: { id: 'c2', name: 'two', args: { $ref: 'x' } } }
    ] },
    { role: 'user', parts: [
      { functionResponse: { id: 'c1', name: 'one', response: { output: 'again' } } },
      { functionResponse: { id: 'c2', name: 'two', response: { output: '{"$ref":1}' } } }
    ] },
    { role: 'user', parts: [{ text: 'and?' }] },
    { role: 'model', parts: [
      { functionCall: { name: 'three', args: {} }, ...lost && { thoughtSignature: lost } },
      { functionCall: { name: 'three', args: {} } }
    ] },
    { role: 'user', parts: [
      { functionResponse: { name: 'three', response: { output: '3' } } },
      { functionResponse: { name: 'three', response: { output: '4' } } }
    ] }
  ]
  t.same(googleBody({ messages: messages as [] }).contents, expected())
  t.same(googleBody({ messages: messages as [] }, 'gemini-3-pro-preview').contents, expected('skip_thought_signature_validator'),
    'a signature that was lost is stood in for, on the first call only')
})

t.test('calls one after another are turns of their own', async t => {
  const call = (id: string): ChatInput['messages'][number] =>
    ({ role: 'assistant', tool_calls: [{ id, type: 'function', function: { name: 'f', arguments: '{}' } }] })
  const result = (id: string): ChatInput['messages'][number] => ({ role: 'tool', tool_call_id: id, content: 'r' })
  const kinds = (messages: ChatInput['messages']): unknown =>
    googleBody({ messages }).contents.map(({ parts }) => parts.map(part => `${Object.keys(part).join()} ${part.functionCall?.id ?? part.functionResponse?.id}`))
  t.same(kinds([call('a'), result('a'), call('b'), result('b')]),
    [['functionCall a'], ['functionResponse a'], ['functionCall b'], ['functionResponse b']])
  t.same(kinds([call('a'), call('b'), result('b'), result('a')]),
    [['functionCall a', 'functionCall b'], ['functionResponse a', 'functionResponse b']])
})

t.test('the deprecated functions are tools, and come back as function_call', async t => {
  const request: Partial<ChatInput> = {
    functions: [{ name: 'f', parameters: { type: 'object', properties: { a: { type: 'string' } } } }],
    function_call: { name: 'f' },
    messages: [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{"a":"b"}' } },
      { role: 'function', name: 'f', content: null }
    ]
  }
  t.match(googleBody(request), {
    contents: [
      {},
      { role: 'model', parts: [{ functionCall: { name: 'f', args: { a: 'b' } } }] },
      { role: 'user', parts: [{ functionResponse: { name: 'f', response: { output: '' } } }] }
    ],
    tools: [{ functionDeclarations: [{ name: 'f' }] }],
    toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } }
  })
  t.match(googleBody({ ...request, function_call: 'none' }).toolConfig, { functionCallingConfig: { mode: 'NONE' } })
  t.same(readEvents([bytesOf('calls-late-stop')], streamOf(googleChat, googleAsk(request))).slice(2, -1), [
    { type: 'tool-call-start', choice: 0, call: 0, id: '', name: 'ferry_times', kind: 'legacy' },
    { type: 'tool-call-delta', choice: 0, call: 0, text: '{"pier":"Largs"}', kind: 'legacy' },
    { type: 'tool-call-end', choice: 0, call: 0 },
    { type: 'choice-end', choice: 0, reason: 'function_call' }
  ])
})

t.test('a choice of tools names functions only where a call is forced', async t => {
  const tools: NonNullable<ChatInput['tools']> = [{ function: { name: 'a' } }, { type: 'function', function: { name: 'b', description: 'B' } }]
  const chosen = (choice: NonNullable<ChatInput['tool_choice']>): unknown =>
    googleBody({ tools, tool_choice: choice }).toolConfig?.functionCallingConfig
  t.same(googleBody({ tools }).toolConfig, undefined)
  t.same(chosen('auto'), undefined)
  t.same(chosen('none'), { mode: 'NONE' })
  t.same(chosen('required'), { mode: 'ANY' })
  t.same(chosen({ type: 'any' }), { mode: 'ANY' })
  t.same(chosen({ type: 'tool', name: 'a' }), { mode: 'ANY', allowedFunctionNames: ['a'] })
  t.same(chosen({ type: 'function', function: { name: 'b' } }), { mode: 'ANY', allowedFunctionNames: ['b'] })
  const allowed = [{ type: 'function', function: { name: 'b' } }]
  t.same(chosen({ type: 'allowed_tools', allowed_tools: { mode: 'required', tools: allowed } }), { mode: 'ANY', allowedFunctionNames: ['b'] })
  t.same(googleBody({ tools, tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: allowed } } }), {
    contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
    tools: [{ functionDeclarations: [{ name: 'b', description: 'B' }] }]
  }, 'the others are simply not offered')
  t.same(googleBody({ tools, tool_choice: 'required', tool_config: { function_calling_config: { mode: 'AUTO' } } }).toolConfig,
    { functionCallingConfig: { mode: 'AUTO' } }, 'the caller\'s own config replaces the derived one')
})

t.test('parameters are said in the keywords the provider takes', async t => {
  const schema = (parameters: object): unknown =>
    googleBody({ tools: [{ function: { name: 'f', parameters: { ...parameters } } }] }).tools?.[0]?.functionDeclarations[0]?.parametersJsonSchema
  t.same(schema({}), undefined)
  t.same(schema({ type: 'object', properties: {}, additionalProperties: false }), undefined, 'no parameters at all')
  t.same(schema({
    $schema: 'http://json-schema.org/draft-07/schema#', type: ['OBJECT', 'null'], additional_properties: false, required: ['cityName', 'const'],
    properties: {
      city_name: { type: 'string', min_length: 1, pattern: 'x' },
      const: { const: 1 },
      $schema: { type: 'array' },
      pair: { type: 'array', items: [{ type: 'string' }, true], min_items: 2 },
      any: { any_of: [{ type: 'null' }, { $ref: '#/definitions/Pier', title: 'dropped', description: 'd' }] },
      pier: { description: 'where', allOf: [{ $ref: '#/definitions/pier' }] },
      both: { allOf: [{ properties: { a: { type: 'string' } }, required: ['a'] }, { $ref: '#/$defs/Pier' }], required: ['b'] }
    },
    definitions: { Pier: { type: 'object', properties: { b: { type: 'number', exclusiveMinimum: 1 }, next: { $ref: '#/definitions/Pier' } } } }
  }), {
    type: 'object', additionalProperties: false, required: ['city_name', 'const'],
    properties: {
      city_name: { type: 'string' },
      const: { enum: [1] },
      $schema: { type: 'array', items: {} },
      pair: { type: 'array', prefixItems: [{ type: 'string' }, {}], minItems: 2 },
      any: { anyOf: [{ type: 'null' }, { $ref: '#/$defs/Pier', description: 'd' }] },
      pier: { $ref: '#/$defs/Pier', description: 'where' },
      both: {
        type: 'object', required: ['b', 'a'],
        properties: { b: { type: 'number' }, next: { $ref: '#/$defs/Pier' }, a: { type: 'string' } }
      }
    },
    $defs: { Pier: { type: 'object', properties: { b: { type: 'number' }, next: { $ref: '#/$defs/Pier' } } } }
  })
  t.match(schema({ $ref: '#/$defs/Root', $defs: { Root: { properties: { self: { $ref: '#/$defs/Root' } } } } }),
    { type: 'object', properties: { self: { $ref: '#/$defs/Root' } }, $defs: { Root: {} } }, 'a root that is only a reference')
  const endless = { allOf: [{ $ref: '#/$defs/Loop' }, { properties: { a: { type: 'string' } } }] }
  t.match(schema({ ...endless, $defs: { Loop: endless } }), { type: 'object', properties: { a: { type: 'string' } } },
    'a schema that contains itself comes to an end')
})

t.test('tiers have other names there', async t => {
  t.equal(googleBody({ service_tier: 'default' }).serviceTier, 'standard')
  t.equal(googleBody({ service_tier: 'flex' }).serviceTier, 'flex')
  t.equal(googleBody({ service_tier: 'auto' }).serviceTier, undefined)
  t.match(readEvents([sse({
    candidates: [{ finishReason: 'STOP' }], usageMetadata: { serviceTier: 'STANDARD' }
  })], streamOf(googleChat, googleAsk()))[0], { serviceTier: 'default' })
})
