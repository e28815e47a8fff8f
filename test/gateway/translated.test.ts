/**
 * Providers with their own API, on a real port: every known kind of refusal, failure and interruption reaches
 * the caller as an error of ours.
 */

import t from 'tap'
import {
  chatAnswer,
  eventStream,
  fakeUpstream,
  type FakeUpstream,
  type Script,
  type SeenRequest
} from '../support/upstream.ts'
import { testGateway, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { until } from '../support/until.ts'
import type { Timeouts } from '../../lib/core/settings.ts'
import type { Test } from 'tap'

const path = '/v1/chat/completions'

interface Dialect {
  readonly model: string
  /** A stream with two pieces of text, each event as a separate piece. */
  readonly frames: readonly string[]
  /** The number of pieces before the first text, and up to the last one. */
  readonly before: number
  readonly spoken: number
  readonly failure: (status: number, type: string, message: string, more?: object) => string
}

function named (type: string, fields: object = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
}

function fragment (text: string, more: object = {}): string {
  return `data: ${JSON.stringify({ candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] }, ...more }] })}\r\n\r\n`
}

const dialects: Readonly<Record<'anthropic' | 'google', Dialect>> = {
  anthropic: {
    model: 'anthropic/claude-haiku-4-5',
    frames: [
      named('message_start', { message: { id: 'msg_1', usage: { input_tokens: 3, output_tokens: 1 } } }),
      named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
      named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'half ' } }),
      named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'done' } }),
      named('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } }),
      named('message_stop')
    ],
    before: 2,
    spoken: 4,
    failure: (_status, type, message, more) =>
      JSON.stringify({ type: 'error', error: { type, message, ...more }, request_id: 'req_canary' })
  },
  google: {
    model: 'google/gemini-2.5-flash',
    frames: [fragment('half '), fragment('done'), fragment('', { finishReason: 'STOP' })],
    before: 0,
    spoken: 2,
    failure: (code, status, message, more) => JSON.stringify({ error: { code, status, message, ...more } })
  }
}

async function start (
  t: Test,
  name: keyof typeof dialects,
  script: Script | ((request: SeenRequest, number: number) => Script),
  timeouts: Partial<Timeouts> = {},
  retries = 0
): Promise<{
  upstream: FakeUpstream
  api: TestGateway
  ask: (more?: object, headers?: Record<string, string>) => Promise<Response>
}> {
  const upstream = await fakeUpstream(script)
  t.teardown(upstream.close)
  const provider = upstreamAt(upstream.url, name, name)
  const api = await testGateway(t, {
    providers: [{ ...provider, retries, timeouts: { ...provider.timeouts, ...timeouts } }]
  })
  const question = { model: dialects[name].model, messages: 'hi' }
  return {
    upstream,
    api,
    ask: async (more = {}, headers = {}) => await api.post(path, { ...question, ...more }, { headers })
  }
}

interface Row {
  /** The provider's error: its status, its code, its message, and additional fields. */
  readonly said: readonly [number, string, string, object?]
  readonly headers?: Readonly<Record<string, string>>
  readonly ownKey?: boolean
  readonly status: number
  readonly error: {
    readonly type: string
    readonly code: string
    readonly param?: string
    readonly message?: string | RegExp
  }
  readonly after?: string
  /** False if the answer says that a retry cannot help. */
  readonly retry?: false
}

const detail = (reason: string): object => ({
  details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason }]
})

const refusals: Readonly<Record<keyof typeof dialects, readonly Row[]>> = {
  anthropic: [
    {
      said: [400, 'invalid_request_error', 'stop_sequences: too short'],
      status: 400,
      error: {
        type: 'invalid_request_error',
        code: 'upstream_invalid_request',
        message: 'stop_sequences: too short'
      }
    },
    {
      said: [400, 'invalid_request_error', 'prompt is too long: 9 tokens > 8 maximum'],
      status: 400,
      error: { type: 'invalid_request_error', code: 'context_length_exceeded', param: 'messages' }
    },
    {
      said: [401, 'authentication_error', 'invalid x-api-key canary'],
      status: 502,
      error: { type: 'server_error', code: 'upstream_auth_failed' },
      retry: false
    },
    {
      said: [401, 'authentication_error', 'invalid x-api-key'],
      ownKey: true,
      status: 401,
      error: { type: 'authentication_error', code: 'invalid_provider_key' }
    },
    {
      said: [403, 'permission_error', 'not for canary'],
      status: 502,
      error: { type: 'server_error', code: 'upstream_auth_failed' },
      retry: false
    },
    {
      said: [400, 'invalid_request_error', 'Your credit balance is too low, canary'],
      status: 503,
      error: { type: 'server_error', code: 'upstream_quota_exhausted' },
      after: '1',
      retry: false
    },
    {
      said: [404, 'not_found_error', 'model: claude-9'],
      status: 404,
      error: { type: 'invalid_request_error', code: 'model_not_found', param: 'model' }
    },
    {
      said: [413, 'request_too_large', 'too large'],
      status: 413,
      error: { type: 'invalid_request_error', code: 'upstream_invalid_request' }
    },
    {
      said: [429, 'rate_limit_error', 'organization canary'],
      headers: { 'retry-after': '7' },
      status: 429,
      error: { type: 'rate_limit_error', code: 'rate_limit_exceeded' },
      after: '7'
    },
    {
      said: [500, 'api_error', 'host canary'],
      status: 502,
      error: { type: 'server_error', code: 'upstream_error' }
    },
    {
      said: [504, 'timeout_error', 'canary'],
      status: 504,
      error: { type: 'server_error', code: 'upstream_timeout' }
    },
    {
      said: [529, 'overloaded_error', 'Overloaded'],
      status: 503,
      error: { type: 'server_error', code: 'upstream_overloaded' },
      after: '1'
    }
  ],
  google: [
    {
      said: [400, 'INVALID_ARGUMENT', 'Unknown name'],
      status: 400,
      error: { type: 'invalid_request_error', code: 'upstream_invalid_request', message: 'Unknown name' }
    },
    {
      said: [
        400,
        'INVALID_ARGUMENT',
        'The input token count (9) exceeds the maximum number of tokens allowed (8).'
      ],
      status: 400,
      error: { type: 'invalid_request_error', code: 'context_length_exceeded', param: 'messages' }
    },
    {
      said: [400, 'INVALID_ARGUMENT', 'API key not valid: canary', detail('API_KEY_INVALID')],
      status: 502,
      error: { type: 'server_error', code: 'upstream_auth_failed' },
      retry: false
    },
    {
      said: [400, 'INVALID_ARGUMENT', 'API key not valid.', detail('API_KEY_INVALID')],
      ownKey: true,
      status: 401,
      error: { type: 'authentication_error', code: 'invalid_provider_key' }
    },
    {
      said: [403, 'PERMISSION_DENIED', 'project canary'],
      status: 502,
      error: { type: 'server_error', code: 'upstream_auth_failed' },
      retry: false
    },
    {
      said: [404, 'NOT_FOUND', 'models/gemini-9 is not found'],
      status: 404,
      error: { type: 'invalid_request_error', code: 'model_not_found', param: 'model' }
    },
    {
      said: [429, 'RESOURCE_EXHAUSTED', 'quota of canary', { details: [{ retryDelay: '34.4s' }] }],
      status: 429,
      error: { type: 'rate_limit_error', code: 'rate_limit_exceeded' },
      after: '35'
    },
    {
      said: [500, 'INTERNAL', 'canary'],
      status: 502,
      error: { type: 'server_error', code: 'upstream_error' }
    },
    {
      said: [503, 'UNAVAILABLE', 'The model is overloaded, canary.'],
      status: 503,
      error: { type: 'server_error', code: 'upstream_overloaded' },
      after: '1'
    },
    {
      said: [504, 'DEADLINE_EXCEEDED', 'canary'],
      status: 504,
      error: { type: 'server_error', code: 'upstream_timeout' }
    }
  ]
}

for (const name of ['anthropic', 'google'] as const) {
  const { frames, before, spoken, failure } = dialects[name]

  t.test(
    `${name}: a refusal has a status of the gateway, and the provider's message only if it helps the caller`,
    async t => {
      const rows = refusals[name]
      const { api, ask } = await start(t, name, (_request, number) => {
        const row = rows[number >> 1]
        return row === undefined
          ? {}
          : { status: row.said[0], headers: { ...row.headers }, pieces: [failure(...row.said)] }
      })
      for (const { said, status, error, after, retry, ownKey } of rows) {
        for (const stream of [false, true]) {
          const response = await ask({ stream }, ownKey === true ? { 'x-provider-key': 'mine' } : {})
          t.equal(response.status, status, `${said[0]} ${said[2]}`)
          const text = await response.text()
          t.match(JSON.parse(text), { error })
          t.notMatch(text, /canary/)
          t.equal(response.headers.get('retry-after'), after ?? null)
          t.equal(response.headers.get('x-should-retry'), retry === false ? 'false' : null)
        }
      }
      await until(() => api.lines.length === rows.length * 2, 'a line in the log for each call')
    }
  )

  t.test(
    `${name}: a stream error is a status or a retry before the first text, and a named event after it`,
    async t => {
      const busy = name === 'anthropic' ? 'overloaded_error' : 'UNAVAILABLE'
      const event = `event: error\ndata: ${failure(503, busy, 'busy')}\n\n`
      const early = await start(t, name, {
        headers: eventStream,
        pieces: [...frames.slice(0, before), event]
      })
      const refused = await early.ask({ stream: true })
      t.equal(refused.status, 503)
      t.match(await refused.json(), { error: { type: 'server_error', code: 'upstream_overloaded' } })

      const again = await start(
        t,
        name,
        (_request, number) => ({
          headers: eventStream,
          pieces: number === 0 ? [...frames.slice(0, before), event] : frames
        }),
        {},
        1
      )
      const recovered = await again.ask({ stream: true })
      t.equal(recovered.headers.get('x-headgate-attempts'), '2')
      t.match(
        await recovered.text(),
        /"content":"half ".*"content":"done".*"finish_reason":"stop".*\[DONE\]\n\n$/s
      )

      const late = await start(t, name, {
        headers: eventStream,
        pieces: [...frames.slice(0, spoken), event]
      })
      const text = await (await late.ask({ stream: true })).text()
      t.match(
        text,
        /"content":"half ".*event: error\ndata: \{"error":\{"message":"[^"]+","type":"server_error","code":"upstream_overloaded","param":null\}\}\n\n$/s
      )
      t.notMatch(text, /DONE|"finish_reason":"/)
    }
  )

  t.test(
    `${name}: a key refused under status 200 is the caller's error if the key was theirs, else the gateway's`,
    async t => {
      const refusal =
        name === 'anthropic'
          ? failure(401, 'authentication_error', 'no')
          : failure(400, 'INVALID_ARGUMENT', 'API key not valid.', detail('API_KEY_INVALID'))
      const event = `event: error\ndata: ${refusal}\n\n`
      const complete = { pieces: [refusal] }
      const early = { headers: eventStream, pieces: [...frames.slice(0, before), event] }
      const late = { headers: eventStream, pieces: [...frames.slice(0, spoken), event] }
      const theirs = { type: 'authentication_error', code: 'invalid_provider_key' }
      const ours = { type: 'server_error', code: 'upstream_auth_failed' }
      for (const [headers, status, error] of [
        [{ 'x-provider-key': 'mine' }, 401, theirs],
        [{}, 502, ours]
      ] as const) {
        for (const [stream, script] of [
          [false, complete],
          [true, early]
        ] as const) {
          const response = await (await start(t, name, script)).ask({ stream }, headers)
          t.equal(response.status, status)
          t.match(await response.json(), { error })
        }
        const text = await (await (await start(t, name, late)).ask({ stream: true }, headers)).text()
        t.match(
          JSON.parse(text.slice(text.indexOf('event: error\ndata: ') + 'event: error\ndata: '.length)),
          { error }
        )
      }
    }
  )

  t.test(`${name}: an interrupted stream never looks finished, however it breaks`, async t => {
    const half = frames.slice(0, spoken)
    const torn = frames[spoken]?.slice(0, 20) ?? ''
    const scripts: Record<string, readonly [Script, RegExp]> = {
      'a proper end too early': [{ pieces: half }, /"code":"upstream_stream_interrupted"/],
      'an end in the middle of an event': [
        { pieces: [...half, torn] },
        /"code":"upstream_(?:stream_interrupted|invalid_response)"/
      ],
      'an end of the connection': [{ pieces: half, then: 'fin' }, /"code":"upstream_stream_interrupted"/],
      'silence': [{ pieces: half, then: 'stall' }, /"code":"upstream_timeout"/],
      'words that are no JSON': [
        { pieces: [...half, 'data: <html>\n\n'] },
        /"code":"upstream_invalid_response"/
      ]
    }
    for (const [fault, [script, code]] of Object.entries(scripts)) {
      const { ask } = await start(
        t,
        name,
        { headers: eventStream, ...script },
        fault === 'silence' ? { idleBytesMs: 50 } : {}
      )
      const text = await (await ask({ stream: true })).text()
      t.match(text, /"content":"half "/, fault)
      t.match(text.slice(text.indexOf('event: error')), code, fault)
      t.notMatch(text, /DONE|"finish_reason":"/, fault)
    }
  })

  t.test(`${name}: an invalid answer is an upstream error, not the caller's`, async t => {
    for (const piece of ['<html>gateway</html>', '', '{}', '[]', '{"error":', frames[spoken - 1] ?? '']) {
      for (const stream of [false, true]) {
        const { ask } = await start(t, name, { headers: stream ? eventStream : {}, pieces: [piece] })
        const response = await ask({ stream })
        const text = await response.text()
        if (response.status === 200) t.match(text, /event: error\n.*"type":"server_error"/, piece)
        else t.same([response.status, JSON.parse(text).error.type], [502, 'server_error'], piece)
      }
    }
  })

  t.test(`${name}: a client disconnect closes the connection to the provider`, async t => {
    const { upstream, api, ask } = await start(t, name, {
      headers: eventStream,
      pieces: frames.slice(0, spoken),
      then: 'stall'
    })
    const reader = (await ask({ stream: true })).body?.getReader()
    await reader?.read()
    await reader?.cancel()
    await (
      await upstream.request(0)
    ).aborted
    await until(() => api.lines.length === 1, 'one line in the log')
    t.match(api.lines[0], { outcome: 'client_closed', usage: { estimated: true } })
  })

  t.test(`${name}: an unsupported request is refused before the provider is called`, async t => {
    const { upstream, ask } = await start(t, name, { pieces: [] })
    for (const [more, param] of [
      [{ response_format: { type: 'json_object' } }, 'response_format'],
      [{ response_format: { type: 'text' } }, 'response_format'],
      [{ modalities: ['audio'], audio: { format: 'wav', voice: 'alloy' } }, /^(?:audio|modalities)$/],
      [{ tools: [{ type: 'custom', custom: { name: 'sql' } }] }, 'tools[0].type']
    ] as const) {
      for (const stream of [false, true]) {
        const response = await ask({ ...more, stream })
        t.equal(response.status, 400)
        t.match(await response.json(), {
          error: { type: 'invalid_request_error', code: 'unsupported_parameter', param }
        })
      }
    }
    t.equal(upstream.requests.length, 0)
  })
}

t.test('stop sequences for a model without: a Messages caller is answered, others are refused', async t => {
  const upstream = await fakeUpstream({ pieces: [chatAnswer('<block>no</block>')] })
  t.teardown(upstream.close)
  const api = await testGateway(t, { providers: [upstreamAt(`${upstream.url}/v1`, 'openai', 'openai')] })
  const question = { model: 'openai/gpt-5-mini', messages: [{ role: 'user', content: 'Block it?' }] }
  const answered = await api.post('/v1/messages', {
    ...question,
    max_tokens: 64,
    stop_sequences: ['</block>']
  })
  t.equal(answered.status, 200)
  t.equal(answered.headers.get('x-headgate-ignored'), 'stop_sequences')
  t.match(await answered.json(), { content: [{ text: '<block>no</block>' }], stop_reason: 'end_turn' })
  t.notOk('stop' in Object(upstream.requests[0]?.json))
  const refused = await api.post(path, { ...question, stop: ['</block>'] })
  t.equal(refused.status, 400)
  t.match(await refused.json(), { error: { code: 'unsupported_parameter', param: 'stop' } })
  t.equal(upstream.requests.length, 1)
})

t.test("Gemini gets a caller's schema of the answer in its keywords, and its own config as written", async t => {
  const upstream = await fakeUpstream({
    pieces: [JSON.stringify({
      candidates: [{ content: { parts: [{ text: '{"unit":"km"}' }] }, finishReason: 'STOP' }]
    })]
  })
  t.teardown(upstream.close)
  const api = await testGateway(t, { providers: [upstreamAt(upstream.url, 'google', 'google')] })
  const model = 'google/gemini-2.5-flash'
  const messages = [{ role: 'user', content: 'Which unit?' }]
  const schema = { type: 'object', properties: { unit: { const: 'km', minLength: 1 } } }
  const format = { type: 'json_schema', name: 'unit', schema }
  const responseMimeType = 'application/json'
  const clean = { type: 'object', properties: { unit: { enum: ['km'] } } }
  for (const [path, body, sent] of [
    ['/v1/messages', { messages, max_tokens: 64, output_config: { format } }, clean],
    ['/v1/responses', { input: 'Which unit?', text: { format } }, clean],
    [
      '/v1/chat/completions',
      { messages, generation_config: { responseMimeType, responseJsonSchema: schema } },
      schema
    ]
  ] as const) {
    const answer = await api.post(path, { model, ...body })
    t.equal(answer.status, 200, path)
    await answer.text()
    t.match(
      upstream.requests.at(-1)?.json,
      { generationConfig: { responseMimeType, responseJsonSchema: sent } },
      path
    )
    t.equal(/minLength/.test(upstream.requests.at(-1)?.text ?? ''), sent === schema, path)
  }
})
