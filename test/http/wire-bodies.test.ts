/**
 * The bodies that callers get, in full: for each endpoint an answer, a stream where it has one, and an error,
 * printed into one reviewed file. Only ids, times and long base64 are replaced.
 *
 *     UPDATE_BODIES=1 npx tap --disable-coverage build/test/http/wire-bodies.test.js
 */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { endpointDocs } from '../../pipelines/index.ts'
import { encodePng } from '../../lib/sandbox/png.ts'
import { paint } from '../../lib/sandbox/paint.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { isOfAdmin } from '../support/endpoints.ts'
import { wavOf } from '../support/forms.ts'
import { testGateway, upstreamAt } from '../support/gateway.ts'
import { providerSettings, settings } from '../support/settings.ts'
import {
  chatAnswer,
  chatFrames,
  eventStream,
  fakeUpstream,
  type Script,
  type SeenRequest
} from '../support/upstream.ts'
import type { EndpointDoc } from '../../lib/wire/endpoint-doc.ts'

const file = join(import.meta.dirname, '../../../test/http/wire-bodies.snapshot.txt')

/** A provider with fixed answers. */
function script ({ path, text }: SeenRequest): Script {
  if (text.includes('fail')) return { status: 500, pieces: ['{"error":{"message":"down"}}'] }
  if (path.endsWith('/completions')) {
    return /"stream":true/.test(text)
      ? { headers: eventStream, pieces: chatFrames(['Hel', 'lo']) }
      : { pieces: [chatAnswer('Hello')] }
  }
  return { pieces: ['{}'] }
}

interface Ask {
  readonly title: string
  readonly path: string
  readonly method?: string
  readonly body?: unknown
  readonly headers?: Record<string, string>
}

const png = await encodePng(
  paint({ text: 'a', number: 0, width: 64, height: 64, transparent: false, squares: 4 })
)
const picture = `data:image/png;base64,${png.toString('base64')}`

function form (fields: Readonly<Record<string, string | Uint8Array>>): FormData {
  const body = new FormData()
  for (const [name, value] of Object.entries(fields)) {
    body.append(name, typeof value === 'string' ? value : new Blob([new Uint8Array(value)]))
  }
  return body
}

const chat = '/v1/chat/completions'
const hello = { model: 'mine/m', messages: 'Say hello.' }
const tools = [
  {
    type: 'function',
    function: {
      name: 'get_weather',
      parameters: { type: 'object', properties: { city: { type: 'string' } } }
    }
  }
]
const sandboxed = {
  model: 'sandbox/echo',
  messages: 'What is the weather? [sandbox: rounds=1]',
  tools,
  tool_choice: 'required'
}
const requested = { model: 'mine/m', input: 'Say hello.', store: false }
const speech = { model: 'sandbox/speaker', input: 'Hi.', voice: 'any' }
const wav = wavOf(1)
const [generate, edit, vary] = ['/v1/images/generations', '/v1/images/edits', '/v1/images/variations']
const [transcribe, translate] = ['/v1/audio/transcriptions', '/v1/audio/translations']
const painted = { model: 'sandbox/painter', prompt: 'A cat.', size: '256x256' }

/** Without a status the title says what is sent; errors are named by their cause. */
const message = { model: 'mine/m', max_tokens: 100, messages: [{ role: 'user', content: 'hello' }] }

const asks: readonly Ask[] = [
  { title: 'an answer', path: chat, body: hello },
  { title: 'an answer with calls and usage details', path: chat, body: sandboxed },
  {
    title: 'a stream',
    path: chat,
    body: { ...hello, stream: true, stream_options: { include_usage: true } }
  },
  { title: 'a stream of calls', path: chat, body: { ...sandboxed, stream: true } },
  { title: 'a wrong shape', path: chat, body: { messages: [{ role: 'bot' }], temperature: 3 } },
  { title: 'a wrong key', path: chat, body: hello, headers: { authorization: 'Bearer no' } },
  { title: 'an unknown model', path: chat, body: { ...hello, model: 'none/m' } },
  { title: 'a provider that fails', path: chat, body: { ...hello, messages: 'fail' } },
  {
    title: 'a stream that breaks',
    path: chat,
    body: { model: 'sandbox/echo', messages: 'More. [sandbox: cut after=2]', stream: true }
  },
  { title: 'a dry run', path: chat, body: hello, headers: { 'x-headgate-dry-run': 'true' } },
  { title: 'an answer', path: '/v1/completions', body: { model: 'mine/m', prompt: 'Say', logprobs: 1 } },
  {
    title: 'a stream',
    path: '/v1/completions',
    body: { model: 'mine/m', prompt: 'Say', stream: true, stream_options: { include_usage: true } }
  },
  {
    title: 'a text after the gap',
    path: '/v1/completions',
    body: { model: 'sandbox/echo', prompt: 'Say', suffix: 'hello' }
  },
  {
    title: 'a count',
    path: '/v1/messages/count_tokens',
    body: { model: 'mine/m', messages: message.messages }
  },
  { title: 'an answer', path: '/v1/messages', body: message },
  {
    title: 'an answer with a call',
    path: '/v1/messages',
    body: {
      ...message,
      model: 'sandbox/echo',
      messages: [{ role: 'user', content: 'use get with {"a":1}' }],
      tools: [{ name: 'get', input_schema: { type: 'object' } }]
    }
  },
  { title: 'a stream', path: '/v1/messages', body: { ...message, stream: true } },
  { title: 'a wrong shape', path: '/v1/messages', body: { ...message, messages: 7 } },
  { title: 'an unknown model', path: '/v1/messages', body: { ...message, model: 'none/m' } },
  {
    title: 'a stream that breaks',
    path: '/v1/messages',
    body: {
      ...message,
      model: 'sandbox/echo',
      messages: [{ role: 'user', content: 'More. [sandbox: cut after=2]' }],
      stream: true
    }
  },
  { title: 'an answer', path: '/v1/responses', body: requested },
  {
    title: 'an answer with a call',
    path: '/v1/responses',
    body: {
      ...requested,
      model: 'sandbox/echo',
      input: sandboxed.messages,
      tools: [{ type: 'function', ...tools[0]?.function }],
      tool_choice: 'required'
    }
  },
  { title: 'a stream', path: '/v1/responses', body: { ...requested, stream: true } },
  { title: 'a wrong shape', path: '/v1/responses', body: { ...requested, input: 7 } },
  { title: 'an unknown model', path: '/v1/responses', body: { ...requested, model: 'none/m' } },
  {
    title: 'a stream that breaks',
    path: '/v1/responses',
    body: { ...requested, model: 'sandbox/echo', input: 'More. [sandbox: cut after=2]', stream: true }
  },
  { title: 'a count', path: '/v1/responses/input_tokens', body: requested },
  { title: 'a refusal', path: '/v1/responses/compact', body: requested },
  { title: 'no such id', path: '/v1/responses/resp_none', method: 'GET' },
  { title: 'no such id to cancel', path: '/v1/responses/resp_none/cancel', method: 'POST' },
  { title: 'no such id to delete', path: '/v1/responses/resp_none', method: 'DELETE' },
  { title: 'no such id to list', path: '/v1/responses/resp_none/input_items', method: 'GET' },
  { title: 'no such id', path: '/v1/chat/deferred-completion/dfr_none' },
  { title: 'no such id to cancel', path: '/v1/chat/deferred-completion/dfr_none', method: 'DELETE' },
  {
    title: 'an answer',
    path: '/v1/embeddings',
    body: { model: 'sandbox/embedding', input: ['a', 'b'], dimensions: 4 }
  },
  {
    title: 'an answer in base64',
    path: '/v1/embeddings',
    body: { model: 'sandbox/embedding', input: 'a', dimensions: 4, encoding_format: 'base64' }
  },
  { title: 'an empty text', path: '/v1/embeddings', body: { model: 'sandbox/embedding', input: ['a', ''] } },
  { title: 'an answer', path: generate, body: painted },
  { title: 'a stream', path: generate, body: { ...painted, stream: true, partial_images: 1 } },
  { title: 'no prompt', path: generate, body: { model: 'sandbox/painter' } },
  { title: 'an answer', path: edit, body: form({ ...painted, image: png }) },
  { title: 'a stream', path: edit, body: form({ ...painted, image: png, stream: 'true' }) },
  { title: 'no image', path: edit, body: form({ ...painted }) },
  { title: 'an answer', path: vary, body: form({ model: 'sandbox/painter', image: png, size: '256x256' }) },
  {
    title: 'a text for an image',
    path: vary,
    body: form({ model: 'sandbox/painter', image: Buffer.from('text') })
  },
  { title: 'an answer', path: '/v1/audio/speech', body: { ...speech, response_format: 'wav' } },
  {
    title: 'a stream',
    path: '/v1/audio/speech',
    body: { ...speech, response_format: 'wav', stream_format: 'sse' }
  },
  { title: 'the response has no text', path: '/v1/audio/speech', body: { ...speech, input: '' } },
  ...['json', 'text', 'srt', 'vtt', 'verbose_json'].map(format => ({
    title: `an answer as ${format}`,
    path: transcribe,
    body: form({ model: 'sandbox/listener', file: wav, response_format: format })
  })),
  {
    title: 'a stream',
    path: transcribe,
    body: form({ model: 'sandbox/listener', file: wav, stream: 'true' })
  },
  {
    title: 'a text for a recording',
    path: transcribe,
    body: form({ model: 'sandbox/listener', file: Buffer.from('text') })
  },
  { title: 'an answer', path: translate, body: form({ model: 'sandbox/listener', file: wav }) },
  { title: 'no file', path: translate, body: form({ model: 'sandbox/listener' }) },
  {
    title: 'an answer',
    path: '/v1/ocr',
    body: { model: 'sandbox/reader', document: { document_url: picture } }
  },
  {
    title: 'an address that may not be used',
    path: '/v1/ocr',
    body: { model: 'sandbox/reader', document: { document_url: 'http://example.com/' } }
  },
  { title: 'an answer', path: '/v1/models' },
  { title: 'an answer', path: '/v1/models/sandbox/echo' },
  { title: 'an unknown model', path: '/v1/models/none' },
  { title: 'an answer', path: '/v1/key', method: 'GET' },
  { title: 'an answer', method: 'GET', path: '/v1/model/info' },
  { title: 'an answer', path: '/key/info' },
  { title: 'another key', path: '/key/info?key=sk-1' },
  { title: 'an answer', path: '/health' },
  { title: 'an answer', path: '/livez' },
  { title: 'an answer', path: '/readyz' },
  { title: 'no such path', path: '/v1/nothing' },
  { title: 'a method that is not there', path: chat, method: 'PUT', body: {} }
]

/** Replaces what differs from call to call: ids, times, and base64 too long to read. */
function settled (text: string): string {
  return text
    .replaceAll(/\b((?:chat)?cmpl)-[\da-f]{32}\b/g, '$1-ID')
    .replaceAll(/\b(resp|msg|fc|rs|ctc)_[\w-]{16,}/g, '$1_ID')
    .replaceAll(/\bcall_[\w-]{8,}\b/g, 'call_ID')
    .replaceAll(/"(created|created_at|completed_at)":\d{10}\b/g, '"$1":TIME')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'TIME')
    .replaceAll(/\bfp_[\da-f]{8}\b/g, 'fp_ID')
    .replaceAll(/"request_id":"[\da-f]{32}"/g, '"request_id":"ID"')
    // pictures are compressed, by each version of zlib in its own way
    .replaceAll(/[A-Za-z\d+/]{200,}={0,2}/g, 'BASE64')
}

async function printed (response: Response): Promise<string> {
  const type = response.headers.get('content-type') ?? ''
  const bytes = Buffer.from(await response.arrayBuffer())
  const body = /json|text/.test(type) ? settled(bytes.toString()) : `${bytes.length} bytes`
  return `${response.status} ${type}\n${body.trimEnd()}`
}

t.test('the bodies of every endpoint match the reviewed snapshot', async t => {
  const upstream = await fakeUpstream(script)
  t.teardown(upstream.close)
  const database = await openDatabase(t.testdir())
  t.teardown(database.close)
  const api = await testGateway(
    t,
    {
      providers: [
        { ...providerSettings('sandbox', 'sandbox'), options: { words_per_second: 0 } },
        upstreamAt(upstream.url, 'mine', 'openai-compatible')
      ],
      deferred: { ...settings().deferred, forAllProviders: true, keepMs: 60_000 }
    },
    {},
    { database }
  )
  const parts: string[] = []
  for (const {
    title,
    path,
    method = path.startsWith('/v1/models') || path.startsWith('/v1/chat/d') || !path.startsWith('/v1/')
      ? 'GET'
      : 'POST',
    body,
    headers = {}
  } of asks) {
    const init: RequestInit = {
      method,
      headers: {
        authorization: 'Bearer My API Key',
        ...body !== undefined && !(body instanceof FormData) && { 'content-type': 'application/json' },
        ...headers
      }
    }
    if (body !== undefined) init.body = body instanceof FormData ? body : JSON.stringify(body)
    parts.push(`### ${method} ${path}: ${title}\n${await printed(await fetch(api.url + path, init))}\n`)
  }
  const text = parts.join('\n')
  if (process.env['UPDATE_BODIES'] === '1') writeFileSync(file, text)
  const reviewed = readFileSync(file, 'utf8').split(/^(?=### )/m)
  const found = text.split(/^(?=### )/m)
  t.equal(found.length, reviewed.length)
  for (const [index, part] of found.entries()) t.equal(part, reviewed[index], part.split('\n', 1)[0] ?? '')
})

/**
 * Admin API answers are compared with their schemas in `test/pipelines/admin/`; only the dashboard and the
 * command line read them.
 */
const isOfClients = (doc: EndpointDoc): boolean => doc.path !== '/openapi.json' && !isOfAdmin(doc)

t.test('every endpoint that clients know is called', async t => {
  const requested = (method: string, path: string): boolean =>
    asks.some(
      ask =>
        new RegExp(`^${path.replaceAll(/[*:]\w+|\{\w+\}/g, '.+')}$`).test(ask.path) &&
        (ask.method ?? method) === method
    )
  t.same(
    endpointDocs
      .filter(doc => isOfClients(doc) && !requested(doc.method, doc.path))
      .map(({ method, path }) => `${method} ${path}`),
    []
  )
})
