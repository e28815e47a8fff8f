import t from 'tap'
import { callerParam } from '../../lib/providers/caller-param.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { encodePng } from '../../lib/sandbox/png.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import { said, speech, transcriptions, translations, wav } from '../support/audio.ts'
import { testGateway, testKey, upstreamAt } from '../support/gateway.ts'
import { fakeUpstream } from '../support/upstream.ts'

const [system, user] = [{ role: 'system', content: 's' }, { role: 'user', content: 'u' }] as const

function paramOf (param: string, request: Partial<ChatInput>, rename?: Record<string, string>): string {
  return callerParam(param, {
    request: { model: 'm', messages: [system, user], ...request },
    quirks: { ...rename !== undefined && { rename } }
  })
}

t.test("a place in the conversation is named as in the caller's request", async t => {
  t.equal(paramOf('messages[1].content[0]', {}), 'messages[1].content[0]', 'where that is the same list')
  const originalInput = { field: 'input', places: new Map([[user, 'input[0]']]) } as const
  t.equal(paramOf('messages[1].content[0]', { originalInput }), 'input[0].content[0]')
  t.equal(paramOf('messages', { originalInput }), 'input')
})

t.test('a field has the name under which the caller sent it', async t => {
  t.equal(paramOf('max_completion_tokens', { max_tokens: 5 }), 'max_tokens')
  t.equal(paramOf('max_tokens', { max_completion_tokens: 5 }), 'max_completion_tokens')
  t.equal(paramOf('max_tokens', { max_tokens: 5, max_completion_tokens: 5 }), 'max_tokens')
  t.equal(paramOf('theirs', {}, { ours: 'theirs' }), 'ours')
  t.equal(
    paramOf('response_format.json_schema', { callerNames: { response_format: 'text.format' } }),
    'text.format'
  )
  t.equal(
    paramOf('tool_choice.allowed_tools', {
      callerNames: { 'tool_choice.allowed_tools': 'tool_choice.tools' }
    }),
    'tool_choice.tools'
  )
  t.equal(paramOf('temperature', {}), 'temperature')
})

t.test('a provider that got the body of the caller names places in it', t => {
  const tool = { type: 'function' as const, function: { name: 'f' } }
  const request: ChatInput = {
    model: 'm',
    messages: [user],
    tools: [tool],
    originalInput: { field: 'input', places: new Map([[tool, 'tools[1]']]) }
  }
  const direct = { dialect: 'responses', body: '{}', headers: {}, query: '' } as const
  t.equal(callerParam('tools[0]', { request, quirks: {} }), 'tools[1]', 'of a translation')
  for (const param of ['tools[0]', 'tools[0].container', 'input[2].content', 'max_output_tokens']) {
    t.equal(callerParam(param, { request, quirks: {}, direct }), param)
  }
  t.equal(callerParam('messages', { request, quirks: {}, direct }), 'input', 'where a reader blames it')
  t.end()
})

t.test('a provider that got other items than the caller sent names those of the caller', async t => {
  const json = { 'content-type': 'application/json' }
  const message = {
    id: 'msg_1', type: 'message', role: 'assistant', model: 'c', content: [{ type: 'text', text: 'ok' }],
    stop_reason: 'end_turn', usage: { input_tokens: 1, output_tokens: 1 }
  }
  let param = ''
  const upstream = await fakeUpstream(({ path }) => path.includes('messages')
    ? { headers: json, pieces: [JSON.stringify(message)] }
    : { status: 400, headers: json, pieces: [JSON.stringify({ error: { message: 'no', param } })] })
  t.teardown(upstream.close)
  const database = await openDatabase(t.testdir())
  const providers = [upstreamAt(upstream.url), upstreamAt(upstream.url, 'anthropic', 'anthropic')]
  const api = await testGateway(t, { providers }, undefined, { database })
  t.teardown(database.close)
  const first = { model: 'anthropic/claude-sonnet-4-5', input: [{ role: 'user', content: 'a' }] }
  const { id } = await (await api.post('/v1/responses', first)).json() as { id: string }
  const user = { role: 'user', content: 'b' }
  const continued = { previous_response_id: id, input: [user, user] }
  // This reasoning has no state, and is left out.
  const reasoned = { input: [user, { type: 'reasoning', id: 'rs_1', summary: [] }, user] }
  const rows: ReadonlyArray<readonly [request: object, named: string, param: string]> = [
    [continued, 'input[3].content', 'input[1].content'],
    [continued, 'input[2]', 'input[0]'],
    [continued, 'input[1].content[0].text', 'previous_response_id'],
    [continued, 'input[9]', 'input'],
    [continued, 'max_output_tokens', 'max_output_tokens'],
    [{ ...continued, input: 'b' }, 'input[2].content', 'input'],
    [reasoned, 'input[1].content', 'input[2].content'],
    [{ input: [user, user] }, 'input[1]', 'input[1]']
  ]
  for (const path of ['/v1/responses', '/v1/responses/compact']) {
    for (const [request, named, expected] of rows) {
      param = named
      const response = await api.post(path, { model: 'openai/gpt-5', ...request })
      t.match(await response.json(), { error: { message: 'no', param: expected } }, `${path} ${named}`)
    }
  }
})

t.test('an error inside an answer names the parameter as the caller wrote it', async t => {
  const message = 'The context length is 8 tokens.'
  const said = { message, type: 'invalid_request_error', code: 'context_length_exceeded' }
  const early = `data: ${JSON.stringify({ error: said })}\n\n`
  const chunk = { choices: [{ index: 0, delta: { role: 'assistant', content: 'a' } }] }
  const ofResponses = `data: ${JSON.stringify({ ...said, type: 'error', param: 'input' })}\n\n`
  const place = { output_index: 0, content_index: 0, item_id: 'msg_1' }
  const delta = { type: 'response.output_text.delta', ...place, delta: 'a' }
  const created = { type: 'response.created', response: { id: 'resp_1', output: [] } }
  const opening = [created, delta].map(event => `data: ${JSON.stringify(event)}\n\n`).join('')
  const rows: ReadonlyArray<readonly [title: string, stream: string, ofResponses: string]> = [
    ['before the answer', early, ofResponses],
    ['in the answer', `data: ${JSON.stringify(chunk)}\n\n${early}`, opening + ofResponses]
  ]
  const chat = { messages: [{ role: 'user', content: 'a' }], max_tokens: 9 }
  const questions: ReadonlyArray<readonly [path: string, body: object, param: string]> = [
    ['/v1/responses', { model: 'server/m', input: 'a' }, 'input'],
    ['/v1/completions', { model: 'server/m', prompt: 'a' }, 'prompt'],
    ['/v1/chat/completions', { model: 'server/m', ...chat }, 'messages'],
    ['/v1/responses', { model: 'openai/gpt-5', input: 'a' }, 'input'],
    ['/v1/responses', { model: 'openai/gpt-5', input: [{ type: 'of_the_future', content: 'a' }] }, 'input'],
    ['/v1/chat/completions', { model: 'openai/gpt-5-pro', ...chat }, 'messages'],
    ['/v1/completions', { model: 'openai/gpt-5', prompt: 'a' }, 'prompt']
  ]
  for (const [title, stream, responsesStream] of rows) {
    const upstream = await fakeUpstream(({ path }) => ({
      headers: { 'content-type': 'text/event-stream' },
      pieces: [path.endsWith('/responses') ? responsesStream : stream]
    }))
    t.teardown(upstream.close)
    const api = await testGateway(t, {
      providers: [upstreamAt(upstream.url), upstreamAt(upstream.url, 'server', 'openai-compatible')]
    })
    for (const [path, body, param] of questions) {
      const name = `${title}, ${path} ${JSON.stringify(body)}`
      const text = await (await api.post(path, { ...body, stream: true })).text()
      t.match(text, 'context_length_exceeded', name)
      // A response that fails in its stream has no `param`.
      if (path !== '/v1/responses' || stream === early) t.match(text, `"param":"${param}"`, name)
      else t.notMatch(text, '"param":"messages"', name)
    }
  }
})

t.test('a provider that finds a request too long blames the field of that kind of request', async t => {
  const upstream = await fakeUpstream({
    status: 400,
    pieces: [JSON.stringify({ error: { message: 'The input token count (9) exceeds the maximum number of tokens allowed (8).', param: null } })]
  })
  t.teardown(upstream.close)
  const providers = [
    upstreamAt(`${upstream.url}/v1`),
    upstreamAt(`${upstream.url}/v1`, 'mistral', 'mistral'),
    upstreamAt(upstream.url, 'google', 'google')
  ]
  const { url } = await testGateway(t, { providers })
  const formOf = (fields: Record<string, string | Blob>): FormData => {
    const form = new FormData()
    for (const [name, value] of Object.entries(fields)) form.set(name, value)
    return form
  }
  const png = await encodePng({ width: 8, height: 8, pixels: Buffer.alloc(8 * 8 * 4) })
  const image = new Blob([png])
  const file = new File([wav], 'a.wav')
  const ocr = { document: { type: 'image_url', image_url: `data:image/png;base64,${png.toString('base64')}` } }
  const rows: ReadonlyArray<[path: string, request: object, param: string]> = [
    ['/v1/embeddings', { model: 'openai/text-embedding-3-small', input: 'a' }, 'input'],
    ['/v1/embeddings', { model: 'google/text-embedding-004', input: 'a' }, 'input'],
    [speech, said, 'input'],
    [transcriptions, formOf({ model: 'openai/whisper-1', file }), 'file'],
    [translations, formOf({ model: 'openai/whisper-1', file }), 'file'],
    ['/v1/images/generations', { model: 'openai/gpt-image-1', prompt: 'a' }, 'prompt'],
    ['/v1/images/edits', formOf({ model: 'openai/gpt-image-1', prompt: 'a', image }), 'prompt'],
    ['/v1/images/variations', formOf({ model: 'openai/dall-e-2', image }), 'image'],
    ['/v1/ocr', ocr, 'document']
  ]
  for (const [path, request, param] of rows) {
    const isForm = request instanceof FormData
    const response = await fetch(url + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${testKey}`, ...!isForm && { 'content-type': 'application/json' }
      },
      body: isForm ? request : JSON.stringify(request)
    })
    const { error } = await response.json() as { error: object }
    t.match(error, { code: 'context_length_exceeded', param }, path)
  }
})
